"""From Gymnasium's ``env.unwrapped.P`` and ``initial_state_distrib`` to rows.

The convention is ``P[s][a] = [(probability, next_state, reward, terminated), ...]``. What the tables shipped with
Gymnasium do, and what is therefore kept as it is: the same next state may occur twice in one list (slipping into a wall
from two sides); one state may be entered both with and without terminating (a Taxi at the right place with and
without the passenger); a terminal state may lead on to others; numbers are Python's and NumPy's, mixed. The order and
the values of the list are kept, because `step` picks from it by running sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from rlsuite.core.narrowing import is_list, is_mapping, is_sequence
from rlsuite.errors import ModelError, ParameterError, UnsuitableEnvironment
from rlsuite.models import validation
from rlsuite.models.aliases import FloatArray, Rows

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env


class Table(NamedTuple):
    """The content of a table in Gymnasium's convention."""

    rows: Rows
    n_actions: int
    start: FloatArray


def name_of(env: Env) -> str:
    """Return the id of `env`, the name of the model that it was made from, or the name of its class.

    >>> import rlsuite as rl
    >>> walk = rl.MDP.from_successors([[0, 1], [None, None]], [0, 1], gamma=0.9, start=0)
    >>> name_of(walk.to_env()), name_of(walk.replace(name="walk").to_env())
    ('TabularEnv', 'walk')
    """
    if env.spec is not None:
        return env.spec.id
    base: Any = env.unwrapped
    kind = type(base).__name__
    return base.model.name or kind if kind == "TabularEnv" else kind


def discount_of(env: Env, gamma: float | None) -> float:
    """Return `gamma` or, without one, that of the model which an environment has of its own.

    Raises
    ------
    ParameterError
        If there is neither.
    """
    if gamma is None:
        gamma = getattr(getattr(env.unwrapped, "model", None), "gamma", None)
    if gamma is None:
        raise ParameterError(f"{name_of(env)} does not say how its rewards are discounted: write gamma=0.99, say")
    return gamma


def title_of(env: Env) -> str:
    """Return the name of `env` for figures: its id, and the name of its map if that is not the usual one.

    >>> import gymnasium
    >>> title_of(gymnasium.make("FrozenLake-v1")), title_of(gymnasium.make("FrozenLake-v1", map_name="8x8"))
    ('FrozenLake-v1', 'FrozenLake-v1, 8x8')
    """
    if env.spec is None:
        return name_of(env)
    from gymnasium.envs.registration import registry

    usual = registry[env.spec.id].kwargs if env.spec.id in registry else {}
    given = ((key, env.spec.kwargs.get(key)) for key in ("map", "map_name"))
    return ", ".join([env.spec.id, *(name for key, name in given if isinstance(name, str) and name != usual.get(key))])


def table_in(env: Env) -> Any:
    """Return the attribute ``P`` of an environment if it is a table, malformed or not; None for anything else.

    What is called ``P`` may also be a probability, an array, or something else by label. A table leads from a number of
    a state to one of an action to a list of sequences.

    >>> import gymnasium
    >>> lake = gymnasium.make("FrozenLake-v1")
    >>> table_in(lake) is lake.unwrapped.P
    True
    >>> lake.unwrapped.P = {"slip": 0.2}
    >>> table_in(lake) is None
    True
    """
    P: object = getattr(env.unwrapped, "P", None)
    lists = (listed for of_state in _numbered(P) for listed in _numbered(of_state))
    return P if any(is_list(listed) and any(map(is_sequence, listed)) for listed in lists) else None


def _numbered(table: object) -> Iterable[object]:
    """The entries of a list, or of a mapping whose first key is a whole number; none of anything else."""
    if is_mapping(table):
        return table.values() if isinstance(next(iter(table), None), Integral) else ()
    return table if is_list(table) else ()


def read_table(env: Env) -> Table:
    """Return the transition table of an environment.

    Raises
    ------
    UnsuitableEnvironment
        If there is no table, or the spaces are not Discrete.
    ModelError
        If the table is malformed; the message names the entry.
    """
    name, bare, P = name_of(env), env.unwrapped, table_in(env)
    if P is None:
        kind = type(getattr(bare, "P", None)).__name__
        what = "" if kind == "NoneType" else f" is of type {kind}, not a table by state and action"
        raise UnsuitableEnvironment(
            f"{name} has no transition table (env.unwrapped.P{what}). Ask for one: rl.tabulate(env, gamma=...); "
            "plan on a learned model: MDP.from_experience(transitions, ...); or use a learner: QLearning, Sarsa"
        )
    states = _numbers(name, "observation", bare.observation_space)
    actions = _numbers(name, "action", bare.action_space)
    start: object = getattr(bare, "initial_state_distrib", None)
    if start is None:
        raise UnsuitableEnvironment(
            f"{name} has a transition table, but no start distribution (env.unwrapped.initial_state_distrib)"
        )
    distribution = validation.floats("initial_state_distrib", start)
    return Table(rows_from_table(P, states, actions), len(actions), distribution)


