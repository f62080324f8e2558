"""The functions of a ``.pomdpx`` file: conditional probabilities and rewards, as tables or as decision diagrams.

A function assigns numbers to combinations of values of its parents and, for a probability, of its variable. In a table
(TBL), ``*`` in an ``<Instance>`` stands for all values, with the same number, and ``-`` for all values, with the
numbers of the table in this order, the last ``-`` changing fastest. The last assignment to a combination counts, and
what is not assigned is 0. In a decision diagram (DD), a node asks for the value of a variable, which has an edge for
each of them; an edge leads to a node, to a number, or to one of four abbreviations.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.cassandra.entries import Entries
from rlsuite.models.cassandra.names import ANY
from rlsuite.models.cassandra.text import NUMBER
from rlsuite.models.pomdpx.document import Element, only
from rlsuite.models.pomdpx.variables import WILDCARDS, Declared, Slot

MOST_PARENTS = 40
MOST_LEAVES = 2**16
"""Most paths from the root of a decision diagram to a number; templates may stand for more than they seem to."""


class Function(NamedTuple):
    """A table of numbers over combinations of values."""

    element: Element
    """Where it stands in the file"""
    name: str
    """Of its variable, as it is written in the file"""
    slots: tuple[Slot, ...]
    """The parents; of a probability, its variable is the last"""
    entries: Entries

    @property
    def parents(self) -> tuple[Slot, ...]:
        """The slots of a probability but for the variable itself."""
        return self.slots[:-1]


def read_functions(
    root: Element, section: str, declared: Declared, child: str | None, parents: tuple[str, ...]
) -> list[Function]:
    """Return the functions in a section of the file.

    Parameters
    ----------
    root : Element
        The outermost element.
    section : str
        The element that holds them.
    declared : Declared
        The variables.
    child : str, optional
        The kind of variable whose probabilities they are; None for rewards.
    parents : tuple of str
        The kinds of variables on which they may depend.

    Raises
    ------
    FileError
        If a function is malformed, or there are two of a probability; the line is named.
    """
    tag = "Func" if child is None else "CondProb"
    only(root, section).expect(tag)
    found = [_function(one, declared, child, parents) for one in only(root, section).all(tag)]
    for number, one in enumerate(found):
        if child is not None and one.name in [other.name for other in found[:number]]:
            one.element.fail(f"<{section}> has two <{tag}> of {one.name}")
    return found


def _function(element: Element, declared: Declared, child: str | None, parents: tuple[str, ...]) -> Function:
    element.expect("Var", "Parent", "Parameter")
    words = only(element, "Var").words()
    if len(words) != 1:
        only(element, "Var").fail("<Var> must name one variable")
    name = words[0]
    listed = only(element, "Parent").words()
    if listed == ["null"]:
        listed = []
    slots = [declared.slot(one, only(element, "Parent"), parents) for one in listed]
    if child is None:
        if name not in declared.rewards:
            only(element, "Var").fail(f"{name!r} is not a reward variable: {', '.join(declared.rewards)}")
    else:
        slots.append(declared.slot(name, only(element, "Var"), (child,)))
    if len({(slot.kind, slot.index) for slot in slots}) < len(slots):
        only(element, "Parent").fail(f"<Parent> names a variable twice, or {name} itself")
    if len(slots) > MOST_PARENTS:
        only(element, "Parent").fail(f"{name} depends on {len(slots)} variables; at most {MOST_PARENTS} can be read")
    dims = tuple(slot.variable.size for slot in slots)
    if math.prod(dims) >= 2**62:
        element.fail(f"the function of {name} has {math.prod(dims)} combinations of values; at most 2^62 can be read")
    function = Function(element, name, tuple(slots), Entries(dims))
    parameter = only(element, "Parameter")
    kind = parameter.attributes.get("type", "TBL").strip()
    if kind == "TBL":
        _read_table(function, parameter, child is not None)
    elif kind == "DD":
        _Diagram(function, parameter, declared).read()
    else:
        parameter.fail(f"type={kind!r} is neither 'TBL' nor 'DD'")
    return function


# ------------------------------------------------------------------------------------------------------ tables


def _read_table(function: Function, parameter: Element, probabilities: bool) -> None:
    tag = "ProbTable" if probabilities else "ValueTable"
    slots = function.slots
    parameter.expect("Entry")
    for entry in parameter.children:
        entry.expect("Instance", tag)
        instance = only(entry, "Instance")
        words = instance.words()
        if len(words) != len(slots):
            names = " ".join(_written(slot) for slot in slots) or "nothing, as there are no parents"
            instance.fail(f"<Instance> has {len(words)} values, not {len(slots)}: {names}")
        given = [
            ANY if word in WILDCARDS else slot.number(word, instance) for word, slot in zip(words, slots, strict=True)
        ]
        running = [k for k, word in enumerate(words) if word == "-"]
        table = only(entry, tag)
        text = table.words()
        keyword = text[0].lower() if len(text) == 1 else ""
        if probabilities and keyword == "uniform":
            _add_uniform(function, given, words, table)
        elif probabilities and keyword == "identity":
            _add_identity(function, given, running, table)
        else:
            _add_numbers(function, given, running, table)


def _written(slot: Slot) -> str:
    return slot.variable.after if slot.kind == "after" else slot.variable.name


def _add_uniform(function: Function, given: list[int], words: list[str], table: Element) -> None:
    if words[-1] != "-":
        table.fail(f"'uniform' needs - for {function.name}, the last value of <Instance>")
    function.entries.add(given, 1.0 / function.slots[-1].variable.size, table.line)


def _add_identity(function: Function, given: list[int], running: list[int], table: Element) -> None:
    last = len(function.slots) - 1
    sizes = [function.slots[k].variable.size for k in running]
    if len(running) != 2 or running[-1] != last or sizes[0] != sizes[1]:
        table.fail(f"'identity' needs - for {function.name} and for one other variable with as many values")
    each = np.arange(sizes[0])
    function.entries.add(given, 0.0, table.line)
    columns: list[IndexArray | int] = [each if k in running else value for k, value in enumerate(given)]
    function.entries.extend(columns, np.ones(sizes[0]), table.line)


def _add_numbers(function: Function, given: list[int], running: list[int], table: Element) -> None:
    sizes = [function.slots[k].variable.size for k in running]
    values = _numbers(table)
    if values.size != math.prod(sizes):
        table.fail(f"<{table.tag}> has {values.size} numbers; the values of <Instance> need {math.prod(sizes)}")
    columns: list[IndexArray | int] = [*given]
    if running:
        for k, numbers in zip(running, np.unravel_index(np.arange(values.size), sizes), strict=True):
            columns[k] = numbers
    function.entries.extend(columns, values, table.line)


def _numbers(element: Element) -> FloatArray:
    words = element.words()
    wrong = next((word for word in words if NUMBER.fullmatch(word) is None), None)
    values: FloatArray = np.array([] if wrong is not None else words, dtype=np.float64)
    if wrong is None and not np.isfinite(values).all():
        wrong = words[int(np.argmin(np.isfinite(values)))]
    if wrong is not None:
        element.fail(f"{wrong[:40]!r} is not a finite number")
    return values


# --------------------------------------------------------------------------------------------------- diagrams


class _Diagram:
    """A walk through a decision diagram, which adds an entry for each way to a number."""

    def __init__(self, function: Function, parameter: Element, declared: Declared) -> None:
        self.function = function
        self.parameter = parameter
        self.declared = declared
        self.place = {(slot.kind, slot.index): k for k, slot in enumerate(function.slots)}
        self.templates = {one.attribute("id"): one for one in parameter.all("SubDAGTemplate")}
        self.leaves: list[list[int]] = []
        self.values: list[float] = []

    def read(self) -> None:
        self.parameter.expect("DAG", "SubDAGTemplate")
        self._below(only(self.parameter, "DAG"), [ANY] * len(self.function.slots), ())
        columns = np.array(self.leaves, dtype=np.int64).T
        self.function.entries.extend([*columns], np.array(self.values), self.parameter.line)

    def _below(self, holder: Element, given: list[int], used: tuple[str, ...]) -> None:
        """Walk through what an element holds, with the values that were chosen on the way (`ANY` for the others)."""
        holder.expect("Node", "Terminal", "SubDAG")
        inside = holder.children
        if len(inside) != 1:
            holder.fail(f"<{holder.tag}> needs one <Node>, <Terminal> or <SubDAG>")
        one = inside[0]
        if one.tag == "Node":
            self._node(one, given, used)
        elif one.tag == "SubDAG":
            self._abbreviation(one, given, used)
        else:
            values = _numbers(one)
            if values.size != 1:
                one.fail("<Terminal> must hold one number")
            self._leaf(one, given, float(values[0]))

    def _node(self, node: Element, given: list[int], used: tuple[str, ...]) -> None:
        place = self._place(node, node.attribute("var"))
        slot = self.function.slots[place]
        if given[place] != ANY:
            node.fail(f"the value of {node.attribute('var')} was chosen before on this way")
        edges: dict[int, Element] = {}
        node.expect("Edge")
        for edge in node.children:
            number = slot.number(edge.attribute("val"), edge)
            if number in edges:
                edge.fail(f"there are two edges for {edge.attribute('val')!r}")
            edges[number] = edge
        if len(edges) < slot.variable.size:
            missing = next(k for k in range(slot.variable.size) if k not in edges)
            node.fail(f"there is no edge for the value {slot.variable.values[missing]!r} of {node.attribute('var')}")
        for number, edge in edges.items():
            self._below(edge, [number if k == place else value for k, value in enumerate(given)], used)

    def _abbreviation(self, one: Element, given: list[int], used: tuple[str, ...]) -> None:
        kind = one.attribute("type")
        if kind == "template":
            name = one.attribute("idref")
            if name not in self.templates:
                one.fail(f"there is no <SubDAGTemplate> with the id {name!r}")
            if name in used:
                one.fail(f"the template {name!r} leads to itself")
            self._below(self.templates[name], given, (*used, name))
            return
        if kind not in ("uniform", "deterministic", "persistent"):
            one.fail(f"type={kind!r} is not one of deterministic, persistent, template, uniform")
        place = self._place(one, one.attribute("var"))
        slot = self.function.slots[place]
        if given[place] != ANY:
            one.fail(f"the value of {one.attribute('var')} was chosen before on this way")
        if kind == "uniform":
            self._leaf(one, given, 1.0 / slot.variable.size)
        elif kind == "deterministic":
            chosen = [*given]
            chosen[place] = slot.number(one.attribute("val"), one)
            self._leaf(one, chosen, 1.0)
        else:
            self._persistent(one, given, place)

    def _persistent(self, one: Element, given: list[int], place: int) -> None:
        slot = self.function.slots[place]
        before = self.place.get(("before", slot.index)) if slot.kind == "after" else None
        if before is None:
            one.fail(f"'persistent' needs a state variable after the step, and {slot.variable.name} among <Parent>")
        values = range(slot.variable.size) if given[before] == ANY else [given[before]]
        for value in values:
            chosen = [*given]
            chosen[before] = chosen[place] = value
            self._leaf(one, chosen, 1.0)

    def _place(self, element: Element, name: str) -> int:
        slot = self.declared.slots.get(name)
        place = None if slot is None else self.place.get((slot.kind, slot.index))
        if place is None:
            names = ", ".join(_written(one) for one in self.function.slots)
            element.fail(f"var={name!r} is not a variable of this function: {names}")
        return place

    def _leaf(self, element: Element, given: list[int], value: float) -> None:
        if len(self.leaves) == MOST_LEAVES:
            element.fail(f"the diagram of {self.function.name} has more than {MOST_LEAVES} ways to a number")
        self.leaves.append(given)
        self.values.append(value)
