"""Layouts of other libraries: dense and sparse per action (MDPtoolbox), one row per pair (QuantEcon), Gymnasium's P."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csr_array

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP, POMDP


def optimal(mdp):
    """Return the optimal values by 400 sweeps over the table, the slow way."""
    value = np.zeros(mdp.n_states)
    for _ in range(400):
        value = np.array(
            [
                max(
                    [
                        sum(p * (r + (0.0 if done else mdp.gamma * value[ahead])) for p, ahead, r, done in row)
                        for row in of_state.values()
                        if row
                    ],
                    default=0.0,
                )
                for of_state in mdp.to_table().values()
            ]
        )
    return value


def swept(reward, transitions, legal, gamma):
    """The same for R[s, a] and P[s, a, s']."""
    value = np.zeros(len(reward))
    for _ in range(400):
        q = np.where(legal, reward + gamma * transitions @ value, -np.inf)
        value = q.max(axis=1)
    return value


# ------------------------------------------------------------------------------------------- without termination


@pytest.mark.slow
@given(data=st.data())
def test_values_survive_the_loss_of_termination(data, mdps):
    mdp = data.draw(mdps()).replace(gamma=0.9)
    closed = mdp.without_termination()
    assert not closed.terminated.any()
    assert closed.n_states - mdp.n_states in (0, 1)
    assert closed.start[: mdp.n_states].tolist() == mdp.start.tolist()
    np.testing.assert_allclose(optimal(closed)[: mdp.n_states], optimal(mdp), atol=1e-12)
    assert closed.without_termination() is closed


def test_what_becomes_of_ends():
    table = {
        0: {0: [(0.5, 1, 1.0, True), (0.5, 2, 0.0, True)], 1: [(1.0, 3, 4.0, True)]},
        1: {0: [], 1: []},  # an end
        2: {0: [(1.0, 0, 0.0, True)], 1: []},  # nothing can be earned here
        3: {0: [(1.0, 0, 0.0, True)], 1: [(1.0, 0, 2.0, True)]},  # something can
    }
    mdp = MDP.from_table(table, gamma=0.9, start=0, state_labels=["a", "end", "c", "d"])
    closed = mdp.without_termination()
    assert closed.state_labels is not None
    assert closed.state_labels[:4] == mdp.state_labels
    assert len(set(closed.state_labels)) == 5
    loop = {s: {a: [(1.0, s, 0.0, False)] for a in (0, 1)} for s in (1, 2, 4)}
    assert closed.to_table() == {
        0: {0: [(0.5, 1, 1.0, False), (0.5, 2, 0.0, False)], 1: [(1.0, 4, 4.0, False)]},
        1: loop[1],
        2: loop[2],
        3: {0: [(1.0, 4, 0.0, False)], 1: [(1.0, 4, 2.0, False)]},
        4: loop[4],
    }


def test_random_rewards_stay_with_their_pairs():
    table = {0: {0: [(1.0, 1, 1.0, True)]}, 1: {0: [(1.0, 0, 0.0, True)]}, 2: {0: [(1.0, 0, 0.5, True)]}}
    mdp = MDP.from_table(table, gamma=0.9, start=0).replace(
        reward_std=np.array([2.0, 3.0, 0.0]), bernoulli=np.array([False, False, True])
    )
    closed = mdp.without_termination()
    assert closed.reward_std.tolist() == [2.0, 0.0, 0.0, 0.0]
    assert closed.bernoulli.tolist() == [False, False, True, False]


def test_a_model_that_never_ends_is_its_own_closure():
    mdp = MDP.from_successors([[1], [0]], [1, 0], gamma=0.9)
    assert mdp.without_termination() is mdp
    assert mdp.with_all_legal() is mdp


# -------------------------------------------------------------------------------------------------- all legal


@pytest.mark.slow
@given(data=st.data())
def test_optimal_values_survive_the_loss_of_masks(data, mdps):
    mdp = data.draw(mdps()).replace(gamma=0.9)
    full = mdp.with_all_legal()
    assert full.legal.tolist() == [[bool(row.any())] * mdp.n_actions for row in mdp.legal]
    np.testing.assert_allclose(optimal(full), optimal(mdp), atol=1e-12)
    for s, a in np.argwhere(mdp.legal):
        assert full.P[s][a] == mdp.P[s][a]
    for s, a in np.argwhere(full.legal & ~mdp.legal):
        assert full.P[s][a] == mdp.P[s][np.argmax(mdp.legal[s])]


# ---------------------------------------------------------------------------------------------------- arrays


@pytest.mark.slow
@given(data=st.data())
def test_dense_arrays(data, mdps):
    mdp = data.draw(mdps()).with_all_legal().replace(gamma=0.9)
    P, R = mdp.to_arrays()
    assert P.shape == R.shape == (len(P), mdp.n_actions, len(P))
    np.testing.assert_allclose(P.sum(axis=2), 1.0)
    value = swept((P * R).sum(axis=2), P, True, 0.9)
    np.testing.assert_allclose(value[: mdp.n_states], optimal(mdp), atol=1e-12)
    by_action = mdp.to_arrays("ass")
    assert by_action.P.tolist() == P.transpose(1, 0, 2).tolist()
    assert by_action.R.tolist() == R.transpose(1, 0, 2).tolist()
    again = MDP.from_arrays(*by_action, order="ass", gamma=0.9)
    np.testing.assert_allclose(optimal(again)[: mdp.n_states], optimal(mdp), atol=1e-12)


@given(data=st.data())
def test_a_matrix_per_action(data, mdps):
    mdp = data.draw(mdps()).with_all_legal().replace(gamma=0.9)
    P, R = mdp.to_matrices()
    dense = mdp.to_arrays("ass")
    assert np.stack([one.toarray() for one in P]).tolist() == dense.P.tolist()
    np.testing.assert_allclose(R, (dense.P * dense.R).sum(axis=2).T, atol=1e-15)
    again = MDP.from_arrays(P, R, gamma=0.9)
    np.testing.assert_allclose(again.expected_reward(), R, atol=1e-15)
    assert [one.toarray().tolist() for one in again.to_matrices().P] == [one.toarray().tolist() for one in P]


def test_layouts_without_a_form_for_illegal_actions_refuse_them():
    mdp = MDP.from_successors([[0, 1], [1, None]], [0, 0], gamma=0.9)
    for export in (mdp.to_arrays, mdp.to_matrices):
        with pytest.raises(ModelError, match=r"action 1 is illegal in state 1, .* use with_all_legal\(\) first"):
            export()
    with pytest.raises(ParameterError, match="unknown order 'sa'; did you mean 'sas'"):
        mdp.to_arrays("sa")


def test_rewards_of_the_other_order_are_hinted_at():
    P = np.stack([np.eye(3)] * 2)
    with pytest.raises(
        ModelError, match=r"R has shape \(3, 2\), not \(2, 3\) \(R\[a, s\]; pass R\[s, a\] as R\.T, or "
    ):
        MDP.from_arrays(P, np.zeros((3, 2)), gamma=0.9, order="ass")


# ------------------------------------------------------------------------------------------------- pymdptoolbox

STAY_OR_GO = np.array(
    [[[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1, 0, 0]]]
)
"""P[a, s, s'] of three states and two actions."""
PAID = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
"""R[s, a]"""
PAID_AHEAD = np.arange(18.0).reshape(2, 3, 3)
"""R[a, s, s']"""


def objects(matrices):
    """An object array of matrices, which pymdptoolbox's own examples use."""
    found = np.empty(len(matrices), dtype=object)
    for a, one in enumerate(matrices):
        found[a] = one
    return found


def sparse(matrices, form=csr_array):
    return [form(one) for one in matrices]


@pytest.mark.cases(".*-array", "s-.*", "sparse objects-.*")
@pytest.mark.parametrize(
    "P",
    [
        STAY_OR_GO,
        list(STAY_OR_GO),
        tuple(STAY_OR_GO),
        objects(STAY_OR_GO),
        np.array(list(STAY_OR_GO), dtype=object),
        sparse(STAY_OR_GO),
        tuple(sparse(STAY_OR_GO, coo_matrix)),
        objects(sparse(STAY_OR_GO)),
        objects(sparse(STAY_OR_GO, coo_matrix)),
    ],
    ids=["array", "list", "tuple", "objects", "cube of objects", "sparse", "coo", "sparse objects", "coo objects"],
)
@pytest.mark.parametrize(
    ("R", "mean"),
    [
        (PAID[:, 0], PAID[:, [0, 0]]),
        (PAID, PAID),
        (PAID.T, PAID),
        (csr_array(PAID), PAID),
        (objects(PAID.T), PAID),
        (PAID_AHEAD, (STAY_OR_GO * PAID_AHEAD).sum(axis=2).T),
        (list(PAID_AHEAD), (STAY_OR_GO * PAID_AHEAD).sum(axis=2).T),
        (objects(PAID_AHEAD), (STAY_OR_GO * PAID_AHEAD).sum(axis=2).T),
        (sparse(PAID_AHEAD), (STAY_OR_GO * PAID_AHEAD).sum(axis=2).T),
        (objects(sparse(PAID_AHEAD)), (STAY_OR_GO * PAID_AHEAD).sum(axis=2).T),
        (PAID_AHEAD.transpose(1, 0, 2), (STAY_OR_GO * PAID_AHEAD).sum(axis=2).T),
    ],
    ids=["s", "sa", "as", "sparse sa", "objects as", "ass", "list", "objects", "sparse", "sparse objects", "sas"],
)
def test_every_layout_of_pymdptoolbox_is_read(P, R, mean):
    mdp = MDP.from_arrays(P, R, gamma=0.9)
    np.testing.assert_array_equal(mdp.dense()[0], STAY_OR_GO.transpose(1, 0, 2))
    np.testing.assert_allclose(mdp.expected_reward(), mean, atol=1e-15)


@pytest.mark.parametrize("P", [objects(STAY_OR_GO[:, :2, :2] * 0 + np.eye(2)), sparse([np.eye(2)] * 2)])
def test_with_as_many_actions_as_states_pairs_are_read_by_state(P):
    """An object array says itself that its first index is the action; rewards of shape (2, 2) say nothing."""
    swap = objects([np.eye(2), np.eye(2)[::-1]])
    R = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert MDP.from_arrays(swap, R, gamma=0.9).dense()[0].tolist() == [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    assert MDP.from_arrays(P, R, gamma=0.9).expected_reward().tolist() == R.tolist()
    assert MDP.from_arrays(P, R, gamma=0.9, order="ass").expected_reward().tolist() == R.T.tolist()
    assert MDP.from_arrays(P, objects(list(R)), gamma=0.9).expected_reward().tolist() == R.T.tolist()


STAY_OR_LEAVE, HALVES = np.stack([np.eye(2), [[0.5, 0.5], [0, 1]]]), np.full((2, 2, 2), 0.5)
SEEN = [[1.0], [1.0]]
UNEQUAL = [[1.0, 2.0], [3.0, 4.0]]
ENDED = {"terminated": [False, True]}
EMPTY = np.array([[[0, 1], [0.5, 0.5]], [[0, 0], [0, 0]]])  # of the second state, or of the second action


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("P", lambda **how: MDP.from_arrays(STAY_OR_LEAVE, [0, 1], **how)),
        ("P", lambda **how: MDP.from_arrays(STAY_OR_LEAVE.tolist(), costs=[0, 1], **how)),
        ("P", lambda **how: MDP.from_arrays(HALVES, UNEQUAL, **how)),
        ("P", lambda **how: MDP.from_arrays(EMPTY.swapaxes(0, 1), [0, 1], **ENDED, **how)),
        ("R", lambda **how: MDP.from_arrays(sparse([np.eye(2)] * 2), np.zeros((2, 2, 2)), **how)),
        ("P", lambda **how: POMDP.from_arrays(STAY_OR_LEAVE, [0, 1], SEEN, **how)),
        ("R", lambda **how: POMDP.from_arrays(HALVES, np.arange(8.0).reshape(2, 2, 2, 1), SEEN, **how)),
        ("R", lambda **how: POMDP.from_arrays(sparse([np.eye(2)] * 2), np.zeros((2, 2, 2, 1)), SEEN, **how)),
    ],
)
def test_what_the_shapes_leave_open_is_refused(name, call):
    with pytest.raises(ModelError, match=rf"with 2 states and 2 actions, {name} can be .* write order='sas' or order="):
        call(gamma=0.9)
    if name == "P":
        values = {}
        for order in ("sas", "ass"):
            with contextlib.suppress(ModelError):
                values[order] = optimal(getattr(call(gamma=0.9, order=order), "mdp", call(gamma=0.9, order=order)))
        assert "ass" in values
        assert values.get("sas") != pytest.approx(values["ass"])


