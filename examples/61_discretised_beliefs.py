"""Q-learning and value iteration on the discretised belief MDP, and how fine the grid has to be (lecture notes, 9.4).

The learner replaces each belief by the nearest of M + 1 grid points; the value of its policy is computed exactly, over
all beliefs that can be reached. Interpolation between the grid points gives an upper bound on the optimum.
Run as ``python examples/61_discretised_beliefs.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.planning import discretised
from rlsuite.planning.pomdp.reachable_beliefs import belief_mdp

tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
reachable = belief_mdp(tiger, steps=100, max_beliefs=1_000)
resolutions = [4, 6, 8, 12, 16, 24, 32, 48, 64, 96]
learned, bounds = [], []
for resolution in resolutions:
    cells = discretised(tiger, resolution=resolution, interpolation="nearest")
    cell_of = [cells.cell(belief) for belief in reachable.beliefs]
    values = []
    for seed in range(10):
        agent = rl.QLearning(gamma=0.95, learning_rate=rl.Inverse(1.0, scale=100, per="visits"))
        agent.learn(cells.mdp.to_env(), steps=200_000, seed=seed, loop="compiled")
        values.append(rl.evaluate_policy(reachable.mdp, agent.q_.argmax(axis=1)[cell_of])[0])
    learned.append(values)
    upper = discretised(tiger, resolution=resolution, interpolation="freudenthal")
    bounds.append(rl.solve(upper.mdp).value[upper.cell([0.5, 0.5])])
samples = {
    "Q-learning, nearest point": (resolutions, np.transpose(learned)),
    "value iteration with interpolation: an upper bound": (resolutions, bounds),
}
look = {"xlabel": "M: beliefs in steps of 1 / M", "ylabel": "value at the uniform belief", "xlim": (3.8, 101)}
optimum = {"optimum": rl.solve(reachable.mdp).value[0]}
title = "The tiger on a grid of beliefs"
ax = plotting.mean_curves(samples, of="seeds", references=optimum, title=title, xscale="log", **look)
ax.set_xticks(resolutions, map(str, resolutions))
ax.minorticks_off()
plotting.save(ax, (sys.argv[1:] or ["61_discretised_beliefs.png"])[0])
