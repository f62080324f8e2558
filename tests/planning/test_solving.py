import inspect
import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from rlsuite import planning
from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError, RlsuiteError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import BeliefPlan, FiniteHorizonSolution, Solution, methods, solve


def test_methods_are_discovered_for_each_kind_of_model(grid_goal, tiger):
    known = {"auto", "backward_induction", "gauss_seidel", "linear_programming", "modified_policy_iteration"}
    assert known | {"policy_iteration", "stochastic_shortest_path", "value_iteration"} <= set(methods(MDP))
    assert list(methods(MDP)) == sorted(methods(MDP))
    assert {"incremental_pruning", "pomcp", "qmdp", "reachable_beliefs", "sarsop"} <= set(methods(POMDP))
    assert set(methods(MDP)) & set(methods(POMDP)) == {"auto"}
    assert methods(grid_goal()) == methods(MDP)
    assert methods(tiger(0.9)) == methods(POMDP)
    # The page says of each method for discounted rewards when it is the fastest, and of some that they never are.
    page = (Path(planning.__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip(" `") for line in page.splitlines() if line.startswith("| `")]
    others = {"average_reward_policy_iteration", "backward_induction", "relative_value_iteration"}
    assert set(methods(MDP)) - others - {"stochastic_shortest_path"} <= set(rows)


def test_a_new_module_is_a_new_method(tmp_path, monkeypatch, grid_goal):
    (tmp_path / "wishful_thinking.py").write_text(
        "def wishful_thinking(mdp, *, tol, optimism=1.0):\n    '''Hope for the best.'''\n    return optimism\n"
    )
    import rlsuite.planning.mdp as package

    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    assert "wishful_thinking" in methods(MDP)
    assert solve(grid_goal(), "wishful_thinking", optimism=7.0) == 7.0


def test_every_method_is_public_documented_and_answers_to_its_name(
    grid_goal, gridworld_with_jumps, small_gridworld, tiger
):
    # An average is asked of a model without an end, and a total of one that is not discounted.
    suited = {"relative_value_iteration": gridworld_with_jumps, "stochastic_shortest_path": small_gridworld}
    # These approximate, or look one decision ahead: their bounds are as wide as they are.
    approximate = {"aems2", "pbvi", "perseus", "pomcp"}
    hidden = tiger(0.9)
    suited["goal_hsvi"] = hidden.replace(gamma=1.0, terminated=hidden.mdp.probability > 0.0)
    for usual in (grid_goal(), hidden):
        for name, function in methods(usual).items():
            model = suited.get(name, usual)
            assert getattr(planning, name) is function or (name == "auto" and usual is hidden)
            assert inspect.getdoc(function)
            given = {"horizon": 2} if "horizon" in inspect.signature(function).parameters else {}
            solution = solve(model, name, tol=1e3 if name in approximate else 1e-6, **given)
            assert isinstance(solution, BeliefPlan if isinstance(usual, POMDP) else Solution)
            assert solution.method == name or name == "auto"
            assert solution.seconds >= 0.0
            assert solution.converged


def test_default_method_and_the_kind_of_result(grid_goal):
    assert solve(grid_goal()).method == "policy_iteration"
    assert isinstance(solve(grid_goal(), "backward_induction", horizon=2), FiniteHorizonSolution)


def test_gamma_given_wins_over_the_model(grid_goal, tiger):
    mdp = grid_goal(gamma=1.0)
    np.testing.assert_allclose(solve(mdp, gamma=0.5).value, [25, 50, 100, 50, 100, 0], rtol=1e-12)
    assert mdp.gamma == 1.0
    assert solve(tiger(1.0), "reachable_beliefs", gamma=0.75).lower_bound == pytest.approx(1220 / 631, abs=1e-6)
    with pytest.raises(ParameterError, match="gamma"):
        solve(mdp, gamma=1.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            {"method": "value-iteraton"},
            r"unknown method 'value-iteraton'; did you mean 'value_iteration'\? \(choices: auto, ",
        ),
        ({"method": "evaluation"}, "unknown method 'evaluation'"),
        (
            {"method": "reachable_beliefs"},
            "'reachable_beliefs' solves a model of type POMDP, and this one is of type MDP",
        ),
        ({"max_iteration": 5}, "unknown option of auto 'max_iteration'; did you mean 'max_iterations'"),
        ({"method": "backward_induction"}, "backward_induction needs horizon="),
        ({"max_iterations": 0}, "max_iterations=0"),
        ({"max_iterations": 2.5}, "max_iterations=2.5"),
    ],
)
def test_mistaken_calls_are_answered_with_the_way_out(grid_goal, call, message):
    with pytest.raises(ParameterError, match=message):
        solve(grid_goal(), **call)


