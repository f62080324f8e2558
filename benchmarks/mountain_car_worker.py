"""One side of `approximation.py`, in a process of its own: Sarsa(lambda) on tiles learns the mountain car.

``rlsuite LOOP STEPS``  rlsuite, in the compiled or in the stepwise loop
``python STEPS``        the obvious loop, with a dictionary of traces

Every run begins with weights of 0. Nothing is imported that a side does not need: it would be counted as its memory.
"""

import sys
from typing import Any

import gymnasium
import numpy as np
from serving import serve

# as in MushroomRL's own example of the mountain car
TILINGS, BINS, GAMMA, LAMBDA, EPSILON, RATE, SEED = 10, 10, 1.0, 0.9, 0.05, 0.1 / 10, 7
ENV = "MountainCar-v0"


def rlsuite(loop: str, steps: str) -> None:
    """Serve rlsuite; making the environment and replaying its dynamics are not counted."""
    import rlsuite as rl
    from rlsuite.approximation import SemiGradientSarsaLambda, TileCoding

    agent: Any = None

    def prepare() -> tuple[()]:
        nonlocal agent
        agent = SemiGradientSarsaLambda(
            features=TileCoding(n_tilings=TILINGS, bins=BINS),
            gamma=GAMMA,
            learning_rate=RATE,
            lambda_=LAMBDA,
            exploration=rl.EpsilonGreedy(EPSILON),
        ).learn(ENV, steps=1, seed=SEED, loop=loop)
        return ()

    def work() -> int:
        agent.learn(ENV, steps=int(steps) - 1, record_every=int(steps), loop=loop)
        return int(steps) - 1

    serve(work, prepare)


def python(steps: str) -> None:
    """Serve a loop in plain Python, over the same environment."""
    from tiles_in_python import PlainTileCoder

    env = gymnasium.make(ENV)
    tiles = PlainTileCoder(env.observation_space.low.tolist(), env.observation_space.high.tolist(), TILINGS, BINS)

    def prepare() -> tuple[Any]:
        return (np.random.default_rng(SEED),)

    def work(rng: Any) -> int:
        weights: dict[tuple[int, int], float] = {}
        done = 0

        def values(features: list[int]) -> list[float]:
            return [sum(weights.get((feature, action), 0.0) for feature in features) for action in range(3)]

        def choose(q: list[float]) -> int:
            if rng.random() < EPSILON:
                return int(rng.integers(0, 3))
            best = max(q)
            return int(rng.choice([action for action in range(3) if q[action] == best]))

        while done < int(steps):
            features = tiles(env.reset(seed=SEED if done == 0 else None)[0])
            action = choose(values(features))
            traces: dict[tuple[int, int], float] = {}
            over = False
            while not over and done < int(steps):
                observation, reward, terminated, truncated, _ = env.step(action)
                done += 1
                error = reward - sum(weights.get((feature, action), 0.0) for feature in features)
                for feature in features:
                    traces[feature, action] = traces.get((feature, action), 0.0) + 1.0
                next_features: list[int] = []
                next_action = 0
                if not terminated:
                    next_features = tiles(observation)
                    q = values(next_features)
                    next_action = choose(q)
                    error += GAMMA * q[next_action]
                for pair, trace in list(traces.items()):
                    weights[pair] = weights.get(pair, 0.0) + RATE * error * trace
                    if trace * GAMMA * LAMBDA < 1e-3:
                        del traces[pair]
                    else:
                        traces[pair] = trace * GAMMA * LAMBDA
                features, action = next_features, next_action
                over = terminated or truncated
        return done

    serve(work, prepare)


if __name__ == "__main__":
    {"rlsuite": rlsuite, "python": python}[sys.argv[1]](*sys.argv[2:])
