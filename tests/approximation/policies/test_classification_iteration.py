import copy

import gymnasium
import joblib
import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import rlsuite as rl
from rlsuite import errors
from rlsuite.approximation.policies.classification_iteration import (
    ClassificationIteration,
    Snapshot,
    try_actions,
    winners,
)
from rlsuite.environments.observation_view import encoding

pytestmark = pytest.mark.arithmetic

GAMMA = 0.8
TREE = DecisionTreeClassifier(max_depth=3)


def two_doors():
    """Cells 1 to 6 between a door that pays 0.65, on the left, and one that pays 1; one move in ten goes the other way.

    From the cells 1 and 2 the left door is the better one.
    """
    transitions, reward, terminated = np.zeros((8, 2, 8)), np.zeros((8, 2, 8)), np.zeros((8, 2, 8), dtype=bool)
    for cell in range(1, 7):
        transitions[cell, 0, [cell - 1, cell + 1]] = 0.9, 0.1
        transitions[cell, 1, [cell - 1, cell + 1]] = 0.1, 0.9
    transitions[[0, 7], :, [0, 7]] = 1.0
    reward[1:7, :, 0], reward[1:7, :, 7] = 0.65, 1.0
    terminated[:, :, [0, 7]] = True
    start = np.array([0.0, *[1 / 6] * 6, 0.0])
    return rl.MDP.from_arrays(transitions, reward, gamma=GAMMA, start=start, terminated=terminated)


@pytest.fixture(scope="module")
def doors():
    model = two_doors()
    return gymnasium.wrappers.TimeLimit(model.to_env(), 50), model


def search(**settings):
    return ClassificationIteration(
        **{"classifier": TREE, "gamma": GAMMA, "states": 30, "apart": 2, "rollouts": 20, "horizon": 25} | settings
    )


@pytest.mark.slow
def test_the_policy_becomes_optimal(doors):
    env, model = doors
    solution = rl.solve(model)
    assert solution.policy[1:7].tolist() == [0, 0, 1, 1, 1, 1]
    assert np.abs(solution.q[1:7, 0] - solution.q[1:7, 1]).min() > 0.04
    found = search().learn(env, iterations=4, seed=1)
    assert found.policy_.predict(np.arange(1, 7)[:, None]).tolist() == [0, 0, 1, 1, 1, 1]
    assert [found.act(cell) for cell in range(1, 7)] == [0, 0, 1, 1, 1, 1]
    assert found.n_examples_.shape == (4,)
    assert (found.n_examples_ <= 30).all()


@pytest.mark.slow
def test_rollouts_are_worth_the_action_values_of_the_policy(doors):
    """The policy always goes right; a linear system gives its action values. Within five standard errors in each of
    12 pairs: wrong once in 100,000 such tests.
    """
    env, model = doors
    value = rl.evaluate_policy(model, np.ones(8, dtype=np.int64))
    paid = [0.65, *GAMMA * value[1:7], 1.0]  # of arriving in a cell
    q = np.array([[0.9 * paid[i - 1] + 0.1 * paid[i + 1], 0.1 * paid[i - 1] + 0.9 * paid[i + 1]] for i in range(1, 7)])
    own, met = copy.deepcopy(env), []
    own.reset(seed=0)
    for cell in range(1, 7):
        own.unwrapped.s = cell
        met.append(Snapshot(copy.deepcopy(own), np.array([float(cell)])))

    def right(seen, legal):
        return np.ones(len(seen), dtype=np.int64)

    shown = encoding(env.observation_space)
    returns = try_actions(met, 3, np.arange(2), right, shown, 300, 50, GAMMA).returns
    error = returns.std(axis=2, ddof=1) / np.sqrt(300)
    assert (np.abs(returns.mean(axis=2) - q) < 5 * error + GAMMA**50).all()
    twice = try_actions(met, 3, np.array([1, 1]), right, shown, 5, 50, GAMMA).returns
    assert twice[:, 0].tobytes() == twice[:, 1].tobytes()  # the same action meets the same chances
    assert own.unwrapped.s == 6


