"""Eligibility traces in the mountain car: early performance against the step size (S&B2 Figures 12.10 and 12.11).

Left: Sarsa(lambda) with replacing traces. Right: kinds of traces, lambda = 0.9. Ten runs each (the book: a hundred).
Run as ``python examples/34_mountain_car_traces.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
from rlsuite import plotting
from rlsuite.approximation import TileCoding

car = gymnasium.make("MountainCar-v0", max_episode_steps=5_000)
common = {"features": TileCoding(n_tilings=8, bins=8), "gamma": 1.0, "exploration": rl.EpsilonGreedy(0.0)}


def study(rule, rates, episodes, **parameters):
    """Mean number of steps of the first episodes with each step size, (seeds, rates)."""
    agents = [rule(learning_rate=rate / 8, **common, **parameters) for rate in rates]
    results = [rl.train(agent, car, episodes=episodes, seeds=10, workers=2, regret=False) for agent in agents]
    return np.transpose([[record.episode_length.mean() for record in result.records] for result in results])


rates = {0.0: (0.6, 0.9, 1.2, 1.6), 0.68: (0.4, 0.7, 1.0, 1.4), 0.92: (0.3, 0.6, 1.0, 1.4), 0.98: (0.2, 0.5, 0.8, 1.1)}
by_lambda = {
    f"lambda = {x}": (alphas, study(rl.SarsaLambda, alphas, 50, lambda_=x, traces="replacing"))
    for x, alphas in rates.items()
}
small, large = (0.1, 0.2, 0.3, 0.4, 0.5), (0.2, 0.4, 0.8, 1.2, 1.6)
by_kind = {
    kind: (alphas, -study(rl.SarsaLambda, alphas, 20, lambda_=0.9, traces=kind))
    for kind, alphas in {"accumulating": small, "replacing": large, "clearing": large, "dutch": large}.items()
}
by_kind["true online"] = large, -study(rl.TrueOnlineSarsaLambda, large, 20, lambda_=0.9)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
look = {"xlabel": "step size x 8", "ylabel": "steps, mean of 50 episodes", "ylim": (140, 300)}
plotting.mean_curves(by_lambda, title="Sarsa(lambda), replacing traces", ax=left, **look)
look = {"xlabel": "step size x 8", "ylabel": "return, mean of 20 episodes", "ylim": (-550, -200)}
plotting.mean_curves(by_kind, title="Kinds of traces, lambda = 0.9", ax=right, **look)
plotting.save(figure, (sys.argv[1:] or ["34_mountain_car_traces.png"])[0])
