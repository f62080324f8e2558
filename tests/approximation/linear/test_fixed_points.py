"""What the predictors tend to, beside the solution of the linear system that defines it (S&B2 section 9.4).

Each test learns with a small constant step size from twenty seeds. The mean of the weights is normally distributed
around the fixed point, up to a bias of the order of the step size; `TOLERANCE` allows for that. A test with a limit of
4.5 standard errors fails by chance, for any of its two weights, with a probability below 1e-4 (Student's t, 19 degrees
of freedom: 2.5e-4 each; the seeds are fixed).
"""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation.linear.gradient_td import GTD2, TDC, EmphaticTD
from rlsuite.approximation.linear.linear_agent import (
    GradientMonteCarlo,
    SemiGradientTD,
    SemiGradientTDLambda,
    TrueOnlineLinearTDLambda,
)

GAMMA, LAMBDA, TOLERANCE = 0.9, 0.6, 0.01
INSIDE = slice(1, 6)
FEATURES = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
FOLLOWED, EVALUATED = [0.5, 0.5], [0.4, 0.6]
X = FEATURES[INSIDE]


@pytest.fixture(scope="module")
def walk():
    return rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), FEATURES)


def chain(policy):
    """Transitions among the five states, and the mean reward, which is 1 for leaving to the right."""
    P = np.diag([policy[1]] * 4, 1) + np.diag([policy[0]] * 4, -1)
    return P, np.array([0, 0, 0, 0, policy[1]])


def visits(policy):
    """How often each state is visited in an episode that begins in the middle, on average."""
    return np.linalg.solve(np.eye(5) - chain(policy)[0].T, [0, 0, 1, 0, 0])


def least_squares():
    """The weights closest to the true values, where each state counts as often as it is visited."""
    P, r = chain(FOLLOWED)
    value, weight = np.linalg.solve(np.eye(5) - GAMMA * P, r), np.sqrt(visits(FOLLOWED))
    return np.linalg.lstsq(weight[:, None] * X, weight * value, rcond=None)[0]


def td_fixed_point(weight, policy=FOLLOWED, lambda_=0.0):
    """A w = b with A = X' D (I - gamma lambda P)^-1 (I - gamma P) X and b = X' D (I - gamma lambda P)^-1 r."""
    P, r = chain(policy)
    backed = X.T @ np.diag(weight) @ np.linalg.inv(np.eye(5) - GAMMA * lambda_ * P)
    return np.linalg.solve(backed @ (np.eye(5) - GAMMA * P) @ X, backed @ r)


def emphasis():
    """Visits, and all that the policy to evaluate makes of them: f = d + gamma P' f (S&B2 section 11.8)."""
    P, _ = chain(EVALUATED)
    return np.linalg.solve(np.eye(5) - GAMMA * P.T, visits(FOLLOWED))


RATES, STEPS = {GTD2: 0.005, EmphaticTD: 0.0005}, {EmphaticTD: 100_000}  # 0.001 and 50,000 for the others
ON, OFF = {}, {"policy_to_evaluate": EVALUATED}
TRACED = {"lambda_": LAMBDA}
CASES = [
    (GradientMonteCarlo, ON, least_squares()),
    (SemiGradientTD, ON, td_fixed_point(visits(FOLLOWED))),
    (SemiGradientTD, OFF, td_fixed_point(visits(FOLLOWED), EVALUATED)),
    (SemiGradientTDLambda, TRACED, td_fixed_point(visits(FOLLOWED), lambda_=LAMBDA)),
    (TrueOnlineLinearTDLambda, TRACED, td_fixed_point(visits(FOLLOWED), lambda_=LAMBDA)),
    (TDC, {**OFF, "error_rate": 0.01}, td_fixed_point(visits(FOLLOWED), EVALUATED)),
    (GTD2, {**OFF, "error_rate": 0.01}, td_fixed_point(visits(FOLLOWED), EVALUATED)),
    (EmphaticTD, {**OFF, "lambda_": 0.0}, td_fixed_point(emphasis(), EVALUATED)),
]


def test_the_fixed_points_differ():
    """By twice the tolerance."""
    points = [least_squares(), *(point for kind, _, point in CASES[1:] if kind not in (TrueOnlineLinearTDLambda, GTD2))]
    points.pop(4)  # TDC's is that of off-policy TD
    for i, point in enumerate(points):
        for other in points[i + 1 :]:
            assert np.abs(point - other).max() > 0.02


@pytest.mark.cases("GTD2-.*")
@pytest.mark.parametrize(("kind", "options", "point"), CASES, ids=lambda case: getattr(case, "__name__", None))
def test_it_is_reached(walk, kind, options, point):
    rate = RATES.get(kind, 0.001)
    learned = []
    for seed in range(20):
        agent = kind(gamma=GAMMA, learning_rate=rate, policy_to_follow=FOLLOWED, **options)
        learned.append(agent.learn(walk, steps=STEPS.get(kind, 50_000), seed=seed).weights_)
    distance = np.abs(np.mean(learned, axis=0) - point)
    error = np.std(learned, axis=0, ddof=1) / np.sqrt(20)
    assert (error < 0.007).all()
    assert (distance < 4.5 * error + TOLERANCE).all(), (distance, error)
