"""EM (lecture notes, Alg. 7.2): two kinds of arms, told apart by their mean rewards alone.

Of 300 arms one in three is worth 2 and the others 0; each was pulled five times. The mixture finds the kinds, and how
probable it is that an arm is a good one. Run as ``python examples/notes/alg_7_2_mixture.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib import pyplot as plt

from rlsuite import plotting
from rlsuite.reference import gaussian_mixture, responsibilities

rng = np.random.default_rng(0)
good = rng.random(300) < 1 / 3
means = (2.0 * good[:, np.newaxis] + rng.normal(size=(300, 5))).mean(axis=1)[:, np.newaxis]
start = np.array([0.5, 0.5]), np.array([means.min(axis=0), means.max(axis=0)]), np.ones((2, 1, 1))
found = gaussian_mixture(means, *start, iterations=100)
assert np.allclose(found[0], [2 / 3, 1 / 3], atol=0.05)
assert np.allclose(found[1].ravel(), [0, 2], atol=0.1)
assert np.allclose(found[2].ravel(), 1 / 5, atol=0.05)  # the variance of a mean of five
is_good = responsibilities(means, *found)[:, 1]
assert ((is_good > 0.5) == good).mean() > 0.97

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
ax.hist([means[~good, 0], means[good, 0]], bins=30, stacked=True, color=["#9aa5b1", "#009e73"])
order, chance = np.argsort(means[:, 0]), ax.twinx()
chance.plot(means[order], is_good[order], color="#d55e00", linewidth=2)
chance.set_ylabel("Pr[good | mean], the line", fontsize=10)
captions = ["Bars: n = 300 arms, worth 0 (grey) or 2 (green), which the algorithm does not know."]
plotting.style_axes(captions, ax=ax, title="Two kinds of arms", xlabel="mean reward of five pulls", ylabel="arms")
plotting.save(figure, (sys.argv[1:] or ["alg_7_2_mixture.png"])[0])
