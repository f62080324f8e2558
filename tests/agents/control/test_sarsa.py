"""Sarsa against hand-computed numbers."""

import numpy as np

import rlsuite as rl
from rlsuite.training.legality import listed_actions

# GridGoal of the lecture notes (Figs 9.6-9.8): states S0..S4, G; actions L, R, U, D
L, R, U, D = range(4)
ABSENT = np.array([[1, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 1, 0], [1, 1, 1, 1]], dtype=bool)
LEGAL = ~ABSENT


def test_sarsa_learns_from_the_action_that_is_taken_next():
    agent = rl.Sarsa(gamma=0.9, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.0))
    memory = agent.init_memory(LEGAL.copy(), listed_actions)
    memory.q[1, R], memory.q[1, U] = 10.0, 20.0  # greedy: U
    action = rl.Sarsa.step(memory, rl.Transition(0, R, 1.0, 1, False, False), np.random.default_rng(0))
    assert action == U
    assert memory.q[0, R] == 0.5 * (1.0 + 0.9 * 20.0)
    exploring = rl.Sarsa(gamma=0.9, learning_rate=0.5, exploration=rl.EpsilonGreedy(1.0))
    for seed in range(20):
        memory = exploring.init_memory(LEGAL.copy(), listed_actions)
        memory.q[1] = [5.0, 10.0, 20.0, 0.0]
        action = rl.Sarsa.step(memory, rl.Transition(0, R, 1.0, 1, False, False), np.random.default_rng(seed))
        assert memory.q[0, R] == 0.5 * (1.0 + 0.9 * memory.q[1, action])
