"""The ten-armed bandit (S&B2 section 2.3): the regret of not pulling the best arm, a hundred bandits each.

A greedy agent depends on luck, and constant exploration costs for ever; decaying exploration pays off. Run as
``python examples/05_bandit.py [figure.png]``.
"""

import sys
from dataclasses import replace

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

explorations = {
    "greedy": rl.EpsilonGreedy(0.0),
    "epsilon 0.1": rl.EpsilonGreedy(0.1),
    "epsilon like 1/t": rl.EpsilonGreedy(rl.Inverse(1.0, scale=30)),
}
results = [
    replace(
        rl.train(rl.SampleAverage(exploration=rule), "rlsuite/Bandit-v0", steps=3_000, seeds=100, workers=2),
        agent=label,
    )
    for label, rule in explorations.items()
]
plotting.save(plotting.regret(results), (sys.argv[1:] or ["05_bandit.png"])[0])
