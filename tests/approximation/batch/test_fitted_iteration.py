"""Fitted iteration: exact with exact features, the same as its definition, and never worse for having diverged."""

import copy
import pickle
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rlsuite.approximation.batch import (
    LSTD,
    Batch,
    FittedQ,
    FittedValueIteration,
    LocallyWeightedRegression,
    episode_of,
)
from rlsuite.environments.finding import find_env
from rlsuite.errors import DivergenceWarning, LearningError, NotLearned, OutsideWarning, ParameterError
from rlsuite.features import OneHot, RadialBasis
from rlsuite.models import MDP

pytestmark = pytest.mark.arithmetic

TABLE = LinearRegression(fit_intercept=False)
"""With one-hot features, this is a table."""


def legal_rows(model, found, solved):
    """What was learned of legal actions, and what is right: two flat arrays."""
    return found[model.legal], solved[model.legal]


@pytest.mark.cases("(ring|gamble|corridor|0)-.*")
@pytest.mark.parametrize("one_per_action", [True, False])
def test_fitted_q_reaches_the_optimum(model, solved, one_per_action):
    regressor = TABLE if one_per_action else DecisionTreeRegressor()
    features = OneHot(model.n_states) if one_per_action else None
    agent = FittedQ(
        regressor, gamma=model.gamma, iterations=300, features=features, one_per_action=one_per_action, tol=1e-7
    ).learn(Batch.from_model(model), seed=1)
    assert agent.converged_
    found, right = legal_rows(model, agent.q(np.arange(model.n_states)[:, None]), solved)
    bound = 1.0 / (1.0 - model.gamma) * agent.errors_[-1]
    assert np.abs(found - right).max() <= bound + 1e-9 <= 2e-6
    leads_on = model.legal.any(axis=1)
    states = np.flatnonzero(leads_on)
    np.testing.assert_allclose(agent.value(states[:, None]), solved[leads_on].max(axis=1), atol=2e-6)
    best = solved[leads_on] >= solved[leads_on].max(axis=1, keepdims=True) - 1e-5
    assert best[np.arange(states.size), agent.policy(states[:, None])].all()


def test_fitted_value_iteration_reaches_the_optimum(model, solved):
    agent = FittedValueIteration(
        TABLE, gamma=model.gamma, iterations=300, features=OneHot(model.n_states), tol=1e-7
    ).learn(Batch.from_model(model))
    states = np.flatnonzero(model.legal.any(axis=1))
    np.testing.assert_allclose(agent.value(states[:, None]), solved[states].max(axis=1), atol=2e-6)
    assert agent.converged_


