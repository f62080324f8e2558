"""What the literature says of its counterexamples, from their models and features alone."""

import math

import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite_envs import counterexamples
from rlsuite_envs.counterexamples import BairdStarEnv, TwoStatesEnv, baird_star, two_states
from rlsuite_envs.short_corridor import LOOKS_ALIKE, ShortCorridorEnv, short_corridor


def expected_change(features, transition, gamma, weighting):
    """Matrix of the expected semi-gradient TD update: w changes by alpha times it times w; all rewards are 0."""
    return features.T @ np.diag(weighting) @ (gamma * transition - np.eye(len(features))) @ features


# -------------------------------------------------------------------------------------------------- Baird's star


def test_the_features_of_the_star_can_say_that_all_values_are_0():
    features = BairdStarEnv().features
    assert features.shape == (7, 8)
    assert np.linalg.matrix_rank(features) == 7
    weights = np.array([1, 1, 1, 1, 1, 1, 10, 1])
    # the upper states are worth 2 w_i + w_8, the lower one w_7 + 2 w_8
    assert (features @ weights).tolist() == [3, 3, 3, 3, 3, 3, 12]


def test_the_policy_that_is_followed_visits_all_states_of_the_star_equally_often():
    model = baird_star()
    followed = 6 / 7 * model.transition_matrix(0).toarray() + 1 / 7 * model.transition_matrix(1).toarray()
    np.testing.assert_allclose(followed, np.full((7, 7), 1 / 7))
    np.testing.assert_array_equal(model.transition_matrix(1).toarray(), [[0] * 6 + [1]] * 7)
    assert not model.expected_reward().any()
    assert model.gamma == 0.99


def test_the_star_diverges_off_policy_and_not_on_policy():
    model, features = baird_star(), BairdStarEnv().features
    solid = model.transition_matrix(1).toarray()
    off_policy = np.linalg.eigvals(expected_change(features, solid, 0.99, np.full(7, 1 / 7)))
    assert off_policy.real.max() > 0.1
    on_policy = np.linalg.eigvals(expected_change(features, solid, 0.99, np.eye(7)[6]))
    assert on_policy.real.max() < 1e-12


# -------------------------------------------------------------------------------------------------- the two states


@pytest.mark.parametrize(("gamma", "epsilon"), [(0.99, 0.01), (0.9, 0.3), (0.5, 0.0)])
def test_a_fit_multiplies_the_weight_of_the_two_states_as_is_said(gamma, epsilon):
    """S&B2 equation (11.10), by a fit to the targets of both states; it diverges for gamma > 5 / (6 - 4 epsilon)."""
    model, features = two_states(gamma=gamma, epsilon=epsilon), TwoStatesEnv().features
    going_on = np.array([[sum(p for p, to, _, over in model.P[s][0] if to == ahead and not over) for ahead in range(3)]
                         for s in range(2)])  # fmt: skip
    fitted = np.linalg.lstsq(features[:2], gamma * going_on @ features[:, 0], rcond=None)[0].item()
    assert fitted == pytest.approx(gamma * (6 - 4 * epsilon) / 5)
    assert (fitted > 1) == (gamma > 5 / (6 - 4 * epsilon))


def test_the_two_states_diverge_if_they_are_left_equally_often():
    model, features = two_states(), TwoStatesEnv().features
    going_on = model.transition_matrix(0).toarray()
    going_on[:, 2] = 0.0
    assert model.start.tolist() == [0.5, 0.5, 0.0]
    assert expected_change(features, going_on, 0.99, model.start).item() > 0
    visits = np.linalg.solve(np.eye(3) - going_on.T, model.start)
    assert expected_change(features, going_on, 0.99, visits).item() < 0


@pytest.mark.parametrize(("problem", "keyword", "value"), [("baird_star", "n", 1), ("two_states", "epsilon", 1.5)])
def test_bad_keywords_are_named(problem, keyword, value):
    with pytest.raises(ParameterError, match=f"{keyword}={value}"):
        getattr(counterexamples, problem)(**{keyword: value})


# -------------------------------------------------------------------------------------------- the short corridor


def value_of_going_right(evaluate, p):
    return evaluate(short_corridor(), np.tile([1 - p, p], (4, 1)))[0]


@pytest.mark.parametrize("p", [0.05, 0.3, 2 - math.sqrt(2), 0.95])
def test_the_corridor_costs_what_its_closed_form_says(evaluate, p):
    assert value_of_going_right(evaluate, p) == pytest.approx(-2 * (2 - p) / (p * (1 - p)))


def test_the_published_values_of_the_corridor(evaluate):
    """S&B2 Example 13.1: -11.6 with the best probability of going right, about 0.59; -82 and -44 epsilon-greedily."""
    probabilities = np.linspace(0.05, 0.95, 91)
    values = [value_of_going_right(evaluate, p) for p in probabilities]
    assert probabilities[np.argmax(values)] == pytest.approx(0.59)
    assert max(values) == pytest.approx(-11.6, abs=0.1)
    assert values[0] == pytest.approx(-82, abs=0.5)
    assert values[-1] == pytest.approx(-44, abs=0.5)


def test_the_corridor_is_easy_if_the_state_is_observed(optimum):
    value, q = optimum(short_corridor())
    assert value.tolist() == [-3, -2, -1, 0]
    assert q[:3].argmax(axis=1).tolist() == [1, 0, 1]
    assert np.array_equal(ShortCorridorEnv().features, LOOKS_ALIKE)
    assert (LOOKS_ALIKE == 1).all()
