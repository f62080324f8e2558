"""From a ``.pomdpx`` file to a model: the product of its variables, and sums over what is independent.

A state of the model is a combination of values of all state variables, the first one changing slowest; actions and
observations likewise. Of several variables, the probability of a combination is the product of their conditional
probabilities, in an order in which each comes after those it depends on.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from rlsuite.errors import FileError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.cassandra.reading import LOOSE, MAX_CELLS, MAX_LOOKUPS
from rlsuite.models.cassandra.text import NUMBER
from rlsuite.models.files import reading, rescaled
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.observation_model import ObservationRows
from rlsuite.models.pomdpx.document import Element, only, read_document
from rlsuite.models.pomdpx.functions import Function, read_functions
from rlsuite.models.pomdpx.variables import Slot, Variable, read_variables
from rlsuite.models.validation import pointers

M = TypeVar("M", bound=MdpFields)
P = TypeVar("P")

Values = Mapping[tuple[str, int], IndexArray]
"""(kind, index) of a slot -> the number of its value, in each of some situations."""

SECTIONS = ("InitialStateBelief", "StateTransitionFunction", "ObsFunction", "RewardFunction")
BLOCK = 2**20
"""Pairs of a transition and an observation whose rewards are looked up at a time."""


class Joint(NamedTuple):
    """Rows of probabilities of combinations of values."""

    indptr: IndexArray
    """(rows + 1,) int64"""
    column: IndexArray
    """(N,) int64: number of the combination, ascending within a row"""
    probability: FloatArray
    """(N,) float64"""


def read_pomdpx(
    model: Callable[[M, ObservationRows, Sequence[str] | None], P],
    hidden: type[M],
    path: str | os.PathLike[str],
    gamma: float | None,
) -> P:
    """Return the model of a file.

    Parameters
    ----------
    model : callable
        Makes the model of the process of the states, the observations and their names.
    hidden : type
        The class of the process of the states.
    path
        The file.
    gamma : float, optional
        Used instead of the discount of the file.

    Raises
    ------
    FileError
        If the file is missing, not XML, malformed (the line is named), too large, without a discount when `gamma` is
        not given, or if its probabilities are invalid.

    Warns
    -----
    RoundingWarning
        If rows are off by more than 1e-5, which the rounding of a few decimals does not explain. Beyond 1e-3 that is
        an error.
    """
    reader = _Reader(path)
    moves, seen = reader.transitions(), reader.observations()
    mdp = reader.process(hidden, moves, seen, reader.start(), gamma)
    rows = ObservationRows(seen.indptr, seen.column.astype(np.int32), seen.probability, reader.n_observations)
    with reading(path):
        return model(mdp, rows, _names(reader.seen))


def read_observed_pomdpx(model: type[M], path: str | os.PathLike[str], gamma: float | None) -> M:
    """Return the model of a file in which all variables of states are fully observable, as an object of a class.

    Parameters and errors are those of `read_pomdpx`.
    """
    reader = _Reader(path)
    hidden = [one.name for one in reader.declared.states if not one.observed]
    if hidden:
        raise FileError(
            f"{path} holds a POMDP: {', '.join(hidden)} is not fully observable; read it with rl.POMDP.read"
        )
    moves = reader.transitions()
    seen = reader.observations()
    return reader.process(model, moves, seen, reader.first_belief(), gamma)


def _discount(root: Element) -> float:
    element = root.find("Discount")
    if element is None:
        root.fail("there is no <Discount>: pass gamma=")
    text = element.text.strip()
    if NUMBER.fullmatch(text) is None or not 0.0 <= float(text) <= 1.0:
        element.fail(f"<Discount> is {text[:40]!r}, not a number in [0, 1]")
    return float(text)


def _names(variables: Sequence[Variable]) -> list[str] | None:
    """Return the names of all combinations; None if there is one variable, whose values the file only counts."""
    if len(variables) == 0 or (len(variables) == 1 and not variables[0].listed):
        return None
    return [" ".join(values) for values in itertools.product(*(one.values for one in variables))]


class _Reader:
    """The parts of one file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.root = root = read_document(path, "pomdpx")
        root.expect("Description", "Discount", "Variable", *SECTIONS)
        self.declared = declared = read_variables(root)
        self.n_states, self.n_actions = math.prod(declared.sizes("before")), math.prod(declared.sizes("action"))
        pairs = self.n_states * self.n_actions
        if pairs * (len(declared.states) + len(declared.actions)) > MAX_CELLS:
            raise FileError(
                f"{path}: {self.n_states} states and {self.n_actions} actions are too many; at most {MAX_CELLS} values "
                "of variables can be listed, for each pair those of its variables"
            )
        self.observed = [k for k, one in enumerate(declared.states) if one.observed]
        self.seen = [*declared.observations, *(declared.states[k] for k in self.observed)]
        """Variables whose values are observed"""
        self.n_observations = math.prod(one.size for one in self.seen)

    def transitions(self) -> Joint:
        """Return Pr(s' | s, a) as rows over (s, a)."""
        allowed = ("before", "action", "after")
        functions = self._functions("StateTransitionFunction", "after", allowed, self.declared.states)
        pairs = np.arange(self.n_states * self.n_actions)
        state, action = np.divmod(pairs, self.n_actions)
        known = {**self._values("before", state), **self._values("action", action)}
        return self._joint(functions, known, pairs.size, "transitions", self._pair_name)

    def observations(self) -> Joint:
        """Return Pr(z | a, s') as rows over (a, s')."""
        pairs = np.arange(self.n_actions * self.n_states)
        action, state = np.divmod(pairs, self.n_states)
        known = {**self._values("after", state), **self._values("action", action)}
        functions: list[Function] = []
        if self.declared.observations:
            allowed = ("action", "after", "observation")
            functions = self._functions("ObsFunction", "observation", allowed, self.declared.observations)
        shown = [known["after", k] for k in self.observed]

        def name(row: int) -> str:
            return f"the observation after action {row // self.n_states} in state {row % self.n_states}"

        found = self._joint(functions, known, pairs.size, "observations", name)
        if not shown:
            return found
        # What is observed of the state itself follows the values of the observation variables.
        sizes = tuple(self.declared.states[k].size for k in self.observed)
        extra = np.ravel_multi_index(shown, sizes)
        row = np.repeat(pairs, np.diff(found.indptr))
        return found._replace(column=found.column * math.prod(sizes) + extra[row])

    def process(self, model: type[M], moves: Joint, seen: Joint, start: FloatArray, gamma: float | None) -> M:
        """Return the process of the states, as an object of a class."""
        with reading(self.path):
            return model.from_rows(
                moves.indptr,
                moves.column,
                moves.probability,
                self.rewards(moves, seen),
                n_actions=self.n_actions,
                gamma=_discount(self.root) if gamma is None else gamma,
                start=start,
                terminated=np.zeros(moves.column.size, dtype=np.bool_),
                state_labels=_names(self.declared.states),
                action_labels=_names(self.declared.actions),
            )

    def first_belief(self) -> FloatArray:
        """Return the distribution of the first state: (S,) float64."""
        functions = self._functions("InitialStateBelief", "before", ("before",), self.declared.states)
        found = self._joint(functions, {}, 1, "first states", lambda _: "the first belief")
        start = np.zeros(self.n_states)
        start[found.column] = found.probability
        return start

    def start(self) -> FloatArray:
        """Return the distribution of the first state, where what is fully observable must be certain: (S,) float64."""
        start = self.first_belief()
        for k in self.observed:
            variable = self.declared.states[k]
            value = self._values("before", np.flatnonzero(start))["before", k]
            if value.size and np.ptp(value) > 0:
                raise FileError(
                    f"{self.path}: {variable.name} is fully observable and its first value is random; nothing is "
                    "observed before the first action here: let the first value be certain, or set fullyObs='false'"
                )
        return start

    def rewards(self, moves: Joint, seen: Joint) -> FloatArray:
        """Return the mean reward of each transition: (N,) float64."""
        allowed = ("before", "after", "action", "observation")
        functions = read_functions(self.root, "RewardFunction", self.declared, None, allowed)
        pair = np.repeat(np.arange(moves.indptr.size - 1), np.diff(moves.indptr))
        state, action = np.divmod(pair, self.n_actions)
        known = {
            **self._values("before", state),
            **self._values("action", action),
            **self._values("after", moves.column),
        }
        paid = np.zeros(moves.column.size)
        for one in functions:
            if any(slot.kind == "observation" for slot in one.slots):
                paid += self._folded(one, known, action * self.n_states + moves.column, seen)
            else:
                paid += one.entries.values_at(_cells(one.slots, known, paid.size))
        return paid

    # ------------------------------------------------------------------------------------------- details

    def _pair_name(self, row: int) -> str:
        return f"the row of state {row // self.n_actions} and action {row % self.n_actions}"

    def _values(self, kind: str, number: IndexArray) -> dict[tuple[str, int], IndexArray]:
        """Return the number of each variable's value in combinations of given numbers."""
        sizes = self.declared.sizes(kind)
        return (
            {(kind, k): one.astype(np.int64) for k, one in enumerate(np.unravel_index(number, sizes))} if sizes else {}
        )

    def _functions(
        self, section: str, child: str, allowed: tuple[str, ...], variables: Sequence[Variable]
    ) -> list[Function]:
        """Return the probabilities of all variables, each after those it depends on."""
        found = {one.slots[-1].index: one for one in read_functions(self.root, section, self.declared, child, allowed)}
        for k, variable in enumerate(variables):
            if k not in found:
                name = variable.after if child == "after" else variable.name
                only(self.root, section).fail(f"<{section}> has no <CondProb> of {name}")
        order: list[Function] = []
        waiting = dict(sorted(found.items()))
        while waiting:
            ready = [
                k
                for k, one in waiting.items()
                if not any(slot.kind == child and slot.index in waiting for slot in one.parents)
            ]
            if not ready:
                first = next(iter(waiting.values()))
                first.element.fail(
                    f"{', '.join(one.name for one in waiting.values())} depend on each other in a circle"
                )
            order += [waiting.pop(k) for k in ready]
        return order

    def _joint(
        self,
        functions: Sequence[Function],
        known: Values,
        rows: int,
        what: str,
        name: Callable[[int], str],
    ) -> Joint:
        """Return the probabilities of all combinations of the values of some variables, given others."""
        row, probability = np.arange(rows), np.ones(rows)
        given = dict(known)
        for one in functions:
            own = one.slots[-1]
            each = self._conditional(one)
            configuration = _cells(one.parents, given, row.size)
            lengths = np.diff(each.indptr)[configuration]
            total = int(lengths.sum())
            if total > MAX_CELLS:
                one.element.fail(f"there are more than {total} possible {what}; at most {MAX_CELLS} can be read")
            of = np.repeat(np.arange(row.size), lengths)
            entry = np.arange(total) - (np.cumsum(lengths) - lengths)[of] + each.indptr[configuration][of]
            row, probability = row[of], probability[of] * each.probability[entry]
            given = {slot: values[of] for slot, values in given.items()}
            given[own.kind, own.index] = each.column[entry]
        column = np.zeros(row.size, dtype=np.int64)
        if functions:
            kind = functions[0].slots[-1].kind
            sizes = self.declared.sizes(kind)
            column = np.ravel_multi_index([given[kind, k] for k in range(len(sizes))], sizes).astype(np.int64)
        order = np.lexsort((column, row))
        indptr = pointers(np.bincount(row, minlength=rows))
        # Each factor sums to 1 within a tolerance; in the product this must not add up.
        return Joint(indptr, column[order], rescaled(self.path, probability[order], indptr, name))

    def _conditional(self, function: Function) -> Joint:
        """Return the probabilities of one variable as rows over the values of its parents."""
        own, parents = function.slots[-1], function.parents
        rows = math.prod(slot.variable.size for slot in parents)
        entries, element = function.entries, function.element
        covered = entries.cells_covered()
        if max(rows, covered - entries.size) > MAX_CELLS:
            element.fail(
                f"the function of {function.name} has {rows} combinations of its parents and {covered} numbers above "
                f"0; at most {MAX_CELLS} can be read"
            )
        cells = entries.support()
        values = entries.values_at(cells)
        if (values < 0.0).any():
            element.fail(f"a probability of {function.name} is {values.min():g}, which is negative")
        cells, values = cells[values > 0.0], values[values > 0.0]
        row, column = np.divmod(cells, own.variable.size)
        indptr = pointers(np.bincount(row, minlength=rows))

        def name(number: int) -> str:
            if not parents:
                return f"the distribution of {function.name}"
            numbers = np.unravel_index(number, tuple(slot.variable.size for slot in parents))
            listed = " ".join(slot.variable.values[k] for slot, k in zip(parents, numbers, strict=True))
            return f"the distribution of {function.name} given '{listed}'"

        empty = np.diff(indptr) == 0
        if empty.any():
            element.fail(f"no probability above 0 is given for {name(int(np.argmax(empty)))}")
        position = f":{element.line}"
        probability = rescaled(self.path, values, indptr, name, position=lambda _: position, worst=LOOSE)
        return Joint(indptr, column, probability)

    def _folded(self, function: Function, known: Values, row: IndexArray, seen: Joint) -> FloatArray:
        """Return what a function of observations pays for each transition on average."""
        lengths = np.diff(seen.indptr)[row]
        total = int(lengths.sum())
        if total > MAX_LOOKUPS:
            function.element.fail(
                f"rewards that depend on the observation need {total} look-ups; at most {MAX_LOOKUPS} are allowed"
            )
        shown = math.prod(self.declared.states[k].size for k in self.observed)
        paid = np.zeros(row.size)
        ends = np.cumsum(lengths)
        first = 0
        while first < row.size:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + BLOCK)))
            of = np.repeat(np.arange(first, last), lengths[first:last])
            within = np.arange(of.size) - (ends - lengths - (ends - lengths)[first])[of]
            entry = seen.indptr[row[of]] + within
            given = {slot: values[of] for slot, values in known.items()}
            given |= self._values("observation", seen.column[entry] // shown)
            each = function.entries.values_at(_cells(function.slots, given, of.size))
            paid[first:last] = np.bincount(of - first, weights=seen.probability[entry] * each, minlength=last - first)
            first = last
        return paid


def _cells(slots: Sequence[Slot], known: Values, size: int) -> IndexArray:
    """Return the number of the combination of values in each situation: (size,) int64."""
    cell = np.zeros(size, dtype=np.int64)
    for slot in slots:
        cell = cell * slot.variable.size + known[slot.kind, slot.index]
    return cell
