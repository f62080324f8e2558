"""The belief during an episode, step by step, with the actions and the observations."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import count_along, dress_curves, wrap, write_caption
from rlsuite.plotting.labels import counted, names, size_of
from rlsuite.plotting.stacked_area import draw_areas
from rlsuite.plotting.time_rows import Rows, axes_with_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.models import POMDP
    from rlsuite.planning import BeliefEpisodes

MOST_ROWS: Final = 8
"""Actions, and observations, with a row of their own; the others of a larger model share one."""


@says_what_to_write
def belief_trace(pomdp: "POMDP", episodes: "BeliefEpisodes", *, episode: int = 0, ax: "Axes | None" = None) -> "Axes":
    """The belief in each state during one episode, with the actions taken and the observations made below it.

    At step t the figure shows the belief after t steps, an area for each state. Below it are the hidden state, the
    observation that led to the belief, and the action that was taken then.

    Parameters
    ----------
    pomdp
        The model.
    episodes
        What `simulate_beliefs` returned for this model, with ``keep_beliefs=True``.
    episode
        Which of the episodes to draw.
    ax
        Axes to draw on; None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Probabilities lie between 0 and 1, the rows of marks below 0.

    Raises
    ------
    ParameterError
        If the beliefs were not kept or are over another number of states, or there is no such episode.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import simulate_beliefs
    >>> from rlsuite.plotting import belief_trace
    >>> machine = POMDP.from_arrays(
    ...     [[[0.9, 0.1], [1, 0]], [[0, 1], [1, 0]]], [[1, -1], [0, -1]], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0,
    ...     state_labels=["fine", "broken"], action_labels=["make", "repair"], observation_labels=["good", "bad"],
    ... )
    >>> episodes = simulate_beliefs(machine, lambda b: int(b[1] > 0.5), steps=20, seed=1, keep_beliefs=True)
    >>> ax = belief_trace(machine, episodes)
    >>> ax.patches[0].get_label(), ax.patches[0].get_data().values[:3].round(2).tolist()
    ('fine', [1.0, 0.95, 0.93])
    """
    if episodes.beliefs is None:
        raise ParameterError("these episodes have no beliefs: simulate_beliefs(..., keep_beliefs=True) keeps them")
    if episodes.beliefs.shape[2] != pomdp.n_states:
        raise ParameterError(
            f"these beliefs are over {episodes.beliefs.shape[2]} states, and the model has {pomdp.n_states}: give the "
            "model that was simulated"
        )
    number = whole_number("episode", episode, at_least=0)
    if number >= episodes.lengths.size:
        raise ParameterError(f"episode={number} is not one of 0..{episodes.lengths.size - 1}")

    length = int(episodes.lengths[number])
    # An episode that has terminated has no belief after its last step.
    beliefs = episodes.beliefs[number, : length + (not episodes.terminated[number])]
    done = _by_name(episodes.actions[number, :length], names(pomdp.action_labels, pomdp.n_actions, "action"), 0)
    seen_names = names(pomdp.observation_labels, pomdp.n_observations, "observation")
    seen = _by_name(episodes.observations[number, :length], seen_names, 1)
    axes = axes_with_rows(len(done) + len(seen) + 3.0) if ax is None else ax

    state_names = names(pomdp.state_labels, pomdp.n_states, "state")
    looks = draw_areas(axes, np.arange(len(beliefs)), beliefs, state_names)
    rows = Rows(axes)
    rows.states("hidden state", episodes.states[number, : length + 1], looks, first=0.0)
    for group in (seen, done):
        rows.gap()
        for name, times in group.items():
            rows.marks(name, times)
    dress_curves(axes, size_of(pomdp), "steps", "belief")
    rows.dress()
    count_along(axes)
    axes.set_xlim(-0.5, length + 0.5)
    ended = "it ended" if episodes.terminated[number] else "it was cut off"
    said = ["Areas: probability of each state given the actions and observations until then."]
    said.append("Marks: what had been observed, and which action was taken then.")
    write_caption(
        axes, [*said, f"Episode {number}: {counted(length, 'step')}, then {ended}; return {_return(episodes, number)}."]
    )
    if ax is None:
        wrap(axes)
    return axes


def _return(episodes: "BeliefEpisodes", number: int) -> str:
    return f"{float(episodes.returns[number]):.6g}".replace("-", "\N{MINUS SIGN}")


def _by_name(happened: NDArray[np.int64], named: list[str], delay: int) -> dict[str, NDArray[np.float64]]:
    """The times of each action or observation that occurred; if there are too many, the rarest together."""
    kinds, counts = np.unique(happened, return_counts=True)
    times = np.arange(happened.size, dtype=np.float64) + delay
    own = kinds if kinds.size <= MOST_ROWS else np.sort(kinds[np.argsort(-counts, kind="stable")[: MOST_ROWS - 1]])
    found: dict[str, NDArray[np.float64]] = {named[kind]: times[happened == kind] for kind in own.tolist()}
    if own.size < kinds.size:
        found[f"{kinds.size - own.size} others"] = times[~np.isin(happened, own)]
    return found
