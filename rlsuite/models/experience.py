"""From experienced transitions to rows: counting, with a Dirichlet prior.

Let n(s, a, s') be how often action a led from s to s', n(s, a) their sum over s', and K(s, a) the number of successors
that are possible. With the prior Dirichlet(c, ..., c) over these, the posterior mean is

    Pr[s' | s, a] = (n(s, a, s') + c) / (n(s, a) + c K(s, a)),

which for c = 0 is the relative frequency (the maximum likelihood), and for a pair that was never tried and c > 0 is the
uniform distribution over the possible successors.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray, Rows

Experience: TypeAlias = ArrayLike | Sequence[tuple[int, int, float, int, bool]]
"""(n, 5): state, action, reward, next state, terminated."""


class _Counted(NamedTuple):
    """Experience grouped by (s, a, s', terminated), sorted."""

    pair: IndexArray
    next_state: IndexArray
    terminated: BoolArray
    times: FloatArray
    reward: FloatArray
    """Mean reward of the group."""


def rows_from_experience(
    transitions: Experience, *, n_states: int, n_actions: int, prior: float, successors: ArrayLike | None
) -> Rows:
    """Return the rows of the posterior mean model; the arguments are those of `MDP.from_experience`."""
    states = whole_number("n_states", n_states)
    actions = whole_number("n_actions", n_actions)
    strength = finite_number("prior", prior)
    if strength < 0.0:
        raise ParameterError(f"prior={strength:g} is negative; pseudo-counts are at least 0")
    counted = _count(_columns(transitions), states, actions)
    possible = _possible(successors, states, actions)
    if possible is not None:
        impossible = ~possible[counted.pair, counted.next_state]
        if impossible.any():
            k = int(np.argmax(impossible))
            raise ModelError(
                f"successors[s={counted.pair[k] // actions}, a={counted.pair[k] % actions}, "
                f"s'={counted.next_state[k]}] is False, but `transitions` has such a transition: make it True"
            )
    if strength > 0.0:
        counted = _with_prior(counted, states, actions, strength, possible)
    elif counted.pair.size == 0:
        raise ModelError("transitions is empty and prior is 0: pass transitions, or prior > 0")

    indptr = validation.pointers(np.bincount(counted.pair, minlength=states * actions))
    total = validation.row_sums(counted.times, indptr)
    _every_entered_state_was_left(counted, validation.leads_on(indptr, actions))
    return Rows(indptr, counted.next_state, counted.times / total[counted.pair], counted.reward, counted.terminated)


def _columns(transitions: Experience) -> FloatArray:
    table = validation.array("transitions", transitions).astype(np.float64, copy=False)
    if table.size == 0:
        return np.zeros((0, 5))
    if table.ndim != 2 or table.shape[1] != 5:
        raise ModelError(
            f"transitions has shape {table.shape}, not (n, 5): state, action, reward, next state, terminated"
        )
    return validation.floats("transitions", table)


def _count(table: FloatArray, states: int, actions: int) -> _Counted:
    s = _whole(table, 0, "state", states)
    a = _whole(table, 1, "action", actions)
    ahead = _whole(table, 3, "next state", states)
    ended = _whole(table, 4, "terminated", 2)
    keys = np.stack([s * actions + a, ahead, ended], axis=1)
    groups, member = np.unique(keys, axis=0, return_inverse=True)
    member = member.reshape(-1)
    times = np.bincount(member, minlength=len(groups)).astype(np.float64)
    paid = np.bincount(member, weights=table[:, 2], minlength=len(groups))
    return _Counted(groups[:, 0], groups[:, 1], groups[:, 2].astype(np.bool_), times, paid / times)


def _whole(table: FloatArray, column: int, what: str, below: int) -> IndexArray:
    values = table[:, column]
    wrong = (values != np.floor(values)) | (values < 0) | (values >= below)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ModelError(f"transitions[{k}] has the {what} {values[k]:g}; it must be one of 0..{below - 1}")
    return values.astype(np.int64)


def _possible(successors: ArrayLike | None, states: int, actions: int) -> BoolArray | None:
    if successors is None:
        return None
    mask = validation.booleans("successors", successors)
    validation.shape("successors", mask, (states, actions, states))
    return mask.reshape(states * actions, states)


def _with_prior(seen: _Counted, states: int, actions: int, strength: float, possible: BoolArray | None) -> _Counted:
    """Return the counts with `strength` added to every possible (s, a, s').

    A successor that was experienced with and without termination shares it out in proportion to the counts. One that
    was not experienced from (s, a) terminates if all experience of entering it did, or if it has no successors itself,
    and earns the mean reward of the pair (0 if that was never tried).
    """
    pairs = states * actions
    member = np.unique(seen.pair * states + seen.next_state, return_inverse=True)[1].reshape(-1)
    share = seen.times / np.bincount(member, weights=seen.times)[member]
    tried = np.bincount(seen.pair, weights=seen.times, minlength=pairs)
    earned = np.bincount(seen.pair, weights=seen.times * seen.reward, minlength=pairs)
    pair_reward = np.divide(earned, tried, out=np.zeros(pairs), where=tried > 0)
    entered = np.bincount(seen.next_state, weights=seen.times, minlength=states)
    entered_last = np.bincount(seen.next_state, weights=seen.times * seen.terminated, minlength=states)
    ends = (entered > 0) & (entered == entered_last)

    unseen = np.ones((pairs, states), dtype=np.bool_) if possible is None else possible.copy()
    ends |= ~unseen.reshape(states, -1).any(axis=1)
    unseen[seen.pair, seen.next_state] = False
    pair, ahead = np.nonzero(unseen)
    merged_pair: AnyArray = np.concatenate([seen.pair, pair])
    merged_ahead: AnyArray = np.concatenate([seen.next_state, ahead])
    order = np.lexsort((merged_ahead, merged_pair))
    return _Counted(
        merged_pair[order],
        merged_ahead[order],
        np.concatenate([seen.terminated, ends[ahead]])[order],
        np.concatenate([seen.times + strength * share, np.full(pair.size, strength)])[order],
        np.concatenate([seen.reward, pair_reward[pair]])[order],
    )


def _every_entered_state_was_left(counted: _Counted, left: BoolArray) -> None:
    stuck = ~left[counted.next_state] & ~counted.terminated
    if stuck.any():
        state = int(counted.next_state[int(np.argmax(stuck))])
        raise ModelError(
            f"state {state} was entered without terminating, but no action was taken in it, so nothing is known about "
            "its actions. Collect more transitions, or pass prior > 0"
        )
