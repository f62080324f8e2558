"""Policy searches: propose candidates, evaluate each by its mean return, and learn from these scores.

No gradient and no value is estimated; a policy is a vector of parameters theta with a score, the mean return of a few
episodes. All candidates of an iteration play the same episodes - with the same seeds, that is - so that their
differences depend less on chance.

**Random perturbations**, the lecture notes' way to learn a robot's gait (Kohl & Stone 2004). From the parameters theta
come k candidates R_i = theta + delta_i; each delta_ij is -epsilon_j, 0 or +epsilon_j, all three equally likely. Each
candidate has a score F(R_i). Then

- either the best candidate is the new policy: theta <- R_i*, i* = argmax_i F(R_i);
- or all candidates count: theta <- theta + eta A / ||A||, where A_j compares the mean scores of the candidates with
  +epsilon_j, with 0 and with -epsilon_j; it is 0 where the zeros have done best, and the difference of the outer two
  elsewhere.

The notes print t candidates in one place and k in the other, and leave open what a mean over no candidates is and what
A / ||A|| is where A is 0. Here their number is `candidates`; a group without candidates takes no part in the
comparison, and a direction that is 0 moves nothing.

**The cross-entropy method**: parameters are drawn from independent normal distributions; the share of them with the
highest scores, the elite, gives the mean and standard deviation of the next ones. The method is named after the
cross-entropy to the distribution of the elite, which this choice minimises (Rubinstein 1999; de Boer et al. 2005). The
variance often shrinks before the best parameters are found. Noise added to the variance prevents that (Szita & Lorincz
2006, who learned Tetris in this way): a constant, or one that falls to 0.
"""

import json
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.schedules import Schedule, as_schedule
from rlsuite.approximation.experience import Experience, Iterative, draw_seed
from rlsuite.approximation.policies.linear_policy import LinearPolicy, ParametricPolicy, play
from rlsuite.approximation.workers import Workers
from rlsuite.core.aliases import Action, Env
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fraction, positive_number, whole_amount, whole_number
from rlsuite.core.described import Plain, describe
from rlsuite.core.files import replacing
from rlsuite.core.npz import Npz
from rlsuite.training.episodes import LONGEST

FORMAT: Final = "rlsuite policy search 1"


