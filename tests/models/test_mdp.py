import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP

ARRAYS = ["indptr", "next_state", "probability", "reward", "terminated", "start", "legal"]


def two_ways():
    """State 0: action 0 leads to 1 twice over, action 1 is illegal. State 1: an end by either action."""
    return MDP.from_rows(
        [0, 3, 3, 4, 5],
        [1, 0, 1, 1, 0],
        [0.25, 0.5, 0.25, 1.0, 1.0],
        [4.0, 0.0, 8.0, 1.0, 2.0],
        n_actions=2,
        gamma=0.9,
        terminated=[False, False, True, True, True],
        start=0,
    )


def test_fields_have_the_promised_types_and_cannot_be_written_to():
    mdp = two_ways()
    promised = [np.int64, np.int32, np.float64, np.float64, np.bool_, np.float64, np.bool_]
    for name, dtype in zip(ARRAYS, promised, strict=True):
        array = getattr(mdp, name)
        assert array.dtype == dtype, name
        assert array.flags.c_contiguous, name
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]
    with pytest.raises(AttributeError):
        mdp.gamma = 0.5


def test_the_arrays_of_the_caller_stay_writeable_and_apart():
    probability = np.ones(1)
    mdp = MDP.from_rows(np.array([0, 1]), np.zeros(1, dtype=np.int32), probability, np.zeros(1), n_actions=1, gamma=0.5)
    probability[0] = 0.5
    assert mdp.probability[0] == 1.0


def test_a_view_of_a_larger_array_is_copied():
    table = np.ones((1, 2))
    column = table[:, 0]
    mdp = MDP.from_rows([0, 1], [0], column, [0.0], n_actions=1, gamma=0.5)
    table[0, 0] = 0.5
    assert mdp.probability[0] == 1.0
    assert mdp.probability.base is None


def test_sizes_masks_and_means():
    mdp = two_ways()
    assert (mdp.n_states, mdp.n_actions, mdp.n_transitions) == (2, 2, 5)
    assert mdp.legal.tolist() == [[True, False], [True, True]]
    assert mdp.pairs().tolist() == [0, 0, 0, 2, 3]
    assert mdp.expected_reward().tolist() == [[3.0, 0.0], [1.0, 2.0]]
    assert mdp.transition_matrix(0).toarray().tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert mdp.transition_matrix(1).toarray().tolist() == [[0.0, 0.0], [1.0, 0.0]]
    P, R = mdp.dense()
    assert P.tolist() == [[[0.5, 0.5], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]]
    assert R.tolist() == [[[0.0, 6.0], [0.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]]]
    with pytest.raises(ParameterError, match=r"action=2 is not an action; the actions are 0\.\.1"):
        mdp.transition_matrix(2)


def test_p_is_a_lazy_mapping_of_plain_numbers():
    P = two_ways().P
    assert P[0][0] == [(0.25, 1, 4.0, False), (0.5, 0, 0.0, False), (0.25, 1, 8.0, True)]
    assert P[0][1] == []
    assert [type(x) for x in P[0][0][0]] == [float, int, float, bool]
    assert list(P) == [0, 1]
    assert list(P[1]) == [0, 1]
    assert len(P) == len(P[0]) == 2
    assert 2 not in P
    assert 2 not in P[0]
    for outside in (-1, 2):
        with pytest.raises(KeyError):
            P[outside]
        with pytest.raises(KeyError):
            P[0][outside]
    assert repr(P) == "<transitions of 2 states and 2 actions>"
    assert repr(P[1]) == "{0: [(1.0, 1, 1.0, True)], 1: [(1.0, 0, 2.0, True)]}"


def test_the_three_kinds():
    deterministic = [[{0: 1.0}], [1]]
    sets = [[{0, 1}], [1]]
    repeated = [[[0, 1, 1, 0]], [1]]
    uneven = [[[0, 1, 1]], [1]]
    certain = [[{0: 1.0, 1: 0.0}], [1]]
    kinds = [
        MDP.from_successors(one, [0, 0], gamma=0.9).kind for one in (deterministic, sets, repeated, uneven, certain)
    ]
    assert kinds == ["deterministic", "nondeterministic", "nondeterministic", "stochastic", "deterministic"]


def test_replace_keeps_the_rest_and_checks_again(same):
    mdp = two_ways()
    same(mdp.replace(gamma=0.25), mdp, but=["gamma"])
    assert mdp.replace(gamma=0.25).gamma == 0.25
    assert mdp.replace(gamma=0.25).probability is mdp.probability  # nothing to copy: both are immutable
    with pytest.raises(ParameterError, match=r"gamma=2 is not in \[0, 1\]"):
        mdp.replace(gamma=2)
    with pytest.raises(ParameterError, match="unknown field 'gama'; did you mean 'gamma'"):
        mdp.replace(gama=0.5)


def test_gamma_of_one_is_accepted():
    assert two_ways().replace(gamma=1).gamma == 1.0


def test_labels_lead_to_indices():
    mdp = two_ways().replace(state_labels=("here", "there"))
    assert mdp.index_of("there") == 1
    with pytest.raises(ParameterError, match="unknown state label 'ther'; did you mean 'there'"):
        mdp.index_of("ther")
    with pytest.raises(ParameterError, match="this model has no state labels"):
        two_ways().index_of("here")


def test_random_rewards_that_no_pair_has_are_dropped():
    plain = two_ways()
    assert not plain.random_rewards
    assert plain.replace(reward_std=np.zeros((2, 2)), bernoulli=np.zeros(4, dtype=bool)).random_rewards is False
    noisy = plain.replace(reward_std=[[1.0, 0.0], [0.0, 0.5]])
    assert noisy.random_rewards
    assert noisy.reward_std.tolist() == [1.0, 0.0, 0.0, 0.5]


