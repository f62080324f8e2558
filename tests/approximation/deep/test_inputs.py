"""Images whose planes come first or last, and those where nobody but their maker knows."""

import re

import gymnasium
import numpy as np
import pytest

from rlsuite import errors
from rlsuite.approximation.deep import DQN

torch = pytest.importorskip("torch")


def weights(agent):
    return b"".join(tensor.numpy().tobytes() for tensor in agent.learner_.online.state_dict().values())


class Turned(gymnasium.ObservationWrapper):
    """The corridor with its planes last, twice as high so that rows and columns are many, and as flags if asked."""

    def __init__(self, env, last, dtype=np.float32):
        super().__init__(env)
        self.last = last
        self.observation_space = gymnasium.spaces.Box(0, 1, (6, 5, 2) if last else (2, 6, 5), dtype=dtype)

    def observation(self, observation):
        image = np.concatenate([np.tile(observation, (1, 2, 1)), np.ones((1, 6, 5))]).astype(
            self.observation_space.dtype
        )
        return image.transpose(1, 2, 0) if self.last else image


IMAGES = {"convolutions": [(4, 2, 1)], "hidden": (8,), "learning_starts": 20, "batch_size": 8}


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.bool_])
def test_planes_are_found_first_or_last(corridor, dtype, tmp_path):
    first, last = (DQN(**IMAGES).learn(Turned(corridor(), turned, dtype), steps=60, seed=1) for turned in (False, True))
    assert next(last.learner_.online.parameters()).shape == (4, 2, 2, 2)  # filters, planes, kernel, kernel
    assert weights(first) == weights(last)
    images = np.random.default_rng(0).integers(0, 2, size=(7, 6, 5, 2)).astype(dtype)
    assert last.q(images).tobytes() == first.q(images.transpose(0, 3, 1, 2)).tobytes()
    last.save(tmp_path / "agent.npz")
    again = DQN.load(tmp_path / "agent.npz")
    assert again.q(images).tobytes() == last.q(images).tobytes()
    assert again.act(images[0]) == last.act(images[0])
    again.learn(Turned(corridor(), last=True, dtype=dtype), steps=5, seed=1)


def test_planes_are_where_the_agent_is_told(corridor):
    """(6, 5, 2) as 6 planes of 5 x 2."""
    agent = DQN(**IMAGES, channels="first").learn(Turned(corridor(), last=True), steps=5, seed=1)
    assert next(agent.learner_.online.parameters()).shape == (4, 6, 2, 2)
    with pytest.raises(errors.ParameterError, match="unknown channels 'lost'; did you mean 'last'"):
        DQN(channels="lost")


@pytest.mark.parametrize("shape", [(10, 10, 10), (4, 10, 4), (3, 64, 4), (8, 9, 7), (84, 1, 84)])
def test_a_doubt_where_the_planes_are_names_both_readings(shape):
    class Blind(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 1, shape, dtype=np.bool_)
        action_space = gymnasium.spaces.Discrete(2)

    a, b, c = shape
    both = (
        f"{a} planes of {b} x {c} numbers, or {c} planes of {a} x {b}; say which by channels='first' or channels='last'"
    )
    with pytest.raises(errors.UnsuitableEnvironment, match=re.escape(f"images of shape {shape} may be {both}")):
        DQN(convolutions=[(8, 3, 1)]).learn(Blind(), steps=10)
