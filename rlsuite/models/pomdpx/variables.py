"""What a ``.pomdpx`` file declares: variables of states, actions, observations and rewards, and their values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from rlsuite.errors import unknown
from rlsuite.models.pomdpx.document import Element, only

MOST = 2**24
"""Most combinations of the values of all state variables, of all actions or of all observations."""

WILDCARDS = ("*", "-")


class Variable(NamedTuple):
    """A variable and its values."""

    name: str
    """Of a state variable, its name before the step"""
    after: str
    """Of a state variable, its name after the step; else empty"""
    values: tuple[str, ...]
    listed: bool
    """Whether the file names the values; else it gives their number"""
    observed: bool
    """Of a state variable, whether its value is seen"""

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Slot:
    """A variable as functions name it: a state variable in one of two steps, an action or an observation."""

    kind: str
    """before, after, action or observation"""
    index: int
    """Number among the variables of the kind"""
    variable: Variable

    def number(self, value: str, element: Element) -> int:
        """Return the number of a value, or raise `FileError` for the line of an element."""
        try:
            return self.variable.values.index(value)
        except ValueError:
            element.fail(unknown(f"value of {self.variable.name}", value, self.variable.values[:40]))


class Declared(NamedTuple):
    """All variables of a file."""

    states: tuple[Variable, ...]
    actions: tuple[Variable, ...]
    observations: tuple[Variable, ...]
    rewards: tuple[str, ...]
    slots: dict[str, Slot]
    """By name"""

    def sizes(self, kind: str) -> tuple[int, ...]:
        """Return how many values each variable of a kind has."""
        of_kind = {"action": self.actions, "observation": self.observations}.get(kind, self.states)
        return tuple(one.size for one in of_kind)

    def slot(self, name: str, element: Element, kinds: Sequence[str]) -> Slot:
        """Return the slot of a name, which must be one of some kinds, or raise `FileError`."""
        allowed = [known for known, slot in self.slots.items() if slot.kind in kinds]
        if name not in allowed:
            element.fail(unknown("variable", name, allowed))
        return self.slots[name]


def read_variables(root: Element) -> Declared:
    """Return the variables.

    Raises
    ------
    FileError
        If there are no states, actions or rewards, a name occurs twice, or there are too many combinations of values.
    """
    declared = only(root, "Variable")
    declared.expect("StateVar", "ObsVar", "ActionVar", "RewardVar")
    states = tuple(
        Variable(one.attribute("vnamePrev"), one.attribute("vnameCurr"), *_values(one, "s"), _is_observed(one))
        for one in declared.all("StateVar")
    )
    actions = tuple(
        Variable(one.attribute("vname"), "", *_values(one, "a"), False) for one in declared.all("ActionVar")
    )
    seen = tuple(Variable(one.attribute("vname"), "", *_values(one, "o"), False) for one in declared.all("ObsVar"))
    rewards = tuple(one.attribute("vname") for one in declared.all("RewardVar"))
    for tag, found in (("StateVar", states), ("ActionVar", actions), ("RewardVar", rewards)):
        if not found:
            declared.fail(f"<Variable> has no <{tag}>")
    slots: dict[str, Slot] = {}
    names = [*rewards]
    for kind, found in (("before", states), ("action", actions), ("observation", seen)):
        if math.prod(one.size for one in found) > MOST:
            _too_many(declared, kind, found)
        for index, one in enumerate(found):
            slots[one.name] = Slot(kind, index, one)
            names.append(one.name)
            if one.after:
                slots[one.after] = Slot("after", index, one)
                names.append(one.after)
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        declared.fail(f"two variables have the name {twice!r}")
    return Declared(states, actions, seen, rewards, slots)


def _too_many(declared: Element, kind: str, found: Sequence[Variable]) -> NoReturn:
    what = "states" if kind == "before" else f"{kind}s"
    count = math.prod(one.size for one in found)
    declared.fail(f"the values of {len(found)} variables make {count} {what}; at most {MOST} can be read")


def _values(variable: Element, letter: str) -> tuple[tuple[str, ...], bool]:
    """Return the values of a variable, and whether the file names them; else they are a0, a1, ..."""
    listed, counted = variable.find("ValueEnum"), variable.find("NumValues")
    if (listed is None) == (counted is None):
        variable.fail(f"<{variable.tag}> needs <ValueEnum> with the values, or <NumValues> with their number")
    if listed is not None:
        values = tuple(listed.words())
        if not values:
            listed.fail("<ValueEnum> is empty")
        wild = [value for value in values if value in WILDCARDS]
        if wild:
            listed.fail(f"<ValueEnum> names {wild[0]!r}, which stands for all values in an <Instance>")
        if len({*values}) < len(values):
            twice = next(value for k, value in enumerate(values) if value in values[:k])
            listed.fail(f"<ValueEnum> names {twice!r} twice")
        return values, True
    assert counted is not None
    text = counted.text.strip()
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or not 1 <= int(text) <= MOST:
        counted.fail(f"<NumValues> is {text[:40]!r}, not a number from 1 to {MOST}")
    return tuple(f"{letter}{number}" for number in range(int(text))), False


def _is_observed(variable: Element) -> bool:
    text = variable.attributes.get("fullyObs", "false").strip().lower()
    if text not in ("true", "false"):
        variable.fail(f"fullyObs={text!r} is neither 'true' nor 'false'")
    return text == "true"
