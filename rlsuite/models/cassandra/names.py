"""What the preamble of a file declares: states, actions and observations, by number or by name."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cached_property
from typing import NamedTuple

from rlsuite.models.cassandra.text import LONGEST, NUMBER, Text, Token, short, shown

ANY = -1
"""Number of the wildcard ``*``."""

MOST = 2**24
"""Largest number of states, actions or observations: a number takes a line, and the arrays for it gigabytes."""

_NUMBER = re.compile(r"0*([0-9]{1,18})")
_QUOTED = re.compile(r'"([^"]+)"')


class _Numbers(dict[str, int]):
    """The number of each name, with or without quotes, and of each number that is written out, as far as asked for."""

    def __init__(self, size: int, labels: tuple[str, ...] | None, quoted: bool) -> None:
        super().__init__((label, number) for number, label in enumerate(labels or ()))
        if quoted:
            self.update({f'"{label}"': number for number, label in enumerate(labels or ())})
        self["*"] = ANY
        self.size = size

    def __missing__(self, word: str) -> int:
        found = _NUMBER.fullmatch(word)
        if found is None or int(found[1]) >= self.size:
            raise KeyError(word)
        # kept, because a large file asks for it many times
        self[word] = number = int(found[1])
        return number


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
    quoted : bool
        Whether some of them were declared in quotes, which are not part of a name.
    """

    def __init__(self, kind: str, size: int, labels: tuple[str, ...] | None, quoted: bool = False) -> None:
        self.kind = kind
        self.size = size
        self.labels = labels
        self._quoted = quoted

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each element, by number and by name, and of the wildcard; a `KeyError` for other words."""
        return _Numbers(self.size, self.labels, self._quoted)

    def find(self, text: Text, token: Token, *, wildcard: bool = True) -> int:
        """Return the number of the element that `token` names.

        Raises
        ------
        FileError
            If there is none; the nearest name is suggested.
        """
        try:
            number = self.number_of[token.text]
        except KeyError:
            pass
        else:
            if wildcard or number != ANY:
                return number
        if token.text in ("", ":", "*"):
            text.fail(token.at, f"expected {_a(self.kind)}, found {shown(token)}")
        known = f"the {self.kind}s are 0..{self.size - 1}"
        if not token.text.isdecimal() and self.labels is not None:
            near = get_close_matches(token.text, self.labels[:10_000], n=1) if len(token.text) <= LONGEST else ()
            first = f"the first of the {self.size} {self.kind}s is {short(self.labels[0])!r}"
            known = f"did you mean {near[0]!r}?" if near else first
        text.fail(token.at, f"unknown {self.kind} {shown(token)}; {known}")

    def name(self, number: int) -> str:
        """Return the name of an element, or else its number."""
        return str(number) if self.labels is None else short(self.labels[number])


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
    for token in text.tokens():
        if token.text == ":":
            found = found[:-1]
            break
        if token.text in ("include", "exclude") and found and found[-1].text == "start":
            found = found[:-1]
            break
        found.append(token)
    if found:
        text.at = found[-1].at + len(found[-1].text)
    return found


def declaration(text: Text, kind: str, actions: Names | None) -> Names:
    """Read what follows ``states:``, ``actions:`` or ``observations:``, a number or names.

    A line that begins like a statement is not more names, but a statement without its colon.
    """
    tokens = listed(text)
    for token in tokens:
        if _begins_a_statement(text, token, actions):
            text.at = token.at + len(token.text)
            text.colon(repr(token.text))
    if not tokens:
        text.fail(text.peek().at, f"expected the number of {kind}s or their names, found {shown(text.peek())}")
    if len(tokens) == 1 and NUMBER.fullmatch(tokens[0].text):
        if not tokens[0].text.isdecimal():
            text.fail(tokens[0].at, f"{shown(tokens[0])} is not a number of {kind}s: a whole number is needed")
        number = _NUMBER.fullmatch(tokens[0].text)
        if number is None or not 1 <= int(number[1]) <= MOST:
            text.fail(
                tokens[0].at,
                f"the number of {kind}s is {short(tokens[0].text)}, not in 1..{MOST}",
            )
        return Names(kind, int(number[1]), None)
    if len(tokens) > 1 and all(token.text.endswith(",") for token in tokens[:-1]):
        text.fail(tokens[0].at, f"names of {kind}s stand one after the other, without commas")
    first: dict[str, Token] = {}
    for token in tokens:
        if token.text.isdecimal() or token.text == "*":
            text.fail(token.at, f"{shown(token)} cannot be the name of {_a(kind)}: give one number, or names only")
        name = _QUOTED.sub(r"\1", token.text)
        if '"' in name:
            text.fail(token.at, f"{shown(token)} cannot be the name of {_a(kind)}: a name in quotes must be one word")
        if name in first:
            text.fail(token.at, f"the {kind} {shown(token)} is declared twice")
        first[name] = token
    return Names(kind, len(tokens), tuple(first), any(token.text not in first for token in tokens))


def _begins_a_statement(text: Text, token: Token, actions: Names | None) -> bool:
    """Return whether a line begins here with a keyword and what follows it: a number, or for entries an action."""
    if token.text not in ("start", "discount", "T", "O", "R") or not text.first_on_its_line(token.at):
        return False
    word = text.after(token).text
    if token.text in ("start", "discount"):
        return NUMBER.fullmatch(word) is not None
    return actions is not None and (word in actions.number_of or (word.isdecimal() and int(word[:9]) < actions.size))


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'ao' else 'a'} {kind}"
