"""Rewards given once per pair (s, a) mean the same as rewards given once per transition."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from rlsuite.agents import QLearning
from rlsuite.errors import ModelError
from rlsuite.models import MDP
from rlsuite.planning import Lookahead, solve

INDPTR = [0, 2, 3, 3, 6, 8, 9]  # three states, two actions, nine transitions; action 0 is illegal in state 1
NEXT = [0, 1, 2, 0, 1, 2, 1, 2, 0]
CHANCE = [0.5, 0.5, 1.0, 0.2, 0.3, 0.5, 0.25, 0.75, 1.0]
TABLE = [[1.0, -2.0], [0.0, 3.0], [4.5, 0.0]]
EACH = [1.0, 1.0, -2.0, 3.0, 3.0, 3.0, 4.5, 4.5, 0.0]


def rows(reward, **changes):
    return MDP.from_rows(INDPTR, NEXT, CHANCE, reward, n_actions=2, gamma=0.9, **changes)


@pytest.fixture
def by_pair():
    return rows(TABLE)


def test_they_are_kept_as_they_are_and_read_as_rewards_of_transitions(by_pair):
    assert by_pair.reward.tolist() == np.ravel(TABLE).tolist()
    assert by_pair.reward_per_pair
    assert not rows(EACH).reward_per_pair
    assert by_pair.rows.reward.tolist() == EACH
    assert by_pair.expected_reward().tolist() == TABLE
    assert [dict(by_pair.P[s]) for s in range(3)] == [dict(rows(EACH).P[s]) for s in range(3)]
    assert not by_pair.rows.reward.flags.writeable


@pytest.mark.parametrize("reward", [TABLE, np.ravel(TABLE)])
def test_a_table_and_a_flat_one_are_the_same(by_pair, reward):
    assert np.array_equal(rows(reward).reward, by_pair.reward)


def test_what_is_said_of_illegal_actions_does_not_count(by_pair):
    stray = np.array(TABLE)
    stray[1, 0] = 99.0
    assert np.array_equal(rows(stray).reward, by_pair.reward)
    assert stray[1, 0] == 99.0


def test_as_many_numbers_as_transitions_are_rewards_of_transitions_unless_they_are_a_table():
    # Four pairs, four transitions: pair (0, 0) has two, pair (1, 1) none.
    arguments = {"n_actions": 2, "gamma": 0.5}
    shape = ([0, 2, 3, 4, 4], [0, 1, 1, 0], [0.5, 0.5, 1, 1])
    assert MDP.from_rows(*shape, [1, 2, 3, 4], **arguments).rows.reward.tolist() == [1, 2, 3, 4]
    assert MDP.from_rows(*shape, [[1, 2], [3, 4]], **arguments).rows.reward.tolist() == [1, 1, 2, 3]


def test_they_are_finite_and_as_many_as_there_are_pairs():
    with pytest.raises(ModelError, match=r"reward\[2, 0\] is nan; every entry must be finite"):
        rows([[1, 2], [3, 4], [np.nan, 5]])
    message = r"reward has shape \(5,\), not \(9,\) or \(6,\) or \(3, 2\) \(one entry per transition, or one per pair"
    with pytest.raises(ModelError, match=message):
        rows(np.ones(5))
    with pytest.raises(ModelError, match=r"Bernoulli reward of transitions\[s=2, a=0\] has the mean 4.5"):
        rows(TABLE, bernoulli=[[0, 0], [0, 0], [1, 0]])


def test_they_outlive_copies_and_files(by_pair, tmp_path):
    by_pair.write(tmp_path / "model.npz")
    for other in (pickle.loads(pickle.dumps(by_pair)), by_pair.replace(gamma=0.9), MDP.read(tmp_path / "model.npz")):
        assert other.reward_per_pair
        assert np.array_equal(other.reward, by_pair.reward)


def test_every_way_out_sees_the_same_model(by_pair, tmp_path):
    other = rows(EACH)
    for one, two in zip(by_pair.dense(), other.dense(), strict=True):
        assert np.array_equal(one, two)
    assert by_pair.to_pairs().R.tolist() == other.to_pairs().R.tolist()
    assert by_pair.to_table() == other.to_table()
    filled = by_pair.with_all_legal()
    assert filled.rows.reward.tolist() == other.with_all_legal().rows.reward.tolist()
    for name in ("by_pair.mdp", "other.mdp"):
        (by_pair if name == "by_pair.mdp" else other).with_all_legal().write(tmp_path / name)
    assert (tmp_path / "by_pair.mdp").read_text() == (tmp_path / "other.mdp").read_text()


def test_planning_takes_them_exactly(by_pair):
    lookahead = Lookahead(by_pair)
    assert lookahead.reward is by_pair.reward  # shared, not copied
    assert lookahead.reward_size == 4.5
    assert solve(by_pair).value == pytest.approx(solve(rows(EACH)).value, abs=1e-12)


@pytest.mark.slow
def test_a_thousand_random_models_are_worth_the_same_in_both_forms():
    rng = np.random.default_rng(5)
    for _ in range(1_000):
        states, actions = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        lengths = rng.integers(1, 4, size=states * actions)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        weights = rng.integers(1, 5, size=indptr[-1])
        chance = weights / np.repeat(np.add.reduceat(weights, indptr[:-1]), lengths)
        table = rng.normal(size=(states, actions))
        shape = (indptr, rng.integers(states, size=indptr[-1]), chance)
        form = {"n_actions": actions, "gamma": 0.9}
        one = MDP.from_rows(*shape, table, **form)
        two = MDP.from_rows(*shape, np.repeat(table.ravel(), lengths), **form)
        assert np.array_equal(one.rows.reward, two.rows.reward)
        assert one.expected_reward() == pytest.approx(two.expected_reward(), abs=1e-15)
        assert solve(one, tol=1e-9).value == pytest.approx(solve(two, tol=1e-9).value, abs=2e-9)


def test_the_mean_is_the_number_itself_even_if_the_row_sums_to_a_little_more():
    third = float(Fraction(1, 3)) + 1e-9
    mdp = MDP.from_rows([0, 3], [0, 0, 0], [third] * 3, [[7.0]], n_actions=1, gamma=0.5)
    assert mdp.expected_reward().tolist() == [[7.0]]
    assert Lookahead(mdp).reward.tolist() == [7.0]


@pytest.mark.slow
def test_learning_is_the_same_to_the_last_bit(by_pair):
    learned = []
    for mdp in (by_pair, rows(EACH)):
        for loop in ("compiled", "stepwise"):
            agent = QLearning().learn(mdp.to_env(), steps=500, seed=3, loop=loop)
            learned.append(agent.q_.tobytes())
    assert len(set(learned)) == 1


def test_they_stay_rewards_of_pairs_when_other_transitions_make_them_as_many_as_those():
    four = MDP.from_rows(
        [0, 2, 3, 4, 5], [0, 1, 1, 0, 0], [0.5, 0.5, 1, 1, 1], [[1, 2], [3, 4]], n_actions=2, gamma=0.5
    )
    changed = four.replace(
        indptr=[0, 2, 3, 4, 4], next_state=[0, 1, 1, 0], probability=[0.5, 0.5, 1.0, 1.0], terminated=[0, 0, 0, 0]
    )
    assert changed.rows.reward.tolist() == [1, 1, 2, 3]
