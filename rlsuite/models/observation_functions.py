"""The observation model that a Python function gives to the states that were found by exploring.

``observe(action, next_state)`` returns an observation, a set of equally likely ones, or
``{observation: probability}``; observations are any hashable objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from numbers import Real
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import IndexArray
from rlsuite.models.functions import Explored, RewardFunction
from rlsuite.models.observations import ObservationRows

ObserveFunction: TypeAlias = Callable[[Any, Any], object]
"""``observe(action, next_state)``; see the module for what it returns."""


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
    states, actions = len(found.states), len(found.actions)
    number: dict[Hashable, int] = {}
    for one in observations or ():
        if one in number:
            raise ParameterError(f"observations lists {one!r} twice")
        number[one] = len(number)
    pair = np.repeat(np.arange(states * actions), np.diff(found.rows.indptr))
    reached: IndexArray = np.unique((pair % actions) * states + found.rows.next_state)
    seen: dict[int, dict[Hashable, float]] = {}
    for row in cast("list[int]", reached.tolist()):
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
    indptr = np.zeros(len(listed) + 1, dtype=np.int64)
    np.cumsum([len(one) for one in listed], out=indptr[1:])
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
    try:
        returned = observe(action, state)
    except Exception as error:  # whatever the user's function raises; it is passed on
        error.add_note(f"raised by {where}")
        raise
    if isinstance(returned, Mapping):
        found = dict(cast("Mapping[Hashable, object]", returned))
    elif isinstance(returned, (set, frozenset)):
        members = cast("Set[Hashable]", returned)
        found = {one: 1.0 / len(members) for one in sorted(members, key=repr)}
    else:
        try:
            found = {cast("Hashable", returned): 1.0}
        except TypeError as cause:
            raise ModelError(
                f"{where} returned {returned!r}, which is not hashable: use a tuple, a string or a number"
            ) from cause
    for one, p in found.items():
        if isinstance(p, bool) or not isinstance(p, Real) or not math.isfinite(p) or p < 0.0:
            raise ModelError(f"{where} gives {one!r} the probability {p!r}; a finite number of at least 0 is needed")
    chances = {one: float(cast("float", p)) for one, p in found.items()}
    total = math.fsum(chances.values())
    if abs(total - 1.0) > validation.ROW_SUM_TOLERANCE:
        raise ModelError(f"{where} sums to {total:.10g}, not 1 ({validation.excess(total)})")
    return chances


def fold_function(observe: ObserveFunction, observed_reward: Callable[[Any, Any, Any, Any], float]) -> RewardFunction:
    """Return the mean of ``observed_reward(state, action, next_state, observation)`` over what is observed."""

    def reward(state: Hashable, action: Hashable, ahead: Hashable) -> float:
        return math.fsum(
            p * observed_reward(state, action, ahead, one) for one, p in distribution(observe, action, ahead).items()
        )

    return reward
