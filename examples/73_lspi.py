"""Least-squares policy iteration on its own problems (Lagoudakis & Parr 2003, section 9).

Left: a chain of fifty states, of which two pay, learned with ten radial basis functions from 10,000 random steps.
Right: the inverted pendulum, balanced with nine radial basis functions and a constant after some hundred random
episodes of nine steps each. Run as ``python examples/73_lspi.py [figure.png]``.
"""

import sys
import warnings

import gymnasium
import numpy as np
from matplotlib import pyplot as plt
from sklearn.preprocessing import FunctionTransformer

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.approximation import LSPI, Batch, RadialBasis, episode_of

warnings.simplefilter("ignore", rl.errors.ConvergenceWarning)  # from few episodes LSPI may not converge
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
chain = gymnasium.make("rlsuite/TwoWayChain-v0", n=50, rewarded=[9, 40])
best = rl.solve(chain.unwrapped.model)
agent = LSPI(RadialBasis(np.linspace(0, 49, 10)[:, None], width=4.0), gamma=0.9)
learned = agent.learn(Batch.collect(chain, steps=10_000, seed=1)).q(np.arange(50)[:, None])
lines = {
    f"{name}, {action}": table[:, number]
    for number, action in enumerate(("left", "right"))
    for name, table in (("optimum", best.q), ("LSPI", learned))
}
look = {"title": "Chain of 50 states, 10,000 random steps", "xlabel": "state", "ylabel": "action value"}
plotting.mean_curves(lines, x=range(50), ax=left, **look)

pendulum = gymnasium.make("rlsuite/InvertedPendulum-v0")
centres = np.array([(angle, speed) for angle in (-np.pi / 4, 0, np.pi / 4) for speed in (-1, 0, 1)])
features = FunctionTransformer(lambda x: np.c_[np.ones(len(x)), np.exp(-((x[:, None] - centres) ** 2).sum(axis=2) / 2)])
for i, episodes in enumerate((50, 200, 800)):
    for seed in range(5):
        agent = LSPI(features, gamma=0.95, iterations=20).learn(Batch.collect(pendulum, episodes=episodes, seed=seed))
        length = episode_of(pendulum, agent.act, seed=100 + seed, max_steps=1_000).length
        right.plot(i, length, "o", color="#0072b2", alpha=0.6)
look = {"xlabel": "random episodes learned from", "ylabel": "steps balanced (at most 1000)", "yscale": "log"}
plotting.style_axes(["Points: n = 5 seeds each, one episode each."], ax=right, title="Inverted pendulum", **look)
right.set_xticks(range(3), ["50", "200", "800"])
plotting.save(figure, (sys.argv[1:] or ["73_lspi.png"])[0])
