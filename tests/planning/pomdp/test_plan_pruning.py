"""Plans keep the vectors that win somewhere; on request, as few as keep the gap."""

import numpy as np
import pytest

from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import AlphaVectorSolution, simulate_beliefs, solve
from rlsuite.planning.pomdp.solution import values_at


def machine(**options) -> POMDP:
    """A machine that runs, is worn or broken; it is used, looked at, or repaired."""
    seen = [[[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], [[0.9, 0.1], [0.4, 0.6], [0.05, 0.95]], [[0.5, 0.5]] * 3]
    wear = [[0.85, 0.12, 0.03], [0.0, 0.8, 0.2], [0.0, 0.0, 1.0]]
    given = {
        "transitions": [wear, wear, [[1.0, 0.0, 0.0]] * 3],
        "rewards": [[10, 6, 0], [9, 5, -1], [-8, -8, -15]],
        "observations": seen,
        "order": "ass",
        "gamma": 0.95,
        "start": [1, 0, 0],
    } | options
    return POMDP.from_arrays(given.pop("transitions"), given.pop("rewards"), given.pop("observations"), **given)


def where_each_wins(plan: AlphaVectorSolution) -> set[int]:
    """The vectors that are the best at one of many beliefs."""
    corners = np.eye(3)[np.random.default_rng(0).integers(0, 3, size=5_000)]
    inside = np.random.default_rng(1).dirichlet([0.5] * 3, size=50_000)
    return set(values_at(plan.alpha_vectors, np.concatenate([corners, inside])).argmax(axis=1).tolist())


@pytest.mark.cases("sarsop")
@pytest.mark.parametrize("method", ["sarsop", "pbvi", "perseus", "witness"])
def test_every_vector_wins_somewhere(method):
    plan = solve(machine(gamma=0.8), method, tol=1.0)
    assert isinstance(plan, AlphaVectorSolution)
    assert plan.value(plan.pomdp.start) >= plan.lower_bound
    assert len(where_each_wins(plan)) >= 0.7 * plan.n_vectors  # some win in very few beliefs


def test_the_fewest_vectors_keep_the_gap(monkeypatch):
    all_that_win = solve(machine(), gap=1.0, prune="winning")
    few = solve(machine(), gap=1.0, prune="fewest")
    for late in (False, True):  # by default, if they are found in a tenth of the time
        monkeypatch.setattr(CompilingClock, "late", property(lambda clock, late=late: late and clock.name == "prune"))
        n_vectors = solve(machine(), gap=1.0).n_vectors
        assert n_vectors == (all_that_win if late else few).n_vectors
    assert solve(machine(gamma=0.8), "qmdp").n_vectors == 3
    assert solve(machine(gamma=0.8), gap=1.0, horizon=2).horizon == 2
    assert isinstance(all_that_win, AlphaVectorSolution)
    assert isinstance(few, AlphaVectorSolution)
    assert few.converged
    assert few.n_vectors <= all_that_win.n_vectors / 3
    assert few.upper_bound - few.value(few.pomdp.start) <= 1.0
    # what the links promise is what acting in beliefs earns, at least
    earned = simulate_beliefs(few.pomdp, few, episodes=400, steps=150, seed=1).returns
    assert np.mean(earned) + 4.0 * np.std(earned) / 20.0 >= few.lower_bound
    assert few.successors is not None
    assert few.successors.min() >= 0

    model, ending = machine(gamma=0.8), machine(gamma=1.0, terminated=[False, False, True])
    mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.8)
    for asked, words in [
        (lambda: solve(mdp, prune="fewest"), "an MDP has none"),
        (lambda: solve(model, horizon=2, prune="fewest"), "a plan for a number of steps"),
        (lambda: solve(model, "qmdp", prune="fewest"), "upper bounds"),
        (lambda: solve(model, "reachable_beliefs", horizon=2, prune="fewest"), "a plan of reachable_beliefs has none"),
        (lambda: solve(ending, gap=1.0, prune="fewest"), "needs gamma below 1, and it is 1"),
        (lambda: solve(model, prune="all"), "choices: fewest, winning"),
    ]:
        with pytest.raises(ParameterError, match=words):
            asked()
