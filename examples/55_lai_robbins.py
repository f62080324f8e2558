"""Regret against the bound of Lai and Robbins (1985): in the long run no consistent agent loses less than C ln t.

Nine Bernoulli arms, .1 to .9. KL-UCB and Thompson sampling grow as slowly as the bound allows, UCB1 does not (Garivier
& Cappe 2011; Kaufmann, Korda & Munos 2012). 20 copies of the bandit, played side by side. Run as
``python examples/55_lai_robbins.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import contextual_bandit

COPIES = 20
arms = np.arange(1, 10) / 10
env = contextual_bandit(np.tile(arms, (COPIES, 1)), kind="bernoulli", order="in turn").to_env()
times = np.unique(np.logspace(1, 4.7, 40).astype(int))
figure = Figure(figsize=(7.5, 4.5), dpi=150, layout="constrained")
axes = figure.subplots()
agents = {"UCB1": rl.UCB1(), "MOSS": rl.MOSS(horizon=50_000), "KL-UCB": rl.KLUCB(), "Thompson": rl.ThompsonBernoulli()}
for label, agent in agents.items():
    curves = []
    for steps in COPIES * np.diff(times, prepend=0):
        agent.learn(env, steps=steps, record_every=steps, seed=None if curves else 7)
        curves.append(agent.visits_ @ (0.9 - arms))
    colour = plotting.Palette(agents)[label].colour
    axes.plot(times, np.mean(curves, axis=1), color=colour, label=label)
    axes.fill_between(times, *np.quantile(curves, [0.1, 0.9], axis=1), color=colour, alpha=0.15, linewidth=0)
others = arms[:-1]
divergence = others * np.log(others / 0.9) + (1 - others) * np.log((1 - others) / 0.1)
constant = ((0.9 - others) / divergence).sum()
axes.plot(times, constant * np.log(times), "k--", label=f"C ln t with C = {constant:.2f}")
axes.set(xscale="log", ylim=(0, 300), xlabel="pulls", ylabel="regret")
axes.set_title(f"Nine Bernoulli arms: mean and 10 to 90 % of {COPIES} bandits")
axes.legend(frameon=False, loc="upper left")
plotting.save(figure, (sys.argv[1:] or ["55_lai_robbins.png"])[0])
