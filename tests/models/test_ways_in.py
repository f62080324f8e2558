"""What each way in makes of its arguments, beyond the round trips and the refusals."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix, lil_array

from rlsuite.models import MDP

P = np.array([[[0.5, 0.5, 0], [0, 1, 0]], [[0, 0.25, 0.75], [1, 0, 0]], [[0, 0, 1], [0, 0, 1]]])  # (3, 2, 3)
BY_ACTION = P.transpose(1, 0, 2)


def test_both_orders_and_all_sparse_formats_agree(same):
    R = np.arange(18.0).reshape(3, 2, 3)
    expected = MDP.from_arrays(P, R, gamma=0.9, terminated=[False, False, True])
    same(MDP.from_arrays(BY_ACTION, R.transpose(1, 0, 2), gamma=0.9, order="ass", terminated=[0, 0, 1]), expected)
    for form in (csr_array, csr_matrix, coo_array, lil_array):
        sparse_P = [form(one) for one in BY_ACTION]
        sparse_R = [form(one) for one in R.transpose(1, 0, 2)]
        same(MDP.from_arrays(sparse_P, sparse_R, gamma=0.9, terminated=[0, 0, 1]), expected)
        same(MDP.from_arrays(sparse_P, R, gamma=0.9, terminated=[0, 0, 1]), expected)
    same(MDP.from_arrays(P.tolist(), R.tolist(), gamma=0.9, terminated=[0, 0, 1]), expected)


def test_rewards_of_states_of_pairs_and_of_transitions():
    state, pair = [1.0, 2.0, 3.0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    of_state = MDP.from_arrays(P, state, gamma=0.9)
    assert of_state.reward_per_pair
    assert of_state.rows.reward.tolist() == [1, 1, 1, 2, 2, 2, 3, 3]
    assert MDP.from_arrays(P, pair, gamma=0.9).rows.reward.tolist() == [1, 1, 2, 3, 3, 4, 5, 6]
    ass = MDP.from_arrays(BY_ACTION, np.transpose(pair), gamma=0.9, order="ass")
    assert ass.rows.reward.tolist() == [1, 1, 2, 3, 3, 4, 5, 6]
    of_transition = MDP.from_arrays(P, np.arange(18.0).reshape(3, 2, 3), gamma=0.9)
    assert not of_transition.reward_per_pair
    assert of_transition.reward.tolist() == np.arange(18.0).reshape(P.shape)[P > 0].tolist()


def test_a_square_reward_matrix_is_read_in_the_order_that_was_named():
    P2 = np.full((2, 2, 2), 0.5)
    R2 = [[1.0, 2.0], [3.0, 4.0]]
    assert MDP.from_arrays(P2, R2, gamma=0.9, order="sas").expected_reward().tolist() == [[1, 2], [3, 4]]
    assert MDP.from_arrays(P2, R2, gamma=0.9, order="ass").expected_reward().tolist() == [[1, 3], [2, 4]]


def test_terminated_by_state_and_by_transition():
    by_state = MDP.from_arrays(P, np.zeros(3), gamma=0.9, terminated=[False, True, False])
    assert by_state.terminated.tolist() == (by_state.next_state == 1).tolist()
    flags = np.zeros(P.shape, dtype=bool)
    flags[0, 0, 1] = flags[2, 1, 2] = True
    by_transition = MDP.from_arrays(P, np.zeros(3), gamma=0.9, terminated=flags)
    assert by_transition.terminated.tolist() == [False, True, False, False, False, False, False, True]
    sparse = [csr_array(one) for one in flags.transpose(1, 0, 2)]
    as_sparse = MDP.from_arrays([csr_array(one) for one in BY_ACTION], np.zeros(3), gamma=0.9, terminated=sparse)
    assert as_sparse.terminated.tolist() == by_transition.terminated.tolist()


def test_a_terminal_state_of_zero_rows_is_an_end():
    ends = P.copy()
    ends[2] = 0.0
    mdp = MDP.from_arrays(ends, np.zeros(3), gamma=0.9, terminated=[False, False, True])
    assert mdp.legal.tolist() == [[True, True], [True, True], [False, False]]
    assert mdp.start.tolist() == [0.5, 0.5, 0.0]


def test_the_mask_decides_what_is_legal():
    legal = [[True, False], [True, True], [False, False]]
    mdp = MDP.from_arrays(P, np.zeros(3), gamma=0.9, legal=legal)
    assert mdp.legal.tolist() == legal
    assert mdp.terminated.tolist() == [False, False, False, True, False]  # only state 2 has no action left
    assert mdp.start.tolist() == [0.5, 0.5, 0.0]


def test_entries_stored_twice_in_a_sparse_matrix_stay_two_transitions():
    matrix = csr_array((np.array([0.25, 0.25, 0.5, 1.0]), np.array([1, 1, 0, 1]), np.array([0, 3, 4])), shape=(2, 2))
    mdp = MDP.from_arrays([matrix], [0, 0], gamma=0.9)
    assert mdp.P[0][0] == [(0.25, 1, 0.0, False), (0.25, 1, 0.0, False), (0.5, 0, 0.0, False)]


@pytest.mark.parametrize(
    ("start", "expected"), [(None, [0.5, 0.5, 0]), (1, [0, 1, 0]), (np.int64(0), [1, 0, 0]), ([0, 0.25, 0.75], None)]
)
def test_start(start, expected):
    mdp = MDP.from_arrays(P, np.zeros(3), gamma=0.9, terminated=[False, False, True], start=start)
    assert mdp.start.tolist() == (start if expected is None else expected)


def test_random_rewards_by_pair_or_flat():
    std = [[0, 1], [2, 0], [0, 0]]
    nested = MDP.from_arrays(P, np.zeros(3), gamma=0.9, reward_std=std)
    flat = MDP.from_rows(*nested.rows[:4], n_actions=2, gamma=0.9, reward_std=np.reshape(std, -1))
    assert nested.reward_std.tolist() == flat.reward_std.tolist() == [0, 1, 2, 0, 0, 0]
    coins = MDP.from_arrays(P, np.full(3, 0.25), gamma=0.9, bernoulli=[[1, 0], [0, 0], [1, 1]])
    assert coins.bernoulli.tolist() == [True, False, False, False, True, True]


def test_successors_of_the_three_kinds():
    mdp = MDP.from_successors(
        [[1, {2, 0}, [0, 1, 1, 2]], [{0: 0.125, 2: 0.875}, None, frozenset({1})], [None, None, None]],
        lambda s, a, s2: 100.0 * s + 10 * a + s2,
        gamma=0.9,
    )
    assert mdp.P[0][0] == [(1.0, 1, 1.0, False)]
    assert mdp.P[0][1] == [(0.5, 0, 10.0, False), (0.5, 2, 12.0, True)]
    assert mdp.P[0][2] == [(0.25, 0, 20, False), (0.25, 1, 21, False), (0.25, 1, 21, False), (0.25, 2, 22, True)]
    assert mdp.P[1][0] == [(0.125, 0, 100.0, False), (0.875, 2, 102.0, True)]
    assert mdp.P[1][1] == []
    assert mdp.P[1][2] == [(1.0, 1, 121.0, False)]
    assert mdp.start.tolist() == [0.5, 0.5, 0.0]


def test_successors_with_terminal_states_that_lead_on():
    mdp = MDP.from_successors([[1], [0]], [[1], [2]], gamma=0.9, terminated=[False, True], state_labels=["a", "b"])
    assert mdp.P[0][0] == [(1.0, 1, 1.0, True)]
    assert mdp.P[1][0] == [(1.0, 0, 2.0, False)]
    assert mdp.start.tolist() == [1.0, 0.0]


def test_an_integer_array_is_a_table_of_successors(same):
    table = [[0, 1], [1, 0]]
    same(MDP.from_successors(np.array(table), [0, 0], gamma=0.9), MDP.from_successors(table, [0, 0], gamma=0.9))
