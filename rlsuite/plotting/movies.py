"""Movies: what an agent learns, value iteration, a belief over time, and a policy that walks.

Each is one HTML file with a slider, a gif, or a video.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import os
import warnings
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from PIL import Image

from rlsuite.core.checks import is_array, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.environments.facts import facts_of
from rlsuite.environments.finding import closed, find_env
from rlsuite.errors import ConvergenceWarning, NotLearned, ParameterError, UnsuitableEnvironment
from rlsuite.models import MDP, POMDP
from rlsuite.planning import solve
from rlsuite.planning.mdp.value_iteration import value_iteration
from rlsuite.planning.pomdp.simulation import BeliefEpisodes, simulate_beliefs
from rlsuite.planning.pomdp.solution import AlphaVectorSolution
from rlsuite.plotting.belief_values import alpha_vectors, belief_simplex, in_triangle
from rlsuite.plotting.figure import INK, for_a_file, open_figure
from rlsuite.plotting.labels import in_title, is_agent, names, title_of_model
from rlsuite.plotting.pages import Frame, picture_of, suffix_of, write_movie
from rlsuite.plotting.time_rows import belief_trace
from rlsuite.plotting.values import is_solution, map_of, value_maps
from rlsuite.rendering.arrows import WORDS, unit
from rlsuite.rendering.drawing import Drawing
from rlsuite.rendering.grid import GridDrawing
from rlsuite.rendering.layout import GridLayout
from rlsuite.rendering.toy_text import drawing_of
from rlsuite.training.episodes import episode_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from rlsuite.agents import Agent
    from rlsuite.core.aliases import Env
    from rlsuite.core.array_like import ArrayLike
    from rlsuite.planning import Solution


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


MOST_NAMED: Final = 4
"""States of a belief that are named in words."""

BESIDE: Final = (5.4, 7.2)
"""Widths of the beliefs that a plan is made for, and of the episode, in inches."""

HEIGHT: Final = 4.8
"""Inches."""


@says_what_to_write
def belief_movie(
    path: str | os.PathLike[str],
    policy: object,
    pomdp: POMDP,
    *,
    steps: int = 20,
    seed: int | None = None,
) -> Path:
    """Show how a belief changes during an episode: what was done, what was observed, and what is believed then.

    Beside the episode there are all beliefs with the actions of the plan, if it has alpha vectors and the model two
    or three states: a mark shows where the belief is.

    Parameters
    ----------
    path : str or PathLike
        File to write: ``.html``, one file with a slider that loads nothing, ``.gif``, or ``.mp4`` (extra ``video``).
    policy : BeliefPlan or callable
        What `solve` returned for the model, anything with ``act(belief)``, or a function from a belief (S,) to an
        action.
    pomdp : POMDP
        The model.
    steps : int
        Steps of the episode, if it does not end before; of a plan with a horizon, at most its horizon.
    seed : int, optional
        Seed of the episode.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the suffix is another one, the policy does not fit the model, or takes an action that is illegal.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rlsuite as rl, rlsuite_envs
    >>> tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiger.html"
    ...     belief_movie(path, lambda belief: 0, tiger, steps=2, seed=1).name
    'tiger.html'
    """
    suffix_of(path)
    most, horizon = whole_number("steps", steps, at_least=1), getattr(policy, "horizon", None)
    length = most if horizon is None else min(most, horizon)
    acting: Any = policy
    played = simulate_beliefs(pomdp, acting, steps=length, seed=seed, keep_beliefs=True)
    titled = suffix_of(path) != ".html"
    return write_movie(path, f"A belief over time: {title_of_model(pomdp)}", _believed(policy, pomdp, played, titled))


def _believed(policy: object, pomdp: POMDP, played: BeliefEpisodes, titled: bool) -> Generator[Frame]:
    assert played.beliefs is not None
    length = int(played.lengths[0])
    ended = bool(played.terminated[0])
    beliefs = played.beliefs[0, : length + (not ended)]
    vectors = policy if isinstance(policy, AlphaVectorSolution) and pomdp.n_states in (2, 3) else None
    left: Axes | None = None
    with for_a_file():
        if vectors is None:
            right = belief_trace(pomdp, played)
        else:
            left, right = open_figure({}, (sum(BESIDE), HEIGHT), layout="compressed").subplots(
                1, 2, width_ratios=BESIDE
            )
            (alpha_vectors if pomdp.n_states == 2 else belief_simplex)(vectors, ax=left)
            belief_trace(pomdp, played, ax=right, title="The episode")
    veil = right.axvspan(0.5, length + 0.5, facecolor="white", zorder=5.0)
    now = right.axvline(0.0, color=INK, linewidth=1.2, zorder=6.0)
    figure: Any = right.get_figure(root=True)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # what follows moves nothing
    mark = None if vectors is None or left is None else _Mark(left, vectors, beliefs)
    for t in range(len(beliefs)):
        veil.set(x=t + 0.5, width=length - t)
        now.set_xdata([t, t])
        if mark is not None:
            mark.move_to(t)
        text = _said_of_belief(pomdp, played, t)
        if titled:
            figure.suptitle(text)
        yield Frame(text, picture_of(right))


class _Mark:
    """Where the belief is, among all beliefs over two or three states, and where it was."""

    def __init__(self, ax: "Axes", plan: AlphaVectorSolution, beliefs: "NDArray[np.float64]") -> None:
        if beliefs.shape[1] == 2:
            heights = np.array([plan.value(belief) for belief in beliefs])
            self.x, self.y = beliefs[:, 0], heights
        else:
            self.x, self.y = in_triangle(beliefs)
        (self.past,) = ax.plot([], [], "-", color=INK, linewidth=0.8, zorder=6.0, label="_past")
        (self.present,) = ax.plot([], [], "o", color="white", markeredgecolor=INK, markersize=10.0, zorder=7.0)

    def move_to(self, t: int) -> None:
        """Show the belief after t steps."""
        self.past.set_data(self.x[: t + 1], self.y[: t + 1])
        self.present.set_data(self.x[t : t + 1], self.y[t : t + 1])


def _said_of_belief(pomdp: POMDP, played: BeliefEpisodes, t: int) -> str:
    """What happened in the step before, what is believed now, and what is done next."""
    done = names(pomdp.action_labels, pomdp.n_actions, "action")
    seen = names(pomdp.observation_labels, pomdp.n_observations, "observation")
    said = "at the start"
    if t > 0:
        action, observation = int(played.actions[0, t - 1]), int(played.observations[0, t - 1])
        said = f"step {t}: {done[action]}, reward {played.rewards[0, t - 1]:g}, observed {seen[observation]}"
    next_action = f"; next: {done[int(played.actions[0, t])]}" if t < played.lengths[0] else ""
    assert played.beliefs is not None
    believed = _said(played.beliefs[0, t], names(pomdp.state_labels, pomdp.n_states, "state"))
    return f"{said}; belief: {believed}{next_action}"


def _said(belief: "NDArray[np.float64]", labels: list[str]) -> str:
    likely = np.argsort(-belief, kind="stable")[:MOST_NAMED]
    named = [f"{labels[state]} {belief[state]:.3f}" for state in likely.tolist() if belief[state] > 0.0]
    rest = int((belief > 0.0).sum()) - len(named)
    return ", ".join([*named, *([f"{rest} others"] if rest else [])])


@says_what_to_write
def walk_movie(
    path: str | os.PathLike[str],
    policy: object,
    env: "Env | str",
    *,
    steps: int = 100,
    seed: int | None = None,
    **kwargs: object,
) -> Path:
    """Show a policy that walks: an episode, step by step.

    On a grid whose squares are the observations, the values and actions of a solution, or of an agent with a table of
    action values, are drawn below the walker. Other environments draw themselves.

    Parameters
    ----------
    path : str or PathLike
        File to write: ``.html``, one file with a slider that loads nothing, ``.gif``, or ``.mp4`` (extra ``video``).
    policy : policy
        What `rlsuite.evaluate` takes: an agent, a solution, an action for each observation, or a function.
    env : str or gymnasium.Env
        The environment: one with a grid, Taxi, or one that draws itself (``render_mode="rgb_array"``).
    steps : int
        Steps after which the episode is cut off.
    seed : int, optional
        Seed of the episode.
    **kwargs
        Passed to the environment when it is made.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the suffix is another one, or the policy does not fit the environment.
    UnsuitableEnvironment
        If the environment has no pictures.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     walk_movie(Path(folder) / "lake.html", [2, 1] * 8, "FrozenLake-v1", seed=1, is_slippery=False).name
    'lake.html'
    """
    suffix_of(path)
    most, found = whole_number("steps", steps, at_least=1), find_env(env, **kwargs)
    layout = _layout_of(found)
    drawing = drawing_of(found) if layout is None else _drawing(found, layout, policy)
    if drawing is None and found.render_mode != "rgb_array":
        if "rgb_array" not in found.metadata.get("render_modes", []):
            raise UnsuitableEnvironment(f"{facts_of(found).name} has neither a grid nor pictures of itself")
        if not isinstance(env, str):
            raise UnsuitableEnvironment(
                f'{facts_of(found).name} draws no pictures: make it with render_mode="rgb_array", or give its id'
            )
        with closed(found):
            found = find_env(env, **kwargs, render_mode="rgb_array")
    watched = _Watched(found, drawing)
    return write_movie(path, f"A walk in {facts_of(found).name}", _walked(watched, policy, seed, most))


def _walked(watched: "_Watched", policy: object, seed: int | None, steps: int) -> Generator[Frame]:
    cut = episode_of(watched, policy, seed, max_steps=steps).cut
    *before, (text, picture) = watched.frames
    yield from [*before, Frame(f"{text}; cut off here" if cut else text, picture)]


class _Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that keeps a picture of each step."""

    def __init__(self, env: "Env", drawing: Drawing | None) -> None:
        super().__init__(env)
        self.drawing = drawing
        self.frames: list[Frame] = []
        self.total = 0.0

    def reset(self, **how: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**how)
        self.frames, self.total = [], 0.0
        self._show(f"at the start: observation {_in_short(observation)}", observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.total += float(reward)
        end = "; the end" if terminated else "; time is up" if truncated else ""
        text = f"step {len(self.frames)}: {self._word(action)}, reward {float(reward):g}, return {self.total:g}"
        self._show(f"{text}, observation {_in_short(observation)}{end}", observation, action, float(reward))
        return observation, reward, terminated, truncated, info

    def _show(self, text: str, observation: Any, action: Any = None, reward: float | None = None) -> None:
        if self.drawing is None:
            pixels: Any = self.env.render()
        else:
            pixels = self.drawing.rgb(int(observation), None if action is None else int(action), reward)
        self.frames.append(Frame(text, Image.fromarray(np.asarray(pixels, dtype=np.uint8))))

    def _word(self, action: Any) -> str:
        arrows = self.drawing.layout.arrows if isinstance(self.drawing, GridDrawing) else None
        return f"action {_in_short(action)}" if arrows is None else WORDS[unit(arrows[int(action)])]


def _in_short(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=3, threshold=6)


def _layout_of(env: "Env") -> GridLayout | None:
    """The grid, if an observation is the number of a square on it."""
    try:
        layout = GridLayout.from_env(env)
    except UnsuitableEnvironment:
        return None
    space = env.observation_space
    return layout if isinstance(space, spaces.Discrete) and space.start == 0 and space.n == layout.n_states else None


def _drawing(env: "Env", layout: GridLayout, policy: object) -> GridDrawing:
    """The grid with what the policy thinks of it, where that is known."""
    learned: Any = getattr(policy, "q_", None) if is_agent(policy) else None
    if is_solution(policy):
        shown = map_of(env, policy, None, None).overlay
    elif is_array(learned) and learned.shape[0] == layout.n_states and layout.arrows is not None:
        shown = map_of(env, learned, None, None).overlay
    else:
        return GridDrawing(layout)
    if shown.value is None or shown.weights is None:
        return GridDrawing(layout, shown.value)
    return GridDrawing(layout, shown.value, np.where(np.isnan(shown.value)[:, np.newaxis], 0.0, shown.weights))
