"""The probabilities of the hidden states along a sequence of observations, which come from the command or a file.

A hidden Markov model has one observation at a time; in a POMDP an action comes before each of them. Names are those of
the model, and numbers count from 0. ``?`` stands for a missing observation.
"""

import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlsuite.cli.load import Hidden
from rlsuite.cli.options import Keywords
from rlsuite.cli.output import Facts, cells, heads, names, number
from rlsuite.errors import FileError, ParameterError, unknown
from rlsuite.inference import (
    HMM,
    Emission,
    Product,
    StateScores,
    decode_episode,
    entropy,
    path_log_probability,
    smooth_episode,
    state_scores,
)
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray
from rlsuite.models.validation import number_of

MISSING = "?"

ACTION, OBSERVATION = "action", "observation"
"""Titles of the columns of a file, if it has a line of titles."""

EPISODE = "episode"
"""Title of the column that is another one in each sequence."""

PART = f"{OBSERVATION}."
"""Where observations are vectors, each of their columns has a title that begins like this."""


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


def read(path: str, width: int, *, with_actions: bool, columns: Sequence[str] = ()) -> Steps:
    """Return the steps in a text file.

    Entries are separated by commas, semicolons or tabs, else by blanks; what follows # is a comment. For a POMDP each
    line holds an action and an observation; for a hidden Markov model any number of observations, or one if it is a
    vector. A first line of titles tells the columns ``action`` and ``observation`` from others; a vector has columns
    ``observation.a``, ``observation.b`` and so on.

    Parameters
    ----------
    path : str
        The file.
    width : int
        Entries of an observation.
    with_actions : bool
        Whether there is an action before each observation.
    columns : sequence of str
        Titles of the columns that are observations, instead of those that are called so.

    Raises
    ------
    FileError
        If the file is missing or is not text, or a line has too few or too many entries; the message names the line.
    ParameterError
        If there is no column of a title; the message names those that are there.
    """
    lines, titles = _table(path, columns, None)
    if titles is not None:
        return _columns(path, lines, titles, with_actions=with_actions)
    if with_actions:
        words = [word for at, line in lines for word in _even(path, at, line)]
        return pairs(words, f"{path}: ")
    if width == 1:
        return Steps([], [[word] for _, line in lines for word in line])
    for at, line in lines:
        if len(line) != width:
            raise FileError(f"{path}:{at}: an observation has {width} numbers, and this line has {len(line)}")
    return Steps([], [line for _, line in lines])


def titled(path: str, columns: Sequence[str] = (), group: str | None = None) -> dict[str, list[str]]:
    """Return the columns of a text file by their titles, in small letters; without titles all of it is observations.

    Parameters
    ----------
    path : str
        The file.
    columns : sequence of str
        Titles of the columns that are observations; "a" is called ``observation.a`` then.
    group : str, optional
        Title of the column that is another one in each sequence; it is called ``episode`` then.

    Raises
    ------
    FileError
        If the file is missing, is not text or holds nothing, has titles but none of observations, or a line has too few
        or too many entries; the message names the line.
    ParameterError
        If there is no column of a title; the message names those that are there.
    """
    lines, titles = _table(path, columns, group)
    if titles is not None:
        return _by_title(path, lines, titles)
    return {OBSERVATION: [word for _, line in lines for word in line]}


def _table(
    path: str, columns: Sequence[str], group: str | None
) -> tuple[list[tuple[int, list[str]]], list[str] | None]:
    """Return the lines of a file, and the titles that stood in its first one, if any; parameters as for `titled`."""
    lines = _lines(Path(path))
    if not lines:
        raise FileError(f"{path} holds no observations")
    there = [entry.casefold() for entry in lines[0][1]]
    chosen = [title.casefold() for title in columns]
    titles = [PART + title if title in chosen else "" if chosen and observed([title]) else title for title in there]
    if group is not None:
        of_group = group.casefold()
        titles = [
            EPISODE if was == of_group else "" if was == EPISODE else now
            for was, now in zip(there, titles, strict=True)
        ]
    for title in [*chosen, *([] if group is None else [group.casefold()])]:
        if title not in there:
            raise ParameterError(unknown(f"column of {path}", title, there))
    if observed(titles):
        return lines[1:], titles
    if len(lines) > 1 and not any(map(is_number, there)) and any(map(is_number, lines[1][1])):
        raise FileError(
            f"{path}: there is no column {OBSERVATION!r}, only {', '.join(there)}: write --columns and the titles of "
            f"those that were observed, as in --columns {there[-1]}"
        )
    return lines, None


def is_number(word: str) -> bool:
    """Return whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def observed(titles: Iterable[str]) -> list[str]:
    """Return the titles of observations.

    >>> observed(["day", "observation.wind", "observation.sky", "state"])
    ['observation.wind', 'observation.sky']
    """
    return [title for title in titles if title == OBSERVATION or title.startswith(PART)]


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
    """
    number = word not in (labels or ()) and re.fullmatch("[0-9]{1,18}", word) and int(word) < how_many
    return int(word) if number else number_of(what, word, how_many, labels)


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
    for at, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if content:
            found.append((at, _entries(content)))
    return found


