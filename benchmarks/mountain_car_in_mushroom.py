"""One side of `approximation.py`: MushroomRL learns the mountain car with Sarsa(lambda) on tiles.

``python mountain_car_in_mushroom.py STEPS TILINGS BINS RATE LAMBDA EPSILON``, started by `sides.py` under the Python of
`peers.py`. The environment is Gym's, the ancestor of Gymnasium's, with the same equations.
"""

import sys

from serving import serve


def main(steps: str, tilings: str, bins: str, rate: str, lambda_: str, epsilon: str) -> None:
    """Serve; each run begins with a new learner."""
    from mushroom_rl.algorithms.value import SARSALambdaContinuous
    from mushroom_rl.approximators.parametric import LinearApproximator
    from mushroom_rl.core import Core
    from mushroom_rl.environments.gym_env import Gym
    from mushroom_rl.features import Features
    from mushroom_rl.features.tiles import Tiles
    from mushroom_rl.policy import EpsGreedy
    from mushroom_rl.utils.parameters import Parameter

    # Gym's own checks of every step are left out, which favours it.
    env = Gym("MountainCar-v0", horizon=200, gamma=1.0, disable_env_checker=True)
    space = env.info.observation_space
    n_tiles = [int(bins)] * 2
    features = Features(tilings=Tiles.generate(int(tilings), n_tiles, space.low, space.high))
    shape = {"input_shape": (features.size,), "output_shape": (3,), "n_actions": 3}

    def prepare() -> "tuple[Core]":
        policy = EpsGreedy(Parameter(float(epsilon)))
        agent = SARSALambdaContinuous(
            env.info, policy, LinearApproximator, Parameter(float(rate)), float(lambda_), features, shape
        )
        return (Core(agent, env),)

    def work(core: Core) -> int:
        core.learn(n_steps=int(steps), n_steps_per_fit=1, quiet=True)
        return int(steps)

    serve(work, prepare)


if __name__ == "__main__":
    main(*sys.argv[1:])
