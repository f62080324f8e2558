"""The checks on tables made of rows: transitions, observations, the matrix of a chain, a policy.

Like those of `rlsuite.models.validation` they work on whole arrays, and look for the offender only after a failure.
"""

from collections.abc import Callable
from functools import partial
from typing import NoReturn

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.threads import at_the_same_time
from rlsuite.errors import ModelError
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray
from rlsuite.models.validation import ROW_SUM_TOLERANCE, booleans, excess, floats, leads_on, row_sums, shape

MAX_STATES = 2**31 - 1

# At most so many rows, with about so many transitions, are checked at a time: all at once, those of a large model would
# take several arrays of S * A numbers, and what is read twice is still in the cache. More parts than a few are worth
# several threads.
BLOCK, ENTRIES, FEW = 2**16, 2**18, 4


def first_fault(holds: Callable[[int], bool], begins: range) -> int | None:
    """Return where the first part begins for which this does not hold; None if it holds for all."""
    held = at_the_same_time([partial(holds, begin) for begin in begins], len(begins) > FEW)
    return None if all(held) else begins[held.index(False)]


def pair_of(indptr: IndexArray, entry: int, n_actions: int) -> str:
    """Return ``"s=3, a=1"`` for the row that holds the transition number `entry`."""
    row = int(np.searchsorted(indptr, entry, side="right")) - 1
    return f"s={row // n_actions}, a={row % n_actions}"


def n_states(indptr: AnyArray, n_actions: int) -> int:
    """Return the number of states that the length of `indptr` stands for."""
    if indptr.ndim != 1 or indptr.size < 2 or (indptr.size - 1) % n_actions:
        raise ModelError(
            f"indptr has shape {indptr.shape}, not (n_states * n_actions + 1,) with n_actions={n_actions} "
            "and at least one state"
        )
    states = (indptr.size - 1) // n_actions
    if states > MAX_STATES:
        raise ModelError(f"indptr describes {states} states; at most {MAX_STATES} can be numbered in 32 bits")
    return states


def row_pointers(indptr: IndexArray, n_transitions: int, n_actions: int) -> None:
    """Raise unless `indptr` increases from 0 to `n_transitions`."""
    if indptr[0] != 0:
        raise ModelError(f"indptr[0] is {indptr[0]}, not 0")
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        row = int(np.argmax(falls))
        raise ModelError(
            f"indptr decreases from {indptr[row]} to {indptr[row + 1]} at "
            f"[s={row // n_actions}, a={row % n_actions}]; it must not decrease"
        )
    if indptr[-1] != n_transitions:
        raise ModelError(f"indptr ends at {indptr[-1]}, but there are {n_transitions} transitions")


