"""From a table of successors to rows: the three kinds of transition of the lecture notes, distinguished by type.

===================  ==============================  =======================================
kind                 delta(s, a)                     written here
===================  ==============================  =======================================
deterministic        one state                       ``2``
non-deterministic    a set of states, all equally    ``{1, 2}`` (or a list, in which a state
                     likely                          may occur more than once)
stochastic           a distribution over states      ``{1: 0.8, 2: 0.2}``
(illegal action)                                     ``None``
===================  ==============================  =======================================
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from numbers import Integral, Real
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.errors import ModelError
from rlsuite.models import validation
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, Rows

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

    indptr = np.zeros(states * actions + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
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
    if isinstance(where, Mapping):
        table = cast("Mapping[object, object]", where)
        weights = [_probability(p, s, a) for p in table.values()]
        targets = _states(table, s, a, states)
    elif isinstance(where, Set):
        targets = sorted(_states(cast("Set[object]", where), s, a, states))
        weights = [1.0 / len(targets)] * len(targets)
    elif isinstance(where, Sequence) and not isinstance(where, (str, bytes)):
        targets = _states(cast("Sequence[object]", where), s, a, states)
        weights = [1.0 / len(targets)] * len(targets)
    else:
        return _states([where], s, a, states), [1.0]
    return targets, weights


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


def _probability(value: object, s: int, a: int) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ModelError(f"successors[{s}][{a}] gives {value!r} as a probability; a number is needed")
    return float(value)


def _rewards(reward: Reward, s: IndexArray, a: IndexArray, ahead: IndexArray, states: int, actions: int) -> FloatArray:
    if callable(reward):
        values = [reward(*one) for one in zip(s.tolist(), a.tolist(), ahead.tolist(), strict=True)]
        for index, value in enumerate(cast("list[object]", values)):
            if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
                where = f"s={s[index]}, a={a[index]}, s'={ahead[index]}"
                raise ModelError(f"reward({where}) returned {value!r}; a finite number is needed")
        return np.array(values, dtype=np.float64)
    table = validation.floats("reward", reward)
    validation.shape("reward", table, (states,), (states, actions), (states, actions, states))
    return table[(s, a, ahead)[: table.ndim]]
