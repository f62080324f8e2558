"""Two of the numbers that an agent observes, as a plane in which a figure shows values or actions.

Observations of two numbers are shown completely. Of longer ones, all but two numbers are fixed, so the figure is a
slice; its caption says where.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.environments.finding import find_env
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.models.gymnasium_table import title_of
from rlsuite.plotting.colour_scale import colour_scale, draw_bar, is_constant
from rlsuite.plotting.figure import (
    INK,
    LABEL_SIZE,
    TICK_SIZE,
    AxesKeywords,
    ColourKeywords,
    finish,
    label_axes,
    open_axes,
    styled,
    write_in_full,
    write_title,
)
from rlsuite.plotting.style import Palette
from rlsuite.rendering import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from rlsuite.core.aliases import Env

    Where = Env | str | tuple[ArrayLike, ArrayLike]


PLANE_SIZE: Final = (4.6, 3.7)
"""Width and height of the axes in inches."""

RESOLUTION: Final = 121
"""Default number of points along each axis; odd, so that the middle is one of them."""


class Plane(NamedTuple):
    """A slice of a space of observations, and its points."""

    title: str
    """Id of the environment; empty if bounds were given."""
    dimensions: tuple[int, int]
    """Which numbers of an observation lie along x and y."""
    x: NDArray[np.float64]
    """(nx,) positions along x, from the lower bound to the upper."""
    y: NDArray[np.float64]
    """(ny,) positions along y."""
    at: NDArray[np.float64]
    """(d,) an observation of the slice: its other numbers are those of all points."""

    @property
    def observations(self) -> NDArray[np.float64]:
        """(ny * nx, d) all points, row by row from the lowest y."""
        points = np.tile(self.at, (self.y.size * self.x.size, 1))
        x, y = np.meshgrid(self.x, self.y)
        points[:, self.dimensions[0]], points[:, self.dimensions[1]] = x.ravel(), y.ravel()
        return points

    @property
    def cells(self) -> tuple[float, float, float, float]:
        """Left, right, lower and upper edge of an image with a pixel centred at each point."""
        half_x, half_y = (self.x[1] - self.x[0]) / 2.0, (self.y[1] - self.y[0]) / 2.0
        return self.x[0] - half_x, self.x[-1] + half_x, self.y[0] - half_y, self.y[-1] + half_y

    def of_each_point(self, function: Callable[[Any], ArrayLike], name: str) -> NDArray[np.float64]:
        """Numbers (ny, nx) that a function of observations (n, d) has for the points.

        Raises
        ------
        ParameterError
            If it does not return one number for each observation.
        """
        if not callable(cast("object", function)):
            raise ParameterError(f"{name} is {function!r}, not a function of observations (n, d)")
        observations = self.observations
        found = np.asarray(function(observations), dtype=np.float64)
        if found.shape != (len(observations),):
            hint = "; for action values, pass lambda x: q(x).max(axis=1)" if found.ndim == 2 else ""
            raise ParameterError(
                f"{name}(observations) has shape {found.shape} for {len(observations)} observations, needed "
                f"({len(observations)},): one number for each{hint}"
            )
        return found.reshape(self.y.size, self.x.size)

    def path(self, name: str, observations: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The positions of observations (n, d) in the plane, whatever their other numbers."""
        points = np.asarray(observations, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.at.size:
            raise ParameterError(f"{name} has shape {points.shape}, needed (n, {self.at.size}): a row per observation")
        return points[:, self.dimensions[0]], points[:, self.dimensions[1]]


def plane_of(
    where: "Where",
    dimensions: Sequence[int],
    limits: Mapping[int, tuple[float, float]] | None,
    at: ArrayLike | None,
    resolution: int,
) -> Plane:
    """Find the plane of a figure.

    Parameters
    ----------
    where
        An environment with a Box of observations, or its id; or ``(low, high)``, two lists of d bounds.
    dimensions
        Two different numbers out of 0..d - 1, for x and y.
    limits
        Other bounds of some dimensions, by number; needed where the environment has none.
    at
        (d,) observation at whose values the other dimensions are held; None: in the middle of their bounds, or at 0 if
        they have none.
    resolution
        Points along each axis, at least 2.

    Raises
    ------
    ParameterError
        If bounds, dimensions, limits, `at` or `resolution` are invalid; the message says which, and why.
    UnsuitableEnvironment
        If the observations of the environment are not a list of at least two numbers.

    Examples
    --------
    >>> plane = plane_of("CartPole-v1", (0, 2), {0: (-1.0, 1.0)}, None, 3)
    >>> plane.x.tolist(), plane.y.round(2).tolist(), plane.at.tolist()
    ([-1.0, 0.0, 1.0], [-0.42, 0.0, 0.42], [0.0, 0.0, 0.0, 0.0])
    >>> plane.observations[[0, 1, -1]].round(2).tolist()
    [[-1.0, 0.0, -0.42, 0.0], [0.0, 0.0, -0.42, 0.0], [1.0, 0.0, 0.42, 0.0]]
    """
    title, low, high = _bounds(where)
    for number, (smallest, largest) in (limits or {}).items():
        low[_dimension("limits", number, low.size)], high[number] = smallest, largest
    if len(dimensions) != 2 or dimensions[0] == dimensions[1]:
        raise ParameterError(f"dimensions={tuple(dimensions)}: give two different ones, for x and for y")
    chosen = (_dimension("dimensions", dimensions[0], low.size), _dimension("dimensions", dimensions[1], low.size))
    for number in chosen:
        # Gymnasium writes "no bound" as infinity or as the largest float32.
        if not (np.abs([low[number], high[number]]) < 1e30).all():
            raise ParameterError(
                f"dimension {number} has no bounds to draw between ({low[number]:g}, {high[number]:g}): pass "
                f"limits={{{number}: (-3.0, 3.0)}}, for example"
            )
        if not low[number] < high[number]:
            raise ParameterError(
                f"dimension {number}: its lower bound {low[number]:g} is not below its upper bound {high[number]:g}"
            )
    n_points = whole_number("resolution", resolution, at_least=2)
    bounded = np.abs(low) + np.abs(high) < 1e30
    middle = np.where(bounded, np.where(bounded, low, 0.0) / 2.0 + np.where(bounded, high, 0.0) / 2.0, 0.0)
    held = middle if at is None else np.array(at, dtype=np.float64)
    if held.shape != low.shape or not np.isfinite(held).all():
        raise ParameterError(f"at={at!r} is not an observation: needed {low.size} finite numbers")
    x, y = chosen
    return Plane(title, chosen, np.linspace(low[x], high[x], n_points), np.linspace(low[y], high[y], n_points), held)


def label_plane(ax: "Axes", plane: Plane, labels: Sequence[str] | None) -> list[str]:
    """Limits and labels of the axes; return the sentences for the caption about the numbers that are not drawn.

    Raises
    ------
    ParameterError
        If there are labels, but not one for each number of an observation.
    """
    names = [f"observation[{number}]" for number in range(plane.at.size)] if labels is None else list(labels)
    if len(names) != plane.at.size:
        raise ParameterError(f"{len(names)} labels for observations of {plane.at.size} numbers; give one for each")
    left, right, lower, upper = plane.cells
    ax.set_xlim(left, right)
    ax.set_ylim(lower, upper)
    ax.set_xlabel(names[plane.dimensions[0]], fontsize=LABEL_SIZE, color=INK, parse_math=False)
    ax.set_ylabel(names[plane.dimensions[1]], fontsize=LABEL_SIZE, color=INK, parse_math=False)
    ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK)
    write_in_full(ax.xaxis)
    write_in_full(ax.yaxis)
    others = [number for number in range(plane.at.size) if number not in plane.dimensions]
    held = [f"{names[number]} = {plane.at[number]:.3g}" for number in others]
    return [f"Slice at {', '.join(held)}."] if held else []


