"""Certified bounds on total reward, where nothing contracts.

Let pi be a policy with continuation probabilities C_pi, and h >= 0 a vector with h - C_pi h >= q > 0 in every state.
Then pi comes to an end with probability 1, and (I - C_pi)^-1 1 <= h / q: an upper bound on how many steps it takes. So
if T_pi V - V >= -e in every state,

    V_pi >= V - (e / q) h =: L.

And if U >= r(s, a) + sum_s' c(s' | s, a) U(s') for every action, then U >= V_pi' for every policy pi' that comes to an
end, hence U >= V* (Bertsekas & Tsitsiklis 1991). The optimal value for rewards r + eta is such a U, with eta to spare
for rounding and for not being quite optimal; it exceeds V* by about eta times the number of steps that are left.

All three inequalities are checked on the computed numbers, with the rounding error of the check on the safe side
(`Lookahead.rounding`). Where a check fails, the bound is infinite.

Both bounds suffer where many actions are equally good, and some of the policies made of these take millions of steps:
rounding errors may add up over all of them. So there is a second way, for the end of a method that gets no further.
Among actions that are equal up to rounding, the policy takes those that may bring the end nearer. And U need not
exceed the least constant u >= 0 with

    r(s, a) <= u Pr[the episode ends | s, a]    for every action:

U = u satisfies the inequality above, because the probabilities of a row add up to 1. Nothing is rounded there that
could add up, so long as they do, up to rounding; else there is no such constant. That every policy gets the same as
long as it comes to the end, and that the best get there surely, are the usual reasons for many equal actions.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.clock import Clock
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray
from rlsuite.models.validation import row_sums
from rlsuite.planning.certificate import largest_change
from rlsuite.planning.operators import EPS, Lookahead
from rlsuite.planning.total_reward.endings import soonest_end
from rlsuite.planning.total_reward.improvement import Engine, rewarded, with_linear_systems

ATTEMPTS = 30
"""Iterations, at most, that are spent on finding U."""

MOST_SECONDS = 1.0
"""What a linear system may take, where sweeps were not good enough."""


class Certified(NamedTuple):
    """A value, a policy, and their bounds."""

    value: FloatArray
    """(S,) V backed up once"""
    policy: IndexArray
    """(S,) the first action of those that are best up to rounding; -1 where none is legal"""
    longest: float
    """A bound on how many steps the policy takes, from any state; infinite if it may never end"""
    error_bound: float
    """On the error of the value and of its q, and on the loss of the policy"""


def certify(engine: Engine, clock: Clock, *, thoroughly: bool = False) -> Certified:
    """Return the value of an engine with its bounds.

    Parameters
    ----------
    engine : Engine
        It holds V; its value is not changed.
    clock : Clock
        Says whether there is time for more than the backup: without it, the bounds are infinite.
    thoroughly : bool
        Look for a policy that ends soon, and for a constant bound; by linear systems, if they do not take too long.
    """
    model, value = engine.model, engine.value
    delta = model.rounding(value)
    result: FloatArray = np.empty(model.n_states)
    policy: IndexArray = np.empty(model.n_states, dtype=np.int64)
    changes = model.back_up_greedily(value, 2.0 * delta, result, policy)
    nothing = Certified(result, policy, np.inf, np.inf)
    if clock.hurries or not np.isfinite(result).all():
        return nothing
    if thoroughly:
        policy = _soonest(model, value, result - 2.0 * delta, policy)
        engine = with_linear_systems(engine, policy, min(clock.left / ATTEMPTS, MOST_SECONDS))
    steps, slack = _steps(engine, policy)
    if not slack > 0.0:
        return nothing
    # The action of the policy may be 2 delta below the best, and both are computed up to delta. Two more delta allow
    # for the probabilities of a row, whose exact sum may differ from 1.
    short = max(0.0, (6.0 if thoroughly else 4.0) * delta - min(0.0, min(change[0] for change in changes)))
    lower = short / slack
    upper = _upper(engine, 2.0 * largest_change(changes) + 4.0 * delta, steps, clock)
    longest = float(steps.max(initial=0.0)) / slack
    if thoroughly:
        highest = np.where(model.terminal, value, np.maximum(_ceiling(model), value))
        upper = highest if upper is None else np.minimum(upper, highest)
    if upper is None:
        return Certified(result, policy, longest, np.inf)
    width = float((upper - value + lower * steps).max(initial=0.0))
    # One backup more, for states that no transition enters and for q.
    bound = (max(1.0, model.modulus) * width + 5.0 * delta) * (1.0 + 16.0 * EPS)
    return Certified(result, policy, longest, bound)


def _steps(engine: Engine, policy: IndexArray) -> tuple[FloatArray, float]:
    """Return h and q, which is not positive if the policy could not be shown to end."""
    model = engine.model
    try:
        steps = engine.expected_steps(policy)
    except (np.linalg.LinAlgError, RuntimeError):  # singular: the policy may never end
        return np.zeros(model.n_states), 0.0
    if not np.isfinite(steps).all() or steps.min(initial=0.0) < 0.0:
        return steps, 0.0
    counting = rewarded(model, np.zeros(model.reward.size), 0.0)
    acting = np.flatnonzero((policy >= 0) & ~model.terminal)
    follows = counting.q(np.where(model.terminal, 0.0, steps))[acting, policy[acting]]
    return steps, float((steps[acting] - follows).min(initial=1.0)) - counting.rounding(steps)


def _soonest(model: Lookahead, value: FloatArray, enough: FloatArray, policy: IndexArray) -> IndexArray:
    """Replace actions of the policy by others that may bring the end nearer and whose value is `enough` (S,)."""
    good = model.q(value) >= enough[:, np.newaxis]
    action = soonest_end(model.mdp, model.terminal, (good & model.mdp.legal).reshape(-1))
    return np.where(action >= 0, action, policy)


def _ceiling(model: Lookahead) -> float:
    """Return the least constant u, rounded up; infinity if there is none."""
    mdp = model.mdp
    open_ = np.repeat(~model.terminal, mdp.n_actions)
    sums = row_sums(mdp.probability, mdp.indptr)
    if (np.abs(sums - 1.0)[open_ & (sums > 0.0)] > model.longest_row * EPS).any():
        return np.inf
    ends = row_sums(mdp.probability * (mdp.terminated | model.terminal[mdp.next_state]), mdp.indptr)
    pays = open_ & (model.reward > 0.0)
    if (ends[pays] == 0.0).any():
        return np.inf
    return float((model.reward[pays] / ends[pays]).max(initial=0.0)) * (1.0 + (model.longest_row + 4) * EPS)


def _upper(engine: Engine, eta: float, steps: FloatArray, clock: Clock) -> FloatArray | None:
    """Return a U that is proven to be at least V*, or None."""
    raised = engine.raised(eta, engine.value + eta * steps)
    value: FloatArray = np.empty(engine.model.n_states)
    action: StateArray = np.empty(engine.model.n_states, dtype=np.int32)
    model = engine.model
    for _ in range(ATTEMPTS):
        upper = raised.value
        changes = model.back_up(upper, value, action)
        if not np.isfinite(upper).all():
            return None
        if max(change[1] for change in changes) + model.rounding(upper) <= 0.0:
            return upper
        if clock.hurries:
            return None
        try:
            raised.advance()
        except (np.linalg.LinAlgError, RuntimeError):  # singular: V is so bad, and eta so large, that staying pays
            return None
    return None
