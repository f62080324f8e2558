"""Many seeds at once."""

import threading
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text import FrozenLakeEnv
from sklearn.cluster import KMeans

import rlsuite as rl
import rlsuite_envs
from rlsuite.core.checks import seed_list
from rlsuite.errors import CallError, ParameterError, UnsuitableEnvironment
from rlsuite.features import OneHot, RadialBasis

gymnasium.register_envs(rlsuite_envs)


def test_seeds_are_numbers_or_a_number_of_them():
    assert seed_list(4) == [0, 1, 2, 3]
    assert seed_list([7, 3]) == [7, 3]
    assert seed_list(range(2, 4)) == [2, 3]
    assert seed_list(2.0) == [0, 1]


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        (0, "seeds=0 is less than 1"),
        (3.5, "seeds=3.5 is not a whole number"),
        ([2, 3.0], "seeds[1]=3.0 is not a whole number: write 3"),
        (True, "seeds=True is not a whole number"),
        ("7", "seeds='7' is not a whole number: write 7"),
        ("seven", "seeds='seven' is not a whole number"),
        ([], "seeds=[] must be a number of seeds, at least 1, or a list of seeds"),
        ([1, -2], "seeds[1]=-2 is less than 0"),
        ([1, 2, 1], "seeds=[1, 2, 1] has one seed twice: runs with the same seed are not replicates"),
    ],
)
def test_bad_seeds_are_named(seeds, message):
    with pytest.raises(ParameterError) as caught:
        seed_list(seeds)
    assert str(caught.value) == message


def test_an_instance_is_copied_for_each_seed():
    env = rl.find_env("FrozenLake-v1", is_slippery=False)
    results = rl.train(rl.QLearning(), env, steps=300, seeds=[4, 2], workers=2)
    assert [record.seed for record in results.records] == [4, 2]
    assert results.environment == "FrozenLake-v1"
    again = rl.QLearning().learn(rl.find_env("FrozenLake-v1", is_slippery=False), steps=300, seed=2)
    assert again.record_.episode_length.tobytes() == results.records[1].episode_length.tobytes()


class Holds(FrozenLakeEnv):
    """Has something that cannot be copied."""

    def __init__(self, held):
        super().__init__()
        self.held = held


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("hold", [threading.Lock, partial(open, __file__, "rb")])
def test_what_cannot_be_copied_is_told_in_one_line_what_to_give(hold, workers):
    held = hold()
    with pytest.raises(UnsuitableEnvironment) as caught:
        rl.train(rl.QLearning(), Holds(held), steps=10, seeds=2, workers=workers)
    if hold is not threading.Lock:
        held.close()
    assert str(caught.value).startswith("Holds cannot be copied for each seed (TypeError: cannot pickle '_")
    assert str(caught.value).endswith("): give its id or 'file.py:Class', so that each run makes its own")


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        (0, "workers=0 is less than 1"),
        ("2", "workers='2' is not a whole number: write 2"),
        (-1, "workers=-1 is not a number of cores: write workers=os.cpu_count() for all"),
        (None, "workers=None is not a number of cores: write workers=os.cpu_count() for all"),
    ],
)
def test_bad_workers_are_named(workers, message):
    with pytest.raises(ParameterError) as caught:
        rl.train(rl.QLearning(), "FrozenLake-v1", steps=10, workers=workers)
    assert str(caught.value) == message


def test_the_agent_itself_does_not_learn():
    agent = rl.QLearning()
    rl.train(agent, "FrozenLake-v1", steps=100, seeds=2)
    with pytest.raises(rl.errors.NotLearned):
        _ = agent.q_


def test_a_class_is_answered_with_the_object_to_make(tmp_path):
    with pytest.raises(ParameterError, match=r"^QLearning is a class of agents: write QLearning\(\) to make one$"):
        rl.train(rl.QLearning, "FrozenLake-v1", steps=10)
    for learn in (rl.QLearning().learn, partial(rl.train, rl.QLearning())):
        with pytest.raises(
            ParameterError, match=r"^FrozenLakeEnv is a class of environments: write FrozenLakeEnv\(\) to"
        ):
            learn(FrozenLakeEnv, steps=10)
    with pytest.raises(
        CallError, match=r"^learn\(\) needs env; on a class, make an object first: Class\(\)\.learn\(\)$"
    ):
        rl.QLearning.learn("FrozenLake-v1", steps=10)


def test_two_agents_at_once_are_answered_with_the_way_to_compare_them():
    with pytest.raises(ParameterError, match=r"^train takes one agent: rlsuite\.compare\(agents, env, "):
        rl.train([rl.QLearning(), rl.Sarsa()], "FrozenLake-v1", steps=10)