def one_of_all(values: AnyArray, indptr: AnyArray) -> tuple[AnyArray, bool]:
    """Return one row of the entries of a table, and that all are the same; or else all entries, and that they are not.

    `values` has the entries (N,), or is a view (S * A, k) of one row.
    """
    lengths = np.diff(indptr)
    length = int(lengths[0])
    rows = (lengths.size, length)
    if length == 0 or (lengths != length).any():
        return values, False
    if values.shape == rows and values.strides[0] == 0:
        return values[0], True
    if values.shape != (indptr[-1],) or lengths.size == 1:
        return values, False
    table = values.reshape(rows)
    # most tables show it in three rows, and all of them need not be compared
    alike = all(np.array_equal(table[0], table[k]) for k in (1, lengths.size // 2, -1)) and (table == table[0]).all()
    return (table[0], True) if alike else (values, False)


def successors(next_state: AnyArray, states: int, indptr: IndexArray, n_actions: int) -> None:
    """Raise unless every successor is a state."""
    # As a number without a sign, a negative one is larger than every state: one look at them instead of two.
    whole = next_state.view(next_state.dtype.str.replace("i", "u"))

    def are_states(begin: int) -> bool:
        return bool(whole[begin : begin + ENTRIES].max() < states)

    if first_fault(are_states, range(0, whole.size, ENTRIES)) is not None:
        entry = int(np.argmax((next_state < 0) | (next_state >= states)))
        raise ModelError(
            f"transitions[{pair_of(indptr, entry, n_actions)}] leads to state {next_state[entry]}; "
            f"the states are 0..{states - 1}"
        )


def probabilities(
    probability: FloatArray, indptr: IndexArray, n_actions: int, rows: str = "P[s, a, :]"
) -> tuple[float, float]:
    """Return the least and the greatest sum of a nonempty row; `rows` names the rows in the error.

    An entry that is not finite fails one of the two checks, and is named then.

    Raises
    ------
    ModelError
        Unless every nonempty row is a probability distribution.
    """
    ranges: list[tuple[float, float]] = [(np.inf, -np.inf)]
    at_once = max(1, min(BLOCK, ENTRIES * (indptr.size - 1) // max(1, probability.size)))

    def part(begin: int) -> tuple[FloatArray, IndexArray]:
        pointers = indptr[begin : begin + at_once + 1]
        return probability[pointers[0] : pointers[-1]], pointers - pointers[0]

    def are_distributions(begin: int) -> bool:
        entries, pointers = part(begin)
        if entries.size == 0:
            return True
        if not entries.min() >= 0.0:  # unlike `<`, NaN fails, too
            return False
        sums, wrong = _wrong_sums(entries, pointers)
        filled = sums[pointers[1:] > pointers[:-1]]
        ranges.append((float(filled.min()), float(filled.max())))
        return not wrong.any()

    begin = first_fault(are_distributions, range(0, indptr.size - 1, at_once))
    if begin is None:
        return min(least for least, _ in ranges), max(greatest for _, greatest in ranges)
    floats("probability", probability)
    entries, pointers = part(begin)
    if entries.min() < 0.0:
        entry = int(indptr[begin] + np.argmax(entries < 0.0))
        raise ModelError(
            f"transitions[{pair_of(indptr, entry, n_actions)}] has the probability {probability[entry]:g}; "
            f"probabilities are at least 0. Rows: {rows}."
        )
    sums, wrong = _wrong_sums(entries, pointers)
    row = int(np.argmax(wrong))
    bad_row_sum(*divmod(begin + row, n_actions), float(sums[row]), rows)


def _wrong_sums(entries: FloatArray, indptr: IndexArray) -> tuple[FloatArray, BoolArray]:
    """Return the sum of each row, and whether it is not 1; an empty row is none."""
    with np.errstate(over="ignore"):
        sums = row_sums(entries, indptr)
    wrong = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    wrong &= indptr[1:] > indptr[:-1]
    return sums, wrong | np.isinf(sums)


def bad_row_sum(state: int, action: int, total: float, rows: str) -> NoReturn:
    """Raise the error for a row that sums to `total`."""
    raise ModelError(f"transitions[s={state}, a={action}] sums to {total:.10g}, not 1 ({excess(total)}). Rows: {rows}.")


def ends(next_state: AnyArray, terminated: BoolArray, start: FloatArray, indptr: IndexArray, n_actions: int) -> None:
    """Raise if a state without legal actions can be a start, or is entered by a transition that does not terminate."""
    dead = ~leads_on(indptr, n_actions)
    if not dead.any():
        return
    trapped = dead & (start > 0.0)
    if trapped.any():
        state = int(np.argmax(trapped))
        raise ModelError(f"start[{state}] is {start[state]:g}, but state {state} has no legal action")
    stuck = dead[next_state]
    stuck &= ~terminated
    if stuck.any():
        entry = int(np.argmax(stuck))
        raise ModelError(
            f"transitions[{pair_of(indptr, entry, n_actions)}] enters state {next_state[entry]}, which has no legal "
            "action, without terminating: mark the transition as terminated or give the state an action"
        )


def noise(
    reward_std: ArrayLike | None, bernoulli: ArrayLike | None, states: int, n_actions: int
) -> tuple[FloatArray | None, BoolArray | None]:
    """Return both as (S * A,) arrays, or None where no pair makes use of it."""
    std: FloatArray | None = None
    coin: BoolArray | None = None
    allowed = ((states * n_actions,), (states, n_actions))
    if reward_std is not None:
        given = floats("reward_std", reward_std)
        shape("reward_std", given, *allowed)
        std = given.reshape(-1) if given.any() else None
    if bernoulli is not None:
        flags = booleans("bernoulli", bernoulli)
        shape("bernoulli", flags, *allowed)
        coin = flags.reshape(-1) if flags.any() else None
    return std, coin


def reward_noise(
    reward: FloatArray, reward_std: FloatArray | None, bernoulli: BoolArray | None, indptr: IndexArray, n_actions: int
) -> None:
    """Raise unless the random rewards of the (state, action) pairs are well defined."""
    if reward_std is not None and (reward_std < 0.0).any():
        row = int(np.argmax(reward_std < 0.0))
        raise ModelError(
            f"reward_std[s={row // n_actions}, a={row % n_actions}] is {reward_std[row]:g}; it must be at least 0"
        )
    if bernoulli is None:
        return
    if reward_std is not None and (bernoulli & (reward_std > 0.0)).any():
        row = int(np.argmax(bernoulli & (reward_std > 0.0)))
        raise ModelError(
            f"the reward of [s={row // n_actions}, a={row % n_actions}] is both normal and Bernoulli; choose one"
        )
    each = reward if reward.size == indptr[-1] else np.repeat(reward, np.diff(indptr))
    wrong = np.repeat(bernoulli, np.diff(indptr)) & ((each < 0.0) | (each > 1.0))
    if wrong.any():
        entry = int(np.argmax(wrong))
        raise ModelError(
            f"the Bernoulli reward of transitions[{pair_of(indptr, entry, n_actions)}] has the mean "
            f"{each[entry]:g}; it is a probability, in [0, 1]"
        )


def rewards(given: FloatArray, indptr: IndexArray, n_actions: int) -> FloatArray:
    """Return the rewards of all transitions (N,), or of all pairs (S * A,) with 0 for illegal actions.

    The second form is left only where it cannot be taken for the first.
    """
    transitions, pairs = int(indptr[-1]), indptr.size - 1
    table = (pairs // n_actions, n_actions)
    allowed = dict.fromkeys([(transitions,), (pairs,), table])
    shape("reward", given, *allowed, meaning="one entry per transition, or one per pair (s, a)")
    if given.shape == (transitions,):
        return given
    lengths = np.diff(indptr)
    flat = given.reshape(-1)
    if pairs == transitions:
        return np.repeat(flat, lengths)
    stray = (lengths == 0) & (flat != 0.0)
    return np.where(stray, 0.0, flat) if stray.any() else flat


def distributions(values: FloatArray, indptr: IndexArray, name: Callable[[int], str]) -> None:
    """Raise unless every row is a probability distribution; `name` describes the row of a number."""
    if (values < 0.0).any():
        entry = int(np.argmax(values < 0.0))
        row = int(np.searchsorted(indptr, entry, side="right")) - 1
        raise ModelError(f"{name(row)} has the probability {values[entry]:g}; probabilities are at least 0")
    sums, _ = _wrong_sums(values, indptr)
    wrong = ~(np.abs(sums - 1.0) <= ROW_SUM_TOLERANCE)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ModelError(f"{name(row)} sums to {float(sums[row]):.10g}, not 1 ({excess(float(sums[row]))})")


def chain_rows(values: FloatArray, indptr: AnyArray) -> None:
    """Raise unless the rows of the matrix of a chain are probability distributions."""
    distributions(values, np.asarray(indptr, dtype=np.int64), lambda state: f"transition[s={state}]")


def observation_rows(values: FloatArray, indptr: IndexArray, states: int) -> None:
    """Raise unless the rows Pr(z | a, s') are probability distributions."""
    distributions(values, indptr, lambda row: f"observation[a={row // states}, s'={row % states}]")
