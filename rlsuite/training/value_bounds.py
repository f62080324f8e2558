"""What the value of no policy can be below or above: the values of the worst and of the best policy of a model.

Beside them stands the value of the uniform policy, which says how much there is to learn.
"""

import math
import warnings
from typing import Final

import numpy as np

from rlsuite import errors, planning
from rlsuite.core.arithmetic import weighted_sum
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.models import MDP, POMDP
from rlsuite.planning.operators import Lookahead, bellman
from rlsuite.training.expected_rewards import return_limits
from rlsuite.training.results import UNKNOWN, Bounds

MOST_BACKUPS: Final = 10**8
"""Transitions that may be backed up for the exact bounds of the undiscounted return; a second, at most."""


def value_bounds(model: MDP | POMDP) -> Bounds:
    """Bounds of the discounted value of every policy, at the model's own discount below 1; hidden states are shown.

    Examples
    --------
    >>> import rlsuite as rl
    >>> low, high, uniform = value_bounds(rl.MDP.from_env("CliffWalking-v1", gamma=0.9))
    >>> round(low, 6), round(high, 6), round(uniform, 1)  # down the cliff at every step; straight along it; at random
    (-1000.0, -7.458134, -150.9)
    """
    mdp = model.mdp if isinstance(model, POMDP) else model
    if mdp is not model and not mdp.legal.all():
        return UNKNOWN  # an action that the hidden state does not allow earns nothing, which may be better or worse
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ConvergenceWarning)  # the error bound says how far it may be
        worst, best = planning.solve(_worst(mdp)), planning.solve(mdp)
    low, high = -worst.value_at_start - worst.error_bound, best.value_at_start + best.error_bound
    return Bounds(low, high, _of_uniform(mdp, mdp.gamma))


def return_bounds(model: MDP | POMDP, limit: int) -> Bounds:
    """Bounds of the undiscounted return that an episode with this time limit has on average, whatever the policy.

    Exact where backward induction over the episode takes a second at most; otherwise as many of the least and of the
    greatest reward as the episode may have steps.

    Examples
    --------
    >>> import rlsuite as rl
    >>> cliff = rl.MDP.from_env("CliffWalking-v1", gamma=1.0)
    >>> return_bounds(cliff, 200)[:2]
    (-20000.0, -13.0)
    >>> return_bounds(cliff, 5)[:2]
    (-500.0, -5.0)
    """
    mdp = model.mdp if isinstance(model, POMDP) else model
    if mdp is not model and not mdp.legal.all():
        return UNKNOWN
    if limit == NO_LIMIT:
        return return_limits(model, math.inf)
    found = _of_episodes(mdp, limit) or return_limits(model, limit)
    return found._replace(uniform=_of_uniform(mdp, 1.0, limit))


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


def _of_uniform(mdp: MDP, gamma: float, horizon: int | None = None) -> float:
    """The value of the policy that takes all legal actions alike."""
    policy = mdp.legal / np.maximum(1, mdp.legal.sum(axis=1, keepdims=True))
    return planning.PolicyEvaluator(mdp, gamma, horizon=horizon)(policy)


def _worst(mdp: MDP) -> MDP:
    """The model whose best policy is the worst of `mdp`."""
    return mdp.replace(reward=-mdp.reward, reward_std=None, bernoulli=None)
