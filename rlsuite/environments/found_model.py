"""The model of a tabulation (`rlsuite.environments.tabulation`).

What was found are states, and for each action in each of them a tree of draws. If what an agent observes tells the
states apart, the model is an MDP whose states are the ids of the observations; otherwise it is a POMDP whose hidden
states are those that were found.
"""

import copy
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import gymnasium
import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import Observation, Space
from rlsuite.core.checks import is_array, is_dict, is_tuple
from rlsuite.environments.observation_ids import ObservationIds
from rlsuite.environments.outcomes import Tree, probabilities_of
from rlsuite.environments.tabulation import Tabulation
from rlsuite.models import MDP, POMDP
from rlsuite.models.mdp_fields import with_name
from rlsuite.models.observation_model import ObservationRows

MOST_LABELS = 10_000
"""Models of more states, or observations, have no labels."""

LONGEST_LABEL = 80
"""Characters. Observations with a longer text, such as images, get no labels."""

View: TypeAlias = tuple[int, int]
"""A state that was found, and the id of what is observed in it."""


class Outcome(NamedTuple):
    """What an action may lead to."""

    view: View
    reward: float
    over: bool
    """Whether the episode ends."""


Row: TypeAlias = dict[Outcome, float]
"""The outcomes of an action, each with its probability."""

States: TypeAlias = Mapping[View, int]
"""The states of a model: the state that each view belongs to."""

Emission: TypeAlias = dict[tuple[int, int], Mapping[int, float]]
"""Pr(z | a, s') for (a, s'): z and its probability."""

ROUNDING = 1e-12
"""Difference of two probabilities that rounding may cause."""


def model_of(table: Tabulation, numbering: "Numbering", gamma: float, name: str) -> MDP | POMDP:
    """Make a model of what was found.

    Parameters
    ----------
    table : Tabulation
        What was found.
    numbering : Numbering
        The numbers of its observations.
    gamma : float
        Discount factor of the model.
    name : str
        Of the environment.

    Returns
    -------
    MDP or POMDP
        An MDP if each observation belongs to one state in which episodes continue.
    """
    found = _Found(
        {outcome.view: p for outcome, p in _row_of(table.start, table).items()},
        {s: [_row_of(tree, table) for tree in trees] for s, trees in enumerate(table.rows) if trees is not None},
    )
    views = found.views()
    going_on = found.views(over=False)
    observations, labels = numbering.used({z for _, z in views})
    column = {z: i for i, z in enumerate(observations)}
    if len({z for _, z in going_on}) == len(going_on):  # what is observed tells the states apart
        return _mdp(found, {view: column[view[1]] for view in views}, len(observations), gamma, labels)
    states: States = {view: view[0] for view in views}
    emission = _emission(found, states)
    named_states = _labels_of_states(table)
    if emission is None:  # it depends on where the action was taken, so it is a part of the hidden state
        states = {view: i for i, view in enumerate(sorted(views))}
        emission, named_states = _emission(found, states), None
    assert emission is not None
    mdp = _mdp(found, states, 1 + max(states.values()), gamma, named_states)
    first = {states[view]: {view[1]: 1.0} for view in found.start}
    rows = _observation_rows(emission, first, mdp.n_states, mdp.n_actions, column)
    return with_name(POMDP(mdp, rows, labels), name)


class _Found(NamedTuple):
    """What was found by asking."""

    start: dict[View, float]
    rows: dict[int, list[Row]]
    """For each state in which an episode continues, what each action leads to."""

    def views(self, over: bool = True) -> set[View]:
        """Return all views, also those in which an episode is over, or those in which it continues."""
        outcomes = (one for rows in self.rows.values() for row in rows for one in row)
        return {*self.start, *(one.view for one in outcomes if over or not one.over)}


def _row_of(tree: Tree | None, table: Tabulation) -> Row:
    """Return the outcomes of a tree of draws, each with its probability; none of an action that is not legal."""
    row: Row = defaultdict(float)
    for p, answer in () if tree is None else probabilities_of(tree):
        if p > 0.0:
            view = (answer.state, answer.observation)
            over = answer.terminated or answer.truncated or table.rows[answer.state] is None
            row[Outcome(view, answer.reward, over)] += p
    return dict(row)


