"""Blackjack (S&B2 Figure 5.2): the policy that Monte Carlo control with exploring starts finds in five million games.

White line: the planner's policy, which hits below it. Where the two differ, hitting and sticking have almost the same
value. Run as ``python examples/24_blackjack_optimal.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
from rlsuite import plotting
from rlsuite.rendering import GridLayout
from rlsuite_envs.blackjack import HIT, STICK, blackjack, observation_of

agent = rl.MonteCarloExploringStarts(gamma=1.0)
agent.learn("rlsuite_envs:rlsuite/Blackjack-v0", episodes=5_000_000, seed=7)
optimum = rl.solve(blackjack()).policy
figure = plt.figure(figsize=(13, 6.6), layout="constrained")
for axes, usable in zip(figure.subplots(1, 2), (True, False), strict=True):
    sums = range(21, 10 + usable, -1)
    hands = np.array([[observation_of(sum_, card, usable_ace=usable) for card in range(1, 11)] for sum_ in sums])
    hits = np.argwhere(agent.q_[hands, HIT] > agent.q_[hands, STICK])
    layout = GridLayout.row_major(*hands.shape, marks={tuple(square): "H" for square in hits.tolist()})
    look = {"vmin": -1, "vmax": 1, "xlabel": "dealer shows", "ylabel": "player's sum", "ax": axes}
    title = f"{'Usable' if usable else 'No usable'} ace: value, H where the learner hits"
    plotting.value_map(layout, agent.q_[hands].max(-1).ravel(), title=title, **look)
    axes.set_xticks(range(10), ["A", *range(2, 11)])
    axes.set_yticks(range(len(sums)), sums)
    stairs = (optimum[hands] == STICK).sum(axis=0) - 0.5
    axes.stairs(stairs, np.arange(-0.5, 10), baseline=None, color="white", linewidth=3)
plotting.save(figure, (sys.argv[1:] or ["24_blackjack_optimal.png"])[0])
