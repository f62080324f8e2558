"""Rare states (lecture notes, 1.3; general 12.2): precision against recall, and what weights of classes do.

A loaded die is thrown one time in ten. Who always says "fair" is right nine times out of ten and finds nothing. The
curves are all thresholds on Pr[loaded]; a classifier that weighs the rare class more goes along its curve. Run as
``python examples/notes/sec_1_3_rare_states.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, precision_recall_curve

import rlsuite as rl
from rlsuite import plotting
from rlsuite.inference import state_scores

casino = rl.HMM([0.9, 0.1], [[0.98, 0.02], [0.18, 0.82]], [[1 / 6] * 6, [0.1] * 5 + [0.5]])
throws, dice = casino.sample(4_000, seed=1)
sixes = np.lib.stride_tricks.sliding_window_view(np.pad(throws == 5, 3), 7).astype(float)
X, new, known, dice = sixes[:2_000], sixes[2_000:], dice[:2_000], dice[2_000:]
plain, weighted = (LogisticRegression(class_weight=weight).fit(X, known) for weight in (None, "balanced"))
scores = {"smoother": casino.smooth(throws)[2_000:, 1], "filter": casino.filter(throws)[2_000:, 1]}
scores["logistic regression on seven throws"] = plain.predict_proba(new)[:, 1]
area = {name: average_precision_score(dice, score) for name, score in scores.items()}
found = [state_scores(dice, classifier.predict(new)) for classifier in (plain, weighted)]
assert area["smoother"] > area["filter"] > 2 * dice.mean()
assert found[0].recall[1] < found[1].recall[1]
assert found[0].accuracy > found[1].accuracy
_, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
for (name, score), colour in zip(scores.items(), ("#0072b2", "#d55e00", "#009e73"), strict=True):
    precision, recall, _ = precision_recall_curve(dice, score)
    ax.plot(recall, precision, color=colour, label=f"{name}: area {area[name]:.2f}")
for each, name, marker in zip(found, ("the same, threshold 1/2", "the same, balanced weights"), "os", strict=True):
    ax.plot(each.recall[1], each.precision[1], marker, color="black", label=name)
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
look = {"title": "Is the die loaded?", "xlabel": "recall", "ylabel": "precision"}
plotting.style_axes(["n = 2000 throws that the classifier has not seen."], ax=ax, **look)
plotting.save(ax, (sys.argv[1:] or ["sec_1_3_rare_states.png"])[0])
