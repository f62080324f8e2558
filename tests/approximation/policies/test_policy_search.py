"""Perturbation search, perturbation gradient and cross-entropy method."""

import itertools
from dataclasses import replace

import gymnasium
import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import rlsuite as rl
import rlsuite_envs
from rlsuite import errors
from rlsuite.approximation.policies.linear_policy import LinearPolicy
from rlsuite.approximation.policies.policy_search import (
    CrossEntropyMethod,
    PerturbationGradient,
    PerturbationSearch,
    compared,
)
from rlsuite.core.described import describe
from rlsuite.experiments import Experiment
from rlsuite.features import OneHot
from rlsuite.registry import build_agent, learner_classes
from rlsuite.training.episodes import returns_of

pytestmark = pytest.mark.arithmetic

SEARCHES = [
    PerturbationSearch(candidates=15, episodes=3, epsilon=0.5),
    PerturbationGradient(candidates=15, episodes=3, epsilon=0.2, step_length=0.5),
    CrossEntropyMethod(candidates=15, noise=0.1),
]
TARGET = np.array([0.7, -0.4])


class Hill(gymnasium.Env):
    """One step; the reward is minus the squared distance of the action from the target, or always 1 if it is flat."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,))
    action_space = gymnasium.spaces.Box(-9.0, 9.0, (2,))

    def __init__(self, flat=False):
        self.flat = flat

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action):
        reward = 1.0 if self.flat else -float(((action - TARGET) ** 2).sum())
        return np.zeros(1, dtype=np.float32), reward, True, False, {}


class Point:
    """A policy of one's own, with continuous actions: always take the parameters."""

    def __init__(self, parameters=(0.0, 0.0)):
        self.parameters = np.array(parameters, dtype=np.float64)

    def for_env(self, env):
        return Point(np.zeros(env.action_space.shape))

    def with_parameters(self, parameters):
        return Point(parameters)

    def act(self, observation):
        return self.parameters


# ------------------------------------------------------------------------------------------------- perturbation


def test_the_best_perturbation_is_taken():
    """On a lattice of width 0.1 the search walks to the target, which is a point of it, and stays."""
    search = PerturbationSearch(policy=Point(), candidates=60, epsilon=0.1).learn(Hill(), iterations=8, seed=1)
    np.testing.assert_allclose(search.parameters_, TARGET, atol=1e-12)
    np.testing.assert_allclose(search.act(None), TARGET, atol=1e-12)
    best = search.scores_.max(axis=1)
    nearest = [-(np.maximum(np.abs(TARGET) - 0.1 * i, 0.0) ** 2).sum() for i in range(1, 9)]  # a step a time
    np.testing.assert_allclose(best, nearest, atol=1e-12)


def test_each_parameter_has_its_epsilon():
    search = PerturbationSearch(policy=Point(), candidates=3_000, epsilon=[0.5, 0.01])
    search.parameters_ = np.zeros(2)
    tried = search.propose(np.random.default_rng(5))
    shares = [[(tried[:, j] == value).mean() for value in (-e, 0.0, e)] for j, e in enumerate((0.5, 0.01))]
    np.testing.assert_allclose(shares, 1 / 3, atol=5 * np.sqrt(2 / 9 / 3_000))  # five standard errors


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-5, 5)), min_size=1, max_size=8))
def test_groups_are_compared_as_the_notes_say(candidates):
    signs, scores = np.array(candidates).T
    groups = [[score for sign, score in candidates if sign == which] for which in (-1, 0, 1)]
    if not groups[0] or not groups[2]:
        expected = 0.0
    else:
        lower, upper = np.mean(groups[0]), np.mean(groups[2])
        zero_wins = bool(groups[1]) and np.mean(groups[1]) > max(lower, upper)
        expected = 0.0 if zero_wins else upper - lower
    (found,) = compared(signs[:, None], scores.astype(np.float64))
    assert found == pytest.approx(expected, abs=1e-12)


