"""Bootstrapped Q-learning against plain Python that draws the same numbers, and where it explores."""

import gymnasium as gym
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers the chain
from rlsuite.errors import FileError, ParameterError
from rlsuite.training.legality import listed_actions

LEGAL = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 0, 0]], dtype=bool)
GAMMA, RATE, TABLES, SHARE = 0.9, 0.3, 4, 0.4


def test_every_table_learns_from_its_part_of_the_steps():
    agent = rl.BootstrappedQLearning(
        gamma=GAMMA, learning_rate=RATE, n_tables=TABLES, share=SHARE, initial_value=1.0, prior_std=2.0
    )
    memory = agent.init_memory(LEGAL.copy(), listed_actions)
    rng, same, world = (np.random.default_rng(seed) for seed in (5, 5, 6))
    plain, updates = np.empty((0,)), np.zeros((TABLES, *LEGAL.shape))

    def begin(state):
        nonlocal plain
        if not plain.size:
            plain = same.normal(1.0, 2.0, (TABLES, *LEGAL.shape))
        table = int(TABLES * same.random())
        return table, np.argmax(np.where(LEGAL[state], plain[table, state], -np.inf))

    state = 0
    action, (table, expected) = type(agent).begin(memory, state, rng), begin(state)
    assert action == expected
    for _ in range(300):
        next_state, reward = int(world.integers(len(LEGAL))), float(world.normal())
        terminated, truncated = (bool(world.random() < chance) for chance in (0.1, 0.1))
        t = rl.Transition(state, action, reward, next_state, terminated, truncated)
        chosen = type(agent).step(memory, t, rng)
        for k in range(TABLES):
            if same.random() < SHARE:
                ahead = 0.0 if terminated else GAMMA * plain[k, next_state][LEGAL[next_state]].max()
                plain[k, state, action] += RATE * (reward + ahead - plain[k, state, action])
                updates[k, state, action] += 1
        np.testing.assert_allclose(memory.learned.tables, plain, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(memory.q, plain.mean(axis=0), rtol=1e-12, atol=1e-12)
        state, action = next_state, chosen
        if terminated or truncated:
            action, (table, expected) = type(agent).begin(memory, state, rng), begin(state)
        else:
            expected = np.argmax(np.where(LEGAL[state], plain[table, state], -np.inf))
        assert action == expected
    np.testing.assert_array_equal(memory.learned.updates, updates)
    assert updates.sum() == pytest.approx(300 * TABLES * SHARE, abs=5 * np.sqrt(300 * TABLES * SHARE * (1 - SHARE)))


def deep_line(n):
    """To the right costs 0.01, the left nothing; the only reward is n steps to the right, where episodes end."""
    transition, reward = np.zeros((n + 1, 2, n + 1)), np.zeros((n + 1, 2))
    states = np.arange(n)
    transition[states, 0, np.maximum(states - 1, 0)] = transition[states, 1, states + 1] = transition[n, :, n] = 1.0
    reward[:n, 1] = -0.01
    reward[n - 1, 1] = 1.0
    return gym.wrappers.TimeLimit(rl.MDP.from_arrays(transition, reward, gamma=0.99, start=0).to_env(), n)


@pytest.mark.slow
def test_it_explores_many_steps_deep():
    """Osband et al. 2016, Figure 1: chance finds the end once in thousands of episodes, the ensemble soon."""
    env = deep_line(12)
    found = {}
    for kind in (rl.BootstrappedQLearning, rl.QLearning):
        results = rl.train(kind(gamma=0.99, learning_rate=0.2), env, episodes=2_000, seeds=5)
        found[kind] = [record.episode_return[-500:].max() > 0.8 for record in results.records]
    assert all(found[rl.BootstrappedQLearning])
    assert not any(found[rl.QLearning])


@pytest.mark.slow
def test_it_is_the_same_in_every_loop_and_file(tmp_path):
    runs = [
        rl.BootstrappedQLearning(gamma=0.9).learn("rlsuite/GridGoal-v0", steps=300, seed=3, loop=loop)
        for loop in ("compiled", "stepwise")
    ]
    assert runs[0].tables_.tobytes() == runs[1].tables_.tobytes()
    runs[0].save(tmp_path / "agent.npz")
    loaded = rl.load(tmp_path / "agent.npz")
    assert loaded.tables_.tobytes() == runs[0].tables_.tobytes()
    loaded.active_[0] = 10
    loaded.save(tmp_path / "bad.npz")
    with pytest.raises(FileError, match="active is 10"):
        rl.load(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("given", "words"), [({"n_tables": 0}, "n_tables"), ({"share": 1.5}, "share"), ({"prior_std": -1.0}, "prior_std")]
)
def test_parameters_outside_their_values_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        rl.BootstrappedQLearning(**given)
