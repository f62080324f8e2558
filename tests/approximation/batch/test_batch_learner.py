"""Batch methods as agents: they collect, learn, are evaluated, go on, and are kept in files as every agent is."""

import copy
import functools
import pickle
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeRegressor

import rlsuite as rl
import rlsuite_envs
from rlsuite.approximation import LSPI, LSTD, Batch, ClassifierPolicy, FittedQ, FittedValueIteration
from rlsuite.errors import FileError, NotLearned, ParameterError, StateNumberWarning, UnsuitableEnvironment
from rlsuite.experiments import Experiment
from rlsuite.features import OneHot, RadialBasis
from rlsuite.registry import learner_classes

GRID = "rlsuite/GridGoal-v0"
assert rlsuite_envs
LEARNERS = {
    "FittedQ": FittedQ(DecisionTreeRegressor(), gamma=0.9),
    "random trees": FittedQ(ExtraTreesRegressor(3), gamma=0.9, iterations=5),
    "FittedValueIteration": FittedValueIteration(DecisionTreeRegressor(), gamma=0.9),
    "LSPI": LSPI(OneHot(), gamma=0.9),
    "LSTD": LSTD(OneHot(), gamma=0.9),
    "ClassifierPolicy": ClassifierPolicy(GaussianNB(), gamma=0.9),
}
CELLS = functools.partial(rl.find_env, GRID, observe="cell")
STATES = np.arange(6.0)[:, None]


def learned(learner):
    """What it has learned, as numbers."""
    if isinstance(learner, ClassifierPolicy):
        return learner.predict(STATES).tobytes()
    return learner.value(STATES).tobytes()


@pytest.fixture(params=LEARNERS)
def learner(request):
    return copy.deepcopy(LEARNERS[request.param])


def test_an_environment_gives_what_its_batch_gives(learner):
    learner.learn(GRID, steps=600, seed=3)
    behaviour = learner._behaviour(learner._experience)
    batch = learner.usable(Batch.collect(GRID, steps=600, seed=3, policy=behaviour))
    assert learned(learner) == learned(replace(learner).learn(batch, seed=3))


def test_two_halves_give_the_whole_and_a_file_goes_on(learner, tmp_path):
    whole = replace(learner).learn(GRID, steps=600, seed=3, record_every=100)
    learner.learn(GRID, steps=250, seed=3, record_every=50)
    learner.save(tmp_path / "half.npz")
    again = rl.load(tmp_path / "half.npz")
    assert learned(again) == learned(learner)
    assert repr(again) == repr(learner)
    for half in (learner, again):
        half.learn(GRID, steps=350, record_every=50)
        assert learned(half) == learned(whole)
        assert half.record_.cumulative_reward[-1] == whole.record_.cumulative_reward[-1]
        assert half.record_.time[-1] == 600
    assert learner.episodes_.tobytes() == whole.episodes_.tobytes()


@pytest.mark.slow
def test_many_seeds_are_many_runs_with_intervals_and_the_optimum(learner):
    results = rl.train(learner, GRID, steps=600, seeds=3, evaluate_every=300, workers=2)
    assert results.stacked("evaluation").shape == (3, 2)
    for seed, record in enumerate(results.records):
        alone = replace(learner).learn(GRID, steps=600, seed=seed, evaluate_every=300, regret=True).record_
        assert alone.evaluation.tobytes() == record.evaluation.tobytes()
        assert alone.episode_return.tobytes() == record.episode_return.tobytes()
        assert record.optimal_value == pytest.approx(81.0)
        assert record.evaluation_time.tolist() == [300, 600]
    wanted = 49.09678578 if isinstance(learner, LSTD) else 81.0
    if not isinstance(learner, ClassifierPolicy):
        assert results.records[0].evaluation[-1] == pytest.approx(wanted)


