"""Thompson sampling: draw a mean for every arm from its posterior, and pull the arm whose draw is largest.

So every arm is pulled with the posterior probability that it is the best (Thompson 1933). The priors are conjugate:
a reward changes two or four numbers per arm, and the posterior stays in its family.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.agents.bandits.bandit import Bandit, no_closed_form, positive
from rlsuite.agents.exploration import NO_ACTION, ExplorationRule, choose, is_legal
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import UNUSED
from rlsuite.core.aliases import Observation
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.core.declared import Array
from rlsuite.training.kernels import Step, Transition

LEAST = 1e-6
"""Least parameter of a Beta distribution: with two that are much smaller, and with negative ones, a draw never ends."""

Draw = Compiled[[Any, int, int, np.random.Generator], float]


class Posterior(Protocol):
    """A distribution of SciPy with fixed parameters, over arrays (n_states, n_arms): the methods in use here."""

    def mean(self) -> NDArray[np.float64]:
        """Return the means."""
        ...

    def var(self) -> NDArray[np.float64]:
        """Return the variances."""
        ...

    def interval(self, confidence: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of the intervals with this probability, half of the rest on either side."""
        ...

    def ppf(self, q: float) -> NDArray[np.float64]:
        """Return the quantiles of one probability."""
        ...

    def pdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the densities."""
        ...


@compiled(in_place=True)
def _largest_draw(memory: Memory, state: int, first: float, second: float, rng: np.random.Generator) -> int:
    """argmax_a of one draw for each legal arm."""
    best = -np.inf
    choice = NO_ACTION
    for arm in range(memory.legal.shape[1]):
        if is_legal(memory, state, arm):
            drawn = memory.learned.draw(memory, state, arm, rng)
            if drawn > best or choice == NO_ACTION:
                best = drawn
                choice = arm
    return choice


@dataclass(eq=False, kw_only=True)
class ThompsonSampling(Bandit):
    """Base of the Thompson samplers: `tables` returns a NamedTuple with the field ``draw``."""

    @property
    def posterior_(self) -> Posterior:
        """What is known of the mean of every arm: a distribution of SciPy over arrays (n_states, n_arms).

        Its `mean`, `std`, `interval`, `cdf`, `pdf` and `rvs` are those of all arms at once. SciPy is imported when
        it is first asked for.

        Raises
        ------
        NotLearned
            Before the first `learn`.

        Examples
        --------
        Four heads in seven throws (lecture notes, general 8.1.1):

        >>> import rlsuite as rl
        >>> from rlsuite_envs.bandits import bandit
        >>> agent = rl.ThompsonBernoulli().learn(bandit([0.5], kind="bernoulli").to_env(), steps=7, seed=1)
        >>> agent.alpha_[:], agent.beta_[:] = 1 + 4, 1 + 3
        >>> low, high = agent.posterior_.interval(0.95)
        >>> print(f"{agent.posterior_.mean()[0, 0]:.3f} [{low[0, 0]:.3f}, {high[0, 0]:.3f}]")
        0.556 [0.245, 0.843]
        """
        raise NotImplementedError

    def update(self, arm: int, reward: ArrayLike, observation: Observation | None = None) -> Self:
        """Learn from rewards that came from elsewhere than an environment; `posterior_` is then the new one.

        Parameters
        ----------
        arm : int
            The arm that was pulled, as the environment calls it.
        reward : float or array_like (n,)
            What it paid, once or n times; each counts as an episode of one step.
        observation : object, optional
            The state whose arm it was; by default the first.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If there is no such state or arm, or a reward is not finite, or not one that these arms can pay.

        Examples
        --------
        >>> import rlsuite as rl
        >>> from rlsuite_envs.bandits import bandit
        >>> agent = rl.ThompsonBernoulli().learn(bandit([0.5], kind="bernoulli").to_env(), steps=1, seed=1)
        >>> before = agent.posterior_.mean()[0, 0]
        >>> bool(agent.update(0, [1, 1, 1]).posterior_.mean()[0, 0] > before)
        True
        """
        memory = self.memory_
        state = 0 if observation is None else self.row_of(observation)
        first, n_arms = self.first_action_, memory.legal.shape[1]
        chosen = whole_number("arm", arm, at_least=first) - first
        if chosen >= n_arms or not memory.legal[state, chosen]:
            raise errors.ParameterError(f"arm={arm} is not one of the arms {first}..{first + n_arms - 1} of this state")
        rewards = [finite_number("reward", one) for one in np.ravel(np.asarray(reward)).tolist()]
        low, high = cast("tuple[float, float]", self.expected_rewards or (-np.inf, np.inf))
        for one in rewards:
            if not low <= one <= high:
                raise errors.ParameterError(f"reward={one:g} lies outside [{low:g}, {high:g}], what these arms pay")
        for one in rewards:
            type(self).step(memory, Transition(state, chosen, one, state, True, False), self.generator_)
        return self

    def rule(self) -> ExplorationRule:
        """The arm with the largest draw."""
        return ExplorationRule(_largest_draw, no_closed_form, UNUSED, UNUSED)


class BetaTables(NamedTuple):
    """A Beta distribution for the mean of every arm."""

    draw: Draw
    alpha: Annotated[NDArray[np.float64], Array(at_least=LEAST)]  # (n_states, n_arms)
    beta: Annotated[NDArray[np.float64], Array(at_least=LEAST)]  # (n_states, n_arms)


@compiled(in_place=True)
def _beta_draw(memory: Memory, state: int, arm: int, rng: np.random.Generator) -> float:
    alpha: float = memory.learned.alpha[state, arm]
    beta: float = memory.learned.beta[state, arm]
    return rng.beta(alpha, beta)


@compiled(in_place=True)
def _beta_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """alpha(a) <- alpha(a) + 1 after a success, beta(a) <- beta(a) + 1 after a failure."""
    alpha, beta = memory.learned.alpha, memory.learned.beta
    success = rng.random() < t.reward if 0.0 < t.reward < 1.0 else t.reward >= 1.0
    if success:
        alpha[t.state, t.action] += 1.0
    else:
        beta[t.state, t.action] += 1.0
    memory.q[t.state, t.action] = alpha[t.state, t.action] / (alpha[t.state, t.action] + beta[t.state, t.action])
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class ThompsonBernoulli(ThompsonSampling):
    """Thompson sampling for Bernoulli arms with a Beta prior (Thompson 1933; Agrawal & Goyal 2012, Algorithms 1 and 2).

    Its regret grows like C ln t with the least constant that is possible (Kaufmann, Korda & Munos 2012). A reward
    between 0 and 1 is a success with itself as the probability, which keeps the guarantees for all rewards in [0, 1];
    what lies outside counts as the end that is nearer.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    alpha, beta : float
        Numbers of successes and failures that the prior counts as, at least 1e-6; 1 and 1 is the uniform prior.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Posterior mean of each arm.
    alpha_, beta_ : ndarray of float64, shape (n_states, n_arms)
        The posterior: Beta(alpha, beta).
    posterior_ : scipy.stats.beta
        The same as a distribution, with `mean`, `interval` and `cdf` of shape (n_states, n_arms).

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Warns
    -----
    RewardWarning
        Once by `learn`, if the environment has rewards outside the range that is expected.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.ThompsonBernoulli().learn(bandit([0.2, 0.8], kind="bernoulli").to_env(), steps=2_000, seed=7)
    >>> bool(agent.visits_[0, 1] > 1_950)
    True
    """

    alpha: float = 1.0
    beta: float = 1.0

    step: ClassVar[Step] = _beta_step
    expected_rewards = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.alpha, self.beta = positive("alpha", self.alpha, LEAST), positive("beta", self.beta, LEAST)
        self.initial_value = self.alpha / (self.alpha + self.beta)

    def tables(self, n_states: int, n_actions: int) -> BetaTables:
        """Make the prior of every arm."""
        shape = (n_states, n_actions)
        return BetaTables(_beta_draw, np.full(shape, self.alpha), np.full(shape, self.beta))

    @property
    def posterior_(self) -> Posterior:
        """Beta(alpha, beta) of every arm."""
        from scipy import stats

        return cast("Posterior", stats.beta(self.alpha_, self.beta_))


class NormalTables(NamedTuple):
    """A normal distribution for the mean of every arm; its mean is stored in Q."""

    draw: Draw
    precision: NDArray[np.float64]  # (n_states, n_arms), 1 / variance of the mean
    noise: float  # variance of a reward about the mean


@compiled(in_place=True)
def _normal_draw(memory: Memory, state: int, arm: int, rng: np.random.Generator) -> float:
    mean: float = memory.q[state, arm]
    return rng.normal(mean, 1.0 / math.sqrt(memory.learned.precision[state, arm]))


@compiled(in_place=True)
def _normal_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """lambda(a) <- lambda(a) + 1 / sigma^2; mu(a) <- mu(a) + (r - mu(a)) / (sigma^2 lambda(a))."""
    memory.learned.precision[t.state, t.action] += 1.0 / memory.learned.noise
    gain = 1.0 / (memory.learned.noise * memory.learned.precision[t.state, t.action])
    memory.q[t.state, t.action] += gain * (t.reward - memory.q[t.state, t.action])
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class ThompsonNormal(ThompsonSampling):
    """Thompson sampling for normal arms of known variance, with a normal prior.

    After n rewards with mean x the posterior of an arm is normal with precision 1 / prior_std^2 + n / std^2, and its
    mean is that of `initial_value` and x, weighted by these two terms (Murphy 2007, section 2; lecture notes, section
    on Gaussian posteriors, in the corrected form).

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    initial_value : float
        Mean of the prior.
    prior_std : float
        Standard deviation of the prior, greater than 0.
    std : float
        Standard deviation of the rewards of every arm, greater than 0.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Posterior mean of each arm.
    precision_ : ndarray of float64, shape (n_states, n_arms)
        Posterior precision (one over the variance) of the mean of each arm.
    posterior_ : scipy.stats.norm
        The same as a distribution, with `mean`, `interval` and `cdf` of shape (n_states, n_arms).

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.ThompsonNormal().learn(bandit([0.0, 1.0]).to_env(), steps=2_000, seed=7)
    >>> bool(agent.visits_[0, 1] > 1_900)
    True
    """

    initial_value: float = 0.0
    prior_std: float = 1.0
    std: float = 1.0

    step: ClassVar[Step] = _normal_step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.prior_std, self.std = positive("prior_std", self.prior_std), positive("std", self.std)

    def tables(self, n_states: int, n_actions: int) -> NormalTables:
        """Make the prior of every arm."""
        return NormalTables(_normal_draw, np.full((n_states, n_actions), self.prior_std**-2), self.std**2)

    @property
    def posterior_(self) -> Posterior:
        """The normal distribution of the mean of every arm."""
        from scipy import stats

        return cast("Posterior", stats.norm(self.q_, self.precision_**-0.5))
