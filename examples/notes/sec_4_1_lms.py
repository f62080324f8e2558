"""LMS (lecture notes, 4.1.2 and 4.2): semi-gradient TD is the same rule with another target.

A random agent walks on the 2 x 3 grid. LMS learns the returns of its states, TD(0) what follows them, r + gamma v(s'):
both end near the values 49.1, 57.3, 75.8, 51.8 and 66.1. Run as ``python examples/notes/sec_4_1_lms.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.reference import lms

env = gymnasium.make("rlsuite/GridGoal-v0")
model, rng, one_hot = rl.MDP.from_env(env, gamma=0.9), np.random.default_rng(0), np.eye(6)
random_policy = model.legal / np.maximum(model.legal.sum(axis=1, keepdims=True), 1)
exact = rl.planning.evaluate_policy(model, random_policy)
by_lms, by_td = np.zeros(6), np.zeros(6)
errors = {"LMS on returns": [], "TD(0)": []}
states, returns = [], []
for episode in range(1_000):
    s, path, done = env.reset(seed=0 if episode == 0 else None)[0], [], False
    while not done:
        after, reward, done, _, _ = env.step(rng.choice(4, p=random_policy[s]))
        by_td += lms(one_hot[[s]], np.array([reward + 0.9 * by_td[after] * (not done) - by_td[s]]), 0.02, passes=1)
        path, s = [*path, s], after
    states += path
    returns += list(100 * 0.9 ** np.arange(len(path))[::-1])
    by_lms += lms(one_hot[path], np.array(returns[-len(path) :]) - by_lms[path], 0.02, passes=1)
    for name, learned in (("LMS on returns", by_lms), ("TD(0)", by_td)):
        errors[name].append(np.sqrt(np.mean((learned[:5] - exact[:5]) ** 2)))
assert max(np.mean(curve[-100:]) for curve in errors.values()) < 6
title = "Values of the random policy on the 2 x 3 grid"
ax = plotting.mean_curves(errors, title=title, xlabel="episodes", ylabel="RMS error over S0 to S4")
plotting.save(plt.gcf(), (sys.argv[1:] or ["sec_4_1_lms.png"])[0])
