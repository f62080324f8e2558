"""The text of a file, its tokens, and errors that name their line and column.

A token is a colon, or anything else between colons, white space and comments. Whether a token is a keyword, a name or
a number is for the grammar to say: real files have states called ``T`` and names that start with digits.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from rlsuite.core.narrowing import is_mapping
from rlsuite.errors import FileError
from rlsuite.models.aliases import FloatArray
from rlsuite.models.files import reading

LABELS = "# labels: "
"""Begins the comment with labels that are no names in the format, as JSON: {"actions": ["listen", "open left"]}."""

_COMMENT = re.compile(r"#[^\n]*")
_KEPT = re.compile(rf"(?m)^{LABELS}(.*)$")
_FOREIGN = re.compile("[\udc80-\udcff]")  # what "surrogateescape" makes of a byte that is not UTF-8
_TOKEN = re.compile(r"\s*(:|[^\s:]+)")
_TOKENS = re.compile(r"(:|[^\s:]+)")  # no \s* in front: it would try the blanks at the end again from each of them
_NUMBERS = re.compile(r"[\s0-9.eE+-]*")
# Possessive, so that nothing is tried twice: a word of a million digits must not take a million steps per digit.
# The last group is not: as a possessive one, it takes half a match in Python 3.11.0 to 3.11.2.
NUMBER = re.compile(r"[-+]?+(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][-+]?+[0-9]++)?")


LONGEST = 60
"""Characters of a token that are shown in an error."""


class Token(NamedTuple):
    """A piece of text and where it begins."""

    text: str
    at: int


class Text:
    """The text of a file and how far it was read.

    Parameters
    ----------
    path
        The file; its name goes into the errors.
    content : str
        What it holds.
    """

    def __init__(self, path: str | os.PathLike[str], content: str) -> None:
        self.path = path
        self.labels: Mapping[Any, object] = {}
        """What the comment with labels says, by kind"""
        kept = _KEPT.search(content) if LABELS in content else None
        if kept:
            with suppress(ValueError, RecursionError):
                found: object = json.loads(kept[1])
                self.labels = found if is_mapping(found) else {}
        # Comments become spaces, so that offsets do not change.
        self.content = _COMMENT.sub(lambda found: " " * len(found[0]), content) if "#" in content else content
        self.at = 0

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Self:
        """Return the text of a file.

        Raises
        ------
        FileError
            If there is no such file, or it is not UTF-8 outside of comments: old files have names with accents there.
        """
        with reading(path):
            text = cls(path, Path(path).read_text(encoding="utf-8-sig", errors="surrogateescape"))
        foreign = None if text.content.isascii() else _FOREIGN.search(text.content)
        if foreign:
            byte = ord(foreign[0]) - 0xDC00
            text.fail(foreign.start(), f"the byte 0x{byte:02x} is not UTF-8 text; only comments may have such bytes")
        return text

    def first_on_its_line(self, at: int) -> bool:
        """Return whether there are only blanks before the offset `at` on its line."""
        return not self.content[self.content.rfind("\n", 0, at) + 1 : at].strip()

    def without_colon(self, keyword: str) -> None:
        """Raise `FileError` if a line begins with a keyword that no colon follows, and was taken for a name."""
        found = re.compile(rf"^[^\S\n]*({keyword})[^\S\n]+(?=[^\s:])", re.MULTILINE).search(self.content)
        if found:
            self.at = found.end(1)
            self.colon(repr(keyword))

    def fail(self, at: int, reason: str) -> NoReturn:
        """Raise `FileError` for what is at the offset `at`."""
        raise FileError(f"{self.path}{self.position(at)}: {reason}")

    def position(self, at: int) -> str:
        """Return ``":line:column"`` of the offset `at`, both counted from 1."""
        line = self.content.count("\n", 0, at) + 1
        column = at - self.content.rfind("\n", 0, at)
        return f":{line}:{column}"

    @property
    def end(self) -> int:
        """Offset after the last token."""
        at = len(self.content)
        while at and self.content[at - 1].isspace():
            at -= 1
        return at

    def tokens(self) -> Iterator[Token]:
        """Return the tokens from here on, without moving."""
        return (Token(found[1], found.start(1)) for found in _TOKENS.finditer(self.content, self.at))

    def peek(self) -> Token:
        """Return the next token, without moving; the token at the end is empty."""
        found = _TOKEN.match(self.content, self.at)
        return Token(found[1], found.start(1)) if found else Token("", self.end)

    def after(self, token: Token) -> Token:
        """Return the token after another one, without moving."""
        found = _TOKEN.match(self.content, token.at + len(token.text))
        return Token(found[1], found.start(1)) if found else Token("", self.end)

    def take(self) -> Token:
        """Return the next token and move past it."""
        token = self.peek()
        self.at = max(self.at, token.at + len(token.text))
        return token

    def colon(self, after: str) -> None:
        """Move past a colon, which must be the next token."""
        token = self.take()
        if token.text != ":":
            self.fail(token.at, f"expected ':' after {after}, found {shown(token)}")

    def number(self, what: str, limits: tuple[float, float] | None = None) -> float:
        """Return the number at this position.

        Raises
        ------
        FileError
            If it is not a number, infinite, or outside of `limits`.
        """
        token = self.take()
        if not NUMBER.fullmatch(token.text):
            self.fail(token.at, f"expected {what}, found {shown(token)}")
        value = float(token.text)
        if not np.isfinite(value):
            self.fail(token.at, f"{what} is {short(token.text)}, too large for a float")
        if limits is not None and not limits[0] <= value <= limits[1]:
            self.fail(token.at, f"{what} is {short(token.text)}, not in [{limits[0]:g}, {limits[1]:g}]")
        return value

    def numbers(self, count: int, what: str, limits: tuple[float, float] | None = None) -> FloatArray:
        """Return the `count` numbers at this position: (count,) float64."""
        found = _NUMBERS.match(self.content, self.at)
        words = found[0].split() if found else []
        if len(words) == count and found:
            try:
                values = np.array(words, dtype=np.float64)
            except ValueError:
                values = np.full(count, np.nan)
            low, high = limits or (-np.finfo(float).max, np.finfo(float).max)
            if ((values >= low) & (values <= high)).all():
                self.at = found.end()
                return values
        # One by one, to name the word at fault, or to stop after the last number.
        return np.array([self.number(f"{what} {k + 1} of {count}", limits) for k in range(count)])


def short(word: str) -> str:
    """Return a word, shortened to fit into an error."""
    return word if len(word) <= LONGEST else f"{word[:LONGEST]}..."


def shown(token: Token) -> str:
    """Return a token as it is named in errors."""
    return repr(short(token.text)) if token.text else "the end of the file"
