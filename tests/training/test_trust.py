"""A table that disagrees with `step` is detected, named, and not used."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text import FrozenLakeEnv

import rlsuite as rl
from rlsuite.environments.facts import facts_of
from rlsuite.environments.replay_check import trusted_model
from rlsuite.errors import StepwiseWarning, UnsuitableEnvironment, UntrustedTable


def liars(environments):
    edited = gymnasium.make("FrozenLake-v1")
    edited.unwrapped.P[0][1] = [(1.0, 4, 0.0, False)]  # the edit is in the table, so `step` obeys it: no liar
    bonus = environments["Bonus"]()
    return {
        "Taxi-v4: at reset it draws other random numbers": gymnasium.make("Taxi-v4", fickle_passenger=True),
        "Tired: its step changes `energy`": environments["Tired"](),
        "at state 14, action 2 its table says reward": bonus,
        "FrozenLake-v1 is wrapped in Double": environments["Double"](gymnasium.make("FrozenLake-v1")),
    }, edited


@pytest.mark.parametrize("index", range(4))
def test_auto_warns_and_steps_and_compiled_refuses(index, environments, q_learning):
    (sentence, env), edited = list(liars(environments)[0].items())[index], None
    with pytest.warns(StepwiseWarning) as caught:
        q_learning.learn(env, steps=500, seed=0)
    assert sentence in str(caught[0].message)
    assert caught[0].filename == __file__
    assert q_learning.record_.loop == "stepwise"
    assert q_learning.visits_.sum() == 500
    with pytest.raises(UntrustedTable, match="|".join(sentence.split(":")[:1])):
        dataclasses.replace(q_learning).learn(env, steps=500, seed=0, loop="compiled")
    assert edited is None


def test_a_wrapper_is_obeyed_in_the_stepwise_loop(environments, q_learning):
    env = environments["Double"](gymnasium.make("FrozenLake-v1", is_slippery=False))
    q_learning.exploration = rl.EpsilonGreedy(1.0)
    q_learning.learn(env, episodes=300, seed=0, loop="stepwise")
    assert set(q_learning.episodes_["return"]) == {0.0, 2.0}


def test_an_edited_table_that_step_obeys_is_trusted(environments, q_learning):
    edited = liars(environments)[1]
    assert q_learning.learn(edited, steps=500, seed=0).record_.loop == "compiled"


def test_a_patched_step_is_found_out(q_learning):
    env = FrozenLakeEnv()
    true_step = env.step

    def step(action):
        observation, reward, terminated, truncated, info = true_step(action)
        return observation, reward - 1, terminated, truncated, info

    env.step = step
    with pytest.raises(UntrustedTable, match="FrozenLakeEnv: its step has been replaced"):
        q_learning.learn(env, steps=10, seed=0, loop="compiled")


def test_the_replay_leaves_the_environment_alone():
    env = gymnasium.make("FrozenLake-v1")
    env.reset(seed=3)
    before = env.unwrapped.np_random.bit_generator.state
    trusted_model(facts_of(env), 0.9)
    assert env.unwrapped.np_random.bit_generator.state == before
    assert env.unwrapped.s == 0


def test_without_a_table_the_stepwise_loop_is_used_silently(environments, q_learning):
    q_learning.learn(environments["Corridor"](), steps=500, seed=0)
    assert q_learning.record_.loop == "stepwise"
    with pytest.raises(UnsuitableEnvironment) as caught:
        dataclasses.replace(q_learning).learn(environments["Corridor"](), steps=500, seed=0, loop="compiled")
    assert str(caught.value) == (
        "Corridor has no transition table (env.unwrapped.P or .model), which loop='compiled' needs; use loop='stepwise'"
    )


def test_a_table_of_random_rewards_and_observations_is_replayed():
    model = rl.MDP.from_successors(
        [[0, 1], [{0, 1}, 1]],
        [[0.5, 1.0], [0.25, 2.0]],
        gamma=0.9,
        bernoulli=[[True, False], [True, False]],
        reward_std=[[0.0, 1.0], [0.0, 0.0]],
    )
    env = model.to_env()
    env.reset(seed=0)
    trusted = trusted_model(facts_of(env), 0.5)
    assert trusted.gamma == 0.5
    assert np.array_equal(trusted.reward, model.reward)
