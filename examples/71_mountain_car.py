"""The cost to go: the mountain car, learned by Sarsa with tiles (S&B2 Figures 10.1 and 10.2).

Above, the number of steps to the goal according to the values in the middle of the first episode and after a
thousand. Below, the first hundred episodes of twenty runs with each step size.
Run as ``python examples/71_mountain_car.py [figure.png]``.
"""

import sys

import gymnasium
from matplotlib import pyplot as plt

import rlsuite as rl
from rlsuite import plotting
from rlsuite.approximation import SemiGradientSarsa, TileCoding

car = gymnasium.make("MountainCar-v0", max_episode_steps=10_000)


def learner(alpha):
    """Make what the book calls episodic semi-gradient Sarsa."""
    tiles = TileCoding(n_tilings=8, bins=8)
    return SemiGradientSarsa(features=tiles, gamma=1.0, learning_rate=alpha / 8, exploration=rl.EpsilonGreedy(0.0))


figure = plt.figure(figsize=(11, 9), layout="constrained")
panels = figure.subplot_mosaic([["early", "late"], ["runs", "runs"]])
agent = learner(0.5)
for name, budget, title in (
    ("early", {"steps": 428, "seed": 7}, "428 steps"),
    ("late", {"episodes": 1_000}, "1000 episodes"),
):
    agent.learn(car, **budget)
    look = {"title": f"Steps to go, learned in {title}", "labels": ["position", "velocity"], "ax": panels[name]}
    plotting.value_surface(car, lambda x: -agent.q(x).max(axis=1), **look)
runs = {
    f"alpha = {alpha}/8": [learner(alpha).learn(car, episodes=100, seed=seed).episodes_["length"] for seed in range(20)]
    for alpha in (0.1, 0.2, 0.5)
}
look = {"yscale": "log", "xlabel": "episodes", "ylabel": "steps of an episode", "ylim": (100, 1_500)}
plotting.mean_curves(runs, title="Three step sizes", ax=panels["runs"], **look)
plotting.save(figure, (sys.argv[1:] or ["71_mountain_car.png"])[0])
