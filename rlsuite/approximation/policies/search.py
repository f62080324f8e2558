"""The base of all policy searches: propose candidates, evaluate each, and learn from their returns.

No gradient and no value is estimated; a policy is a vector of parameters with a score, the mean return of a few
episodes. All candidates of an iteration play the same episodes - with the same seeds, that is - so that their
differences depend less on chance.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, cast

import gymnasium
import joblib
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from rlsuite import errors
from rlsuite.approximation.batch.rollout import LONGEST, returns_of
from rlsuite.approximation.policies.linear_policy import LinearPolicy, ParametricPolicy
from rlsuite.core.checks import fraction, whole_number
from rlsuite.core.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.environments.finding import find_env

# joblib has no type annotations
_joblib: Any = joblib


@dataclass(eq=False, kw_only=True)
class PolicySearch(SaysWhatToWrite):
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
        self.episodes = whole_number("episodes", self.episodes)
        self.gamma = fraction("gamma", self.gamma)
        self.max_steps = whole_number("max_steps", self.max_steps)
        missing = [name for name in ("for_env", "with_parameters", "act") if not hasattr(self.policy, name)]
        if missing:
            raise errors.ParameterError(
                f"policy={self.policy!r} has no {missing[0]}; give a LinearPolicy, or an object with for_env(env), "
                "parameters, with_parameters(parameters) and act(observation)"
            )
        self._scores: list[NDArray[np.float64]] = []
        self._asked_for: Any = None

    def begin(self, n_parameters: int) -> None:
        """Make the search's arrays beside the parameters; called once, before the first iteration."""

    def propose(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the parameters of the candidates to try, shape (candidates, n_parameters)."""
        raise NotImplementedError

    def improve(self, tried: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
        """Update `parameters_` (and other arrays), given the scores (candidates,) of the candidates."""
        raise NotImplementedError

    @says_what_to_write
    def learn(
        self,
        env: str | gymnasium.Env[Any, Any],
        *,
        iterations: int,
        seed: int | None = None,
        workers: int = 1,
        progress: bool = False,
    ) -> Self:
        """Search for good parameters, and return self.

        Called again without a seed on the same environment, it goes on where it stopped: two halves give the bytes of
        the whole. With a seed, or on another environment, it begins at the parameters found so far.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``module:Id``, ``file.py:Class``, or an instance, which is copied and left as it is.
        iterations : int
            How often candidates are tried.
        seed : int, optional
            Source of all randomness; drawn and kept in ``seed_`` if not given.
        workers : int
            Processes in which candidates play (joblib's; its ``parallel_config`` chooses others). The result is the
            same for any number of them.
        progress : bool
            Show a progress bar.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        EnvironmentNotFound
            If `env` leads to none.
        UnsuitableEnvironment
            If the policy cannot act in it.
        LearningError
            If the environment pays a reward that is not a finite number; what was found until then is kept.
        """
        whole_number("iterations", iterations)
        whole_number("workers", workers)
        if seed is not None or env is not self._asked_for:
            self._start(env, seed)
        with _joblib.Parallel(n_jobs=workers) as pool:
            for _ in tqdm(range(iterations), unit="iteration", disable=not progress):
                tried = self.propose(self._rng)
                scores = self._play(pool, tried, draw_seed(self._rng))
                self.improve(tried, scores)
                self._policy = self._policy.with_parameters(self.parameters_)
                self._scores.append(scores)
        return self

    def _start(self, env: str | gymnasium.Env[Any, Any], seed: int | None) -> None:
        if seed is not None:
            whole_number("seed", seed, at_least=0)
        self._env = find_env(env)
        sized = self.policy.for_env(self._env)
        if "parameters_" not in vars(self):
            self._policy, self.parameters_ = sized, np.array(sized.parameters, dtype=np.float64)
            self.begin(self.parameters_.size)
        elif sized.parameters.size != self.parameters_.size:
            raise errors.UnsuitableEnvironment(
                f"this {type(self).__name__} has learned {self.parameters_.size} parameters; the environment needs "
                f"{sized.parameters.size}. Use a new {type(self).__name__} for it"
            )
        sequence = np.random.SeedSequence(seed)
        self.seed_ = cast(int, sequence.entropy)
        self._rng = np.random.default_rng(sequence)
        self._asked_for = env

    def _play(self, pool: Any, tried: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
        """Mean return of each candidate, shape (candidates,)."""
        policies = (self._policy.with_parameters(parameters) for parameters in tried)
        settings = (self.episodes, seed, self.gamma, self.max_steps)
        scores: list[float] = list(pool(_joblib.delayed(score)(self._env, each.act, *settings) for each in policies))
        return np.array(scores)

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

    def act(self, observation: Any) -> Any:
        """Return the action of the policy found so far.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        """
        return self.policy_.act(observation)


def draw_seed(rng: np.random.Generator) -> int:
    """Draw a seed for a separate generator."""
    return int(rng.integers(0, 2**31))


def score(
    env: gymnasium.Env[Any, Any],
    act: Callable[[Any], Any],
    episodes: int,
    seed: int,
    gamma: float,
    max_steps: int,
) -> float:
    """Mean return of a policy on a copy of an environment."""
    earned = returns_of(copy.deepcopy(env), act, episodes=episodes, seed=seed, gamma=gamma, max_steps=max_steps)
    return float(earned.mean())