def test_who_wins_is_decided_by_paired_t_tests():
    rng = np.random.default_rng(0)
    returns = rng.normal(size=(300, 3, 6)) + rng.normal(size=(300, 1, 6)) + [[[0.0], [0.5], [1.0]]]
    found = winners(returns, 0.9)
    for i in range(300):
        best = int(returns[i].mean(axis=1).argmax())
        others = [a for a in range(3) if a != best]
        clear = all(ttest_rel(returns[i, best], returns[i, a], alternative="greater").pvalue < 0.1 for a in others)
        assert found[i] == (best if clear else -1)
    assert {-1, 1, 2} <= set(found.tolist())


def test_certain_returns_need_no_test():
    assert winners(np.array([[[1.0], [2.0]], [[3.0], [3.0]]]), 0.95).tolist() == [1, -1]
    assert winners(np.array([[[1.0] * 4, [2.0] * 4], [[3.0] * 4, [3.0] * 4]]), 0.95).tolist() == [1, -1]


@pytest.mark.slow
def test_same_seed_same_bytes_for_any_number_of_workers(doors):
    env, _ = doors
    cells = np.linspace(1, 6, 50)[:, None]
    logistic = {"classifier": LogisticRegression(), "rollouts": 5}
    with joblib.parallel_config(backend="threading"):
        two = search(**logistic).learn(env, iterations=2, seed=4, workers=2)
    parts = search(**logistic).learn(env, iterations=1, seed=4).learn(env, iterations=1)
    assert parts.n_examples_.tolist() == two.n_examples_.tolist()
    assert parts.policy_.predict(cells).tobytes() == two.policy_.predict(cells).tobytes()
    assert parts.policy_.classifier_.coef_.tobytes() == two.policy_.classifier_.coef_.tobytes()


def test_nothing_to_learn_is_said():
    """All is equally good where nothing is paid."""
    model = two_doors()
    free = rl.MDP.from_successors([[1, 0], [0, 1]], np.zeros((2, 2)), gamma=GAMMA, start=0)
    env = gymnasium.wrappers.TimeLimit(free.to_env(), 5)
    with pytest.raises(errors.LearningError, match="no action was significantly better than all others in any of 30"):
        search().learn(env, iterations=1, seed=0)
    fresh = search()
    with pytest.raises(errors.NotLearned, match="call learn"):
        fresh.act(1)
    with pytest.raises(errors.UnsuitableEnvironment, match="Discrete action"):
        fresh.learn("Pendulum-v1", iterations=1)
    assert model.n_states == 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classifier": LinearRegression()}, "predicts numbers, but actions are classes"),
        ({"confidence": 0.3}, r"confidence=0.3 is not in \[0.5, 1\)"),
        ({"confidence": 1.0}, r"confidence=1 is not in \[0.5, 1\)"),
        ({"rollouts": 0}, "rollouts=0 is less than 1"),
        ({"horizon": 2.5}, "horizon=2.5 is not a whole number"),
        ({"gamma": -0.1}, r"gamma=-0.1 is not in \[0, 1\]"),
    ],
)
def test_bad_parameters_are_named(settings, message):
    with pytest.raises(errors.ParameterError, match=message):
        search(**settings)


@pytest.mark.slow
def test_it_learns_for_so_many_steps_as_every_agent_does(doors, tmp_path):
    env, _ = doors
    few = {"states": 8, "rollouts": 2, "horizon": 5, "confidence": 0.5}
    whole = search(**few).learn(env, steps=900, seed=1, evaluate_every=300, regret=True)
    assert whole.record_.evaluation.shape == (3,)
    assert whole.record_.evaluation[-1] <= whole.record_.optimal_value + 1e-9
    assert whole.n_examples_.size > 1
    assert whole.steps_ == 900
    halves = search(**few).learn(env, steps=250, seed=1).learn(env, steps=650)
    assert whole.episodes_.tobytes() == halves.episodes_.tobytes()
    assert whole.n_examples_.tolist() == halves.n_examples_.tolist()
    whole.save(tmp_path / "search.npz")
    for twin in (halves, rl.load(tmp_path / "search.npz")):
        assert [twin.act(cell) for cell in range(1, 7)] == [whole.act(cell) for cell in range(1, 7)]
    results = rl.train(search(**few), env, steps=900, seeds=[1, 2], evaluate_every=300)
    assert results.records[0].evaluation.tobytes() == whole.record_.evaluation.tobytes()
    with pytest.raises(errors.ParameterError, match="iterations= is a length of its own"):
        search().learn(env, iterations=1, steps=3)
    with pytest.raises(errors.NotLearned, match="has not learned yet"):
        search().save(tmp_path / "nothing.npz")
