"""A parameter study of bandits (S&B2 Fig. 2.6): mean reward of the first 1,000 pulls against the one parameter.

Ten groups of 100 bandits (the book: 2,000 bandits) are played side by side, each bandit a state of its own. Run as
``python examples/54_parameter_study.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import contextual_bandit

GROUPS, BANDITS, PULLS = 10, 100, 1_000
draw = np.random.default_rng(0).standard_normal
envs = [contextual_bandit(draw((BANDITS, 10)), order="in turn").to_env() for _ in range(GROUPS)]


def mean_reward(agent, env):
    """Mean over the bandits of a group and over the pulls."""
    return agent.learn(env, steps=BANDITS * PULLS, seed=7).record_.cumulative_reward[-1] / (BANDITS * PULLS)


mean, greedy = rl.Inverse(1.0, per="visits"), rl.EpsilonGreedy(0.0)
studies = {
    "epsilon-greedy (epsilon)": (
        range(-7, -1),
        lambda x: rl.QLearning(gamma=0.0, learning_rate=mean, exploration=rl.EpsilonGreedy(x)),
    ),
    "gradient bandit (step size)": (range(-5, 1), lambda x: rl.GradientBandit(learning_rate=x)),
    "UCB (c)": (range(-4, 3), lambda x: rl.SampleAverage(exploration=rl.UpperConfidence(x))),
    "greedy, step size 0.1 (first value)": (
        range(-2, 3),
        lambda x: rl.QLearning(gamma=0.0, initial_value=x, exploration=greedy),
    ),
}
samples = {
    label: (2.0 ** np.array(powers), [[mean_reward(make(2.0**power), env) for power in powers] for env in envs])
    for label, (powers, make) in studies.items()
}
look = {"xlabel": "parameter (named in brackets)", "ylabel": "mean reward of a pull", "xlim": (2**-7.3, 2**2.3)}
notes = [f"Of {BANDITS} bandits each, {PULLS:,} pulls of each bandit."]
ax = plotting.mean_curves(samples, of="groups", notes=notes, title="Parameter study", xscale="log", **look)
ax.set_xticks(2.0 ** np.arange(-7, 3), ["1/128", "1/64", "1/32", "1/16", "1/8", "1/4", "1/2", "1", "2", "4"])
ax.minorticks_off()
plotting.save(ax, (sys.argv[1:] or ["54_parameter_study.png"])[0])