def draw_trace(ax: "Axes", plane: Plane, trace: ArrayLike) -> str:
    """Draw a path of observations, the first with a ring, the last with a cross; return a sentence for the caption."""
    x, y = plane.path("trace", trace)
    ax.plot(x, y, color="white", linewidth=2.6, label="_under", zorder=3)
    ax.plot(x, y, color=INK, linewidth=1.2, label="_trace", zorder=4)
    ax.plot(x[:1], y[:1], "o", color="white", markeredgecolor=INK, markersize=6.0, label="_first", zorder=5)
    ax.plot(x[-1:], y[-1:], "X", color="white", markeredgecolor=INK, markersize=7.0, label="_last", zorder=5)
    return f"Line: {x.size:,} observations, from the ring to the cross."


def _bounds(where: "Where") -> tuple[str, NDArray[np.float64], NDArray[np.float64]]:
    """Title, and bounds (d,) that may be written to."""
    if isinstance(where, tuple):
        if len(where) != 2:
            raise ParameterError(f"bounds are a pair (low, high), got {len(where)} items")
        low, high = (np.array(bound, dtype=np.float64) for bound in where)
        if low.ndim != 1 or low.shape != high.shape or low.size < 2:
            raise ParameterError(f"low has shape {low.shape} and high {high.shape}, needed (d,) for both, d at least 2")
        return "", low, high
    import gymnasium

    env = find_env(where)
    space = env.observation_space
    name = title_of(env)
    if not isinstance(space, gymnasium.spaces.Box) or int(np.prod(space.shape)) < 2:
        raise UnsuitableEnvironment(f"{name} has observations {space}: a plane needs a Box of at least two numbers")
    return name, space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()


