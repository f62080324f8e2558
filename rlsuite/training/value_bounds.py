"""What the value of no policy can be below or above: the values of the worst and of the best policy of a model."""

import math
import warnings
from typing import Final

import numpy as np

from rlsuite import errors, planning
from rlsuite.core.arithmetic import weighted_sum
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.models import MDP, POMDP
from rlsuite.planning.operators import Lookahead, bellman
from rlsuite.training.expected_rewards import reward_limits
from rlsuite.training.results import UNKNOWN, Bounds

MOST_BACKUPS: Final = 10**8
"""Transitions that may be backed up for the exact bounds of the undiscounted return; a second, at most."""


def value_bounds(model: MDP | POMDP) -> Bounds:
    """Bounds of the discounted value of every policy, at the model's own discount below 1; hidden states are shown.

    Examples
    --------
    >>> import rlsuite as rl
    >>> low, high = value_bounds(rl.MDP.from_env("CliffWalking-v1", gamma=0.9))
    >>> round(low, 6), round(high, 6)  # down the cliff at every step; straight along it
    (-1000.0, -7.458134)
    """
    mdp = model.mdp if isinstance(model, POMDP) else model
    if mdp is not model and not mdp.legal.all():
        return UNKNOWN  # an action that the hidden state does not allow earns nothing, which may be better or worse
    ends: list[float] = []
    for one in (_worst(mdp), mdp):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.ConvergenceWarning)  # the error bound says how far it may be
            solution = planning.solve(one)
        ends.append(solution.value_at_start + solution.error_bound)
    return Bounds(-ends[0], ends[1])


def return_bounds(model: MDP | POMDP, limit: int) -> Bounds:
    """Bounds of the undiscounted return that an episode with this time limit has on average, whatever the policy.

    Exact where backward induction over the episode takes a second at most; otherwise as many of the least and of the
    greatest reward as the episode may have steps.

    Examples
    --------
    >>> import rlsuite as rl
    >>> cliff = rl.MDP.from_env("CliffWalking-v1", gamma=1.0)
    >>> return_bounds(cliff, 200)
    Bounds(low=-20000.0, high=-13.0)
    >>> return_bounds(cliff, 5)
    Bounds(low=-500.0, high=-5.0)
    """
    mdp = model.mdp if isinstance(model, POMDP) else model
    if mdp is not model and not mdp.legal.all():
        return UNKNOWN
    if limit != NO_LIMIT and (exact := _of_episodes(mdp, limit)) is not None:
        return exact
    steps = math.inf if limit == NO_LIMIT else limit
    least, most = reward_limits(model)
    return Bounds(least if least >= 0.0 else least * steps, most if most <= 0.0 else most * steps)


def _of_episodes(mdp: MDP, limit: int) -> Bounds | None:
    """The exact bounds, by backward induction until nothing changes; None if that takes too many backups."""
    ends: list[float] = []
    for one in (_worst(mdp), mdp):
        lookahead = Lookahead(one.replace(gamma=1.0))
        value = np.zeros(mdp.n_states)
        most = min(limit, MOST_BACKUPS // max(1, mdp.probability.size))
        for _ in range(most):
            before, value = value, bellman(lookahead, value)
            if np.array_equal(before, value):
                break
        else:
            if most < limit:
                return None
        ends.append(weighted_sum(mdp.start, value))
    return Bounds(-ends[0], ends[1])


def _worst(mdp: MDP) -> MDP:
    """The model whose best policy is the worst of `mdp`."""
    return mdp.replace(reward=-mdp.reward, reward_std=None, bernoulli=None)
