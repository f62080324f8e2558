import pickle
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP, MarkovChain


@st.composite
def chains(draw):
    n = draw(st.integers(1, 6))
    weights = np.array(draw(st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=n, max_size=n)))
    for s in range(n):
        weights[s, draw(st.integers(0, n - 1))] += 1
    return weights / weights.sum(axis=1, keepdims=True)


def reachable(P):
    """reach[s, t]: whether t can be reached from s in any number of steps, 0 included."""
    reach = np.linalg.matrix_power(np.eye(len(P)) + (P > 0), len(P)) > 0
    return reach


@given(P=chains())
def test_classes_against_reachability(P):
    chain = MarkovChain(P)
    reach = reachable(P)
    both = reach & reach.T
    found = [members.tolist() for members in chain.classes]
    assert found == sorted(found)
    assert sorted(s for members in found for s in members) == list(range(len(P)))
    for members in found:
        assert np.flatnonzero(both[members[0]]).tolist() == members
    closed = [members for members in found if set(np.flatnonzero(reach[members[0]])) == set(members)]
    assert [members.tolist() for members in chain.recurrent_classes] == closed
    assert chain.transient.tolist() == [not any(s in members for members in closed) for s in range(len(P))]
    assert chain.absorbing.tolist() == [s for s in range(len(P)) if P[s, s] == 1.0]


@given(P=chains())
def test_period_against_powers(P):
    chain = MarkovChain(P)
    for s in range(len(P)):
        returns = [t for t in range(1, 3 * len(P) ** 2) if np.linalg.matrix_power((P > 0).astype(float), t)[s, s] > 0]
        assert chain.period(s) == gcd(*returns)


@given(P=chains())
def test_regular_means_that_some_power_is_positive(P):
    """Wielandt: the power (n - 1)^2 + 1 is large enough."""
    power, step = np.eye(len(P), dtype=bool), P > 0
    for _ in range((len(P) - 1) ** 2 + 1):
        power = power @ step
    assert MarkovChain(P).is_regular == power.all()


@given(P=chains())
def test_long_run_against_the_cesaro_limit(P):
    """The mean of the first powers tends to absorption times stationary laws, whatever the periods."""
    chain = MarkovChain(P)
    laws = chain.stationary_laws()
    np.testing.assert_allclose(laws @ P, laws, atol=1e-13)
    np.testing.assert_allclose(laws.sum(axis=1), 1.0)
    assert (laws >= 0).all()
    absorbed = chain.absorption_probabilities()
    np.testing.assert_allclose(absorbed.sum(axis=1), 1.0)
    # (I + P + ... + P^(2^m - 1)) / 2^m by doubling; the periods are at most 6, so blocks of 60 remove them.
    block = sum(np.linalg.matrix_power(P, t) for t in range(60)) / 60
    limit = block @ np.linalg.matrix_power(P, 2**20)
    np.testing.assert_allclose(absorbed @ laws, limit, atol=1e-9)


def test_two_states_in_closed_form():
    """P = [[1 - a, a], [b, 1 - b]] has the stationary law (b, a) / (a + b)."""
    for a, b in [(0.1, 0.5), (1.0, 0.25), (1e-9, 1e-3)]:
        law = MarkovChain([[1 - a, a], [b, 1 - b]]).stationary()
        np.testing.assert_allclose(law, np.array([b, a]) / (a + b), rtol=1e-6)


def test_ehrenfest_urn_is_binomial_with_period_two():
    n = 10
    k = np.arange(n + 1)
    P = np.diag((n - k[:-1]) / n, 1) + np.diag(k[1:] / n, -1)
    chain = MarkovChain(P)
    assert chain.period(3) == 2
    assert not chain.is_regular
    binomial = np.array([1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1]) / 2**n
    np.testing.assert_allclose(chain.stationary(), binomial, rtol=1e-13)


def test_gamblers_ruin():
    """Pr[reach 10 before 0 | k] = (1 - r^k) / (1 - r^10), r = q / p."""
    p, n = 0.4, 10
    P = np.zeros((n + 1, n + 1))
    P[0, 0] = P[n, n] = 1.0
    for k in range(1, n):
        P[k, k + 1], P[k, k - 1] = p, 1 - p
    chain = MarkovChain(coo_array(P))
    r = (1 - p) / p
    wins = (1 - r ** np.arange(n + 1)) / (1 - r**n)
    np.testing.assert_allclose(chain.absorption_probabilities(), np.stack([1 - wins, wins], axis=1), atol=1e-14)
    assert chain.absorbing.tolist() == [0, n]
    with pytest.raises(
        ModelError, match="the chain has 2 recurrent classes, so its stationary distribution is not unique"
    ):
        chain.stationary()


def test_a_large_ring_with_reset():
    """Each of n states goes on, or back to 0, with probability 1/2: the law is geometric."""
    n = 20_000
    s = np.arange(n)
    source, target = np.concatenate([s, s]), np.concatenate([np.zeros(n, dtype=int), np.minimum(s + 1, n - 1)])
    chain = MarkovChain(coo_array((np.full(2 * n, 0.5), (source, target)), shape=(n, n)))
    assert chain.is_regular
    np.testing.assert_allclose(chain.stationary()[:40], 0.5 ** np.arange(1, 41), rtol=1e-9)


def test_after():
    chain = MarkovChain([[0.9, 0.1], [0.5, 0.5]])
    np.testing.assert_allclose(chain.after(1, 3), np.linalg.matrix_power(chain.transition.toarray(), 3)[1])
    assert chain.after([0.25, 0.75], 0).tolist() == [0.25, 0.75]
    with pytest.raises(ParameterError, match="steps=-1 is less than 0"):
        chain.after(0, -1)
    with pytest.raises(ModelError, match=r"start sums to 0\.5, not 1"):
        chain.after([0.5, 0], 1)
    with pytest.raises(ParameterError, match=r"state=2 is not a state; the states are 0\.\.1"):
        chain.period(2)


