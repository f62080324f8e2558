"""A hidden Markov model (lecture notes, Fig. 9.12): is it raining? Filter, smoother, best path.

Russell and Norvig's numbers: rain after two umbrellas .883, and on the first of the two days as well once the second
is known. Run as ``python examples/notes/fig_9_12_umbrella.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
from rlsuite import plotting

weather = rl.HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], state_labels=["rain", "dry"])
two_days = [0, 0]
assert np.allclose(weather.filter(two_days)[:, 0], [0.818182, 0.883357], atol=1e-6)
assert np.allclose(weather.smooth(two_days)[0, 0], 0.883357, atol=1e-6)
assert weather.decode([0, 0, 1, 0, 0]).tolist() == [0, 0, 1, 0, 0]

seen, days = weather.sample(60, seed=3)
ax = plotting.state_posteriors(weather, seen, states=days, observation_labels=["umbrella", "none"])
plotting.save(ax, (sys.argv[1:] or ["fig_9_12_umbrella.png"])[0])
