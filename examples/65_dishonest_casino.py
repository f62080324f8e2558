"""The dishonest casino: when was the loaded die thrown? Smoothing and filtering.

The areas are the posteriors given all throws, the thin line is the filter at that time (Durbin, Eddy, Krogh and
Mitchison 1998, section 3.2). Run as ``python examples/65_dishonest_casino.py [figure.png]``.
"""

import sys

import rlsuite as rl
from rlsuite import plotting

fair, loaded = [1 / 6] * 6, [0.1] * 5 + [0.5]
casino = rl.HMM([0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], [fair, loaded], state_labels=["fair die", "loaded die"])
throws, dice = casino.sample(300, seed=7)
ax = plotting.state_posteriors(casino, throws, states=dice, observation_labels=["1", "2", "3", "4", "5", "6"])
plotting.save(ax, (sys.argv[1:] or ["65_dishonest_casino.png"])[0])
