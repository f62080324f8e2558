"""Illegal actions in batches: they count in no maximum, are never taken, and fill no policy."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation.batch import LSPI, Batch, FittedQ, FittedValueIteration, returns_of
from rlsuite.approximation.policies import (
    ClassificationIteration,
    ClassifierPolicy,
    CrossEntropyMethod,
    PerturbationGradient,
    PerturbationSearch,
)
from rlsuite.errors import LearningError, ParameterError
from rlsuite.features import OneHot

GRID = "rlsuite/GridGoal-v0"
"""The notes' first grid: moves out of it do not exist."""
STATES = np.arange(5)[:, None]
BEST = [81.0, 90.0, 100.0, 90.0, 100.0]


@pytest.fixture(scope="module")
def grid():
    return rl.MDP.from_env(GRID, gamma=0.9)


@pytest.fixture(scope="module", params=["collected", "model"])
def batch(request, grid):
    return Batch.from_model(grid) if request.param == "model" else Batch.collect(GRID, steps=120, seed=7)


REGRESSORS = {
    "tree": DecisionTreeRegressor(),
    "forest": ExtraTreesRegressor(n_estimators=5),
    "1-NN": KNeighborsRegressor(n_neighbors=1),
    "kernel ridge": KernelRidge(alpha=1e-9, kernel="rbf", gamma=5.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("one_per_action", [True, False])
@pytest.mark.parametrize("regressor", REGRESSORS.values(), ids=list(REGRESSORS))
def test_fitted_q_solves_the_first_grid_of_the_notes(grid, batch, regressor, one_per_action):
    agent = FittedQ(regressor, gamma=0.9, iterations=8, one_per_action=one_per_action).learn(batch, seed=1)
    np.testing.assert_allclose(agent.value(STATES), BEST, atol=1e-5)
    assert grid.legal[np.arange(5), agent.policy(STATES)].all()
    np.testing.assert_array_equal(np.isneginf(agent.q(STATES)), ~grid.legal[:5])
    np.testing.assert_allclose(returns_of(GRID, agent.act, episodes=2, seed=3, gamma=0.9), 81.0)


def test_lspi_and_fitted_value_iteration_solve_it(grid, batch):
    agent = LSPI(OneHot(6), gamma=0.9).learn(batch)
    np.testing.assert_allclose(agent.value(STATES), BEST)
    assert grid.legal[np.arange(5), agent.policy(STATES)].all()
    values = FittedValueIteration(KNeighborsRegressor(n_neighbors=1), gamma=0.9).learn(batch).value(STATES)
    np.testing.assert_allclose(values, BEST)


def test_a_masked_action_that_promises_more_is_never_counted():
    # action 1 is worth 100 where it is legal; at observation 1 it is illegal, and a constant regressor cannot know
    batch = Batch.from_arrays(
        [[0], [1], [2]],
        [0, 0, 1],
        [0.0, 1.0, 100.0],
        [[1], [1], [2]],
        [False, True, True],
        action_mask=[[1, 0], [1, 0], [0, 1]],
        next_action_mask=[[1, 0], [0, 0], [0, 0]],
    )
    agent = FittedQ(DecisionTreeRegressor(), gamma=0.5, iterations=5).learn(batch, seed=1)
    np.testing.assert_allclose(agent.q([[0], [1], [2]]), [[0.5, -np.inf], [1.0, -np.inf], [-np.inf, 100.0]])
    assert agent.policy([[0], [1], [2]]).tolist() == [0, 0, 1]
    assert (agent.act(1), agent.act(1, action_mask=[1, 1]), agent.act(9), agent.act(9, [1, 0])) == (0, 1, 1, 0)
    with pytest.raises(ParameterError, match=r"action_mask\[0\] leaves no action"):
        agent.act(1, action_mask=[0, 0])
    with pytest.raises(ParameterError, match=r"action_mask has shape \(1, 3\)"):
        agent.act(1, action_mask=[0, 1, 1])


def test_batches_keep_their_masks(tmp_path, grid):
    batch = Batch.collect(GRID, steps=30, seed=1)
    states = batch.observation[:, 0].astype(int)
    np.testing.assert_array_equal(batch.action_mask, grid.legal[states])
    np.testing.assert_array_equal(batch.next_action_mask, grid.legal[batch.next_observation[:, 0].astype(int)])
    batch.to_csv(tmp_path / "grid.csv")
    for same in (Batch.from_csv(tmp_path / "grid.csv"), Batch.join([batch.take(range(9)), batch.take(range(9, 30))])):
        np.testing.assert_array_equal(same.action_mask, batch.action_mask)
        np.testing.assert_array_equal(same.next_action_mask, batch.next_action_mask)
    every = Batch.from_arrays([[0]], [3], [0.0], [[1]], [False])
    assert Batch.join([batch, every]).action_mask[-1].all()
    with pytest.raises(ParameterError, match="masks of 4, 2 actions cannot be joined"):
        Batch.join([batch, Batch.from_arrays([[0]], [1], [0.0], [[1]], [False])])
    assert Batch.collect("Taxi-v4", steps=3, seed=1).action_mask is None  # its masks leave out what would do nothing


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ({"action_mask": [[1, 1]]}, "action_mask is given without next_action_mask"),
        ({"next_action_mask": [[1, 1]]}, "next_action_mask is given without action_mask"),
        ({"action_mask": [[1, 0], [1, 0]]}, "action_mask has shape (2, 2); for 2 actions at 3 observations it must"),
        ({"action_mask": [[1, 0], [1, 0], [0.5, 1]]}, "is not an array of 0 and 1"),
        ({"action_mask": [[1, 0], [0, 1], [0, 1]]}, "action_mask[1] forbids action 0 (counted from 0)"),
        (
            {"next_action_mask": [[1, 0], [0, 0], [0, 0]]},
            "next_action_mask[1] leaves no action, and terminated[1] is",
        ),
        ({"next_action_mask": [[1, 0, 1]] * 3}, "next_action_mask has shape (3, 3)"),
        ({"action_mask": [[1]] * 3, "next_action_mask": [[1]] * 3}, "action[2] is 1, and the actions are 0..0"),
    ],
)
def test_wrong_masks_are_named(masks, message):
    right = {"action_mask": [[1, 0], [1, 1], [0, 1]], "next_action_mask": [[1, 0], [1, 0], [0, 0]]}
    given = masks if "without" in message else {**right, **masks}
    with pytest.raises(ParameterError, match=re.escape(message)):
        Batch.from_arrays([[0], [1], [2]], [0, 0, 1], [0.0] * 3, [[1], [2], [3]], [False, False, True], **given)


