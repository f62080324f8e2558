"""The random walk of 1000 states with values that are linear in few features (S&B2 Figures 9.1, 9.2 and 9.10).

Left: ten groups of states, each with one weight. Monte Carlo comes as close as a step function can; TD(0), which
bootstraps from its own estimates, is further away. Right: fifty tilings distinguish states that one cannot; the lines
are means of five runs. Run as ``python examples/70_random_walk_of_1000.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.approximation import GradientMonteCarlo, SemiGradientTD, TileCoding

walk = gymnasium.make("rlsuite/RandomWalk-v0", n=1000, reach=100, mover="chance", left_reward=-1)
model, states = walk.unwrapped.model, np.arange(1, 1001)
truth = rl.solve(model, method="stochastic_shortest_path").value[states]
onward = np.zeros((1002, 1002))
np.add.at(onward, (np.repeat(np.arange(1002), np.diff(model.indptr)), model.next_state), model.probability)
visits = np.linalg.solve(np.eye(1000) - onward[1:-1, 1:-1].T, np.eye(1000)[499])

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
groups = rl.VectorObservation(walk, np.vstack([np.zeros(10), np.repeat(np.eye(10), 100, axis=0), np.zeros(10)]))
values, samples = {"true value": truth}, {}
for kind, rate in ((GradientMonteCarlo, 2e-4), (SemiGradientTD, 2e-3)):
    agent = kind(gamma=1.0, learning_rate=rate).learn(groups, episodes=10_000, seed=7)
    values[kind.__name__] = agent.value(groups.vectors)[states]
look = {"x": states, "title": "10 groups of 100 states, 10,000 episodes", "xlabel": "state", "ylabel": "value"}
plotting.mean_curves(values, ax=left, **look)
for n_tilings in (1, 50):
    tiles = TileCoding(n_tilings=n_tilings, bins=5, low=1.0, high=1001.0).fit([[1.0]])
    env = rl.VectorObservation(walk, tiles.transform(np.arange(1002)[:, None]).toarray())
    errors = np.zeros((5, 26))
    for seed in range(5):
        agent, values = GradientMonteCarlo(gamma=1.0, learning_rate=1e-4 / n_tilings), 0.0 * truth
        for i in range(26):
            errors[seed, i] = np.sqrt(np.average((values - truth) ** 2, weights=visits))
            values = agent.learn(env, episodes=200, seed=None if i else seed).value(env.vectors)[states]
    samples[f"tilings: {n_tilings}"] = errors
look = {"x": np.arange(26) * 200, "xlabel": "episodes", "ylabel": "error, weighted by visits", "ylim": (0, None)}
plotting.mean_curves(samples, title="Monte Carlo, tiles of 200 states", ax=right, **look)
plotting.save(figure, (sys.argv[1:] or ["70_random_walk_of_1000.png"])[0])
