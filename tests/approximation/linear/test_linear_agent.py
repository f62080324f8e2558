"""What all linear agents have in common, shown by the simplest of them."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import rlsuite as rl
from rlsuite.approximation import Clusters, FourierBasis, OneHot, SemiGradientSarsa, TileCoding
from rlsuite.errors import (
    DivergenceWarning,
    FileError,
    LearningError,
    NotLearned,
    ParameterError,
    StepwiseWarning,
    UnsuitableEnvironment,
)

pytestmark = pytest.mark.arithmetic

TILES = TileCoding(n_tilings=2, bins=4)


def sarsa(features=TILES, **options):
    return SemiGradientSarsa(features=features, gamma=1.0, **{"learning_rate": 0.2, **options})


class Corridor(gymnasium.Env):
    """Three places, shown as numbers; in the first, left is not an action. Nobody wrote compiled dynamics for it."""

    observation_space = Box(0.0, 3.0, (1,))
    action_space = Discrete(2, start=1)
    broken = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self._seen(), self._info()

    def step(self, action):
        assert self._info()["action_mask"][action - 1], "an illegal action was taken"
        self.place += 1 if action == 2 else -1
        return self._seen(), -1.0, self.place == 3, False, self._info()

    def _seen(self):
        return np.array([np.nan if self.broken and self.place == 2 else self.place], dtype=np.float32)

    def _info(self):
        return {"action_mask": np.array([self.place > 0, 1], dtype=np.int8)}


@pytest.mark.slow
def test_masks_are_obeyed_where_observations_are_vectors():
    agent = sarsa(TileCoding(n_tilings=1, bins=4, low=0.0, high=4.0), exploration=rl.EpsilonGreedy(0.5))
    agent.learn(Corridor(), episodes=300, seed=0)  # its step asserts
    assert agent.weights_[0, 0] == 0.0
    assert [agent.act(np.array([place])) for place in (1.0, 2.0)] == [2, 2]
    assert agent.act(np.array([2.0]), action_mask=[1, 0]) == 1
    with pytest.raises(ParameterError, match=r"no action is legal at observation array\(\[2\.\]\)"):
        agent.act(np.array([2.0]), action_mask=[0, 0])


@pytest.mark.slow
def test_masks_of_a_table_are_obeyed_in_both_loops():
    """Illegal pairs are never taken, and the bytes are those of the tabular twin."""
    walls = rl.MDP.from_successors([[1, None], [2, 0], [None, None]], [-1, -1, 0], gamma=1.0, start=0)
    env = gymnasium.wrappers.TimeLimit(walls.to_env(), 50)
    table = rl.Sarsa(gamma=1.0, exploration=rl.EpsilonGreedy(0.5)).learn(env, steps=500, seed=2)
    for loop in ("compiled", "stepwise"):
        agent = SemiGradientSarsa(gamma=1.0, exploration=rl.EpsilonGreedy(0.5)).learn(env, steps=500, seed=2, loop=loop)
        assert agent.weights_.tobytes() == table.q_.tobytes()
    assert agent.policy().tolist() == table.policy().tolist()
    with pytest.raises(ParameterError, match="observation 2 is terminal: no action is legal there"):
        agent.act(2)
    with pytest.raises(ParameterError, match=r"observation 3 is not in 0\.\.2"):
        agent.act(3)


@pytest.mark.slow
def test_bad_observations_stop_the_run_and_keep_what_was_learned():
    env = Corridor()
    agent = sarsa(TileCoding(n_tilings=1, bins=4)).learn(env, episodes=5, seed=0)
    before = agent.weights_.copy()
    env.broken = True
    with pytest.raises(LearningError, match=r"Corridor, step \d+: the environment returned observation \[nan\], which"):
        agent.learn(env, episodes=5)
    assert np.isfinite(agent.weights_).all()
    assert not np.array_equal(agent.weights_, before)


@pytest.mark.slow
@pytest.mark.parametrize("answer", [np.zeros(2), np.zeros((1, 1)), [0.5, 0.5], "left", None])
def test_observations_of_another_shape_are_named(answer):
    env = Corridor()
    env._seen = lambda: np.zeros(1, dtype=np.float32) if env.place == 0 else answer
    with pytest.raises(LearningError, match=r"Corridor, step 1: the environment returned observation .*, which is not"):
        sarsa(TileCoding(n_tilings=1, bins=4)).learn(env, steps=10, seed=0)


@pytest.mark.slow
def test_two_halves_make_the_whole_and_workers_change_nothing():
    whole = sarsa().learn("MountainCar-v0", steps=500, seed=1)
    halves = sarsa().learn("MountainCar-v0", steps=123, seed=1).learn("MountainCar-v0", steps=377)
    assert halves.weights_.tobytes() == whole.weights_.tobytes()
    one, two = (rl.train(sarsa(), "MountainCar-v0", steps=500, seeds=3, workers=workers) for workers in (1, 2))
    for first, second in zip(one.records, two.records, strict=True):
        assert first.cumulative_reward.tobytes() == second.cumulative_reward.tobytes()


@pytest.mark.slow
def test_a_file_keeps_weights_and_features(tmp_path):
    agent = sarsa().learn("MountainCar-v0", steps=500, seed=1)
    agent.save(tmp_path / "agent.npz")
    twin = rl.load(tmp_path / "agent.npz")
    seen = np.random.default_rng(0).uniform([-1.2, -0.07], [0.6, 0.07], (50, 2))
    assert twin.q(seen).tobytes() == agent.q(seen).tobytes()
    assert repr(twin) == repr(agent)
    assert [twin.act(one) for one in seen] == [agent.act(one) for one in seen]
    twin.learn("MountainCar-v0", steps=10, seed=2)
    rl.load(tmp_path / "agent.npz").learn("MountainCar-v0", steps=10, seed=2)
    ids = SemiGradientSarsa().learn("FrozenLake-v1", steps=500, seed=1)
    ids.save(tmp_path / "ids.npz")
    assert rl.load(tmp_path / "ids.npz").policy().tolist() == ids.policy().tolist()


@pytest.mark.slow
def test_what_features_have_seen_comes_back_from_a_file(tmp_path):
    """Bounds alone do not bring it back, so the loaded agent learns on with what the file kept."""
    seen = np.random.default_rng(0).uniform([-1.2, -0.07], [0.6, 0.07], (50, 2))
    agent = SemiGradientSarsa(features=Clusters(8, seed=0).fit(seen)).learn("MountainCar-v0", steps=500, seed=1)
    agent.save(tmp_path / "agent.npz")
    twin = rl.load(tmp_path / "agent.npz")
    ways = [each.learn("MountainCar-v0", steps=500, seed=2).weights_.tobytes() for each in (agent, twin)]
    assert ways[0] == ways[1]
    with pytest.raises(UnsuitableEnvironment, match="observations of 2 numbers"):
        twin.learn("CartPole-v1", steps=1)


def test_values_and_policies_of_many_observations():
    agent = sarsa().learn("MountainCar-v0", steps=500, seed=1)
    seen = np.random.default_rng(0).uniform([-1.2, -0.07], [0.6, 0.07], (50, 2))
    by_hand = agent.features_.transform(seen) @ agent.weights_
    np.testing.assert_allclose(agent.q(seen), by_hand, rtol=1e-13)
    chances = agent.policy(seen)
    assert (chances.sum(axis=1) == 1.0).all()
    assert ((chances > 0) == (agent.q(seen) == agent.q(seen).max(axis=1, keepdims=True))).all()
    frozen = agent.frozen_policy()
    assert [frozen(one, None).tolist() for one in seen] == chances.tolist()
    with pytest.raises(
        ParameterError, match="SemiGradientSarsa was fitted to observations of 2 numbers, and these have 3"
    ):
        agent.q(np.zeros((1, 3)))
    with pytest.raises(ParameterError, match="observations= is needed"):
        agent.policy()


@pytest.mark.slow
def test_evaluations_are_made_by_episodes():
    agent = sarsa().learn("MountainCar-v0", steps=200, seed=1, evaluate_every=100)
    assert agent.record_.evaluation.tolist() == [-200.0, -200.0]  # nobody reaches the top so early


def test_transformers_of_others_plug_in():
    outside = make_pipeline(StandardScaler(), PolynomialFeatures(2)).fit(
        np.random.default_rng(0).uniform([-1.2, -0.07], [0.6, 0.07], (100, 2))
    )
    with pytest.warns(StepwiseWarning, match=r"but these features can only be computed in Python.* Learning stepwise"):
        agent = sarsa(outside, learning_rate=0.01).learn("MountainCar-v0", steps=300, seed=1)
    assert agent.record_.loop == "stepwise"
    assert agent.weights_.shape == (6, 3)
    seen = np.array([[-0.5, 0.01], [0.1, 0.0]])
    np.testing.assert_allclose(agent.q(seen), outside.transform(seen) @ agent.weights_, rtol=1e-13)
    with pytest.raises(
        FileError, match="class Pipeline cannot be saved without a pickle, since they were given fitted"
    ):
        agent.save("nowhere.npz")
    with pytest.raises(UnsuitableEnvironment, match="but these features can only be computed in Python"):
        sarsa(outside).learn("MountainCar-v0", steps=300, loop="compiled")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rlsuite.errors.StateNumberWarning")
def test_transformers_of_others_are_compiled_where_there_is_a_table():
    square = PolynomialFeatures(2).fit(np.zeros((1, 1)))
    pair = [sarsa(square, learning_rate=1e-4).learn("FrozenLake-v1", steps=400, seed=1, loop=loop) for loop in LOOPS]
    assert pair[0].weights_.tobytes() == pair[1].weights_.tobytes()


LOOPS = ("compiled", "stepwise")


@pytest.mark.parametrize(
    ("features", "env", "error", "message"),
    [
        (
            KMeans(2_000),
            "MountainCar-v0",
            ParameterError,
            "KMeans cannot be fitted to the first 1,000 observations of MountainCar-v0: n_samples=1000",
        ),
        (
            Clusters(2_000),
            "MountainCar-v0",
            ParameterError,
            "n_clusters=2000 cannot be found in 1000 observations",
        ),
        (StandardScaler().fit(np.zeros((2, 5))), "MountainCar-v0", UnsuitableEnvironment, "observations of 2 numbers"),
        (TileCoding().fit(np.eye(3)), "MountainCar-v0", UnsuitableEnvironment, "fitted to observations of 3 numbers"),
        (TileCoding(), "CartPole-v1", ParameterError, r"reaches from -inf to inf|finite low= and high="),
        (
            OneHot(),
            "MountainCar-v0",
            ParameterError,
            r"OneHot takes ids, and observations from -1\.2 to 0\.6 are not ids",
        ),
        (TILES, "Pendulum-v1", UnsuitableEnvironment, r"need a Discrete action space, got Box.*DiscreteActions"),
    ],
)
def test_features_that_do_not_fit_are_named(features, env, error, message):
    with pytest.raises(error, match=message):
        sarsa(features).learn(env, steps=10, seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": 3}, r"features=3 must be a feature map such as TileCoding\(\)"),
        ({"features": TileCoding}, r"features= is the class TileCoding; give an instance, TileCoding\(\)"),
        ({"features": StandardScaler}, r"features= is the class StandardScaler; give an instance"),
        ({"exploration": 0.1}, r"exploration=0\.1 must be an exploration"),
        ({"learning_rate": 2.0}, "learning_rate"),
        ({"learning_rate": rl.Inverse(1.0, per="visits")}, "learning_rate: a schedule per='visits' needs a table"),
        (
            {"exploration": rl.EpsilonGreedy(rl.Inverse(1.0, per="visits"))},
            "exploration: a schedule per='visits' needs a table",
        ),
        ({"initial_weight": np.nan}, "initial_weight"),
    ],
)
def test_nonsense_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        sarsa(**options)


def test_an_agent_that_has_not_learned_says_so():
    with pytest.raises(NotLearned, match="has not learned yet"):
        sarsa().act(np.zeros(2))


@pytest.mark.slow
def test_divergence_is_found_and_the_last_good_weights_are_kept():
    big = sarsa(FourierBasis(5), learning_rate=1.0)
    with pytest.raises(LearningError, match="Sarsa has diverged: what it has learned is no longer finite"):
        big.learn("MountainCar-v0", steps=3_000, seed=0)
    assert (big.weights_ == 0.0).all()
    with pytest.warns(DivergenceWarning, match="diverges: its largest weight has become"):
        big = sarsa(FourierBasis(5), learning_rate=1.0).learn("MountainCar-v0", steps=60, seed=0)
    assert (big.weights_ == 0.0).all()


def test_values_of_all_ids_need_no_list_of_them():
    agent = SemiGradientSarsa(features=OneHot()).learn("CliffWalking-v1", steps=200, seed=1)
    table = rl.Sarsa().learn("CliffWalking-v1", steps=200, seed=1)
    assert agent.q().shape == table.q_.shape == (48, 4)
    assert agent.q().tobytes() == agent.q(np.arange(48)[:, None]).tobytes()
    with pytest.raises(
        ParameterError,
        match=r"observations= is needed, an array \(n, d\): the observations of this environment are not ids",
    ):
        sarsa(TILES).learn("MountainCar-v0", steps=10, seed=0).q()


def test_an_error_of_a_third_party_transformer_is_told_with_its_kind():
    class Broken(StandardScaler):
        def transform(self, X, copy=None):
            raise KeyError("velocity")

    with pytest.raises(
        UnsuitableEnvironment, match="Broken cannot transform observations of 2 numbers: KeyError: 'vel"
    ):
        SemiGradientSarsa(features=Broken().fit([[0.0, 0.0]])).learn("MountainCar-v0", steps=5, seed=1)
