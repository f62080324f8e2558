"""Bags of candy (lecture notes, Fig. 3.5): five hypotheses, and what each lime says of them.

The bag is a hidden state that never changes, so the filter of a hidden Markov model is Bayes' rule. After two limes the
bags have 0, 1/26, 4/13, 9/26 and 4/13. Run as ``python examples/notes/fig_3_05_candy.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
from rlsuite import plotting

lime = np.arange(5) / 4
names = ["no lime", "1/4 lime", "half lime", "3/4 lime", "all lime"]
bags = rl.HMM([0.1, 0.2, 0.4, 0.2, 0.1], np.eye(5), np.column_stack([1 - lime, lime]), state_labels=names)
draws = [1] * 10
posterior = bags.filter(draws)
assert np.allclose(posterior[0], [0, 1 / 10, 2 / 5, 3 / 10, 1 / 5])
assert np.allclose(posterior[1], [0, 1 / 26, 4 / 13, 9 / 26, 4 / 13])
assert np.allclose(posterior[:2] @ lime, [13 / 20, 19 / 26])  # is the next one lime, too?

lines = {name: [prior, *column] for name, prior, column in zip(names, bags.start, posterior.T, strict=True)}
title = "Which bag? (Fig. 3.5)"
labels, notes = {"xlabel": "limes drawn in a row", "ylabel": "probability"}, ["Exact probabilities."]
ax = plotting.mean_curves(lines, x=range(11), of="", notes=notes, title=title, **labels)
plotting.save(ax, (sys.argv[1:] or ["fig_3_05_candy.png"])[0])
