"""Features that learn from data fit themselves on the first observations of a run, whatever they are."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents.fit_features import learn_from_data, random_steps
from rlsuite.agents.values import Linear
from rlsuite.approximation import (
    LSPI,
    Chain,
    Clusters,
    MixtureResponsibilities,
    Nystroem,
    OneHot,
    PerturbationSearch,
    PrincipalComponents,
    RadialBasis,
    Scaling,
    Standardization,
    StateAggregation,
    TileCoding,
)
from rlsuite.approximation.policies import LinearPolicy
from rlsuite.environments.observation_view import encoding
from rlsuite.environments.observing import has_cells
from rlsuite.errors import LearningError, ParameterError, StateNumberWarning, UnsuitableEnvironment

MAPS = {
    "clusters": Clusters(8),
    "mixture": MixtureResponsibilities(4),
    "components": PrincipalComponents(1),
    "nystroem": Nystroem(n_components=10),
    "standardization": Standardization(),
    "chain": Chain([Scaling(), Clusters(8)]),
    "tiles": Chain([Standardization(), TileCoding(2, bins=4)]),
    "k-means": KMeans(4),
    "gaussian-mixture": GaussianMixture(3),
    "tree": DecisionTreeRegressor(max_leaf_nodes=6),
    "leaf-of-classifier": DecisionTreeClassifier(max_depth=2),
    "forest": RandomForestRegressor(3, max_depth=2),
    "classifier": LogisticRegression(),
    "scaler": StandardScaler(),
}


def cliff():
    return rl.find_env("CliffWalking-v1", observe="cell")


def sarsa(features, fit_on=200):
    return rl.Sarsa(values=Linear(features, fit_on=fit_on), learning_rate=0.01)


@pytest.mark.cases("chain", "forest")
@pytest.mark.parametrize("name", MAPS)
def test_the_same_bytes_in_both_loops_and_by_way_of_a_file(name, tmp_path):
    env, path = cliff(), tmp_path / "agent.npz"
    compiled, stepwise = (sarsa(MAPS[name]).learn(env, steps=150, seed=3, loop=loop) for loop in ("auto", "stepwise"))
    sarsa(MAPS[name]).learn(env, steps=100, seed=3).save(path)
    continued = rl.load(path).learn(env, steps=50)
    assert compiled.weights_.tobytes() == stepwise.weights_.tobytes() == continued.weights_.tobytes()
    assert compiled.values_.fitted_on == 200
    assert compiled.steps_ == 150, "observing does not count as learning"
    assert learn_from_data(MAPS[name]), "the map of the user has been fitted"
    other = sarsa(MAPS[name]).learn(env, steps=150, seed=4)
    assert other.weights_.tobytes() != compiled.weights_.tobytes()


def test_features_are_fitted_again_on_request(tmp_path):
    """To the same bytes in both loops; what was learned stays, and is read again from a file."""
    env, path = cliff(), tmp_path / "agent.npz"
    for features in (Clusters(8, seed=1), DecisionTreeRegressor(max_leaf_nodes=6)):
        agents = [sarsa(features).learn(env, steps=300, seed=3, loop=loop) for loop in ("auto", "stepwise")]
        seen = np.unique(np.argwhere(np.ones((4, 12))), axis=0)[:30]
        before, clock = agents[0].q(seen), agents[0].memory_.clock.copy()
        for agent in agents:
            assert agent.refit(seen) is agent
            assert agent.values_.fitted_on == len(seen)
            assert agent.memory_.clock.tolist() == clock.tolist()
        agents[0].save(path)
        agents.append(rl.load(path))
        after = agents[0].q(seen)
        assert np.abs(after - before).mean() < np.abs(before - before.mean(axis=0)).mean()
        for agent, loop in zip(agents, ("auto", "stepwise", "auto"), strict=True):
            agent.learn(env, steps=100, seed=5, loop=loop)
        assert len({agent.weights_.tobytes() for agent in agents}) == 1
    seen = seen[:20]
    rich = rl.ActorCritic(features=Clusters(20, seed=1)).learn(env, steps=100, seed=3)
    value, preference = rich.value(seen), rich.q(seen)
    rich.refit(seen)
    np.testing.assert_allclose(rich.value(seen), value, atol=1e-9)
    np.testing.assert_allclose(rich.q(seen), preference, atol=1e-9)
    for agent, message in (
        (rl.Sarsa(), "this Sarsa learns a table"),
        (rl.Sarsa(features=TileCoding()), "TileCoding.* cannot be fitted again: it does not learn from data"),
        (rl.Sarsa(features=Clusters(2).fit(seen)), "or was given fitted"),
    ):
        with pytest.raises(ParameterError, match=message):
            agent.learn("CliffWalking-v1" if agent.features is None else env, steps=5, seed=1).refit(seen)
    for wrong, message in (
        ([[np.nan, 0.0]], "finite"),
        ([[1.0]], "2"),
        (seen[:3], "n_clusters=8 cannot be found in 3"),
    ):
        with pytest.raises(ParameterError, match=message):
            sarsa(Clusters(8)).learn(env, steps=5, seed=1).refit(wrong)


def test_what_is_seen_at_first_are_random_actions_and_the_returns_that_follow():
    env = rl.find_env("rlsuite/RandomWalk-v0")
    seen = random_steps(env, encoding(env.observation_space), 50, seed=1)
    assert seen.observations.shape == (50, 1)
    assert set(np.unique(seen.returns)) <= {0.0, 1.0}
    again = random_steps(env, encoding(env.observation_space), 50, seed=1)
    assert seen.returns.tobytes() == again.returns.tobytes()


@pytest.mark.filterwarnings("ignore::rlsuite.errors.StepwiseWarning", "ignore::rlsuite.errors.NewRunWarning")
def test_what_lies_outside_of_what_features_were_fitted_to_is_counted(tmp_path):
    found = {}
    for name, features in (("ours", Standardization()), ("theirs", StandardScaler())):
        agent = sarsa(features, fit_on=5).learn("CartPole-v1", steps=40, seed=1)
        found[name] = agent.record_.outside
        before = agent.q([[0.0, 0.0, 9.0, 0.0], [0.0, 0.0, 10.0, 0.0]])
        assert agent.outside_ == found[name] + 2
        assert np.array_equal(before[0], before[1]) == (name == "theirs")  # theirs are taken to the border
        agent.save(tmp_path / "agent.npz")
        again = rl.load(tmp_path / "agent.npz").learn("CartPole-v1", steps=40, seed=2)
        assert 0 < again.record_.outside <= 50
    assert min(found.values()) > 0
    assert sarsa(Scaling()).learn("MountainCar-v0", steps=10, seed=1).outside_ == 0
    assert rl.Sarsa().learn("FrozenLake-v1", steps=10, seed=1).record_.outside == 0


def test_searches_and_batch_methods_take_the_same_features():
    tree = DecisionTreeRegressor(max_leaf_nodes=6)
    search = PerturbationSearch(policy=LinearPolicy(features=Clusters(3), fit_on=50), candidates=3, max_steps=20)
    one, other = (search.__class__(policy=search.policy, candidates=3, max_steps=20) for _ in range(2))
    one.learn("CartPole-v1", iterations=1, seed=1).learn("CartPole-v1", iterations=1)
    other.learn("CartPole-v1", iterations=2, seed=1)
    assert one.parameters_.tobytes() == other.parameters_.tobytes()
    assert len(one.parameters_) == 6
    for features in (tree, GaussianMixture(3)):
        pair = [LSPI(features=features, ridge=1e-3).learn("CartPole-v1", steps=200, seed=2) for _ in range(2)]
        assert pair[0].weights_.tobytes() == pair[1].weights_.tobytes()


def test_what_cannot_be_fitted_is_named():
    for features, message in (
        (Clusters(500), "n_clusters=500 cannot be found in 200 observations"),
        (KMeans(500), "KMeans cannot be fitted to the first 200 observations of CliffWalking-v1: n_samples=200"),
    ):
        with pytest.raises(ParameterError, match=message):
            sarsa(features).learn(cliff(), steps=10, seed=1)
    with pytest.raises(ParameterError, match="fit_on"):
        Linear(Clusters(3), fit_on=0)
    walk = rl.find_env("rlsuite/RandomWalk-v0", max_episode_steps=1)
    with pytest.raises(ParameterError, match=r"a return above the median, and none of these 200 is"):
        sarsa(LogisticRegression()).learn(walk, steps=10, seed=1)
    with pytest.raises(UnsuitableEnvironment, match="StandardScaler cannot transform observations of 2 numbers"):
        sarsa(StandardScaler().fit(np.eye(3))).learn(cliff(), steps=10, seed=1)

    class Broken(StandardScaler):
        def transform(self, X, copy=None):
            raise RuntimeError("tired")

    with pytest.raises((ParameterError, LearningError, UnsuitableEnvironment), match=r"Broken cannot .*tired"):
        sarsa(Broken()).learn(cliff(), steps=10, seed=1)

    class Endless(StandardScaler):
        def transform(self, X, copy=None):
            return super().transform(X) / np.where(X == 0.0, 0.0, 1.0)

    with np.errstate(all="ignore"), pytest.raises(LearningError, match=r"Endless cannot .* \[0.0, 0.0\] it makes NaN"):
        sarsa(Endless()).learn(cliff(), steps=10, seed=1)


def test_maps_of_state_numbers_on_a_grid_warn_and_no_others():
    grid = "CliffWalking-v1"
    for features in (RadialBasis(5), StateAggregation(6), Chain([Scaling(), TileCoding()]), StandardScaler()):
        with pytest.warns(StateNumberWarning, match=r'shows the number of a state, .*observe="cell"'):
            sarsa(features).learn(grid, steps=10, seed=1, loop="stepwise")
    quiet = [(OneHot(), grid), (StateAggregation(48), grid), (None, grid), (RadialBasis(5), "Taxi-v4")]
    quiet += [(StateAggregation(5), "rlsuite/RandomWalk-v0"), (RadialBasis(3), cliff())]
    for features, env in quiet:
        sarsa(features).learn(env, steps=10, seed=1, loop="stepwise")

    labelled = rl.MDP.from_function(
        lambda state, action: [(1.0, ((state[0] + action) % 3, (state[1] + 1) % 3), 0.0, False)],
        start=(0, 0),
        actions=[0, 1],
        gamma=0.9,
    )
    assert has_cells(labelled.to_env())
    with pytest.warns(StateNumberWarning):
        sarsa(RadialBasis(5)).learn(labelled.to_env(), steps=10, seed=1, loop="stepwise")
