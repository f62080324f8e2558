"""Blackjack (S&B2 Figure 5.2): the policy that Monte Carlo control with exploring starts finds in five million games.

Lines: the planner's policy, which hits below them. Where the two differ, hitting and sticking have almost the same
value. Run as ``python examples/24_blackjack_optimal.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.blackjack import HIT, STICK, blackjack, observation_of

agent = rl.MonteCarloExploringStarts(gamma=1.0)
agent.learn("rlsuite_envs:rlsuite/Blackjack-v0", episodes=5_000_000, seed=7)
optimum = rl.solve(blackjack()).policy
figure = Figure(figsize=(9.0, 7.6), layout="constrained")
panels = figure.subplots(2, 2, sharex=True, sharey=True)
for row, usable in zip(panels, (True, False), strict=True):
    cells = [
        [observation_of(sum_, card, usable_ace=usable) for card in range(1, 11)] for sum_ in range(11 + usable, 22)
    ]
    hands = np.array(cells)
    hits = agent.q_[hands, HIT] > agent.q_[hands, STICK]
    stairs = (optimum[hands] == HIT).sum(axis=0) + 10.5 + usable
    for axes, shown, title in ((row[0], hits, "hit (dark) or stick"), (row[1], agent.q_[hands].max(-1), "value")):
        extent = (0.5, 10.5, 10.5 + usable, 21.5)
        image = axes.imshow(shown, origin="lower", extent=extent, cmap="Blues" if axes is row[0] else "viridis")
        axes.stairs(
            stairs, np.arange(0.5, 11), baseline=None, color="black" if axes is row[0] else "white", linewidth=2
        )
        axes.set(title=f"{'usable' if usable else 'no usable'} ace: {title}")
        axes.set_xticks(range(1, 11), ["A", *range(2, 11)])
    figure.colorbar(image, ax=row, label="value")
figure.supxlabel("dealer shows")
figure.supylabel("player's sum")
plotting.save(figure, (sys.argv[1:] or ["24_blackjack_optimal.png"])[0])
