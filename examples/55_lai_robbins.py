"""Regret against the bound of Lai and Robbins (1985): in the long run no consistent agent loses less than C ln t.

Nine Bernoulli arms, .1 to .9. KL-UCB and Thompson sampling grow as slowly as the bound allows, UCB1 does not (Garivier
& Cappe 2011; Kaufmann, Korda & Munos 2012). 20 copies of the bandit, played side by side. Run as
``python examples/55_lai_robbins.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import contextual_bandit

COPIES = 20
arms = np.arange(1, 10) / 10
env = contextual_bandit(np.tile(arms, (COPIES, 1)), kind="bernoulli", order="in turn").to_env()
times = np.unique(np.logspace(1, 4.7, 40).astype(int))
agents = {"UCB1": rl.UCB1(), "MOSS": rl.MOSS(horizon=50_000), "KL-UCB": rl.KLUCB(), "Thompson": rl.ThompsonBernoulli()}
samples = {}
for label, agent in agents.items():
    curves = []
    for steps in COPIES * np.diff(times, prepend=0):
        agent.learn(env, steps=steps, record_every=steps, seed=None if curves else 7)
        curves.append(agent.visits_ @ (0.9 - arms))
    samples[label] = np.transpose(curves)
others = arms[:-1]
divergence = others * np.log(others / 0.9) + (1 - others) * np.log((1 - others) / 0.1)
constant = ((0.9 - others) / divergence).sum()
look = {"x": times, "xscale": "log", "xlabel": "pulls", "ylabel": "regret", "xlim": (1, times[-1]), "ylim": (0, 300)}
ax = plotting.mean_curves(samples, of="bandits", title="Nine Bernoulli arms", figsize=(7.0, 4.0), **look)
ax.plot(times, constant * np.log(times), "k--", label=f"C ln t with C = {constant:.2f}")
plotting.style_axes(ax=ax)
plotting.save(ax, (sys.argv[1:] or ["55_lai_robbins.png"])[0])
