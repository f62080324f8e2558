"""The grid goal problem (lecture notes, Figs. 9.6 to 9.8): rewards on the arrows of the moves, and Q* on them.

Entering G pays 100. The best value of the moves of a state is V*: 81, 90, 100 in the lower row, 90, 100 above. Run as
``python examples/notes/fig_9_06_to_08_grid.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

env = gymnasium.make("rlsuite/GridGoal-v0")
model, cells = rl.MDP.from_env(env, gamma=0.9), env.unwrapped.layout.cells
best = rl.solve(model)
assert np.allclose(best.value, [81, 90, 100, 90, 100, 0])
BOX = {"boxstyle": "round,pad=0.5", "facecolor": "#eef2f5", "edgecolor": "#5c6168"}
figure, axes = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
for ax, title, table in zip(
    axes, ("reward", "Q*, in bold what is best"), (model.expected_reward(), best.q), strict=True
):
    for state, action in np.argwhere(model.legal):
        ((_, after, _, _),) = model.P[state][action]
        (y, x), (down, right) = cells[state], cells[after] - cells[state]
        at, bold = (x + 0.24 * right + 0.09 * down, y + 0.24 * down - 0.09 * right), best.optimal_actions[state, action]
        arrow = {"arrowstyle": "->", "linewidth": 2.2 if bold and ax is axes[1] else 1.0, "color": "#0072b2"}
        ax.annotate("", (at[0] + 0.52 * right, at[1] + 0.52 * down), at, arrowprops=arrow)
        middle = at[0] + 0.26 * right + 0.16 * down, at[1] + 0.26 * down - 0.09 * right
        weight = "bold" if bold and ax is axes[1] else "normal"
        ax.text(*middle, f"{table[state, action]:g}", ha="center", va="center", weight=weight)
    for label, (y, x) in zip(model.state_labels, cells, strict=True):
        ax.text(x, y, label, ha="center", va="center", fontsize=13, bbox=BOX)
    plotting.style_axes([], ax=ax, title=title, xlim=(-0.5, 2.5), ylim=(1.4, -0.4))
    ax.set_axis_off()
figure.supxlabel("All moves are certain; an episode ends in G. gamma = 0.9.", fontsize=9)
plotting.save(figure, (sys.argv[1:] or ["fig_9_06_to_08_grid.png"])[0])