def _entries(content: str) -> list[str]:
    for separator in (",", ";", "\t"):
        if separator in content:
            return split(content, separator)
    return content.split()


def _even(path: str, at: int, line: list[str]) -> list[str]:
    if len(line) % 2:
        raise FileError(
            f"{path}:{at}: a line holds an action and an observation, and this one has {len(line)} entries; "
            "separate names that contain blanks by commas"
        )
    return line


def _columns(path: str, lines: list[tuple[int, list[str]]], titles: list[str], *, with_actions: bool) -> Steps:
    if with_actions and ACTION not in titles:
        raise FileError(
            f"{path}: there is no column {ACTION!r}, and in a POMDP an action comes before each observation"
        )
    seen = observed(titles)
    if with_actions and len(seen) != 1:
        raise FileError(
            f"{path}: observations of a POMDP are one column {OBSERVATION!r}, and there is {', '.join(seen)}"
        )
    column = _by_title(path, lines, titles)
    rows = zip(*(column[title] for title in seen), strict=True)
    return Steps(column[ACTION] if with_actions else [], [list(row) for row in rows])


def _by_title(path: str, lines: list[tuple[int, list[str]]], titles: list[str]) -> dict[str, list[str]]:
    if not lines:
        raise FileError(f"{path} holds no observations")
    for at, line in lines:
        if len(line) != len(titles):
            raise FileError(f"{path}:{at}: there are {len(titles)} columns, and this line has {len(line)} entries")
    return {title: [line[i] for _, line in lines] for i, title in enumerate(titles)}


@dataclass(frozen=True)
class Trail:
    """The observations at n times, and the probabilities of the hidden states at each."""

    state_labels: Sequence[str] | None
    seen: dict[str, list[str]]
    """The actions and observations, one text for each time; by "action" and "observation"."""
    given: Keywords
    """The same as numbers, for JSON."""
    beliefs: FloatArray
    """(n, K) float64: given the observations until then"""
    log_likelihood: float
    """nats"""
    smoothed: FloatArray | None
    """(n, K) float64: given all observations"""
    path: IndexArray | StateArray | None
    """(n,): the most probable states"""
    path_log_probability: float = np.nan
    """nats; NaN if it is not known"""
    entropy: FloatArray | None = None
    """(n,) float64: bits that the probabilities leave open"""

    @property
    def known(self) -> FloatArray:
        """(n, K) float64: what is known of the states at each time, given what was asked for."""
        return self.beliefs if self.smoothed is None else self.smoothed

    @property
    def states(self) -> list[str]:
        """Names of the hidden states."""
        return names(self.state_labels, self.beliefs.shape[1])

    def heads(self) -> list[str]:
        """Titles of the columns of a table."""
        path = [] if self.path is None else ["most probable path"]
        entropy = [] if self.entropy is None else ["entropy (bits)"]
        return [*self.seen, *heads(self.states), *entropy, *path]

    def row(self, t: int) -> list[str]:
        """The row of a time in a table."""
        path = [] if self.path is None else [self.states[int(self.path[t])]]
        entropy = [] if self.entropy is None else [number(float(self.entropy[t]))]
        return [*(texts[t] for texts in self.seen.values()), *cells(self.known[t], self.states), *entropy, *path]

    def facts(self) -> Facts:
        """All of it, for JSON."""
        facts: Facts = {
            "state_labels": self.state_labels,
            **self.given,
            "beliefs": self.beliefs,
            "log_likelihood": self.log_likelihood,
        }
        if self.smoothed is not None:
            facts["smoothed"] = self.smoothed
        if self.entropy is not None:
            facts["entropy"] = self.entropy
        if self.path is not None:
            facts["path"] = self.path
            if not np.isnan(self.path_log_probability):
                facts["path_log_probability"] = self.path_log_probability
        return facts


class Recognised(NamedTuple):
    """How well the hidden states are known."""

    scores: StateScores
    """of the path, if there is one, else of the most probable state at each time"""
    average_precision: FloatArray
    """(K,) float64: area below precision against recall, over all thresholds of a state's probability; NaN if it never
    occurs"""


def recognised(found: Trail, truth: list[str]) -> Recognised:
    """Compare the states that were found with the true ones, given by name or number.

    Raises
    ------
    ParameterError
        If there is not one for each time, or a state is unknown.
    """
    if len(truth) != len(found.beliefs):
        first = " (the first is that before the first action)" if ACTION in found.seen else ""
        raise ParameterError(f"--truth has {len(truth)} states, and there are {len(found.beliefs)} times{first}")
    metrics: Any = importlib.import_module("sklearn.metrics")  # has no type annotations
    guessed = found.known.argmax(axis=1) if found.path is None else found.path
    states = np.array([index("state", word, found.state_labels, len(found.states)) for word in truth])
    areas = [
        metrics.average_precision_score(states == state, probability) if (states == state).any() else np.nan
        for state, probability in enumerate(found.known.T)
    ]
    return Recognised(state_scores(states, guessed), np.array(areas))