@pytest.fixture
def grid_goal():
    """Lecture notes, Fig. 9.6: S0 S1 S2 below S3 S4 G; left, right, up, down; G is an end."""
    successors = [
        [None, 1, 3, None],
        [0, 2, 4, None],
        [1, None, 5, None],
        [None, 4, None, 0],
        [3, 5, None, 1],
        [None] * 4,
    ]
    labels = ["S0", "S1", "S2", "S3", "S4", "G"]
    return MDP.from_successors(successors, lambda s, a, s2: 100.0 * (s2 == 5), gamma=0.9, start=0, state_labels=labels)


def test_an_absorbing_goal_has_a_unique_stationary_law_though_it_is_not_regular(grid_goal):
    """The lecture notes call regularity necessary for a unique stationary law; it is only sufficient."""
    optimal = [2, 1, 2, 1, 1, -1]
    chain = MarkovChain.from_mdp(grid_goal, optimal)
    assert chain.state_labels == ("S0", "S1", "S2", "S3", "S4", "G", "end")
    assert not chain.is_regular
    assert len(chain.recurrent_classes) == 1
    assert chain.stationary().tolist() == [0, 0, 0, 0, 0, 0, 1]
    for start in range(7):
        np.testing.assert_allclose(chain.after(start, 10), chain.stationary())
    np.testing.assert_array_equal(chain.absorption_probabilities(), np.ones((7, 1)))
    assert chain.reward.tolist() == [0, 0, 100, 0, 100, 0, 0]


def test_value_of_the_uniform_policy_from_the_chain(grid_goal):
    """V = (I - gamma P)^-1 r, with the values derived for the lecture notes' grid."""
    uniform = grid_goal.legal / np.maximum(grid_goal.legal.sum(axis=1, keepdims=True), 1)
    chain = MarkovChain.from_mdp(grid_goal, uniform)
    value = np.linalg.solve(np.eye(7) - 0.9 * chain.transition.toarray(), chain.reward)
    np.testing.assert_allclose(value[:5], [49.096786, 57.281379, 75.776621, 51.822589, 66.064524], atol=5e-7)


def test_a_chain_without_ends_has_no_extra_state():
    mdp = MDP.from_successors([[1, 0], [{0: 0.5, 1: 0.5}, 1]], [[1, 2], [3, 4]], gamma=0.9, state_labels=["a", "b"])
    chain = MarkovChain.from_mdp(mdp, [0, 0])
    assert chain.transition.toarray().tolist() == [[0, 1], [0.5, 0.5]]
    assert chain.reward.tolist() == [1, 3]
    assert chain.state_labels == ("a", "b")
    np.testing.assert_allclose(chain.stationary(), [1 / 3, 2 / 3])


def test_termination_belongs_to_the_transition():
    mdp = MDP.from_rows(
        [0, 2, 3], [1, 1, 0], [0.5, 0.5, 1.0], [0, 0, 0], n_actions=1, gamma=0.9, terminated=[False, True, False]
    )
    chain = MarkovChain.from_mdp(mdp, [0, 0])
    assert chain.transition.toarray().tolist() == [[0, 0.5, 0.5], [1, 0, 0], [0, 0, 1]]
    assert chain.state_labels is None


def test_an_end_of_probability_zero_is_none():
    mdp = MDP.from_rows([0, 2], [0, 0], [1.0, 0.0], [0, 0], n_actions=1, gamma=0.9, terminated=[False, True])
    assert MarkovChain.from_mdp(mdp, [0]).n_states == 1


def test_a_state_that_is_already_called_end():
    mdp = MDP.from_successors([[1], [None]], [0, 0], gamma=0.9, state_labels=["start", "end"])
    assert MarkovChain.from_mdp(mdp, [0, -1]).state_labels == ("start", "end", "end #2")


@given(data=st.data())
def test_chain_of_a_random_model_and_policy(data, mdps):
    mdp = data.draw(mdps())
    weights = np.array(
        [[data.draw(st.integers(1, 3)) if ok else 0 for ok in row] for row in mdp.legal.tolist()], dtype=float
    )
    policy = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1)
    chain = MarkovChain.from_mdp(mdp, policy)
    expected = np.zeros((mdp.n_states + 1, mdp.n_states + 1))
    expected[-1, -1] = 1.0
    for s in range(mdp.n_states):
        for a in range(mdp.n_actions):
            for p, ahead, _, terminated in mdp.P[s][a]:
                expected[s, -1 if terminated else ahead] += policy[s, a] * p
        if not mdp.legal[s].any():
            expected[s, -1] = 1.0
    ends = (expected[:-1, -1] > 0).any()
    assert chain.n_states == mdp.n_states + ends
    size = chain.n_states
    np.testing.assert_allclose(chain.transition.toarray(), expected[:size, :size], atol=1e-14)
    np.testing.assert_allclose(chain.reward[: mdp.n_states], (policy * mdp.expected_reward()).sum(axis=1), atol=1e-14)


def test_pickle_and_repr():
    chain = MarkovChain([[0.5, 0.5], [0, 1]], [1, 2], ["a", "b"])
    restored = pickle.loads(pickle.dumps(chain))
    assert restored.state_labels == ("a", "b")
    assert restored.reward.tolist() == [1, 2]
    assert restored.transition.toarray().tolist() == chain.transition.toarray().tolist()
    assert repr(chain) == "MarkovChain(n_states=2, recurrent_classes=1)"