def _dimension(argument: str, number: int, n_dimensions: int) -> int:
    found = whole_number(argument, number, at_least=0)
    if found >= n_dimensions:
        raise ParameterError(f"{argument} names dimension {found}; an observation has dimensions 0..{n_dimensions - 1}")
    return found


LEVELS: Final = 8
"""About this many contour lines."""


@styled
def value_surface(
    where: "Where",
    value: Callable[[NDArray[np.float64]], ArrayLike],
    *,
    dimensions: Sequence[int] = (0, 1),
    limits: Mapping[int, tuple[float, float]] | None = None,
    at: ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    trace: ArrayLike | None = None,
    resolution: int = RESOLUTION,
    **look: Unpack[ColourKeywords],
) -> "Axes":
    """Value of every observation, over two of its numbers: colours, with lines of equal value.

    The surface is seen from above, so that no part hides another and values can be read off; as in the perspective
    drawings in the literature (S&B2 Figure 10.1).

    Parameters
    ----------
    where
        An environment with a Box of observations, or its id; or ``(low, high)``, two lists of d bounds.
    value
        From observations (n, d) float64 to n numbers: any value function, such as ``lambda x: agent.q(x).max(axis=1)``.
        NaN is drawn in grey.
    dimensions
        Which two numbers of an observation lie along x and y.
    limits
        Bounds of some dimensions, by number, instead of those of the space; needed for a dimension without bounds.
    at
        (d,) observation at whose values the other dimensions are held; None: the middle of their bounds, or 0.
    labels
        Names of all d numbers of an observation.
    trace
        (n, d) observations that followed each other, such as those of an episode, drawn as a line.
    resolution
        Points along each axis.
    **look
        Axes, title, limits and colours: the keywords of `ColourKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If `value` does not give one number for each observation, or an argument does not fit the observations.
    UnsuitableEnvironment
        If the observations are not a Box of at least two numbers.
    EnvironmentNotFound
        If an id leads to no environment.

    Examples
    --------
    >>> from rlsuite.plotting import value_surface
    >>> ax = value_surface("MountainCar-v0", lambda x: x[:, 0] ** 2, labels=["position", "velocity"])
    >>> ax.get_title(loc="left"), ax.get_xlabel()
    ('MountainCar-v0', 'position')
    """
    plane = plane_of(where, dimensions, limits, at, resolution)
    values = plane.of_each_point(value, "value")
    known = values[np.isfinite(values)]
    if not known.size:
        raise ParameterError("nothing to draw: value(observations) is finite nowhere in this plane")

    axes = open_axes(look, PLANE_SIZE)
    scale = colour_scale(values, look)
    shown: Any = np.ma.masked_invalid(values)
    axes.imshow(shown, **_as_cells(plane), cmap=scale.cmap, clim=scale.get_clim())
    said = ["Colour and lines: value."]
    if known.min() < known.max():
        _draw_lines(axes, plane.x, plane.y, values, scale)
    else:
        said = [f"The value is {known[0]:.4g} everywhere."]
    if not is_constant(values, look):
        draw_bar(axes, scale)
    if trace is not None:
        said.append(draw_trace(axes, plane, trace))
    write_title(axes, plane.title)
    said += label_plane(axes, plane, labels)
    return finish(axes, look, said)


def _as_cells(plane: Plane) -> dict[str, Any]:
    return {"origin": "lower", "extent": plane.cells, "aspect": "auto", "interpolation": "nearest"}


def _draw_lines(
    axes: "Axes", x: NDArray[np.float64], y: NDArray[np.float64], values: NDArray[np.float64], scale: "ScalarMappable"
) -> None:
    """Lines of equal value with their numbers, in an ink that can be read on the colour below them."""
    from matplotlib.ticker import MaxNLocator

    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    levels = np.asarray(MaxNLocator(LEVELS, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high), dtype=np.float64)
    inside = levels[(levels > low) & (levels < high)]
    shades: Any = scale.to_rgba(inside, bytes=True)
    inks = colours.hexadecimals(colours.inks_on(shades[:, :3]))
    if inside.size:
        lines = axes.contour(x, y, np.ma.masked_invalid(values), levels=inside, colors=inks, linewidths=0.8)
        axes.clabel(lines, fontsize=TICK_SIZE - 1, fmt=_number)


