"""Blackjack (S&B2 Figure 5.1): the value of the policy that sticks on 20 or 21 only, by Monte Carlo prediction.

Hands with a usable ace are rare, and their values still rough after 10,000 games. Run as
``python examples/23_blackjack_values.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.blackjack import HANDS, HIT, STICK, observation_of

policy = [STICK if hand.total >= 20 else HIT for hand in HANDS] + [STICK]
figure = Figure(figsize=(9.0, 7.6), layout="constrained")
panels = figure.subplots(2, 2, sharex=True, sharey=True)
for column, episodes in enumerate((10_000, 500_000)):
    agent = rl.FirstVisitMonteCarlo(gamma=1.0, policy_to_follow=policy)
    agent.learn("rlsuite_envs:rlsuite/Blackjack-v0", episodes=episodes, seed=7)
    for axes, usable in zip(panels[:, column], (True, False), strict=True):
        hands = [[observation_of(sum_, card, usable_ace=usable) for card in range(1, 11)] for sum_ in range(12, 22)]
        image = axes.imshow(agent.value_[np.array(hands)], origin="lower", cmap="viridis", vmin=-1, vmax=1)
        axes.set(title=f"{'usable' if usable else 'no usable'} ace, {episodes:,} games")
        axes.set_xticks(range(10), ["A", *range(2, 11)])
        axes.set_yticks(range(10), range(12, 22))
figure.supxlabel("dealer shows")
figure.supylabel("player's sum")
figure.colorbar(image, ax=panels, label="value")
plotting.save(figure, (sys.argv[1:] or ["23_blackjack_values.png"])[0])
