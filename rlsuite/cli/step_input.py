"""Observations, and the actions before them, from the command line or from a file, as numbers.

A hidden Markov model has one observation at a time; in a POMDP an action comes before each of them. Names are those of
the model, and numbers count from 0. ``?`` stands for a missing observation.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from rlsuite.errors import FileError, ParameterError

MISSING = "?"

MOST_NAMED = 40
"""Error messages list the names if there are at most this many."""

ACTION, OBSERVATION = "action", "observation"
"""Titles of the columns of a file, if it has a line of titles."""


class Steps(NamedTuple):
    """Words, one entry for each step."""

    actions: list[str]
    """empty for a hidden Markov model"""
    observations: list[list[str]]
    """the words of each observation: several where it is a vector"""


def split(text: str, at: str = ",") -> list[str]:
    """Return the entries of a list.

    >>> split("listen, open left,?"), split("")
    (['listen', 'open left', '?'], [])
    """
    return [entry.strip() for entry in text.split(at)] if text.strip() else []


def pairs(words: Sequence[str], where: str) -> Steps:
    """Return the steps of words that are actions and observations alternately.

    Raises
    ------
    ParameterError
        If the last action has no observation.

    Examples
    --------
    >>> pairs(["listen", "hear left", "listen", "?"], "").observations
    [['hear left'], ['?']]
    """
    if len(words) % 2:
        raise ParameterError(
            f"{where}actions and observations alternate, and after the last action {words[-1]!r} there is no "
            f"observation; {MISSING} stands for a missing one"
        )
    return Steps(list(words[::2]), [[word] for word in words[1::2]])


def read(path: str, width: int, *, with_actions: bool) -> Steps:
    """Return the steps in a text file.

    Entries are separated by commas, semicolons or tabs, else by blanks; what follows # is a comment. For a POMDP each
    line holds an action and an observation; for a hidden Markov model any number of observations, or one if it is a
    vector. A first line of titles tells the columns ``action`` and ``observation`` from others.

    Parameters
    ----------
    path : str
        The file.
    width : int
        Entries of an observation.
    with_actions : bool
        Whether there is an action before each observation.

    Raises
    ------
    FileError
        If the file is missing or is not text, or a line has too few or too many entries; the message names the line.
    """
    lines = _lines(Path(path))
    if not lines:
        raise FileError(f"{path} holds no observations")
    titles = [entry.casefold() for entry in lines[0][1]]
    if OBSERVATION in titles:
        return _columns(path, lines[1:], titles, with_actions=with_actions)
    if with_actions:
        words = [word for number, line in lines for word in _even(path, number, line)]
        return pairs(words, f"{path}: ")
    if width == 1:
        return Steps([], [[word] for _, line in lines for word in line])
    for number, line in lines:
        if len(line) != width:
            raise FileError(f"{path}:{number}: an observation has {width} numbers, and this line has {len(line)}")
    return Steps([], [line for _, line in lines])


def index(what: str, word: str, labels: Sequence[str] | None, how_many: int) -> int:
    """Return the number of the action or observation that a word names.

    Parameters
    ----------
    what : str
        "action" or "observation".
    word : str
        A name, or a number from 0.
    labels : sequence of str or None
        The names. Capitals do not matter, and -, _ and a blank are the same.
    how_many : int
        How many there are.

    Raises
    ------
    ParameterError
        If there is none of that name or number.

    Examples
    --------
    >>> index("action", "open-left", ("listen", "open left"), 2), index("action", "1", None, 2)
    (1, 1)
    >>> index("action", "open-rihgt", ("open left", "open right"), 2)
    Traceback (most recent call last):
        ...
    rlsuite.errors.ParameterError: unknown action 'open-rihgt'; did you mean 'open right'? (open left, open right, 0..1)
    """
    names = () if labels is None else labels
    if word in names:
        return names.index(word)
    alike = {_plain(name): name for name in names}
    if _plain(word) in alike:
        return names.index(alike[_plain(word)])
    if re.fullmatch("[0-9]{1,18}", word) and int(word) < how_many:
        return int(word)
    near = get_close_matches(_plain(word), alike, n=1)
    hint = f"; did you mean {alike[near[0]]!r}?" if near else ""
    listed = "".join(f"{name}, " for name in names) if len(names) <= MOST_NAMED else ""
    raise ParameterError(f"unknown {what} {word!r}{hint} ({listed}0..{how_many - 1})")


def _plain(name: str) -> str:
    return name.casefold().replace("-", " ").replace("_", " ")


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """The number and the entries of each line that has any."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as cause:
        raise FileError(f"there is no file {path}") from cause
    except OSError as cause:
        raise FileError(f"cannot read {path}: {cause.strerror or cause}") from cause
    except ValueError as cause:
        raise FileError(f"{path} is not a text file: {cause}") from cause
    found: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if content:
            found.append((number, _entries(content)))
    return found


def _entries(content: str) -> list[str]:
    for separator in (",", ";", "\t"):
        if separator in content:
            return split(content, separator)
    return content.split()


def _even(path: str, number: int, line: list[str]) -> list[str]:
    if len(line) % 2:
        raise FileError(
            f"{path}:{number}: a line holds an action and an observation, and this one has {len(line)} entries; "
            "separate names that contain blanks by commas"
        )
    return line


def _columns(path: str, lines: list[tuple[int, list[str]]], titles: list[str], *, with_actions: bool) -> Steps:
    if with_actions and ACTION not in titles:
        raise FileError(
            f"{path}: there is no column {ACTION!r}, and in a POMDP an action comes before each observation"
        )
    if not lines:
        raise FileError(f"{path} holds no observations")
    for number, line in lines:
        if len(line) != len(titles):
            raise FileError(f"{path}:{number}: there are {len(titles)} columns, and this line has {len(line)} entries")
    column = {title: [line[place] for _, line in lines] for place, title in enumerate(titles)}
    return Steps(column[ACTION] if with_actions else [], [[word] for word in column[OBSERVATION]])
