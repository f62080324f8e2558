"""What the predictors with features have in common: their doors, what they answer, and what they keep in files."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation.linear.gradient_td import TDC
from rlsuite.approximation.linear.linear_agent import (
    GradientMonteCarlo,
    GradientMonteCarloControl,
    SemiGradientTD,
    SemiGradientTDLambda,
)
from rlsuite.errors import LearningError, NotLearned, ParameterError

pytestmark = pytest.mark.arithmetic

FEATURES = np.c_[np.linspace(0.0, 1.0, 7), np.ones(7)]
WALK = "rlsuite/RandomWalk-v0"


@pytest.fixture
def walk():
    return rl.VectorObservation(gymnasium.make(WALK), FEATURES)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            SemiGradientTD,
            {"policy_to_follow": [0.5, 0.4]},
            r"policy_to_follow, row 0: \[0.5, 0.4\] is not a probability",
        ),
        (SemiGradientTD, {"policy_to_follow": [[[1.0]]]}, r"policy_to_follow has shape \(1, 1, 1\); allowed are"),
        (SemiGradientTD, {"policy_to_follow": ["left"]}, "policy_to_follow is not an array of numbers"),
        (SemiGradientTD, {"policy_to_evaluate": [np.nan, 1.0]}, "policy_to_evaluate, row 0: .* is not a probability"),
        (
            SemiGradientTD,
            {"policy_to_follow": [1.0, 0.0], "policy_to_evaluate": [0.5, 0.5]},
            "policy_to_evaluate takes action 1 .*, which policy_to_follow never takes",
        ),
        (
            SemiGradientTD,
            {"policy_to_follow": [0.5, 0.5], "policy_to_evaluate": [1.0]},
            r"policy_to_follow has shape \(1, 2\), and policy_to_evaluate \(1, 1\)",
        ),
        (SemiGradientTD, {"initial_weight": np.inf}, "initial_weight=inf must be a finite number, or an array"),
        (
            SemiGradientTD,
            {"learning_rate": rl.Inverse(1.0, per="visits")},
            "learning_rate: a schedule per='visits' needs a table",
        ),
        (TDC, {"error_rate": -0.1}, r"error_rate=-0.1 lies outside \[0, inf\)"),
        (TDC, {"error_rate": rl.Inverse(1.0, per="visits")}, "error_rate: a schedule per='visits' needs a table"),
        (SemiGradientTDLambda, {"lambda_": 2.0}, r"lambda_=2 is not in \[0, 1\]"),
        (SemiGradientTDLambda, {"traces": "dutsch"}, "traces: .*dutch"),
        (GradientMonteCarlo, {"longest_episode": 0}, "longest_episode=0 is less than 1"),
    ],
)
def test_nonsense_is_refused(kind, options, message):
    with pytest.raises(ParameterError, match=message):
        kind(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy_to_follow": [0.2, 0.3, 0.5]}, "policy_to_follow is for 3 actions, but the environment has 2"),
        (
            {"policy_to_follow": np.full((7, 2), 0.5)},
            "7 rows, but the environment has observations that are not ids; give one row",
        ),
        ({"initial_weight": [1.0, 2.0, 3.0]}, "initial_weight has 3 numbers, but there are 2 features"),
    ],
)
def test_what_does_not_fit_the_environment_is_named(walk, options, message):
    with pytest.raises(ParameterError, match=message):
        SemiGradientTD(**options).learn(walk, steps=1)


def test_policies_of_ids_have_a_row_for_each():
    with pytest.raises(
        ParameterError, match=r"policy_to_follow has 3 rows, but the environment has 7 ids; give 7 rows or one"
    ):
        SemiGradientTD(policy_to_follow=np.full((3, 2), 0.5)).learn(WALK, steps=1)


def test_it_answers_for_observations_and_acts_by_its_policy(walk):
    agent = SemiGradientTD(policy_to_follow=[0.25, 0.75], initial_weight=[2.0, -1.0])
    with pytest.raises(NotLearned, match="this SemiGradientTD has not learned yet"):
        agent.value(FEATURES)
    agent = SemiGradientTD(policy_to_follow=[0.25, 0.75], initial_weight=[2.0, -1.0], learning_rate=0.0)
    agent.learn(walk, steps=1, seed=0)
    assert agent.value([[3.0, 1.0], [0.0, 2.0]]).tolist() == [5.0, -2.0]
    with pytest.raises(ParameterError, match="observations= is needed"):
        agent.value()
    with pytest.raises(ParameterError, match="observations of 2 numbers"):
        agent.value([[1.0]])
    taken = np.mean([agent.act(FEATURES[3]) for _ in range(1_000)])
    assert abs(taken - 0.75) < 4 * np.sqrt(0.25 * 0.75 / 1_000)  # fails by chance in 6 of 100,000 cases
    assert agent.act(FEATURES[3], action_mask=[1, 0]) == 0
    with pytest.raises(ParameterError, match=r"action_mask=\[0, 0\] allows no action of the policy"):
        agent.act(FEATURES[3], action_mask=[0, 0])


def test_a_file_keeps_both_sets_of_weights(walk, tmp_path):
    options = {"policy_to_follow": [0.5, 0.5], "policy_to_evaluate": [0.3, 0.7], "initial_weight": [0.5, 0.0]}
    agent = TDC(**options, learning_rate=0.05).learn(walk, episodes=20, seed=0)
    agent.save(tmp_path / "tdc.npz")
    loaded = rl.load(tmp_path / "tdc.npz")
    assert agent.error_weights_.any()
    for name in ("weights_", "error_weights_"):
        assert getattr(loaded, name).tobytes() == getattr(agent, name).tobytes()
    assert loaded.value(FEATURES).tolist() == agent.value(FEATURES).tolist()
    ways = [copy.learn(walk, episodes=20, seed=1).weights_.tolist() for copy in (agent, loaded)]
    assert ways[0] == ways[1]


@pytest.mark.parametrize("kind", [GradientMonteCarlo, GradientMonteCarloControl])
def test_an_episode_that_is_too_long_is_an_error(walk, kind):
    with pytest.raises(LearningError, match=r"the episode is longer than the agent can store; .* longest_episode="):
        kind(longest_episode=3).learn(walk, episodes=10, seed=0)
