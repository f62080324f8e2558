import inspect

import numpy as np
import pytest

from rlsuite import planning
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import BeliefSolution, FiniteHorizonSolution, Solution, methods, solve


def test_methods_are_discovered_for_each_kind_of_model(grid_goal, tiger):
    assert list(methods(MDP)) == ["backward_induction", "policy_iteration", "value_iteration"]
    assert list(methods(POMDP)) == ["reachable_beliefs"]
    assert methods(grid_goal()) == methods(MDP)
    assert methods(tiger(0.9)) == methods(POMDP)


def test_a_new_module_is_a_new_method(tmp_path, monkeypatch, grid_goal):
    (tmp_path / "wishful_thinking.py").write_text(
        "def wishful_thinking(mdp, *, tol, optimism=1.0):\n    '''Hope for the best.'''\n    return optimism\n"
    )
    import rlsuite.planning.mdp as package

    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    assert "wishful_thinking" in methods(MDP)
    assert solve(grid_goal(), "wishful_thinking", optimism=7.0) == 7.0


def test_every_method_is_public_documented_and_answers_to_its_name(grid_goal, tiger):
    for model in (grid_goal(), tiger(0.9)):
        for name, function in methods(model).items():
            assert getattr(planning, name) is function
            assert inspect.getdoc(function)
            solution = (
                solve(model, name, horizon=2)
                if "horizon" in inspect.signature(function).parameters
                else solve(model, name)
            )
            assert isinstance(solution, (Solution, BeliefSolution))
            assert solution.method == name
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
            r"unknown method 'value-iteraton'; did you mean 'value_iteration'\? \(choices: b",
        ),
        ({"method": "evaluation"}, "unknown method 'evaluation'"),
        ({"method": "reachable_beliefs"}, "'reachable_beliefs' solves a model of type POMDP, and this is of type MDP"),
        ({"horizon": 5}, "policy_iteration takes no horizon; these do: backward_induction"),
        ({"max_iteration": 5}, "unknown option of policy_iteration 'max_iteration'; did you mean 'max_iterations'"),
        ({"method": "backward_induction"}, "backward_induction needs horizon="),
        ({"max_iterations": 0}, "max_iterations=0"),
        ({"max_iterations": 2.5}, "max_iterations=2.5"),
    ],
)
def test_mistaken_calls_are_answered_with_the_way_out(grid_goal, call, message):
    with pytest.raises(ParameterError, match=message):
        solve(grid_goal(), **call)


def test_pomdp_is_told_which_methods_there_are(tiger):
    with pytest.raises(
        ParameterError, match=r"'policy_iteration' solves .* MDP.* POMDP; its methods: reachable_beliefs"
    ):
        solve(tiger(0.9))
    with pytest.raises(ParameterError, match="unknown method 'reachable_belief'; did you mean 'reachable_beliefs'"):
        solve(tiger(0.9), "reachable_belief")
    with pytest.raises(ParameterError, match="unknown option of reachable_beliefs 'max_iterations'"):
        solve(tiger(0.9), "reachable_beliefs", max_iterations=5)


@pytest.mark.parametrize("model", ["FrozenLake-v1", None, np.eye(2)])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(ParameterError, match=r"neither an MDP nor a POMDP.*MDP\.from_env"):
        solve(model)
