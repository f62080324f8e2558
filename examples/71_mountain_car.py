"""The cost to go: the mountain car, learned by Sarsa with tiles (S&B2 Figures 10.1 and 10.2).

Above, the number of steps to the goal according to the values in the middle of the first episode and after a
thousand. Below, the first hundred episodes of twenty runs with each step size.
Run as ``python examples/71_mountain_car.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib.figure import Figure

import rlsuite as rl
from rlsuite import plotting
from rlsuite.approximation import SemiGradientSarsa, TileCoding

car = gymnasium.make("MountainCar-v0", max_episode_steps=10_000)


def learner(alpha):
    """Make what the book calls episodic semi-gradient Sarsa."""
    tiles = TileCoding(n_tilings=8, bins=8)
    return SemiGradientSarsa(features=tiles, gamma=1.0, learning_rate=alpha / 8, exploration=rl.EpsilonGreedy(0.0))


figure = Figure(figsize=(11, 8), dpi=120, layout="constrained")
panels = figure.subplot_mosaic([["early", "late"], ["runs", "runs"]])
agent = learner(0.5)
for name, budget, title in (
    ("early", {"steps": 428, "seed": 7}, "428 steps"),
    ("late", {"episodes": 1_000}, "1000 episodes"),
):
    agent.learn(car, **budget)
    to_go = {"labels": ["position", "velocity"], "ax": panels[name]}
    plotting.value_surface(car, lambda x: -agent.q(x).max(axis=1), **to_go)
    panels[name].set_title(f"steps to go, learned in {title}", loc="left")
for alpha, colour in ((0.1, "#0072b2"), (0.2, "#009e73"), (0.5, "#d55e00")):
    runs = [learner(alpha).learn(car, episodes=100, seed=seed).episodes_["length"] for seed in range(20)]
    panels["runs"].plot(np.arange(1, 101), np.mean(runs, axis=0), color=colour, label=f"alpha = {alpha}/8")
panels["runs"].set(yscale="log", xlabel="episode", ylabel="steps, mean of 20 runs", ylim=(100, 1_500))
panels["runs"].legend()
plotting.save(figure, (sys.argv[1:] or ["71_mountain_car.png"])[0])