@pytest.fixture(scope="module")
def walk():
    """Transitions of a random walk on a line, which ends beyond 1 and pays what it leaves behind."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.0, 1.0, size=(200, 1))
    action = rng.integers(2, size=200)
    ahead = x + np.where(action == 1, 0.3, -0.3)[:, None] + rng.normal(scale=0.05, size=(200, 1))
    return Batch.from_arrays(x, action, -np.abs(x[:, 0]), ahead, np.abs(ahead[:, 0]) > 1.0)


@pytest.mark.parametrize("one_per_action", [True, False])
def test_each_round_fits_the_targets_of_the_definition(walk, one_per_action):
    def fitted(target):
        if one_per_action:
            chosen = [walk.action == a for a in (0, 1)]
            return [KNeighborsRegressor(3).fit(walk.observation[rows], target[rows]) for rows in chosen]
        return KNeighborsRegressor(3).fit(np.column_stack([walk.observation, np.eye(2)[walk.action]]), target)

    def values(found, x):
        if one_per_action:
            return np.column_stack([found[a].predict(x) for a in (0, 1)])
        return np.column_stack(
            [found.predict(np.column_stack([x, np.tile(np.eye(2)[a], (len(x), 1))])) for a in (0, 1)]
        )

    q = None
    target = walk.reward.copy()
    changes = []
    for _ in range(6):
        q = fitted(target)
        ahead = np.where(walk.terminated, 0.0, values(q, walk.next_observation).max(axis=1))
        changes.append(np.abs(walk.reward + 0.9 * ahead - target).max())
        target = walk.reward + 0.9 * ahead
    agent = FittedQ(KNeighborsRegressor(3), gamma=0.9, iterations=6, one_per_action=one_per_action).learn(walk)
    np.testing.assert_allclose(agent.q(walk.observation), values(q, walk.observation), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(agent.errors_, changes, rtol=1e-9, atol=1e-12)
    assert len(agent.regressors_) == (2 if one_per_action else 1)


def test_learning_goes_on(walk):
    whole = FittedQ(KNeighborsRegressor(3), gamma=0.9, iterations=6).learn(walk)
    halves = FittedQ(KNeighborsRegressor(3), gamma=0.9, iterations=3).learn(walk).learn(walk)
    np.testing.assert_array_equal(whole.q(walk.observation), halves.q(walk.observation))
    np.testing.assert_array_equal(whole.errors_, halves.errors_)


@pytest.mark.slow
def test_the_seed_decides(walk):
    def q(seed, **options):
        agent = FittedQ(ExtraTreesRegressor(5, **options), gamma=0.9, iterations=3)
        return agent.learn(walk, seed=seed).q(walk.observation)

    state = np.random.get_state()[1].copy()  # noqa: NPY002 - to see that nobody has touched it
    np.testing.assert_array_equal(q(1), q(1))
    assert not np.array_equal(q(1), q(2))
    np.testing.assert_array_equal(q(1, random_state=4), q(2, random_state=4))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    inner = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=[4], max_iter=2000))
    twice = [FittedQ(inner, gamma=0.5, iterations=1).learn(walk, seed=1).q([[0.3]]) for _ in range(2)]
    np.testing.assert_array_equal(*twice)


@pytest.mark.slow
def test_any_regressor_and_any_features_will_do(walk):
    class Middle(RegressorMixin, BaseEstimator):
        """A regressor of somebody else: the mean of all targets, in a column."""

        def fit(self, X, y):
            self.mean_ = y.mean()
            return self

        def predict(self, X):
            return np.full((len(X), 1), self.mean_)

    assert FittedQ(Middle(), gamma=0.0).learn(walk).q([[0.0], [1.0]]).shape == (2, 2)
    model = MDP.from_env("FrozenLake-v1", gamma=0.9)
    encoder = OneHotEncoder(categories=[np.arange(16)], handle_unknown="ignore")  # gives sparse matrices
    batch = Batch.from_model(model)
    ours = FittedQ(TABLE, gamma=0.9, iterations=20, features=OneHot(16)).learn(batch).q(batch.observation)
    theirs = FittedQ(TABLE, gamma=0.9, iterations=20, features=encoder).learn(batch).q(batch.observation)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    joint = FittedQ(DecisionTreeRegressor(), gamma=0.9, iterations=20, features=encoder, one_per_action=False)
    np.testing.assert_allclose(joint.learn(batch, seed=1).q(batch.observation), ours, atol=1e-9)
    in_pipeline = make_pipeline(encoder, LinearRegression(fit_intercept=False))
    piped = FittedQ(in_pipeline, gamma=0.9, iterations=20).learn(batch).q(batch.observation)
    np.testing.assert_allclose(piped, ours, atol=1e-9)


# -------------------------------------------------------------------------------------------------- divergence


def test_a_diverging_fit_keeps_the_last_good_regressors():
    """S&B2 Example 11.1, with a reward: the weight is multiplied by 6 gamma / 5 in each round."""
    batch = Batch.from_arrays([1.0, 2.0], [0, 0], [1.0, 0.0], [2.0, 2.0], [False, False])
    agent = FittedQ(TABLE, gamma=0.99, iterations=200)
    with pytest.warns(
        DivergenceWarning, match=r"round \d+: values diverge \(they reach .* the values of round \d+ are kept"
    ):
        agent.learn(batch)
    weight = agent.regressors_[0].coef_[0]
    growth = 6 * 0.99 / 5
    rounds = len(agent.errors_)
    assert weight == pytest.approx(0.2 * (growth**rounds - 1) / (growth - 1), rel=1e-9)
    limit = 10.0 / (1 - 0.99)
    assert 2.0 * weight <= limit < 2.0 * (growth * weight + 0.2)
    assert not agent.converged_
    with pytest.warns(DivergenceWarning):
        agent.learn(batch)
    assert agent.regressors_[0].coef_[0] == weight


def test_below_the_limit_it_converges():
    batch = Batch.from_arrays([1.0, 2.0], [0, 0], [1.0, 0.0], [2.0, 2.0], [False, False])
    agent = FittedQ(TABLE, gamma=0.5, iterations=200, tol=1e-12).learn(batch)
    assert agent.converged_
    assert agent.regressors_[0].coef_[0] == pytest.approx(0.2 / (1 - 0.6), rel=1e-9)


class Broken(RegressorMixin, BaseEstimator):
    """Predicts NaN after so many fits."""

    fits = 0

    def __init__(self, good=2):
        self.good = good

    def fit(self, X, y):
        Broken.fits += 1
        self.value_ = Broken.fits if Broken.fits <= self.good else np.nan
        return self

    def predict(self, X):
        return np.full(len(X), self.value_)


def test_values_that_are_not_finite():
    batch = Batch.from_arrays([1.0, 2.0], [0, 0], [1.0, 0.0], [2.0, 2.0], [False, False])
    Broken.fits = 0
    with pytest.warns(DivergenceWarning, match="not finite"):
        agent = FittedQ(Broken(), iterations=9).learn(batch)
    assert agent.q([[1.0]]).tolist() == [[2.0]]
    assert len(agent.errors_) == 2
    for learner in (FittedQ(Broken(good=0)), FittedValueIteration(Broken(good=0))):
        with pytest.raises(LearningError, match=r"round 1: values diverge \(they are not finite"):
            learner.learn(batch)
        with pytest.raises(NotLearned, match=r"call learn\(batch\) first"):
            _ = learner.regressors_


# ------------------------------------------------------------------------------------------------------- doors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FittedQ(DecisionTreeRegressor), r"the class DecisionTreeRegressor; give an instance"),
        (lambda: FittedQ("trees"), "'trees' is a name, which command line and files take"),
        (lambda: FittedQ(DecisionTreeClassifier()), "is a classifier.*did you mean DecisionTreeRegressor"),
        (lambda: FittedQ(KMeans(3)), "KMeans is a clusterer, which predicts labels, not values"),
        (lambda: FittedQ(LogisticRegression()), "is a classifier, and values are numbers"),
        (lambda: FittedQ(TABLE, gamma=1.5), "gamma=1.5"),
        (lambda: FittedQ(TABLE, iterations=0), "iterations=0"),
        (lambda: FittedQ(TABLE, tol=-1.0), "tol=-1"),
        (lambda: FittedValueIteration(TABLE, tol=-1.0), "tol=-1"),
    ],
)
def test_wrong_parameters_are_named(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_wrong_batches_are_named(walk):
    with pytest.raises(ParameterError, match="takes a Batch, not a list"):
        FittedQ(TABLE).learn([])
    with pytest.raises(ParameterError, match=r"no transition with action 2 \(of 0..2\).*one_per_action=False"):
        FittedQ(TABLE).learn(Batch.from_arrays([0.0, 1.0], [0, 1], [1.0, 1.0], [1.0, 2.0], [False, False], n_actions=3))
    with pytest.raises(ParameterError, match="KNeighborsRegressor does not accept sample weights"):
        FittedQ(KNeighborsRegressor(1)).learn(Batch.from_model(MDP.from_env("FrozenLake-v1", gamma=0.9)))
    with pytest.raises(ParameterError, match=r"action \d was not tried at observation .* FittedQ does not"):
        FittedValueIteration(TABLE).learn(walk)
    with pytest.raises(ParameterError, match="features= is the class OneHot; give an instance"):
        FittedQ(TABLE, features=OneHot).learn(walk)
    with pytest.raises(ParameterError, match=r"FittedQ: features: PCA cannot be fitted to observations of 1 numbers: "):
        FittedQ(TABLE, features=PCA(7)).learn(walk)
    agent = FittedQ(TABLE, gamma=0.5).learn(walk)
    with pytest.raises(ParameterError, match="observations of 1 numbers, and these have 2"):
        agent.q([[1.0, 2.0]])
    with pytest.raises(ParameterError, match=r"observation\[0, 0\]=nan"):
        agent.act(float("nan"))
    with pytest.raises(ParameterError, match="has learned 2 actions, and the batch has 3"):
        agent.learn(Batch.from_arrays([0.0], [2], [1.0], [1.0], [False]))
    for early in (lambda: FittedQ(TABLE).act(0), lambda: FittedQ(TABLE).q([[0]])):
        with pytest.raises(NotLearned, match=r"this FittedQ has not learned yet; call learn\(batch\) first"):
            early()


def test_observations_outside_count_as_on_the_border_and_are_counted():
    """The range is that of the batch, which another one widens; where the space has bounds, it is these."""
    part, whole = (Batch.from_arrays([0, top], [0, 0], [0.0, top], [1, 0], [True, True]) for top in (3, 6))
    agent = FittedQ(LinearRegression(), gamma=0.5).learn(part)
    assert agent.policy([[9.0]]).tolist() == [agent.act(-1)] == [0]
    assert agent.outside_ == 2
    with pytest.warns(OutsideWarning, match=r"1 observation lies outside of the range .* \(0..3\); values are"):
        assert agent.q([[2.0], [5.0]])[:, 0].tolist() == pytest.approx([2.0, 3.0])
    assert agent.learn(whole).q([[5.0]]).item() == pytest.approx(5.0)
    assert agent.outside_ == 3
    for learner in (FittedValueIteration(LinearRegression()), LSTD(RadialBasis(centres=2))):
        with pytest.warns(OutsideWarning):
            learner.learn(part).value([[5.0]])
    ends = FittedQ(iterations=1).learn("MountainCar-v0", steps=50, seed=1)
    ends.q([[-1.2, 0.07]])
    assert ends.outside_ == 0


def test_regressors_of_ones_own_are_forgiven_or_named(walk):
    class Plain(BaseEstimator):
        def __init__(self, predicted=0.0):
            self.predicted = predicted

        def fit(self, X, y):  # and returns nothing
            self.mean_ = y.mean()

        def predict(self, X):
            return None if self.predicted is None else np.full(len(X), self.mean_)

    assert FittedQ(Plain(), gamma=0.5).learn(walk).q([[1.0]]).shape == (1, 2)
    with pytest.raises(LearningError, match=r"Plain\.predict returned nothing for \d+ samples; one number for each"):
        FittedQ(Plain(None)).learn(walk)
    huge = Batch.from_arrays([0, 1], [0, 0], [1e308, 1e308], [1, 0], [False, False])
    with pytest.raises(LearningError, match="round 1: a reward and the value that follows it have no finite sum"):
        FittedQ(gamma=0.9).learn(huge)


def test_regressors_that_refuse_are_named_and_the_last_fit_is_kept(walk):
    agent = FittedQ(KNeighborsRegressor(3), gamma=0.5, iterations=2).learn(walk)
    before = agent.q(walk.observation)
    agent.regressor = KNeighborsRegressor(500)
    with pytest.raises(LearningError, match=r"FittedQ, round 3: KNeighborsRegressor cannot predict .*n_neighbors"):
        agent.learn(walk)
    np.testing.assert_array_equal(agent.q(walk.observation), before)
    with pytest.raises(LearningError, match=r"FittedQ, round 1: Ridge cannot learn from these \d+ samples: "):
        FittedQ(Ridge(alpha="much")).learn(walk)
    one = walk.take([0])
    full = Batch.from_arrays(np.tile(one.observation, (2, 1)), [0, 1], [0.0, 1.0], [[0.1], [0.2]], [False, False])
    with pytest.raises(LearningError, match=r"FittedValueIteration, round 1: Ridge cannot learn from these 1 "):
        FittedValueIteration(Ridge(alpha="much")).learn(full)
    with pytest.raises(ParameterError, match="n_neighbors=0"):  # our own sentences are good enough
        FittedQ(LocallyWeightedRegression(0)).learn(walk)


class StrangeError(Exception):
    """An error of a library that derives it from nothing we know."""


class Strange(RegressorMixin, BaseEstimator):
    """Fails at its n-th fit or prediction of all, by an error of its own."""

    calls: ClassVar[list[str]] = []

    def __init__(self, fails_in="fit", at=1, error=StrangeError):
        self.fails_in, self.at, self.error = fails_in, at, error

    def _count(self, what):
        self.calls.append(what)
        if self.fails_in == what and self.calls.count(what) == self.at:
            raise self.error("All train targets are equal")

    def fit(self, X, y):
        self._count("fit")
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        self._count("predict")
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize(("at", "rounds"), [(1, 0), (3, 2)])
@pytest.mark.parametrize("fails_in", ["fit", "predict"])
@pytest.mark.parametrize("method", [FittedQ, FittedValueIteration])
def test_errors_of_any_class_are_named_and_the_last_round_is_kept(method, fails_in, at, rounds, monkeypatch):
    monkeypatch.setattr(Strange, "calls", [])
    batch = Batch.from_arrays([0.0, 0.0, 1.0], [0, 0, 0], [1.0, 0.0, 2.0], [1.0, 1.0, 0.0], [False, False, False])
    agent = method(Strange(fails_in, at), gamma=0.9, iterations=5)
    what = "learn from these" if fails_in == "fit" else "predict the values of"
    message = rf"^{method.__name__}, round {at}: Strange cannot {what} \d samples: StrangeError: All train targets"
    with pytest.raises(LearningError, match=message) as raised:
        agent.learn(batch, seed=0)
    assert isinstance(raised.value.__cause__, StrangeError)
    assert len(agent.errors_) == rounds
    assert not rounds or len(agent.regressors_) == 1


def test_ctrl_c_inside_a_regressor_passes(walk, monkeypatch):
    monkeypatch.setattr(Strange, "calls", [])
    with pytest.raises(KeyboardInterrupt):
        FittedQ(Strange(error=KeyboardInterrupt)).learn(walk)


def test_a_transformer_of_others_fails_by_name(walk):
    class Odd(StandardScaler):
        def transform(self, X, copy=None):
            raise StrangeError("no")

    with pytest.raises(ParameterError, match="FittedQ: features: Odd cannot transform observations of 1 numbers: Stra"):
        FittedQ(TABLE, features=Odd()).learn(walk)


def test_wrong_objects_are_shown_by_their_class():
    class Long:
        def __repr__(self):
            return "Long(" + ", ".join(f"parameter_{i}=None" for i in range(40)) + ")"

    with pytest.raises(ParameterError, match="FittedQ: the regressor Long has no fit"):
        FittedQ(Long())


def test_fit_and_predict_are_enough(walk, tmp_path):
    """An object that knows nothing of scikit-learn learns the same; only a file needs to know what it is made of."""

    class Nearest:
        def fit(self, X, y):
            self.known = KNeighborsRegressor(1).fit(X, y)
            return self

        def predict(self, X):
            return self.known.predict(X)

    given = Nearest()
    plain, known = (FittedQ(one, gamma=0.5, iterations=3).learn(walk) for one in (given, KNeighborsRegressor(1)))
    assert plain.q([[0.0], [1.0]]).tobytes() == known.q([[0.0], [1.0]]).tobytes()
    assert not vars(given), "what is given is copied"
    with pytest.raises(ParameterError, match=r"no plain description.* derived from sklearn\.base\.BaseEstimator"):
        plain.save(tmp_path / "agent.npz")


def test_frozen_features_are_left_as_they_are(walk):
    scaler = StandardScaler().fit([[0.0], [10.0]])
    agent = FittedQ(KNeighborsRegressor(1), gamma=0.5, iterations=1, features=FrozenEstimator(scaler)).learn(walk)
    np.testing.assert_array_equal(
        agent.regressors_[0]._fit_X[0], scaler.transform(walk.observation)[walk.action == 0][0]
    )
    with pytest.raises(ParameterError, match=r"features: FrozenEstimator cannot transform observations .* not fitted"):
        FittedQ(TABLE, features=FrozenEstimator(StandardScaler())).learn(walk)
    wide = FrozenEstimator(StandardScaler().fit(np.eye(3)))
    with pytest.raises(ParameterError, match="cannot transform observations of 1 numbers: X has 1 features"):
        FittedQ(TABLE, features=wide).learn(walk)


def test_act_speaks_the_language_of_the_environment():
    batch = Batch.from_arrays([0.0, 0.0], [5, 6], [1.0, 2.0], [1.0, 1.0], [True, True], first_action=5)
    agent = FittedQ(TABLE, features=OneHot(2), gamma=0.9).learn(batch)
    assert agent.act(0) == 6
    assert agent.policy([[0]]).tolist() == [1]


# ---------------------------------------------------------------------------------- locally weighted regression


def test_locally_weighted_regression_is_exact_on_a_plane():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0
    found = LocallyWeightedRegression(n_neighbors=12, ridge=0.0).fit(X, y).predict(rng.normal(size=(50, 3)))
    assert found.shape == (50,)
    fresh = rng.normal(size=(5_000, 3))
    np.testing.assert_allclose(
        LocallyWeightedRegression(12, ridge=0.0).fit(X, y).predict(fresh), fresh @ [1.0, -2.0, 0.5] + 3.0, atol=1e-5
    )


def test_locally_weighted_regression_is_its_definition():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = LocallyWeightedRegression(n_neighbors=10, ridge=0.0).fit(X, y)
    for question in rng.normal(size=(20, 2)):
        distance = np.linalg.norm(X - question, axis=1)
        near = np.argsort(distance)[:10]
        weight = np.maximum((1 - (distance[near] / distance[near].max()) ** 3) ** 3, 1e-6)
        design = np.column_stack([np.ones(10), X[near] - question]) * np.sqrt(weight)[:, None]
        fitted = np.linalg.lstsq(design, y[near] * np.sqrt(weight), rcond=None)[0]
        assert model.predict(question[None])[0] == pytest.approx(fitted[0], rel=1e-8, abs=1e-8)


def test_locally_weighted_regression_where_samples_coincide():
    X, y = np.zeros((6, 2)), np.arange(6.0)
    assert LocallyWeightedRegression(4).fit(X, y).predict([[0.0, 0.0]])[0] == pytest.approx(y[:4].mean(), abs=2.0)
    line = np.column_stack([np.arange(9.0), np.zeros(9)])
    assert LocallyWeightedRegression(5).fit(line, line[:, 0]).predict([[3.5, 1.0]])[0] == pytest.approx(3.5, abs=1e-3)
    for wrong in (LocallyWeightedRegression(0), LocallyWeightedRegression(ridge=-1.0)):
        with pytest.raises(ParameterError):
            wrong.fit(X, y)


@pytest.mark.slow
def test_trees_drive_the_car_up_the_hill():
    """Ernst, Geurts & Wehenkel 2005: extra trees find the way, first back and then up, in 19 steps or a few more."""
    states = np.random.default_rng(1).uniform([-1.0, -3.0], [1.0, 3.0], size=(800, 2))
    batch = Batch.from_dynamics("rlsuite_envs:rlsuite/CarOnTheHill-v0", states)
    agent = FittedQ(ExtraTreesRegressor(10), gamma=0.95, iterations=20).learn(batch, seed=1)
    ride = episode_of(find_env("rlsuite/CarOnTheHill-v0"), agent.act, max_steps=50)
    assert ride.total == 1.0
    assert 19 <= ride.length <= 25


def test_copies_act_alike(walk):
    agent = FittedQ(KNeighborsRegressor(3), gamma=0.9, iterations=2).learn(walk)
    for copied in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert [copied.act(x) for x in (-0.8, 0.1, 0.7)] == [agent.act(x) for x in (-0.8, 0.1, 0.7)]


class Interrupted(DecisionTreeRegressor):
    """Ctrl-C comes in the third round."""

    fits = 0

    def fit(self, X, y, **options):
        Interrupted.fits += 1
        if Interrupted.fits == 3:
            raise KeyboardInterrupt
        return super().fit(X, y, **options)


def test_ctrl_c_keeps_the_rounds_that_were_finished_and_learning_goes_on(capsys):
    mdp = MDP.from_successors([[1], [2], [3], [None]], [[-1.0], [-1.0], [-1.0], [0.0]], gamma=1.0)
    batch = Batch.from_model(mdp)
    agent = FittedQ(Interrupted(), gamma=1.0, iterations=4)
    Interrupted.fits = 0
    with pytest.raises(KeyboardInterrupt):
        agent.learn(batch, progress=True)
    assert agent.errors_.size == 2
    assert agent.q([[0], [1], [2]]).ravel().tolist() == [-2.0, -2.0, -1.0]
    agent.learn(batch)
    assert agent.converged_
    assert agent.q([[0], [1], [2]]).ravel().tolist() == [-3.0, -2.0, -1.0]
    shown = capsys.readouterr().err
    assert "FittedQ" in shown
    assert "2/4" in shown
