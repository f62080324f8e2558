"""Batch prediction against the mean of returns, the counted model, and presenting everything again and again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.training.legality import every_action

A, B, END = range(3)
PREDICTOR = [[(A, 0.0, B, False, False), (B, 0.0, END, True, False)], *[[(B, 1.0, END, True, False)]] * 6]
PREDICTOR += [[(B, 0.0, END, True, False)]]
N = 6


def learn(agent, episodes, n_states=N):
    memory = agent.init_memory(np.ones((n_states, 1), dtype=bool), every_action)
    rng = np.random.default_rng(0)
    for episode in episodes:
        type(agent).begin(memory, episode[0][0], rng)
        for state, reward, next_state, terminated, truncated in episode:
            t = rl.Transition(state, 0, reward, next_state, terminated, truncated)
            type(agent).step(memory, t, rng)
    return memory.q[:, 0]


def random_episodes(seed, count=6, cut=0.3):
    rng = np.random.default_rng(seed)
    episodes = []
    for _ in range(count):
        length = int(rng.integers(1, 10))
        states = rng.integers(0, N, length + 1).tolist()
        rewards = rng.standard_normal(length).tolist()
        last = length - 1
        is_cut = bool(rng.random() < cut)
        episodes.append(
            [
                (states[t], rewards[t], states[t + 1], t == last and not is_cut, t == last and is_cut)
                for t in range(length)
            ]
        )
    return episodes


def present_again_and_again(items, value, alpha=0.02, tolerance=1e-13):
    """S&B2 section 6.3: add up the increments of all items (state, reward, fraction, successor), until none is left."""
    value = value.copy()
    for _ in range(200_000):
        change = np.zeros(N)
        for state, reward, fraction, successor in items:
            change[state] += alpha * (reward + fraction * value[successor] - value[state])
        value += change
        if np.abs(change).max() < tolerance:
            return value
    raise AssertionError("no fixed point was reached")


def steps_of(episodes, gamma):
    return [(s, r, 0.0 if end else gamma, after) for episode in episodes for s, r, after, end, _ in episode]


def returns_of(episodes, gamma):
    items = []
    for episode in episodes:
        for t in range(len(episode)):
            total = sum(gamma ** (k - t) * episode[k][1] for k in range(t, len(episode)))
            _, _, after, end, _ = episode[-1]
            items.append((episode[t][0], total, 0.0 if end else gamma ** (len(episode) - t), after))
    return items


def test_you_are_the_predictor():
    """S&B2 Example 6.4: B is worth 3/4; A is worth 0 if you average returns, and 3/4 if you think of its successor."""
    np.testing.assert_allclose(learn(rl.BatchTD(gamma=1.0), PREDICTOR, 3), [0.75, 0.75, 0.0], rtol=1e-15)
    np.testing.assert_allclose(learn(rl.BatchMonteCarlo(gamma=1.0), PREDICTOR, 3), [0.0, 0.75, 0.0], rtol=1e-15)


@settings(max_examples=4)
@given(st.integers(0, 2**31))
@pytest.mark.parametrize(("kind", "items"), [(rl.BatchTD, steps_of), (rl.BatchMonteCarlo, returns_of)])
def test_batch_learning_is_presenting_everything_again_and_again(kind, items, seed):
    """Also where episodes were cut off, in states that were never left."""
    episodes = random_episodes(seed)
    start = np.full(N, 0.5)
    ours = learn(kind(gamma=0.8, initial_value=0.5), episodes)
    np.testing.assert_allclose(ours, present_again_and_again(items(episodes, 0.8), start), atol=1e-9)


@settings(max_examples=50)
@given(st.integers(0, 2**31), st.sampled_from([0.0, 0.5, 0.99, 1.0]))
def test_batch_td_is_the_value_in_the_counted_model(seed, gamma):
    episodes = random_episodes(seed, cut=0.0)
    steps = [(s, 0, r, after, end) for episode in episodes for s, r, after, end, _ in episode]
    model = rl.MDP.from_experience(steps, n_states=N, n_actions=1, gamma=gamma)
    certain = rl.evaluate_policy(model, np.zeros(N, dtype=int))
    left = np.isin(np.arange(N), [step[0] for step in steps])
    ours = learn(rl.BatchTD(gamma=gamma, initial_value=7.0), episodes)
    np.testing.assert_allclose(ours[left], certain[left], rtol=1e-11, atol=1e-11)
    assert (ours[~left] == 7.0).all()


@settings(max_examples=50)
@given(st.integers(0, 2**31), st.sampled_from([0.0, 0.5, 0.99, 1.0]))
def test_batch_monte_carlo_is_the_mean_of_returns(seed, gamma):
    episodes = random_episodes(seed, cut=0.0)
    items = returns_of(episodes, gamma)
    ours = learn(rl.BatchMonteCarlo(gamma=gamma, initial_value=7.0), episodes)
    for state in range(N):
        returns = [total for at, total, _, _ in items if at == state]
        assert ours[state] == pytest.approx(np.mean(returns) if returns else 7.0, rel=1e-12, abs=1e-12)


def test_what_never_ended_is_not_determined():
    """0 <-> 1 for ever at gamma 1, cut off: the equations fix the difference; 2, which leads there, agrees with it."""
    episode = [(2, 5.0, 0, False, False), (0, 1.0, 1, False, False), (1, -1.0, 0, False, True)]
    value = learn(rl.BatchTD(gamma=1.0, initial_value=3.0), [episode])
    assert value[0] - value[1] == 1.0
    assert value[2] == 5.0 + value[0]
    assert 3.0 in value[:2]


def test_a_way_back_that_is_almost_always_taken_costs_no_digits():
    """A thousand steps back for one end: a solution that subtracts would lose three digits."""
    back = [(0, 0.0, 1, False, False), (1, 0.0, 0, False, False)] * 1_000
    episode = [*back, (0, 1.0, 2, True, False)]
    np.testing.assert_array_equal(learn(rl.BatchTD(gamma=1.0), [episode])[:2], [1.0, 1.0])


def test_batch_learning_needs_memory_for_all_pairs_of_states():
    with pytest.raises(ParameterError, match="batch learning of 10000000 states needs 1,600,000 GB"):
        rl.BatchTD().tables(10**7)