def test_a_horizon_needs_no_method(grid_goal):
    solution = solve(grid_goal(), horizon=2)
    assert solution.method == "backward_induction"
    np.testing.assert_array_equal(solution.value, solve(grid_goal(), "backward_induction", horizon=2).value)


def test_an_environment_that_declares_its_table_is_a_model():
    by_name = solve("FrozenLake-v1", gamma=0.9)
    env = gymnasium.make("FrozenLake-v1")
    np.testing.assert_array_equal(by_name.value, solve(MDP.from_env(env, gamma=0.9)).value)
    np.testing.assert_allclose(by_name.value, solve(env, "value_iteration", gamma=0.9, tol=1e-9).value, atol=1e-6)
    assert solve("rlsuite_envs:rlsuite/Tiger-v0", gamma=0.75).lower_bound == pytest.approx(1220 / 631, abs=1e-6)


@pytest.mark.parametrize(
    ("model", "gamma", "message"),
    [
        ("FrozenLake-v1", None, "discounted: write gamma=0.99"),
        (gymnasium.make("FrozenLake-v1"), None, "discounted: write gamma=0.99"),
        (3, None, "3 is neither an MDP nor a POMDP, nor an environment"),
        ("CartPole-v1", 0.9, "Ask for one: rl.tabulate(env, gamma=...)"),
        (gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda r: 2 * r), 0.9, "TransformReward"),
    ],
)
def test_what_is_no_model_is_answered_with_the_way_to_one(model, gamma, message):
    with pytest.raises(RlsuiteError, match=re.escape(message)):
        solve(model, gamma=gamma)


def test_an_environment_without_a_table_is_tabulated_on_request():
    class Count(gymnasium.Env):
        """To go on until 3."""

        observation_space, action_space = gymnasium.spaces.Discrete(4), gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.at = 0
            return 0, {}

        def step(self, action):
            self.at += int(action)
            return self.at, float(self.at == 3), self.at == 3, False, {}

    assert solve(Count(), tabulate=True).value_at_start == pytest.approx(0.99**2)
    assert solve(Count(), tabulate=True, gamma=0.5).value_at_start == pytest.approx(0.25)
    with pytest.raises(ParameterError, match="tabulate=True makes the model of an environment, and a model is given"):
        solve(MDP.from_env("FrozenLake-v1", gamma=0.5), tabulate=True)


def test_a_pomdp_needs_no_method(tiger):
    few = solve(tiger(1.0), horizon=3)
    assert few.method == "incremental_pruning"
    assert few.lower_bound == pytest.approx(68 / 25, abs=1e-9)
    assert len(few.stages) == 4
    endless = solve(tiger(0.75))
    assert (endless.method, endless.converged) == ("sarsop", True)
    assert endless.lower_bound == pytest.approx(1220 / 631, abs=1e-6)
    assert endless.act([0.5, 0.5]) == 0
    loose = solve(tiger(0.75), gap=0.5)
    assert 1e-3 < loose.gap <= 0.5
    assert solve(tiger(0.75), gap=0.5, horizon=3).converged
    with pytest.warns(ConvergenceWarning, match="1 trials.*max_iterations=1 reached"):
        assert solve(tiger(0.95), max_iterations=1).iterations == 1
    with pytest.raises(ModelError, match=r"gamma=1, and from state 0 no end can be reached.*horizon=100"):
        solve(tiger(1.0))
    with pytest.raises(ParameterError, match="gap=-1 is not a positive number"):
        solve(tiger(0.75), gap=-1, horizon=3)


