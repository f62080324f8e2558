"""Hidden Markov models as scikit-learn's estimators: from data and a number of states, in pipelines and searches."""

from typing import Literal

import numpy as np

from rlsuite.core.checks import fits_in_memory, one_of, whole_number
from rlsuite.inference.emissions import Categorical, Gaussian, Mixture, MultivariateGaussian, Poisson, Product
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.hmm_estimator import HMMEstimator, Init, RandomState
from rlsuite.models.aliases import AnyArray, FloatArray

Covariance = Literal["diag", "full", "spherical", "tied"]
COVARIANCES: tuple[Covariance, ...] = ("diag", "full", "spherical", "tied")


class CategoricalHMM(HMMEstimator):
    """Hidden states that emit symbols: whole numbers from 0 on.

    Parameters
    ----------
    n_states : int
        K, the number of hidden states.
    n_symbols : int, optional
        Number of symbols of each column; by default one more than the largest that `fit` sees.
    n_init : int
        Number of starts, the most probable result of which is kept.
    init : {"kmeans", "random"}
        How the first of them begins: with clusters of the observations as hidden states, or at random as all others.
    max_iter : int
        Limit on the iterations from each start.
    tol : float
        The last iteration is the first that gains at most this many nats for each observation.
    prior : float, optional
        Added to all counts: what is maximised is then the likelihood times the density of a Dirichlet prior.
    random_state : int, Generator, RandomState or None
        Where random starts come from.

    Attributes
    ----------
    hmm_ : FittedHMM
        The model.
    start_, transition_ : ndarray (K,), (K, K) float64
        The Markov chain.
    probabilities_ : list of ndarray (K, M) float64
        Pr[symbol | hidden state], for each column; the columns are independent given the hidden state.
    converged_, n_iter_ : bool, int
        Whether the best start converged, and its iterations.

    Examples
    --------
    >>> import numpy as np
    >>> import rlsuite as rl
    >>> X = [[0], [0], [1], [0], [0], [1], [0], [0], [1], [0], [0]]
    >>> found = rl.CategoricalHMM(3, n_init=5, random_state=0).fit(X)
    >>> np.exp(found.score_samples([[0], [0], [1], [0]])).round(3).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    whole = True

    def __init__(
        self,
        n_states: int = 2,
        *,
        n_symbols: int | None = None,
        n_init: int = 1,
        init: Init = "random",
        max_iter: int = 1000,
        tol: float = 1e-6,
        prior: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            n_states,
            n_init=n_init,
            init=init,
            max_iter=max_iter,
            tol=tol,
            prior=prior,
            random_state=random_state,
        )
        self.n_symbols = n_symbols

    def check_parameters(self) -> None:
        """Raise `ParameterError` unless the parameters are valid; called by `fit`."""
        super().check_parameters()
        if self.n_symbols is not None:
            whole_number("n_symbols", self.n_symbols)

    @property
    def probabilities_(self) -> list[FloatArray]:
        """Pr[symbol | hidden state] of each column: (K, M) float64 each."""
        emission = self.hmm_.emission
        channels = emission.channels if isinstance(emission, Product) else [emission]
        return [channel.table for channel in channels if isinstance(channel, Categorical)]

    def _first_emission(self, X: AnyArray, rng: np.random.Generator) -> Emission:
        symbols = [self.n_symbols or int(column.max(initial=0)) + 1 for column in X.T]
        fits_in_memory(f"a table of {max(symbols)} symbols", 8 * self.n_states * max(symbols))
        tables = [Categorical(rng.dirichlet(np.ones(number), size=self.n_states)) for number in symbols]
        return tables[0] if len(tables) == 1 else Product(tables)

    def _handed(self, X: AnyArray) -> AnyArray:
        """Return observations as the emission takes them; it knows the symbols that `fit` has seen."""
        return X[:, 0] if X.shape[1] == 1 else X


class GaussianHMM(HMMEstimator):
    """Hidden states that emit normally distributed numbers or vectors.

    Parameters
    ----------
    n_states : int
        K, the number of hidden states.
    covariance_type : {"diag", "full", "spherical", "tied"}
        Independent coordinates, each with its variance; a covariance of each state; independent coordinates with one
        variance of each state; or one covariance of all states.
    least_variance : float
        No variance falls below this share of that of all observations.
    n_init, init, max_iter, tol, prior, random_state
        As for `CategoricalHMM`; the prior is a number of pseudo-observations.

    Attributes
    ----------
    hmm_ : FittedHMM
        The model.
    start_, transition_ : ndarray (K,), (K, K) float64
        The Markov chain.
    means_ : ndarray (K, d) float64
        Means, in the unit of the observations.
    covariances_ : ndarray (K, d, d) float64
        Covariances, whatever the type.
    converged_, n_iter_ : bool, int
        Whether the best start converged, and its iterations.

    Examples
    --------
    >>> import numpy as np
    >>> import rlsuite as rl
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([0.0, 5.0, 0.0], 50)[:, None] + rng.normal(size=(150, 1))
    >>> found = rl.GaussianHMM(2, random_state=0).fit(X)
    >>> np.sort(found.means_[:, 0]).round(1).tolist(), int((np.diff(found.predict(X)) != 0).sum())
    ([0.1, 5.0], 2)
    """

    def __init__(
        self,
        n_states: int = 2,
        *,
        covariance_type: Covariance = "diag",
        least_variance: float = 1e-6,
        n_init: int = 1,
        init: Init = "kmeans",
        max_iter: int = 1000,
        tol: float = 1e-6,
        prior: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            n_states,
            n_init=n_init,
            init=init,
            max_iter=max_iter,
            tol=tol,
            prior=prior,
            random_state=random_state,
        )
        self.covariance_type: Covariance = covariance_type
        self.least_variance = least_variance

    def check_parameters(self) -> None:
        """Raise `ParameterError` unless the parameters are valid; called by `fit`."""
        super().check_parameters()
        one_of("covariance_type", self.covariance_type, COVARIANCES)

    @property
    def means_(self) -> FloatArray:
        """(K, d) float64: the means."""
        emission = self.hmm_.emission
        assert isinstance(emission, Gaussian | MultivariateGaussian)
        return emission.mean

    @property
    def covariances_(self) -> FloatArray:
        """(K, d, d) float64: the covariances."""
        return _matrices(self.hmm_.emission)

    def _first_emission(self, X: AnyArray, rng: np.random.Generator) -> Emission:
        return _normal(X, self.n_states, self.covariance_type, self.least_variance, rng)


class MixtureHMM(GaussianHMM):
    """Hidden states that emit vectors from a mixture of normal distributions each.

    Parameters
    ----------
    n_states : int
        K, the number of hidden states.
    n_components : int
        C, the number of components of each.
    covariance_type, least_variance, n_init, init, max_iter, tol, prior, random_state
        As for `GaussianHMM`; tied is one covariance of all components of all states.

    Attributes
    ----------
    hmm_ : FittedHMM
        The model.
    weights_ : ndarray (K, C) float64
        Probability of each component in each hidden state.
    means_, covariances_ : ndarray (K, C, d), (K, C, d, d) float64
        Those of the components.

    Examples
    --------
    >>> import numpy as np
    >>> import rlsuite as rl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-3.0, 3.0], size=(200, 1)) + 20.0 * (np.arange(200) >= 100)[:, None] + rng.normal(size=(200, 1))
    >>> found = rl.MixtureHMM(2, n_components=2, random_state=0).fit(X)
    >>> found.means_.shape, int((np.diff(found.predict(X)) != 0).sum())
    ((2, 2, 1), 1)
    """

    def __init__(
        self,
        n_states: int = 2,
        *,
        n_components: int = 2,
        covariance_type: Covariance = "diag",
        least_variance: float = 1e-6,
        n_init: int = 1,
        init: Init = "kmeans",
        max_iter: int = 1000,
        tol: float = 1e-6,
        prior: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            n_states,
            covariance_type=covariance_type,
            least_variance=least_variance,
            n_init=n_init,
            init=init,
            max_iter=max_iter,
            tol=tol,
            prior=prior,
            random_state=random_state,
        )
        self.n_components = n_components

    def check_parameters(self) -> None:
        """Raise `ParameterError` unless the parameters are valid; called by `fit`."""
        super().check_parameters()
        whole_number("n_components", self.n_components)

    @property
    def weights_(self) -> FloatArray:
        """(K, C) float64: the probabilities of the components."""
        return self._mixture.weights

    @property
    def means_(self) -> FloatArray:
        """(K, C, d) float64: the means of the components."""
        components = self._mixture.components
        assert isinstance(components, Gaussian | MultivariateGaussian)
        return components.mean.reshape(*self.weights_.shape, -1)

    @property
    def covariances_(self) -> FloatArray:
        """(K, C, d, d) float64: the covariances of the components."""
        matrices = _matrices(self._mixture.components)
        return matrices.reshape(*self.weights_.shape, *matrices.shape[1:])

    @property
    def _mixture(self) -> Mixture:
        emission = self.hmm_.emission
        assert isinstance(emission, Mixture)
        return emission

    def _first_emission(self, X: AnyArray, rng: np.random.Generator) -> Emission:
        number = self.n_states * self.n_components
        components = _normal(X, number, self.covariance_type, self.least_variance, rng)
        return Mixture(rng.dirichlet(np.full(self.n_components, 5.0), size=self.n_states), components)


class PoissonHMM(HMMEstimator):
    """Hidden states that emit counts: Poisson numbers, independent in each column.

    Parameters
    ----------
    n_states : int
        K, the number of hidden states.
    n_init, init, max_iter, tol, prior, random_state
        As for `CategoricalHMM`; the prior is a number of pseudo-observations.

    Attributes
    ----------
    hmm_ : FittedHMM
        The model.
    start_, transition_ : ndarray (K,), (K, K) float64
        The Markov chain.
    rates_ : ndarray (K, d) float64
        Means of the counts.

    Examples
    --------
    >>> import rlsuite as rl
    >>> X = [[1], [0], [2], [9], [11], [8], [1], [1]]
    >>> found = rl.PoissonHMM(2, random_state=0).fit(X)
    >>> found.predict(X)[[0, 3, 7]].tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """

    whole = True

    @property
    def rates_(self) -> FloatArray:
        """(K, d) float64: the means of the counts."""
        emission = self.hmm_.emission
        assert isinstance(emission, Poisson)
        return emission.rate.reshape(self.n_states, -1)

    def _first_emission(self, X: AnyArray, rng: np.random.Generator) -> Emission:
        return Poisson.from_data(X, self.n_states, rng)


def _normal(X: AnyArray, number: int, kind: Covariance, least: float, rng: np.random.Generator) -> Emission:
    """Return normal distributions around distant observations."""
    if kind in ("full", "tied"):
        found = MultivariateGaussian.from_data(X, number, rng, least_variance=least)
        return found if kind == "full" else MultivariateGaussian(found.mean, found.covariance, least, tied=True)
    found = Gaussian.from_data(X, number, rng, least_variance=least)
    if kind == "diag":
        return found
    return Gaussian(found.mean, np.full(found.variance.shape, found.variance.mean()), least, spherical=True)


def _matrices(emission: Emission) -> FloatArray:
    """Return the covariances (K, d, d) of normal distributions."""
    if isinstance(emission, MultivariateGaussian):
        return emission.covariance
    assert isinstance(emission, Gaussian)
    return emission.variance[:, :, np.newaxis] * np.eye(emission.width)
