"""Calls with an unknown keyword: what is probably meant, and what is not repeated in full."""

import inspect

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.core.keywords import _models, says_what_to_write
from rlsuite.errors import CallError, ParameterError


@says_what_to_write
def plan(mdp, *, tol=1e-6):
    return mdp, tol


def test_known_keywords_are_handed_on():
    assert plan(3, tol=1) == (3, 1)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"tolerance": 1}, "; did you mean tol=1?"),
        ({"gamma": 0.9}, "; the discount factor belongs to the model: mdp.replace(gamma=0.9)"),
        ({"tolerance": "x" * 50}, "; did you mean tol=...?"),
        ({"xyz": 1}, ""),
    ],
)
def test_an_unknown_keyword_is_answered_with_what_is_meant(given, hint):
    with pytest.raises(CallError) as caught:
        plan(3, **given)
    (name,) = given
    assert str(caught.value) == f"plan() has no parameter {name!r}{hint} (parameters: mdp, tol)"


def test_keywords_of_environments_are_not_taken_for_ours_unless_they_are_refused():
    agent = rl.QLearning().learn("FrozenLake-v1", steps=10, seed=1)
    assert rl.evaluate(agent, "FrozenLake-v1", episodes=2, seed=1, is_slippery=False).returns.size == 2
    with pytest.raises(CallError, match="no parameter 'n_eval_episodes'; did you mean episodes=3"):
        rl.evaluate(agent, "FrozenLake-v1", n_eval_episodes=3)
    with pytest.raises(ParameterError, match="unknown keyword 'slippery'"):
        rl.evaluate(agent, "FrozenLake-v1", slippery=True)


def test_a_value_without_its_name_is_answered_with_the_call_that_works():
    agent, mdp = rl.QLearning(), rl.MDP.from_env("FrozenLake-v1", gamma=0.9)
    calls = {
        "learn('FrozenLake-v1', steps=5)": lambda: agent.learn("FrozenLake-v1", 5),
        "learn('FrozenLake-v1', loop='stepwise', episodes=5)": lambda: agent.learn(
            "FrozenLake-v1", "stepwise", episodes=5
        ),
        "learn('FrozenLake-v1', steps=5, seed=3)": lambda: agent.learn("FrozenLake-v1", 5, 3),
        "train(agent, 'FrozenLake-v1', steps=5)": lambda: rl.train(agent, "FrozenLake-v1", 5),
        "train(agent, 'FrozenLake-v1', steps=5.0, seeds=[3])": lambda: rl.train(agent, "FrozenLake-v1", 5.0, [3]),
        "solve(mdp, 'value_iteration', tol=0.001)": lambda: rl.solve(mdp, "value_iteration", 0.001),
        "tabulate('FrozenLake-v1', gamma=0.9)": lambda: rl.tabulate("FrozenLake-v1", 0.9),
        "MDP.from_env('FrozenLake-v1', gamma=0.9)": lambda: rl.MDP.from_env("FrozenLake-v1", 0.9),
        "to_env(render_mode='ansi')": lambda: mdp.to_env("ansi"),
        "QLearning(gamma=0.9)": lambda: rl.QLearning(0.9),
    }
    for written, call in calls.items():
        with pytest.raises(CallError) as caught:
            call()
        sentence, advice = str(caught.value).split(": write ")
        assert advice.replace("train(agent, ", "train(agent, ").replace("model", "mdp") == written
        assert "() takes values by name" in sentence
        owner = "agent" if written.startswith("learn") else "mdp" if written.startswith("to_env") else "rl"
        eval(f"{owner}.{written}", {"rl": rl, "agent": agent, "mdp": mdp})
    with pytest.raises(CallError, match=r"^learn\(\) takes values by name after env: steps=, episodes=, seed=, loop="):
        agent.learn("FrozenLake-v1", object())
    with pytest.raises(CallError, match=r"^status_of\(\) takes folder only, not 2 values$"):
        rl.experiments.status_of("runs", 30)


def test_every_public_function_answers_a_value_without_its_name():
    """But for Gymnasium's `reset`."""
    packages = (rl, rl.approximation, rl.experiments, rl.inference, rl.models, rl.planning, rl.plotting, rl.rendering)
    public = {id(one): one for package in packages for one in (getattr(package, name) for name in package.__all__)}
    functions = {one for one in public.values() if inspect.isfunction(one)}
    for kind in filter(inspect.isclass, public.values()):
        members = (
            getattr(kind, name) for name in dir(kind) if name[0] != "_" and name != "reset"
        )  # that is Gymnasium's
        functions |= {getattr(one, "__func__", one) for one in members if inspect.isroutine(one)}
    silent = set()
    for function in filter(inspect.isfunction, functions):
        parameters = inspect.signature(function).parameters.values()
        by_place = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        if function.__module__.startswith("rlsuite") and any(one.kind is one.KEYWORD_ONLY for one in parameters):
            owner = [rl.MDP] if by_place[0].name == "cls" else [None]
            with pytest.raises(TypeError) as caught:
                function(*(owner * len(by_place)), None)
            if caught.type is not CallError:
                silent.add(function.__qualname__)
    assert (
        silent - {"compiled", "Beliefs.joint", "Solution.act", "BeliefPlan.act", "BeliefPlan.simulate"} == set()
    )  # a decorator, and every step


PLANNERS = (
    "value_iteration",
    "policy_iteration",
    "auto",
    "gauss_seidel",
    "sarsop",
    "qmdp",
    "occupancy",
    "simulate_beliefs",
)
FILTERS = ("filter", "smooth", "decode", "forward", "backward", "log_likelihoods", "path_log_probability")


@pytest.mark.parametrize("wrong", ["FrozenLake-v1", 3, None, np.eye(2), {}])
def test_what_takes_a_model_takes_nothing_else(wrong):
    """Also those that are public later: the first parameter of each, if it is annotated as a model."""
    checked = []
    for module in (rl.planning, rl.inference):
        for name in module.__all__:
            function = getattr(module, name)
            if not inspect.isfunction(function) or not _models(function):
                continue
            checked.append(name)
            taken = inspect.signature(function).parameters.values()
            args = [wrong for one in taken if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
            needed = {one.name: 1 for one in taken if one.default is one.empty and one.kind is one.KEYWORD_ONLY}
            with pytest.raises(CallError, match=rf"^{function.__name__}\(\): \w+ is .*, (not|neither) an? \w+"):
                function(*args, **needed)
    assert {*PLANNERS, *FILTERS} <= {*checked}
    assert len(checked) > 40


def test_what_to_write_for_a_model():
    mdp = rl.MDP.from_successors([[0]], [1], gamma=0.9)
    solution = rl.solve(mdp)
    for call, said in (
        (
            lambda: rl.planning.value_iteration("Taxi-v4"),
            "value_iteration(): mdp is 'Taxi-v4', not an MDP; write MDP.from_env('Taxi-v4', gamma=0.99)",
        ),
        (
            lambda: rl.planning.evaluate_policy(solution, mdp),
            "evaluate_policy(): mdp is a Solution, not an MDP; the order is evaluate_policy(mdp, policy)",
        ),
        (
            lambda: rl.planning.qmdp(mdp),
            "qmdp(): pomdp is an MDP, not a POMDP; for arrays, write POMDP.from_arrays(P, R, O, gamma=0.9)",
        ),
        (
            lambda: rl.inference.filter(object(), [0]),
            "filter(): model is an object, not an HMM; for arrays, write HMM([0.5, 0.5], ",
        ),
    ):
        with pytest.raises(CallError) as raised:
            call()
        assert str(raised.value).startswith(said)
