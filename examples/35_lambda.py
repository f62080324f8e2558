"""How far back should a reward reach? Learning against lambda: two of the four panels of S&B2 Figure 12.14.

Left: the mountain car by Sarsa(lambda) with tiles; accumulating traces of lambda = 1 diverge. Right: the walk of
nineteen states by TD(lambda). Each lambda has the best step size of some five. Left out: the puddle world and the pole
of 1984, which another rule balanced. Run as ``python examples/35_lambda.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.approximation import TileCoding

car = gymnasium.make("MountainCar-v0", max_episode_steps=1_000)
walk = gymnasium.make("rlsuite/RandomWalk-v0", n=19, left_reward=-1.0)
tiles = {"features": TileCoding(n_tilings=8, bins=8), "gamma": 1.0, "exploration": rl.EpsilonGreedy(0.0)}
x = (0.0, 0.4, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
car_rates = {"accumulating": (1.4, 1.2, 0.7, 0.6, 0.4, 0.2, 0.05), "replacing": (*6 * [1.4], 1.0, 1.0)}
walk_rates = {"accumulating": (0.8, 0.7, 0.42, 0.3, 0.2, 0.11, 0.035, 0.013)}
walk_rates["replacing"] = (0.8, 0.8, 0.56, 0.5, 0.4, 0.35, 0.25, 0.2)


def steps(kind, lambda_, alpha, seed):
    """Mean number of steps of the first 20 episodes."""
    agent = rl.SarsaLambda(lambda_=lambda_, learning_rate=alpha / 8, traces=kind, **tiles)
    return agent.learn(car, episodes=20, seed=seed).episodes_["length"].mean()


def error(kind, lambda_, alpha, seed):
    """Root mean square error over the states, mean of the first ten episodes."""
    agent = rl.TDLambda(gamma=1.0, lambda_=lambda_, learning_rate=alpha, traces=kind)
    values = [agent.learn(walk, episodes=1, seed=None if i else seed).value_[1:20].copy() for i in range(10)]
    return np.sqrt(np.mean((np.array(values) - (np.arange(1, 20) / 10 - 1)) ** 2, axis=1)).mean()


figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
for ax, measure, rates, title, y in (
    (left, steps, car_rates, "Mountain car", {"ylabel": "steps, mean of 20 episodes", "ylim": (200, 600)}),
    (right, error, walk_rates, "Random walk", {"ylabel": "RMS error, mean of 10 episodes", "ylim": (0.2, 0.55)}),
):
    runs = {
        kind: (x[: len(of)], [[measure(kind, *pair, seed) for pair in zip(x, of, strict=False)] for seed in range(10)])
        for kind, of in rates.items()
    }
    plotting.mean_curves(runs, title=title, ax=ax, xlabel="lambda", **y)
plotting.save(figure, (sys.argv[1:] or ["35_lambda.png"])[0])
