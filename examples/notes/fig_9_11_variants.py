"""The variants of Q-learning compared (lecture notes, Fig. 9.11), on the grid of Fig. 9.10: the error of Q(S0, R).

The rule for certain worlds keeps its last sample, 81 or 90. Averages come to 85.5, unless exploration is part of them:
all of it in Sarsa, a little in Q^lambda. Thirty seeds. Run as
``python examples/notes/fig_9_11_variants.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

rules = {"gamma": 0.9, "exploration": rl.EpsilonGreedy(0.3)}
mean = {**rules, "learning_rate": rl.Inverse(1.0, per="visits")}
agents = {
    "for certain worlds": rl.DeterministicQLearning(**rules),
    "1 / (1 + visits)": rl.QLearning(**mean),
    "three steps": rl.NStepTreeBackup(n=3, **mean),
    "Q^lambda": rl.PengQLambda(lambda_=0.5, **mean),
    "Sarsa": rl.Sarsa(**mean),
}
steps = [*range(25, 1001, 25)]
curves = {name: np.empty((30, len(steps))) for name in agents}
for name, agent in agents.items():
    for seed in range(30):
        learner = agent.learn("rlsuite/NondeterministicGridGoal-v0", steps=25, seed=seed)
        for column in range(len(steps)):
            curves[name][seed, column] = abs(learner.q_[0, 1] - 85.5)
            learner.learn("rlsuite/NondeterministicGridGoal-v0", steps=25)
assert curves["for certain worlds"][:, -1].min() >= 4.5 - 1e-9
assert curves["1 / (1 + visits)"][:, -1].mean() < 2
look = {"title": "Error of Q(S0, R)", "xlabel": "steps", "ylabel": "|Q - 85.5| (reward)", "ylim": (0, 10)}
ax = plotting.mean_curves(curves, x=steps, notes=["85.5 is the optimal value."], **look)
plotting.save(ax, (sys.argv[1:] or ["fig_9_11_variants.png"])[0])