def _mdp(found: _Found, states: States, n_states: int, gamma: float, labels: Sequence[str] | None) -> MDP:
    """Make a model whose states are those of ``states``; one in which no episode continues is an end."""
    n_actions = len(next(iter(found.rows.values())))
    row_of: dict[int, list[Row]] = {states[view]: found.rows[view[0]] for view in found.views(over=False)}
    lengths = np.zeros((n_states, n_actions), dtype=np.int64)
    entries: list[tuple[int, float, bool, float]] = []
    for state, rows in sorted(row_of.items()):
        for action, row in enumerate(rows):
            merged: dict[tuple[int, float, bool], float] = defaultdict(float)
            for one, p in row.items():
                merged[states[one.view], one.reward, one.over] += p
            lengths[state, action] = len(merged)
            entries += [(*outcome, p) for outcome, p in merged.items()]
    next_state, reward, over, probability = zip(*entries, strict=True)
    start = np.zeros(n_states)
    for view, p in found.start.items():
        start[states[view]] += p
    return MDP.from_rows(
        np.concatenate([[0], np.cumsum(lengths)]),
        next_state,
        probability,
        reward,
        terminated=over,
        n_actions=n_actions,
        gamma=gamma,
        start=start,
        state_labels=labels,
    )


def _emission(found: _Found, states: States) -> Emission | None:
    """Return Pr(z | a, s'); None if it depends on where the action was taken, or comes with the reward."""
    emission: Emission = {}
    for rows in found.rows.values():
        for action, row in enumerate(rows):
            joint: dict[tuple[int, float, bool], dict[int, float]] = defaultdict(dict)
            for one, p in row.items():
                seen = joint[states[one.view], one.reward, one.over]
                seen[one.view[1]] = seen.get(one.view[1], 0.0) + p
            for (successor, _, _), seen in joint.items():
                total = math.fsum(seen.values())
                row = {z: p / total for z, p in seen.items()}
                known = emission.setdefault((action, successor), row)
                if known.keys() != row.keys() or any(abs(known[z] - p) > ROUNDING for z, p in row.items()):
                    return None
    return emission


def _observation_rows(
    emission: Emission,
    first: Mapping[int, Mapping[int, float]],
    n_states: int,
    n_actions: int,
    column: Mapping[int, int],
) -> ObservationRows:
    """Lay the observations out; where an action never leads, they are those of another action, or of `reset`."""
    elsewhere = {**first, **{successor: row for (_, successor), row in emission.items()}}
    indptr, observation, probability = [0], list[int](), list[float]()
    for action in range(n_actions):
        for successor in range(n_states):
            row = emission.get((action, successor)) or elsewhere.get(successor) or {next(iter(column)): 1.0}
            for z, p in sorted(row.items()):
                observation.append(column[z])
                probability.append(p)
            indptr.append(len(observation))
    return ObservationRows(
        np.array(indptr, dtype=np.int64),
        np.array(observation, dtype=np.int32),
        np.array(probability, dtype=np.float64),
        len(column),
    )


class Numbering:
    """Numbers of observations: their ids or, in a space without ids, the order in which they are found."""

    def __init__(self, space: Space):
        self._known: dict[object, int] = {}
        self._found: list[Observation] = []
        self.ids: ObservationIds | None = None
        with suppress(errors.UnsuitableEnvironment):
            self.ids = ObservationIds(space)

    def __call__(self, observation: Observation) -> int:
        """Return the number of an observation."""
        if self.ids is not None:
            return self.ids.id_of(observation)
        key = _content(observation)
        if key not in self._known:
            self._known[key] = len(self._found)
            self._found.append(copy.deepcopy(observation))
        return self._known[key]

    def used(self, numbers: set[int]) -> tuple[Sequence[int], list[str] | None]:
        """Return the numbers that a model uses, and labels for them: all ids, or those that were found."""
        ids = self.ids
        used = sorted(numbers) if ids is None else range(ids.n)
        if len(used) > MOST_LABELS or (ids is not None and isinstance(ids.space, gymnasium.spaces.Discrete)):
            return used, None
        labels = [_label(self._found[z] if ids is None else ids.observation_of(z)) for z in used]
        good = len({*labels}) == len(labels) and max(map(len, labels)) <= LONGEST_LABEL
        return used, labels if good else None


def _content(observation: object) -> object:
    """A hashable image of an observation."""
    if is_dict(observation):
        return tuple((name, _content(observation[name])) for name in sorted(observation))
    if is_tuple(observation):
        return tuple(map(_content, observation))
    if is_array(observation):
        return observation.dtype.str, observation.shape, observation.tobytes()
    return type(observation).__name__, repr(observation)


def _label(observation: object) -> str:
    """An observation as one line of text."""
    if is_array(observation):
        return str(observation.tolist())
    if is_tuple(observation):
        return f"({', '.join(map(_label, observation))})"
    if is_dict(observation):
        return ", ".join(f"{name}={_label(one)}" for name, one in observation.items())
    return str(observation)


def _labels_of_states(table: Tabulation) -> list[str] | None:
    """Name the hidden states by the attributes that make them up."""
    states = table.probe.states
    if len(states) > MOST_LABELS or any(state.pickled for state in states):
        return None
    labels = [", ".join(f"{name}={_label(value)}" for name, value in sorted(one.plain.items())) for one in states]
    good = len({*labels}) == len(labels) and all(0 < len(label) <= LONGEST_LABEL for label in labels)
    return labels if good else None