@pytest.mark.parametrize(
    ("P", "R", "given"),
    [
        (STAY_OR_LEAVE, [0, 1], {"order": "sas"}),
        (HALVES, [0, 1], {}),
        (HALVES, [[1, 2], [2, 3]], {}),
        (EMPTY, [0, 1], ENDED),
        ([[[1.0]]], [[5]], {}),
    ],
    ids=["ordered", "same", "same rewards", "one reading is invalid", "one state"],
)
def test_as_many_actions_as_states(P, R, given):
    assert MDP.from_arrays(P, R, gamma=0.9, **given).dense()[0].tolist() == np.asarray(P).tolist()


@pytest.mark.parametrize(
    ("P", "message"),
    [
        (objects([np.eye(2), np.eye(3)]), r"P\[1\] has shape \(3, 3\), but P\[0\] has \(2, 2\)"),
        ([np.eye(2), np.eye(3)], r"^P\[1\] has shape \(3, 3\), but P\[0\] has \(2, 2\); all must have the same shape$"),
        ([np.eye(2), [[1.0], [0.5, 0.5]]], r"^P\[1\]\[1\] has shape \(2,\), but P\[1\]\[0\] has \(1,\)"),
        (objects([np.eye(2), csr_array(np.eye(2))]), "matrix 0 is not sparse, but others are"),
        (objects([np.eye(2), None]), r"P\[1\] has dtype object; numbers are needed"),
        (objects([np.eye(2), "no"]), r"P\[1\] has dtype <U2; numbers are needed"),
        (objects([]), "P is empty; one .* per action"),
        (np.array([[["0.5", "0.5"]]], dtype=object), "P has dtype <U3; numbers are needed"),
    ],
)
def test_object_arrays_of_something_else(P, message):
    with pytest.raises(ModelError, match=message):
        MDP.from_arrays(P, [0.0, 0.0], gamma=0.9)