def test_a_policy_that_takes_an_illegal_action_is_named():
    with pytest.raises(LearningError, match=r"returned 0 for observation 0, where .* allows 1, 2; act is told which"):
        returns_of(GRID, lambda state: 0, episodes=1)
    with pytest.raises(LearningError, match="returned 3 for observation 0"):
        Batch.collect(GRID, steps=5, policy=lambda state, action_mask=None: 3)
    first = Batch.collect(GRID, steps=5, policy=lambda state, action_mask: int(np.argmax(action_mask)), seed=1)
    assert first.action.tolist() == [1, 0, 1, 0, 1]


@pytest.mark.parametrize("classifier", [DecisionTreeClassifier(), GaussianNB(), SVC(), KNeighborsClassifier(1)])
def test_clones_take_legal_actions_only(grid, classifier):
    clone = ClassifierPolicy(classifier).imitate(rl.solve(grid))
    np.testing.assert_allclose(returns_of(GRID, clone.act, episodes=1, gamma=0.9), 81.0)
    random = ClassifierPolicy(classifier, seed=1).learn(Batch.collect(GRID, episodes=30, seed=1))
    assert grid.legal[np.arange(5), random.predict(STATES)].all()
    assert [random.act(0, mask) for mask in np.eye(4, dtype=int)] == [0, 1, 2, 3]


def test_a_clone_without_a_legal_example_takes_the_first_legal_action():
    clone = ClassifierPolicy(DecisionTreeClassifier()).fit([[0], [1]], [1, 2], action_mask=[[0, 1, 1, 0], [0, 1, 1, 0]])
    assert (clone.act(0, [1, 0, 0, 1]), clone.act(0, [0, 0, 1, 1]), clone.act(0)) == (0, 2, 1)
    with pytest.raises(ParameterError, match=r"action_mask\[1\] forbids action 2"):
        clone.fit([[0], [1]], [1, 2], action_mask=[[0, 1, 1], [0, 1, 0]])
    with pytest.raises(ParameterError, match="action_mask has 2 columns; the examples have 3 actions"):
        clone.act(0, [1, 1])


@pytest.mark.parametrize(
    "search",
    [
        PerturbationSearch(epsilon=1.0, gamma=0.9, max_steps=50),
        PerturbationGradient(epsilon=1.0, gamma=0.9, max_steps=50),
        CrossEntropyMethod(gamma=0.9, max_steps=50),
    ],
    ids=lambda search: type(search).__name__,
)
def test_searches_solve_the_first_grid_of_the_notes(search):
    search.learn(GRID, iterations=5, seed=1)
    np.testing.assert_allclose(returns_of(GRID, search.act, episodes=1, gamma=0.9), 81.0)
    assert search.act(3) in (1, 3)
    assert [search.act(2, mask) for mask in np.eye(4, dtype=int)] == [0, 1, 2, 3]
    with pytest.raises(ParameterError, match="no action is legal at observation 2"):
        search.act(2, [0, 0, 0, 0])


def test_classification_iteration_tries_legal_actions_only():
    found = ClassificationIteration(
        classifier=DecisionTreeClassifier(), gamma=0.9, states=30, rollouts=3, horizon=15, apart=1
    ).learn(GRID, iterations=3, seed=2)
    np.testing.assert_allclose(returns_of(GRID, found.act, episodes=1, gamma=0.9), 81.0)
    assert found.act(0, [0, 1, 0, 0]) == 1


class Doors(gymnasium.Env):
    """Actions 5 to 7; which of them is legal changes with time, and only that one pays."""

    def __init__(self):
        self.observation_space, self.action_space = spaces.Box(0.0, 9.0, (1,)), spaces.Discrete(3, start=5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._seen()

    def step(self, action):
        assert action == 5 + self.time % 3, "an illegal action was taken"
        self.time += 1
        return *self._seen()[:1], 1.0, self.time == 6, False, self._seen()[1]

    def _seen(self):
        return np.array([self.time], dtype=np.float32), {"action_mask": np.eye(3, dtype=np.int8)[self.time % 3]}


def test_masks_of_an_environment_without_a_table():
    batch = Batch.collect(Doors(), episodes=2, seed=1)
    assert (batch.action == np.arange(12) % 6 % 3).all()
    agent = FittedQ(KNeighborsRegressor(n_neighbors=1), gamma=1.0, iterations=7).learn(batch)
    np.testing.assert_allclose(agent.value(np.arange(6)[:, None]), [6, 5, 4, 3, 2, 1])
    clone = ClassifierPolicy(KNeighborsClassifier(1)).learn(batch)
    search = CrossEntropyMethod(candidates=4).learn(Doors(), iterations=1, seed=1)
    for policy in (agent, clone, search):
        assert returns_of(Doors(), policy.act, episodes=1).tolist() == [6.0]
