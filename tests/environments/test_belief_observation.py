"""The wrapper that shows beliefs."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.environments.wrappers import BeliefObservation
from rlsuite.errors import UnsuitableEnvironment
from rlsuite.models import MDP, POMDP


def test_the_belief_is_that_of_the_model(models):
    env = BeliefObservation(TimeLimit(TabularEnv(models.hidden), 30))
    belief, info = env.reset(seed=5)
    assert belief.tolist() == models.hidden.start.tolist()
    assert info["observation"] == models.hidden.n_observations
    rng, truncated = np.random.default_rng(0), False
    while not truncated:
        action = int(rng.integers(3))
        after, _, terminated, truncated, info = env.step(action)
        expected = models.hidden.update_belief(belief, action, info["observation"])
        assert after.tolist() == expected.tolist() == env.belief.tolist()
        assert env.observation_space.contains(after)
        assert not terminated
        belief = after
    assert not env.belief.flags.writeable


def test_beliefs_are_right_on_average(models):
    """Of all visits with a belief near p, about a fraction p is in the state."""
    env = BeliefObservation(TabularEnv(models.hidden))
    rng, claimed, found = np.random.default_rng(1), [], []
    env.reset(seed=2)
    for _ in range(4000):
        belief, *_ = env.step(int(rng.integers(3)))
        claimed.append(belief[0])
        found.append(env.unwrapped.s == 0)
    claimed, found = np.array(claimed), np.array(found)
    for low, high in [(0, 0.2), (0.2, 0.5), (0.5, 1.01)]:
        near = (claimed >= low) & (claimed < high)
        if near.sum() > 100:
            assert abs(claimed[near].mean() - found[near].mean()) < 3 / np.sqrt(near.sum())


def test_gymnasium_is_content(models):
    env = BeliefObservation(TabularEnv(models.hidden))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*The environment .* is different from the unwrapped version")
        warnings.filterwarnings("ignore", ".*Not able to test alternative render modes")
        check_env(env, skip_render_check=True)


def test_at_the_end_the_belief_is_about_the_last_state():
    pomdp = POMDP.from_arrays(
        [[[0.25, 0.5, 0.25]], [[0, 1, 0]], [[0, 0, 1]]],
        np.zeros(3),
        [[1, 0], [1, 0], [1, 0]],
        gamma=0.9,
        start=0,
        terminated=[False, True, True],
    )
    env = BeliefObservation(pomdp.to_env())
    env.reset(seed=0)
    terminated = False
    while not terminated:
        belief, _, terminated, _, _ = env.step(0)
    np.testing.assert_allclose(belief, [0, 2 / 3, 1 / 3])


def test_illegal_actions_tell_that_they_are():
    mdp = MDP.from_successors([[{0, 1}, 0], [{0, 1}, None]], [0, 0], gamma=0.9, start=0)
    env = BeliefObservation(POMDP(mdp, np.full((2, 2, 1), 1.0)).to_env())
    env.reset(seed=3)
    assert env.step(0)[0].tolist() == [0.5, 0.5]
    env.unwrapped.s = 1
    belief, *_, info = env.step(1)
    assert info["illegal_action"]
    assert belief.tolist() == [0, 1]
    assert env.step(0)[0].tolist() == [0.5, 0.5]
    env.unwrapped.s = 0
    # The action was legal, so the state before must have been 0.
    assert env.step(1)[0].tolist() == [1, 0]


def test_environments_that_it_cannot_wrap(models):
    with pytest.raises(UnsuitableEnvironment, match="is fully observable: use it without BeliefObservation"):
        BeliefObservation(TabularEnv(models.noisy))
    with pytest.raises(UnsuitableEnvironment, match=r"has no POMDP \(env\.unwrapped\.model\)"):
        BeliefObservation(gymnasium.make("CliffWalking-v1"))


def test_what_the_model_holds_for_impossible():
    pomdp = POMDP.from_arrays(np.eye(2)[:, None], [0, 0], np.eye(2), gamma=0.9, start=0)
    env = BeliefObservation(pomdp.to_env())
    env.reset(seed=0)
    env.unwrapped.s = 1
    with pytest.raises(UnsuitableEnvironment, match=r"observed 1 after action 0: observation=1 cannot follow action=0"):
        env.step(0)

    class Doubled(gymnasium.ObservationWrapper):
        def observation(self, observation):
            return 2.0 * observation

    env = BeliefObservation(Doubled(pomdp.to_env()))
    env.reset(seed=0)
    with pytest.raises(
        UnsuitableEnvironment, match=r"observed 0\.0 after action 0: observation=0\.0 is not a whole number"
    ):
        env.step(0)
