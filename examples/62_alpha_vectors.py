"""The tiger solved exactly: alpha vectors with one to three steps to go, and for an infinite horizon (KLC98 section 5).

Each line is the value of a plan if the tiger is behind the left door with that probability. With one step to go a
door is opened if it is nine times as likely to be the right one; with more steps it pays to be more certain. Run as
``python examples/62_alpha_vectors.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import rlsuite as rl
from rlsuite import plotting

tiger = rl.POMDP.from_arrays(
    [np.eye(2), np.full((2, 2), 0.5), np.full((2, 2), 0.5)],  # listening moves nothing, opening starts again
    [[-1, -1], [-100, 10], [10, -100]],
    [[[0.85, 0.15], [0.15, 0.85]], np.full((2, 2), 0.5), np.full((2, 2), 0.5)],
    order="ass",
    gamma=0.95,
    start=[0.5, 0.5],
    state_labels=["tiger left", "tiger right"],
    action_labels=["listen", "open left", "open right"],
    observation_labels=["hear left", "hear right"],
)
figure = Figure(figsize=(15, 11), dpi=100, layout="constrained")
panels = figure.subplots(2, 2).flat
soon = rl.solve(tiger, "incremental_pruning", horizon=3)
for steps, ax in zip((1, 2, 3), panels, strict=False):
    plotting.alpha_vectors(soon, steps_left=steps, ax=ax)
plotting.alpha_vectors(rl.solve(tiger, "incremental_pruning", tol=1e-9), ax=panels[3])
plotting.save(figure, (sys.argv[1:] or ["62_alpha_vectors.png"])[0])
