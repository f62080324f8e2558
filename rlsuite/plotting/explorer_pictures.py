"""What `explore` draws of an answer: plain numbers and words, which `exploring.js` turns into an SVG.

A function marked `picture_of` makes the picture of a class and its subclasses. What none is for is shown in words.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ParameterError
from rlsuite.plotting.cards import card_of_object
from rlsuite.plotting.labels import names
from rlsuite.plotting.values import map_of
from rlsuite.rendering import colours
from rlsuite.rendering.scene import grid_scene, square_colours
from rlsuite.rendering.svg import svg_of_scene

if TYPE_CHECKING:
    from rlsuite.planning import AlphaVectorSolution, Solution

Picture: TypeAlias = dict[str, object]
"""``kind``: what is drawn; ``text``: the same in words; and what the drawing of this kind needs."""

MOST_STATES: Final = 2_000
"""Most states or times that are drawn."""

SHADES: Final = 64

SIDE: Final = 40
"""Pixels of a square."""

ACTIONS: Final = (colours.BLUE, colours.VERMILLION, colours.GREEN, colours.PURPLE, colours.ORANGE, colours.SKY_BLUE)
"""Colours of actions, in their order."""

_MADE: dict[str, Callable[[Any], Picture]] = {}


def picture_of(kind: str) -> Callable[[Callable[[Any], Picture]], Callable[[Any], Picture]]:
    """Mark a function that makes the picture of a class, which is named: nothing is imported to show something else."""

    def mark(function: Callable[[Any], Picture]) -> Callable[[Any], Picture]:
        _MADE[kind] = function
        return function

    return mark


def picture_of_answer(answer: object) -> Picture:
    """Return what is shown of an answer."""
    make = next((_MADE[kind.__name__] for kind in type(answer).__mro__ if kind.__name__ in _MADE), _in_words)
    return make(answer)


def look() -> Mapping[str, object]:
    """The colours of all pictures; those of numbers with that of the ink on each."""
    shades = colours.heat(np.linspace(0.0, 1.0, SHADES))
    return {
        "heat": list(zip(colours.hexadecimals(shades), colours.hexadecimals(colours.inks_on(shades)), strict=True)),
        "palette": [colours.hexadecimal(of) for of in ACTIONS],
        "blue": colours.hexadecimal(colours.BLUE),
        "line": colours.hexadecimal(colours.LINE),
    }


def extremes(pictures: Iterable[Picture]) -> dict[str, tuple[float, float]]:
    """The least and the largest number of all pictures of a kind: one scale for all positions of the sliders."""
    found: dict[str, list[float]] = {}
    for picture in pictures:
        given: Any = picture
        numbers = found.setdefault(str(picture["kind"]), [])
        if picture["kind"] == "bars":
            numbers += [value for value in given["values"] if value is not None]
        elif picture["kind"] == "lines":
            numbers += [value for ends, *_ in given["lines"] for value in ends]
    return {kind: (min(numbers), max(numbers)) for kind, numbers in found.items() if numbers}


def _in_words(answer: object) -> Picture:
    card = card_of_object(answer)
    facts = [f"{name}: {f'{value:.6g}' if isinstance(value, float) else value}" for name, value in card.facts.items()]
    return {"kind": "words", "text": "; ".join([card.title, *facts, *card.sentences])}


@picture_of("Solution")
def _of_solution(solution: "Solution") -> Picture:
    mdp = solution.lookahead.mdp
    sign, what = (-1.0, "Cost") if mdp.costs else (1.0, "Value")
    text = f"{what} at the start: {sign * solution.value_at_start:.6g}, error at most {solution.error_bound:.2g}."
    if mdp.n_states > MOST_STATES:
        return {"kind": "words", "text": text}
    actions = names(mdp.action_labels, mdp.n_actions, "action")
    states = names(mdp.state_labels, mdp.n_states, "state")
    best = ["" if a < 0 else f", {actions[a]}" for a in solution.policy.tolist()]
    numbers: list[float] = (sign * solution.value).tolist()
    said = [f"{state}: {number:.6g}{action}" for state, number, action in zip(states, numbers, best, strict=True)]
    if mdp.layout is None:
        below = [[state, action.removeprefix(", ")] for state, action in zip(states, best, strict=True)]
        shown = [number if math.isfinite(number) else None for number in numbers]
        return {"kind": "bars", "text": text, "values": shown, "below": below, "said": said}
    return _grid(solution, said, text)


def _grid(solution: "Solution", said: list[str], text: str) -> Picture:
    layout = solution.lookahead.mdp.layout
    assert layout is not None
    found = map_of(layout, solution, None, None)
    words = {(row, column): words for words, (row, column) in zip(said, layout.cells.tolist(), strict=True)}
    scene = grid_scene(found.overlay, square_colours(found.overlay), SIDE, found.kinds, words)
    return {"kind": "grid", "text": text, "svg": svg_of_scene(scene, text, SIDE)}


@picture_of("AlphaVectorSolution")
def _of_vectors(plan: "AlphaVectorSolution") -> Picture:
    pomdp = plan.pomdp
    text = f"Value at the start: {plan.lower_bound:.6g} to {plan.upper_bound:.6g}; {plan.n_vectors} vectors."
    if pomdp.n_states != 2:
        return {"kind": "words", "text": text}
    actions = names(pomdp.action_labels, pomdp.n_actions, "action")
    ends: NDArray[np.float64] = plan.alpha_vectors
    taken: list[int] = plan.actions.tolist()
    pairs: list[list[float]] = ends.tolist()
    lines = [(pair, action, actions[action]) for pair, action in zip(pairs, taken, strict=True)]
    state = names(pomdp.state_labels, 2, "state")[1]
    best = [
        (start, end, *(_at(ends[k], belief) for belief in (start, end)), taken[k], _part(start, end, actions[taken[k]]))
        for start, end, k in _envelope(ends)
    ]
    axis = f"belief in {state}"
    return {"kind": "lines", "text": text, "lines": lines, "best": best, "actions": actions, "axis": axis}


def _part(start: float, end: float, action: str) -> str:
    return f"belief {start:.3f} to {end:.3f}: {action}"


def _at(vector: NDArray[np.float64], belief: float) -> float:
    return float((1.0 - belief) * vector[0] + belief * vector[1])


def _envelope(ends: NDArray[np.float64]) -> list[tuple[float, float, int]]:
    """From where to where each vector is the highest, in order."""
    slope = ends[:, 1] - ends[:, 0]
    at, now = 0.0, int(np.lexsort((slope, ends[:, 0]))[-1])
    parts: list[tuple[float, float, int]] = []
    while at < 1.0:
        steeper = np.flatnonzero(slope > slope[now])
        crossing = (ends[now, 0] - ends[steeper, 0]) / (slope[steeper] - slope[now])
        following = min(1.0, float(crossing.min(initial=1.0)))
        if following > at:
            parts.append((at, following, now))
        at = following
        if at < 1.0:
            first = steeper[crossing == crossing.min()]
            now = int(first[np.argmax(slope[first])])
    return parts


@picture_of("ndarray")
def _of_posteriors(posterior: NDArray[np.float64]) -> Picture:
    """Of (n_times, n_states) probabilities of hidden states."""
    if posterior.ndim != 2 or not np.allclose(posterior.sum(axis=1), 1.0) or (posterior < 0.0).any():
        raise ParameterError(
            f"an array of shape {posterior.shape}: an array is drawn if its rows are the probabilities of hidden "
            "states over time; return these, a solution or a plan"
        )
    if len(posterior) > MOST_STATES:
        raise ParameterError(f"{len(posterior):,} times, and at most {MOST_STATES:,} are drawn: return some of them")
    states = [str(state) for state in range(posterior.shape[1])]
    path: list[int] = posterior.argmax(axis=1).tolist()
    shades = np.rint(np.clip(posterior, 0.0, 1.0) * (SHADES - 1)).astype(int).tolist()
    said = [
        [f"time {time}, state {state}: {p:.3g}" for state, p in enumerate(row)]
        for time, row in enumerate(posterior.tolist())
    ]
    text = f"Probability of each state at {len(path)} times; dots: the most probable one."
    return {"kind": "trellis", "text": text, "names": states, "colours": shades, "path": path, "said": said}
