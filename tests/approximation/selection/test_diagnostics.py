import itertools

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.selection.diagnostics import (
    control_errors,
    double_sampled_error,
    evaluation_errors,
    return_errors,
)
from rlsuite.errors import ParameterError
from rlsuite.planning import bellman

pytestmark = pytest.mark.arithmetic

GAMMA = 0.9


@pytest.fixture(scope="module")
def machine():
    """Two states, two actions, random next states."""
    return rl.MDP.from_arrays(
        [[[0.5, 0.5], [0.9, 0.1]], [[0.2, 0.8], [1.0, 0.0]]], [[1.0, 0.0], [2.0, -1.0]], gamma=GAMMA, order="sas"
    )


@pytest.fixture(scope="module")
def q():
    return np.array([[3.0, 1.0], [2.0, 7.0]])


def values_of(table):
    """A table as a function of observations, which are ids."""
    return lambda observations: table[observations[:, 0].astype(np.int64)]


def sample(rng, machine, times):
    """Each state and action so many times, with its next states drawn."""
    state, action = np.divmod(np.repeat(np.arange(4), times), 2)
    first = np.array([[0.5, 0.9], [0.2, 1.0]])[state, action]
    rewards = np.array([[1.0, 0.0], [2.0, -1.0]])[state, action]
    successor = (rng.random(state.size) >= first).astype(np.float64)
    return Batch.from_arrays(state, action, rewards, successor, np.zeros(state.size, dtype=bool), n_actions=2)


def test_the_optimum_has_no_error_where_nothing_is_random():
    mdp = rl.MDP.from_env("CliffWalking-v1", gamma=GAMMA)
    solution = rl.solve(mdp, tol=1e-10)
    errors = control_errors(values_of(solution.q), Batch.from_model(mdp), GAMMA)
    assert np.abs(errors).max() < 1e-9


def test_mean_errors_are_the_bellman_errors(machine, q):
    """Weighted by the model's probabilities, TD errors have the mean that the Bellman operator gives."""
    batch = Batch.from_model(machine)
    errors = control_errors(values_of(q), batch, GAMMA)
    place = batch.observation[:, 0].astype(int) * 2 + batch.action
    means = np.bincount(place, errors * batch.weight) / np.bincount(place, batch.weight)
    expected = [1 + GAMMA * 5, GAMMA * (0.9 * 3 + 0.1 * 7), 2 + GAMMA * (0.2 * 3 + 0.8 * 7), -1 + GAMMA * 3]
    assert means == pytest.approx(np.array(expected) - q.ravel())
    best = (means + q.ravel()).reshape(2, 2).max(axis=1)
    assert bellman(machine, q.max(axis=1)) == pytest.approx(best)


def test_double_samples_are_without_bias_and_single_ones_are_not(machine, q):
    """600 batches in which each of four places is met three times; allowed are four standard errors."""
    rng = np.random.default_rng(7)
    error, single = [], []
    for _ in range(600):
        batch = sample(rng, machine, 3)
        errors = control_errors(values_of(q), batch, GAMMA)
        found = double_sampled_error(errors, batch)
        error.append(found.error)
        single.append((errors**2).mean())
        assert found.error + found.noise == pytest.approx(single[-1])
    ahead = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8], [1.0, 0.0]])
    means = np.array([1.0, 0.0, 2.0, -1.0]) + GAMMA * ahead @ q.max(axis=1) - q.ravel()
    noise = (GAMMA * 4.0) ** 2 * ahead.prod(axis=1)  # of a coin between values 3 and 7
    for samples, expected in ((error, (means**2).mean()), (single, (means**2 + noise).mean())):
        assert np.mean(samples) == pytest.approx(expected, abs=4 * np.std(samples) / np.sqrt(600))


def test_all_pairs_of_a_place_are_used():
    errors = np.array([1.0, 2.0, 4.0, 10.0, -1.0, 3.0])
    batch = Batch.from_arrays([0, 0, 0, 1, 1, 2], [0] * 6, [0.0] * 6, [0] * 6, [True] * 6)
    first = np.mean([a * b for a, b in itertools.combinations(errors[:3], 2)])
    found = double_sampled_error(errors, batch)
    assert found.error == pytest.approx((3 * first + 2 * -10.0) / 5)
    assert found.noise == pytest.approx(np.mean(errors[:5] ** 2) - found.error)
    assert found.share == pytest.approx(5 / 6)


def test_places_differ_by_their_action():
    batch = Batch.from_arrays([0, 0], [0, 1], [0.0, 0.0], [0, 0], [True, True])
    with pytest.raises(ParameterError, match="no pair of observation and action occurs twice in these 2 transitions"):
        double_sampled_error([1.0, 1.0], batch)


