"""From a Python function to rows, by exploring the states that can be reached from the start; and from a table of them.

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

import inspect
import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeGuard, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.narrowing import is_mapping, is_sequence
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, Rows
from rlsuite.models.observation_model import ObservationRows

State: TypeAlias = Annotated[Any, "state"]
"""What the user's functions call a state: anything hashable."""
Action: TypeAlias = Annotated[Any, "action"]
"""What they call an action: anything hashable."""
Observation: TypeAlias = Annotated[Any, "observation"]
"""What they call an observation: anything hashable."""
Transitions: TypeAlias = Callable[[State, Action], object]
"""``transitions(state, action)``; see the table of the module for what it returns."""
RewardFunction: TypeAlias = Callable[[State, Action, State], float]
"""``reward(state, action, next_state)``"""
Terminal: TypeAlias = Callable[[State], bool]
"""``terminal(state)``"""


def check_function(name: str, given: object, *parameters: str) -> None:
    """Make sure that something is a function, and that it takes these parameters by their places.

    Raises
    ------
    ParameterError
        If not; the message has a function that would do.

    Examples
    --------
    >>> check_function("reward", 1.0, "state", "action", "next_state")
    Traceback (most recent call last):
    rlsuite.errors.ParameterError: reward=1.0 is not a function: write reward=lambda state, action, next_state: 1.0
    """
    listed = ", ".join(parameters)
    if not callable(given):
        answer = f"{parameters[0]} in {given!r}" if isinstance(given, list | set) else repr(given)
        answer = answer if isinstance(given, int | float | list | set) else "..."
        raise ParameterError(f"{name}={given!r} is not a function: write {name}=lambda {listed}: {answer}")
    try:
        signature = inspect.signature(given)
    except (ValueError, TypeError):  # of some that are written in C
        return
    try:
        signature.bind(*parameters)
    except TypeError as error:
        raise ParameterError(
            f"{name} is called with ({listed}), and {getattr(given, '__name__', 'it')}{signature} does not take that "
            f"({error})"
        ) from None


def opposite(cost: RewardFunction) -> RewardFunction:
    """Return the rewards that costs are.

    >>> opposite(lambda s, a, s2: 2.0)("in", "go", "out")
    -2.0
    """
    check_function("cost", cost, "state", "action", "next_state")

    def reward(state: State, action: Action, next_state: State) -> float:
        paid = cost(state, action, next_state)
        return 0.0 - paid if isinstance(cast("object", paid), Real) else paid  # what is no number is reported later

    return reward


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
    check_function("transitions", transitions, "state", "action")
    if reward is not None:
        check_function("reward", reward, "state", "action", "next_state")
    if terminal is not None:
        check_function("terminal", terminal, "state")
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
            outcomes = _outcomes(transitions, states[s], action, reward, terminal)
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
    indptr = validation.pointers(lengths)
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
    if is_mapping(start):
        return {state: _number(p, f"start gives {p!r} as the probability of {state!r}") for state, p in start.items()}
    if _is_plain_set(start):
        listed = sorted(start, key=repr)
        return dict.fromkeys(listed, 1.0 / len(listed)) if listed else {}
    if not isinstance(start, Hashable):
        raise ModelError(f"start={start!r} is not hashable; give a state, a set of states or {{state: probability}}")
    return {start: 1.0}


def _called(where: str, function: Callable[..., object], *given: object) -> object:
    try:
        return function(*given)
    except Exception as error:  # whatever the user's function raises; it is passed on
        error.add_note(f"raised by {where}")
        raise


def _outcomes(
    transitions: Transitions,
    state: Hashable,
    action: Hashable,
    reward: RewardFunction | None,
    terminal: Terminal | None,
) -> list[_Outcome]:
    where = f"transitions({state!r}, {action!r})"
    returned = _called(where, transitions, state, action)
    if returned is None:
        return []
    if isinstance(returned, Iterator):
        raise ModelError(f"{where} returned an iterator; return a list, a set, a dict or a state")
    if is_sequence(returned) and isinstance(returned, list):
        outcomes = [_listed(one, where, terminal) for one in returned]
    else:
        if reward is None:
            raise ModelError(f"{where} returned {returned!r}, {_without_reward(returned)}")
        outcomes = [
            _derived(probability, ahead, state, action, where, reward, terminal)
            for ahead, probability in _successors(returned, where)
        ]
    if not outcomes:
        raise ModelError(f"{where} returned {returned!r}; return None if the action is illegal")
    _check_sum(where, [one.probability for one in outcomes])
    return [one for one in outcomes if one.probability > 0.0]  # what cannot happen leads to no state


