"""Prioritized sweeping against Dyna-Q (S&B2 Example 8.4): updates until the greedy policy takes the shortest way.

The Dyna maze at four resolutions: each square becomes 1, 4, 9 or 16 squares. All walk at random, so that they differ
only in planning; ten runs each. Run as ``python examples/43_prioritized_sweeping.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.gridworld import grid_world
from rlsuite_envs.maps import read_map


def updates(agent, model, way, seed):
    """How many values are changed until `way` greedy steps lead to the goal."""
    ends, env, state = model.terminated.reshape(-1, 4).all(axis=1), model.to_env(), 0
    agent.learn(env, steps=200, seed=seed, record_every=200)
    while not ends[state]:
        agent.learn(env, steps=200, record_every=200)
        state = model.start.argmax()
        for _ in range(way):
            state = model.next_state[4 * state + agent.q_[state].argmax()]
    return agent.updates_[0] if isinstance(agent, rl.PrioritizedSweeping) else 6 * agent.visits_.sum()


common = {"n": 5, "gamma": 0.95, "learning_rate": 1.0, "exploration": rl.RandomActions()}
samples, sizes = {}, []
for label, make in (("Dyna-Q", rl.DynaQ), ("prioritized sweeping", rl.PrioritizedSweeping)):
    sizes, needed = [], []
    for scale in (1, 2, 3, 4):
        fine = np.repeat(np.repeat(read_map("DynaMaze").symbols, scale, axis=0), scale, axis=1)
        fine[tuple(np.argwhere(fine == "S")[1:].T)] = "."  # one start, in a corner of the old one
        model = grid_world(["".join(row) for row in fine], gamma=0.95).model
        way = round(1 + np.log(rl.solve(model).value[model.start.argmax()]) / np.log(0.95))
        sizes.append(model.n_states)
        needed.append([updates(make(**common), model, way, seed) for seed in range(10)])
    samples[label] = sizes, np.transpose(needed)
look = {"xscale": "log", "yscale": "log", "xlabel": "squares", "ylabel": "updates until the shortest way is found"}
ax = plotting.mean_curves(samples, title="Dyna mazes", xlim=(45, 900), **look)
ax.set_xticks(sizes, map(str, sizes))
ax.minorticks_off()
plotting.save(ax, (sys.argv[1:] or ["43_prioritized_sweeping.png"])[0])