def test_nothing_follows_an_end():
    batch = Batch.from_arrays([0, 0], [0, 1], [1.0, 1.0], [1, 1], [True, False])
    assert evaluation_errors(lambda x: 10.0 * x[:, 0], batch, 0.5).tolist() == [1.0, 6.0]
    assert control_errors(lambda x: np.tile(10.0 * x, 2), batch, 0.5).tolist() == [1.0, 6.0]


def test_returns_by_hand():
    """Three episodes: rewards 1, 2, 4 to an end; 8 to a cut; 16, 32 to an end."""
    rewards = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    ends = [False, False, True, False, False, True]
    first = [True, False, False, True, True, False]
    batch = Batch.from_arrays(range(6), [0] * 6, rewards, range(1, 7), ends, first=first)
    assert return_errors(lambda x: np.zeros(len(x)), batch, 0.5).tolist() == [3.0, 4.0, 4.0, 32.0, 32.0]
    assert return_errors(lambda x: x[:, 0], batch, 0.5).tolist() == [3.0, 3.0, 2.0, 28.0, 27.0]


def test_return_errors_rank_values_where_td_errors_do_not():
    """A coin decides in the first step between 0 and 1 at the end of the second.

    The values 0.5, 0, 1 are right. The value 0.5 everywhere is wrong, and has the same mean squared TD error: what it
    has less in the first step it has more in the second. Returns tell them apart.
    """
    heads = np.arange(100) % 2
    first, second = np.column_stack([np.zeros(100), 1 + heads]), np.column_stack([1 + heads, np.full(100, 3)])
    path = np.stack([first, second], axis=1).reshape(-1, 2)
    rewards = np.stack([np.zeros(100), heads], axis=1).ravel()
    batch = Batch.from_arrays(path[:, 0], [0] * 200, rewards, path[:, 1], [False, True] * 100)
    right, flat = np.array([0.5, 0.0, 1.0, 0.0]), np.array([0.5, 0.5, 0.5, 0.0])
    td = [np.mean(evaluation_errors(values_of(one), batch, 1.0) ** 2) for one in (right, flat)]
    by_returns = [np.mean(return_errors(values_of(one), batch, 1.0) ** 2) for one in (right, flat)]
    assert td == [0.125, 0.125]
    assert by_returns == [0.125, 0.25]


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (
            lambda batch: control_errors(lambda x: x[:, 0], batch, 0.9),
            r"q has shape \(2,\) for this batch; it must have \(2, 2\)",
        ),
        (lambda batch: control_errors(lambda x: np.full((len(x), 2), np.nan), batch, 0.9), r"q\[0, 0\] is nan"),
        (lambda batch: evaluation_errors(lambda x: x, batch, 0.9), r"value has shape \(2, 1\)"),
        (lambda batch: evaluation_errors(lambda x: x[:, 0], batch, 1.5), r"gamma=1.5 is not in \[0, 1\]"),
        (lambda batch: return_errors(lambda x: x[:, 0], batch, 0.9), "none of the 2 episodes of this batch terminated"),
        (lambda batch: double_sampled_error([1.0], batch), r"errors has shape \(1,\)"),
    ],
)
def test_wrong_arguments_are_refused(call, complaint):
    batch = Batch.from_arrays([0, 0], [0, 1], [1.0, 1.0], [1, 1], [False, False])
    with pytest.raises(ParameterError, match=complaint):
        call(batch)


def test_a_model_is_no_sample(machine, q):
    batch = Batch.from_model(machine)
    with pytest.raises(ParameterError, match="a weighted batch is not a sample"):
        double_sampled_error(control_errors(values_of(q), batch, GAMMA), batch)


@pytest.mark.parametrize("measure", [control_errors, evaluation_errors, return_errors])
def test_what_is_no_batch_is_named(measure):
    with pytest.raises(ParameterError, match=f"{measure.__name__} takes a Batch, not a str"):
        measure(lambda seen: seen, "CartPole-v1", 0.9)
    with pytest.raises(ParameterError, match="double_sampled_error takes a Batch, not a NoneType"):
        double_sampled_error([1.0], None)


def test_an_illegal_action_counts_for_nothing():
    """Action 1 would be worth 9 where the mask forbids it."""
    given = [0, 1], [0, 0], [1.0, 5.0], [1, 2], [False, True]
    masks = {"action_mask": [[1, 0], [1, 0]], "next_action_mask": [[1, 0], [0, 0]]}
    batch = Batch.from_arrays(*given, **masks)
    for illegal in (9.0, -np.inf):
        q = np.array([[2.0, illegal], [4.0, illegal]])
        assert control_errors(lambda x, q=q: q[x[:, 0].astype(int) % 2], batch, 0.5).tolist() == [1.0, 1.0]
    with pytest.raises(ParameterError, match=r"q\[0, 0\] is -inf"):
        control_errors(lambda x: np.full((len(x), 2), -np.inf), batch, 0.5)
