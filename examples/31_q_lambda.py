"""The variants of Q-learning, after the lecture notes' Fig. 9.11: their cumulative reward in four rooms with slips.

The deterministic rule keeps only its last sample. Traces find the second way to the goal quickly: Watkins cuts
them at exploring actions, Peng (the notes' Q^lambda) and the naive rule do not. Thirty seeds each; `runs/fig_9_11.toml`
is the same in the notes' own grid. Run as ``python examples/31_q_lambda.py [figure.png]``.
"""

import sys
from dataclasses import replace

import gymnasium

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

rooms = gymnasium.make("rlsuite/GridWorld-v0", map="FourRooms", slip=0.1)
common = {"gamma": 0.95, "exploration": rl.EpsilonGreedy(0.1)}
averaging = {**common, "learning_rate": rl.Polynomial(1.0, power=0.6, per="visits")}
agents = {
    "deterministic rule": rl.DeterministicQLearning(**common),
    "Q-learning": rl.QLearning(**averaging),
    "Watkins' Q(lambda)": rl.WatkinsQLambda(**averaging, lambda_=0.8),
    "Peng's Q(lambda)": rl.PengQLambda(**averaging, lambda_=0.8),
    "naive Q(lambda)": rl.NaiveQLambda(**averaging, lambda_=0.8),
}
results = [
    replace(
        rl.train(agent, rooms, steps=12_000, seeds=30, workers=2, regret=False),
        agent=label,
        environment="four rooms, one move in ten slips",
    )
    for label, agent in agents.items()
]
plotting.save(plotting.cumulative_reward(results), (sys.argv[1:] or ["31_q_lambda.png"])[0])
