"""A parameter study of bandits (S&B2 Fig. 2.6): mean reward of the first 1,000 pulls against the one parameter.

1,000 bandits are played side by side (the book: 2,000), each a state of its own; every point is one run. Run as
``python examples/54_parameter_study.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import contextual_bandit

BANDITS, PULLS = 1_000, 1_000
env = contextual_bandit(np.random.default_rng(0).standard_normal((BANDITS, 10)), order="in turn").to_env()
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
figure = Figure(figsize=(7.5, 5), dpi=150, layout="constrained")
axes = figure.subplots()
for label, (powers, make) in studies.items():
    runs = [make(2.0**power).learn(env, steps=BANDITS * PULLS, seed=7) for power in powers]
    rewards = [run.record_.cumulative_reward[-1] / (BANDITS * PULLS) for run in runs]
    axes.semilogx(
        2.0 ** np.array(powers), rewards, "o-", base=2, color=plotting.Palette(studies)[label].colour, label=label
    )
axes.set(
    xticks=2.0 ** np.arange(-7, 3), xlabel="parameter (named in brackets)", ylabel=f"mean reward of {PULLS:,} pulls"
)
axes.set_title(f"Parameter study, mean over {BANDITS:,} bandits")
figure.legend(frameon=False, loc="outside lower center", ncols=2)
plotting.save(figure, (sys.argv[1:] or ["54_parameter_study.png"])[0])