@dataclass(eq=False, kw_only=True)
class PolicySearch(Iterative):
    """Base of the searches: subclasses propose candidates and update the parameters from their scores.

    Parameters
    ----------
    policy : ParametricPolicy
        What is searched for: a `LinearPolicy`, or anything of your own with its four methods.
    candidates : int
        Policies that are tried in each iteration.
    episodes : int
        Episodes that each of them plays.
    gamma : float
        Discount per step of the returns, in [0, 1].
    max_steps : int
        Steps after which an episode is cut off.

    Attributes
    ----------
    policy_ : ParametricPolicy
        The policy found so far.
    parameters_ : ndarray of float64, shape (n_parameters,)
        Its parameters.
    scores_ : ndarray of float64, shape (n_iterations, candidates)
        Mean return of each candidate of each iteration.
    """

    policy: ParametricPolicy = field(default_factory=LinearPolicy)
    candidates: int = 20
    episodes: int = 1
    gamma: float = 1.0
    max_steps: int = LONGEST

    def __post_init__(self) -> None:
        self.candidates = whole_number("candidates", self.candidates)
        self.episodes = whole_amount("episodes", self.episodes)
        self.gamma = fraction("gamma", self.gamma)
        self.max_steps = whole_amount("max_steps", self.max_steps)
        missing = [name for name in ("for_env", "with_parameters", "act") if not hasattr(self.policy, name)]
        if missing:
            raise errors.ParameterError(
                f"policy={self.policy!r} has no {missing[0]}; give a LinearPolicy, or an object with for_env(env), "
                "parameters, with_parameters(parameters) and act(observation)"
            )
        self._scores: list[NDArray[np.float64]] = []
        super().__post_init__()

    def begin(self, n_parameters: int) -> None:
        """Make the search's arrays beside the parameters; called once, before the first iteration."""

    def propose(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the parameters of the candidates to try, shape (candidates, n_parameters)."""
        raise NotImplementedError

    def improve(self, tried: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
        """Update `parameters_` (and other arrays), given the scores (candidates,) of the candidates."""
        raise NotImplementedError

    @classmethod
    def is_complete(cls) -> bool:
        """Whether the class proposes candidates; base classes do not."""
        return cls.propose is not PolicySearch.propose

    def evaluated(self) -> ParametricPolicy:
        """The policy found so far."""
        return self._policy

    def iterate(self, pool: Workers, run: Experience | None) -> None:
        """Try candidates, and improve, if the run has time for all they play."""
        most = self.max_steps if run is None or run.left is None else min(self._ahead + run.left, self.max_steps)
        state = self._rng.bit_generator.state
        tried = self.propose(self._rng)
        policies = (self._policy.with_parameters(parameters) for parameters in tried)
        settings = self.episodes, draw_seed(self._rng), self.gamma, most
        played = pool.call(play, ((self._env, each.act, *settings) for each in policies))
        with self.noted(run, [each.rewards for each in played], [each.ends for each in played], state) as all_noted:
            if all_noted:
                scores = np.array([each.score for each in played])
                self.improve(tried, scores)
                self._policy = self._policy.with_parameters(self.parameters_)
                self._scores.append(scores)

    def start(self, made: Env, seed: int) -> None:
        """Size the policy."""
        self._env = made
        has_learned = "parameters_" in vars(self)
        known = self._policy if has_learned else self.policy
        seeded = {"seed": seed} if isinstance(known, LinearPolicy) else {}
        sized = known.for_env(self._env, **seeded)
        if not has_learned:
            self._policy, self.parameters_ = sized, np.array(sized.parameters, dtype=np.float64)
            self.begin(self.parameters_.size)
        elif sized.parameters.size != self.parameters_.size:
            raise errors.UnsuitableEnvironment(
                f"this {type(self).__name__} has learned {self.parameters_.size} parameters; the environment needs "
                f"{sized.parameters.size}. Use a new {type(self).__name__} for it"
            )

    @property
    def policy_(self) -> ParametricPolicy:
        """The policy found so far."""
        if "parameters_" not in vars(self):
            raise errors.NotLearned(f"this {type(self).__name__} has not learned yet; call learn(env, iterations=...)")
        return self._policy

    @property
    def scores_(self) -> NDArray[np.float64]:
        """Mean return of each candidate of each iteration so far, shape (n_iterations, candidates)."""
        return np.array(self._scores).reshape(-1, self.candidates)

    def act(self, observation: object, action_mask: ArrayLike | None = None) -> Action:
        """Return the action of the policy found so far, one that a mask (n_actions,) of the legal actions allows.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        """
        return self.policy_.act(observation) if action_mask is None else self.policy_.act(observation, action_mask)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the parameters, those of the policy and the scores to an .npz file; `rlsuite.load` reads it.

        The search itself is not kept: a loaded one begins a new run at the parameters found.

        Raises
        ------
        NotLearned
            If there is nothing to save yet.
        ParameterError
            If the policy is not a `LinearPolicy`, or its features are not a `FeatureMap`.
        FileError
            If the file cannot be written.
        """
        policy = self.policy_
        if not isinstance(policy, LinearPolicy):
            raise errors.ParameterError(f"a {type(policy).__name__} cannot be saved; only a LinearPolicy can")
        header = {"format": FORMAT, "agent": describe(self), "seed": str(self.seed_)}
        arrays: dict[str, Any] = {f"policy.{name}": array for name, array in policy.kept().items()}
        arrays |= {"scores": self.scores_, "spread": getattr(self, "std_", np.zeros(0))}
        with replacing(path) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)

    def restore_file(self, header: Plain, arrays: Npz) -> None:
        """Restore what `save` has written.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or is not what the search needs.
        """
        if header["format"] != FORMAT or not isinstance(self.policy, LinearPolicy):
            raise ValueError(f"its format is {header['format']!r}, not {FORMAT!r}")
        self._policy = self.policy.restored(arrays)
        self.parameters_ = self._policy.parameters
        self.begin(self.parameters_.size)
        scores = arrays.take("scores", np.dtype(np.float64), ndim=2)
        spread = arrays.take("spread", np.dtype(np.float64), np.shape(getattr(self, "std_", np.zeros(0))))
        if scores.shape[1] != self.candidates or not (np.isfinite(scores).all() and np.isfinite(spread).all()):
            raise ValueError("its scores are not finite numbers, one for each candidate")
        self._scores, self.seed_ = list(scores), int(header["seed"])
        if spread.size:
            vars(self)["std_"] = spread


