"""The default beside our single methods and quantecon, on problems of many kinds: ``planning.py --kinds``.

Processor seconds of all threads, the least of up to three solutions in one process, after a first one for what is
compiled or loaded; the tolerance is 1e-6, for quantecon 2e-6 of its own, which promises half of it. Ours are ended
after ``--limit`` seconds, and then marked with the bound they had. quantecon is checked against ours.
"""

import time
import warnings
from collections.abc import Callable
from math import exp, inf, log
from typing import Any

import numpy as np
from planning_kinds import KINDS, Kind, Problem

import rlsuite as rl
from rlsuite.errors import ConvergenceWarning

TOL = 1e-6
OURS = {
    "auto": "auto",
    "gauss_seidel": "g.-s.",
    "modified_policy_iteration": "m.p.i.",
    "policy_iteration": "p.i.",
    "value_iteration": "v.i.",
    "topological": "topol.",
    "prioritized_sweeping": "pr. sw.",
}
"""And how the table calls them."""
ENOUGH = 1.5  # seconds after which a solution is not repeated


def seconds_of(solve: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least processor seconds of up to three calls, and what the last one returned."""
    least, found = inf, None
    for _ in range(3):
        began = time.process_time()
        found = solve()
        least = min(least, time.process_time() - began)
        if least > ENOUGH:
            break
    return least, found


def tables(problem: Problem) -> tuple[Any, Any] | None:
    """Return P[s, a, s'] and R[s, a], if each row leads to all states: so users would give them to either package."""
    states, actions = problem.rows.shape[1], problem.n_actions
    if problem.rows.nnz < states * actions * states:
        return None
    return problem.rows.toarray().reshape(states, actions, states), problem.reward.reshape(states, actions)


def peer(problem: Problem, gamma: float) -> Any:
    """Return quantecon's form of a problem."""
    from quantecon.markov import DiscreteDP
    from scipy.sparse import csr_matrix

    if (both := tables(problem)) is not None:
        return DiscreteDP(both[1], both[0], gamma)
    states = problem.rows.shape[1]
    rows = csr_matrix((problem.rows.data, problem.rows.indices, problem.rows.indptr), shape=problem.rows.shape)
    numbers = np.repeat(np.arange(states), problem.n_actions), np.tile(np.arange(problem.n_actions), states)
    return DiscreteDP(problem.reward, rows, gamma, *numbers)


def compare(kind: Kind, limit: float) -> dict[str, float]:
    """Solve one problem by everything; print a line, and return seconds, infinite where nothing was certified."""
    problem = kind.build(kind.size)
    rows = problem.rows
    given = {"n_actions": problem.n_actions, "gamma": kind.gamma}
    if (both := tables(problem)) is not None:
        mdp = rl.MDP.from_arrays(*both, gamma=kind.gamma)
    else:
        mdp = rl.MDP.from_rows(rows.indptr, rows.indices, rows.data, problem.reward, **given)
    taken: dict[str, float] = {}
    words: list[str] = []
    value = np.zeros(mdp.n_states)
    for method in OURS:
        rl.solve(mdp, method, deadline=0.05)
        seconds, found = seconds_of(lambda method=method: rl.solve(mdp, method, tol=TOL, deadline=limit))
        value = found.value if method == "auto" else value
        taken[method] = seconds if found.converged else inf
        words.append(f"{seconds:8.4f}" if found.converged else f"{found.error_bound:7.0e}!")
    other = peer(problem, kind.gamma)
    other.solve(method="mpi", epsilon=1e3, max_iter=1)
    seconds, found = seconds_of(lambda: other.solve(method="mpi", epsilon=2 * TOL, max_iter=10**6))
    right = np.abs(found.v - value).max() < 10 * TOL * max(1.0, np.abs(value).max())
    taken["quantecon"] = seconds if right else inf
    words.append(f"{seconds:8.4f}{'' if right else '?'}")
    size = f"{mdp.n_states:7,} x {mdp.n_actions:<3} {kind.gamma:<6g}"
    print(f"{kind.name:<24}{size}{'  '.join(words)}", flush=True)
    return taken


def main(limit: float) -> int:
    """Compare all kinds; status 1 if the default is behind quantecon, or takes twice what another method takes."""
    names = "  ".join(f"{name:<8}" for name in (*OURS.values(), "quantecon"))
    print(f"{'kind':<24}{'states x actions, gamma':<24}{names}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = {kind.name: compare(kind, limit) for kind in KINDS}
    behind = [name for name, taken in found.items() if taken["auto"] > taken["quantecon"]]
    single = [method for method in OURS if method != "auto"]
    slow = [name for name, taken in found.items() if taken["auto"] > 2.0 * min(taken[method] for method in single)]
    both = [taken for taken in found.values() if max(taken["auto"], taken["quantecon"]) < inf]
    mean = exp(sum(log(taken["quantecon"] / taken["auto"]) for taken in both) / len(both))
    print(f"\nquantecon takes {mean:.1f} times as long, in the geometric mean of {len(both)} kinds")
    print(f"faster than auto: {', '.join(behind) or 'nowhere'}")
    print(f"auto takes more than twice our own best method: {', '.join(slow) or 'nowhere'}")
    return int(bool(behind or slow))
