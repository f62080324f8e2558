from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.errors import ParameterError
from rlsuite.models import MDP
from rlsuite.planning import Lookahead, bellman, continuation_matrix, greedy, q_from_value

pytestmark = pytest.mark.arithmetic


def values(mdp):
    return st.lists(st.floats(-1e4, 1e4), min_size=mdp.n_states, max_size=mdp.n_states).map(np.array)


@given(data=st.data())
def test_rounding_error_of_the_lookahead_is_within_its_bound(random_mdps, exact_q, data):
    mdp = data.draw(random_mdps())
    value = data.draw(values(mdp))
    lookahead = Lookahead(mdp)
    computed = q_from_value(lookahead, value)
    allowed = Fraction(lookahead.rounding(value))
    for s, row in enumerate(exact_q(mdp, [Fraction(v) for v in value.tolist()])):
        for a, exact in enumerate(row):
            if exact is None:
                assert computed[s, a] == -np.inf
            else:
                assert abs(Fraction(computed[s, a]) - exact) <= allowed


@given(data=st.data())
def test_bellman_operator_is_monotone_and_contracts_with_its_modulus(random_mdps, data):
    mdp = data.draw(random_mdps())
    lookahead = Lookahead(mdp)
    low, high = data.draw(values(mdp)), data.draw(values(mdp))
    rounding = 2 * lookahead.rounding(np.maximum(np.abs(low), np.abs(high)))
    shrunk = np.abs(bellman(lookahead, low) - bellman(lookahead, high)).max()
    assert shrunk <= lookahead.modulus * np.abs(low - high).max() + rounding
    assert (bellman(lookahead, np.minimum(low, high)) <= bellman(lookahead, high) + rounding).all()


def test_modulus_falls_below_gamma_when_every_transition_may_end():
    mdp = MDP.from_rows([0, 2, 2], [0, 1], [0.25, 0.75], [1, 1], n_actions=1, gamma=1.0)
    assert Lookahead(mdp).modulus == pytest.approx(0.25, abs=1e-15)
    assert Lookahead(mdp).modulus >= 0.25


def test_same_successor_twice_is_added_and_termination_belongs_to_the_transition():
    # State 1 leads on, but one of the two ways into it ends the episode.
    mdp = MDP.from_rows(
        [0, 4, 5],
        [1, 0, 1, 1, 0],
        [0.25, 0.25, 0.25, 0.25, 1.0],
        [1, 2, 3, 4, 7],
        n_actions=1,
        gamma=0.5,
        terminated=[False, False, True, False, False],
    )
    assert continuation_matrix(mdp).toarray().tolist() == [[0.25, 0.5], [1.0, 0.0]]
    assert q_from_value(mdp, [8.0, 16.0]).tolist() == [[2.5 + 0.5 * (2 + 8)], [7 + 4.0]]


def test_operators_leave_the_value_alone_and_accept_integers(grid_goal):
    value = np.arange(6)
    mdp = grid_goal()
    assert bellman(mdp, value).tolist() == bellman(mdp, value.astype(float)).tolist()
    assert value.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0.0] * 5, r"value has shape \(5,\).*6 numbers"),
        ([[0.0] * 6], r"value has shape \(1, 6\)"),
        (["a"] * 6, "dtype <U1"),
        ([0, 0, np.nan, 0, 0, 0], r"value\[2\] is nan"),
        ([0, 0, 0, 0, np.inf, 0], r"value\[4\] is inf"),
    ],
)
def test_value_that_is_not_one_is_named(grid_goal, value, message):
    with pytest.raises(ParameterError, match=message):
        q_from_value(grid_goal(), value)


def test_greedy_takes_the_first_of_equals_within_the_tolerance():
    q = np.array([[1.0, 2.0, 2.0], [2.0 - 1e-9, 2.0, -np.inf], [-np.inf, -np.inf, 0.0], [-np.inf] * 3])
    assert greedy(q).tolist() == [1, 1, 2, -1]
    assert greedy(q, tolerance=1e-8).tolist() == [1, 0, 2, -1]


@pytest.mark.parametrize(
    ("q", "tolerance", "message"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], 0.0, r"q\[0\] contains NaN"),
        ([1.0, 2.0], 0.0, r"q has shape \(2,\)"),
        (np.zeros((3, 0)), 0.0, r"q has shape \(3, 0\)"),
        ([["a", "b"]], 0.0, "dtype <U1"),
        ([[1.0], [1.0, 2.0]], 0.0, "q is not a table of numbers"),
        (object(), 0.0, "dtype object"),
        ([[1.0, 2.0]], -1.0, "tolerance=-1.0 is less than 0"),
        ([[1.0, 2.0]], np.nan, "tolerance"),
    ],
)
def test_action_values_that_are_none_are_named(q, tolerance, message):
    with pytest.raises(ParameterError, match=message):
        greedy(q, tolerance)
