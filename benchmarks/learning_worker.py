"""One side of `learning_peers.py`, in a process of its own: rlsuite, a loop in Python, or a loop written by hand.

``rlsuite ENVIRONMENT STEPS``                Sarsa(lambda) in the compiled loop
``hand ENVIRONMENT STEPS TRACES``            the same work as a numba loop of `by_hand.py`, with its traces kept so
``python ENVIRONMENT STEPS LOOP``            the same work as a loop of `in_python.py`
``seeds ENVIRONMENT STEPS SEEDS WORKERS``    many seeds of Q-learning by `rlsuite.train`

Every run begins with an empty table, so all sides learn the same way for the same time. Nothing is imported that a side
does not need, since it would be counted as its memory.
"""

import hashlib
import sys
from typing import Any

import gymnasium
import in_python
import numpy as np
from serving import serve

GAMMA, LAMBDA, EPSILON, SEED = 0.99, 0.9, 0.1, 7
RATE_OF_TRACES, RATE_OF_SEEDS = 0.1, 0.5


def fingerprint(q: Any) -> dict[str, str]:
    """Tell tables apart that differ in one bit."""
    return {"table": hashlib.sha256(q.tobytes()).hexdigest()}


def rlsuite(env_id: str, steps: str) -> None:
    """Serve the compiled loop of rlsuite; making the environment and checking its table are not counted."""
    import rlsuite as rl

    agent: Any = None

    def prepare() -> tuple[()]:
        nonlocal agent
        exploration = rl.EpsilonGreedy(EPSILON)
        parameters = {"gamma": GAMMA, "learning_rate": RATE_OF_TRACES, "lambda_": LAMBDA, "exploration": exploration}
        agent = rl.SarsaLambda(traces="replacing", **parameters).learn(env_id, steps=1, seed=SEED, loop="compiled")
        return ()

    def work() -> int:
        agent.learn(env_id, steps=int(steps) - 1, record_every=int(steps), loop="compiled")
        return int(steps) - 1

    serve(work, prepare, lambda: fingerprint(agent.q_))


def hand(env_id: str, steps: str, traces: str) -> None:
    """Serve a loop that was written for this one case."""
    import by_hand
    from gymnasium.utils import seeding

    import rlsuite as rl

    mdp = rl.MDP.from_env(env_id, gamma=GAMMA)
    limit = gymnasium.spec(env_id).max_episode_steps or np.iinfo(np.int64).max
    loop = by_hand.sarsa_lambda(mdp, RATE_OF_TRACES, EPSILON, LAMBDA, limit, traces)
    q = np.zeros((mdp.n_states, mdp.n_actions))

    def prepare() -> tuple[Any, Any]:
        q[:] = 0.0
        # the generators that `learn(seed=SEED)` gives to the agent and to the environment
        agent_seed, env_seed, _ = np.random.SeedSequence(SEED).spawn(3)
        return np.random.default_rng(agent_seed), seeding.np_random(int(env_seed.generate_state(1)[0]))[0]

    def work(rng: Any, env_rng: Any) -> int:
        loop(q, rng, env_rng, int(steps))
        return int(steps)

    serve(work, prepare, lambda: fingerprint(q))


def python(env_id: str, steps: str, loop: str) -> None:
    """Serve the obvious loop."""
    learn = {"tables": in_python.sarsa_lambda_on_tables, "dict": in_python.sarsa_lambda_on_dict}[loop]
    env = gymnasium.make(env_id)

    def work() -> int:
        learn(env, int(steps), GAMMA, RATE_OF_TRACES, LAMBDA, EPSILON)
        return int(steps)

    serve(work)


def seeds(env_id: str, steps: str, seeds: str, workers: str) -> None:
    """Serve `rlsuite.train` with its defaults, but without regret, which the peer does not compute."""
    import rlsuite as rl

    agent = rl.QLearning(gamma=GAMMA, learning_rate=RATE_OF_SEEDS, exploration=rl.EpsilonGreedy(EPSILON))

    def work() -> int:
        rl.train(agent, env_id, steps=int(steps), seeds=int(seeds), workers=int(workers), regret=False)
        return int(steps) * int(seeds)

    serve(work)


if __name__ == "__main__":
    side, *arguments = sys.argv[1:]
    {"rlsuite": rlsuite, "hand": hand, "python": python, "seeds": seeds}[side](*arguments)
