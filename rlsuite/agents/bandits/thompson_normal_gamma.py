"""Thompson sampling where neither the mean nor the variance of an arm is known."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import positive
from rlsuite.agents.bandits.thompson import Draw, Posterior, ThompsonSampling
from rlsuite.agents.exploration import NO_ACTION, choose
from rlsuite.agents.memory import Memory, count
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


class NormalGammaTables(NamedTuple):
    """A normal-gamma distribution for mean and precision of every arm; the mean of the means is stored in Q."""

    draw: Draw
    kappa: NDArray[np.float64]  # (n_states, n_arms)
    alpha: NDArray[np.float64]  # (n_states, n_arms)
    beta: NDArray[np.float64]  # (n_states, n_arms)


@compiled(in_place=True)
def _draw(memory: Memory, state: int, arm: int, rng: np.random.Generator) -> float:
    """Draw tau ~ Gamma(alpha, rate beta), then a mean ~ Normal(mu, 1 / (kappa tau))."""
    mean: float = memory.q[state, arm]
    shape: float = memory.learned.alpha[state, arm]
    rate: float = memory.learned.beta[state, arm]
    tau = rng.gamma(shape, 1.0 / rate)
    # tau may have underflowed to 0
    return rng.normal(mean, 1.0 / math.sqrt(memory.learned.kappa[state, arm] * max(tau, 1e-300)))


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """With d = r - mu: beta += kappa d^2 / (2 (kappa + 1)), mu += d / (kappa + 1), kappa += 1, alpha += 1/2."""
    kappa = memory.learned.kappa[t.state, t.action]
    distance = t.reward - memory.q[t.state, t.action]
    memory.learned.beta[t.state, t.action] += 0.5 * kappa * distance * distance / (kappa + 1.0)
    memory.learned.alpha[t.state, t.action] += 0.5
    memory.learned.kappa[t.state, t.action] = kappa + 1.0
    memory.q[t.state, t.action] += distance / (kappa + 1.0)
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class ThompsonNormalGamma(ThompsonSampling):
    """Thompson sampling for normal arms of unknown variance, with a normal-gamma prior.

    The precision tau of an arm has a gamma distribution with shape alpha and rate beta; its mean, given tau, is normal
    with precision kappa tau (Murphy 2007, section 3). So the means that are drawn have heavy tails until an arm is
    known well.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    initial_value : float
        Prior mean of the mean of every arm.
    kappa : float
        Number of rewards that the prior mean counts as, greater than 0.
    alpha, beta : float
        Shape and rate of the prior of the precision, greater than 0: 2 alpha rewards with the variance beta / alpha.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Posterior mean of each arm.
    kappa_, alpha_, beta_ : ndarray of float64, shape (n_states, n_arms)
        The posterior's other parameters.
    posterior_ : scipy.stats.t
        The distribution of the mean of each arm, with `mean`, `interval` and `cdf` of shape (n_states, n_arms).

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.ThompsonNormalGamma().learn(bandit([0.0, 1.0], std=0.5).to_env(), steps=2_000, seed=7)
    >>> bool(agent.visits_[0, 1] > 1_900)
    True
    """

    initial_value: float = 0.0
    kappa: float = 1.0
    alpha: float = 1.0
    beta: float = 1.0

    step: ClassVar[Step] = _step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kappa = positive("kappa", self.kappa)
        self.alpha, self.beta = positive("alpha", self.alpha), positive("beta", self.beta)

    def tables(self, n_states: int, n_actions: int) -> NormalGammaTables:
        """Make the prior of every arm."""
        kappa, alpha, beta = (np.full((n_states, n_actions), prior) for prior in (self.kappa, self.alpha, self.beta))
        return NormalGammaTables(_draw, kappa, alpha, beta)

    @property
    def posterior_(self) -> Posterior:
        """Student's distribution of the mean of every arm, its precision averaged out (Murphy 2007, section 3)."""
        from scipy import stats

        scale = np.sqrt(self.beta_ / (self.alpha_ * self.kappa_))
        return cast("Posterior", stats.t(2.0 * self.alpha_, self.q_, scale))