def test_cells_have_the_model_of_the_environment_below():
    env = CELLS()
    cells = rl.VectorObservation.coordinates(rl.find_env(GRID)).vectors
    for one in (*LEARNERS.values(), FittedQ(one_per_action=False, gamma=0.9, behaviour="optimal")):
        agent = replace(one, **({} if not isinstance(one, LSPI | LSTD) else {"features": RadialBasis(centres=4)}))
        record = agent.learn(env, steps=400, seed=3, evaluate_every=400, regret=True).record_
        assert record.optimal_value == pytest.approx(81.0)
        if not isinstance(agent, LSTD):
            model = rl.MDP.from_env(GRID, gamma=0.9)
            policy = [
                agent.act(place, legal) if legal.any() else -1 for place, legal in zip(cells, model.legal, strict=True)
            ]
            assert record.evaluation[0] == model.start @ rl.evaluate_policy(model, policy)
        assert record.follows == isinstance(agent, LSTD), "it predicts the values of the policy that collects"
    with pytest.raises(ParameterError, match=r"observation \[9.0, 9.0\] is not one of a state of rlsuite/GridGoal-v0"):
        FittedValueIteration(gamma=0.9).learn(env, steps=400, seed=3).act([9, 9])
    alike = rl.VectorObservation(rl.find_env(GRID), np.zeros((6, 1)))
    with pytest.raises(UnsuitableEnvironment, match=r"shows states 0 and 1 alike, as \[0\.0\]"):
        FittedQ(behaviour="optimal").learn(alike, steps=50, seed=1)


def test_copies_are_independent(learner):
    learner.learn(GRID, steps=400, seed=1)
    before = learned(learner)
    for twin in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        assert learned(twin) == before
        twin.learn(GRID, steps=500, seed=2)
    assert learned(learner) == before


def test_episodes_are_a_length_too():
    agent = FittedQ(gamma=0.9).learn(GRID, episodes=40, seed=1, evaluate_every=20)
    assert agent.record_.evaluation_time.tolist() == [20, 40]
    assert agent.episodes_["return"].tolist() == [100.0] * 40


def test_observations_of_numbers_are_evaluated_by_episodes():
    agent = FittedQ(iterations=3).learn("CartPole-v1", steps=300, seed=1, evaluate_every=300, regret=True)
    assert agent.record_.evaluation_return[0] > 8.0
    assert agent.record_.optimal_value is None


@pytest.mark.slow
def test_what_cannot_be_learned_from_yet_is_evaluated_as_random_actions():
    agent = FittedQ(gamma=0.9).learn(GRID, steps=300, seed=1, evaluate_every=1)
    assert agent.record_.evaluation[0] == pytest.approx(49.09678578)
    with pytest.raises(ParameterError, match="no transition with action"):
        FittedQ().learn(GRID, steps=1, seed=1)


def test_a_saved_agent_is_cloned(tmp_path):
    rl.QLearning(gamma=0.9).learn(GRID, steps=5_000, seed=1).save(tmp_path / "teacher.npz")
    clone = ClassifierPolicy(behaviour=str(tmp_path / "teacher.npz"), gamma=0.9).learn(GRID, steps=200, seed=1)
    assert clone.act(0) in (1, 2)


def test_experiments_take_them(tmp_path):
    file = tmp_path / "fitted.toml"
    file.write_text(
        "steps = 500\nseeds = 2\nevaluate_every = 250\n"
        f'[[environments]]\nid = "{GRID}"\n'
        '[[agents]]\nname = "fitted-q"\ngamma = 0.9\n'
        'regressor = { name = "sklearn.tree:DecisionTreeRegressor", max_depth = 5 }\n'
        '[[agents]]\nname = "LSPI"\ngamma = 0.9\nfeatures = "one-hot"\n'
        '[[agents]]\nname = "QLearning"\ngamma = 0.9\n'
    )
    experiment = Experiment.read(file)
    results = experiment.run(tmp_path / "results", workers=2)[GRID]
    assert [one.agent for one in results] == ["FittedQ", "LSPI", "QLearning"]
    assert results[0].records[1].evaluation[-1] == pytest.approx(81.0)
    again = Experiment.read(file).run(tmp_path / "results")[GRID]
    assert again[0].records[1].evaluation.tobytes() == results[0].records[1].evaluation.tobytes()


