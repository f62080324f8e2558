"""A value function and a policy on a grid."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.environments.finding import find_env
from rlsuite.errors import ParameterError
from rlsuite.models import MDP
from rlsuite.models.gymnasium_table import title_of
from rlsuite.plotting.colour_scale import add_bar, colour_scale, draw_bar, is_constant
from rlsuite.plotting.figure import (
    CAPTION_INK,
    CAPTION_SIZE,
    INK,
    TITLE_SIZE,
    ColourKeywords,
    finish,
    legend_above,
    open_axes,
    open_figure,
    styled,
    write_title,
)
from rlsuite.plotting.figure_list import figure_of
from rlsuite.plotting.labels import is_agent
from rlsuite.plotting.squares import draw_kinds, draw_scene, without_value
from rlsuite.rendering import colours
from rlsuite.rendering.layout import GridLayout
from rlsuite.rendering.overlay import Overlay, greedy_weights, texts_of
from rlsuite.rendering.scene import ARROWS_FROM, Kind, Polygons, Scene, Texts, grid_scene, square_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from rlsuite.agents import Agent
    from rlsuite.core.aliases import Env
    from rlsuite.planning import Solution


VALUE: Final = "value of the state"
"""What the numbers of a map are, unless one is told."""

# Lengths in inches.
LARGEST_SQUARE: Final = 0.85
WIDEST_GRID: Final = 9.0
HIGHEST_GRID: Final = 6.5

BAR_FROM: Final = 0.9
"""Height of the smallest grid with a bar."""

PIXELS: Final = 100
"""Pixels of an inch, for `grid_scene`."""


@figure_of("solution", on_grid=True)
@styled
def value_map(
    where: "GridLayout | Env | str",
    value: "ArrayLike | Solution | Agent | None" = None,
    policy: ArrayLike | None = None,
    *,
    q: ArrayLike | None = None,
    of: str = VALUE,
    **look: Unpack[ColourKeywords],
) -> "Axes":
    """Heat map of the value of every square, with the actions of a policy as arrows.

    Parameters
    ----------
    where
        The grid, or an environment that has one (Gymnasium's FrozenLake and CliffWalking do), as
        `GridLayout.from_env` explains, or the id of such an environment.
    value
        (S,) float value of each state; NaN where there is none. None: the largest entry of each row of `q`. Or what
        `solve` returned: then an arrow is drawn for every action that may be optimal, as far as its error bound can
        tell (none if actions are not directions). Or an agent that has learned, or its (S, A) action values: as `q`.
    policy
        (S,) int action of each state (-1: none), or (S, A) probabilities: longer arrows are more probable.
    q
        (S, A) action values (``-inf``: illegal), instead of `policy`: an arrow for *every* best action, ties within
        one part in 1e9 included.
    of
        What the numbers are, for the caption.
    **look
        Axes, title, limits and colours: the keywords of `ColourKeywords`.

    Returns
    -------
    matplotlib.axes.Axes
        Squares without a value have no number and no arrow, and do not count for the scale of the colours: goals, pits
        and other ends, squares that no episode reaches (both known of an environment with a table), and with `q` those
        in whose actions nothing was learned. The legend says how they look.

    Raises
    ------
    ParameterError
        If nothing is given to draw, more than one of a solution, `policy` and `q` is, or a shape does not fit.
    EnvironmentNotFound
        If an id leads to no environment.
    UnsuitableEnvironment
        If the environment does not say where its states are.

    Examples
    --------
    >>> ax = value_map("FrozenLake-v1", value=np.linspace(0.0, 1.0, 16), policy=[2] * 16)
    >>> ax.get_title(loc="left")
    'FrozenLake-v1'
    """
    found = map_of(where, value, policy, q, of)
    axes = open_axes(look, _size(found.overlay.layout))
    return finish(axes, look, _draw(axes, found, look, with_bar=True))


MAPS_SIZE: Final = (14.0, 10.0)
"""Largest width and height of several maps in inches."""


@styled
def value_maps(
    where: "GridLayout | Env | str",
    values: "Mapping[str, ArrayLike | Solution | Agent]",
    **look: Unpack[ColourKeywords],
) -> "dict[str, Axes]":
    """Several maps of one grid on one scale with one bar: what agents learned beside the optimum, say.

    Parameters
    ----------
    where
        The grid, as for `value_map`.
    values
        By title: what `value_map` draws, as a solution, an agent, (S,) values or (S, A) action values.
    **look
        Size, title, limits and colours: the keywords of `ColourKeywords`, without `ax`.

    Returns
    -------
    dict of str to matplotlib.axes.Axes
        One for each map.

    Raises
    ------
    ParameterError
        As for `value_map`; also if there are no values, or axes are given.

    Examples
    --------
    >>> import rlsuite as rl
    >>> plan = rl.solve(rl.MDP.from_env("FrozenLake-v1", gamma=0.9))
    >>> list(value_maps("FrozenLake-v1", {"optimal": plan, "twice as much": 2 * plan.value}))
    ['optimal', 'twice as much']
    """
    if not isinstance(cast("object", values), Mapping) or not values:
        raise ParameterError("value_maps draws a dict {title: values}; value_map draws one map")
    if look.get("ax") is not None:
        raise ParameterError("value_maps makes its own axes; value_map(..., ax=ax, vmin=..., vmax=...) draws one map")
    maps = {title: map_of(where, value, None, None) for title, value in values.items()}
    every = np.concatenate([found.values for found in maps.values()])
    low, high = colour_scale(every, look).get_clim()
    first = next(iter(maps.values()))
    width, height = _size(first.overlay.layout)
    stacked = width > 1.5 * height
    across, down = (1, len(maps)) if stacked else (len(maps), 1)
    whole = np.array([across * (width + 0.3) + 0.9, down * (height + 0.6) + 0.8])
    shrunk: tuple[float, float] = tuple((whole * min(1.0, *(MAPS_SIZE / whole))).tolist())
    figure = open_figure(look, shrunk, layout="compressed")
    panels: list[Axes] = np.ravel(figure.subplots(down, across)).tolist()
    shared: ColourKeywords = {**look, "title": None, "vmin": low, "vmax": high}
    for ax, (title, found) in zip(panels, maps.items(), strict=True):
        _draw(ax, found._replace(title=title), shared, with_bar=False)
    if not is_constant(every, look):
        add_bar(panels, colour_scale(every, shared))
    named = look.get("title")
    text = first.title if named is None else named
    figure.suptitle(text, x=0.01, ha="left", fontsize=TITLE_SIZE + 2, color=INK, parse_math=False)
    figure.supxlabel("Colour: value of the state. Arrows: the best actions.", fontsize=CAPTION_SIZE, color=CAPTION_INK)
    return dict(zip(maps, panels, strict=True))


LARGEST_OF_FOUR: Final = 1.3
"""Side of a square that is divided, in inches."""


@figure_of("solution", on_grid=True)
@styled
def q_map(where: "GridLayout | Env | str", q: "ArrayLike | Solution | Agent", **look: Unpack[ColourKeywords]) -> "Axes":
    """The value of every action on a grid: each square is divided into triangles, one for each direction.

    Parameters
    ----------
    where
        The grid, as for `value_map`.
    q
        (S, A) action values, ``-inf`` for illegal actions; or what `solve` returned, or an agent that has learned.
    **look
        Axes, title, limits and colours: the keywords of `ColourKeywords`.

    Returns
    -------
    matplotlib.axes.Axes
        The best values of a square are bold. Squares without a value are those of `value_map`.

    Raises
    ------
    ParameterError
        If actions are not the four directions, or the shape does not fit.
    EnvironmentNotFound, UnsuitableEnvironment
        As for `value_map`.

    Examples
    --------
    >>> import rlsuite as rl
    >>> ax = q_map("FrozenLake-v1", rl.solve(rl.MDP.from_env("FrozenLake-v1", gamma=0.9)))
    >>> ax.get_title(loc="left")
    'FrozenLake-v1'
    """
    acting, of = None, "value of the action"
    table: Any = q
    if is_solution(q):
        acting, table = q.policy >= 0, q.q
        if q.lookahead.mdp.costs:
            table, of = 0.0 - table, "cost of the action"
    elif is_agent(q):
        table = table.q_
    action_values = np.asarray(table, dtype=np.float64)
    if action_values.ndim != 2:
        raise ParameterError(f"q_map draws action values (S, A), and these have shape {action_values.shape}: value_map")
    best_sign = -1.0 if of.startswith("cost") else 1.0
    found = map_of(where, None, None, best_sign * action_values, acting=acting)
    layout = found.overlay.layout
    moves = np.sign(cast("NDArray[np.int64]", layout.arrows)).astype(np.float64)
    if (np.abs(moves).sum(axis=1) != 1.0).any() or len(np.unique(moves, axis=0)) < len(moves):
        raise ParameterError("q_map needs actions that lead up, down, left or right, each another way")
    axes = open_axes(look, _size(layout, LARGEST_OF_FOUR))
    shown = np.isfinite(action_values) & np.isfinite(found.values)[:, np.newaxis] & (layout.cells[:, :1] >= 0)
    states, actions = np.nonzero(shown)
    numbers = action_values[states, actions]
    scale = colour_scale(numbers, look)
    colour = scale.to_rgba(numbers, bytes=True)[:, :3]
    middles = layout.cells[states][:, ::-1].astype(np.float64)  # x is the column
    ahead = moves[actions][:, ::-1]
    across = ahead[:, ::-1] * (-1.0, 1.0)
    corners = np.stack([middles, middles + 0.5 * (ahead + across), middles + 0.5 * (ahead - across)], axis=1)
    best = np.zeros(len(states), dtype=np.bool_)
    if found.overlay.weights is not None:
        best = found.overlay.weights[states, actions] > 0.0
    # A triangle is half as high as its square: its text is at most that wide, and smaller than on a whole square.
    at = middles + 0.32 * ahead
    written = Texts("numbers", at, texts_of(numbers), colours.inks_on(colour), 0.14, room=0.36, bold=best)
    side = _side_of_square(axes, layout)
    squares = np.full((layout.n_rows, layout.n_columns, 3), 255, dtype=np.uint8)
    blank = Overlay(GridLayout(layout.n_rows, layout.n_columns, layout.cells))
    scene = [
        *grid_scene(blank, squares, PIXELS * side, found.kinds),
        *(Polygons("triangles", corners, colour, line=colours.LINE), written),
    ]
    bar = None if is_constant(numbers, look) else scale
    with_numbers = _show(axes, found, scene, side, bar, smallest=CAPTION_SIZE - 2.0)
    return finish(axes, look, [f"Colour: {of}.", *(["Bold: the best."] if with_numbers else [])])


class _Map(NamedTuple):
    """What a map shows."""

    title: str
    sentences: list[str]
    overlay: Overlay
    kinds: dict[Kind, NDArray[np.bool_]]

    @property
    def values(self) -> NDArray[np.float64]:
        assert self.overlay.value is not None
        return self.overlay.value


def map_of(
    where: "GridLayout | Env | str",
    value: "ArrayLike | Solution | Agent | None",
    policy: ArrayLike | None,
    q: ArrayLike | None,
    of: str = VALUE,
    acting: NDArray[np.bool_] | None = None,
) -> _Map:
    """What a map of these arguments of `value_map` shows, checked."""
    title, env = "", None
    if isinstance(where, GridLayout):
        layout = where
    elif isinstance(where, MDP) or is_agent(where) or is_solution(where):
        what = "agent" if is_agent(where) else "rl.solve(mdp)"
        raise ParameterError(
            f"{type(where).__name__} does not say where its states are: give the environment, or a GridLayout, first, "
            f"as value_map(env, {what})"
        )
    else:
        env = find_env(where)
        layout = GridLayout.from_env(env)
        title = title_of(env)
    if isinstance(value, MDP):
        raise ParameterError("an MDP has no values yet: value_map(env, rl.solve(mdp))")
    if policy is not None and q is not None:
        raise ParameterError("give policy= or q=, not both")
    if hasattr(value, "records"):
        raise ParameterError("results of rl.train keep no values: value_map(env, agent.learn(env, steps=...))")
    if is_agent(value):
        learned: Any = value
        value = cast("ArrayLike", getattr(learned, "q_" if hasattr(type(value), "q_") else "value_"))
    if value is not None and not is_solution(value) and np.ndim(cast("ArrayLike", value)) == 2:
        if policy is not None or q is not None:
            raise ParameterError("give a solution, an agent or a table of action values alone")
        shape = np.shape(cast("ArrayLike", value))
        if shape[0] != layout.n_states:
            raise ParameterError(
                f"value has shape {shape}, needed ({layout.n_states},), a number per state, as numpy.ravel makes of a "
                f"map, or ({layout.n_states}, n_actions)"
            )
        value, q = None, cast("ArrayLike", value)
    said = [f"Colour: {of}.", "Arrows: actions of the policy."]
    if is_solution(value):
        if policy is not None or q is not None:
            raise ParameterError("give a solution alone, or a value with policy= or q=")
        policy = None if layout.arrows is None else _shared(value.optimal_actions)
        # The error bound of a solution for average reward is that of its gain, not of these values.
        within = "" if hasattr(value, "gain") else f", within {value.error_bound:.2g}"
        of_costs = value.lookahead.mdp.costs
        of = "cost from the state" if of_costs and of == VALUE else of
        said = [f"Colour: {'' if within else 'relative '}{of}{within}.", "Arrows: all optimal actions."]
        numbers: ArrayLike | None = value.cost if of_costs else value.value
    else:
        numbers = cast("ArrayLike | None", value)
    if q is not None:
        policy = greedy_weights(q)
        numbers = _best(q) if numbers is None else numbers
        said[1] = "Arrows: all best actions."
    if numbers is None:
        raise ParameterError("nothing to draw: give a solution, an agent, value= or q= beside the environment")
    acting = value.policy >= 0 if is_solution(value) else acting
    overlay, kinds = without_value(Overlay(layout, numbers, policy), env, acting=acting, q=q)
    shown = cast("NDArray[np.float64]", overlay.value)
    known = shown[np.isfinite(shown)]
    if not known.size:
        said[0] = "No state has a value to show."
    elif known.min() == known.max():
        said[0] = f"The value is {known[0]:.4g} everywhere."
    return _Map(title, said, overlay, kinds)


def _draw(axes: "Axes", found: _Map, look: ColourKeywords, *, with_bar: bool) -> list[str]:
    """Draw a map on axes; return the sentences of its caption."""
    overlay, shown = found.overlay, found.values
    scale = colour_scale(shown, look)
    squares = square_colours(overlay, scale.to_rgba(np.ma.masked_invalid(shown), bytes=True)[:, :3])
    side = _side_of_square(axes, overlay.layout)
    scene = grid_scene(overlay, squares, PIXELS * side, found.kinds)
    _show(axes, found, scene, side, scale if with_bar and not is_constant(shown, look) else None)
    with_arrows = overlay.weights is not None and PIXELS * side >= ARROWS_FROM
    return found.sentences if with_arrows else found.sentences[:1]


def _show(
    axes: "Axes",
    found: _Map,
    scene: Scene,
    side: float,
    scale: "ScalarMappable | None",
    smallest: float = CAPTION_SIZE,
) -> bool:
    """Draw a scene, textures, legend, bar and title; return whether there are numbers."""
    written = draw_scene(axes, scene, 72.0 * side, smallest)
    if scale is not None and side * found.overlay.layout.n_rows >= BAR_FROM:
        draw_bar(axes, scale)
    legend = draw_kinds(axes, found.kinds) if PIXELS * side >= ARROWS_FROM else {}
    write_title(axes, found.title, above=legend_above(axes, legend, handlelength=1.6))
    return "numbers" in written


def is_solution(value: object) -> "TypeGuard[Solution]":
    """Whether a planner made it: tested by its attributes, because importing the class would load the compiler."""
    return hasattr(value, "optimal_actions")


def _shared(actions: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(S, A) probabilities of the policy that takes each of these actions equally often."""
    return actions / np.maximum(actions.sum(axis=1, keepdims=True), 1)


def _best(q: ArrayLike) -> NDArray[np.float64]:
    best = np.asarray(q, dtype=np.float64).max(axis=1)
    return np.where(np.isfinite(best), best, np.nan)


def _size(layout: GridLayout, largest: float = LARGEST_SQUARE) -> tuple[float, float]:
    """Width and height of the grid in inches."""
    side = min(largest, WIDEST_GRID / layout.n_columns, HIGHEST_GRID / layout.n_rows)
    return side * layout.n_columns, side * layout.n_rows


def _side_of_square(axes: "Axes", layout: GridLayout) -> float:
    """Side of a square in inches."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    box = axes.get_window_extent()
    return min(box.width / layout.n_columns, box.height / layout.n_rows) / figure.dpi
