"""Returns by hand."""

import numpy as np

import rlsuite as rl
from rlsuite.training.legality import every_action

N = 5  # states of the random episodes: few, so that they come again


def test_returns_by_hand(walk):
    """0 -1-> 1 -2-> 0 -4-> end, gamma 1/2: G = 3, 4, 4; 0 was visited twice."""
    episode = [(0, 1.0, 1, False, False), (1, 2.0, 0, False, False), (0, 4.0, 2, True, False)]
    for agent, value in ((rl.EveryVisitMonteCarlo(gamma=0.5), 3.5), (rl.FirstVisitMonteCarlo(gamma=0.5), 3.0)):
        memory = agent.init_memory(np.ones((N, 1), dtype=bool), every_action)
        assert walk(agent, memory, episode)[-1].tolist() == [value, 4.0, 0.0, 0.0, 0.0]
