"""From a Python function to rows, by exploring the states that can be reached from the start.

``transitions(state, action)`` says what an action does, in one of these forms. States are any hashable objects.

==============================================  =============================================================
returned                                        meaning
==============================================  =============================================================
``None``                                        the action is illegal
a state (a tuple, a string, a number ...)       deterministic
a ``set`` or ``frozenset`` of states            non-deterministic: all of them equally likely
``{state: probability}``                        stochastic
a ``list`` of                                   stochastic, with the reward and the end of the episode given for
``(probability, state, reward, terminated)``    each outcome; a state may occur more than once
==============================================  =============================================================

With the other forms, ``reward(state, action, next_state)`` and ``terminal(state)`` give these two. A state in which
every action is illegal is terminal too. States are numbered in the order in which they are found, breadth first; the
members of a set have no order, so they are taken in the order of their `repr` - the numbering must not change with
Python's hash seed. (A state that is itself a frozenset goes into a dict: ``{frozenset("ab"): 1.0}``.)
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from numbers import Real
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from rlsuite.core.checks import whole_number
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import BoolArray, FloatArray, Rows

Transitions: TypeAlias = Callable[[Any, Any], object]
"""``transitions(state, action)``; see the table of the module for what it returns."""
RewardFunction: TypeAlias = Callable[[Any, Any, Any], float]
"""``reward(state, action, next_state)``"""
Terminal: TypeAlias = Callable[[Any], bool]
"""``terminal(state)``"""


class Explored(NamedTuple):
    """The result of exploring."""

    rows: Rows
    start: FloatArray
    states: list[Hashable]
    actions: list[Hashable]


class _Outcome(NamedTuple):
    probability: float
    state: Hashable
    reward: float
    terminated: bool | None
    """None: the episode ends if the state has no legal action."""


def explore(
    transitions: Transitions,
    start: object,
    *,
    actions: int | Sequence[Hashable],
    reward: RewardFunction | None,
    terminal: Terminal | None,
    max_states: int,
) -> Explored:
    """Return the model of everything that can be reached from `start`.

    States that are only ever entered as the end of an episode are not explored further: they get no legal action.

    Raises
    ------
    ModelError
        If a return value is malformed (the state and the action are named) or there are more than `max_states` states.
    """
    names = _actions(actions)
    start_of = _start(start)
    index: dict[Hashable, int] = {}
    states: list[Hashable] = []

    def number_of(state: Hashable) -> int:
        if state not in index:
            if len(states) >= max_states:
                raise ModelError(
                    f"more than {max_states} states can be reached, for instance {state!r}: is the model infinite? "
                    "If not, pass a larger max_states"
                )
            index[state] = len(states)
            states.append(state)
        return index[state]

    row_of: dict[int, list[list[_Outcome]]] = {}
    # Breadth first: states are numbered in the order in which they are found, whatever their hashes are.
    queue = deque(number_of(state) for state in start_of)
    while queue:
        s = queue.popleft()
        if s in row_of:
            continue
        row_of[s] = []
        if terminal is not None and _truth(terminal(states[s]), states[s]):
            continue
        for action in names:
            outcomes = _outcomes(_called(transitions, states[s], action), states[s], action, reward, terminal)
            row_of[s].append(outcomes)
            for outcome in outcomes:
                ahead = number_of(outcome.state)
                # None means that the episode ends if no action is legal in the next state, which is not known before
                # all states have been explored.
                if not outcome.terminated:
                    queue.append(ahead)

    lengths = np.zeros((len(states), len(names)), dtype=np.int64)
    flat: list[_Outcome] = []
    for s in range(len(states)):
        for a, outcomes in enumerate(row_of.get(s, [])):
            lengths[s, a] = len(outcomes)
            flat.extend(outcomes)
    indptr = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    next_state = np.array([index[one.state] for one in flat], dtype=np.int64)
    # Now the states without a legal action are known; they decide where the function did not say.
    at_end: BoolArray = ~validation.leads_on(indptr, len(names))[next_state]
    said = [one.terminated for one in flat]
    ended = np.where([one is None for one in said], at_end, np.array([bool(one) for one in said]))
    rows = Rows(
        indptr,
        next_state,
        np.array([one.probability for one in flat], dtype=np.float64),
        np.array([one.reward for one in flat], dtype=np.float64),
        ended.astype(np.bool_),
    )
    first = np.zeros(len(states))
    for state, probability in start_of.items():
        first[index[state]] = probability
    return Explored(rows, first, states, names)


def labels_of(states: Iterable[Hashable]) -> list[str]:
    """Return a distinct label for each state: itself if it is a string, else its `repr`."""
    found: dict[str, int] = {}
    listed: list[str] = []
    for state in states:
        label = state if isinstance(state, str) else repr(state)
        found[label] = found.get(label, 0) + 1
        listed.append(label if found[label] == 1 else f"{label} #{found[label]}")
    return listed


def _actions(actions: int | Sequence[Hashable]) -> list[Hashable]:
    if not isinstance(actions, Sequence):
        return list(range(whole_number("actions", actions)))
    if not actions:
        raise ParameterError(f"actions={actions!r}: at least one action is needed")
    return list(actions)


def _start(start: object) -> dict[Hashable, float]:
    if isinstance(start, Mapping):
        table = cast("Mapping[Hashable, object]", start)
        return {state: _number(p, f"start gives {p!r} as the probability of {state!r}") for state, p in table.items()}
    if isinstance(start, (set, frozenset)):
        listed = sorted(cast("Set[Hashable]", start), key=repr)
        return dict.fromkeys(listed, 1.0 / len(listed)) if listed else {}
    if not isinstance(start, Hashable):
        raise ModelError(f"start={start!r} is not hashable; give a state, a set of states or {{state: probability}}")
    return {start: 1.0}


def _called(transitions: Transitions, state: object, action: object) -> object:
    try:
        return transitions(state, action)
    except Exception as error:  # whatever the user's function raises; it is passed on
        error.add_note(f"raised by transitions(state={state!r}, action={action!r})")
        raise


def _outcomes(
    returned: object, state: Hashable, action: Hashable, reward: RewardFunction | None, terminal: Terminal | None
) -> list[_Outcome]:
    where = f"transitions({state!r}, {action!r})"
    if returned is None:
        return []
    if isinstance(returned, Iterator):
        raise ModelError(f"{where} returned an iterator; return a list, a set, a dict or a state")
    if isinstance(returned, list):
        outcomes = [_listed(one, where, terminal) for one in cast("list[object]", returned)]
    else:
        if reward is None:
            raise ModelError(f"{where} returned {returned!r}, which has no reward: pass reward=")
        outcomes = [
            _derived(probability, ahead, state, action, where, reward, terminal)
            for ahead, probability in _successors(returned, where)
        ]
    if not outcomes:
        raise ModelError(f"{where} returned {returned!r}; return None if the action is illegal")
    total = math.fsum(one.probability for one in outcomes)
    if abs(total - 1.0) > validation.ROW_SUM_TOLERANCE:
        raise ModelError(f"{where} sums to {total:.10g}, not 1 ({validation.excess(total)})")
    return outcomes


def _successors(returned: object, where: str) -> Iterable[tuple[object, float]]:
    if isinstance(returned, Mapping):
        table = cast("Mapping[object, object]", returned)
        return [(ahead, _number(p, f"{where} gives {ahead!r} the probability {p!r}")) for ahead, p in table.items()]
    if isinstance(returned, (set, frozenset)):
        listed = sorted(cast("Set[object]", returned), key=repr)
        return [(ahead, 1.0 / len(listed)) for ahead in listed]
    return [(returned, 1.0)]


def _listed(entry: object, where: str, terminal: Terminal | None) -> _Outcome:
    if not isinstance(entry, tuple) or len(cast("tuple[object, ...]", entry)) != 4:
        raise ModelError(f"{where} lists {entry!r}; (probability, state, reward, terminated) is needed")
    p, ahead, r, ended = cast("tuple[object, object, object, object]", entry)
    state = _hashable(ahead, where)
    last = _bool(ended, f"{where} lists {entry!r}: terminated is {ended!r}")
    return _Outcome(
        _number(p, f"{where} lists {entry!r}: the probability is {p!r}"),
        state,
        _number(r, f"{where} lists {entry!r}: the reward is {r!r}", least=-math.inf),
        last or (terminal is not None and _truth(terminal(state), state)),
    )


def _derived(
    probability: float,
    ahead: object,
    state: Hashable,
    action: Hashable,
    where: str,
    reward: RewardFunction,
    terminal: Terminal | None,
) -> _Outcome:
    next_state = _hashable(ahead, where)
    paid = reward(state, action, next_state)
    mean = _number(paid, f"reward({state!r}, {action!r}, {next_state!r}) returned {paid!r}", least=-math.inf)
    ended = True if terminal is not None and _truth(terminal(next_state), next_state) else None
    return _Outcome(probability, next_state, mean, ended)


def _hashable(state: object, where: str) -> Hashable:
    try:
        hash(state)
    except TypeError as cause:
        raise ModelError(
            f"{where} leads to {state!r}, which is not hashable: use a tuple, a string or a number"
        ) from cause
    return state


def _number(value: object, what: str, least: float = 0.0) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value) or float(value) < least:
        raise ModelError(f"{what}; a finite number{' of at least 0' if least == 0.0 else ''} is needed")
    return float(value)


def _truth(value: object, state: object) -> bool:
    return _bool(value, f"terminal({state!r}) returned {value!r}")


def _bool(value: object, what: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ModelError(f"{what}, not a bool")
    return bool(cast("bool", value))
