"""Planners write ``**limits``, and show and refuse what they would if each option stood in their signature."""

import inspect
from typing import Unpack

import pytest

from rlsuite.errors import CallError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import Limits, iterative_policy_evaluation, methods
from rlsuite.planning.limits import DEFAULTS, TimeLimits, Tolerances, takes_limits

MACHINE = MDP.from_successors([[0, 1], [None, None]], [[-1, 5], [0, 0]], gamma=0.5)
HIDDEN = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)

EACH = pytest.mark.parametrize(
    ("model", "name", "method"),
    [(model, name, method) for model in (MACHINE, HIDDEN) for name, method in methods(model).items()],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)

WITHOUT = {
    "backward_induction": {"max_iterations", "progress"},
    "linear_programming": {"max_iterations"},
    "blind": {"max_iterations"},
    "pbvi": {"max_iterations"},
    "pomcp": {"max_iterations"},
    "qmdp": {"max_iterations"},
    "reachable_beliefs": {"max_iterations", "progress"},
}

MOST_ITERATIONS = {
    "aems2": None,
    "auto": None,
    "average_reward_policy_iteration": 1_000,
    "enumeration": 10_000,
    "fast_informed_bound": 10_000_000,
    "gauss_seidel": 100_000,
    "incremental_pruning": 10_000,
    "modified_policy_iteration": 100_000,
    "perseus": 10_000,
    "policy_iteration": 1_000,
    "prioritized_sweeping": 1_000_000,
    "relative_value_iteration": 1_000_000,
    "sarsop": None,
    "stochastic_shortest_path": 100_000,
    "topological": 1_000_000,
    "value_iteration": 1_000_000,
    "witness": 10_000,
}


def defaults_of(function) -> dict[str, object]:
    listed = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in listed if one.kind is one.KEYWORD_ONLY}


def lacks(model, name) -> set[str]:
    return WITHOUT.get(name, set())


def test_the_signature_of_value_iteration():
    shown = str(inspect.signature(methods(MDP)["value_iteration"]))
    options = "tol: float = 1e-06, rtol: float | None = None, max_iterations: int = 1000000"
    rest = "deadline: float | None = None, progress: bool = False"
    assert shown == f"(mdp: rlsuite.models.mdp.MDP, *, {options}, {rest}) -> rlsuite.planning.solution.Solution"


@EACH
def test_every_planner_shows_its_options_and_defaults(model, name, method):
    expected = {"tol": 1e-6, "rtol": None, "deadline": None, "progress": False}
    if name in {"aems2", "pomcp"}:
        expected["progress"] = None
    shown = defaults_of(method)
    expected["max_iterations"] = MOST_ITERATIONS.get(name, shown.get("max_iterations"))  # a new one may have any
    assert {option: shown[option] for option in DEFAULTS if option in shown} == {
        option: value for option, value in expected.items() if option not in lacks(model, name)
    }
    assert "limits" not in inspect.signature(method).parameters


@EACH
def test_an_unknown_keyword_is_answered_before_anything_else(model, name, method):
    with pytest.raises(CallError, match=rf"^{name}\(\) has no parameter 'theta'; did you mean tol=0\.1\?"):
        method(model, theta=0.1)


@EACH
def test_what_a_planner_does_not_have_is_refused(model, name, method):
    for option in lacks(model, name):
        with pytest.raises(CallError, match=rf"^{name}\(\) has no parameter '{option}'"):
            method(model, **{option: 1})


def test_options_are_given_by_keyword_only():
    with pytest.raises(CallError, match=r"takes values by name after mdp: write value_iteration\(mdp, tol=1e-06\)"):
        methods(MDP)["value_iteration"](MACHINE, 1e-6)
    assert list(inspect.signature(iterative_policy_evaluation).parameters)[:2] == ["mdp", "policy"]


def test_the_function_is_given_every_option_and_what_was_passed_wins():
    @takes_limits(max_iterations=7)
    def method(model: MDP, *, initial: float = 0.0, **limits: Unpack[Limits]) -> Limits:
        return limits

    assert method(MACHINE, tol=2.0) == {**DEFAULTS, "max_iterations": 7, "tol": 2.0}
    assert method(MACHINE, max_iterations=3, initial=1.0) == {**DEFAULTS, "max_iterations": 3}
    assert list(defaults_of(method)) == ["initial", *DEFAULTS]
    assert method.__name__ == "method"


def test_an_option_that_a_planner_documents_itself_stands_among_the_others():
    @takes_limits()
    def method(model: MDP, *, max_iterations: int = 5, **limits: Unpack[TimeLimits]) -> TimeLimits:
        return limits

    assert defaults_of(method) == {**DEFAULTS, "max_iterations": 5}
    assert list(defaults_of(method)) == list(DEFAULTS)
    assert "max_iterations" not in method(MACHINE)


def test_limits_documents_each_key_and_its_type():
    documented = inspect.getdoc(Limits)
    for name in DEFAULTS:
        assert f"\n{name} : " in documented
    assert Limits.__annotations__.keys() == DEFAULTS.keys()
    assert Tolerances.__annotations__.keys() < TimeLimits.__annotations__.keys() < Limits.__annotations__.keys()


def test_a_deadline_that_never_comes_is_none():
    """No method looks for an end that it never sees: `pomcp` takes its default number of simulations, say."""
    few = {"backward_induction": 2, "finite_horizon_search": 2, "reachable_beliefs": 2}
    suited = {"stochastic_shortest_path": MACHINE.replace(gamma=1.0), "goal_hsvi": HIDDEN.replace(gamma=1.0)}
    suited["relative_value_iteration"] = MDP.from_successors([[0, 1], [0, 1]], [[-1, 5], [0, 0]], gamma=0.5)
    for model in (MACHINE, HIDDEN):
        for name, method in methods(model).items():
            if "deadline" not in inspect.signature(method).parameters:
                continue
            usual = suited.get(name, model)
            given = {"horizon": few[name]} if name in few else {}
            found, same = (method(usual, deadline=seconds, tol=1e3, **given) for seconds in (float("inf"), None))
            assert (found.method, found.iterations) == (same.method, same.iterations)
