"""From observations to vectors."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from rlsuite.environments.observation_view import as_vector, encoding
from rlsuite.errors import UnsuitableEnvironment

SPACES = {
    "ids": (spaces.Discrete(5, start=2), [0.0], [4.0]),
    "box": (spaces.Box(-1.0, 2.0, (2, 2)), [-1.0] * 4, [2.0] * 4),
    "several": (spaces.MultiDiscrete([3, 2]), [0.0, 0.0], [2.0, 1.0]),
    "bits": (spaces.MultiBinary(3), [0.0] * 3, [1.0] * 3),
    "tuple": (spaces.Tuple([spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2)]), [0.0] * 3, [31, 10, 1]),
    "dict": (spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Box(0.0, 3.0, (1,))}), [0.0, 0.0], [3.0, 1.0]),
}


@pytest.mark.parametrize("name", SPACES)
def test_vectors_lie_within_the_bounds(name):
    space, low, high = SPACES[name]
    found = encoding(space)
    assert found.low.tolist() == list(low)
    assert found.high.tolist() == list(high)
    space.seed(0)
    for _ in range(20):
        vector = found.encode(space.sample())
        assert vector.shape == found.low.shape
        assert ((vector >= found.low) & (vector <= found.high)).all()


def test_the_parts_of_an_observation_keep_their_order():
    assert as_vector((3, np.array([[1.0, 2.0], [4.0, 5.0]]))).tolist() == [3.0, 1.0, 2.0, 4.0, 5.0]
    assert as_vector({"b": 1, "a": [2.5]}).tolist() == [2.5, 1.0]


def test_ids_are_counted_from_zero():
    found = encoding(spaces.Discrete(5, start=2))
    assert [found.encode(value).tolist() for value in (2, 6)] == [[0.0], [4.0]]


def test_what_is_no_number_is_refused():
    with pytest.raises(UnsuitableEnvironment, match=r"Text\(.*does not consist of numbers"):
        encoding(spaces.Tuple([spaces.Discrete(2), spaces.Text(3)]))


def test_gymnasiums_own_spaces_have_vectors():
    for name, width in (("Blackjack-v1", 3), ("CartPole-v1", 4), ("FrozenLake-v1", 1)):
        env = gymnasium.make(name)
        assert encoding(env.observation_space).encode(env.reset(seed=0)[0]).shape == (width,)
