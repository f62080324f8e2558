"""The wrapper that shows vectors in place of ids."""

import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.environments.wrappers import VectorObservation
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.models import MDP
from rlsuite.rendering import GridLayout


def twins(wrap, name):
    """An environment, and one that is wrapped; both at the start of the same episode."""
    plain, wrapped = gymnasium.make(name), wrap(gymnasium.make(name))
    return plain, wrapped, plain.reset(seed=3)[0], wrapped.reset(seed=3)[0]


@pytest.mark.parametrize(
    "wrap",
    [VectorObservation.one_hot, VectorObservation.coordinates, VectorObservation.image],
    ids=["one-hot", "coordinates", "image"],
)
def test_nothing_but_the_observation_changes(wrap):
    plain, wrapped, state, shown = twins(wrap, "CliffWalking-v1")
    rng, ids = np.random.default_rng(0), {}
    for _ in range(300):
        assert wrapped.observation_space.contains(shown)
        assert shown.tobytes() == ids.setdefault(state, shown.tobytes())
        assert shown.ravel().tolist() == wrapped.vectors[state].tolist()
        action = int(rng.integers(4))
        state, *told = plain.step(action)
        shown, *heard = wrapped.step(action)
        assert told == heard
        if told[1]:
            state, shown = plain.reset()[0], wrapped.reset()[0]
    assert len(set(ids.values())) == len(ids) > 10


def test_one_hot():
    env = VectorObservation.one_hot(gymnasium.make("FrozenLake-v1"))
    assert env.vectors.tolist() == np.eye(16).tolist()
    assert env.observation_space == spaces.Box(0.0, 1.0, (16,), np.float64)


def test_coordinates_are_those_of_the_layout():
    env = VectorObservation.coordinates(gymnasium.make("rlsuite/ObstacleGrid-v0"))
    layout = env.unwrapped.layout
    assert env.vectors.tolist() == layout.cells.tolist()
    assert env.observation_space.high.tolist() == layout.cells.max(axis=0).tolist()


def test_an_image_shows_the_place_the_walls_and_the_marks():
    layout = GridLayout(
        2,
        3,
        cells=[[0, 0], [0, 1], [1, 2], [-1, -1]],
        walls=[[False, False, True], [False, False, False]],
        marks={(0, 0): "S", (1, 2): "G", (1, 0): "G"},
    )
    base = TabularEnv(MDP.from_successors([[1], [2], [3], [None]], [0, 0, 0, 0], gamma=0.9, start=0))
    base.layout = layout
    env = VectorObservation.image(base)
    assert env.observation_space.shape == (4, 2, 3)
    assert env.observation_space.dtype == np.float32
    start, _ = env.reset(seed=0)
    assert start.tolist() == [
        [[1, 0, 0], [0, 0, 0]],
        [[0, 0, 1], [0, 0, 0]],
        [[0, 0, 0], [1, 0, 1]],
        [[1, 0, 0], [0, 0, 0]],
    ]
    places = [env.step(0)[0][0].tolist() for _ in range(3)]
    assert places == [[[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 0, 0]]]
    flat = VectorObservation.image(base, flat=True)
    assert flat.observation_space.shape == (24,)
    assert flat.reset(seed=0)[0].tolist() == start.ravel().tolist()


class FromOne(gymnasium.Env):
    """Ids that begin with 1."""

    observation_space = spaces.Discrete(3, start=1)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 1, {}

    def step(self, action):
        return 1 + int(action), 0.0, False, False, {}


def test_the_first_id_need_not_be_zero():
    env = VectorObservation(FromOne(), [[5, 0], [6, 0], [7, 0]])
    assert env.reset()[0].tolist() == [5.0, 0.0]
    assert [env.step(action)[0][0] for action in range(3)] == [5.0, 6.0, 7.0]
    assert env.observation_space.dtype == np.float64


def test_what_is_shown_may_be_changed_without_harm():
    env = VectorObservation(FromOne(), np.eye(3))
    env.reset()[0][:] = 9.0
    assert env.reset()[0].tolist() == [1.0, 0.0, 0.0]
    assert not env.vectors.flags.writeable


def test_gymnasium_is_content():
    env = VectorObservation.coordinates(gymnasium.make("rlsuite/GridGoal-v0"))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*The environment .* is different from the unwrapped version")
        warnings.filterwarnings("ignore", ".*Not able to test alternative render modes")
        check_env(env, skip_render_check=True)
    again = pickle.loads(pickle.dumps(env))
    assert again.vectors.tolist() == env.vectors.tolist()
    made = gymnasium.make(env.spec)
    assert isinstance(made, VectorObservation)
    assert made.reset(seed=1)[0].tolist() == env.reset(seed=1)[0].tolist()


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[0.0], [1.0]], r"vectors has shape \(2, 1\), needed \(3, d\)"),
        ([0.0, 1.0, 2.0], r"vectors has shape \(3,\), needed \(3, d\)"),
        ([[0.0], [np.nan], [1.0]], r"vectors\[1\] holds a number that is not finite"),
        ([["a"], ["b"], ["c"]], "vectors must be an array .* of numbers"),
        ([[0.0], [1.0, 2.0], [3.0]], "vectors must be an array .* of numbers"),
    ],
)
def test_bad_vectors_are_named(vectors, message):
    with pytest.raises(ParameterError, match=message):
        VectorObservation(FromOne(), vectors)


def test_unsuitable_environments_are_named():
    with pytest.raises(UnsuitableEnvironment, match="only ids"):
        VectorObservation(gymnasium.make("CartPole-v1"), [[0.0]])
    with pytest.raises(UnsuitableEnvironment, match="does not say where its states are"):
        VectorObservation.coordinates(gymnasium.make("Taxi-v4"))
    with pytest.raises(UnsuitableEnvironment, match="its states are hidden"):
        VectorObservation.image(gymnasium.make("rlsuite/Hallway-v0"))
