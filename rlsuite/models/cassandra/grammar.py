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
is unusual, it is read again entry by entry, which finds the place of an error.
"""

from __future__ import annotations

import math
from typing import NoReturn, Self

import numpy as np

from rlsuite.errors import unknown
from rlsuite.models.aliases import FloatArray
from rlsuite.models.cassandra.bulk import Outline, Refused
from rlsuite.models.cassandra.entries import Entries
from rlsuite.models.cassandra.names import ANY, Declared, Names, declaration, listed
from rlsuite.models.cassandra.text import NUMBER, Text, Token, short, shown
from rlsuite.models.decimals import ROUNDING

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
        for keyword, slots, values, places in found:
            self._table(keyword, at).extend(list(slots), values, places)
        text.at = self._outline.offset(last)
        return True
