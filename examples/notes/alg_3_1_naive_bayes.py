"""Naive Bayes (lecture notes, Alg. 3.1): the optimal moves of the obstacle grid from what an agent can see.

Free or wall on each side, row and half are taken to be independent given the move. ID3 on the same attributes is right
everywhere; naive Bayes is wrong in one of 28 squares. Run as
``python examples/notes/alg_3_1_naive_bayes.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from sklearn.naive_bayes import CategoricalNB

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

env = gymnasium.make("rlsuite/ObstacleGrid-v0")
model, layout = rl.MDP.from_env(env, gamma=0.9), env.unwrapped.layout
best = rl.solve(model)
walls = np.pad(layout.walls, 1, mode="edge")
sides = [[walls[r + 1 + dr, c + 1 + dc] for dr, dc in layout.arrows] for r, c in layout.cells]
X = np.column_stack([sides, layout.cells[:, 0], layout.cells[:, 1] > 2]).astype(int)
inside = layout.cells[:, 1] < layout.n_columns - 1

bayes = CategoricalNB(alpha=1.0).fit(X[inside], best.policy[inside])
chance = bayes.predict_proba(X)
policy = bayes.classes_[chance.argmax(axis=1)]
share = best.optimal_actions[np.arange(len(X)), policy][inside].mean()
assert round(share * inside.sum()) == 27  # of 28
by_hand = bayes.class_log_prior_ + sum(bayes.feature_log_prob_[k][:, X[:, k]].T for k in range(6))
assert np.allclose(chance, np.exp(by_hand) / np.exp(by_hand).sum(axis=1, keepdims=True))  # prior times likelihoods

shown = np.zeros((len(X), 4))
shown[:, bayes.classes_] = chance
title, of = "Naive Bayes: which move?", "probability of the most probable move"
ax = plotting.value_map(env, chance.max(axis=1), shown, of=of, title=title)
plotting.save(ax, (sys.argv[1:] or ["alg_3_1_naive_bayes.png"])[0])
