"""Observation models in all their forms, and the ways in that take them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

from rlsuite.errors import FileError, ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.models.observation_model import ObservationRows


@pytest.fixture
def mdp():
    return MDP.from_successors([[0, 1], [1, 0]], [0, 1], gamma=0.9)


def sparse(pomdp):
    """The same model, given as one sparse matrix per action."""
    return POMDP(pomdp.mdp, [csr_array(table) for table in pomdp.observation], pomdp.observation_labels)


@pytest.mark.slow
@given(data=st.data())
def test_all_forms_are_the_same_model(data, pomdps):
    dense = data.draw(pomdps())
    rows = POMDP(dense.mdp, dense.observation_rows)
    for other in (sparse(dense), rows, pickle.loads(pickle.dumps(rows)), rows.replace(gamma=0.5)):
        assert other.n_observations == dense.n_observations
        assert other.observation.tolist() == dense.observation.tolist()
        for left, right in zip(other.observation_rows, dense.observation_rows, strict=True):
            assert np.array_equal(left, right)
        for action in range(dense.n_actions):
            assert other.observation_matrix(action).toarray().tolist() == dense.observation[action].tolist()
    assert not rows.observation.flags.writeable
    assert not dense.observation_rows.probability.flags.writeable
    assert (dense.observation_rows.probability > 0).all()


def test_sparse_entries_are_added_and_zeros_left_out(mdp):
    table = coo_array(([0.5, 0.5, 0.0, 1.0], ([0, 0, 0, 1], [2, 2, 1, 0])), shape=(2, 3))
    pomdp = POMDP(mdp, [table, table])
    assert pomdp.observation_rows.observation.tolist() == [2, 0, 2, 0]
    assert pomdp.observation.tolist() == [[[0, 0, 1], [1, 0, 0]]] * 2
    one_for_all = POMDP.from_arrays(np.full((2, 2, 2), 0.5), [0, 0], table, gamma=0.9)
    assert one_for_all.observation.tolist() == pomdp.observation.tolist()
    assert table.nnz == 4


EYE = csr_array(np.eye(2))
BAD = {
    "observation has 1 sparse matrices, not 2, one (S, Z) matrix per action": [EYE],
    "observation[1] has shape (2, 3), not (2, 2)": [EYE, csr_array((2, 3))],
    "observation[0] has shape (3, 3), not (2, Z)": [csr_array(np.eye(3))] * 2,
    "matrix 1 is not sparse, but others are: make all of them sparse, or none": [EYE, np.eye(2)],
    "observation[a=1, s'=0] sums to 0.5, not 1 (missing 0.5)": [EYE, csr_array([[0.5, 0], [0, 1]])],
    "observation[a=0, s'=1] has the probability -1; probabilities are at least 0": [
        csr_array([[1, 0], [-1.0, 2]]),
        EYE,
    ],
    "observation[1].data[0] is nan; every entry must be finite": [EYE, csr_array([[np.nan, 0], [0, 1]])],
    "observation.indptr has shape (2,), not (5,) (one row per action and state)": ([0, 1], [0], [1.0], 2),
    "observation.indptr does not increase from 0 to the number of probabilities, 4": (
        [0, 1, 2, 3, 3],
        [0] * 4,
        [1.0] * 4,
        2,
    ),
    "observation[a=1, s'=1] lists observation 2; the observations are 0..1": (range(5), [0, 1, 0, 2], [1.0] * 4, 2),
    "the observations of observation[a=0, s'=0] are not strictly increasing": (
        [0, 2, 3, 4, 5],
        [1, 0, 0, 0, 0],
        [0.5, 0.5, 1, 1, 1],
        2,
    ),
    "observation.n_observations is 0; at least one observation is needed": ([0] * 5, [], [], 0),
    "observation[a=0, s'=0] sums to 0, not 1 (missing 1)": ([0, 0, 1, 2, 3], [0] * 3, [1.0] * 3, 1),
}


@pytest.mark.parametrize(("message", "given"), BAD.items(), ids=list(BAD))
def test_bad_forms(mdp, message, given):
    given = ObservationRows(*given) if isinstance(given, tuple) else given
    with pytest.raises(ModelError) as caught:
        POMDP(mdp, given)
    assert str(caught.value) == message


def test_a_dense_table_that_does_not_fit_is_refused():
    states = 2**20
    mdp = MDP.from_rows(range(states + 1), range(states), np.ones(states), np.zeros(states), n_actions=1, gamma=0.9)
    seen = POMDP(mdp, ObservationRows(np.arange(states + 1), np.arange(states), np.ones(states), states))
    with pytest.raises(ParameterError, match=r"a dense table of 1 x 1048576 x 1048576 observations needs 8,796 GB"):
        _ = seen.observation


@pytest.mark.slow
@given(data=st.data())
def test_written_models_keep_their_form(data, pomdps, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.npz"
    dense = data.draw(pomdps())
    rows = sparse(dense).replace(observation_labels=[f"z{z}" for z in range(dense.n_observations)])
    for model in (dense, rows):
        model.write(path)
        again = POMDP.read(path)
        assert type(again.given_observation) is type(model.given_observation)
        assert again.observation.tobytes() == dense.observation.tobytes()
        assert again.observation_labels == model.observation_labels
        assert POMDP.read(path, gamma=0.25).gamma == 0.25


def test_incomplete_files_are_named(mdp, tmp_path):
    path = tmp_path / "model.npz"
    POMDP(mdp, [EYE, EYE]).write(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **{name: value for name, value in arrays.items() if name != "observation_index"})
    with pytest.raises(FileError, match="is malformed: it has no observation"):
        POMDP.read(path)
    np.savez(path, **{**arrays, "n_observations": np.array([2])})
    with pytest.raises(FileError, match="is malformed: n_observations is not a whole number"):
        POMDP.read(path)
    np.savez(path, **{**arrays, "observation_probability": arrays["observation_probability"] / 2})
    with pytest.raises(FileError, match=r"holds no valid model: observation\[a=0, s'=0\] sums to 0\.5"):
        POMDP.read(path)


# --------------------------------------------------------------------------------------- rewards of observations


@given(data=st.data(), order=st.sampled_from(["sas", "ass"]))
def test_rewards_of_observations_are_folded(data, order):
    states, actions, symbols = (data.draw(st.integers(1, 3)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    P = rng.dirichlet(np.ones(states), (states, actions)) * 1.0
    O = rng.dirichlet(np.ones(symbols), (actions, states))  # noqa: E741 - the field's own name
    R = rng.normal(size=(states, actions, states, symbols))
    by_hand = np.einsum("atz,satz->sat", O, R)
    if order == "ass":
        P, R = P.transpose(1, 0, 2), R.transpose(1, 0, 2, 3)
    for form in (O, [csr_array(table) for table in O]):
        pomdp = POMDP.from_arrays(P, R, form, gamma=0.9, order=order)
        np.testing.assert_allclose(pomdp.mdp.dense()[1], by_hand, atol=1e-14)


def test_rewards_of_observations_must_fit():
    P, O = np.full((2, 1, 2), 0.5), np.eye(2)  # noqa: E741 - the field's own name
    with pytest.raises(ModelError, match=r"R has shape \(2, 1, 2, 3\), not \(2, 1, 2, 2\)"):
        POMDP.from_arrays(P, np.zeros((2, 1, 2, 3)), O, gamma=0.9)
    with pytest.raises(ModelError, match=r"R has shape \(1, 2, 2\), not \(2, 1, 2\)"):
        POMDP.from_arrays(P, np.zeros((1, 2, 2, 2)), O, gamma=0.9)
    with pytest.raises(ModelError, match=r"R\[0, 0, 0, 0\] is nan"):
        POMDP.from_arrays(P, np.full((2, 1, 2, 2), np.nan), O, gamma=0.9)


def test_noise_is_kept_when_rewards_are_folded():
    pomdp = POMDP.from_arrays([[[1]]], [[[[0, 1]]]], [[0.25, 0.75]], gamma=0.9, bernoulli=[[True]])
    assert pomdp.mdp.reward.tolist() == [0.75]
    assert pomdp.mdp.bernoulli.tolist() == [True]


# ---------------------------------------------------------------------------------------------------- functions


def lift(cup, action):
    return [(1.0, cup, -1.0, False)] if action == "look" else [(1.0, cup, 10.0 * (action == cup), True)]


def test_from_function():
    def see(action, cup):
        return {cup: 0.8, "left" if cup == "right" else "right": 0.2} if action == "look" else {"tea", "milk"}

    cups = POMDP.from_function(lift, see, {"left", "right"}, actions=["look", "left", "right"], gamma=0.5)
    assert cups.state_labels == ("left", "right")
    assert cups.action_labels == ("look", "left", "right")
    assert cups.observation_labels == ("left", "right", "milk", "tea")
    assert cups.observation[0].tolist() == [[0.8, 0.2, 0, 0], [0.2, 0.8, 0, 0]]
    assert cups.observation[1].tolist() == [[0, 0, 0.5, 0.5]] * 2
    assert cups.mdp.expected_reward().tolist() == [[-1, 10, 0], [-1, 0, 10]]
    named = POMDP.from_function(
        lift, see, "left", actions=["look", "left"], gamma=0.5, observations=["tea", "milk", "right", "left"]
    )
    assert named.observation_labels == ("tea", "milk", "right", "left")


def test_rewards_of_observations_in_functions():
    walk = POMDP.from_function(
        lambda s, a: {(s + 1) % 3: 0.5, s: 0.5},
        lambda a, s: {s % 2: 0.75, "lost": 0.25},
        0,
        actions=1,
        gamma=0.9,
        observed_reward=lambda s, a, s2, z: -4.0 if z == "lost" else s2,
    )
    assert walk.mdp.P[0][0] == [(0.5, 1, -0.25, False), (0.5, 0, -1.0, False)]
    assert walk.observation_labels == ("0", "lost", "1")


def test_observations_of_moves_that_cannot_be_are_not_asked_for():
    def see(action, state):
        assert (action, state) != (0, "shut")
        return state

    door = POMDP.from_function(
        lambda s, a: "open" if a == 0 else "shut", see, "shut", actions=2, gamma=0.9, reward=lambda s, a, s2: 0.0
    )
    assert door.observation.tolist() == [[[1, 0], [1, 0]], [[0, 1], [1, 0]]]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"a": 0.5}, r"observe\(0, 0\) sums to 0\.5, not 1 \(missing 0\.5\)"),
        ({"a": "b"}, r"observe\(0, 0\) gives 'a' the probability 'b'; a finite number of at least 0 is needed"),
        ({"a": 1.5, "b": -0.5}, r"observe\(0, 0\) gives 'b' the probability -0\.5"),
        ([1], r"observe\(0, 0\) returned \[1\], which is not hashable"),
        (set(), r"observe\(0, 0\) sums to 0, not 1"),
        ("c", r"observe\(0, 0\) returned 'c', which is not one of observations"),
    ],
)
def test_malformed_observations(returned, message):
    with pytest.raises(ModelError, match=message):
        POMDP.from_function(
            lambda s, a: s,
            lambda a, s: returned,
            0,
            actions=1,
            gamma=0.9,
            reward=lambda s, a, s2: 0,
            observations=["a", "b"],
        )


def test_contradictions_and_failures_of_functions():
    with pytest.raises(ParameterError, match="reward and observed_reward are both given"):
        POMDP.from_function(lambda s, a: s, lambda a, s: 0, 0, actions=1, gamma=1, reward=min, observed_reward=max)
    with pytest.raises(ParameterError, match="observations lists 'a' twice"):
        POMDP.from_function(lift, lambda a, s: "a", "left", actions=["look"], gamma=1, observations=["a", "a"])
    with pytest.raises(ZeroDivisionError) as caught:
        POMDP.from_function(lift, lambda a, s: 1 / 0, "left", actions=["look"], gamma=1)
    assert caught.value.__notes__ == ["raised by observe('look', 'left')"]


# ------------------------------------------------------------------------------------------------ many beliefs


@given(data=st.data())
def test_many_beliefs_at_once(data, pomdps):
    pomdp = data.draw(pomdps())
    pomdp = pomdp.replace(mdp=pomdp.mdp.with_all_legal()) if data.draw(st.booleans()) else pomdp
    n = data.draw(st.integers(0, 4))
    weights = st.lists(st.integers(0, 3), min_size=pomdp.n_states, max_size=pomdp.n_states).filter(any)
    beliefs = np.array([np.array(data.draw(weights), float) for _ in range(n)]).reshape(n, pomdp.n_states)
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    actions = data.draw(st.lists(st.integers(0, pomdp.n_actions - 1), min_size=n, max_size=n))
    seen = data.draw(st.lists(st.integers(0, pomdp.n_observations - 1), min_size=n, max_size=n))
    expected, refused = [], None
    for k in range(n):
        try:
            expected.append(pomdp.update_belief(beliefs[k], actions[k], seen[k]))
        except ParameterError as cause:
            refused = refused or str(cause)
    if refused:
        with pytest.raises(ParameterError, match=r"is illegal in state|the episode has ended in|cannot follow actions"):
            pomdp.update_beliefs(beliefs, np.array(actions, dtype=int), np.array(seen, dtype=int))
        return
    found = pomdp.update_beliefs(beliefs, np.array(actions, dtype=int), np.array(seen, dtype=int))
    assert found.shape == beliefs.shape
    np.testing.assert_allclose(found, np.reshape(expected, beliefs.shape), atol=1e-14)


@pytest.mark.parametrize(
    ("beliefs", "actions", "observations", "message"),
    [
        ([0.5, 0.5], 0, 0, r"beliefs has shape \(2,\), not \(n, 2\)"),
        ([[0.5, 0.4]], 0, 0, r"beliefs\[0\] sums to 0\.9, not 1"),
        ([[0.5, 0.5], [1.5, -0.5]], 0, 0, r"beliefs\[1\] has the probability -0\.5"),
        ([[np.nan, 1]], 0, 0, r"beliefs\[0, 0\] is nan"),
        ([[0.5, 0.5]], 3, 0, r"actions\[0\]=3 is not one of 0\.\.2"),
        ([[0.5, 0.5]], [0], [-1], r"observations\[0\]=-1 is not one of 0\.\.1"),
        (
            [[0.5, 0.5]],
            [0, 0],
            0,
            r"actions has dtype int64 and shape \(2,\); one integer, or an array of 1, is",
        ),
        ([[0.5, 0.5]], 0.5, 0, r"actions has dtype float64"),
    ],
)
def test_bad_arguments_of_many_beliefs(tiger, beliefs, actions, observations, message):
    with pytest.raises(ParameterError, match=message):
        tiger.update_beliefs(beliefs, actions, observations)


def test_what_is_left_of_a_belief_when_the_episode_ends():
    pomdp = POMDP.from_arrays(
        [[[0.5, 0.25, 0.25]], [[0, 1, 0]], [[0, 0, 0]]],
        np.zeros(3),
        [[1, 0], [1, 0], [0.5, 0.5]],
        gamma=0.9,
        start=0,
        terminated=[False, False, True],
    )
    b = np.array([1.0, 0, 0])
    assert pomdp.joint(b, 0, 0).tolist() == [0.5, 0.25, 0]
    assert pomdp.joint(b, 0, 0, terminated=True).tolist() == [0, 0, 0.125]
    assert pomdp.joint(b, 0, 1, terminated=True).tolist() == [0, 0, 0.125]
