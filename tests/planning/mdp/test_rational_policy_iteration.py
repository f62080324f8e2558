"""The optimum as fractions, against another exact elimination, and what it says about ties."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import ExactSolution, Solution, solve
from rlsuite.planning.mdp import rational_policy_iteration as module

EXACT = "rational_policy_iteration"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_fractions_are_the_optimum(random_mdps, exact_value, exact_q, data):
    mdp = data.draw(random_mdps())
    solution = solve(mdp, EXACT, rtol=0.0, tol=1e9)
    assert list(solution.fractions) == exact_value(mdp)
    q = exact_q(mdp, exact_value(mdp))
    for s, optimum in enumerate(solution.fractions):
        assert solution.optimal_actions[s].tolist() == [one is not None and one == optimum for one in q[s]]
        assert solution.value[s] == float(optimum)


def test_a_model_of_many_states_whose_first_policy_is_not_optimal(monkeypatch, exact_value):
    rng = np.random.default_rng(0)
    mdp = MDP.from_arrays(rng.dirichlet(np.ones(12), (12, 3)), rng.normal(size=(12, 3)), gamma=0.99)
    bad = replace(solve(mdp), policy=solve(mdp.replace(reward=-mdp.reward)).policy)  # of the worst policy
    monkeypatch.setattr(module, "policy_iteration", lambda *_, **__: bad)
    solution = solve(mdp, EXACT)
    assert list(solution.fractions) == exact_value(mdp)
    assert solution.iterations > 1


def test_equations_that_are_singular_modulo_a_prime():
    prime = module.PRIMES[0]
    numerators, denominator = module._solved([[prime, 0, 3], [1, 7, 1]], lambda: None)
    assert [Fraction(one, denominator) for one in numerators] == [Fraction(3, prime), Fraction(prime - 3, 7 * prime)]
    assert module._solved([], lambda: None) == ([], 1)


def test_ties_are_ties():
    """0.1 + 0.2 is not 0.3 in doubles, so one of these actions is better; two halves are one."""
    near = MDP.from_arrays([[[1.0]] * 2], [[0.1 + 0.2, 0.3]], gamma=0.5)
    assert solve(near).optimal_actions.tolist() == [[True, True]]
    assert solve(near, EXACT).optimal_actions.tolist() == [[True, False]]
    same = MDP.from_arrays([[[1.0]] * 2], [[0.5, 0.5]], gamma=0.5)
    assert solve(same, EXACT).optimal_actions.tolist() == [[True, True]]


def test_it_is_kept_and_computed_again(tmp_path):
    mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.8)
    solution = solve(mdp, EXACT)
    solution.save(tmp_path / "plan.npz")
    again = rl.load(tmp_path / "plan.npz")
    assert isinstance(again, ExactSolution)
    assert again.fractions == solution.fractions
    assert again.optimal_actions.tolist() == solution.optimal_actions.tolist()


def test_a_deadline_leaves_double_precision():
    rng = np.random.default_rng(1)
    mdp = MDP.from_arrays(rng.dirichlet(np.ones(120), (120, 2)), rng.normal(size=(120, 2)), gamma=0.9)
    with pytest.warns(ConvergenceWarning, match="deadline"):
        solution = solve(mdp, EXACT, deadline=0.05, tol=1e-15, rtol=0.0)
    assert type(solution) is Solution


def test_mistakes():
    mdp = MDP.from_successors([[0]], [[1.0]], gamma=0.5)
    big = MDP.from_successors([[s] for s in range(201)], [[1.0]] * 201, gamma=0.5)
    pomdp = POMDP.from_arrays([[[1.0]]], [[1.0]], [[1.0]], gamma=0.5)
    for model, options, message in (
        (big, {}, "is for at most 200 states, and this model has 201"),
        (mdp, {"horizon": 3}, "rational_policy_iteration takes no horizon"),
        (pomdp, {}, "solves a model of type MDP"),
        (mdp.replace(gamma=1.0), {}, "rational_policy_iteration needs gamma < 1"),
    ):
        with pytest.raises(ParameterError, match=message):
            solve(model, EXACT, **options)
    with pytest.raises(ParameterError, match=r'write solve\(mdp, "rational_policy_iteration"\)'):
        solve(mdp, exact=True)
