"""One side of `learning.py`: MushroomRL learns with Sarsa(lambda) in an environment of Gym.

``python traces_in_mushroom.py ENVIRONMENT STEPS GAMMA RATE LAMBDA EPSILON TRACES``, started by `sides.py` under the
Python of `peers.py`. The environment is the ancestor of Gymnasium's of the same name, with the same table.
"""

import sys

from serving import serve

NO_LIMIT = 10**9
# By the id in Gymnasium: the id in Gym, and the time limit, which MushroomRL keeps instead of Gym.
ANCESTORS = {
    "CliffWalking-v1": ("CliffWalking-v0", NO_LIMIT),
    "Taxi-v4": ("Taxi-v3", 200),
    "FrozenLake8x8-v1": ("FrozenLake8x8-v1", 200),
}


def main(env_id: str, steps: str, gamma: str, rate: str, lambda_: str, epsilon: str, traces: str) -> None:
    """Serve one environment; each run begins with a new learner."""
    from mushroom_rl.algorithms.value import SARSALambda
    from mushroom_rl.core import Core
    from mushroom_rl.environments.gym_env import Gym
    from mushroom_rl.policy import EpsGreedy
    from mushroom_rl.utils.parameters import Parameter

    name, limit = ANCESTORS[env_id]
    # Gym's own checks of every step are left out, which favours it.
    env = Gym(name, horizon=limit, gamma=float(gamma), disable_env_checker=True)

    def prepare() -> "tuple[Core]":
        policy = EpsGreedy(Parameter(float(epsilon)))
        agent = SARSALambda(env.info, policy, Parameter(float(rate)), float(lambda_), trace=traces)
        return (Core(agent, env),)

    def work(core: Core) -> int:
        core.learn(n_steps=int(steps), n_steps_per_fit=1, quiet=True)
        return int(steps)

    serve(work, prepare)


if __name__ == "__main__":
    main(*sys.argv[1:])
