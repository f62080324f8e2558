import pickle

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents.planners import Planner
from rlsuite.core.described import describe
from rlsuite.errors import NotLearned, ParameterError, UnsuitableEnvironment, UntrustedTable
from rlsuite.experiments import Experiment
from rlsuite.registry import build_agent, learner_classes

GRID = "rlsuite/ObstacleGrid-v0"
METHODS = sorted(name for name, kind in learner_classes().items() if issubclass(kind, Planner))
GAINS = {"AverageRewardPolicyIteration", "RelativeValueIteration"}


def made(name, **options):
    return build_agent({"name": name, "gamma": 0.9 if name != "StochasticShortestPath" else 1.0, **options})


def test_a_table_that_step_does_not_follow_is_refused():
    """Its table says that action 1 wins, and its step lets action 0 win."""

    class Liar(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(2)
        action_space = gymnasium.spaces.Discrete(2)
        initial_state_distrib = np.array([0.5, 0.5])

        def __init__(self):
            self.P = {s: {a: [(1.0, 1 - s, float(a), True)] for a in range(2)} for s in range(2)}

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.s = int(self.np_random.random() >= 0.5)
            return self.s, {}

        def step(self, action):
            self.np_random.random()
            self.s = 1 - self.s
            return self.s, 1.0 - action, True, False, {}

    with pytest.raises(UntrustedTable, match=r"ValueIteration plans on a table .* rlsuite\.solve\(rlsuite\.tabulate\("):
        made("ValueIteration").learn(Liar(), steps=20)


def test_methods_are_found_and_no_agent_loses_its_name():
    assert {"Planner", "ValueIteration", "PolicyIteration", "GaussSeidel", "LinearProgramming"} <= set(METHODS)
    assert learner_classes()["PrioritizedSweeping"] is rl.PrioritizedSweeping
    assert {"Auto", "Reference"}.isdisjoint(METHODS)


@pytest.mark.cases("ValueIteration", "LinearProgramming")
@pytest.mark.parametrize("name", sorted({*METHODS} - GAINS))
def test_each_finds_the_optimum_and_is_kept(name, tmp_path):
    planner = made(name).learn(GRID, steps=200, evaluate_every=50, seed=7, regret=True)
    record = planner.record_
    assert record.evaluation_time.tolist() == [50, 100, 150, 200]
    assert record.evaluation[-1] == pytest.approx(record.optimal_value)
    planner.save(tmp_path / "planner.npz")
    for twin in (rl.load(tmp_path / "planner.npz"), pickle.loads(pickle.dumps(planner))):
        assert describe(twin) == describe(planner)
        assert twin.q_.tobytes() == planner.q_.tobytes()
        assert twin.act(0) == planner.act(0)
        assert repr(twin.solution_) == repr(planner.solution_)


def test_the_average_reward_is_found_as_by_solve():
    """Two circles, of 1 and of 2 per step; from the first one may go to the second, for 5 less."""
    mdp = rl.MDP.from_successors([[0, 1], [1, 0]], [[1, -5], [2, 0]], gamma=0.5, start=0)
    for name in sorted(GAINS):
        planner = made(name).learn(mdp.to_env(), steps=500, seed=1)
        assert planner.solution_.gain_at_start == pytest.approx(2.0, abs=1e-5)
        assert [planner.act(state) for state in range(2)] == [1, 0]


def test_errors_fall_with_the_sweeps():
    planner = made("ValueIteration").learn(GRID, steps=12, evaluate_every=1, regret=True)
    error = planner.record_.optimal_value - planner.record_.evaluation
    assert error[0] > 0.0
    assert error[-1] == pytest.approx(0.0)
    solution = rl.solve(rl.MDP.from_env(GRID, gamma=0.9), "value_iteration")
    assert planner.solution_.converged
    assert planner.solution_.iterations <= solution.iterations
    np.testing.assert_array_equal(planner.policy().argmax(axis=1), np.maximum(solution.policy, 0))


def test_beside_learners_in_a_file(tmp_path):
    file = tmp_path / "both.toml"
    file.write_text(
        "steps = 60\nseeds = 2\nevaluate_every = 20\nenvironments = [{ id = 'FrozenLake-v1' }]\n"
        "agents = [{ name = 'value-iteration', gamma = 0.9 }, { name = 'Sarsa', gamma = 0.9 }]\n"
    )
    planned, learned = Experiment.read(file).run(tmp_path / "results")["FrozenLake-v1"]
    assert planned.agent == "ValueIteration"
    assert planned.evaluation_time.tolist() == learned.evaluation_time.tolist() == [20, 40, 60]
    assert planned.records[0].evaluation[-1] == pytest.approx(planned.records[0].optimal_value)


def test_nonsense_is_refused():
    with pytest.raises(ParameterError, match="did you mean 'value_iteration'"):
        Planner(method="value_iteraton")
    with pytest.raises(NotLearned, match="has not planned yet"):
        Planner().act(0)
    with pytest.raises(UnsuitableEnvironment, match="CartPole-v1: it has no transition table"):
        Planner().learn("CartPole-v1", steps=3)
    with pytest.raises(UnsuitableEnvironment, match="its states are hidden"):
        Planner().learn("rlsuite/Tiger-v0", steps=3)
    corridor = rl.MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    planner = Planner(gamma=0.9).learn(corridor.to_env(), steps=3)
    with pytest.raises(ParameterError, match="is terminal"):
        planner.act(2)
    with pytest.raises(ParameterError, match="action_mask"):
        planner.act(1, action_mask=[1, 0])