def _check_sum(where: str, probabilities: Iterable[float]) -> None:
    total = math.fsum(probabilities)
    if abs(total - 1.0) > validation.ROW_SUM_TOLERANCE:
        raise ModelError(f"{where} sums to {total:.10g}, not 1 ({validation.excess(total)})")


def _without_reward(returned: object) -> str:
    if isinstance(returned, tuple) and len(cast("tuple[object, ...]", returned)) == 4:
        return f"which is one outcome; return a list: [{returned!r}]"
    return "which has no reward: pass reward="


def _successors(returned: object, where: str) -> Iterable[tuple[object, float]]:
    if is_mapping(returned):
        return [(ahead, _number(p, f"{where} gives {ahead!r} the probability {p!r}")) for ahead, p in returned.items()]
    if _is_plain_set(returned):
        listed = sorted(returned, key=repr)
        return [(ahead, 1.0 / len(listed)) for ahead in listed]
    return [(returned, 1.0)]


def _listed(entry: object, where: str, terminal: Terminal | None) -> _Outcome:
    if not is_sequence(entry) or not isinstance(entry, tuple) or len(entry) != 4:
        raise ModelError(f"{where} lists {entry!r}; (probability, state, reward, terminated) is needed")
    p, ahead, r, ended = entry
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
            f"{where} returned {state!r}, which is not hashable: use a tuple, a string or a number"
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


def _is_plain_set(value: object) -> TypeGuard[Set[Hashable]]:
    """Whether `value` is a set or a frozenset; another class of sets may be a state."""
    return isinstance(value, (set, frozenset))


ObserveFunction: TypeAlias = Callable[[Action, State], object]
"""``observe(action, next_state)`` returns one, a set of equally likely ones, or ``{observation: probability}``"""


# --------------------------------------------------------------------------------------------------------- observations


ObservedReward: TypeAlias = Callable[[State, Action, State, Observation], float]
"""``observed_reward(state, action, next_state, observation)``"""


class Observed(NamedTuple):
    """The observation model of the states."""

    rows: ObservationRows
    observations: list[Hashable]