def trail(
    model: Hidden | POMDP,
    steps: Steps,
    *,
    smooth: bool,
    decode: bool,
    with_entropy: bool = False,
) -> Trail:
    """Return the probabilities of the hidden states.

    Parameters
    ----------
    model : HMM, HSMM or POMDP
        The model.
    steps : Steps
        The observations, and in a POMDP the actions before them.
    smooth, decode, with_entropy : bool
        What to compute besides the beliefs.

    Raises
    ------
    ParameterError
        If a name is unknown, or an observation of a POMDP is impossible; the message says at which step.
    ModelError
        If the hidden Markov model has no such observation, or it is impossible; the message says at which time.
    """
    if isinstance(model, POMDP):
        found = _of_pomdp(model, steps, smooth, decode)
    else:
        found = _of_hmm(model, steps, smooth, decode)
    return replace(found, entropy=entropy(found.known)) if with_entropy else found


def _of_hmm(model: Hidden, steps: Steps, smooth: bool, decode: bool) -> Trail:
    symbols = _symbols(model.emission)
    asked: Any = model  # of one sequence nothing is a list
    z = model.emission.check(_numbers(symbols, steps.observations))
    path = asked.decode(z) if decode else None
    probability = np.nan
    if path is not None and isinstance(model, HMM):
        probability = float(path_log_probability(model, z, path)[0])
    missing = model.emission.missing(z)
    texts = [
        MISSING if is_missing else ", ".join(map(_named, np.atleast_1d(one).tolist(), symbols))
        for one, is_missing in zip(z, missing, strict=True)
    ]
    return Trail(
        state_labels=model.state_labels,
        seen={"observation": texts},
        given={"observations": z},
        beliefs=asked.filter(z),
        log_likelihood=model.score(z),
        smoothed=asked.smooth(z) if smooth else None,
        path=path,
        path_log_probability=probability,
    )


def _symbols(emission: Emission) -> list[Sequence[str] | None]:
    """The names of the symbols of each number of an observation; None of those without."""
    channels = emission.channels if isinstance(emission, Product) else [emission]
    return [getattr(one, "labels", None) for one in channels for _ in range(one.width)]


def _named(value: float, labels: Sequence[str] | None) -> str:
    return number(value) if labels is None or not value >= 0 else labels[int(value)]


def _numbers(symbols: list[Sequence[str] | None], observations: list[list[str]]) -> FloatArray:
    """Return observations (T,), or vectors of them (T, D), NaN where one is missing."""
    width = len(symbols)
    rows: list[list[float]] = []
    for t, words in enumerate(observations):
        if words == [MISSING]:
            words = [MISSING] * width
        if len(words) != width:
            raise ParameterError(f"the observation at t={t} has {len(words)} numbers, not {width}")
        rows.append([_number(t, word, labels) for word, labels in zip(words, symbols, strict=True)])
    z = np.array(rows)
    return z[:, 0] if width == 1 else z


def _number(t: int, word: str, labels: Sequence[str] | None) -> float:
    if labels is not None and word not in (MISSING, "-1"):
        return index("observation", word, labels, len(labels))
    try:
        return np.nan if word == MISSING else float(word)
    except ValueError:
        raise ParameterError(
            f"the observation {word!r} at t={t} is not a number; {MISSING} stands for a missing one"
        ) from None


def _of_pomdp(pomdp: POMDP, steps: Steps, smooth: bool, decode: bool) -> Trail:
    words = [word for (word,) in steps.observations]
    actions = [index("action", word, pomdp.action_labels, pomdp.n_actions) for word in steps.actions]
    observations = [
        -1 if word in (MISSING, "-1") else index("observation", word, pomdp.observation_labels, pomdp.n_observations)
        for word in words
    ]
    beliefs, log_likelihood = _followed(pomdp, actions, observations)
    path, score = decode_episode(pomdp, actions, observations) if decode else (None, np.nan)
    done, seen = names(pomdp.action_labels, pomdp.n_actions), names(pomdp.observation_labels, pomdp.n_observations)
    return Trail(
        state_labels=pomdp.state_labels,
        seen={
            "action": ["", *(done[a] for a in actions)],
            "observation": ["", *(MISSING if z < 0 else seen[z] for z in observations)],
        },
        given={"actions": actions, "observations": observations},
        beliefs=beliefs,
        log_likelihood=log_likelihood,
        smoothed=smooth_episode(pomdp, actions, observations) if smooth else None,
        path=path,
        path_log_probability=score,
    )


def _followed(pomdp: POMDP, actions: list[int], observations: list[int]) -> tuple[FloatArray, float]:
    """Return the beliefs (T + 1, S) before the first step and after each, and the log-likelihood in nats."""
    beliefs = [pomdp.start]
    log_likelihood = 0.0
    for t, (action, z) in enumerate(zip(actions, observations, strict=True)):
        try:
            pomdp.predict(beliefs[t], action)  # raises if the action is illegal
            after, gained = pomdp.followed(beliefs[t], action, None if z < 0 else z)
        except ParameterError as error:
            raise ParameterError(f"step {t + 1}: {error}") from error
        beliefs.append(after)
        log_likelihood += gained
    return np.array(beliefs), log_likelihood
