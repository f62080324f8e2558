"""Eligibility traces: one-step Sarsa and four kinds of Sarsa(lambda) in the windy grid (S&B2 Example 6.5).

The first goal is found by chance. With traces all pairs on the way to it are updated, not only the last one (S&B2
Example 12.1): the episodes after it are short. Thirty seeds each. Run as ``python examples/30_traces.py [figure.png]``.
"""

import sys
from dataclasses import replace

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

common = {"gamma": 1.0, "learning_rate": 0.2, "exploration": rl.EpsilonGreedy(0.1)}
agents = {
    "Sarsa": rl.Sarsa(**common),
    **{kind: rl.SarsaLambda(**common, lambda_=0.8, traces=kind) for kind in ("accumulating", "replacing", "dutch")},
    "true online": rl.TrueOnlineSarsaLambda(**common, lambda_=0.8),
}
results = [
    replace(
        rl.train(agent, "rlsuite/WindyGrid-v0", episodes=60, seeds=30, workers=2),
        agent=label,
        environment="the windy grid",
    )
    for label, agent in agents.items()
]
plotting.save(plotting.cumulative_reward(results), (sys.argv[1:] or ["30_traces.png"])[0])
