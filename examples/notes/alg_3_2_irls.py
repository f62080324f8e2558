"""IRLS (lecture notes, Alg. 3.2): logistic regression clones a policy that chooses Left or Right at random.

On the grid with slips an expert goes Right with a probability that depends on the distance to the next wall. Newton's
method finds it from 4,000 choices in six steps. Run as ``python examples/notes/alg_3_2_irls.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.reference import irls

env = gymnasium.make("rlsuite/SlipperyObstacleGrid-v0")
layout, right = env.unwrapped.layout, rl.MDP.from_env(env, gamma=0.9).action_labels.index("Right")
walls = np.pad(layout.walls, ((0, 0), (0, 1)), constant_values=True)
distance = np.array([np.flatnonzero(walls[r, c + 1 :])[0] for r, c in layout.cells])
features, truth = np.column_stack([np.ones(len(distance)), distance]), np.array([-1.0, 0.8])

rng = np.random.default_rng(0)
states = rng.integers(len(distance), size=4_000)
went_right = (rng.random(4_000) < 1 / (1 + np.exp(-features[states] @ truth))).astype(float)
steps = [irls(features[states], went_right, iterations) for iterations in range(7)]
assert np.allclose(steps[6], steps[5], atol=1e-8)
assert np.allclose(steps[6], truth, atol=0.1)

chance = 1 / (1 + np.exp(-features @ steps[6]))
policy = np.stack([1 - chance, chance] if right else [chance, 1 - chance], axis=1)
value = rl.planning.evaluate_policy(rl.MDP.from_env(env, gamma=0.9), policy)
ax = plotting.value_map(env, value, policy, title="The cloned policy: longer arrows are more probable")
plotting.save(ax, (sys.argv[1:] or ["alg_3_2_irls.png"])[0])
