"""Every check of the models' constructors, with the sentence that the user reads."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP, POMDP, MarkovChain, row_checks

NAN, INF = float("nan"), float("inf")

# Two states, two actions: 0 stays, 1 changes over.
INDPTR, NEXT, PROBABILITY, REWARD = [0, 1, 2, 3, 4], [0, 1, 1, 0], [1.0] * 4, [0.0] * 4


def rows(**changes):
    arguments = {
        "indptr": INDPTR,
        "next_state": NEXT,
        "probability": PROBABILITY,
        "reward": REWARD,
        "n_actions": 2,
        "gamma": 0.9,
    }
    return MDP.from_rows(**{**arguments, **changes})


def ended(**changes):
    """State 2 is an end that state 0 leads to."""
    arguments = {"indptr": [0, 1, 2, 2], "next_state": [2, 0], "probability": [1.0, 1.0], "reward": [0.0, 0.0]}
    return rows(**{**arguments, "n_actions": 1, **changes})


BAD_ROWS = {
    "transitions[s=1, a=0] sums to 0.9, not 1 (missing 0.1). Rows: P[s, a, :].": {"probability": [1, 1, 0.9, 1]},
    "transitions[s=0, a=1] sums to 1.25, not 1 (0.25 too much). Rows: P[s, a, :].": {"probability": [1, 1.25, 1, 1]},
    "probability[2] is nan; every entry must be finite": {"probability": [1, 1, NAN, 1]},
    "probability[0] is inf; every entry must be finite": {"probability": [INF, 1, 1, 1]},
    "reward[1] is nan; every entry must be finite": {"reward": [0, NAN, 0, 0]},
    "reward[3] is -inf; every entry must be finite": {"reward": [0, 0, 0, -INF]},
    "transitions[s=1, a=1] leads to state 2; the states are 0..1": {"next_state": [0, 1, 1, 2]},
    "transitions[s=0, a=0] leads to state -1; the states are 0..1": {"next_state": [-1, 1, 1, 2]},
    "transitions[s=0, a=1] leads to state 4294967296; the states are 0..1": {"next_state": [0, 2**32, 1, 0]},
    "next_state has dtype float64; integers are needed": {"next_state": [0.0, 1.0, 1.0, 0.0]},
    "next_state has shape (2, 2), not (4,) (one entry per transition)": {"next_state": [[0, 1], [1, 0]]},
    "probability has shape (3,), not (4,) (one entry per transition)": {"probability": [1, 1, 1]},
    "reward has shape (4, 1), not (4,) or (2, 2) (one entry per transition, or one per pair (s, a))": {
        "reward": [[0]] * 4
    },
    "terminated has shape (2,), not (4,) (one entry per transition)": {"terminated": [False, True]},
    "terminated has dtype int64 and values other than 0 and 1; booleans are needed": {"terminated": [0, 1, 2, 0]},
    "probability has dtype <U1; numbers are needed": {"probability": list("1111")},
    "reward has dtype object; numbers are needed": {"reward": [0, 0, None, 0]},
    "probability has dtype complex128; numbers are needed": {"probability": [1j, 1, 1, 1]},
    "indptr[0] is 1, not 0": {"indptr": [1, 1, 2, 3, 4]},
    "indptr decreases from 3 to 2 at [s=1, a=0]; it must not decrease": {"indptr": [0, 1, 3, 2, 4]},
    "indptr ends at 4, but there are 5 transitions": {
        "next_state": [0] * 5,
        "probability": [1.0] * 5,
        "reward": [0] * 5,
    },
    "indptr has shape (4,), not (n_states * n_actions + 1,) with n_actions=2 and at least one state": {
        "indptr": [0, 1, 2, 4]
    },
    "indptr has shape (1,), not (n_states * n_actions + 1,) with n_actions=2 and at least one state": {"indptr": [0]},
    "indptr has shape (5, 1), not (n_states * n_actions + 1,) with n_actions=2 and at least one state": {
        "indptr": [[0], [1], [2], [3], [4]]
    },
    "indptr has dtype float64; integers are needed": {"indptr": [0.0, 1, 2, 3, 4]},
    "indptr describes 2147483648 states; at most 2147483647 can be numbered in 32 bits": {
        "indptr": np.broadcast_to(np.int64(0), 2**31 + 1),
        "n_actions": 1,
    },
    "start sums to 0.9, not 1": {"start": [0.5, 0.4]},
    "start[1] is -0.5; probabilities are at least 0": {"start": [1.5, -0.5]},
    "start[0] is nan; every entry must be finite": {"start": [NAN, 1]},
    "start has shape (3,), not (2,) (one entry per state)": {"start": [0, 0, 1]},
    "start=2 is not a state; the states are 0..1": {"start": 2},
    "reward_std has shape (4, 1), not (4,) or (2, 2)": {"reward_std": [[1]] * 4},
    "reward_std[s=1, a=0] is -1; it must be at least 0": {"reward_std": [[0, 0], [-1, 0]]},
    "reward_std[0, 1] is nan; every entry must be finite": {"reward_std": [[0, NAN], [1, 0]]},
    "bernoulli has shape (3,), not (4,) or (2, 2)": {"bernoulli": [True] * 3},
    "the Bernoulli reward of transitions[s=1, a=1] has the mean 1.5; it is a probability, in [0, 1]": {
        "bernoulli": [0, 0, 0, 1],
        "reward": [9, 9, 9, 1.5],
    },
    "the reward of [s=0, a=1] is both normal and Bernoulli; choose one": {
        "bernoulli": [0, 1, 1, 0],
        "reward_std": [1, 1, 0, 0],
    },
    "state_labels has 3 entries, not 2": {"state_labels": ["a", "b", "c"]},
    "state_labels[0] and state_labels[1] are both 'a'; labels must be distinct": {"state_labels": ["a", "a"]},
    "action_labels[1] is 1, not a string": {"action_labels": ["0", 1]},
    "action_labels='LR' is one string; a sequence of 2 strings is needed": {"action_labels": "LR"},
}


@pytest.mark.parametrize(("message", "changes"), BAD_ROWS.items(), ids=list(BAD_ROWS))
def test_bad_rows(message, changes):
    with pytest.raises(ModelError) as caught:
        rows(**changes)
    assert str(caught.value) == message


def test_negative_probability_is_named_though_the_row_sums_to_one():
    message = r"transitions\[s=0, a=0\] has the probability -0\.5; probabilities are at least 0\. Rows: P\[s, a, :\]\."
    with pytest.raises(ModelError, match=message):
        MDP.from_rows([0, 3, 4], [0, 1, 0, 1], [1.5, 0, -0.5, 1], [0] * 4, n_actions=1, gamma=0.9)


def test_a_bad_successor_of_the_only_state():
    with pytest.raises(ModelError, match=r"transitions\[s=0, a=0\] leads to state 1; the states are 0\.\.0"):
        MDP.from_rows([0, 1], [1], [1.0], [0.0], n_actions=1, gamma=0.9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": 2}, "start[2] is 1, but state 2 has no legal action"),
        (
            {"terminated": [False, False]},
            "transitions[s=0, a=0] enters state 2, which has no legal action, without terminating: "
            "mark the transition as terminated or give the state an action",
        ),
        (
            {"indptr": [0, 0, 0, 0], "next_state": [], "probability": [], "reward": []},
            "no episode can start: give every state that is not terminal a legal action",
        ),
    ],
)
def test_bad_ends(changes, message):
    assert ended().terminated.tolist() == [True, False]
    with pytest.raises(ModelError) as caught:
        ended(**changes)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gamma": 1.1}, "gamma=1.1 is not in [0, 1]"),
        ({"gamma": -0.1}, "gamma=-0.1 is not in [0, 1]"),
        ({"gamma": NAN}, "gamma=nan is not a finite number"),
        ({"gamma": "0.9"}, "gamma='0.9' is not a finite number"),
        ({"gamma": None}, "gamma=None is not a finite number"),
        ({"gamma": True}, "gamma=True is not a finite number"),
        ({"n_actions": 0}, "n_actions=0 is less than 1"),
        ({"n_actions": 2.0}, "n_actions=2.0 is not a whole number: write 2"),
        ({"n_actions": True}, "n_actions=True is not a whole number"),
        ({"start": -1}, "start=-1 is less than 0"),
        ({"start": 0.5}, "start=0.5 is not a whole number"),
    ],
)
def test_bad_parameters(changes, message):
    with pytest.raises(ParameterError) as caught:
        rows(**changes)
    assert str(caught.value) == message


def test_a_sum_off_by_less_than_the_tolerance_is_kept_as_it_is():
    mdp = rows(probability=[1 - 9e-9, 1, 1, 1 + 9e-9])
    assert mdp.probability.tolist() == [1 - 9e-9, 1, 1, 1 + 9e-9]
    with pytest.raises(ModelError, match=r"sums to 0\.99999998, not 1"):
        rows(probability=[1 - 2e-8, 1, 1, 1])


P = np.stack([np.eye(3), np.roll(np.eye(3), 1, axis=1)], axis=1)  # (S, A, S) = (3, 2, 3)
R = np.zeros((3, 2))


def scaled(factor):
    changed = P.copy()
    changed[2, 1] *= factor
    return changed


BAD_ARRAYS = {
    "P has 2 dimensions, not 3: P[s, a, s'] or P[a, s, s'], or a sequence of sparse matrices, one per action": {
        "P": np.eye(3)
    },
    "P has shape (2, 3, 3), not (S, A, S); it looks like P[a, s, s']: leave order out": {
        "P": P.transpose(1, 0, 2),
        "order": "sas",
    },
    "P has shape (3, 2, 3), not (A, S, S); it looks like P[s, a, s']: leave order out": {"order": "ass"},
    "P has shape (3, 2, 4), not (S, A, S)": {"P": np.zeros((3, 2, 4))},
    "P describes 0 states and 2 actions; at least one of each is needed": {"P": np.zeros((0, 2, 0))},
    "P describes 3 states and 0 actions; at least one of each is needed": {"P": np.zeros((3, 0, 3))},
    "P[1, 1, 2] is nan; every entry must be finite": {"P": np.where(P + np.arange(3) == 3, NAN, P)},
    "transitions[s=2, a=1] sums to 0.9, not 1 (missing 0.1). Rows: P[s, a, :].": {"P": scaled(0.9)},
    "transitions[s=2, a=1] sums to 0, not 1 (missing 1). Rows: P[s, a, :]; if the action is illegal there, "
    "say so with legal=.": {"P": scaled(0.0)},
    "R has shape (2, 3), not (3, 2) (R[s, a])": {"R": R.T},
    "R has shape (2,), not (3,) (R[s], the reward for leaving s)": {"R": [0, 0]},
    "R has shape (3, 2, 2), not (3, 2, 3)": {"R": np.zeros((3, 2, 2))},
    "R[1, 1] is nan; every entry must be finite": {"R": [[0, 0], [0, NAN], [0, 0]]},
    "terminated has shape (2,), not (3,) (one entry per state)": {"terminated": [True, False]},
    "terminated has shape (2, 3, 3), not (3, 2, 3)": {"terminated": np.zeros((2, 3, 3), dtype=bool)},
    "legal has shape (2, 3), not (3, 2) (legal[s, a] whatever the order of P)": {"legal": np.ones((2, 3))},
    "a single sparse matrix of shape (3, 3) was given; pass a list with one matrix per action": {
        "P": csr_array(np.eye(3))
    },
    "matrix 1 is not sparse, but others are: make all of them sparse, or none": {
        "P": [csr_array(np.eye(3)), np.eye(3)]
    },
    "P[1] has shape (2, 2), not (3, 3)": {"P": [csr_array(np.eye(3)), csr_array(np.eye(2))]},
    "R has 1 matrices, not 2, one per action": {"R": [csr_array(np.eye(3))]},
    "R[1] has shape (2, 2), not (3, 3)": {"R": [csr_array(np.eye(3)), csr_array(np.eye(2))]},
    "transitions[s=0, a=1] sums to 2, not 1 (1 too much). Rows: P[a][s, :].": {
        "P": [csr_array(np.eye(3)), csr_array(2 * np.eye(3))]
    },
    "P[0].data[1] is nan; every entry must be finite": {"P": [csr_array(np.diag([1, NAN, 1]))] * 2},
}


@pytest.mark.parametrize(("message", "changes"), BAD_ARRAYS.items(), ids=list(BAD_ARRAYS))
def test_bad_arrays(message, changes):
    with pytest.raises(ModelError) as caught:
        MDP.from_arrays(**{"P": P, "R": R, "gamma": 0.9, **changes})
    assert str(caught.value) == message


def test_ragged_lists_are_no_array():
    with pytest.raises(ModelError, match=r"^P\[0\]\[1\] has shape \(1,\), but P"):
        MDP.from_arrays([[[1, 0], [1]], [[1, 0], [0, 1]]], [0, 0], gamma=0.9)


def test_rows_of_the_other_order_are_named_in_that_order():
    with pytest.raises(ModelError, match=r"transitions\[s=2, a=1\] sums to 0\.9.* Rows: P\[a, s, :\]\.$"):
        MDP.from_arrays(scaled(0.9).transpose(1, 0, 2), R.T, gamma=0.9, order="ass")


def test_misspelt_order():
    with pytest.raises(ParameterError, match="unknown order 'sa'; did you mean 'sas'"):
        MDP.from_arrays(P, R, gamma=0.9, order="sa")


BAD_SUCCESSORS = {
    "successors has 0 states and 1 actions; at least one of each is needed": [],
    "successors has 2 states and 0 actions; at least one of each is needed": [[], []],
    "successors[1] has 1 actions, but successors[0] has 2": [[0, 1], [0]],
    "successors[0] is 0; a sequence with one entry per action is needed": [0, 1],
    "successors[0][1] leads to state 2; the states are 0..1": [[0, 2], [0, 1]],
    "successors[1][0] leads to state -1; the states are 0..1": [[0, 1], [{0, -1}, 1]],
    "successors[0][0] is empty; write None for an illegal action": [[set(), 1], [0, 1]],
    "successors[1][1] is empty; write None for an illegal action": [[0, 1], [0, {}]],
    "successors[0][0] holds 'x'; write a state, a set of states, {state: probability}, or None for an illegal action": [
        ["x", 1],
        [0, 1],
    ],
    "successors[0][1] holds True; write a state, a set of states, {state: probability}, "
    "or None for an illegal action": [[1, True], [0, 1]],
    "successors[1][0] gives the probability '1'; a finite number of at least 0 is needed": [[0, 1], [{0: "1"}, 1]],
    "transitions[s=1, a=0] sums to 0.5, not 1 (missing 0.5). Rows: P[s, a, :].": [[0, 1], [{0: 0.25, 1: 0.25}, 1]],
}


@pytest.mark.parametrize(("message", "successors"), BAD_SUCCESSORS.items(), ids=list(BAD_SUCCESSORS))
def test_bad_successors(message, successors):
    with pytest.raises(ModelError) as caught:
        MDP.from_successors(successors, np.zeros(len(successors)), gamma=0.9)
    assert str(caught.value) == message


def test_bad_rewards_of_successors():
    with pytest.raises(ModelError, match=r"reward has shape \(1,\), not \(2,\) or \(2, 1\) or \(2, 1, 2\)"):
        MDP.from_successors([[0], [1]], [0], gamma=0.9)
    with pytest.raises(ModelError, match=r"reward\(1, 0, 1\) returned nan"):
        MDP.from_successors([[0], [1]], lambda s, a, s2: NAN if s else 0, gamma=0.9)


BAD_OBSERVATIONS = {
    "observation has shape (2, 2), not (1, 2, Z): observation[a, s', z]": np.eye(2),
    "observation has shape (2, 2, 2), not (1, 2, Z): observation[a, s', z]": np.stack([np.eye(2)] * 2),
    "observation has shape (1, 2, 0), not (1, 2, Z): observation[a, s', z]": np.zeros((1, 2, 0)),
    "observation[a=0, s'=1] sums to 0.9, not 1 (missing 0.1)": [[[1, 0], [0.9, 0]]],
    "observation[a=0, s'=0] has the probability -1; probabilities are at least 0": [[[2, -1], [1, 0]]],
    "observation[0, 0, 1] is nan; every entry must be finite": [[[1, NAN], [1, 0]]],
}


@pytest.mark.parametrize(("message", "table"), BAD_OBSERVATIONS.items(), ids=list(BAD_OBSERVATIONS))
def test_bad_observations(message, table):
    mdp = MDP.from_successors([[0], [1]], [0, 0], gamma=0.9)
    with pytest.raises(ModelError) as caught:
        POMDP(mdp, np.asarray(table))
    assert str(caught.value) == message


def test_observation_labels_are_counted():
    with pytest.raises(ModelError, match="observation_labels has 1 entries, not 2"):
        POMDP.from_arrays([[[1]]], [0], [[0.5, 0.5]], gamma=0.9, observation_labels=["z"])


def test_a_pomdp_is_made_of_an_mdp():
    with pytest.raises(ModelError, match="mdp is a dict, not an MDP"):
        POMDP({}, np.ones((1, 1, 1)))


def test_sets_of_states():
    given = {"goal": np.array([False, True]), "both": [1, 0], "one": 0, "none": []}
    expected = {"goal": [False, True], "both": [True, True], "one": [True, False], "none": [False, False]}
    chain = MarkovChain([[0.5, 0.5], [0, 1]], state_labels=["a", "b"], labels=given)
    mdp = rows(labels=given)
    for model in (mdp, mdp.replace(gamma=0.5), rows().replace(labels=given), pickle.loads(pickle.dumps(mdp)), chain):
        assert {label: mask.tolist() for label, mask in model.labels.items()} == expected
        with pytest.raises(ValueError, match="read-only"):
            model.labels["one"][0] = False
        with pytest.raises(TypeError):
            model.labels["two"] = model.labels["one"]
    given["goal"][0] = True
    assert mdp.labels["goal"].tolist() == [False, True]
    assert pickle.loads(pickle.dumps(chain)).labels.keys() == expected.keys()
    assert dict(rows().labels) == {}
    under = MarkovChain.from_mdp(ended(labels={"goal": [1]}), [0, 0, -1])
    assert under.labels["goal"].tolist() == [False, True, False, False]
    wrong = {
        "labels is a list; a mapping is needed, from each label to its states, as labels={'goal': [3]}. Names of "
        "single states are state_labels=[...]": ["a", "b"],
        "labels['x'] has shape (3,), not (2,) (one entry per state, or the numbers of the states)": {"x": [True] * 3},
        "labels['x'] has 2; a mask of booleans is needed, or numbers of states, which are 0..1": {"x": [0, 2]},
        "labels['x'] has shape (1, 2); a mask of booleans is needed, or numbers of states, which are 0..1": {
            "x": [[0, 1]]
        },
        "labels['x'] lists state 1 twice; a mask is an array of booleans": {"x": [0, 1, 1]},
        "labels['x'] has dtype float64; integers are needed": {"x": [0.5]},
        "3 in labels is not a name": {3: [0]},
    }
    for message, labels in wrong.items():
        for make in (lambda labels: rows(labels=labels), lambda labels: MarkovChain([[1, 0], [0, 1]], labels=labels)):
            with pytest.raises(ModelError) as caught:
                make(labels)
            assert str(caught.value) == message


BAD_CHAINS = {
    "transition has shape (2,), not (S, S)": [0.5, 0.5],
    "transition has shape (1, 2), not (S, S)": [[0.5, 0.5]],
    "transition has shape (0, 0), not (S, S)": np.zeros((0, 0)),
    "transition[s=1] sums to 0.9, not 1 (missing 0.1)": [[1, 0], [0, 0.9]],
    "transition[s=1] sums to 0, not 1 (missing 1)": csr_array([[1.0, 0], [0, 0]]),
    "transition[s=0] has the probability -1; probabilities are at least 0": [[2, -1], [0, 1]],
    "transition[0, 0] is nan; every entry must be finite": [[NAN]],
    "transition.data[0] is nan; every entry must be finite": csr_array([[NAN]]),
}


@pytest.mark.parametrize(("message", "transition"), BAD_CHAINS.items(), ids=list(BAD_CHAINS))
def test_bad_chains(message, transition):
    with pytest.raises(ModelError) as caught:
        MarkovChain(transition)
    assert str(caught.value) == message


SHAPES = "allowed are (2,) integers, one action per state, and (2, 2) probabilities"
BAD_POLICIES = {
    f"policy has shape (1,) and dtype int64; {SHAPES}": [0],
    "policy[1] is 2, which is not an action; the actions are 0..1": [0, 2],
    "policy[0] is -1, which is not an action; the actions are 0..1": [-1, 0],
    f"policy has shape (2,) and dtype float64; {SHAPES}": [0.0, 1.0],
    "the policy takes action 1 in state 1, where only the actions [0] are legal": [0, 1],
    f"policy has shape (1, 2) and dtype int64; {SHAPES}": [[1, 0]],
    "policy[0] is [0.5, 0.0], which is not a probability distribution": [[0.5, 0], [1, 0]],
    "policy[0] is [2.0, -1.0], which is not a probability distribution": [[2, -1], [1, 0]],
    "policy[0] is [nan, 1.0], which is not a probability distribution": [[NAN, 1], [1, 0]],
}


@pytest.mark.parametrize(("message", "policy"), BAD_POLICIES.items(), ids=list(BAD_POLICIES))
def test_bad_policies(message, policy):
    mdp = MDP.from_successors([[0, 1], [1, None]], [0, 0], gamma=0.9)
    with pytest.raises(ParameterError) as caught:
        MarkovChain.from_mdp(mdp, policy)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [-0.5, np.nan, 2.0])
def test_the_first_of_many_faults_is_named_however_many_threads_look(value):
    """Parts of a large table are looked at on all cores; faults in several of them, in any order, have one message."""
    rows, columns = 5_000, 600  # several times `FEW` parts
    probability = np.full((rows, columns), 1.0 / columns)
    probability[[4_990, 1_234, 1_235, 4_000], [7, 5, 4, 3]] = value
    indptr, successor = np.arange(0, probability.size + 1, columns), np.tile(np.arange(columns), rows)
    assert probability.size > 2 * row_checks.FEW * row_checks.ENTRIES
    with pytest.raises(ModelError) as refused:
        MDP.from_rows(indptr, successor, probability.ravel(), np.zeros(rows), n_actions=1, gamma=0.9)
    assert "s=1234, a=0" in str(refused.value) or f"probability[{1_234 * columns + 5}]" in str(refused.value)
    successor[[2_900_000, 2_000_000, 1_000_000]] = rows
    with pytest.raises(ModelError, match=f"s={1_000_000 // columns}, a=0.*leads to state 5000"):
        MDP.from_rows(indptr, successor, np.full(probability.size, 1 / columns), np.zeros(rows), n_actions=1, gamma=0.9)