def test_all_perturbations_give_the_gradient():
    """Scores linear in the parameters, every combination of signs once: A is 2 epsilon times their gradient."""
    signs = np.array(list(itertools.product((-1, 0, 1), repeat=4)))
    gradient = np.array([3.0, -1.0, 0.5, 0.0])
    np.testing.assert_allclose(compared(signs, 0.2 * signs @ gradient + 7.0), 2 * 0.2 * gradient, atol=1e-12)
    np.testing.assert_array_equal(compared(signs, -(signs**2).sum(axis=1).astype(float)), 0.0)  # at a top


def test_a_step_has_the_length_asked_for_and_a_plain_has_no_direction():
    search = PerturbationGradient(policy=Point(), candidates=30, epsilon=0.01, step_length=0.05)
    search.learn(Hill(), iterations=1, seed=1)
    assert np.linalg.norm(search.parameters_) == pytest.approx(0.05, abs=1e-15)
    assert search.parameters_ @ TARGET > 0.9 * 0.05 * np.linalg.norm(TARGET)
    search.learn(Hill(flat=True), iterations=3, seed=1)
    assert np.linalg.norm(search.parameters_) == pytest.approx(0.05, abs=1e-15)


def test_the_gradient_climbs_the_hill():
    search = PerturbationGradient(policy=Point(), candidates=30, epsilon=0.01, step_length=0.05)
    search.learn(Hill(), iterations=40, seed=2)
    assert np.linalg.norm(search.parameters_ - TARGET) <= 0.05  # from there on each step may lead across


# ------------------------------------------------------------------------------------------------ cross-entropy


def test_the_elite_is_that_of_a_normal_distribution():
    """Scores g.theta of standard normal theta: in the direction of g the elite share rho has the mean m = phi(z) / rho
    and the variance 1 + z m - m^2 of a truncated normal distribution; across, mean 0 and variance 1.
    """
    search = CrossEntropyMethod(candidates=40_000, elite=0.1, noise=0.25)
    search.parameters_ = np.zeros(2)
    search.begin(2)
    rng = np.random.default_rng(3)
    tried = search.propose(rng)
    search.improve(tried, 5.0 * tried[:, 0])
    z = norm.isf(0.1)
    mean = norm.pdf(z) / 0.1
    error = 5 / np.sqrt(
        4_000
    )  # five standard errors of a mean of 4,000 numbers of variance at most 1, and of variances
    np.testing.assert_allclose(search.parameters_, [mean, 0.0], atol=error)
    np.testing.assert_allclose(search.std_**2 - 0.25, [1 + z * mean - mean**2, 1.0], atol=error * np.sqrt(2))


def test_the_cloud_closes_in_on_the_target():
    search = CrossEntropyMethod(policy=Point(), candidates=50).learn(Hill(), iterations=25, seed=1)
    np.testing.assert_allclose(search.parameters_, TARGET, atol=1e-3)
    assert search.std_.max() < 1e-2
    assert search.n_elite == 10


def test_noise_keeps_the_cloud_open():
    search = CrossEntropyMethod(policy=Point(), candidates=50, noise=rl.Linear(0.5, 0.01, over=10))
    search.learn(Hill(), iterations=20, seed=1)
    assert (search.std_ >= np.sqrt(0.01)).all()
    assert (search.std_ < np.sqrt(0.02)).all()


# -------------------------------------------------------------------------------------------------- all of them


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_the_pole_stays_up(search):
    """Solved: a mean return of 475 in 100 episodes that no search has seen."""
    found = replace(search).learn("CartPole-v1", iterations=4, seed=0)
    assert returns_of("CartPole-v1", found.act, episodes=100, seed=12_345).mean() >= 475


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_same_seed_same_bytes(search):
    search = replace(search, candidates=5, episodes=1)
    whole = replace(search).learn("CartPole-v1", iterations=3, seed=5)
    parts = replace(search).learn("CartPole-v1", iterations=1, seed=5).learn("CartPole-v1", iterations=2)
    assert parts.parameters_.tobytes() == whole.parameters_.tobytes()
    assert parts.scores_.tobytes() == whole.scores_.tobytes()
    assert whole.scores_.shape == (3, 5)
    assert replace(search).learn("CartPole-v1", iterations=3, seed=6).scores_.tobytes() != whole.scores_.tobytes()