def test_the_registry_finds_them_all():
    found = learner_classes()
    assert {type(one).__name__ for one in LEARNERS.values()} < found.keys()
    assert found["FittedQ"].defaults()["regressor"] == {"name": "sklearn.tree:DecisionTreeRegressor"}
    assert not {"BatchAgent", "BatchLearner", "FittedIteration"} & found.keys()


def test_mistakes_are_answered(tmp_path):
    with pytest.raises(ParameterError, match="is for an environment; a batch is learned from as it is"):
        FittedQ().learn(Batch.collect(GRID, steps=50, seed=1), steps=5)
    with pytest.raises(ParameterError, match=r"FittedQ\.learn takes a Batch"):
        FittedQ().learn(GRID)
    with pytest.raises(ParameterError, match="unknown behaviour 'optimall'; did you mean 'optimal'"):
        FittedQ(behaviour="optimall")
    with pytest.raises(UnsuitableEnvironment, match="behaviour='optimal' needs a model"):
        ClassifierPolicy().learn("CartPole-v1", steps=10, seed=1)
    with pytest.raises(NotLearned, match="LSTD takes no actions of its own"):
        LSTD().act(0)
    with pytest.raises(NotLearned, match="has not learned yet"):
        FittedQ().save(tmp_path / "none.npz")
    with pytest.raises(ParameterError, match=r"features: FunctionTransformer\.func: function has no plain description"):
        LSTD(FunctionTransformer(lambda x: x)).learn(CELLS(), steps=50, seed=1).save(tmp_path / "none.npz")
    collected = Batch.collect(GRID, steps=50, seed=1)
    for source, length in ((GRID, {"steps": 50}), (collected, {}), (Batch.join([collected.take(range(40))]), {})):
        with pytest.warns(StateNumberWarning, match=r'RadialBasis takes states with near numbers .*observe="cell"'):
            LSPI(RadialBasis(), gamma=0.9).learn(source, **length, seed=1)
    with pytest.raises(ParameterError, match=r"write features=Chain\(\[\.\.\.\]\) for maps one after the other"):
        LSPI([RadialBasis()])


def test_observations_outside_are_counted_with_many_seeds():
    """Random actions stay near the start; the greedy policy walks away from it, and out of what was seen."""

    class Line(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.x = self.t = 0
            return np.array([0.0]), {}

        def step(self, action):
            self.x, self.t = self.x + 2 * action - 1, self.t + 1
            return np.array([float(self.x)]), float(action), False, self.t >= 40, {}

    agent, run = FittedQ(gamma=0.9, iterations=3), {"steps": 200, "evaluate_every": 200}
    counts = [record.outside for record in rl.train(agent, Line(), **run, seeds=2, workers=1).records]
    assert min(counts) > 100
    assert counts == [replace(agent).learn(Line(), **run, seed=seed).outside_ for seed in range(2)]


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "agent.npz"
    FittedQ(gamma=0.9).learn(GRID, steps=200, seed=1).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    for damage in ({"batch.0.reward": np.full(200, np.nan)}, {"batch.0.action": np.full(200, 9)}):
        np.savez(path, **{**arrays, **damage})
        with pytest.raises(FileError):
            rl.load(path)
    del arrays["batch.0.reward"]
    np.savez(path, **arrays)
    with pytest.raises(FileError):
        rl.load(path)


@pytest.mark.parametrize("learner", [LSPI(OneHot()), FittedQ(DecisionTreeRegressor(), features=OneHot())])
def test_ids_that_the_batch_has_not_seen_have_features(learner):
    """Random actions seldom bring a taxi to the last of its 500 states."""
    batch = Batch.collect("Taxi-v4", steps=400, seed=1)
    assert max(batch.observation.max(), batch.next_observation.max()) < 499
    assert 0 <= learner.learn(batch).act(499) < 6
