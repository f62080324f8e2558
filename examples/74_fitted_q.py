"""Fitted Q iteration with extremely randomised trees on the car on the hill (Ernst, Geurts & Wehenkel 2005).

The car is too weak for the hill: it has to go back first. A hundred random episodes, of which one reaches the top, are
all the data. Run as ``python examples/74_fitted_q.py [figure.png]``.
"""

import sys

import gymnasium
from matplotlib import pyplot as plt
from sklearn.ensemble import ExtraTreesRegressor

import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.approximation import Batch, FittedQ, episode_of

car = gymnasium.make("rlsuite/CarOnTheHill-v0")
batch = Batch.collect(car, episodes=100, seed=0)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")

agent = FittedQ(ExtraTreesRegressor(n_estimators=10), gamma=0.95, iterations=1)
returns = []
for _ in range(16):
    agent.learn(batch, seed=1)
    returns.append(episode_of(car, agent.act, gamma=0.95, max_steps=50).value)
lines = {"return of the policy from the start": returns, "largest change of a target": agent.errors_}
title = f"{len(batch):,} transitions, {(batch.reward > 0).sum()} of them to the top"
plotting.mean_curves(lines, title=title, xlabel="rounds", ylabel="reward", ax=left)

seen = [car.reset()[0]]
for _ in range(50):
    observation, _, terminated, _, _ = car.step(agent.act(seen[-1]))
    seen.append(observation)
    if terminated:
        break
bounds = {0: (-1.0, 1.0), 1: (-3.0, 3.0)}
labels = ["position", "speed"]
plotting.policy_map(car, agent.policy, actions=["left", "right"], limits=bounds, labels=labels, trace=seen, ax=right)
plotting.save(figure, (sys.argv[1:] or ["74_fitted_q.png"])[0])
