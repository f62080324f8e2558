"""How often simultaneous bands cover the whole curve of the true mean: `python benchmarks/bands.py`, ten minutes.

4,000 runs of each learner are precomputed; their mean is the truth. 2,000 experiments draw some of them, and make a
band of each. A band of pointwise intervals is shown beside it.
"""

import sys

import numpy as np
from numpy.typing import NDArray

import rlsuite as rl
from rlsuite.cli.options import import_packages
from rlsuite.training.statistics import mean_interval, simultaneous_band

RUNS, EXPERIMENTS, POINTS = 4_000, 2_000, 50
SEEDS = (5, 10, 30)

LEARNERS: dict[str, tuple[rl.Agent, str, int]] = {
    "Sarsa, cliff": (rl.Sarsa(learning_rate=0.3), "CliffWalking-v1", 10_000),
    "Q-learning, cliff": (rl.QLearning(learning_rate=0.3), "CliffWalking-v1", 10_000),
    "Q-learning, lake": (rl.QLearning(gamma=0.95, exploration=rl.EpsilonGreedy(0.3)), "FrozenLake-v1", 20_000),
    "Q-learning, grid": (rl.QLearning(gamma=0.9, learning_rate=0.3), "rlsuite/GridGoal-v0", 500),
}


def curves() -> dict[str, NDArray[np.float64]]:
    """Rewards so far and values of the greedy policy, (RUNS, POINTS) each, and random walks."""
    found = {"random walk": np.random.default_rng(5).normal(size=(RUNS, POINTS)).cumsum(axis=1)}
    for name, (agent, env, steps) in LEARNERS.items():
        every = steps // POINTS
        run = rl.train(agent, env, steps=steps, seeds=RUNS, evaluate_every=every, record_every=every)
        for what in ("cumulative_reward", "regret", "evaluation"):
            found[f"{name}, {what}"] = run.stacked(what)
    return found


def coverage(pool: NDArray[np.float64], n: int) -> tuple[float, float]:
    """Shares of the simultaneous and of the pointwise bands that cover the whole mean."""
    rng, truth = np.random.default_rng(n), pool.mean(axis=0)
    slack = 1e-9 * np.abs(truth)
    hits = np.zeros(2)
    for _ in range(EXPERIMENTS):
        samples = pool[rng.choice(len(pool), n, replace=False)]
        for index, (_, low, high) in enumerate((simultaneous_band(samples), mean_interval(samples, method="student"))):
            hits[index] += np.all((low - slack <= truth) & (truth <= high + slack))
    both = hits / EXPERIMENTS
    return float(both[0]), float(both[1])


def main() -> None:
    """Print one line for each curve, one column for each number of seeds."""
    import_packages()
    print(f"{'share of bands that cover the curve (pointwise); seeds:':56s}" + "".join(f"{n:>17d}" for n in SEEDS))
    for name, pool in curves().items():
        shares = [coverage(pool, n) for n in SEEDS]
        print(f"{name:56s}" + "".join(f"{one:>9.1%} ({other:.0%})" for one, other in shares), flush=True)


if __name__ == "__main__":
    sys.exit(main())