@given(data=st.data())
def test_pickle_and_copy(data, mdps, same):
    mdp = data.draw(mdps())
    restored = pickle.loads(pickle.dumps(mdp))
    same(mdp, restored)
    assert not restored.probability.flags.writeable
    assert copy.copy(mdp) is mdp
    assert copy.deepcopy(mdp) is mdp


@given(data=st.data())
def test_matrices_agree_with_a_walk_through_p(data, mdps):
    mdp = data.draw(mdps())
    P = np.zeros((mdp.n_states, mdp.n_actions, mdp.n_states))
    mean = np.zeros((mdp.n_states, mdp.n_actions))
    distributions = []
    for s in mdp.P:
        for a in mdp.P[s]:
            for p, ahead, reward, _ in mdp.P[s][a]:
                P[s, a, ahead] += p
                mean[s, a] += p * reward
            if mdp.P[s][a]:
                distributions.append(P[s, a][P[s, a] > 0])
    np.testing.assert_allclose(mdp.dense()[0], P, atol=1e-15)
    np.testing.assert_allclose((mdp.dense()[0] * mdp.dense()[1]).sum(axis=2), mean, atol=1e-12)
    np.testing.assert_allclose(mdp.expected_reward(), mean, atol=1e-15)
    for a in range(mdp.n_actions):
        np.testing.assert_allclose(mdp.transition_matrix(a).toarray(), P[:, a], atol=1e-15)
    if all(len(d) == 1 for d in distributions):
        assert mdp.kind == "deterministic"
    elif all(np.allclose(d, d[0]) for d in distributions):
        assert mdp.kind == "nondeterministic"
    else:
        assert mdp.kind == "stochastic"


@pytest.mark.slow
def test_a_million_states_take_little_more_memory_than_their_arrays():
    size = 1000
    row, column = np.divmod(np.arange(size * size), size)
    moves = [
        row * size + np.maximum(column - 1, 0),
        row * size + np.minimum(column + 1, size - 1),
        np.maximum(row - 1, 0) * size + column,
        np.minimum(row + 1, size - 1) * size + column,
    ]
    next_state = np.stack(moves, axis=1).astype(np.int32).reshape(-1)
    probability, reward = np.ones(next_state.size), np.zeros(next_state.size)
    indptr = np.arange(next_state.size + 1)
    tracemalloc.start()
    mdp = MDP.from_rows(indptr, next_state, probability, reward, n_actions=4, gamma=0.99, start=0)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert mdp.n_transitions == 4_000_000
    assert kept < 130e6  # 29 bytes a transition and 8 a state, copied from the caller
    assert peak < 260e6
    assert mdp.next_state.tobytes() == next_state.tobytes()


def test_what_is_the_same_in_each_row_is_made_when_it_is_asked_for(same):
    P = np.full((3, 2, 3), 1.0 / 3.0)
    mdp = MDP.from_arrays(P, np.arange(6.0).reshape(3, 2), gamma=0.5)
    again = mdp.replace(gamma=0.75)
    for one in (mdp, again):
        assert not {"next_state", "terminated"} & vars(one).keys()
        assert (one.n_transitions, one.any_terminated, one.every_row.tolist()) == (18, False, [0, 1, 2])
        assert one.row_sums == pytest.approx((1.0, 1.0), abs=1e-15)
        assert not {"next_state", "terminated"} & vars(one).keys()
    assert mdp.next_state.tolist() == [0, 1, 2] * 6
    assert mdp.next_state is mdp.next_state
    assert mdp.next_state.dtype == np.int32
    assert mdp.terminated.tolist() == [False] * 18
    assert not mdp.next_state.flags.writeable
    assert repr(again) == "MDP(n_states=3, n_actions=2, n_transitions=18, gamma=0.75, kind='nondeterministic')"
    assert not {"next_state", "terminated"} & vars(again).keys()
    copied = pickle.loads(pickle.dumps(again))
    same(copied, again)
    assert copied.every_row.tolist() == [0, 1, 2]
    flat = MDP.from_rows(np.arange(7) * 3, [0, 1, 2] * 6, P.ravel(), np.arange(6.0), n_actions=2, gamma=0.5)
    assert flat.every_row.tolist() == [0, 1, 2]
    shifted = mdp.replace(next_state=(mdp.next_state + 1) % 3)
    assert shifted.every_row.tolist() == shifted.next_state.tolist()[:3] == [1, 2, 0]
    assert MDP.from_arrays(P, np.zeros((3, 2)), terminated=[False, False, True], gamma=0.5).any_terminated
    with pytest.raises(AttributeError, match="'MDP' object has no attribute 'nextstate'"):
        _ = mdp.nextstate


def test_a_table_of_successors_has_to_fit_the_rows():
    once = np.array([0, 1], dtype=np.int32)
    rows = {"probability": [0.5, 0.5] * 2, "reward": [1.0, 2.0], "n_actions": 1, "gamma": 0.5}
    mdp = MDP.from_rows([0, 2, 4], np.broadcast_to(once, (2, 2)), **rows)
    once[0] = 1
    assert mdp.next_state.tolist() == [0, 1, 0, 1]
    with pytest.raises(ModelError, match=r"next_state has shape \(2, 2\), not \(4,\)"):
        MDP.from_rows([0, 1, 4], np.broadcast_to(once, (2, 2)), **rows)
    with pytest.raises(ModelError, match=r"next_state has shape \(2, 2\), not \(4,\)"):
        MDP.from_rows([0, 2, 4], np.array([[0, 1], [1, 0]]), **rows)
    with pytest.raises(ModelError, match=r"leads to state 2; the states are 0\.\.1"):
        MDP.from_rows([0, 2, 4], np.broadcast_to([0, 2], (2, 2)), **rows)
