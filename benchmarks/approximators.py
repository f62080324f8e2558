"""Every regressor and classifier of the lecture notes on the car on the hill: the tables of docs/approximators.md.

Run as ``python benchmarks/approximators.py``; it takes some minutes on one core. Scores are mean returns (discounted by
0.95) from the 289 states that Ernst, Geurts & Wehenkel (2005) start in: the mean of three batches, and its standard
error.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation import Batch, ClassifierPolicy, FittedQ, LocallyWeightedRegression, RadialBasis
from rlsuite.environments.facts import dynamics_of
from rlsuite.errors import DivergenceWarning

ENV = "rlsuite/CarOnTheHill-v0"
GAMMA = 0.95
ROUNDS = 25
STATES = 600
SEEDS = (11, 12, 13)
LOW, HIGH = (-1.0, -3.0), (1.0, 3.0)
STARTS = np.array([(position, speed) for position in np.linspace(-1, 1, 17) for speed in np.linspace(-3, 3, 17)])

Policy = Callable[[NDArray[np.float64]], NDArray[np.int64]]


class Row(NamedTuple):
    """One line of a table."""

    notes: str
    """The topic in the lecture notes."""
    name: str
    estimator: Any
    features: Any = None


RBFS = RadialBasis([9, 9], low=LOW, high=HIGH)
PAIR = [("neighbours", KNeighborsRegressor(5)), ("tree", DecisionTreeRegressor())]

REGRESSORS = (
    Row("linear models", "least squares", LinearRegression()),
    Row("linear models, basis functions", "least squares on 81 RBFs", LinearRegression(), RBFS),
    Row("basis functions, regularisation", "ridge on 81 RBFs", Ridge(0.1), RBFS),
    Row("kernels", "kernel ridge", KernelRidge(alpha=0.1, kernel="rbf", gamma=4.0), StandardScaler()),
    Row("kernels, margins", "support vectors", SVR(C=10.0, gamma=4.0, epsilon=0.02), StandardScaler()),
    Row("nearest neighbours", "5 nearest neighbours", KNeighborsRegressor(5), StandardScaler()),
    Row(
        "nearest neighbours, distances",
        "5 neighbours, by distance",
        KNeighborsRegressor(5, weights="distance"),
        StandardScaler(),
    ),
    Row(
        "nearest neighbours, linear models",
        "locally weighted",
        LocallyWeightedRegression(12, ridge=1e-2),
        StandardScaler(),
    ),
    Row("decision trees", "decision tree", DecisionTreeRegressor()),
    Row("decision trees, pruning", "pruned tree", DecisionTreeRegressor(min_samples_leaf=3)),
    Row("ensembles", "bagging", BaggingRegressor(DecisionTreeRegressor(), 20)),
    Row("ensembles", "random forest", RandomForestRegressor(20)),
    Row("ensembles", "extra trees", ExtraTreesRegressor(20)),
    Row("ensembles", "AdaBoost", AdaBoostRegressor(DecisionTreeRegressor(max_depth=8), n_estimators=20)),
    Row("ensembles", "gradient boosting", GradientBoostingRegressor(n_estimators=60, max_depth=5)),
    Row("ensembles", "stacking", StackingRegressor(PAIR, Ridge(), cv=3), StandardScaler()),
    Row(
        "neural networks",
        "neural network",
        MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=100),
        StandardScaler(),
    ),
)

CLASSIFIERS = (
    Row("Bayesian classifiers", "naive Bayes", GaussianNB()),
    Row("linear models, regularisation", "least squares", RidgeClassifier()),
    Row("probabilistic classifiers", "logistic regression", LogisticRegression()),
    Row(
        "probabilistic classifiers, basis functions",
        "logistic regression on 81 RBFs",
        LogisticRegression(C=100.0, max_iter=1_000),
        RBFS,
    ),
    Row("probabilistic classifiers, linear models", "Fisher's discriminant", LinearDiscriminantAnalysis()),
    Row("linear models", "perceptron", Perceptron()),
    Row("linear models, basis functions", "perceptron on 81 RBFs", Perceptron(), RBFS),
    Row("margins, kernels", "support vectors", SVC(C=10.0, gamma=4.0), StandardScaler()),
    Row("decision trees", "decision tree", DecisionTreeClassifier(criterion="entropy", min_samples_leaf=3)),
    Row("nearest neighbours", "5 nearest neighbours", KNeighborsClassifier(5), StandardScaler()),
    Row("ensembles", "AdaBoost", AdaBoostClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=20)),
)


def mean_return(policy: Policy) -> float:
    """Mean discounted return from all starts, at most 50 steps each; all episodes are played side by side."""
    dynamics: Any = dynamics_of(gymnasium.make(ENV))
    rng = np.random.default_rng(0)  # nothing is random
    now = STARTS.copy()
    total, running = np.zeros(len(now)), np.arange(len(now))
    for t in range(50):
        actions = policy(now[running])
        over = np.zeros(len(running), dtype=bool)
        for k, (i, action) in enumerate(zip(running, actions, strict=True)):
            now[i], reward, over[k] = dynamics.step(dynamics.constants, tuple(now[i]), int(action), rng)
            total[i] += GAMMA**t * reward
        running = running[~over]
        if not running.size:
            break
    return float(total.mean())


def batch_of(seed: int, states: int = STATES) -> Batch:
    """Both actions in random states."""
    return Batch.from_dynamics(ENV, np.random.default_rng(seed).uniform(LOW, HIGH, size=(states, 2)))


def regressors() -> Iterator[str]:
    """Yield the table of fitted Q iteration with each regressor."""
    yield "| notes | regressor | class | return |\n|---|---|---|---|"
    for row in REGRESSORS:
        found = []
        for seed in SEEDS:
            agent = FittedQ(row.estimator, gamma=GAMMA, iterations=ROUNDS, features=row.features)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always", DivergenceWarning)
                found.append(mean_return(agent.learn(batch_of(seed), seed=seed).policy))
        diverged = sum(issubclass(one.category, DivergenceWarning) for one in said)
        yield _line(row, [_score(found) + (" (diverges)" if diverged else "")])


def classifiers() -> Iterator[str]:
    """Yield the table of policies cloned with each classifier."""
    expert = FittedQ(ExtraTreesRegressor(50), gamma=GAMMA, iterations=30)
    expert.learn(batch_of(100, states=3_000), seed=100)
    yield f"The return of the policy to be cloned is {mean_return(expert.policy):.3f}.\n"
    yield "| notes | classifier | class | same action | return |\n|---|---|---|---|---|"
    for row in CLASSIFIERS:
        alike, found = [], []
        for seed in SEEDS:
            seen = np.random.default_rng(seed).uniform(LOW, HIGH, size=(2 * STATES, 2))
            classifier = row.estimator if row.features is None else make_pipeline(row.features, row.estimator)
            clone = ClassifierPolicy(classifier, seed=seed).fit(seen, expert.policy(seen))
            alike.append(clone.score(STARTS, expert.policy(STARTS)))
            found.append(mean_return(clone.predict))
        yield _line(row, [f"{100 * np.mean(alike):.0f} %", _score(found)])


def _score(found: list[float]) -> str:
    return f"{np.mean(found):.3f} ± {np.std(found, ddof=1) / len(found) ** 0.5:.3f}"


def _line(row: Row, cells: list[str]) -> str:
    return " | ".join([f"| {row.notes}", row.name, f"`{type(row.estimator).__name__}`", *cells]) + " |"


if __name__ == "__main__":
    for part in (regressors, classifiers):
        for line in part():
            print(line, flush=True)
        print()
