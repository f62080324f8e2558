"""Returns of a policy: the right sums, and the same for any share of the episodes."""

import gymnasium
import numpy as np
import pytest

from rlsuite.approximation.batch import LSPI, Batch, episode_of, returns_of
from rlsuite.errors import EnvironmentNotFound, LearningError, NotLearned, ParameterError

pytestmark = pytest.mark.arithmetic


class Countdown(gymnasium.Env):
    """Pays 1, 2, 3 ... and ends with the fifth step; an episode of an even seed pays ten times as much."""

    def __init__(self, end="terminated", bad=False):
        self.observation_space = self.action_space = gymnasium.spaces.Discrete(9)
        self.end, self.bad = end, bad

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.scale = 1 if seed is None or seed % 2 else 10
        self.steps = 0
        return 0, {}

    def step(self, action):
        assert action == self.steps
        self.steps += 1
        over = self.steps == 5
        reward = float("nan") if self.bad else float(self.scale * self.steps)
        truncated = self.end if isinstance(self.end, list) else over and self.end == "truncated"
        return self.steps, reward, over and self.end == "terminated", truncated, {}


def test_sums_are_discounted():
    assert episode_of(Countdown(), lambda seen: seen, seed=1, gamma=0.5)[:4] == (
        1 + 1 + 0.75 + 0.5 + 5 / 16,
        15.0,
        5,
        True,
    )
    assert episode_of(Countdown(), lambda seen: seen, seed=1) == (15.0, 15.0, 5, True, False)
    assert episode_of(Countdown("truncated"), lambda seen: seen, seed=1) == (15.0, 15.0, 5, False, False)
    assert episode_of(Countdown(), lambda seen: seen, seed=1, max_steps=3) == (6.0, 6.0, 3, False, True)


def test_every_episode_has_a_seed_of_its_own():
    found = returns_of(Countdown(), lambda seen: seen, episodes=20, seed=7)
    assert set(found) == {15.0, 150.0}
    np.testing.assert_array_equal(found[:8], returns_of(Countdown(), lambda seen: seen, episodes=8, seed=7))
    chance = [returns_of("CartPole-v1", lambda seen: int(seen[2] > 0), 5, seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(chance[0], chance[1])
    assert not np.array_equal(chance[0], chance[2])


def test_what_is_wrong_is_named():
    with pytest.raises(LearningError, match="step 1: the environment returned the reward nan"):
        returns_of(Countdown(bad=True), lambda seen: seen, episodes=1)
    huge = gymnasium.wrappers.TransformReward(Countdown(), lambda reward: 1e308)
    with pytest.raises(LearningError, match="Countdown, step 2: each reward is finite, but their sum has overflowed"):
        returns_of(huge, lambda seen: seen, episodes=1)
    with pytest.raises(ParameterError, match="episodes=0"):
        returns_of(Countdown(), lambda seen: seen, episodes=0)
    with pytest.raises(LearningError, match=r"truncated=\[False\], which is not true or false: return bool\(np.all"):
        returns_of(Countdown([False]), lambda seen: seen, episodes=1)
    with pytest.raises(ParameterError, match="gamma"):
        returns_of(Countdown(), lambda seen: seen, episodes=1, gamma=1.5)
    with pytest.raises(EnvironmentNotFound, match="Did you mean 'CartPole-v"):
        returns_of("CartPol-v1", lambda seen: 0, episodes=1)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda seen: 9, LearningError, r"act\(observation\) returned 9 for observation 0; .* numbers 0\.\.8"),
        (lambda seen: "left", LearningError, "returned 'left'"),
        (lambda seen: None, LearningError, "returned None"),
        (3, ParameterError, "act=3 is no policy; allowed are a function"),
        (LSPI(), NotLearned, "this LSPI has not learned yet"),
    ],
)
def test_policies_that_make_no_sense_are_named(act, error, message):
    with pytest.raises(error, match=message):
        returns_of(Countdown(), act, episodes=1)
    with pytest.raises(error, match=message.replace("act", "policy", 1) if "act" in message[:4] else message):
        Batch.collect(Countdown(), steps=2, policy=act)
