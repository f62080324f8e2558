"""Least squares: the fixed point of TD, by its definition; the optimum of every small model; the published chains."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import PolynomialFeatures

from rlsuite import reference
from rlsuite.approximation.batch import LSPI, LSTD, Batch, lspi
from rlsuite.errors import ConvergenceWarning, LearningError, NotLearned, ParameterError
from rlsuite.features import OneHot, TileCoding
from rlsuite.models import MDP

pytestmark = pytest.mark.arithmetic


class Lookup(TransformerMixin, BaseEstimator):
    """Features of ids from a table (n_ids, k)."""

    def __init__(self, table):
        self.table = table

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(self.table)[X[:, 0].astype(int)]


@pytest.fixture(scope="module")
def walks():
    """Episodes of a random walk over seven states; some end, some are cut off."""
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(40):
        state = int(rng.integers(7))
        for t in range(int(rng.integers(3, 15))):
            ahead = (state + int(rng.integers(-1, 2))) % 7
            ended = bool(rng.random() < 0.1)
            rows.append((state, rng.normal() + state, ahead, ended, t == 0))
            state = ahead
            if ended:
                break
    state, reward, ahead, ended, first = map(np.array, zip(*rows, strict=True))
    return Batch.from_arrays(state, np.zeros(len(rows), dtype=int), reward, ahead, ended, first=first)


def moves_of_td(batch, phi, weights, gamma, lambda_):
    """Sum of (td error times trace) over all steps of a batch, at fixed weights: TD(lambda) by its definition."""
    total = np.zeros(phi.shape[1])
    for i in range(len(batch)):
        before, after = phi[int(batch.observation[i, 0])], phi[int(batch.next_observation[i, 0])]
        trace = before if batch.first[i] else gamma * lambda_ * trace + before  # noqa: F821 - the first one is
        error = batch.reward[i] + (0.0 if batch.terminated[i] else gamma * weights @ after) - weights @ before
        total += batch.weight[i] * error * trace
    return total


@pytest.mark.parametrize("lambda_", [0.0, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("n_features", [3, 7])
def test_td_comes_to_rest_at_the_weights_of_lstd(walks, lambda_, n_features):
    phi = np.random.default_rng(n_features).normal(size=(7, n_features))
    agent = LSTD(Lookup(phi), gamma=0.9, lambda_=lambda_).learn(walks)
    left = moves_of_td(walks, phi, agent.weights_, 0.9, lambda_)
    assert np.abs(left).max() < 1e-8 * np.abs(moves_of_td(walks, phi, 0 * agent.weights_, 0.9, lambda_)).max()


def test_the_closed_form_of_a_chain():
    """On all transitions of a model, w = (Phi' D (I - gamma P) Phi)^-1 Phi' D r, with equal weights D."""
    rng = np.random.default_rng(1)
    P, R = rng.dirichlet(np.ones(6), size=(6, 1)), rng.normal(size=(6, 1))
    phi = rng.normal(size=(6, 4))
    agent = LSTD(Lookup(phi), gamma=0.8).learn(Batch.from_model(MDP.from_arrays(P, R, gamma=0.8)))
    expected = np.linalg.solve(phi.T @ (np.eye(6) - 0.8 * P[:, 0]) @ phi, phi.T @ R[:, 0])
    np.testing.assert_allclose(agent.weights_, expected, rtol=1e-9)
    table = LSTD(OneHot(6), gamma=0.8).learn(Batch.from_model(MDP.from_arrays(P, R, gamma=0.8)))
    np.testing.assert_allclose(table.weights_, np.linalg.solve(np.eye(6) - 0.8 * P[:, 0], R[:, 0]), rtol=1e-9)


def test_at_lambda_1_it_fits_the_returns():
    """If every episode ends, the weights are those of the least squares fit to what followed (Boyan 2002)."""
    rng = np.random.default_rng(2)
    lengths = rng.integers(1, 9, size=30)
    n = int(lengths.sum())
    state, reward = rng.integers(5, size=n), rng.normal(size=n)
    first = np.zeros(n, dtype=bool)
    first[np.cumsum([0, *lengths[:-1]])] = True
    ended = np.append(first[1:], True)
    returns = np.zeros(n + 1)
    for i in reversed(range(n)):
        returns[i] = reward[i] + (0.0 if ended[i] else 0.9 * returns[i + 1])
    batch = Batch.from_arrays(state, np.zeros(n, dtype=int), reward, np.append(state[1:], 0), ended, first=first)
    phi = rng.normal(size=(5, 3))
    found = LSTD(Lookup(phi), gamma=0.9, lambda_=1.0).learn(batch).weights_
    np.testing.assert_allclose(found, np.linalg.lstsq(phi[state], returns[:n], rcond=None)[0], rtol=1e-8)


def test_it_is_what_the_formula_of_sherman_and_morrison_adds_up_to(walks):
    """Recursive least squares, one transition after the other, from A = ridge I."""
    phi = np.random.default_rng(4).normal(size=(7, 4))
    inverse, b = np.eye(4) / 0.1, np.zeros(4)
    for i in range(len(walks)):
        before = phi[int(walks.observation[i, 0])]
        step = before - 0.9 * (not walks.terminated[i]) * phi[int(walks.next_observation[i, 0])]
        left, right = inverse @ before, step @ inverse
        inverse -= np.outer(left, right) / (1.0 + step @ left)
        b += walks.reward[i] * before
    np.testing.assert_allclose(LSTD(Lookup(phi), gamma=0.9, ridge=0.1).learn(walks).weights_, inverse @ b, rtol=1e-7)


@pytest.mark.parametrize("lambda_", [0.0, 0.7])
def test_batches_add_up(walks, lambda_, monkeypatch):
    phi = np.random.default_rng(5).normal(size=(7, 4))
    whole = LSTD(Lookup(phi), gamma=0.9, lambda_=lambda_).learn(walks)
    middle = int(np.flatnonzero(walks.first)[20])
    parts = [walks.take(np.arange(middle)), walks.take(np.arange(middle, len(walks)))]
    halves = LSTD(Lookup(phi), gamma=0.9, lambda_=lambda_).learn(parts[0]).learn(parts[1])
    np.testing.assert_allclose(halves.weights_, whole.weights_, rtol=1e-9)
    monkeypatch.setattr("rlsuite.approximation.batch.lspi.CHUNK", 5)
    small = LSTD(Lookup(phi), gamma=0.9, lambda_=lambda_).learn(walks)
    np.testing.assert_allclose(small.weights_, whole.weights_, rtol=1e-9)


@pytest.mark.parametrize("lambda_", [0.0, 0.5])
def test_sparse_features_are_the_same_as_dense(walks, lambda_):
    table = LSTD(OneHot(7), gamma=0.9, lambda_=lambda_).learn(walks)
    dense = LSTD(Lookup(np.eye(7)), gamma=0.9, lambda_=lambda_).learn(walks)
    np.testing.assert_allclose(table.value(np.arange(7)[:, None]), dense.value(np.arange(7)[:, None]), rtol=1e-9)


def test_dependent_features_have_values_all_the_same(walks):
    """Two tables beside each other, and a feature that is never active."""
    twice = np.hstack([np.eye(7), np.eye(7), np.zeros((7, 1))])
    found = LSTD(Lookup(twice), gamma=0.9).learn(walks)
    once = LSTD(OneHot(7), gamma=0.9).learn(walks)
    np.testing.assert_allclose(found.value(walks.observation), once.value(walks.observation), rtol=1e-8)
    assert found.weights_[-1] == 0.0


# ------------------------------------------------------------------------------------------------------- LSPI


@pytest.mark.slow
def test_lspi_reaches_the_optimum(model, solved):
    agent = LSPI(OneHot(model.n_states), gamma=model.gamma).learn(Batch.from_model(model))
    assert agent.converged_
    assert agent.changes_[-1] == 0
    states = np.flatnonzero(model.legal.any(axis=1))
    legal = model.legal[states]
    np.testing.assert_allclose(agent.q(states[:, None])[legal], solved[states][legal], atol=1e-9)
    np.testing.assert_allclose(agent.value(states[:, None]), solved[states].max(axis=1), atol=1e-9)


def chain(n, paid):
    """The chain of Koller and Parr: both ways, a slip of 0.1, rewards in some states."""
    s = np.arange(n)
    P = np.zeros((n, 2, n))
    for action, way in enumerate((-1, 1)):
        P[s, action, np.clip(s + way, 0, n - 1)] += 0.9
        P[s, action, np.clip(s - way, 0, n - 1)] += 0.1
    return MDP.from_arrays(P, np.isin(s, paid).astype(float), gamma=0.9)


def way(agent, n):
    return "".join("LR"[a] for a in agent.policy(np.arange(n)[:, None]))


def test_the_chain_of_four():
    """Lagoudakis & Parr 2003, section 9.1: with 1, s, s^2, LSPI finds RRLL, which others miss.

    From their 50 samples it does so for 93 of 100 seeds, and from 100 for all of them.
    """
    mdp = chain(4, [1, 2])
    batches = [Batch.collect(mdp.to_env(), steps=100, seed=seed) for seed in range(10)]
    agents = [LSPI(PolynomialFeatures(2), gamma=0.9).learn(batch) for batch in (*batches, Batch.from_model(mdp))]
    assert {way(agent, 4) for agent in agents} == {"RRLL"}
    assert max(len(agent.changes_) for agent in agents) <= 5


def test_the_chain_of_twenty():
    """The same section: a polynomial of degree 4 in the state, 5000 samples, optimal after at most 8 policies."""
    batch = Batch.collect(chain(20, [0, 19]).to_env(), steps=5_000, seed=1)
    agent = LSPI(PolynomialFeatures(4), gamma=0.9).learn(batch)
    assert way(agent, 20) == "L" * 10 + "R" * 10
    assert len(agent.changes_) <= 8


def test_the_chain_of_fifty(optimum):
    """The same section: ten bumps and a constant, 10,000 samples, a policy that is hardly worse than the best one."""
    mdp = chain(50, [9, 40])
    bumps = np.exp(-((np.arange(50.0)[:, None] - np.linspace(0.0, 49.0, 10)) ** 2) / (2 * 4.0**2))
    table = np.column_stack([np.ones(50), bumps])
    agent = LSPI(Lookup(table), gamma=0.9).learn(Batch.collect(mdp.to_env(), steps=10_000, seed=1))
    policy = agent.policy(np.arange(50)[:, None])
    value = reference.policy_evaluation(*reference.arrays(mdp), 0.9, np.eye(mdp.n_actions)[policy])
    best = optimum(mdp).max(axis=1)
    assert (best - value).max() < 0.05 * best.max()


def test_it_goes_on_where_it_stopped():
    batch = Batch.from_model(chain(20, [0, 19]))
    agent = LSPI(OneHot(20), gamma=0.9, iterations=1)
    with pytest.warns(ConvergenceWarning, match="the policy still changes at .* of .* observations after 1 rounds"):
        agent.learn(batch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        while not agent.converged_:
            agent.learn(batch)
    whole = LSPI(OneHot(20), gamma=0.9).learn(batch)
    assert agent.changes_ == whole.changes_
    np.testing.assert_allclose(agent.weights_, whole.weights_, rtol=1e-9)


def test_lspi_with_tiles_over_real_numbers():
    """Dependent sparse features: the tiles of each tiling add up to 1."""
    rng = np.random.default_rng(6)
    x = rng.uniform(0.0, 1.0, size=(600, 1))
    action = rng.integers(2, size=600)
    ahead = np.clip(x + np.where(action == 1, 0.15, -0.15)[:, None], 0.0, 1.0)
    batch = Batch.from_arrays(x, action, (ahead[:, 0] > 0.9).astype(float), ahead, np.zeros(600, dtype=bool))
    agent = LSPI(TileCoding(n_tilings=4, bins=5, low=0.0, high=1.0), gamma=0.9).learn(batch)
    assert agent.policy([[0.1], [0.4], [0.8]]).tolist() == [1, 1, 1]
    assert agent.value([[0.95]])[0] == pytest.approx(10.0, abs=0.5)


# ------------------------------------------------------------------------------------------------------- doors


def test_systems_large_and_sparse(monkeypatch):
    rng = np.random.default_rng(7)
    A, b = np.eye(30) + 0.1 * rng.normal(size=(30, 30)), rng.normal(size=30)
    A[:, 3] = A[3] = 0.0
    b[3] = 0.0
    expected = lspi.solve(A, b, 0.0, "LSTD")
    np.testing.assert_allclose(A @ expected, b, atol=1e-10)
    assert expected[3] == 0.0
    monkeypatch.setattr(lspi, "SMALL", 5)
    np.testing.assert_allclose(lspi.solve(csr_array(A), b, 0.0, "LSTD"), expected, rtol=1e-9)
    twins = csr_array(np.kron(np.ones((2, 2)), A))
    halves = lspi.solve(twins, np.tile(b, 2), 0.0, "LSTD")
    np.testing.assert_allclose(halves, np.tile(expected, 2) / 2, rtol=1e-8)
    monkeypatch.setattr(lspi, "LARGE", 20)
    with pytest.raises(LearningError, match="the 58 features are linearly dependent; give a small ridge"):
        lspi.solve(twins, np.tile(b, 2), 0.0, "LSTD")


def test_equations_that_contradict_each_other_keep_the_last_weights():
    phi = np.array([[1.0], [2.0]])
    agent = LSTD(Lookup(phi), gamma=0.5).learn(Batch.from_arrays([0], [0], [1.0], [1], [True]))
    before = agent.weights_.copy()
    # 1 - gamma * 2 = 0: from state 0 to state 1, of twice the value, with a reward that cannot be
    lone = Batch.from_arrays([0], [0], [1.0], [1], [False])
    with pytest.raises(LearningError, match=r"TD fixed point have no solution.*try ridge=1e-06"):
        LSTD(Lookup(phi), gamma=0.5).learn(lone)
    with pytest.raises(LearningError, match="or their solution are not finite"), np.errstate(over="ignore"):
        agent.learn(Batch.from_arrays([0], [0], [1e308], [0], [True], weight=[1e308]))
    np.testing.assert_array_equal(agent.weights_, before)


@pytest.mark.parametrize("kind", [LSTD, LSPI])
def test_what_is_wrong_is_named(kind, walks):
    name = kind.__name__
    for wrong, message in (({"gamma": 1.5}, "gamma=1.5"), ({"ridge": -1.0}, "ridge=-1 is negative")):
        with pytest.raises(ParameterError, match=message):
            kind(**wrong)
    with pytest.raises(ParameterError, match=f"{name}.learn takes a Batch, not a str"):
        kind().learn("CartPole-v1")
    with pytest.raises(NotLearned, match=f"this {name} has not learned yet"):
        kind().value([[0.0]])
    learned = kind(OneHot(7), gamma=0.9).learn(walks)
    with pytest.raises(ParameterError, match="observations of 1 numbers, and these have 2"):
        learned.value([[0.0, 1.0]])
    with pytest.raises(ParameterError, match=r"features='tiles' is a name, .* features=TileCoding\(\)"):
        kind("tiles").learn(walks)
    if kind is LSPI:
        with pytest.raises(ParameterError, match=r"no transition with action 1 \(of 0..1\)"):
            LSPI().learn(Batch.from_arrays([0.0], [0], [1.0], [1.0], [False], n_actions=2))
        with pytest.raises(NotLearned):
            LSPI().act(0)
