"""The actions of a policy over two of the numbers that an agent observes."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import dress_curves, fresh_axes, wrap, write_caption
from rlsuite.plotting.plane import PLANE_SIZE, RESOLUTION, draw_trace, dress_plane, plane_of
from rlsuite.plotting.style import Palette
from rlsuite.rendering import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.plotting.plane import Where

MOST_LOOKS: Final = 6
"""Actions with colours of their own; more of them are taken to be in order (torques, say), from dark to light."""

STRENGTH: Final = 0.75
"""Opacity of an area, so that a line on it can be seen."""


@says_what_to_write
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
    ax: "Axes | None" = None,
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
        Bounds of some dimensions, by number, in the place of those of the space; needed for a dimension without bounds.
    at
        (d,) observation at whose values the other dimensions are held; None: the middle of their bounds, or 0.
    labels
        Names of all d numbers of an observation.
    trace
        (n, d) observations that followed each other, such as those of an episode, drawn as a line.
    resolution
        Points along each axis.
    ax
        Axes to draw on; None: those of a new figure.

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

    axes = fresh_axes(PLANE_SIZE) if ax is None else ax
    looks = _colours(names)
    painted = np.array(looks)[chosen]
    axes.imshow(painted, origin="lower", extent=plane.cells, aspect="auto", interpolation="nearest")
    said = ["Colour: action of the policy."]
    if trace is not None:
        said.append(draw_trace(axes, plane, trace))
    actions_taken: list[int] = np.unique(chosen).tolist()
    for action in actions_taken:
        axes.fill([], [], facecolor=looks[action], label=names[action])  # for the legend
    dress_curves(axes, plane.title, "", "")
    axes.grid(visible=False)
    said += dress_plane(axes, plane, labels)
    write_caption(axes, said)
    if ax is None:
        wrap(axes)
    return axes


def _colours(names: list[str]) -> list[tuple[float, float, float]]:
    """Red, green and blue of each action, from 0 to 1."""
    from matplotlib.colors import to_rgb

    if len(names) > MOST_LOOKS:
        return [tuple(shade) for shade in (colours.heat(np.linspace(0.0, 1.0, len(names))) / 255.0).tolist()]
    palette = Palette(names)
    mixed = [np.array(to_rgb(palette[name].colour)) * STRENGTH + 1.0 - STRENGTH for name in names]
    return [(float(r), float(g), float(b)) for r, g, b in mixed]