@pytest.mark.parametrize("form", [objects, lambda matrices: objects(sparse(matrices))])
def test_observations_in_object_arrays(form):
    O = np.array([[[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]])  # noqa: E741
    R = np.arange(36.0).reshape(2, 3, 3, 2)
    pomdp = POMDP.from_arrays(objects(STAY_OR_GO), R, form(O), gamma=0.9)
    assert pomdp.observation.tolist() == O.tolist()
    same = POMDP.from_arrays(STAY_OR_GO.transpose(1, 0, 2), R.transpose(1, 0, 2, 3), O, gamma=0.9)
    assert pomdp.mdp.expected_reward().tolist() == same.mdp.expected_reward().tolist()


def test_flags_of_transitions_by_action():
    ended = np.zeros((2, 3, 3), dtype=bool)
    ended[:, :, 2] = True
    for form in (ended, objects(ended), objects(sparse(ended))):
        mdp = MDP.from_arrays(objects(STAY_OR_GO), PAID, gamma=0.9, terminated=form)
        assert mdp.terminated.tolist() == (mdp.next_state == 2).tolist()


# ----------------------------------------------------------------------------------------------------- pairs

# Puterman's two-state example, one pair per line.
R, Q, STATES, ACTIONS = [5.0, 10.0, -1.0], [[0.5, 0.5], [0.0, 1.0], [0.0, 1.0]], [0, 0, 1], [0, 1, 0]


@given(data=st.data())
def test_pairs(data, mdps, same):
    mdp = data.draw(mdps())
    closed = mdp.without_termination()
    pairs = mdp.to_pairs()
    assert np.stack([pairs.s_indices, pairs.a_indices], axis=1).tolist() == np.argwhere(closed.legal).tolist()
    assert pairs.R.tolist() == closed.expected_reward()[closed.legal].tolist()
    assert pairs.Q.toarray().tolist() == closed.dense()[0][closed.legal].tolist()
    first = MDP.from_pairs(*pairs, gamma=mdp.gamma, start=closed.start, n_actions=mdp.n_actions)
    assert first.legal.tolist() == closed.legal.tolist()
    assert first.dense()[0].tolist() == closed.dense()[0].tolist()
    np.testing.assert_allclose(first.expected_reward(), closed.expected_reward(), atol=1e-15)
    order = np.array(data.draw(st.permutations(range(pairs.R.size))))
    shuffled = (pairs.R[order], pairs.Q[order], pairs.s_indices[order], pairs.a_indices[order])
    arguments = {"gamma": mdp.gamma, "start": closed.start, "n_actions": mdp.n_actions}
    same(first, MDP.from_pairs(*shuffled, **arguments))
    same(first, MDP.from_pairs(shuffled[0], shuffled[1].toarray(), *shuffled[2:], **arguments))
    same(first, MDP.from_pairs(shuffled[0], coo_matrix(shuffled[1]), *shuffled[2:], **arguments))


def test_pairs_and_the_product_form_are_the_same_model(same):
    product = MDP.from_arrays(
        [[[0.5, 0.5], [0, 1]], [[0, 1], [0.5, 0.5]]], [[5, 10], [-1, -np.inf]], gamma=0.95, order="sas"
    )
    same(product, MDP.from_pairs(R, Q, STATES, ACTIONS, gamma=0.95))
    np.testing.assert_allclose(optimal(product.replace(gamma=0.5)), [9.0, -2.0])


def test_minus_infinity_marks_illegal_pairs_in_both_orders(same):
    P = np.full((2, 2, 2), 0.5)
    rewards = np.array([[1.0, -np.inf], [-np.inf, 2.0]])
    by_state = MDP.from_arrays(P, rewards, gamma=0.9)
    assert by_state.legal.tolist() == [[True, False], [False, True]]
    same(by_state, MDP.from_arrays(P, rewards.T, gamma=0.9, order="ass"))
    same(by_state, MDP.from_pairs([-np.inf, 1, 2], [[1, 0], [0.5, 0.5], [0.5, 0.5]], [1, 0, 1], [0, 0, 1], gamma=0.9))
    with pytest.raises(ModelError, match=r"R\[0, 1\] is -inf; every entry must be finite"):
        MDP.from_arrays(P, rewards, gamma=0.9, legal=np.ones((2, 2), dtype=bool))


def test_states_that_are_not_listed_are_ends():
    mdp = MDP.from_pairs([1.0], [[0.5, 0.5]], [0], [0], gamma=0.9)
    assert mdp.terminated.tolist() == [False, True]
    assert mdp.start.tolist() == [1.0, 0.0]
    terminal = MDP.from_pairs(R, Q, STATES, ACTIONS, gamma=0.9, terminated=[False, True], state_labels=["a", "b"])
    assert terminal.terminated.tolist() == [False, True, True, True]
    assert terminal.start.tolist() == [1.0, 0.0]


BAD_PAIRS = {
    "the pair (s=0, a=1) is listed twice: entries 1 and 3": {
        "R": [*R, 0],
        "Q": [*Q, [1, 0]],
        "s_indices": [*STATES, 0],
        "a_indices": [*ACTIONS, 1],
    },
    "s_indices[2] is 2; the states are 0..1": {"s_indices": [0, 0, 2]},
    "s_indices[0] is -1; the states are 0..1": {"s_indices": [-1, 0, 1]},
    "a_indices[1] is -1; actions are at least 0": {"a_indices": [0, -1, 0]},
    "a_indices[1] is 1; the actions are 0..0": {"n_actions": 1},
    "a_indices has shape (2,), not (3,) (one entry per pair)": {"a_indices": [0, 1]},
    "s_indices has dtype float64; integers are needed": {"s_indices": [0.0, 0.0, 1.0]},
    "R has shape (2,), not (3,) (one reward per pair)": {"R": [1, 2]},
    "R[1] is nan; every entry must be finite": {"R": [1, np.nan, 2]},
    "R[2] is inf; every entry must be finite": {"R": [1, 2, np.inf]},
    "transitions[s=0, a=1] sums to 0.9, not 1 (missing 0.1). Rows: Q[l, :].": {"Q": [Q[0], [0.0, 0.9], Q[2]]},
    "transitions[s=0, a=1] sums to 0, not 1 (missing 1). Rows: Q[l, :].": {"Q": [Q[0], [0, 0], Q[2]]},
    "transitions[s=1, a=0] has the probability -1; probabilities are at least 0. Rows: Q[l, :].": {
        "Q": csr_array([Q[0], Q[1], [-1.0, 2.0]])
    },
    "Q has shape (3, 1, 2), that of the product form: use MDP.from_arrays(Q, R)": {"Q": [[row] for row in Q]},
    "Q has shape (2,), not (L, S): Q[l, s'] for each pair l": {"Q": Q[0]},
    "Q has shape (0, 2); at least one pair and one state are needed": {"Q": np.zeros((0, 2))},
    "terminated has shape (3,), not (2,) (one entry per state)": {"terminated": [True, False, False]},
}


@pytest.mark.parametrize(("message", "changes"), BAD_PAIRS.items(), ids=list(BAD_PAIRS))
def test_bad_pairs(message, changes):
    with pytest.raises(ModelError) as caught:
        MDP.from_pairs(**{"R": R, "Q": Q, "s_indices": STATES, "a_indices": ACTIONS, "gamma": 0.9, **changes})
    assert str(caught.value) == message


def test_many_pairs_need_no_dense_table():
    states, actions = 50_000, 4
    generator = np.random.default_rng(0)
    ahead = generator.integers(0, states, (states * actions, 2))
    mdp = MDP.from_rows(
        np.arange(states * actions + 1) * 2,
        ahead.reshape(-1),
        np.full(ahead.size, 0.5),
        generator.random(ahead.size),
        n_actions=actions,
        gamma=0.9,
    )
    again = MDP.from_pairs(*mdp.to_pairs(), gamma=0.9)
    np.testing.assert_allclose(again.expected_reward(), mdp.expected_reward())


# ----------------------------------------------------------------------------------------------------- table


@given(data=st.data())
def test_tables(data, mdps, same):
    mdp = data.draw(mdps(noise=False))
    table = mdp.to_table()
    assert type(table) is type(table[0]) is dict
    again = MDP.from_table(table, gamma=mdp.gamma, start=mdp.start, state_labels=mdp.state_labels)
    same(mdp, again)
    nested = [[row for row in of_state.values()] for of_state in table.values()]
    same(again, MDP.from_table(nested, gamma=mdp.gamma, start=mdp.start, state_labels=mdp.state_labels))


ROW = [(1.0, 0, 0.0, False)]
BAD_TABLES = {
    "P is {}; a mapping from state to action to list of transitions is needed": {},
    "P is 3; a mapping from state to action to list of transitions is needed": 3,
    "P is 'ab'; a mapping from state to action to list of transitions is needed": "ab",
    "P[0] is {}; a mapping from action to list of transitions is needed": {0: {}},
    "P has no state 0; the states are 0..0": {1: {0: ROW}},
    "P has no state 1; the states are 0..1": {0: {0: ROW}, 2: {0: ROW}},
    "P[1] has no action 1; the actions are 0..1 (write an empty list for an action that is illegal)": {
        0: {0: ROW, 1: ROW},
        1: {0: ROW},
    },
    "P[0][0][0] is (1.0, 1, 0.0, False): the next state is not one of 0..0": {0: {0: [(1.0, 1, 0.0, False)]}},
}


@pytest.mark.parametrize(("message", "table"), BAD_TABLES.items(), ids=list(BAD_TABLES))
def test_bad_tables(message, table):
    with pytest.raises(ModelError) as caught:
        MDP.from_table(table, gamma=0.9)
    assert str(caught.value) == message


def test_full_and_sparse_arrays_are_the_same_model_and_are_copied(same):
    rng = np.random.default_rng(5)
    full = rng.dirichlet(np.ones(4), size=(4, 2))
    holed = np.where(rng.random(full.shape) < 0.4, 0.0, full) + 0.1 * np.eye(4)[:, np.newaxis]
    for P in (full, holed / holed.sum(axis=2, keepdims=True)):
        R = rng.normal(size=(4, 2, 4))
        for rewards in (R, R[:, :, 0], R[:, 0, 0]):
            model = MDP.from_arrays(P, rewards, gamma=0.9)
            by_action = [csr_array(P[:, a]) for a in range(2)]
            as_rows = [csr_array(R[:, a]) for a in range(2)] if rewards is R else rewards
            same(model, MDP.from_arrays(by_action, as_rows, gamma=0.9))
            turned = rewards if rewards.ndim == 1 else rewards.swapaxes(0, 1)
            same(model, MDP.from_arrays(P.transpose(1, 0, 2), turned, gamma=0.9, order="ass"))
        before = model.probability.copy()
        P[:] = 0.25
        assert np.array_equal(model.probability, before)


def test_a_dense_array_that_no_memory_holds_is_refused_at_once():
    n = 1_000_000
    ring = MDP.from_rows(np.arange(n + 1), np.roll(np.arange(n), -1), np.ones(n), np.zeros(n), n_actions=1, gamma=0.9)
    with pytest.raises(ParameterError, match=r"^a dense array of 1000000 states needs 32,000 GB"):
        ring.dense()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_wrong_entry_is_named_as_it_was_written_and_nothing_else(wrong):
    P = np.full((2, 3, 3), 1 / 3)
    P[1, 0, 2] = wrong
    with pytest.raises(ModelError, match=rf"^P\[1, 0, 2\] is {wrong}; every entry must be finite$") as raised:
        MDP.from_arrays(P, np.ones((3, 2)), gamma=0.9)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    # in a row that is left out, too
    legal = np.ones((3, 2), dtype=bool)
    legal[0, 1] = False
    with pytest.raises(ModelError, match=r"^P\[1, 0, 2\] is"):
        MDP.from_arrays(P, np.ones((3, 2)), gamma=0.9, legal=legal)


def test_sums_that_overflow_are_refused_without_a_warning():
    with pytest.raises(ModelError, match=r"transitions\[s=0, a=0\] sums to inf"):
        MDP.from_arrays(np.full((2, 1, 2), 1e308), np.ones((2, 1)), gamma=0.9)


@pytest.mark.parametrize("kind", [">i4", ">i8", ">u2", "<i8", "i1"])
def test_successors_in_any_order_of_bytes(kind):
    plain = MDP.from_arrays(np.full((3, 2, 3), 1 / 3), np.ones((3, 2)), gamma=0.9)
    rows = (plain.indptr, plain.next_state.astype(kind), plain.probability, plain.reward)
    assert MDP.from_rows(*rows, n_actions=2, gamma=0.9).next_state.tobytes() == plain.next_state.tobytes()