def _number(level: float) -> str:
    return f"{level:.4g}".replace("-", "\N{MINUS SIGN}")


MOST_LOOKS: Final = 6
"""Actions with colours of their own; more of them are taken to be in order (torques, say), from dark to light."""

STRENGTH: Final = 0.75
"""Opacity of an area, so that a line on it can be seen."""


@styled
def policy_map(
    where: "Where",
    act: Callable[[NDArray[np.float64]], ArrayLike],
    *,
    actions: Sequence[str] | None = None,
    dimensions: Sequence[int] = (0, 1),
    limits: Mapping[int, tuple[float, float]] | None = None,
    at: ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    trace: ArrayLike | None = None,
    resolution: int = RESOLUTION,
    **look: Unpack[AxesKeywords],
) -> "Axes":
    """Action that a policy takes for every observation, over two of its numbers, as colours.

    Parameters
    ----------
    where
        An environment with a Box of observations, or its id; or ``(low, high)``, two lists of d bounds.
    act
        From observations (n, d) float64 to n whole numbers, the actions, from 0 on: any policy, such as
        ``lambda x: agent.q(x).argmax(axis=1)``. For a policy that is asked one observation at a time,
        ``lambda x: [agent.act(one) for one in x]``.
    actions
        Names of all actions, in order; None: their numbers. Only those taken are in the legend.
    dimensions
        Which two numbers of an observation lie along x and y.
    limits
        Bounds of some dimensions, by number, instead of those of the space; needed for a dimension without bounds.
    at
        (d,) observation at whose values the other dimensions are held; None: the middle of their bounds, or 0.
    labels
        Names of all d numbers of an observation.
    trace
        (n, d) observations that followed each other, such as those of an episode, drawn as a line.
    resolution
        Points along each axis.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If `act` does not give one action for each observation, or an argument does not fit the observations.
    UnsuitableEnvironment
        If the observations are not a Box of at least two numbers.
    EnvironmentNotFound
        If an id leads to no environment.

    Examples
    --------
    Push in the direction of motion:

    >>> from rlsuite.plotting import policy_map
    >>> ax = policy_map("MountainCar-v0", lambda x: 2 * (x[:, 1] > 0), actions=["left", "none", "right"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['left', 'right']
    """
    plane = plane_of(where, dimensions, limits, at, resolution)
    taken = plane.of_each_point(act, "act")
    if not ((taken >= 0.0) & (taken == np.rint(taken))).all():
        wrong = taken[~((taken >= 0.0) & (taken == np.rint(taken)))][0]
        raise ParameterError(
            f"act(observations) holds {wrong:g}, which is not an action: actions are whole numbers from 0"
        )
    chosen = taken.astype(np.int64)
    n_actions = int(chosen.max()) + 1 if actions is None else len(actions)
    if chosen.max() >= n_actions:
        raise ParameterError(
            f"act(observations) holds action {chosen.max()}, and actions= names only 0..{n_actions - 1}"
        )
    names = [f"action {action}" for action in range(n_actions)] if actions is None else list(actions)

    axes = open_axes(look, PLANE_SIZE)
    looks = _colours(names)
    painted = np.array(looks)[chosen]
    axes.imshow(painted, **_as_cells(plane))
    said = ["Colour: action of the policy."]
    if trace is not None:
        said.append(draw_trace(axes, plane, trace))
    actions_taken: list[int] = np.unique(chosen).tolist()
    for action in actions_taken:
        axes.fill([], [], facecolor=looks[action], label=names[action])  # for the legend
    label_axes(axes, plane.title, "", "")
    axes.grid(visible=False)
    said += label_plane(axes, plane, labels)
    return finish(axes, look, said)


def _colours(names: list[str]) -> list[tuple[float, float, float]]:
    """Red, green and blue of each action, from 0 to 1."""
    from matplotlib.colors import to_rgb

    if len(names) > MOST_LOOKS:
        return [tuple(shade) for shade in (colours.heat(np.linspace(0.0, 1.0, len(names))) / 255.0).tolist()]
    palette = Palette(names)
    mixed = [np.array(to_rgb(palette[name].colour)) * STRENGTH + 1.0 - STRENGTH for name in names]
    return [(float(r), float(g), float(b)) for r, g, b in mixed]
