"""Blackjack (S&B2 Figure 5.1): the value of the policy that sticks on 20 or 21 only, by Monte Carlo prediction.

Hands with a usable ace are rare, and their values still rough after 10,000 games. Run as
``python examples/23_blackjack_values.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
from rlsuite import plotting
from rlsuite.rendering import GridLayout
from rlsuite_envs.blackjack import HANDS, HIT, STICK, observation_of

policy = [STICK if hand.total >= 20 else HIT for hand in HANDS] + [STICK]
figure, panels = plt.subplots(2, 2, figsize=(12, 12), layout="constrained")
for column, episodes in enumerate((10_000, 500_000)):
    agent = rl.FirstVisitMonteCarlo(gamma=1.0, policy_to_follow=policy)
    agent.learn("rlsuite_envs:rlsuite/Blackjack-v0", episodes=episodes, seed=7)
    for axes, usable in zip(panels[:, column], (True, False), strict=True):
        hands = [[observation_of(sum_, card, usable_ace=usable) for card in range(1, 11)] for sum_ in range(21, 11, -1)]
        look = {"vmin": -1, "vmax": 1, "xlabel": "dealer shows", "ylabel": "player's sum", "ax": axes}
        title = f"{'Usable' if usable else 'No usable'} ace, {episodes:,} games"
        plotting.value_map(GridLayout.row_major(10, 10), agent.value_[np.ravel(hands)], title=title, **look)
        axes.set_xticks(range(10), ["A", *range(2, 11)])
        axes.set_yticks(range(10), range(21, 11, -1))
plotting.save(figure, (sys.argv[1:] or ["23_blackjack_values.png"])[0])
