"""Movies of an episode: a belief over time, and a policy that walks."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from PIL import Image

from rlsuite.core.checks import is_array, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.environments.facts import facts_of
from rlsuite.environments.finding import closed, find_env
from rlsuite.errors import UnsuitableEnvironment
from rlsuite.models import POMDP
from rlsuite.planning.pomdp.simulation import BeliefEpisodes, simulate_beliefs
from rlsuite.planning.pomdp.solution import AlphaVectorSolution
from rlsuite.plotting.belief_values import alpha_vectors, belief_simplex, in_triangle
from rlsuite.plotting.figure import INK, for_a_file, open_figure
from rlsuite.plotting.labels import is_agent, names, title_of_model
from rlsuite.plotting.movie_files import Frame, suffix_of, write_movie
from rlsuite.plotting.movies import picture_of
from rlsuite.plotting.time_rows import belief_trace
from rlsuite.plotting.values import is_solution, map_of
from rlsuite.rendering.arrows import WORDS, unit
from rlsuite.rendering.drawing import Drawing
from rlsuite.rendering.grid import GridDrawing
from rlsuite.rendering.layout import GridLayout
from rlsuite.rendering.toy_text import drawing_of
from rlsuite.training.episodes import episode_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from rlsuite.core.aliases import Env

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
