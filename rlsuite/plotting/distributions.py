"""Distributions: what an agent believes about its arms, and how long hidden states last."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Final, Unpack

import numpy as np

from rlsuite.core.aliases import Observation
from rlsuite.errors import ParameterError
from rlsuite.inference.hsmm import Segments
from rlsuite.inference.sequences import Observations
from rlsuite.plotting.figure import CURVE_SIZE, AxesKeywords, count_along, finish, label_axes, open_axes, styled
from rlsuite.plotting.labels import counted, names
from rlsuite.plotting.style import Palette, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.agents.bandits.thompson import ThompsonSampling
    from rlsuite.inference import HSMM


CREDIBLE: Final = 0.95
"""Probability of the shaded interval."""

SHARES: Final = (0.0005, 0.002, 0.005, *(n / 200 for n in range(2, 199)), 0.995, 0.998, 0.9995)
"""A curve goes through these quantiles, so the peak of a narrow one is not missed beside a wide one."""


@styled
def arm_posteriors(
    agent: "ThompsonSampling", observation: Observation | None = None, **look: Unpack[AxesKeywords]
) -> "Axes":
    """What a Thompson sampler believes about the mean of each arm: densities, with their 95 % intervals shaded.

    Parameters
    ----------
    agent
        `ThompsonBernoulli`, `ThompsonNormal` or `ThompsonNormalGamma`, after `learn`.
    observation
        The state whose arms are drawn; None: the first one.
    **look
        Axes, title, labels and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotLearned
        Before the first `learn`.
    ParameterError
        If it has no posterior, or the observation is outside the space.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.ThompsonNormal().learn(bandit([0.0, 1.0]).to_env(), steps=100, seed=7)
    >>> ax = rl.plotting.arm_posteriors(agent)
    >>> [line.get_label() for line in ax.get_lines()]
    ['arm 0', 'arm 1']
    """
    if not hasattr(type(agent), "posterior_"):
        raise ParameterError(
            f"arm_posteriors draws ThompsonBernoulli, ThompsonNormal or ThompsonNormalGamma, not "
            f"{type(agent).__name__}: no other agent has the posterior of each arm"
        )
    row = 0 if observation is None else agent.row_of(observation)
    posterior = agent.posterior_
    ends = posterior.interval(CREDIBLE)
    quantiles = np.stack([posterior.ppf(share)[row] for share in SHARES])  # (n, arms)
    heights = np.stack([posterior.pdf(x)[row] for x in quantiles])
    arms = np.flatnonzero(agent.legal_[row]).tolist()
    looks = Palette(f"arm {arm}" for arm in arms)
    ax = open_axes(look, CURVE_SIZE)
    for arm in arms:
        label = f"arm {arm}"
        x, y = quantiles[:, arm], np.where(np.isfinite(heights[:, arm]), heights[:, arm], np.nan)
        inside = (x >= ends[0][row, arm]) & (x <= ends[1][row, arm])
        ax.fill_between(x, y, where=inside, color=looks[label].colour, alpha=0.20, linewidth=0)
        ax.plot(x, y, label=label, **drawn(looks[label], 1.8))
    ax.set_ylim(bottom=0.0)
    pulls = ", ".join(f"{agent.visits_[row, arm]:,}" for arm in arms)
    said = [f"Shaded: {CREDIBLE:.0%} credible interval of the mean of each arm.", f"Pulls: {pulls}."]
    label_axes(ax, type(agent).__name__, "mean reward", "density")
    return finish(ax, look, said)


LIKELY: Final = 1e-3
"""Probability of a longer duration, at which a curve may end."""


@styled
def state_durations(hsmm: "HSMM", z: Observations, **look: Unpack[AxesKeywords]) -> "Axes":
    """The distribution of the duration of each state, as a line, over the lengths of the segments of the best path.

    Parameters
    ----------
    hsmm
        The model.
    z
        Observations, as everywhere in `rlsuite.inference`; several sequences as a list.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ModelError
        If an observation is not one of this model, or a sequence is impossible.

    Examples
    --------
    >>> from rlsuite.inference import HSMM
    >>> from rlsuite.plotting import state_durations
    >>> light = HSMM([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]], [[0, 0.5, 0.5], [1, 0, 0]], ["red", "green"])
    >>> ax = state_durations(light, [0, 0, 1, 0, 0, 1, 0])
    >>> [(line.get_label(), line.get_ydata().tolist()) for line in ax.get_lines()]
    [('red', [0.0, 0.5, 0.5]), ('green', [1.0, 0.0, 0.0])]
    """
    found = hsmm.segments(z)
    parts = [found] if isinstance(found, Segments) else found
    # The last segment of a sequence is cut off, so its length is not known.
    state = np.concatenate([part.state[:-1] for part in parts])
    length = np.concatenate([part.length[:-1] for part in parts])
    table, survival = hsmm.durations.table, hsmm.durations.survival
    shown = max(int((survival > LIKELY).sum(axis=1).max()), int(length.max(initial=1)))
    labels = names(hsmm.state_labels, hsmm.n_states, "state")
    looks = Palette(labels)
    axes = open_axes(look, CURVE_SIZE)
    edges = np.arange(shown + 1) + 0.5
    for k, label in enumerate(labels):
        own = np.bincount(length[state == k], minlength=shown + 1)[1 : shown + 1]
        colour = looks[label].colour
        if own.any():
            axes.stairs(own / own.sum(), edges, fill=True, facecolor=(colour, 0.35), label=f"_{label}")
        known = table[k, :shown]
        axes.plot(np.arange(known.size) + 1, known, color=colour, marker=".", linewidth=1.6, label=label)
    label_axes(axes, "How long each state lasts", "duration in time steps", "probability")
    count_along(axes)
    axes.set_xlim(0.5, shown + 0.5)
    axes.set_ylim(bottom=0.0)
    said = ["Lines: distributions of the model.", f"Areas: shares of {counted(int(state.size), 'decoded segment')}."]
    return finish(axes, look, said)
