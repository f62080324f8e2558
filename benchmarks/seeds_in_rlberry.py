"""One side of `learning_peers.py`: rlberry's experiment manager lets many seeds of its Q-learning learn in parallel.

``python seeds_in_rlberry.py ENVIRONMENT GAMMA RATE EPSILON SEEDS STEPS WORKERS``, started by `sides.py` under the
Python of `peers.py`. All that the manager costs is counted, its processes included. The environment is the one that
Gymnasium called so when rlberry was written, with the same table.
"""

import itertools
import sys
import tempfile

from serving import serve

NAMES = {"CliffWalking-v1": "CliffWalking-v0", "Taxi-v4": "Taxi-v3", "FrozenLake8x8-v1": "FrozenLake8x8-v1"}
# Threads, the other way, take turns with the interpreter; and a forked process need not import anything.
WAY = {"parallelization": "process", "mp_context": "fork"}


def main(env_id: str, gamma: str, rate: str, epsilon: str, seeds: str, steps: str, workers: str) -> None:
    """Serve one environment; each run trains all seeds anew."""
    parameters = {
        "gamma": float(gamma),
        "alpha": float(rate),
        "exploration_type": "epsilon",
        "exploration_rate": float(epsilon),
    }
    budgets = itertools.chain([10], itertools.repeat(int(steps)))  # there is nothing to compile in the first run

    def work(budget: int) -> int:
        from rlberry.envs import gym_make
        from rlberry.manager import ExperimentManager
        from rlberry_scool.agents import QLAgent

        with tempfile.TemporaryDirectory() as folder:
            manager = ExperimentManager(
                QLAgent,
                (gym_make, {"id": NAMES[env_id]}),
                fit_budget=budget,
                init_kwargs=parameters,
                n_fit=int(seeds),
                max_workers=int(workers),
                output_dir=folder,
                seed=7,
                **WAY,
            )
            manager.fit()
        return int(seeds) * budget

    serve(work, lambda: (next(budgets),))


if __name__ == "__main__":
    main(*sys.argv[1:])
