"""Gradient bandits with and without a baseline (S&B2 Fig. 2.5): true rewards around +4 instead of 0.

With the average reward as baseline the shift has no effect. 2,000 bandits are played side by side, each a state of its
own. Run as ``python examples/53_gradient_bandit.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import contextual_bandit

BANDITS, PULLS = 2_000, 1_000
means = 4.0 + np.random.default_rng(0).standard_normal((BANDITS, 10))
env = contextual_bandit(means, order="in turn").to_env()
best = (np.arange(BANDITS), means.argmax(axis=1))
figure = Figure(figsize=(7.5, 4), dpi=150, layout="constrained")
axes = figure.subplots()
for baseline, name, colour in (("average", "with baseline", "#0072b2"), ("none", "without baseline", "#a0522d")):
    for learning_rate, line in ((0.1, "solid"), (0.4, "dashed")):
        agent = rl.GradientBandit(learning_rate=learning_rate, baseline=baseline)
        counts = [0]
        for pull in range(PULLS):
            agent.learn(env, steps=BANDITS, record_every=BANDITS, seed=None if pull else 7)
            counts.append(agent.visits_[best].sum())
        label = f"{name}, step size {learning_rate}"
        axes.plot(range(1, PULLS + 1), 100 * np.diff(counts) / BANDITS, color=colour, linestyle=line, label=label)
axes.set(xlabel="pulls", ylabel="optimal pulls in percent", ylim=(0, 100))
axes.set_title(f"Gradient bandits, mean over {BANDITS:,} bandits")
axes.legend(frameon=False, loc="upper left", ncols=2)
plotting.save(figure, (sys.argv[1:] or ["53_gradient_bandit.png"])[0])
