"""Thompson sampling for rewards that are linear in features (Agrawal & Goyal 2013).

The posterior of the weights is normal with mean w and covariance v^2 A^-1. The Cholesky factor L of A = L L' is what is
kept: it takes a new row of features in d^2 steps, and w + v L'^-1 z is a draw if z is standard normal.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import no_closed_form, not_negative
from rlsuite.agents.bandits.linear import LinearBandit, predict, row_of
from rlsuite.agents.exploration import NO_ACTION, ExplorationRule, argmax, choose, is_legal
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import UNUSED
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


class PosteriorTables(NamedTuple):
    """Normal distributions of weights: means, and Cholesky factors of the precision (but for the scale v)."""

    features: NDArray[np.float64]  # (n_states, F, d)
    factor: NDArray[np.float64]  # (M, d, d), lower triangular L with L L' = A = ridge I + sum x x'
    weights: NDArray[np.float64]  # (M, d)


class PosteriorScratch(NamedTuple):
    """The weights drawn, a buffer for one vector, and the scale of the draws."""

    drawn: NDArray[np.float64]  # (M, d)
    vector: NDArray[np.float64]  # (d,)
    v: float


@compiled(in_place=True)
def _add_row(factor: NDArray[np.float64], model: int, x: NDArray[np.float64]) -> None:
    """L L' <- L L' + x x', by one Givens rotation for each column; x is used up."""
    for k in range(x.size):
        if x[k] == 0.0:
            continue
        length = math.hypot(factor[model, k, k], x[k])
        cosine, sine = factor[model, k, k] / length, x[k] / length
        factor[model, k, k] = length
        for i in range(k + 1, x.size):
            below = factor[model, i, k]
            factor[model, i, k] = cosine * below + sine * x[i]
            x[i] = cosine * x[i] - sine * below


@compiled(in_place=True)
def _solve_lower(factor: NDArray[np.float64], model: int, y: NDArray[np.float64]) -> None:
    """Solve y <- L^-1 y."""
    for i in range(y.size):
        for j in range(i):
            y[i] -= factor[model, i, j] * y[j]
        y[i] /= factor[model, i, i]


@compiled(in_place=True)
def _solve_upper(factor: NDArray[np.float64], model: int, y: NDArray[np.float64]) -> None:
    """Solve y <- L'^-1 y."""
    for i in range(y.size - 1, -1, -1):
        y[i] /= factor[model, i, i]
        for j in range(i):
            y[j] -= factor[model, i, j] * y[i]


@compiled(in_place=True)
def _draw(memory: Memory, model: int, rng: np.random.Generator) -> None:
    """Draw w + v L'^-1 z with z standard normal."""
    drawn, vector = memory.scratch.drawn, memory.scratch.vector
    for i in range(vector.size):
        vector[i] = rng.standard_normal()
    _solve_upper(memory.learned.factor, model, vector)
    for i in range(vector.size):
        drawn[model, i] = memory.learned.weights[model, i] + memory.scratch.v * vector[i]


@compiled(in_place=True)
def _drawn_value(memory: Memory, state: int, arm: int, unused: float) -> float:
    return predict(memory, memory.scratch.drawn, state, arm)


@compiled(in_place=True)
def _choice(memory: Memory, state: int, first: float, second: float, rng: np.random.Generator) -> int:
    """argmax_a x . (drawn weights); what no legal arm asks for is not drawn."""
    n_models = memory.scratch.drawn.shape[0]
    for model in range(n_models):
        if n_models == 1 or is_legal(memory, state, model):
            _draw(memory, model, rng)
    return argmax(_drawn_value, memory, state, 0.0, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """A <- A + x x'; w <- w + A^-1 x (r - x . w)."""
    features, factor, weights = memory.learned
    vector = memory.scratch.vector
    row, model = row_of(t.action, features.shape[1]), row_of(t.action, weights.shape[0])
    error = t.reward - predict(memory, weights, t.state, t.action)
    for i in range(vector.size):
        vector[i] = features[t.state, row, i]
    _add_row(factor, model, vector)
    for i in range(vector.size):
        vector[i] = features[t.state, row, i]
    _solve_lower(factor, model, vector)
    _solve_upper(factor, model, vector)
    for i in range(vector.size):
        weights[model, i] += error * vector[i]
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class LinearThompson(LinearBandit):
    """Thompson sampling with linear payoffs (Agrawal & Goyal 2013, Algorithm 1).

    Weights are drawn from a normal distribution with the mean w of the ridge regression and the covariance v^2 A^-1,
    A = ridge I + sum x x', and the arm with the largest x . w is pulled. With v the standard deviation of the rewards
    this is the posterior of the weights under the prior N(0, v^2 / ridge); the paper's guarantee asks for
    v = R sqrt(9 d ln(T / delta)), which is more cautious than one would be in practice.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    features : array_like (n_states, d) or (n_states, n_arms, d), optional
        Describe the states, and each arm has weights of its own; or describe each state with each arm, and all arms
        share their weights, as in the paper. By default every state is its own feature (one-hot).
    ridge : float
        Weight of the squared length of the weights in the regression, greater than 0: 1 in the paper.
    v : float
        Scale of the draws, in units of the reward, at least 0.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Estimated mean rewards x . w.
    weights_ : ndarray of float64, shape (n_arms, d) or (1, d)
        The means of the posteriors.
    factor_ : ndarray of float64, shape (n_arms, d, d) or (1, d, d)
        Lower triangular Cholesky factors of A.

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
    >>> features = np.stack([np.ones(20), position], axis=1)
    >>> agent = rl.LinearThompson(features=features, v=0.1).learn(env, steps=2_000, seed=7)
    >>> bool((agent.policy()[:, 0] == (position > 0.5)).all())
    True
    """

    v: float = 1.0

    step: ClassVar[Step] = _step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.v = not_negative("v", self.v)

    def rule(self) -> ExplorationRule:
        """The arm that is best under weights drawn from the posterior."""
        return ExplorationRule(_choice, no_closed_form, UNUSED, UNUSED)

    def tables(self, n_states: int, n_actions: int) -> PosteriorTables:
        """Make the prior."""
        features, n_models = self.layout(n_states, n_actions)
        width = features.shape[2]
        factor = np.tile(np.eye(width) * math.sqrt(self.ridge), (n_models, 1, 1))
        return PosteriorTables(features, factor, np.zeros((n_models, width)))

    def scratch(self, n_states: int, n_actions: int) -> PosteriorScratch:
        """Make the buffers for the draws."""
        features, n_models = self.layout(n_states, n_actions)
        width = features.shape[2]
        return PosteriorScratch(np.zeros((n_models, width)), np.zeros(width), self.v)
