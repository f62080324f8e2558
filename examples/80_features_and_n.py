"""Which features, and how many steps: two choices of linear agents (S&B2 Figures 9.5 and 10.4).

Left: the random walk of 1000 states by Monte Carlo, with a Fourier basis and with a polynomial; means of two runs.
Powers are strongly correlated, so learning is slow. Right: the mountain car by n-step Sarsa, steps an
episode in the first fifty; means of 24 runs, with standard errors from 1 with n = 1 to 4 with n = 8.
Run as ``python examples/80_features_and_n.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.approximation import FourierBasis, GradientMonteCarlo, Polynomial, SemiGradientNStepSarsa, TileCoding

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
samples, studies = {}, {}
walk = gymnasium.make("rlsuite/RandomWalk-v0", n=1000, reach=100, mover="chance", left_reward=-1)
truth = rl.solve(walk.unwrapped.model, method="stochastic_shortest_path").value[1:-1]
place = np.clip(np.arange(1002.0)[:, None] / 1000, 0.001, 1.0)
for order in (5, 10, 20):
    for features, alpha in ((Polynomial(order), 1e-4), (FourierBasis(order), 5e-5)):
        env, errors = rl.VectorObservation(walk, features.fit(place).transform(place)), np.zeros((2, 11))
        for seed in range(2):
            agent, values = GradientMonteCarlo(gamma=1.0, learning_rate=alpha), 0.0 * truth
            for i in range(11):
                errors[seed, i] = np.sqrt(np.mean((values - truth) ** 2))
                values = agent.learn(env, episodes=500, seed=None if i else seed).value(env.vectors)[1:-1]
        samples[f"{type(features).__name__}, order {order}"] = errors
look = {"x": np.arange(11) * 500, "xlabel": "episodes", "ylabel": "root mean square error", "ylim": (0, None)}
plotting.mean_curves(samples, title="Random walk of 1000 states, Monte Carlo", ax=left, **look)
car, tiles = gymnasium.make("MountainCar-v0", max_episode_steps=10_000), TileCoding(n_tilings=8, bins=8)
rates = {1: (0.6, 1.0, 1.4), 2: (0.5, 0.8, 1.1), 4: (0.3, 0.5, 0.8), 8: (0.2, 0.3, 0.5)}
for n, alphas in rates.items():
    settings = [{"n": n, "learning_rate": a / 8, "exploration": rl.EpsilonGreedy(0.0), "gamma": 1.0} for a in alphas]
    agents = [[SemiGradientNStepSarsa(features=tiles, **setting) for _ in range(24)] for setting in settings]
    runs = [[x.learn(car, episodes=50, seed=i).episodes_["length"] for i, x in enumerate(row)] for row in agents]
    studies[f"n = {n}"] = alphas, np.mean(runs, axis=2).T
look = {"xlabel": "step size x 8", "ylabel": "steps, mean of 50 episodes", "ylim": (210, 300)}
plotting.mean_curves(studies, title="Mountain car", ax=right, **look)
plotting.save(figure, (sys.argv[1:] or ["80_features_and_n.png"])[0])
