"""A reward for observations that are unlike all that is known, by any density model of scikit-learn."""

from typing import Any, Protocol, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from rlsuite.core.aliases import Action, Env, Info, Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number
from rlsuite.errors import ParameterError, UnsuitableEnvironment


class Density(Protocol):
    """An estimator of scikit-learn that learns a density: `GaussianMixture`, `PCA`, `KernelDensity`, ..."""

    def fit(self, X: NDArray[np.float64], /) -> Any:
        """Learn from observations (n, d)."""
        ...

    def score_samples(self, X: NDArray[np.float64], /) -> NDArray[np.float64]:
        """Return the logarithm of the density at each of n observations."""
        ...


class NoveltyBonus(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Adds a reward to each step whose observation is novel: less likely than known ones are.

    What is known is described by a density: a mixture of Gaussians, or probabilistic principal components (`PCA`). The
    loss of an observation is minus the logarithm of its density; it is novel if its loss is above mean + standard
    deviation of the losses of the known observations (lecture notes, section 8.3).

    It is a reward, unlike the bonus of `rlsuite.CountBonus`: an observation is as novel for one action as for another,
    so it cannot tell actions apart at the choice. Agents learn stepwise with it. Evaluate what was learned in the
    environment without it.

    Parameters
    ----------
    env : gymnasium.Env
        Its observations are vectors or images (Box).
    density : estimator
        With `fit` and `score_samples`, as many of scikit-learn have; it is fitted here.
    known : array_like (n, d) or (n, ...)
        Observations, n at least 2.
    bonus : float
        What a step to a novel observation is rewarded with, in the unit of the rewards.

    Attributes
    ----------
    threshold : float
        The loss above which an observation is novel, in nats.

    Raises
    ------
    UnsuitableEnvironment
        If the observations are not vectors.
    ParameterError
        If the estimator has not both methods, the known observations have another size, or a number is not finite.

    Examples
    --------
    A car that has been seen in the valley is rewarded for speeds and positions that it has not reached yet:

    >>> import gymnasium, rlsuite as rl
    >>> from sklearn.mixture import GaussianMixture
    >>> known = rl.approximation.Batch.collect("MountainCar-v0", episodes=2, seed=1).observation
    >>> env = rl.NoveltyBonus(gymnasium.make("MountainCar-v0"), GaussianMixture(2, random_state=0), known, bonus=0.5)
    >>> bool(env.is_novel([-0.5, 0.0])), bool(env.is_novel([0.3, 0.05]))
    (False, True)
    """

    def __init__(self, env: Env, density: Density, known: ArrayLike, bonus: float = 1.0) -> None:
        RecordConstructorArgs.__init__(self, density=density, known=known, bonus=bonus)
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, spaces.Box):
            raise UnsuitableEnvironment(
                f"NoveltyBonus needs observations that are vectors, got {space}; wrap ids in VectorObservation first"
            )
        if not all(callable(getattr(density, name, None)) for name in ("fit", "score_samples")):
            raise ParameterError(
                f"density={type(density).__name__} has not both fit and score_samples, as scikit-learn's "
                "GaussianMixture, PCA and KernelDensity have"
            )
        self.density, self.bonus = density, finite_number("bonus", bonus)
        self._size = int(np.prod(space.shape))
        self.fit(known)

    def fit(self, known: ArrayLike) -> None:
        """Describe again what is known, for instance by all that was observed since."""
        seen = np.asarray(known, dtype=np.float64)
        seen = seen.reshape(len(seen), -1) if seen.ndim > 1 else seen
        if seen.ndim != 2 or len(seen) < 2 or seen.shape[1] != self._size:
            raise ParameterError(f"known has shape {seen.shape}, needed (n, {self._size}) with n at least 2")
        if not np.isfinite(seen).all():
            raise ParameterError("known holds a number that is not finite")
        self.density.fit(seen)
        losses = self._losses(seen)
        self.threshold = float(losses.mean() + losses.std())

    def is_novel(self, observation: Observation) -> bool:
        """Whether the loss of an observation is above `threshold`."""
        return bool(self._losses(np.asarray(observation, dtype=np.float64).reshape(1, -1))[0] > self.threshold)

    def step(self, action: Action) -> tuple[Observation, SupportsFloat, bool, bool, Info]:
        """Step, and add the bonus; ``info["novelty"]`` says what was added."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        added = self.bonus if self.is_novel(observation) else 0.0
        return observation, float(reward) + added, terminated, truncated, {**info, "novelty": added}

    def _losses(self, observations: NDArray[np.float64]) -> NDArray[np.float64]:
        losses = -np.asarray(self.density.score_samples(observations), dtype=np.float64)
        if losses.shape != (len(observations),) or np.isnan(losses).any():
            raise ParameterError(
                f"{type(self.density).__name__}.score_samples must give {len(observations)} numbers, one for each "
                f"observation, and no NaN; it gave an array of shape {losses.shape}"
            )
        return losses