def test_workers_change_nothing():
    """In threads here, because processes have to import everything first; what they are sent is pickled elsewhere."""
    with joblib.parallel_config(backend="threading"):
        one, two = (
            CrossEntropyMethod(candidates=6, episodes=2).learn("CartPole-v1", iterations=2, seed=3, workers=workers)
            for workers in (1, 2)
        )
    assert one.scores_.tobytes() == two.scores_.tobytes()
    assert one.parameters_.tobytes() == two.parameters_.tobytes()


def test_an_environment_is_left_alone():
    env = gymnasium.make("CartPole-v1")
    before, _ = env.reset(seed=1)
    PerturbationSearch(candidates=2).learn(env, iterations=1, seed=0)
    assert env.unwrapped.state == pytest.approx(before)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PerturbationSearch(candidates=0), "candidates=0 is less than 1"),
        (lambda: PerturbationSearch(epsilon=0.0), "epsilon=0.0 is not a positive number"),
        (lambda: PerturbationSearch(epsilon=[0.1, -0.1]), "epsilon=-0.1 is not a positive number"),
        (lambda: PerturbationGradient(step_length=-1), "step_length=-1 is not a positive number"),
        (lambda: CrossEntropyMethod(elite=0.0), r"elite=0 is not in \(0, 1\]"),
        (lambda: CrossEntropyMethod(spread=0), "spread=0 is not a positive number"),
        (lambda: CrossEntropyMethod(noise=-1.0), "noise=-1.0 lies outside"),
        (lambda: CrossEntropyMethod(gamma=1.5), r"gamma=1.5 is not in \[0, 1\]"),
        (lambda: CrossEntropyMethod(policy="linear"), "policy='linear' has no for_env"),
        (
            lambda: PerturbationSearch(epsilon=[0.1] * 3).learn("CartPole-v1", iterations=1),
            "or one for each of the 8 parameters",
        ),
        (lambda: PerturbationSearch().learn("CartPole-v1", iterations=0), "iterations=0 is less than 1"),
        (lambda: PerturbationSearch().learn("CartPole-v1", iterations=1, workers=0), "workers=0 is less than 1"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(errors.ParameterError, match=message):
        make()


def test_what_cannot_be_is_said():
    search = CrossEntropyMethod(candidates=2)
    with pytest.raises(errors.NotLearned, match="call learn"):
        search.act([0.0] * 4)
    search.learn("CartPole-v1", iterations=1, seed=0)
    with pytest.raises(errors.UnsuitableEnvironment, match="has learned 8 parameters; the environment needs 6"):
        search.learn("MountainCar-v0", iterations=1, seed=0)


# -------------------------------------------------------------------------------------- as agents of every door

NOTES_GRID = "rlsuite/GridGoal-v0"
assert rlsuite_envs
AGENTS = {
    "PerturbationSearch": PerturbationSearch(gamma=0.9, candidates=6, epsilon=0.5, max_steps=20),
    "PerturbationGradient": PerturbationGradient(gamma=0.9, candidates=6, epsilon=0.5, max_steps=20),
    "CrossEntropyMethod": CrossEntropyMethod(gamma=0.9, candidates=6, max_steps=20),
}


@pytest.fixture(params=AGENTS)
def agent(request):
    return replace(AGENTS[request.param])


@pytest.mark.slow
def test_two_halves_give_the_whole_in_the_middle_of_an_iteration(agent):
    whole = replace(agent).learn(NOTES_GRID, steps=400, seed=3, record_every=10)
    agent.learn(NOTES_GRID, steps=170, seed=3, record_every=10)
    n = len(agent.scores_)
    agent.learn(NOTES_GRID, steps=230, record_every=10)
    assert n < len(whole.scores_)
    assert agent.scores_.tobytes() == whole.scores_.tobytes()
    assert agent.parameters_.tobytes() == whole.parameters_.tobytes()
    assert agent.episodes_.tobytes() == whole.episodes_.tobytes()
    assert agent.record_.cumulative_reward[-1] == whole.record_.cumulative_reward[-1]
    assert agent.record_.time[-1] == whole.record_.time[-1] == 400


@pytest.mark.slow
def test_steps_give_what_as_many_iterations_give(agent):
    by_steps = replace(agent).learn(NOTES_GRID, steps=400, seed=3)
    by_iterations = agent.learn(NOTES_GRID, iterations=len(by_steps.scores_), seed=3)
    assert by_steps.parameters_.tobytes() == by_iterations.parameters_.tobytes()
    assert by_steps.scores_.tobytes() == by_iterations.scores_.tobytes()


def test_episodes_that_fill_iterations_are_evaluated_after_them(agent):
    agent.learn(NOTES_GRID, episodes=24, seed=1, evaluate_every=12)
    assert len(agent.scores_) == 4
    assert agent.episodes_.size == 24
    last = returns_of(NOTES_GRID, agent.act, episodes=1, seed=1, gamma=0.9, max_steps=200)[0]
    assert agent.record_.evaluation[-1] == pytest.approx(last)


@pytest.mark.slow
def test_many_seeds_are_many_runs_with_the_optimum(agent):
    results = rl.train(agent, NOTES_GRID, steps=600, seeds=2, evaluate_every=300)
    for seed, record in enumerate(results.records):
        alone = replace(agent).learn(NOTES_GRID, steps=600, seed=seed, evaluate_every=300).record_
        assert alone.evaluation.tobytes() == record.evaluation.tobytes()
        assert record.optimal_value == pytest.approx(81.0)


def test_plain_data_and_back():
    search = CrossEntropyMethod(policy=LinearPolicy(features=OneHot()), noise=rl.Linear(1.0, 0.0, over=9))
    plain = describe(search)
    assert plain["policy"] == {"name": "LinearPolicy", "features": {"name": "OneHot"}, "fit_on": 1_000}
    assert describe(build_agent(plain)) == plain
    assert AGENTS.keys() < learner_classes().keys()
    assert "PolicySearch" not in learner_classes()


def test_experiments_take_them(tmp_path):
    file = tmp_path / "search.toml"
    file.write_text(
        f'steps = 300\nseeds = 2\nevaluate_every = 150\n[[environments]]\nid = "{NOTES_GRID}"\n'
        '[[agents]]\nname = "cross-entropy-method"\ngamma = 0.9\nmax_steps = 20\npolicy = { name = "LinearPolicy" }\n'
    )
    results = Experiment.read(file).run(tmp_path / "results")[NOTES_GRID][0]
    assert np.isfinite(results.stacked("evaluation")).all()


def test_a_length_is_needed(agent):
    with pytest.raises(errors.ParameterError, match="give either steps= or episodes="):
        agent.learn(NOTES_GRID)
    with pytest.raises(errors.ParameterError, match="iterations= is a length of its own"):
        agent.learn(NOTES_GRID, iterations=3, steps=5)


def test_a_file_keeps_the_policy_and_the_scores(agent, tmp_path):
    agent = replace(agent, policy=LinearPolicy(features=OneHot())).learn(NOTES_GRID, steps=300, seed=3)
    agent.save(tmp_path / "search.npz")
    again = rl.load(tmp_path / "search.npz")
    assert repr(again) == repr(agent)
    assert again.parameters_.tobytes() == agent.parameters_.tobytes()
    assert again.scores_.tobytes() == agent.scores_.tobytes()
    assert [again.act(state) for state in range(5)] == [agent.act(state) for state in range(5)]
    for search in (agent, again):
        search.learn(NOTES_GRID, steps=200, seed=4)
    assert again.parameters_.tobytes() == agent.parameters_.tobytes()


def test_a_damaged_file_is_refused(tmp_path):
    CrossEntropyMethod(max_steps=20).learn(NOTES_GRID, steps=900, seed=3).save(tmp_path / "search.npz")
    with np.load(tmp_path / "search.npz") as file:
        arrays = dict(file)
    for damage in ({"policy.weights": np.zeros((2, 2))}, {"scores": np.zeros((1, 3))}, {"spread": np.full(24, np.nan)}):
        np.savez(tmp_path / "search.npz", **{**arrays, **damage})
        with pytest.raises(errors.FileError):
            rl.load(tmp_path / "search.npz")