def observed(observe: ObserveFunction, found: Explored, observations: Sequence[Hashable] | None) -> Observed:
    """Return the observation model of the states that were found.

    Raises
    ------
    ModelError
        If a return value is malformed; the action and the state are named.
    """
    check_function("observe", observe, "action", "next_state")
    states, actions = len(found.states), len(found.actions)
    number: dict[Hashable, int] = {}
    for one in observations or ():
        if one in number:
            raise ParameterError(f"observations lists {one!r} twice")
        number[one] = len(number)
    pair = np.repeat(np.arange(states * actions), np.diff(found.rows.indptr))
    reached: IndexArray = np.unique((pair % actions) * states + found.rows.next_state)
    seen: dict[int, dict[Hashable, float]] = {}
    numbers: list[int] = reached.tolist()
    for row in numbers:
        action, state = found.actions[row // states], found.states[row % states]
        seen[row] = distribution(observe, action, state)
        for one in seen[row]:
            if one not in number and observations is not None:
                raise ModelError(f"observe({action!r}, {state!r}) returned {one!r}, which is not one of observations")
            number.setdefault(one, len(number))
    if not number:
        number["nothing"] = 0  # no state is ever entered, so nothing is ever seen
    listed = [
        sorted((number[one], p) for one, p in seen[row].items() if p > 0.0) if row in seen else [(0, 1.0)]
        for row in range(states * actions)
    ]
    indptr = validation.pointers([len(one) for one in listed])
    flat = [entry for one in listed for entry in one]
    rows = ObservationRows(
        indptr,
        np.array([z for z, _ in flat], dtype=np.int32),
        np.array([p for _, p in flat], dtype=np.float64),
        len(number),
    )
    return Observed(rows, list(number))


def distribution(observe: ObserveFunction, action: Hashable, state: Hashable) -> dict[Hashable, float]:
    """Return the probability of each observation.

    Raises
    ------
    ModelError
        If what `observe` returned is not a distribution.
    """
    where = f"observe({action!r}, {state!r})"
    row = {_hashable(one, where): p for one, p in _successors(_called(where, observe, action, state), where)}
    _check_sum(where, row.values())
    return row


def fold_function(observe: ObserveFunction, observed_reward: ObservedReward) -> RewardFunction:
    """Return the mean of ``observed_reward(state, action, next_state, observation)`` over what is observed."""
    check_function("observe", observe, "action", "next_state")
    check_function("observed_reward", observed_reward, "state", "action", "next_state", "observation")

    def reward(state: Hashable, action: Hashable, ahead: Hashable) -> float:
        return math.fsum(
            p * observed_reward(state, action, ahead, one) for one, p in distribution(observe, action, ahead).items()
        )

    return reward


# ------------------------------------------------------------------------------------------------ a table of successors

# The three kinds of transition of the lecture notes, distinguished by type:
#
# ===================  ==============================  =======================================
# kind                 delta(s, a)                     written here
# ===================  ==============================  =======================================
# deterministic        one state                       ``2``
# non-deterministic    a set of states, all equally    ``{1, 2}`` (or a list, in which a state
#                      likely                          may occur more than once)
# stochastic           a distribution over states      ``{1: 0.8, 2: 0.2}``
# (illegal action)                                     ``None``
# ===================  ==============================  =======================================

Successors: TypeAlias = int | Set[int] | Sequence[int] | Mapping[int, float] | None
"""Where one action in one state leads."""
Reward: TypeAlias = ArrayLike | Callable[[int, int, int], float]
"""``R[s]``, ``R[s, a]``, ``R[s, a, s']`` or a function of (s, a, s')."""


def rows_from_successors(
    successors: Sequence[Sequence[Successors]], reward: Reward, *, terminated: ArrayLike | None
) -> tuple[Rows, int, BoolArray]:
    """Return the rows, the number of actions, and the states (S,) bool in which an episode may start by default."""
    states = len(successors)
    actions = len(successors[0]) if states and hasattr(successors[0], "__len__") else 1
    if states < 1 or actions < 1:
        raise ModelError(f"successors has {states} states and {actions} actions; at least one of each is needed")
    lengths: list[int] = []
    next_state: list[int] = []
    probability: list[float] = []
    for s, of_state in enumerate(successors):
        if not hasattr(of_state, "__len__"):
            raise ModelError(f"successors[{s}] is {of_state!r}; a sequence with one entry per action is needed")
        if len(of_state) != actions:
            raise ModelError(f"successors[{s}] has {len(of_state)} actions, but successors[0] has {actions}")
        for a, where in enumerate(of_state):
            targets, weights = _distribution(where, s, a, states)
            lengths.append(len(targets))
            next_state.extend(targets)
            probability.extend(weights)

    indptr = validation.pointers(lengths)
    ahead = np.array(next_state, dtype=np.int64)
    legal_somewhere = validation.leads_on(indptr, actions)
    ended = ~legal_somewhere[ahead]
    can_start = legal_somewhere.copy()
    if terminated is not None:
        mask = validation.booleans("terminated", terminated)
        validation.shape("terminated", mask, (states,), meaning="one entry per state")
        ended = mask[ahead]
        can_start &= ~mask
    pair = np.repeat(np.arange(states * actions), lengths)
    rewards = _rewards(reward, pair // actions, pair % actions, ahead, states, actions)
    return Rows(indptr, ahead, np.array(probability, dtype=np.float64), rewards, ended), actions, can_start


def _distribution(where: object, s: int, a: int, states: int) -> tuple[list[int], list[float]]:
    if where is None:
        return [], []
    if is_mapping(where):
        weights = [_number(p, f"successors[{s}][{a}] gives the probability {p!r}") for p in where.values()]
        return _states(where, s, a, states), weights
    if isinstance(where, Set):
        targets = sorted(_states(cast("Set[object]", where), s, a, states))
    elif is_sequence(where) and not isinstance(where, (str, bytes)):
        targets = _states(where, s, a, states)
    else:
        return _states([where], s, a, states), [1.0]
    return targets, [1.0 / len(targets)] * len(targets)


def _states(listed: Iterable[object], s: int, a: int, states: int) -> list[int]:
    found: list[int] = []
    for one in listed:
        if isinstance(one, bool) or not isinstance(one, Integral):
            raise ModelError(
                f"successors[{s}][{a}] holds {one!r}; write a state, a set of states, {{state: probability}}, "
                "or None for an illegal action"
            )
        if not 0 <= int(one) < states:
            raise ModelError(f"successors[{s}][{a}] leads to state {one}; the states are 0..{states - 1}")
        found.append(int(one))
    if not found:
        raise ModelError(f"successors[{s}][{a}] is empty; write None for an illegal action")
    return found


def _rewards(reward: Reward, s: IndexArray, a: IndexArray, ahead: IndexArray, states: int, actions: int) -> FloatArray:
    if callable(reward):
        paid = [(one, reward(*one)) for one in zip(s.tolist(), a.tolist(), ahead.tolist(), strict=True)]
        return np.array([_number(r, f"reward{one} returned {r!r}", least=-math.inf) for one, r in paid])
    table = validation.floats("reward", reward)
    validation.shape("reward", table, (states,), (states, actions), (states, actions, states))
    return table[(s, a, ahead)[: table.ndim]]
