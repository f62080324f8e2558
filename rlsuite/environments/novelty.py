"""A reward for observations that are unlike all that is known, by any density model of scikit-learn.

It is the keyword ``novelty`` of every environment that is made by name: a number is the bonus, and a table has the
parameters of `NoveltyBonus`.
"""

from collections.abc import Mapping
from numbers import Real
from typing import Any, Protocol, SupportsFloat, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from rlsuite.core.aliases import Action, Env, Info, Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.described import Plain
from rlsuite.core.keywords import CallError
from rlsuite.core.named_estimators import made, named_class
from rlsuite.environments.facts import action_space_of
from rlsuite.environments.layers import layers_of
from rlsuite.errors import ParameterError, UnsuitableEnvironment

FIRST = 1_000
"""Observations of random actions that are known, if nothing else is said."""


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
    so it cannot tell actions apart at the choice. Agents learn stepwise with it. Episodes are recorded with it;
    evaluations that a run makes (``evaluate_every=``) are without it, and so should be your own.

    Parameters
    ----------
    env : gymnasium.Env
        Its observations are vectors or images (Box).
    density : estimator, optional
        With `fit` and `score_samples`, as many of scikit-learn have; it is fitted here. Also its name,
        ``module:Class``, or a table of its name and parameters. By default a mixture of four Gaussians.
    known : array_like (n, d) or (n, ...), or int
        Observations, n at least 2. A number stands for those of as many random actions, which a reset with a seed, as
        at the beginning of a run, takes first.
    bonus : float
        What a step to a novel observation is rewarded with, in the unit of the rewards.

    Attributes
    ----------
    threshold : float
        The loss above which an observation is novel, in nats; infinite until something is known.

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

    def __init__(
        self,
        env: Env,
        density: Density | str | Plain | None = None,
        known: ArrayLike | int = FIRST,
        bonus: float = 1.0,
    ) -> None:
        RecordConstructorArgs.__init__(self, density=density, known=known, bonus=bonus)
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, spaces.Box):
            raise UnsuitableEnvironment(
                f"NoveltyBonus needs observations that are vectors, got {space}; of ids, observe='cell' or "
                "VectorObservation makes vectors"
            )
        self.density: Any = _density(density)
        if not all(callable(getattr(self.density, name, None)) for name in ("fit", "score_samples")):
            raise ParameterError(
                f"density={type(self.density).__name__} has not both fit and score_samples, as scikit-learn's "
                "GaussianMixture, PCA and KernelDensity have"
            )
        self.bonus, self.threshold = finite_number("bonus", bonus), np.inf
        self._size = int(np.prod(space.shape))
        self._first = whole_number("known", known, at_least=2) if isinstance(known, int) else 0
        if not isinstance(known, int):
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

    def reset(self, *, seed: int | None = None, options: Plain | None = None) -> tuple[Observation, Info]:
        """Reset; with a seed, and if `known` is a number, look at the environment first."""
        if self._first and self.bonus and (seed is not None or np.isinf(self.threshold)):
            from rlsuite.features.learned import set_open_seeds  # loads scikit-learn

            set_open_seeds(self.density, np.random.default_rng(seed or 0))
            self.fit(self._seen_at_random(seed or 0))
        return self.env.reset(seed=seed, options=options)

    def _seen_at_random(self, seed: int) -> NDArray[np.float64]:
        """Observations (n, d) of random actions, of those that ``info["action_mask"]`` allows."""
        rng, actions = np.random.default_rng(seed), action_space_of(self.env)
        observation, info = self.env.reset(seed=seed)
        seen = np.zeros((self._first, self._size))
        for i in range(self._first):
            seen[i] = np.ravel(np.asarray(observation, dtype=np.float64))
            legal = np.flatnonzero(np.asarray(info.get("action_mask", np.ones(int(actions.n)))))
            action = int(rng.choice(legal)) + int(actions.start)
            observation, _, terminated, truncated, info = self.env.step(action)
            if terminated or truncated:
                observation, info = self.env.reset()
        return seen

    def is_novel(self, observation: Observation) -> bool:
        """Whether the loss of an observation is above `threshold`; none is before something is known."""
        return self.threshold < np.inf and bool(
            self._losses(np.asarray(observation, dtype=np.float64).reshape(1, -1))[0] > self.threshold
        )

    def step(self, action: Action) -> tuple[Observation, SupportsFloat, bool, bool, Info]:
        """Step, and add the bonus; ``info["novelty"]`` says what was added."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        added = self.bonus if self.bonus and self.is_novel(observation) else 0.0
        return observation, float(reward) + added, terminated, truncated, {**info, "novelty": added}

    def _losses(self, observations: NDArray[np.float64]) -> NDArray[np.float64]:
        losses = -np.asarray(self.density.score_samples(observations), dtype=np.float64)
        if losses.shape != (len(observations),) or np.isnan(losses).any():
            raise ParameterError(
                f"{type(self.density).__name__}.score_samples must give {len(observations)} numbers, one for each "
                f"observation, and no NaN; it gave an array of shape {losses.shape}"
            )
        return losses


def _density(given: Density | str | Plain | None) -> Any:
    """The estimator that is given, or named."""
    if given is None:
        from rlsuite.features.estimators import scikit_learn

        return scikit_learn("mixture").GaussianMixture(4)
    if not isinstance(given, str | dict):
        return given
    table: dict[str, Any] = {"name": given} if isinstance(given, str) else dict(given)
    name = table.pop("name", None)
    if not isinstance(name, str):
        raise ParameterError(f"density={given!r} has no name, such as 'sklearn.mixture:GaussianMixture'")
    return made(named_class(name), name, table, named_class)


def rewarding_novelty(env: Env, novelty: object) -> NoveltyBonus:
    """Return an environment with a bonus: a number, or a table of the parameters of `NoveltyBonus`.

    Raises
    ------
    ParameterError, UnsuitableEnvironment
        As `NoveltyBonus`; or if it is neither, or the table has other parameters.

    Examples
    --------
    >>> import gymnasium
    >>> env = rewarding_novelty(gymnasium.make("MountainCar-v0"), {"bonus": 0.5, "known": 100})
    >>> env.reset(seed=1)[0].shape, env.threshold < 0.0
    ((2,), True)
    """
    if isinstance(novelty, Mapping):
        try:
            return NoveltyBonus(env, **cast("dict[str, Any]", novelty))
        except (TypeError, CallError) as error:
            raise ParameterError(f"novelty={novelty!r}: {error}") from error
    if isinstance(novelty, bool) or not isinstance(novelty, Real):
        raise ParameterError(
            f"novelty={novelty!r} must be the bonus, a number such as 0.5, or a table such as "
            "{'bonus': 0.5, 'density': 'sklearn.decomposition:PCA', 'known': 1000}"
        )
    return NoveltyBonus(env, bonus=float(novelty))


def without_bonus(env: Env) -> Env:
    """The same environment, which rewards no novelty any more."""
    for layer in layers_of(env):
        if isinstance(layer, NoveltyBonus):
            layer.bonus = 0.0
    return env