def test_pomdp_is_told_which_methods_there_are(tiger):
    with pytest.raises(ParameterError, match=r"'value_iteration' solves .* MDP.* POMDP; its methods: .*\(model\.mdp\)"):
        solve(tiger(0.9), "value_iteration")
    with pytest.raises(ParameterError, match="unknown method 'reachable_belief'; did you mean 'reachable_beliefs'"):
        solve(tiger(0.9), "reachable_belief")
    with pytest.raises(ParameterError, match=r"reachable_beliefs takes no max_iterations; these do: .*auto.*sarsop"):
        solve(tiger(0.9), "reachable_beliefs", max_iterations=5)
    with pytest.raises(ParameterError, match=r"qmdp takes no gap; use tol=; these do: aems2, auto, .*sarsop, witness"):
        solve(tiger(0.9), "qmdp", gap=1)
    for method in ("incremental_pruning", "pbvi"):  # those that narrow a gap take it
        plan = solve(tiger(0.75), method, gap=3)
        assert 0.1 < plan.gap <= 3.0
    with pytest.raises(ParameterError, match="unknown option of sarsop 'gapp'; did you mean 'gap'"):
        solve(tiger(0.9), "sarsop", gapp=1)


def test_a_criterion_chooses_the_method(tiger):
    stairs = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.9, start=0)
    circle = MDP.from_successors([[0, 1], [1, None]], [[1, -5], [2, 0]], gamma=0.9)
    ends = MDP.from_successors([[1], [None]], [[5], [0]], gamma=0.9, start=0)
    assert solve(circle, criterion="average").method == "average_reward_policy_iteration"
    assert solve(ends, criterion="total").method == "stochastic_shortest_path"
    assert solve(stairs, criterion="discounted").value_at_start == pytest.approx(10.0)
    assert solve(stairs, criterion="total", horizon=3).value_at_start == pytest.approx(7.0)
    assert solve(stairs, horizon=3).method == "backward_induction"
    assert solve(tiger(0.75), criterion="total", horizon=1).value([0.5, 0.5]) == pytest.approx(-1.0)
    for asked, words in [
        (lambda: solve(stairs, criterion="mean"), "unknown criterion 'mean'"),
        (lambda: solve(stairs, "average"), "unknown method 'average'.*; write criterion='average'"),
        (lambda: solve(stairs, "value_iteration", criterion="total"), "chooses the method: leave it out, or method="),
        (lambda: solve(stairs, criterion="discounted", gamma=1), "needs gamma below 1, and it is 1: pass gamma=0.99"),
        (lambda: solve(stairs, criterion="total", gamma=0.5), "does not discount: leave gamma=0.5 out"),
        (lambda: solve(stairs, criterion="average", horizon=2), "looks at the long run: leave horizon out"),
        (lambda: solve(tiger(0.9), criterion="average"), "the states of this one are hidden"),
    ]:
        with pytest.raises(ParameterError, match=words):
            asked()


@pytest.mark.parametrize("model", [None, np.eye(2)])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(ParameterError, match="neither an MDP nor a POMDP, nor an environment"):
        solve(model)
    for name in planning.__all__:  # and no public function answers with an error of Python's own
        function = getattr(planning, name)
        for given in ((3,), (3, 4), ()) if inspect.isfunction(function) and name != "write_plan" else ():
            with pytest.raises(RlsuiteError):
                function(*given)


def test_a_deadline_of_0_leaves_a_true_bound(tiger):
    rng = np.random.default_rng(6)
    mdp = MDP.from_arrays(rng.dirichlet(np.ones(150), (150, 2)), rng.random((150, 2)), gamma=0.99)
    optimum = solve(mdp, "policy_iteration").value
    for method in ("auto", "gauss_seidel", "modified_policy_iteration", "policy_iteration", "value_iteration"):
        with pytest.warns(ConvergenceWarning, match="deadline=0"):
            found = solve(mdp, method, deadline=0)
        assert not found.converged
        assert np.abs(found.value - optimum).max() <= found.error_bound < np.inf
    for method in ("auto", "sarsop", "incremental_pruning"):
        with pytest.warns(ConvergenceWarning, match="deadline=0"):
            plan = solve(tiger(0.95), method, deadline=0)
        assert plan.lower_bound <= 19.3713683559 <= plan.upper_bound
