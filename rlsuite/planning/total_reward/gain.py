"""Whether staying for ever in an end component has a cost.

If it could not be left, the gain of an end component would be its largest mean reward per step. That is less than -eta
if and only if the problem of staying with r + eta, and stopping for nothing whenever one likes, has finite values: the
least U >= 0 with U(s) >= r(s, a) + eta + sum_s' c(s' | s, a) U(s') for every action that stays. Any such U is a proof,
since averaged over the states as a policy visits them in the long run, U drops out of the inequality. Sweeps from U = 0
find it; or they come upon a policy that never stops, whose mean is then computed.

Components in which every step is free are not there any more (`rlsuite.planning.total_reward.free_components`). So
staying costs something wherever no pair that stays pays more than 0, and only the other components are looked at.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.clock import Clock, OutOfTime
from rlsuite.core.compilation import compiled
from rlsuite.errors import ModelError
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.planning.graph import distance_to, edges, predecessors, strong_components
from rlsuite.planning.linear_system import fixed_point_solver, seconds_to_eliminate
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.total_reward.end_components import EndComponents

NEGLIGIBLE = 1e-9
"""eta, as a share of the largest reward: the least cost per step, on average, that counts as one."""

MOST_SWEEPS, MOST_BACKUPS = 4096, 500_000_000
"""Limits on the work that is put into the question before it is declared open."""

PATIENCE = 64
"""Once a way to stay at no cost is known, look for one that earns something for this many sweeps."""

LARGEST_SYSTEM = 5_000
"""Up to this many states the mean of a policy is computed; beyond, it is only bounded from below."""

WAYS_OUT = "use gamma=0.99 (say), or plan for a number of steps: horizon=100 (say)"

ADVICE = f"let every step cost something, {WAYS_OUT}"


class Stay(NamedTuple):
    """A policy that stays for ever in an end component."""

    state: int
    mean: float | None
    """The reward per step in the long run; None if it is only known not to be negative."""


def reject_free_stay(lookahead: Lookahead, components: EndComponents, clock: Clock) -> None:
    """Raise an error if a policy can stay in an end component for ever without cost.

    Raises
    ------
    ModelError
        Naming a state of such a component; or if it could not be decided.
    OutOfTime
        If the clock says so.
    """
    stay = _free_stay(lookahead, components, clock)
    if stay is None:
        return
    eta = NEGLIGIBLE * lookahead.reward_size
    if stay.mean is None:
        raise ModelError(
            f"gamma=1, and from state {stay.state} the end can be avoided for ever at an average reward of at least 0: "
            f"its total reward is infinite, or has no limit; {ADVICE}"
        )
    if stay.mean > eta:
        raise ModelError(
            f"gamma=1, and from state {stay.state} the end can be avoided for ever while {stay.mean:g} is earned per "
            f"step: its total reward is infinite; {ADVICE}"
        )
    rounded = "" if stay.mean == 0.0 else " (up to rounding)"
    raise ModelError(
        f"gamma=1, and from state {stay.state} the end can be avoided for ever with gains and losses that add up to "
        f"0{rounded}: such a total reward has no limit; {ADVICE}"
    )


def _free_stay(lookahead: Lookahead, components: EndComponents, clock: Clock) -> Stay | None:
    """Return a way to stay for ever at no cost, or None if it is proved that there is none; else raise an error."""
    mdp = lookahead.mdp
    paid = components.staying & (lookahead.reward > 0.0)
    doubtful = np.unique(components.of_state[np.flatnonzero(paid) // mdp.n_actions])
    members: IndexArray = np.flatnonzero(np.isin(components.of_state, doubtful) & (components.of_state >= 0))
    if not members.size:
        return None
    eta = NEGLIGIBLE * max(lookahead.reward_size, np.finfo(float).tiny)
    value: FloatArray = np.zeros(mdp.n_states)
    action: StateArray = np.full(mdp.n_states, -1, dtype=np.int32)
    rows = (mdp.n_actions, mdp.indptr, mdp.next_state, mdp.probability, lookahead.reward)
    free_stay: Stay | None = None
    limit = max(PATIENCE, min(MOST_SWEEPS, MOST_BACKUPS // members.size))
    for sweep in range(1, limit + 1):
        clock.check()
        change = _stop_or_stay(members, sweep % 2 == 1, *rows, components.staying, eta, value, action)
        if change + 2.0 * lookahead.rounding(value) < eta:
            return None
        if sweep & (sweep - 1) == 0:  # after 1, 2, 4, 8 ... sweeps
            stay = _never_stopping(lookahead, members, value, action, clock)
            if stay is not None and (stay.mean is None or stay.mean > eta):
                return stay
            if free_stay is not None and sweep >= PATIENCE:
                return free_stay
            if stay is not None and stay.mean is not None and stay.mean >= -eta:
                free_stay = stay
    if free_stay is not None:
        return free_stay
    state = int(members[np.argmax(value[members])])
    raise ModelError(
        f"gamma=1, and whether the end can be avoided for ever at no cost from state {state} was not decided in "
        f"{limit} sweeps; {ADVICE}"
    )


def _never_stopping(
    lookahead: Lookahead, members: IndexArray, value: FloatArray, action: StateArray, clock: Clock
) -> Stay | None:
    """Return the most promising recurrent class of the policy `action`, in which -1 stands for stopping.

    None if it always stops, or if the class is a large one in which nothing is proved yet.
    """
    mdp = lookahead.mdp
    chosen: BoolArray = np.zeros(mdp.n_states * mdp.n_actions, dtype=np.bool_)
    going_on = members[action[members] >= 0]
    chosen[going_on * mdp.n_actions + action[going_on]] = True
    taken = edges(mdp) & np.repeat(chosen, np.diff(mdp.indptr))
    for_ever = distance_to(predecessors(mdp, taken), action < 0) < 0
    if not for_ever.any():
        return None
    of_state = strong_components(mdp, taken).of_state
    used = np.flatnonzero(taken)
    begun = of_state[np.searchsorted(mdp.indptr[:: mdp.n_actions], used, side="right") - 1]
    left = begun[begun != of_state[mdp.next_state[used]]]
    recurrent: IndexArray = np.flatnonzero(for_ever & ~np.isin(of_state, left))
    # The class that earns most per step has the largest values by now.
    best = recurrent[np.argmax(value[recurrent])]
    of_class: IndexArray = np.flatnonzero(of_state == of_state[best])
    rows = of_class * mdp.n_actions + action[of_class]
    if of_class.size <= LARGEST_SYSTEM:
        return Stay(int(of_class[0]), _mean(lookahead, of_class, rows, clock))
    chain = lookahead.continuation
    # In the average over the class, the values cancel: the least of these differences is at most the mean.
    least = float((lookahead.reward[rows] + chain[rows] @ value - value[of_class]).min())
    return Stay(int(of_class[0]), None) if least >= -NEGLIGIBLE * lookahead.reward_size else None


def _mean(lookahead: Lookahead, of_class: IndexArray, rows: IndexArray, clock: Clock) -> float:
    """Return the mean reward per step in a recurrent class: what one round earns, divided by how long it takes."""
    reward = lookahead.reward[rows]
    if reward.min() == reward.max():
        return float(reward[0])
    chain = lookahead.continuation
    chain = chain[rows][:, of_class]
    # A round begins and ends in the first state.
    system = chain[1:][:, 1:]
    if clock.deadline is not None and seconds_to_eliminate(system) > clock.left:
        raise OutOfTime
    solve = fixed_point_solver(system)
    out: FloatArray = chain[[0]][:, 1:].toarray()[0]
    earned = float(reward[0] + out @ solve(reward[1:]))
    lasted = float(1.0 + out @ solve(np.ones(of_class.size - 1)))
    return earned / lasted


@compiled(in_place=True)
def _stop_or_stay(
    members: IndexArray,
    forward: bool,
    n_actions: int,
    indptr: IndexArray,
    successor: StateArray,
    weight: FloatArray,
    reward: FloatArray,
    staying: BoolArray,
    eta: float,
    value: FloatArray,
    action: StateArray,
) -> float:
    """Back up, in place, the value of staying with r + eta or stopping for 0; return the largest change.

    The best action is stored in `action`, -1 for stopping.
    """
    change = 0.0
    for k in range(members.size):
        s = members[k if forward else members.size - 1 - k]
        best, chosen = 0.0, -1
        for a in range(n_actions):
            row = s * n_actions + a
            if not staying[row]:
                continue
            follows = 0.0
            for i in range(indptr[row], indptr[row + 1]):
                follows += weight[i] * value[successor[i]]
            staying_on = reward[row] + eta + follows
            if staying_on > best:
                best, chosen = staying_on, a
        action[s] = chosen
        change = max(change, abs(float(best) - float(value[s])))
        value[s] = best
    return change
