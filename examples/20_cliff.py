"""Walking along a cliff (S&B2 Example 6.6, with Expected Sarsa): an exploring agent should stay away from the edge.

Q-learning learns the shortest way, along the edge, and sometimes falls off by exploring; Sarsa and Expected Sarsa learn
the value of their own policy, and stay away. Run as ``python examples/20_cliff.py [figure.png]``.
"""

import sys

import rlsuite as rl
from rlsuite import plotting

common = {"gamma": 1.0, "learning_rate": 0.5, "exploration": rl.EpsilonGreedy(0.1)}
agents = (rl.Sarsa(**common), rl.QLearning(**common), rl.ExpectedSarsa(**common))
results = [
    rl.train(agent, "CliffWalking-v1", episodes=500, seeds=100, workers=2, record_every=500, regret=False)
    for agent in agents
]
ax = plotting.episode_return(results, smooth=10, ylim=(-100, 0))
plotting.save(ax, (sys.argv[1:] or ["20_cliff.png"])[0])