def same_table(env: Env, rows: Rows, start: FloatArray) -> bool:
    """Whether the table of an environment equals these rows and this start distribution.

    Faster than to read it again: nothing is checked.
    """
    bare: Any = env.unwrapped
    try:
        states, actions = (_numbers("", "", space) for space in (bare.observation_space, bare.action_space))
        lists = [by_action[a] for by_action in map(bare.P.__getitem__, states) for a in actions]
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        numbers = np.fromiter(chain.from_iterable(chain.from_iterable(lists)), dtype=np.float64)
        start_now = np.asarray(bare.initial_state_distrib, dtype=np.float64)
    except (AttributeError, LookupError, TypeError, ValueError, UnsuitableEnvironment):  # it can no longer be read
        return False
    known = np.column_stack([rows.probability, rows.next_state + states[0], rows.reward, rows.terminated])
    return (
        np.array_equal(lengths, np.diff(rows.indptr))
        and np.array_equal(numbers, known.ravel())
        and np.array_equal(start_now, start)
    )


def _numbers(name: str, which: str, space: Any) -> range:
    """Return the elements of a Discrete space, which need not begin with 0."""
    from gymnasium.spaces import Discrete

    if not isinstance(cast("object", space), Discrete):
        raise UnsuitableEnvironment(f"{name}: a model needs a Discrete {which} space, got {space}")
    first = int(space.start)
    return range(first, first + int(space.n))


def rows_from_table(P: Any, states: range, actions: range) -> Rows:
    """Return the rows of a table whose keys are `states` and `actions`; state i of the model is ``states[i]``.

    An empty list stands for an illegal action.
    """
    if len(P) != len(states):
        raise ModelError(f"P has {len(P)} states, but the observation space has {len(states)}")
    lengths: list[int] = []
    entries: list[tuple[float, int, float, bool]] = []
    for s in states:
        of_state = _entry(P, s, f"P has no state {s}; the states are {states[0]}..{states[-1]}")
        for a in actions:
            no_action = (
                f"P[{s}] has no action {a}; the actions are {actions[0]}..{actions[-1]} "
                "(write an empty list for an action that is illegal)"
            )
            listed = _entry(of_state, a, no_action)
            if not is_list(listed):
                raise ModelError(f"P[{s}][{a}] is {listed!r}; a list of transitions is needed")
            entries.extend(_transition(one, f"P[{s}][{a}][{k}]", states) for k, one in enumerate(listed))
            lengths.append(len(listed))
    probability, ahead, reward, terminated = np.array(entries, dtype=np.float64).reshape(-1, 4).T.copy()
    indptr = validation.pointers(lengths)
    return Rows(indptr, ahead.astype(np.int32), probability, reward, terminated.astype(np.bool_))


def rows_from_bare_table(P: object) -> tuple[Rows, int]:
    """Return the rows and the number of actions of a table with the keys 0..S-1 and, in each, 0..A-1."""
    states = _number_of_keys(P, "P", "state to action to list of transitions")
    of_state = _entry(P, 0, f"P has no state 0; the states are 0..{states - 1}")
    actions = _number_of_keys(of_state, "P[0]", "action to list of transitions")
    return rows_from_table(P, range(states), range(actions)), actions


def _number_of_keys(table: object, name: str, form: str) -> int:
    keys = len([*_numbered(table)])
    if not keys:
        raise ModelError(f"{name} is {table!r}; a mapping from {form} is needed")
    return keys


def _entry(table: Any, key: int, missing: str) -> object:
    try:
        return table[key]
    except (KeyError, IndexError, TypeError) as cause:
        raise ModelError(missing) from cause


def _transition(entry: object, where: str, states: range) -> tuple[float, int, float, bool]:
    listed = tuple(entry) if is_sequence(entry) else ()
    if len(listed) != 4:
        raise ModelError(f"{where} is {entry!r}: (probability, next_state, reward, terminated) is needed")
    probability, next_state, reward, terminated = listed
    if not isinstance(probability, Real):
        reason = "the probability is not a number"
    elif not isinstance(next_state, Integral) or int(next_state) not in states:
        reason = f"the next state is not one of {states[0]}..{states[-1]}"
    elif not isinstance(reward, Real):
        reason = "the reward is not a number"
    elif terminated not in (False, True):
        reason = "terminated is not a bool"
    else:
        return float(probability), int(next_state) - states[0], float(reward), bool(terminated)
    raise ModelError(f"{where} is {listed}: {reason}")
