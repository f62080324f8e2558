"""The tiger: the same learner with a memory of its last observations, and with a belief (KLC98 section 3).

The last k observations leave out what came before them, and there are six times as many windows with each step of
memory: a long one is learned slowly. The belief summarises the whole past in one number, and the learner soon finds the
optimum, which no window of this length reaches. Run as ``python examples/60_beliefs.py [figure.png]``.
"""

import sys
from dataclasses import replace

import gymnasium

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.planning.pomdp.reachable_beliefs import belief_mdp

tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
# From the start, few beliefs can be reached: one for each difference between the numbers of both sounds.
graph = belief_mdp(tiger, steps=100, max_beliefs=1_000)
assert graph.closed
environments = {
    f"sees the last {k}": gymnasium.make("rlsuite/Tiger-v0", window=k, max_episode_steps=100) for k in (1, 2, 4)
}
environments["sees its belief"] = gymnasium.wrappers.TimeLimit(graph.mdp.to_env(), 100)
learner = rl.QLearning(
    gamma=0.95, learning_rate=rl.Inverse(1.0, scale=100, per="visits"), exploration=rl.EpsilonGreedy(0.2)
)
results = []
for label, env in environments.items():
    run = rl.train(learner, env, steps=400_000, seeds=10, workers=2, evaluate_every=20_000)
    results.append(replace(run, agent=label, environment="the tiger"))
plotting.save(plotting.evaluation(results), (sys.argv[1:] or ["60_beliefs.png"])[0])
