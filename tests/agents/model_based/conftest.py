"""The MDP with given probabilities of the states and the end."""

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*


def world_of(chance, reward, gamma, legal):
    """The MDP with these probabilities (n_states, n_actions, n_states + 1) of the states and the end."""
    n_states, n_actions = legal.shape
    transitions = np.zeros((n_states + 1, n_actions, n_states + 1))
    transitions[:-1] = chance
    allowed = np.vstack([legal, np.zeros((1, n_actions), dtype=bool)])
    rewards = np.vstack([reward, np.zeros((1, n_actions))])
    return rl.MDP.from_arrays(transitions, rewards, gamma=gamma, legal=allowed, start=0)


@pytest.fixture(scope="session", name="world_of")
def world_of_():
    return world_of


def counted_world(agent, model, gamma, m):
    """What R-max plans for: known pairs lead where they led m times, all others to a state that pays r_max for ever."""
    n_states, n_actions = model.legal.shape
    known = agent.visits_ >= m
    chance = np.zeros((n_states + 1, n_actions, n_states + 2))
    reward = np.full((n_states + 1, n_actions), agent.largest_reward_[0])
    chance[:, :, n_states] = 1.0  # the optimistic state is the one after the last
    counted = agent.outcomes_.reshape(n_states, n_actions, -1) / m
    chance[:-1][known] = np.insert(counted[known], n_states, 0.0, axis=1)
    reward[:-1][known] = agent.mean_reward_[known]
    return world_of(chance, reward, gamma, np.vstack([model.legal, np.ones((1, n_actions), dtype=bool)]))


@pytest.fixture(scope="session", name="counted_world")
def counted_world_():
    return counted_world
