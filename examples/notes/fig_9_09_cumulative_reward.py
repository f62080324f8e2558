"""Cumulative reward in the grid goal problem (lecture notes, Fig. 9.9), and beside it what the notes advise instead.

The reward over time also counts what exploration costs. After every k = 5 steps of learning, the value of the policy so
far says what was learned: V*(S0) = 81 after 40 steps. `runs/fig_9_9.toml` is such an experiment. Run as
``python examples/notes/fig_9_09_cumulative_reward.py [figure.png]``.
"""

import sys
from dataclasses import replace

import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

explorations = {
    "exploration that stays": rl.EpsilonGreedy(0.3),
    "exploration that vanishes": rl.EpsilonGreedy(rl.Exponential(1.0, 0.98)),
}
results = []
for name, exploration in explorations.items():
    agent = rl.DeterministicQLearning(gamma=0.9, exploration=exploration)
    found = rl.train(agent, "rlsuite/GridGoal-v0", steps=300, seeds=30, evaluate_every=5, record_every=5)
    assert np.allclose([record.evaluation[-1] for record in found.records], 81)
    results.append(replace(found, agent=name))
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
plotting.cumulative_reward(results, ax=left)
plotting.evaluation(results, ax=right)
plotting.save(figure, (sys.argv[1:] or ["fig_9_09_cumulative_reward.png"])[0])