def test_agent_and_environment_the_wrong_way_round():
    with pytest.raises(ParameterError, match=r"^QLearning\(\.\.\.\) is an agent, not an environment: write "):
        rl.train("FrozenLake-v1", rl.QLearning(), steps=10)


@pytest.mark.parametrize("nobody", ["QLearning", None])
def test_what_does_not_learn_step_by_step_is_refused(nobody):
    with pytest.raises(ParameterError, match=r"is not an agent that learns step by step from an environment; give one"):
        rl.train(nobody, "FrozenLake-v1", steps=10)


@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
def test_evaluations_are_discounted_and_undiscounted(loop):
    agent = rl.QLearning(gamma=0.9, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.5))
    record = agent.learn("rlsuite/GridGoal-v0", steps=2_000, seed=7, evaluate_every=1_000, loop=loop).record_
    assert record.evaluation == pytest.approx([81.0, 81.0])
    assert record.evaluation_return == pytest.approx([100.0, 100.0])
    assert record.end_probability == 1.0


def test_undiscounted_return_without_a_time_limit_and_without_an_end():
    record = rl.QLearning().learn("CliffWalking-v1", steps=1_000, seed=1, evaluate_every=500).record_
    assert np.isnan(record.evaluation_return).all()
    assert record.end_probability == 0.0
    record = rl.QLearning().learn("rlsuite/RiverSwim-v0", steps=500, seed=1, evaluate_every=500).record_
    assert record.end_probability is None  # it has no end


def test_the_time_limit_counts_for_the_undiscounted_return():
    env = gymnasium.make("CliffWalking-v1", max_episode_steps=30)
    record = rl.QLearning().learn(env, steps=1_000, seed=1, evaluate_every=1_000).record_
    assert record.evaluation_return.tolist() == pytest.approx([-30.0])
    assert record.evaluation[0] == pytest.approx(-100.0)


@pytest.mark.slow
def test_evaluation_by_episodes_has_both_returns():
    features = rl.approximation.TileCoding(n_tilings=2, bins=3, low=[-2.4, -2, -0.2, -2], high=[2.4, 2, 0.2, 2])
    agent = rl.approximation.SemiGradientSarsa(features=features, gamma=0.9)
    record = agent.learn("CartPole-v1", steps=300, seed=1, evaluate_every=300).record_
    assert record.evaluation_return[0] >= 8.0
    assert record.evaluation[0] < 10.0  # what 1 a step can be worth with gamma 0.9
    assert record.evaluation_return[0] == round(record.evaluation_return[0] * 20) / 20  # 20 episodes of whole steps
    assert record.end_probability is None


def test_results_are_shown_in_a_line():
    results = rl.train(rl.Sarsa(), "FrozenLake-v1", steps=1_000, seeds=3, evaluate_every=500, label="mine")
    assert results.agent == "mine"
    assert len(repr(results)) < 200
    assert repr(results).startswith("Results('mine', 'FrozenLake-v1', records=3, the first: seed=0, loop='compiled', ")
    assert repr(results.records[0]).startswith("Record(seed=0, loop='compiled', steps=1000, episodes=")


def test_several_environments_are_refused_with_the_way_to_do_it():
    with pytest.raises(ParameterError, match=r"one environment at a time; call train once for each, or .*FILE.toml"):
        rl.train(rl.QLearning(), ["FrozenLake-v1", "CliffWalking-v1"], steps=10)


def test_features_of_known_states_are_evaluated_exactly():
    """As the greedy policy of all states by the model: by ids, by cells, and through an estimator of others."""
    cells = rl.find_env("rlsuite/ObstacleGrid-v0", observe="cell")
    for env, features in (("rlsuite/ObstacleGrid-v0", OneHot()), (cells, RadialBasis(centres=3)), (cells, KMeans(8))):
        agent = rl.Sarsa(features=features, gamma=0.9, learning_rate=0.001)
        record = agent.learn(env, steps=200, seed=1, evaluate_every=200, loop="stepwise", regret=True).record_
        model = rl.MDP.from_env("rlsuite/ObstacleGrid-v0", gamma=0.9)
        seen = np.arange(model.n_states)[:, None] if env is not cells else cells.get_wrapper_attr("vectors")
        acting = model.legal.any(axis=1)
        policy = np.zeros(model.legal.shape)
        policy[acting] = agent.policy(seen[acting], model.legal[acting])
        assert record.evaluation[-1] == pytest.approx(model.start @ rl.evaluate_policy(model, policy))
        assert record.evaluation[-1] <= record.optimal_value
        assert 0.0 <= record.end_probability <= 1.0
