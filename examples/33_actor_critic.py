"""Actor-critic in the windy grid: return per episode while it learns, with and without traces; thirty seeds each.

The policy is a softmax of preferences and explores only by its own probabilities. Traces update all pairs on the way to
the goal (S&B2 section 13.5); Sarsa, which explores for ever, is drawn for comparison. Run as
``python examples/33_actor_critic.py [figure.png]``.
"""

import sys
from dataclasses import replace

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

common = {"gamma": 0.99, "actor_rate": 0.1, "critic_rate": 0.2}
agents = {
    "Sarsa": rl.Sarsa(gamma=0.99, learning_rate=0.2),
    "actor-critic": rl.ActorCritic(**common),
    "with traces, lambda 0.8": rl.ActorCriticLambda(**common, actor_lambda=0.8, critic_lambda=0.8),
}
results = [
    replace(
        rl.train(agent, "rlsuite/WindyGrid-v0", episodes=300, seeds=30, workers=2, regret=False),
        agent=label,
        environment="the windy grid",
    )
    for label, agent in agents.items()
]
axes = plotting.episode_return(results, smooth=10, ylim=(-200, 0))
plotting.save(axes, (sys.argv[1:] or ["33_actor_critic.png"])[0])
