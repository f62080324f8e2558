"""What the preamble of a file declares: states, actions and observations, by number or by name."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cached_property
from typing import NamedTuple

from rlsuite.models.cassandra.text import Text, Token, shown

ANY = -1
"""Number of the wildcard ``*``."""


class Names:
    """The elements of one kind.

    Parameters
    ----------
    kind : str
        "state", "action" or "observation".
    size : int
        How many there are.
    labels : tuple of str, optional
        Their names, if they have any. Their numbers may be used just as well.
    """

    def __init__(self, kind: str, size: int, labels: tuple[str, ...] | None) -> None:
        self.kind = kind
        self.size = size
        self.labels = labels

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each element, by number and by name, and of the wildcard."""
        found = {str(number): number for number in range(self.size)}
        found.update((label, number) for number, label in enumerate(self.labels or ()))
        return {**found, "*": ANY}

    def find(self, text: Text, token: Token, *, wildcard: bool = True) -> int:
        """Return the number of the element that `token` names.

        Raises
        ------
        FileError
            If there is none; the nearest name is suggested.
        """
        number = self.number_of.get(token.text)
        if number is None and token.text.isdecimal() and int(token.text) < self.size:
            number = int(token.text)
        if number is not None and (wildcard or number != ANY):
            return number
        if token.text in ("", ":", "*"):
            text.fail(token.at, f"expected {_a(self.kind)}, found {shown(token)}")
        known = f"the {self.kind}s are 0..{self.size - 1}"
        if not token.text.isdecimal() and self.labels is not None:
            near = get_close_matches(token.text, self.labels, n=1)
            known = f"did you mean {near[0]!r}?" if near else f"the first of the {self.size} is {self.labels[0]!r}"
        text.fail(token.at, f"unknown {self.kind} {token.text!r}; {known}")


class Declared(NamedTuple):
    """The kinds of a file that can be named in its entries."""

    actions: Names
    states: Names
    observations: Names | None

    def slots(self, keyword: str) -> tuple[Names, ...]:
        """Return what the entries of ``T``, ``O`` or ``R`` are about, in order."""
        if keyword == "O" and self.observations is not None:
            return self.actions, self.states, self.observations
        if keyword == "R" and self.observations is not None:
            return self.actions, self.states, self.states, self.observations
        return self.actions, self.states, self.states


def listed(text: Text) -> list[Token]:
    """Return the tokens up to the next statement, which begins with a word and a colon."""
    found: list[Token] = []
    while (token := text.peek()).text not in ("", ":") and text.peek(1).text != ":":
        if token.text == "start" and text.peek(1).text in ("include", "exclude"):
            break
        found.append(text.take())
    return found


def declaration(text: Text, kind: str) -> Names:
    """Read what follows ``states:``, ``actions:`` or ``observations:``, a number or names."""
    tokens = listed(text)
    if not tokens:
        text.fail(text.peek().at, f"expected the number of {kind}s or their names, found {shown(text.peek())}")
    if len(tokens) == 1 and tokens[0].text.isdecimal():
        size = int(tokens[0].text)
        if not 1 <= size < 2**31:
            text.fail(tokens[0].at, f"{size} {kind}s; at least 1 and less than 2**31 are needed")
        return Names(kind, size, None)
    first: dict[str, Token] = {}
    for token in tokens:
        if token.text.isdecimal() or token.text == "*":
            text.fail(token.at, f"{token.text!r} is no name of {_a(kind)}: give one number, or names")
        if token.text in first:
            text.fail(token.at, f"the {kind} {token.text!r} is declared twice")
        first[token.text] = token
    return Names(kind, len(tokens), tuple(first))


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'ao' else 'a'} {kind}"
