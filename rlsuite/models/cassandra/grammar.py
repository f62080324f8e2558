"""From text to declarations and entries.

::

    file        (discount: number | values: reward|cost | states: names | actions: names | observations: names
                 | start | entry)*
    names       how many, or a name for each
    start       start: probabilities | uniform | states, start include: states, start exclude: states
    entry       T: action : state : state [:] p  |  T: action : state row   |  T: action matrix
                O: action : state : obs p     |  O: action : state row   |  O: action matrix
                R: action : state : state [: obs] number, or a row or a matrix over the last one or two
    row         numbers | uniform | reset
    matrix      numbers | uniform | reset | identity

The kinds must be declared before they are named, and the start before the first ``reset``, which stands for it; beyond
that the order is free. In a file without observations, rewards are about (action, state, state); a fourth slot is
understood if it is ``*``.

Files written by programs consist of thousands of entries in few forms. They are read in batches; if anything in a batch
is unusual, it is read again entry by entry, which finds the position of an error.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple, NoReturn, Self

import numpy as np

from rlsuite.errors import unknown
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray
from rlsuite.models.cassandra.entries import Entries
from rlsuite.models.cassandra.names import ANY, Declared, Names, declaration, listed
from rlsuite.models.cassandra.text import NUMBER, Text, Token, short, shown
from rlsuite.models.files import ROUNDING
from rlsuite.models.validation import pointers

BATCH = 8192
"""Most statements in a batch; more would only take more memory, and longer if the batch is refused."""
MOST_COLONS = 5
"""Most colons in a statement: after the keyword, before each further slot of R, and perhaps before the number."""
WORDS = 2**20
"""Most words in a batch of more than one statement."""

_BLANK, _COLON, _WORD = 0, 1, 2
_KIND = np.full(256, _WORD, dtype=np.uint8)
_KIND[[9, 10, 11, 12, 13, 28, 29, 30, 31, 32]] = _BLANK  # as in str.split and in \s
_KIND[ord(":")] = _COLON
_KEYWORD = np.zeros(256, dtype=np.bool_)
_KEYWORD[[ord(letter) for letter in "TOR"]] = True
_NUMERIC = re.compile(r"[0-9.eE+\- ]*")
_ODD_BLANK = re.compile(r"[^\S\x00-\x7f]")


class Entered(NamedTuple):
    """Entries of one table, in the order of the file."""

    keyword: str
    slots: IndexArray
    """(slots, n) int64, with `ANY` for wildcards"""
    values: FloatArray
    """(n,) float64"""
    at: IndexArray
    """(n,) int64: where the statement of each begins"""


class Refused(Exception):
    """Something in a batch is unusual."""


class Outline:
    """Where the statements of a text begin, and how many slots and words each one has.

    Parameters
    ----------
    content : str
        The text, without comments.
    at : int
        Where its first ``T:``, ``O:`` or ``R:`` stands.
    """

    def __init__(self, content: str, at: int) -> None:
        self._content = content
        # Characters beyond ASCII are taken for parts of words; a text with blanks among them is not read in batches.
        codes = np.frombuffer(content[at:].encode("ascii", "replace") + b"  ", dtype=np.uint8)
        self._plain = content.isascii() or _ODD_BLANK.search(content) is None
        kind = _KIND[codes]
        begins = kind == _WORD
        begins[1:] &= kind[:-1] != _WORD
        begins |= kind == _COLON
        token: IndexArray = np.flatnonzero(begins)
        colon: BoolArray = np.append(kind[token] == _COLON, [False] * 10)
        key = _KEYWORD[codes[token]]
        key &= kind[token + 1] != _WORD
        key &= colon[1 : token.size + 1]
        key[1:] &= ~colon[: token.size - 1]
        first: IndexArray = np.append(np.flatnonzero(key), token.size)
        colons = pointers(colon[: token.size])
        self.slots: IndexArray = np.diff(colons[first])
        tidy: BoolArray = self.slots <= MOST_COLONS
        for slot in range(MOST_COLONS):
            tidy &= (self.slots <= slot) | colon[first[:-1] + 2 * slot + 1]
        self._tidy = tidy
        self._word: IndexArray = first - colons[first]
        """How many words stand before each statement, and before the end"""
        self._at: IndexArray = np.append(token, codes.size - 2)[first] + at
        self._letter: IndexArray = codes[token[first[:-1]]].astype(np.int64)

    def batch(self, at: int) -> tuple[int, int]:
        """Return the first statement of the batch that begins at an offset, and the one after its last.

        They are the same if no statement begins there.
        """
        first = int(np.searchsorted(self._at, at))
        if self._at[first] != at:
            return first, first
        words = int(self._word[first]) + WORDS
        enough = int(np.searchsorted(self._word, words, side="right")) - 1
        return first, min(max(enough, first + 1), first + BATCH, self._letter.size)

    def offset(self, statement: int) -> int:
        """Return where a statement begins; where the text ends, for the number of statements."""
        return int(self._at[statement])

    def read(self, first: int, last: int, names: dict[str, tuple[Names, ...]]) -> list[Entered]:
        """Return the entries of the statements ``first : last``.

        Parameters
        ----------
        first, last : int
            As `batch` returned them.
        names : dict
            What the entries of each keyword are about.

        Raises
        ------
        Refused
            If anything is unusual; it may be valid all the same.
        """
        if not self._plain or not self._tidy[first:last].all():
            raise Refused
        text = self._content[self._at[first] : self._at[last]]
        words = np.array(text.replace(":", " ").split(), dtype=object)
        start = self._word[first:last] - self._word[first]
        slots, letter = self.slots[first:last], self._letter[first:last]
        n_values = np.diff(self._word[first : last + 1]) - 1 - slots
        found: dict[str, list[tuple[AnyArray, ...]]] = {}
        form = (letter << 40) + (n_values << 3) + slots
        for one in np.unique(form).tolist():
            chosen = np.flatnonzero(form == one)
            keyword = chr(one >> 40)
            if keyword not in names:
                raise Refused
            n_named, count = one & 7, (one >> 3) & (2**37 - 1)
            if n_named == len(names[keyword]) + 1 and count == 0:  # the last colon is before the number
                n_named, count = n_named - 1, 1
            part = _one_form(keyword, names[keyword], words, start[chosen], n_named, count)
            found.setdefault(keyword, []).append((part[0], part[1], chosen[part[2]]))
        return [self._in_order(first, keyword, parts) for keyword, parts in found.items()]

    def _in_order(self, first: int, keyword: str, parts: list[tuple[AnyArray, ...]]) -> Entered:
        slots, values, statement = (np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True))
        if (statement[1:] < statement[:-1]).any():
            order = np.argsort(statement, kind="stable")
            slots, values, statement = slots[:, order], values[order], statement[order]
        return Entered(keyword, slots, values, self._at[first + statement])


def _one_form(
    keyword: str, names: tuple[Names, ...], words: AnyArray, start: IndexArray, n_named: int, count: int
) -> tuple[IndexArray, FloatArray, IndexArray]:
    """Return slots (d, n), values (n,), and the statement (n,) of all entries in statements of the same form."""
    dims = [one.size for one in names]
    free = dims[n_named:]
    if not 1 <= n_named <= len(dims) or len(free) > 2:
        raise Refused
    slots = np.full((len(dims), start.size), ANY, dtype=np.int64)
    for slot in range(n_named):
        slots[slot] = _column(names[slot], words[start + 1 + slot].tolist())
    given = words[start[:, None] + (1 + n_named) + np.arange(count)]
    if free and count == 1 and keyword != "R" and (given == "uniform").all():
        return slots, np.full(start.size, 1.0 / free[-1]), np.arange(start.size)
    if count != math.prod(free):
        raise Refused
    values = _numbers(given.reshape(-1).tolist(), 1.0 if keyword != "R" else None)
    if not free:
        return slots, values, np.arange(start.size)
    # One entry sets all cells to 0; the entries after it set those that are not.
    table = np.concatenate([np.ones((start.size, 1)), values.reshape(start.size, count)], axis=1)
    statement, column = np.nonzero(table)
    slots = slots[:, statement]
    for slot, index in zip(range(n_named, len(dims)), np.unravel_index(np.maximum(column - 1, 0), free), strict=True):
        slots[slot] = np.where(column > 0, index, ANY)
    return slots, np.where(column > 0, table[statement, column], 0.0), statement


def _column(names: Names, words: list[str]) -> IndexArray:
    """Return the numbers of some names."""
    try:
        return np.fromiter(map(names.number_of.__getitem__, words), dtype=np.int64, count=len(words))
    except KeyError:
        raise Refused from None


def _numbers(words: list[str], largest: float | None) -> FloatArray:
    """Return numbers that are probabilities, or finite."""
    if not _NUMERIC.fullmatch(" ".join(words)):
        raise Refused
    try:
        values = np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        raise Refused from None
    fine = np.isfinite(values).all() if largest is None else ((values >= 0.0) & (values <= largest)).all()
    if not fine:
        raise Refused
    return values


KEYWORDS = ("discount", "values", "states", "actions", "observations", "start", "T", "O", "R")
FILLINGS = ("uniform", "identity", "reset")
MAX_FILLED = 2**25
"""Most numbers that 'identity' and 'reset' may stand for: they are kept until it is known which of them count."""


class Parsed:
    """The content of a file; `parse` fills it.

    Parameters
    ----------
    text : Text
        The text of the file, read to its end by `parse`.
    rounding : float
        How far the sum of the start may be off.
    """

    def __init__(self, text: Text, rounding: float = ROUNDING) -> None:
        self.text = text
        self._rounding = rounding
        self.discount: float | None = None
        self.costs = False
        self.kinds: dict[str, Names] = {}
        self.observations_at = -1
        self.start: FloatArray | None = None
        self.entries: dict[str, Entries] = {}
        self._seen: set[str] = set()
        self._outline: Outline | None = None
        self._one_by_one_until = 0
        self._reset = False
        self._filled = 0

    @property
    def declared(self) -> Declared:
        """The states, actions and observations; states and actions must have been declared."""
        return Declared(self.kinds["action"], self.kinds["state"], self.kinds.get("observation"))

    def parse(self) -> Self:
        """Read the text to its end and return self."""
        text = self.text
        while (token := text.peek()).text:
            if token.text in ("T", "O", "R") and self._batch(token.at):
                continue
            text.take()
            if token.text not in KEYWORDS:
                self._no_statement(token)
            if token.text in ("T", "O", "R"):
                text.colon(repr(token.text))
                self._entry(token)
                continue
            if token.text in self._seen:
                text.fail(token.at, f"{token.text!r} is given twice")
            self._seen.add(token.text)
            if token.text == "start":
                self._start(token)
                continue
            text.colon(repr(token.text))
            if token.text == "discount":
                self.discount = text.number("the discount", (0.0, 1.0))
            elif token.text == "values":
                self._values()
            else:
                if self.entries:
                    text.fail(token.at, f"{token.text!r} must come before the first T:, O: or R:")
                if token.text == "observations":
                    self.observations_at = token.at
                self.kinds[token.text[:-1]] = declaration(text, token.text[:-1], self.kinds.get("action"))
        for keyword in ("states", "actions"):
            if keyword not in self._seen:
                text.without_colon(keyword)
                text.fail(text.peek().at, f"the file ends without '{keyword}:'")
        return self

    # ------------------------------------------------------------------------------------------ declarations

    def _no_statement(self, token: Token) -> NoReturn:
        if NUMBER.fullmatch(token.text):
            found = short(token.text)
            self.text.fail(token.at, f"expected a statement such as 'T:', found one number too many: {found}")
        self.text.fail(token.at, unknown("statement", short(token.text), KEYWORDS))

    def _values(self) -> None:
        token = self.text.take()
        if token.text not in ("reward", "cost", "rewards", "costs"):
            self.text.fail(token.at, f"expected 'reward' or 'cost', found {shown(token)}")
        self.costs = token.text.startswith("cost")

    def _start(self, keyword: Token) -> None:
        text = self.text
        form = text.take() if text.peek().text in ("include", "exclude") else None
        text.colon(f"'start {form.text}'" if form else "'start'")
        if "state" not in self.kinds:
            text.fail(keyword.at, "'start' must come after 'states:'")
        if self._reset:
            text.fail(keyword.at, "'start' must come before the first 'reset', which refers to it")
        states = self.kinds["state"]
        begin, tokens = text.at, listed(text)
        for token in tokens:
            if token.text in KEYWORDS and token.text not in states.number_of:
                text.at = token.at + len(token.text)
                text.colon(repr(token.text))
        if not tokens:
            text.fail(text.peek().at, f"expected states or probabilities, found {shown(text.peek())}")
        numeric = all(NUMBER.fullmatch(token.text) for token in tokens)
        self.start = np.zeros(states.size)
        if form is None and tokens[0].text == "uniform" and len(tokens) == 1:
            self.start[:] = 1.0 / states.size
        elif form is None and numeric and not (len(tokens) == 1 and (tokens[0].text == "0" or states.size > 1)):
            text.at = begin
            self.start = text.numbers(states.size, "probability", (0.0, 1.0))
            total = float(self.start.sum())
            if abs(total - 1.0) > self._rounding:
                text.fail(tokens[0].at, f"the start distribution sums to {total:.10g}, not 1")
        else:
            named = [states.find(text, token, wildcard=False) for token in tokens]
            mask = np.zeros(states.size, dtype=np.bool_)
            mask[named] = True
            if form is not None and form.text == "exclude":
                mask = ~mask
            if not mask.any():
                text.fail(keyword.at, "'start exclude' leaves no state to start in")
            self.start = mask / np.count_nonzero(mask)

    # ----------------------------------------------------------------------------------------------- entries

    def _table(self, keyword: str, at: int) -> Entries:
        if keyword not in self.entries:
            dims = tuple(names.size for names in self.declared.slots(keyword))
            if math.prod(dims) >= 2**62:
                shape = " x ".join(map(str, dims))
                self.text.fail(at, f"{keyword} has {shape} cells; fewer than 2**62 can be numbered")
            self.entries[keyword] = Entries(dims)
        return self.entries[keyword]

    def _entry(self, keyword: Token) -> None:
        text = self.text
        for kind in ("state", "action"):
            if kind not in self.kinds:
                text.without_colon(f"{kind}s")
                text.fail(keyword.at, f"'{kind}s:' must come before the first {keyword.text}:")
        if keyword.text == "O" and "observation" not in self.kinds:
            text.without_colon("observations")
            text.fail(keyword.at, "there are no observations: 'O:' needs 'observations:' before it")
        names = self.declared.slots(keyword.text)
        entries = self._table(keyword.text, keyword.at)
        named = [names[0].find(text, text.take())]
        while text.peek().text == ":" and len(named) < len(names):
            text.take()
            named.append(names[len(named)].find(text, text.take()))
        if len(named) == len(names) and text.peek().text == ":":
            self._last_colon(keyword.text == "R" and len(names) == 3)
        limits = None if keyword.text == "R" else (0.0, 1.0)
        what = "reward" if keyword.text == "R" else "probability"
        if len(named) == len(names):
            entries.add(named, text.number(f"a {what}", limits), keyword.at)
            return
        if len(named) < len(names) - 2:
            text.fail(text.peek().at, f"expected ':' and {names[len(named)].kind}, found {shown(text.peek())}")
        free = names[len(named) :]
        filling = text.peek()
        if filling.text in FILLINGS:
            self._fill(keyword, entries, named, text.take())
            return
        values = text.numbers(math.prod(one.size for one in free), what, limits)
        values = values.reshape([one.size for one in free])
        # One entry sets all cells to 0; the entries after it set those that are not.
        entries.add([*named, *[ANY] * values.ndim], 0.0, keyword.at)
        where = np.nonzero(values)
        entries.extend([*named, *where], values[where], keyword.at)

    def _last_colon(self, no_observations: bool) -> None:
        """Move past a colon before the number, as POMDPFiles.jl writes it, and past ``: *`` for no observation."""
        text = self.text
        text.take()
        if not no_observations or NUMBER.fullmatch(text.peek().text):
            return
        token = text.take()
        if token.text != "*":
            text.fail(token.at, f"expected '*', as there are no observations; found {shown(token)}")
        if text.peek().text == ":":
            text.take()

    def _fill(self, keyword: Token, entries: Entries, named: list[int], filling: Token) -> None:
        free = entries.dims[len(named) :]
        anywhere = [*named, *[ANY] * len(free)]
        if filling.text == "uniform" and keyword.text != "R":
            entries.add(anywhere, 1.0 / free[-1], keyword.at)
        elif filling.text == "identity" and keyword.text != "R" and len(free) == 2 and free[0] == free[1]:
            diagonal = np.arange(free[0])
            entries.add(anywhere, 0.0, keyword.at)
            entries.extend([*named, diagonal, diagonal], np.ones(free[0]), keyword.at)
        elif filling.text == "reset" and keyword.text == "T":
            self._reset = True
            start = np.full(free[-1], 1.0 / free[-1]) if self.start is None else self.start
            entries.add(anywhere, 0.0, keyword.at)
            reached = np.flatnonzero(start)
            entries.extend([*anywhere[:-1], reached], start[reached], keyword.at)
        else:
            form = "a row" if len(free) == 1 else "a matrix"
            self.text.fail(filling.at, f"{filling.text!r} cannot stand for {form} of {keyword.text}: write the numbers")
        self._filled += 0 if filling.text == "uniform" else free[-1]
        if self._filled > MAX_FILLED:
            self.text.fail(
                filling.at,
                f"up to here, 'identity' and 'reset' stand for more than {MAX_FILLED} numbers; no more can be read",
            )

    def _batch(self, at: int) -> bool:
        """Read a batch of entries in common forms, and return whether there was one without anything unusual."""
        text = self.text
        if at < self._one_by_one_until or not {"state", "action"} <= {*self.kinds}:
            return False
        if self._outline is None:
            self._outline = Outline(text.content, at)
        first, last = self._outline.batch(at)
        if first == last:
            return False
        keywords = ("T", "O", "R") if "observation" in self.kinds else ("T", "R")
        try:
            found = self._outline.read(first, last, {one: self.declared.slots(one) for one in keywords})
        except Refused:
            # Otherwise the next line would begin a batch that ends at the same unusual line, and so on up to it.
            self._one_by_one_until = self._outline.offset(last)
            return False
        for keyword, slots, values, offsets in found:
            self._table(keyword, at).extend(list(slots), values, offsets)
        text.at = self._outline.offset(last)
        return True
