"""Movies of what an agent learns and of value iteration: one HTML file with a slider, or a gif."""

import io
import os
import warnings
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from PIL import Image

from rlsuite.core.checks import is_array, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.environments.facts import facts_of
from rlsuite.environments.finding import find_env
from rlsuite.errors import ConvergenceWarning, NotLearned, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import solve
from rlsuite.planning.mdp.value_iteration import value_iteration
from rlsuite.plotting.figure import for_a_file
from rlsuite.plotting.labels import in_title
from rlsuite.plotting.movie_files import Frame, suffix_of, write_movie
from rlsuite.plotting.values import value_maps
from rlsuite.rendering.layout import GridLayout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from rlsuite.agents import Agent
    from rlsuite.core.aliases import Env
    from rlsuite.core.array_like import ArrayLike
    from rlsuite.planning import Solution

DOTS: Final = 100
"""Dots per inch."""


class Maps(NamedTuple):
    """What a picture shows in words, and its maps, with the values of the first and the last colour."""

    text: str
    maps: "Mapping[str, ArrayLike | Solution]"
    low: float | None = None
    high: float | None = None


@says_what_to_write
def learning_movie(
    path: str | os.PathLike[str],
    agent: "Agent",
    env: "Env | str",
    *,
    steps: int,
    frames: int = 20,
    seed: int | None = None,
    **kwargs: object,
) -> Path:
    """Show how an agent learns: its values and best actions on the grid, and where they are still wrong.

    The agent learns in as many parts as there are frames, which gives the same bytes as learning in one.

    Parameters
    ----------
    path : str or PathLike
        File to write: ``.html``, one file with a slider that loads nothing, ``.gif``, or ``.mp4`` (extra ``video``).
    agent : Agent
        With a table of action values. It learns on if it has learned before.
    env : str or gymnasium.Env
        An environment with a grid.
    steps : int
        Environment steps in all.
    frames : int
        Number of pictures.
    seed : int, optional
        As for `Agent.learn`.
    **kwargs
        Passed to the environment when it is made.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the suffix is another one, or there are more frames than steps.
    NotLearned
        If the agent has no table of action values, one row for each square.
    UnsuitableEnvironment
        If the environment does not say where its states are.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rlsuite as rl
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "lake.gif"
    ...     rl.plotting.learning_movie(path, rl.QLearning(), "FrozenLake-v1", steps=300, frames=3, seed=1).name
    'lake.gif'
    """
    total, n = whole_number("steps", steps), whole_number("frames", frames)
    if n > total:
        raise ParameterError(f"frames={n} is more than steps={total}; give at most one frame a step")
    found = find_env(env, **kwargs)
    GridLayout.from_env(found)  # raises before anything is learned
    suffix_of(path)
    title = in_title(facts_of(found).name, type(agent).__name__)
    return write_movie(path, title, _drawn(path, found, _learned(agent, found, total, n, seed)), begin=-1)


@says_what_to_write
def planning_movie(
    path: str | os.PathLike[str], env: "Env | str", *, gamma: float, frames: int = 20, **kwargs: object
) -> Path:
    """Show value iteration on a grid: the values after some sweeps, with the bound on their error.

    An arrow stands for each action that may be best, as far as the bound can tell.

    Parameters
    ----------
    path : str or PathLike
        File to write: ``.html``, one file with a slider that loads nothing, ``.gif``, or ``.mp4`` (extra ``video``).
    env : str or gymnasium.Env
        An environment with a grid and a table.
    gamma : float
        Discount per step.
    frames : int
        Number of pictures at most. The first sweeps follow each other, later ones are further apart.
    **kwargs
        Passed to the environment when it is made.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the suffix is another one.
    UnsuitableEnvironment
        If the environment has no table, or does not say where its states are.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     planning_movie(Path(folder) / "lake.html", "FrozenLake-v1", gamma=0.9, frames=3).name
    'lake.html'
    """
    n, found = whole_number("frames", frames), find_env(env, **kwargs)
    GridLayout.from_env(found)
    mdp = MDP.from_env(found, gamma=gamma)
    suffix_of(path)
    title = f"Value iteration in {facts_of(found).name}"
    return write_movie(path, title, _drawn(path, found, _planned(mdp, n)), begin=-1)


def _learned(agent: "Agent", env: "Env", steps: int, n: int, seed: int | None) -> Generator[Maps]:
    ends = np.linspace(0, steps, n + 1).astype(int)
    best: NDArray[np.float64] | None = None
    for part, length in enumerate(np.diff(ends).tolist()):
        agent.learn(env, steps=length, seed=seed if part == 0 else None, regret=part == 0)
        q: Any = getattr(agent, "q_", None)
        if not is_array(q) or q.ndim != 2:
            raise NotLearned(f"{type(agent).__name__} has no table of action values to draw; QLearning and Sarsa have")
        if part == 0 and agent.record_.optimal_value is not None:  # the table can be trusted
            best = solve(MDP.from_env(env, gamma=agent.gamma)).value
        text = f"after {agent.steps_:,} steps"
        if best is None:
            yield Maps(text, {"learned": q})
        else:
            error = best - np.max(q, axis=1)
            text += f"; the largest error is {np.abs(error).max():.3g}"
            low, high = min(0.0, float(best.min())), max(0.0, float(best.max()))
            yield Maps(text, {"learned": q, "optimum less learned": error}, low, high)


def _planned(mdp: MDP, n: int) -> Generator[Maps]:
    sweeps = value_iteration(mdp).iterations
    for k in np.unique(np.geomspace(1, max(1, sweeps), n).round().astype(int)).tolist():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # that it goes on is what the movie shows
            solution = value_iteration(mdp, max_iterations=k)
        text = f"sweep {k}: every value is right within {solution.error_bound:.2g}"
        yield Maps(text, {"value": solution})


def _drawn(path: str | os.PathLike[str], env: "Env", shown: Iterable[Maps]) -> Generator[Frame]:
    """The pictures; those of a gif say in their title what they show."""
    titled = suffix_of(path) != ".html"
    for text, maps, low, high in shown:
        with for_a_file():
            axes = value_maps(env, maps, title=text if titled else "", vmin=low, vmax=high)
        yield Frame(text, picture_of(next(iter(axes.values()))))


def picture_of(ax: "Axes") -> Image.Image:
    """The whole figure that the axes are in."""
    buffer = io.BytesIO()
    figure: Any = ax.get_figure(root=True)
    figure.savefig(buffer, format="png", dpi=DOTS, bbox_inches="tight", pad_inches=0.1)
    return Image.open(buffer)
