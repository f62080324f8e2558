"""The bandit with six arms (lecture notes, Fig. 9.5): known after six pulls if rewards are fixed, not if they vary.

The agent takes the mean reward of each arm. If rewards vary, the best arm may look bad at first, and a greedy agent
never tries it again. Run as ``python examples/notes/fig_9_05_six_arms.py [figure.png]``.
"""

import sys
from dataclasses import replace

import numpy as np

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import BanditEnv

values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
fixed, normal = BanditEnv(kind="deterministic", values=values), BanditEnv(kind="normal", std=3.0, values=values)
agent = rl.SampleAverage(exploration=rl.EpsilonGreedy(0.0)).learn(fixed, steps=6, seed=0)
assert np.array_equal(agent.q_[0], values)  # six pulls, and each arm is known

rules = {
    "fixed rewards, greedy": (fixed, 0.0),
    "rewards with deviation 3, greedy": (normal, 0.0),
    "deviation 3, epsilon like 1/t": (normal, rl.Inverse(1.0, scale=20)),
}
results = [
    replace(rl.train(rl.SampleAverage(exploration=rl.EpsilonGreedy(epsilon)), env, steps=1_500, seeds=30), agent=label)
    for label, (env, epsilon) in rules.items()
]
ax = plotting.regret(results, title="Six arms, worth 1 to 6 (Fig. 9.5)")
plotting.save(ax, (sys.argv[1:] or ["fig_9_05_six_arms.png"])[0])
