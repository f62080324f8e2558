"""How many hidden states (lecture notes, 9.3; slides on the choice of a model): BIC, and the posterior that it means.

Three machines are seen by one noisy number. More states always make the numbers more probable; BIC takes off what more
parameters explain of any noise. Run as ``python examples/notes/sec_9_3_how_many_states.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
from rlsuite import plotting
from rlsuite.inference import Gaussian, choose_n_states

stay = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
machine = rl.HMM([1 / 3] * 3, stay, Gaussian([-1.7, 0.0, 1.7], [0.5, 0.5, 0.5]))
seen, _ = machine.sample(300, seed=3)
choice = choose_n_states(seen, range(1, 6), "gaussian", restarts=5, seed=0)
assert np.all(np.diff(choice.log_likelihoods) > 0)
assert choice.n_states == 3
assert choice.posterior[2] > 0.9

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.plot(choice.tried, -2 * choice.log_likelihoods, "o-", color="#9aa5b1", label="-2 log likelihood")
left.plot(choice.tried, choice.bic, "o-", color="#d55e00", label="BIC")
left.plot(choice.tried, choice.aic, "o--", color="#0072b2", label="AIC")
left.set_xticks(choice.tried)
left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
right.bar(choice.tried, choice.posterior, color="#009e73")
look = {"title": "How many states made n = 300 numbers?", "xlabel": "hidden states", "ylabel": "criterion (nats)"}
plotting.style_axes(["The smaller, the better."], ax=left, **look)
look = {"title": "What BIC says of each", "xlabel": "hidden states", "ylabel": "posterior probability"}
plotting.style_axes(["All five are equally probable before."], ax=right, **look)
plotting.save(figure, (sys.argv[1:] or ["sec_9_3_how_many_states.png"])[0])
