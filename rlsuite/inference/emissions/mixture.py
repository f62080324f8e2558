"""Mixtures: each hidden state draws a component, and the component draws the observation (R89 section IV.A)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference import dirichlet
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.emissions.gaussian import LEAST_VARIANCE, Gaussian, MultivariateGaussian
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray


class MixturePrior(NamedTuple):
    """A prior for the parts of a mixture."""

    weights: dirichlet.PseudoCounts = None
    """how often every component is taken to have been drawn before: a number, or (K, C)"""
    components: object = None
    """the prior of the components' family"""


@dataclass(frozen=True, eq=False)
class Mixture(Emission):
    """A mixture of C distributions of one family for each of K states; see also `gaussian_mixture`.

    Parameters
    ----------
    weights : array_like (K, C)
        Probability of each component; each row sums to 1 within 1e-8.
    components : Emission
        A family of K C distributions; those of state k have the numbers k C to k C + C - 1.

    Raises
    ------
    ModelError
        If a row is not a distribution, or the number of components is another one.

    Examples
    --------
    >>> from rlsuite.inference.emissions.poisson import Poisson
    >>> calls = Mixture([[0.5, 0.5], [1.0, 0.0]], Poisson([1.0, 9.0, 4.0, 4.0]))
    >>> table, shift = calls.likelihoods(calls.check([0, 4, 9]))
    >>> (table * np.exp(shift)[:, np.newaxis]).round(4).tolist()
    [[0.184, 0.0183], [0.0245, 0.1954], [0.0659, 0.0132]]
    """

    weights: FloatArray
    components: Emission

    parameter_names: ClassVar[tuple[str, ...]] = ("weights", "components")

    def __post_init__(self) -> None:
        weights = validation.floats("weights", self.weights)
        if weights.ndim != 2 or 0 in weights.shape:
            raise ModelError(f"weights has shape {weights.shape}, not (K, C)")
        for k, row in enumerate(weights):
            validation.distribution(f"weights[k={k}]", row)
        if self.components.n_states != weights.size:
            raise ModelError(f"there are {self.components.n_states} components, not K C = {weights.size}")
        object.__setattr__(self, "weights", validation.frozen(weights, self.weights))

    @property
    def discrete(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] - that of the components
        """Whether observations are whole numbers."""
        return self.components.discrete

    @property
    def n_states(self) -> int:
        """K."""
        return self.weights.shape[0]

    @property
    def width(self) -> int:
        """D."""
        return self.components.width

    @property
    def n_parameters(self) -> int:
        """Those of the components, and of each row of weights the number of positive ones less one."""
        return self.components.n_parameters + int(np.count_nonzero(self.weights)) - self.n_states

    @property
    def collapsed(self) -> tuple[int, ...]:
        """The states with a component that `fit_weighted` could not make as narrow as the observations asked for."""
        return tuple(sorted({component // self.weights.shape[1] for component in self.components.collapsed}))

    def freezable(self) -> frozenset[str]:
        """Return "weights", "components", and the names of the components' parameters."""
        return super().freezable() | self.components.freezable()

    def n_free(self, frozen: AbstractSet[str]) -> int:
        """Return the number of parameters that learning changes."""
        weights = 0 if "weights" in frozen else self.n_parameters - self.components.n_parameters
        return weights + (0 if "components" in frozen else self.components.n_free(frozen))

    def check(self, z: ArrayLike) -> AnyArray:
        """Return observations as the components take them."""
        return self.components.check(z)

    def missing(self, z: AnyArray) -> BoolArray:
        """Return which observations are missing altogether: (T,) bool."""
        return self.components.missing(z)

    def log_likelihoods(self, z: AnyArray) -> FloatArray:
        """Return the logarithms of the weighted sums of the components' likelihoods, in nats."""
        logs = self._summed(z)[1]
        logs[self.missing(z)] = 0.0  # the weights sum to 1 up to rounding
        return logs

    def distinct(self, z: AnyArray) -> tuple[AnyArray, IndexArray]:
        """Return the different ones, as the components distinguish them."""
        return self.components.distinct(z)

    def sample(self, states: IndexArray, rng: np.random.Generator) -> AnyArray:
        """Draw one observation for each of the hidden states (T,)."""
        bound = np.cumsum(self.weights, axis=1)[states]
        drawn = (rng.random((len(states), 1)) * bound[:, -1:] >= bound).sum(axis=1)
        size = self.weights.shape[1]
        last = size - 1 - np.argmax(self.weights[:, ::-1] > 0.0, axis=1)
        return self.components.sample(states * size + np.minimum(drawn, last[states]), rng)

    def fit_weighted(
        self,
        z: AnyArray,
        weights: FloatArray,
        prior: object = None,
        frozen: AbstractSet[str] = frozenset(),
    ) -> Self:
        """Return the parameters that fit the components' shares in each observation best (R89 eqs. 52-54).

        One step of expectation maximisation: it cannot lower the weighted likelihood, but need not reach its maximum.
        """
        assert prior is None or isinstance(prior, MixturePrior)
        share = self._summed(z)[0]
        share *= weights[:, :, np.newaxis]
        share[self.missing(z)] = 0.0
        rows, components = self.weights, self.components
        if "weights" not in frozen:
            pseudo = np.zeros(rows.shape) if prior is None else np.asarray(prior.weights, dtype=np.float64)
            rows = dirichlet.most_probable(share.sum(axis=0), pseudo, rows)
        if "components" not in frozen:
            inner = None if prior is None else prior.components
            components = components.fit_weighted(z, share.reshape(len(z), -1), inner, frozen)
        return type(self)(rows, components)

    def resolve_prior(self, prior: object, z: AnyArray) -> MixturePrior | None:
        """Return a `MixturePrior`; a single number applies to both of its parts."""
        if prior is None:
            return None
        if not isinstance(prior, MixturePrior):
            number = cast("float", prior)
            if isinstance(prior, str) or np.ndim(number) != 0:
                raise ParameterError(f"prior={prior!r} is neither a number nor a MixturePrior")
            prior = MixturePrior(number, prior)
        return MixturePrior(
            dirichlet.pseudo_counts("prior.weights", prior.weights, self.weights),
            self.components.resolve_prior(prior.components, z),
        )

    def log_prior(self, prior: object) -> float:
        """Return the logarithm of the prior's density, in nats."""
        assert prior is None or isinstance(prior, MixturePrior)
        if prior is None:
            return 0.0
        weights = np.asarray(prior.weights, dtype=np.float64)
        return dirichlet.log_density(self.weights, weights) + self.components.log_prior(prior.components)

    def randomized(self, z: AnyArray, rng: np.random.Generator) -> Self:
        """Return random weights, and components as their family draws them."""
        drawn = rng.exponential(size=self.weights.shape) * (self.weights > 0.0)
        return type(self)(drawn / drawn.sum(axis=1, keepdims=True), self.components.randomized(z, rng))

    def arrays(self) -> Mapping[str, object]:
        """Return the weights and the arguments of the components, for files."""
        return {"weights": self.weights, "components": self.components}

    def _summed(self, z: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return Pr[c | z, k] (T, K, C), 0 where z is impossible, and ln Pr[z | k] (T, K)."""
        joint = self.components.log_likelihoods(z).reshape(len(z), *self.weights.shape)
        with np.errstate(divide="ignore"):
            joint += np.log(self.weights)
        high = joint.max(axis=2)
        high[high == -np.inf] = 0.0
        share = np.exp(joint - high[:, :, np.newaxis], out=joint)
        total = share.sum(axis=2)
        share /= np.where(total > 0.0, total, 1.0)[:, :, np.newaxis]
        with np.errstate(divide="ignore"):
            return share, high + np.log(total)


@says_what_to_write
def gaussian_mixture(
    weights: ArrayLike,
    mean: ArrayLike,
    variance: ArrayLike | None = None,
    *,
    covariance: ArrayLike | None = None,
    least_variance: float = LEAST_VARIANCE,
) -> Mixture:
    """Return mixtures of C normal distributions, one for each of K states.

    Parameters
    ----------
    weights : array_like (K, C)
        Probability of each component.
    mean : array_like (K, C) or (K, C, D)
        Means of the components.
    variance : array_like (K, C) or (K, C, D), optional
        Variances of independent coordinates.
    covariance : array_like (K, C, D, D), optional
        Covariances, instead of variances.
    least_variance : float
        As in `Gaussian` and `MultivariateGaussian`.

    Raises
    ------
    ModelError
        If shapes do not fit, or a parameter is out of range.
    ParameterError
        Unless exactly one of `variance` and `covariance` is given.

    Examples
    --------
    >>> two_peaks = gaussian_mixture([[0.5, 0.5], [1.0, 0.0]], [[-3, 3], [0, 0]], [[1, 1], [1, 1]])
    >>> two_peaks.n_states, two_peaks.n_parameters
    (2, 9)
    """
    rows = validation.floats("weights", weights)
    centres = validation.floats("mean", mean)
    if rows.ndim != 2 or centres.ndim not in (2, 3) or centres.shape[:2] != rows.shape:
        raise ModelError(f"mean has shape {centres.shape} and weights {rows.shape}, not (K, C, D) and (K, C)")
    centres = centres.reshape(rows.size, -1)
    if (variance is None) == (covariance is None):
        raise ParameterError("give either variance or covariance")
    if variance is not None:
        spread = validation.floats("variance", variance)
        validation.shape("variance", spread, np.shape(mean), meaning="that of mean")
        return Mixture(rows, Gaussian(centres, spread.reshape(rows.size, -1), least_variance))
    assert covariance is not None
    matrices = validation.floats("covariance", covariance)
    width = centres.shape[1]
    validation.shape("covariance", matrices, (*rows.shape, width, width))
    return Mixture(rows, MultivariateGaussian(centres, matrices.reshape(-1, width, width), least_variance))
