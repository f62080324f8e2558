import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite.rendering import GridLayout, Overlay, greedy_weights
from rlsuite.rendering.overlay import texts_of


def test_ties_within_one_part_in_a_thousand_million_are_kept():
    q = [[100.0, 100.0 * (1 - 5e-10), 99.9], [-1.0, -1.0 - 1e-10, -1.0 - 1e-8]]
    np.testing.assert_array_equal(greedy_weights(q), [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])


def test_greedy_weights_of_the_grid_goal_problem(grid_goal_q):
    taken = [set(np.flatnonzero(row).tolist()) for row in greedy_weights(grid_goal_q)]
    assert taken == [{1, 2}, {1, 2}, {2}, {1}, {1}, set()]


def test_nan_in_q_is_refused():
    with pytest.raises(ParameterError, match=r"q\[1, 0\] is NaN"):
        greedy_weights([[0.0, 1.0], [np.nan, 1.0]])


def test_a_policy_of_actions_and_one_of_probabilities_mean_the_same(grid_goal):
    by_action = Overlay(grid_goal, policy=[1, 1, 2, 1, 1, -1])
    by_probability = Overlay(grid_goal, policy=np.vstack([np.eye(4)[[1, 1, 2, 1, 1]], np.zeros(4)]))
    np.testing.assert_array_equal(by_action.weights, by_probability.weights)


def test_arrows_are_longer_for_probable_actions_and_missing_for_rare_or_idle_ones():
    layout = GridLayout(1, 3, [(0, 0), (0, 1), (0, 2)], arrows=[(0, -1), (0, 1)], idle=[False, False, True])
    overlay = Overlay(layout, policy=[[0.75, 0.25], [0.999, 0.001], [0.5, 0.5]])
    np.testing.assert_allclose(overlay.arrow_lengths, [[1.0, 1 / 3], [1.0, 0.0], [0.0, 0.0]])


def test_fractions_span_the_finite_values():
    layout = GridLayout.row_major(1, 4)
    np.testing.assert_array_equal(Overlay(layout, [10.0, 30.0, np.nan, 20.0]).fractions, [0.0, 1.0, np.nan, 0.5])
    np.testing.assert_array_equal(Overlay(layout, [7.0, -np.inf, 7.0, 7.0]).fractions, [0.5, np.nan, 0.5, 0.5])
    assert np.isnan(Overlay(layout, [np.nan] * 4).fractions).all()


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([22.0, 24.42, -1.3], ("22.0", "24.4", "-1.3")),
        ([1234.56, 0.1], ("1235", "0")),
        ([-0.004, 0.5], ("0.00", "0.50")),
        ([0.00031, 0.0], ("0.00031", "0")),
        ([np.nan, -np.inf, 1.0], ("", "", "1")),
        ([], ()),
    ],
)
def test_texts_share_their_decimals(values, texts):
    assert texts_of(np.array(values)) == texts


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"value": [1.0, 2.0]}, r"value has shape \(2,\), needed \(6,\)"),
        ({"policy": [0, 1, 2, 3, 4, 0]}, r"policy\[4\] = 4 must be 0 to 3, or -1"),
        ({"policy": [0.0] * 6}, r"policy has shape \(6,\) and type float64"),
        ({"policy": np.ones((6, 3))}, r"needed .* \(6, 4\) probabilities"),
        ({"policy": np.full((6, 4), -0.1)}, r"policy\[0, 0\] = -0.1 is not a probability"),
        ({"policy": np.full((6, 4), np.nan)}, r"policy\[0, 0\] = nan is not a probability"),
    ],
)
def test_what_does_not_fit_is_refused(grid_goal, arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        Overlay(grid_goal, **arguments)


def test_a_policy_needs_directions():
    with pytest.raises(ParameterError, match="arrows="):
        Overlay(GridLayout.row_major(1, 2), policy=[0, 0])
