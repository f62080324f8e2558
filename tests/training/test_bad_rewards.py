"""A reward that is not one finite number is refused in the same words wherever an environment is stepped."""

import gymnasium
import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

import rlsuite as rl
from rlsuite.approximation import Batch, SemiGradientSarsa
from rlsuite.approximation.policies.classification_iteration import ClassificationIteration
from rlsuite.errors import LearningError
from rlsuite.training.episodes import returns_of


class Paying(gymnasium.Env):
    """Pays the given reward at each third step, and 1 otherwise."""

    def __init__(self, reward, vectors=False):
        box = gymnasium.spaces.Box(0.0, 1.0, (2,), np.float64)
        self.observation_space = box if vectors else gymnasium.spaces.Discrete(2)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.reward, self.vectors, self.steps = reward, vectors, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._seen(), {}

    def step(self, action):
        self.steps += 1
        return self._seen(), self.reward if self.steps == 3 else 1.0, self.steps == 5, False, {}

    def _seen(self):
        return np.array([0.0, 1.0]) if self.vectors else 1


def evaluated(reward):
    """Learn for two steps, and evaluate by episodes of five."""
    rl.train(rl.QLearning(), Paying(reward), steps=2, seeds=1, evaluate_every=2)


def improved(reward):
    try:
        learner = ClassificationIteration(classifier=DummyClassifier(), states=5, rollouts=2, horizon=5)
        learner.learn(Paying(reward, True), iterations=1, seed=0)
    except LearningError as error:  # all rollouts have been made by then
        if "no action was significantly better" not in str(error):
            raise


STEPPED = {
    "ids": lambda reward: rl.QLearning().learn(Paying(reward), steps=10, seed=0),
    "vectors": lambda reward: SemiGradientSarsa().learn(Paying(reward, True), steps=10, seed=0),
    "evaluation": evaluated,
    "batch": lambda reward: Batch.collect(Paying(reward), steps=10, seed=0),
    "rollout": lambda reward: returns_of(Paying(reward), lambda _: 0, episodes=1, seed=0),
    "classification": improved,
}

REFUSED = {
    "one": (
        np.array([1.0]),
        "the reward array([1.]); rewards must be finite numbers, and this is an array of shape (1,",
    ),
    "two": (np.array([1.0, 2.0]), "and this is an array of shape (2,): return one number"),
    "list": ([1.0], "the reward [1.0]; rewards must be finite numbers, and this is an array of shape (1,)"),
    "text": ("1", "the reward '1'; rewards must be finite numbers"),
    "none": (None, "the reward None; rewards must be finite numbers"),
    "nan": (float("nan"), "the reward nan; rewards must be finite numbers"),
    "huge": (10**400, "; rewards must be finite numbers"),
}


@pytest.mark.parametrize("where", STEPPED)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_a_finite_number_is_refused_in_the_same_words(where, kind):
    reward, sentence = REFUSED[kind]
    with pytest.raises(LearningError) as caught:
        STEPPED[where](reward)
    assert sentence in str(caught.value)
    assert str(caught.value).removeprefix("seed 0: ").startswith("Paying")


@pytest.mark.parametrize("where", STEPPED)
@pytest.mark.parametrize("kind", [np.array, np.float32, np.int8, int])
def test_numbers_of_all_kinds_and_arrays_without_dimensions_are_rewards(where, kind):
    STEPPED[where](kind(1))


def test_a_table_does_not_bear_out_rewards_in_arrays():
    from gymnasium.envs.toy_text import FrozenLakeEnv

    class Lake(FrozenLakeEnv):
        def step(self, a):
            observation, reward, *rest = super().step(a)
            return observation, np.array([reward]), *rest

    with pytest.raises(LearningError, match=r"Lake, step 1: the environment returned the reward array\(\[0\]\)"):
        rl.QLearning().learn(Lake(), steps=10, seed=0)


def test_compiled_dynamics_do_not_bear_out_rewards_in_arrays():
    from gymnasium.envs.classic_control import MountainCarEnv

    class Car(MountainCarEnv):
        def step(self, action):
            observation, reward, *rest = super().step(action)
            return observation, np.array([reward]), *rest

    with pytest.raises(LearningError, match=r"the reward array\(\[-1\.\]\); rewards must be finite numbers"):
        SemiGradientSarsa().learn(Car(), steps=10, seed=0)
