"""Deep exploration: a river that is hard to swim up, and pays at its end (RiverSwim; current weaker than usual).

An agent that explores at random drifts back each time. R-max, UCRL2 and posterior sampling plan their exploration.
Ten seeds each. Run as ``python examples/44_deep_exploration.py [figure.png]``.
"""

import sys
from dataclasses import replace

import gymnasium

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

current = {"forward": 0.35, "back": 0.05, "washed_back": 0.4, "left_reward": 0.005, "right_reward": 1.0}
river = gymnasium.make("rlsuite/RiverSwim-v0", max_episode_steps=1_000_000, **current)
agents = {
    "posterior sampling": rl.PosteriorSampling(gamma=0.99),
    "R-max, m = 100": rl.RMax(m=100, gamma=0.99),
    "UCRL2": rl.UCRL2(delta=0.05),
    "Q-learning, epsilon = 0.1": rl.QLearning(gamma=0.99, learning_rate=rl.Polynomial(1.0, power=0.6, per="visits")),
}
results = [
    replace(rl.train(agent, river, steps=100_000, seeds=10, workers=2, regret=False), agent=label)
    for label, agent in agents.items()
]
plotting.save(plotting.cumulative_reward(results), (sys.argv[1:] or ["44_deep_exploration.png"])[0])
