"""LinUCB: upper confidence bounds for rewards that are linear in features (Li, Chu, Langford & Schapire 2010)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import not_negative
from rlsuite.agents.bandits.index_policy import IndexPolicy, Level
from rlsuite.agents.bandits.linear import LinearBandit, predict, row_of
from rlsuite.agents.exploration import NO_ACTION, Score, choose
from rlsuite.agents.memory import Memory, count
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


class RidgeTables(NamedTuple):
    """Ridge regressions: inverse matrices and weights."""

    score: Score
    level: Level
    features: NDArray[np.float64]  # (n_states, F, d)
    inverse: NDArray[np.float64]  # (M, d, d), of A = ridge I + sum x x'
    weights: NDArray[np.float64]  # (M, d)


class RidgeScratch(NamedTuple):
    """A buffer for one vector, and the weight of the uncertainty."""

    product: NDArray[np.float64]  # (d,)
    alpha: float


@compiled(in_place=True)
def _uncertainty(memory: Memory, state: int, arm: int) -> float:
    """Return x' A^-1 x; the product A^-1 x is left in the scratch."""
    features, inverse, product = memory.learned.features, memory.learned.inverse, memory.scratch.product
    row, model = row_of(arm, features.shape[1]), row_of(arm, inverse.shape[0])
    total = 0.0
    for i in range(product.size):
        product[i] = 0.0
        for j in range(product.size):
            product[i] += inverse[model, i, j] * features[state, row, j]
        total += features[state, row, i] * product[i]
    return total


@compiled(in_place=True)
def _index(memory: Memory, state: int, arm: int, unused: float) -> float:
    """Optimistic mean x . w + alpha sqrt(x' A^-1 x); rounding may bring a small square below 0."""
    spread = math.sqrt(max(_uncertainty(memory, state, arm), 0.0))
    return predict(memory, memory.learned.weights, state, arm) + memory.scratch.alpha * spread


@compiled(in_place=True)
def _no_level(memory: Memory, state: int) -> float:
    return 0.0


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """A^-1 <- A^-1 - u u' / (1 + x . u) with u = A^-1 x (Sherman & Morrison); w <- w + u (r - x . w) / (1 + x . u)."""
    inverse, weights, product = memory.learned.inverse, memory.learned.weights, memory.scratch.product
    model = row_of(t.action, weights.shape[0])
    gain = 1.0 / (1.0 + _uncertainty(memory, t.state, t.action))
    error = t.reward - predict(memory, weights, t.state, t.action)
    for i in range(product.size):
        weights[model, i] += gain * error * product[i]
        for j in range(product.size):
            inverse[model, i, j] -= gain * (product[i] * product[j])  # in this order the matrix stays symmetric
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class LinUCB(LinearBandit, IndexPolicy):
    """LinUCB with weights for each arm (Li et al. 2010, Algorithm 1), or for all arms together (Chu et al. 2011).

    The index of an arm is x . w + alpha sqrt(x' A^-1 x), where w is the ridge regression of the rewards on the
    features and A = ridge I + sum x x'. With one-hot features this is a mean with `ridge` rewards of 0 added, plus
    alpha / sqrt(ridge + N).

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    features : array_like (n_states, d) or (n_states, n_arms, d), optional
        Describe the states, and each arm has weights of its own; or describe each state with each arm, and all arms
        share their weights. By default every state is its own feature (one-hot).
    ridge : float
        Weight of the squared length of the weights in the regression, greater than 0: 1 in the paper.
    alpha : float
        Weight of the uncertainty, in units of the reward, at least 0.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Estimated mean rewards x . w.
    weights_ : ndarray of float64, shape (n_arms, d) or (1, d)
        The regressions.
    inverse_ : ndarray of float64, shape (n_arms, d, d) or (1, d, d)
        The matrices A^-1.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import numpy as np, rlsuite as rl
    >>> from rlsuite_envs.bandits import contextual_bandit
    >>> position = np.linspace(0.0, 1.0, 20)  # of each state: one arm is the better, the further to the right
    >>> env = contextual_bandit(np.stack([position, 1.0 - position], axis=1), std=0.1).to_env()
    >>> agent = rl.LinUCB(features=np.stack([np.ones(20), position], axis=1)).learn(env, steps=2_000, seed=7)
    >>> bool((agent.policy()[:, 0] == (position > 0.5)).all())
    True
    """

    alpha: float = 1.0

    step: ClassVar[Step] = _step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.alpha = not_negative("alpha", self.alpha)

    def tables(self, n_states: int, n_actions: int) -> RidgeTables:
        """Make the regressions before any data."""
        features, n_models = self.layout(n_states, n_actions)
        width = features.shape[2]
        inverse = np.tile(np.eye(width) / self.ridge, (n_models, 1, 1))
        return RidgeTables(_index, _no_level, features, inverse, np.zeros((n_models, width)))

    def scratch(self, n_states: int, n_actions: int) -> RidgeScratch:
        """Make a buffer for one vector."""
        width = n_states if self.features is None else np.asarray(self.features).shape[-1]
        return RidgeScratch(np.zeros(width), self.alpha)
