import numpy as np
import pytest

from rlsuite.approximation.selection.diagnostics import growth
from rlsuite.errors import ParameterError


def iterate(matrix, constant, rounds, start):
    rows = [start]
    for _ in range(rounds):
        rows.append(matrix @ rows[-1] + constant)
    return np.array(rows)


@pytest.mark.parametrize("radius", [0.7, 0.97, 1.03, 1.4])
def test_the_rate_is_the_spectral_radius(radius):
    rng = np.random.default_rng(7)
    matrix = rng.random((5, 5))  # of positive numbers: its largest eigenvalue is real and alone
    matrix *= radius / np.abs(np.linalg.eigvals(matrix)).max()
    found = growth(iterate(matrix, rng.random(5), 60, rng.random(5))[15:])
    assert found.rate == pytest.approx(radius, rel=1e-3)
    assert found.diverges == (radius > 1.0)


@pytest.mark.parametrize(("gamma", "diverges"), [(0.8, False), (0.84, True), (0.95, True)])
def test_two_states_one_weight(gamma, diverges):
    """S&B2 Example 11.1 (Tsitsiklis and Van Roy): diverges for gamma above 5/6."""
    found = growth(np.cumprod(np.full(120, 6 * gamma / 5)))
    assert found.rate == pytest.approx(6 * gamma / 5)
    assert found.diverges == diverges


def test_bairds_star():
    """S&B2 Figure 11.2, right: expected updates with alpha = 0.01 and gamma = 0.99 diverge from (1, ..., 1, 10, 1)."""
    features = np.hstack([2.0 * np.eye(7), np.zeros((7, 1))])
    features[:, 7] = 1.0
    features[6, 6:] = [1.0, 2.0]
    start = np.array([1.0, 1, 1, 1, 1, 1, 10, 1])
    ahead = np.tile(features[6], (7, 1))  # the target policy goes to the seventh state
    step = np.eye(8) + 0.01 / 7 * features.T @ (0.99 * ahead - features)
    history = iterate(step, 0.0, 1000, start)
    found = growth(history[200:])
    assert found.diverges
    largest = np.abs(np.linalg.eigvals(step)).max()
    assert largest > 1.0
    assert found.rate == pytest.approx(largest, rel=1e-4)


def test_noise_is_no_divergence():
    """300 random walks; each is called divergence with probability at most 0.001: more than two have 0.004."""
    rng = np.random.default_rng(7)
    assert sum(growth(rng.normal(size=(50, 3)).cumsum(axis=0)).diverges for _ in range(300)) <= 2


def test_what_stands_still_has_converged():
    assert growth(np.ones((10, 4))) == (0.0, np.inf, False)
    settled = iterate(np.array([[0.1]]), np.ones(1), 100, np.zeros(1))
    assert not growth(settled).diverges


def test_enormous_weights_diverge_before_they_overflow():
    assert growth(10.0 ** np.linspace(0, 300, 20)).diverges
    assert growth(np.append(10.0 ** np.linspace(0, 300, 20), np.inf)).diverges


def test_wrong_histories_are_refused():
    with pytest.raises(ParameterError, match=r"history has shape \(3,\).*at least 8 rounds"):
        growth([1.0, 2.0, 3.0])
    with pytest.raises(ParameterError, match="not finite in round 2; at least the first 8 rounds"):
        growth([1.0, 2.0, *[np.nan] * 8])
