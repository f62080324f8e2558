"""Contextual bandits (Li et al. 2010; Agrawal & Goyal 2013): what is learned in one state is used in all others.

100 states with features of their own, and four arms whose mean rewards are linear in them. With the features, regret
soon stops growing; without them, every state has to be learned on its own. Run as
``python examples/57_contextual.py [figure.png]``.
"""

import sys
from dataclasses import replace

import numpy as np

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import contextual_bandit

rng = np.random.default_rng(0)
features = rng.standard_normal((100, 5)) / np.sqrt(5)
env = contextual_bandit(features @ rng.standard_normal((5, 4)), std=0.5).to_env()
agents = {
    "LinUCB": rl.LinUCB(features=features, alpha=0.5),
    "linear Thompson": rl.LinearThompson(features=features, v=0.5),
    "Thompson, no features": rl.ThompsonNormal(std=0.5),
    "UCB1, no features": rl.UCB1(c=0.5),
}
results = [
    replace(rl.train(agent, env, steps=5_000, seeds=30, workers=2), agent=label, environment="Contextual bandit")
    for label, agent in agents.items()
]
plotting.save(plotting.regret(results), (sys.argv[1:] or ["57_contextual.png"])[0])
