"""A mixture of experts on functions made of pieces, and as Q."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import rlsuite as rl
from rlsuite.approximation import FittedQ, GatedExperts
from rlsuite.errors import ParameterError

X = np.linspace(-1.0, 1.0, 201)[:, None]


def test_two_lines_are_found_and_the_gate_stands_between_them():
    model = GatedExperts(2).fit(X, np.abs(X[:, 0]))
    left, right = sorted(model.experts_, key=lambda expert: expert.coef_[0])
    assert (left.coef_[0], right.coef_[0]) == (pytest.approx(-1.0, abs=0.01), pytest.approx(1.0, abs=0.01))
    gates = model.gates([[-0.9], [0.9]])
    np.testing.assert_allclose(gates.sum(axis=1), 1.0)
    assert gates.argmax(axis=1).tolist() == [model.experts_.index(left), model.experts_.index(right)]
    assert np.abs(model.predict([[-0.8], [0.8]]) - 0.8).max() < 0.01


def test_one_expert_is_the_regressor_itself():
    y = np.sin(3.0 * X[:, 0])
    np.testing.assert_allclose(GatedExperts(1).fit(X, y).predict(X), LinearRegression().fit(X, y).predict(X))
    trees = GatedExperts(1, DecisionTreeRegressor(max_depth=3, random_state=0)).fit(X, y)
    np.testing.assert_allclose(
        trees.predict(X), DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y).predict(X), atol=1e-12
    )


@pytest.mark.slow
def test_a_jump_that_one_line_cannot_follow():
    y = np.where(X[:, 0] < 0.2, 1.0 + X[:, 0], -2.0 * X[:, 0])
    one, two = (np.mean((GatedExperts(k).fit(X, y).predict(X) - y) ** 2) for k in (1, 2))
    assert two < 0.1 * one


def test_it_is_a_regressor_for_batches():
    batch = rl.approximation.Batch.collect("rlsuite_envs:rlsuite/CarOnTheHill-v0", steps=200, seed=7)
    fitted = FittedQ(GatedExperts(2, n_iterations=2), gamma=0.95, iterations=2).learn(batch)
    assert np.isfinite(fitted.q([[-0.5, 0.0]])).all()


@pytest.mark.parametrize("given", [{"n_experts": 0}, {"n_iterations": 0}])
def test_parameters_outside_their_values_are_refused(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        GatedExperts(**given).fit(X, X[:, 0])