@dataclass(eq=False, kw_only=True)
class PerturbationSearch(PolicySearch):
    """Move to the best of a few random perturbations (the notes' "easiest case").

    The best candidate is taken whether or not it is better than what it was made from: under chance a single lucky
    score would otherwise hold the search for ever. Of equally good ones that which was moved least is taken, so that
    the search comes to rest where all is well.

    Parameters
    ----------
    policy : ParametricPolicy
        What is searched for: a `LinearPolicy`, or anything of your own with its four methods.
    candidates : int
        Perturbations that are tried in each iteration.
    episodes : int
        Episodes that each of them plays.
    gamma : float
        Discount per step of the returns, in [0, 1].
    max_steps : int
        Steps after which an episode is cut off.
    epsilon : float or array (n_parameters,)
        How far each parameter is moved, above 0.

    Attributes
    ----------
    policy_ : ParametricPolicy
        The policy found so far.
    parameters_ : ndarray of float64, shape (n_parameters,)
        Its parameters.
    scores_ : ndarray of float64, shape (n_iterations, candidates)
        Mean return of each candidate of each iteration.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> search = PerturbationSearch(epsilon=0.5).learn("CartPole-v1", iterations=5, seed=7)
    >>> search.scores_.shape, bool(search.scores_[-1].max() > 2 * search.scores_[0].mean())
    ((5, 20), True)
    """

    epsilon: "float | ArrayLike" = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        for one in np.ravel(np.asarray(self.epsilon, dtype=object)):
            if positive_number("epsilon", one) == np.inf:
                raise errors.ParameterError("epsilon=inf is not a finite number")

    def begin(self, n_parameters: int) -> None:
        """Check that there is one epsilon, or one for each parameter."""
        size = np.shape(np.asarray(self.epsilon))
        if size not in ((), (n_parameters,)):
            raise errors.ParameterError(
                f"epsilon has shape {size}; give one number, or one for each of the {n_parameters} parameters"
            )

    def propose(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Perturb the parameters: (candidates, n_parameters)."""
        signs = rng.integers(-1, 2, size=(self.candidates, self.parameters_.size))
        return self.parameters_ + signs * np.asarray(self.epsilon, dtype=np.float64)

    def improve(self, tried: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
        """Take the best; of equal scores, the first that was moved least."""
        best = tried[scores == scores.max()]
        moved = np.linalg.norm(best - self.parameters_, axis=1)
        self.parameters_ = best[moved.argmin()]


@dataclass(eq=False, kw_only=True)
class PerturbationGradient(PerturbationSearch):
    """Move in the direction given by the mean scores of random perturbations (Kohl & Stone 2004, table 1).

    Parameters
    ----------
    policy : ParametricPolicy
        What is searched for: a `LinearPolicy`, or anything of your own with its four methods.
    candidates : int
        Perturbations that are tried in each iteration; a mean needs some of each sign: a dozen or more.
    episodes : int
        Episodes that each of them plays.
    gamma : float
        Discount per step of the returns, in [0, 1].
    max_steps : int
        Steps after which an episode is cut off.
    epsilon : float or array (n_parameters,)
        How far each parameter is moved, above 0.
    step_length : float
        Euclidean length of a step in the space of parameters (the notes' eta), above 0.

    Attributes
    ----------
    policy_ : ParametricPolicy
        The policy found so far.
    parameters_ : ndarray of float64, shape (n_parameters,)
        Its parameters.
    scores_ : ndarray of float64, shape (n_iterations, candidates)
        Mean return of each candidate of each iteration.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> search = PerturbationGradient(epsilon=0.2, step_length=0.5).learn("CartPole-v1", iterations=5, seed=7)
    >>> bool(search.scores_[-1].mean() > 2 * search.scores_[0].mean())
    True
    """

    step_length: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if positive_number("step_length", self.step_length) == np.inf:
            raise errors.ParameterError("step_length=inf is not a finite number")

    def improve(self, tried: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
        """Take a step of the given length along A; none if A is 0."""
        signs = np.sign(tried - self.parameters_).astype(np.int64)
        direction = compared(signs, scores)
        length = np.linalg.norm(direction)
        if length > 0.0:
            self.parameters_ = self.parameters_ + self.step_length * direction / length


def compared(signs: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A_j of each parameter, from the signs (candidates, n_parameters) of its perturbations and the scores they had.

    0 where the mean score of the candidates with sign 0 exceeds those of both others; else the mean of the positive
    less the mean of the negative ones. 0 where one of these two groups is empty: one side alone says nothing of the
    slope. If only the group of the zeros is empty, the other two decide.

    Examples
    --------
    >>> compared(np.array([[-1, 1], [0, 1], [1, 0]]), np.array([1.0, 5.0, 4.0])).tolist()
    [0.0, 0.0]
    >>> compared(np.array([[-1, 1], [0, -1], [1, 1]]), np.array([1.0, 2.0, 4.0])).tolist()
    [3.0, 0.5]
    """
    sizes = np.stack([(signs == sign).sum(axis=0) for sign in (-1, 0, 1)])
    sums = np.stack([scores @ (signs == sign) for sign in (-1, 0, 1)])
    lower, middle, upper = np.where(sizes > 0, sums / np.maximum(sizes, 1), -np.inf)
    stays = (sizes[0] == 0) | (sizes[2] == 0) | ((middle > lower) & (middle > upper))
    return np.where(stays, 0.0, upper - np.where(stays, 0.0, lower))


@dataclass(eq=False, kw_only=True)
class CrossEntropyMethod(PolicySearch):
    """Policy search by the cross-entropy method with noise (Szita & Lorincz 2006).

    The policy found is the mean of the cloud.

    Parameters
    ----------
    policy : ParametricPolicy
        What is searched for: a `LinearPolicy`, or anything of your own with its four methods.
    candidates : int
        Policies that are drawn in each iteration.
    episodes : int
        Episodes that each of them plays.
    gamma : float
        Discount per step of the returns, in [0, 1].
    max_steps : int
        Steps after which an episode is cut off.
    elite : float
        Share of the candidates that the next are drawn around, in (0, 1]; at least one candidate.
    spread : float
        Standard deviation that the first candidates are drawn with, around the policy's own parameters; above 0.
    noise : float or Schedule
        Added to the variances after each iteration, at least 0; a schedule counts iterations, with any unit.

    Attributes
    ----------
    policy_ : ParametricPolicy
        The policy found so far.
    parameters_ : ndarray of float64, shape (n_parameters,)
        Its parameters: the mean of the cloud.
    std_ : ndarray of float64, shape (n_parameters,)
        Standard deviation of the cloud.
    scores_ : ndarray of float64, shape (n_iterations, candidates)
        Mean return of each candidate of each iteration.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> search = CrossEntropyMethod().learn("CartPole-v1", iterations=3, seed=7)
    >>> bool(search.scores_[-1].mean() > 2 * search.scores_[0].mean())
    True
    """

    elite: float = 0.2
    spread: float = 1.0
    noise: float | Schedule = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if fraction("elite", self.elite) == 0.0:
            raise errors.ParameterError("elite=0 is not in (0, 1]")
        if positive_number("spread", self.spread) == np.inf:
            raise errors.ParameterError("spread=inf is not a finite number")
        self._noise = as_schedule("noise", self.noise, 0.0, np.inf)

    @property
    def n_elite(self) -> int:
        """Number of candidates in the elite."""
        return max(1, round(self.elite * self.candidates))

    def begin(self, n_parameters: int) -> None:
        """Set the initial distribution."""
        self.std_ = np.full(n_parameters, float(self.spread))

    def propose(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw from the distribution: (candidates, n_parameters)."""
        return rng.normal(self.parameters_, self.std_, size=(self.candidates, self.parameters_.size))

    def improve(self, tried: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
        """Fit the distribution to the elite; of equal scores the first count."""
        best = tried[np.argsort(-scores, kind="stable")[: self.n_elite]]
        self.parameters_ = best.mean(axis=0)
        self.std_ = np.sqrt(best.var(axis=0) + self._noise.at(len(self._scores)))
