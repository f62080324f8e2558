"""Densities of what an agent believes about its arms."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Final, Unpack

import numpy as np

from rlsuite.core.aliases import Observation
from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import CURVE_SIZE, AxesKeywords, dress_curves, finish, open_axes, takes_look
from rlsuite.plotting.style import Palette, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.agents.bandits.thompson import ThompsonSampling

CREDIBLE: Final = 0.95
"""Probability of the shaded interval."""

SHARES: Final = (0.0005, 0.002, 0.005, *(n / 200 for n in range(2, 199)), 0.995, 0.998, 0.9995)
"""A curve goes through these quantiles, so the peak of a narrow one is not missed beside a wide one."""


@takes_look
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
    dress_curves(ax, type(agent).__name__, "mean reward", "density")
    return finish(ax, look, said)
