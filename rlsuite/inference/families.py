"""Families of emissions by name, and initial models that suit the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.checks import whole_number
from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.emissions.categorical import Categorical
from rlsuite.inference.emissions.gaussian import Gaussian
from rlsuite.inference.emissions.multivariate_gaussian import MultivariateGaussian
from rlsuite.inference.emissions.poisson import Poisson
from rlsuite.inference.hmm import HMM
from rlsuite.inference.sampling import Seed, generator
from rlsuite.inference.sequences import Observations, listed
from rlsuite.keywords import says_what_to_write

FAMILIES: dict[str, Any] = {
    "categorical": Categorical,
    "gaussian": Gaussian,
    "multivariate_gaussian": MultivariateGaussian,
    "poisson": Poisson,
}


@says_what_to_write
def random_hmm(
    z: Observations,
    n_states: int,
    emission: str | Callable[[int, np.random.Generator], Emission] = "categorical",
    *,
    seed: Seed,
) -> HMM:
    """Return a random model that suits observations: an initial model for `HMM.fit`.

    Parameters
    ----------
    z : array_like or list of arrays
        The observations.
    n_states : int
        K.
    emission : str or callable
        "categorical", "gaussian", "multivariate_gaussian" or "poisson"; or a function of K and a generator that
        returns an emission.
    seed : int, SeedSequence or Generator
        Where the random numbers come from.

    Raises
    ------
    ParameterError
        If there is no such family, or `n_states` or `seed` is none.
    ModelError
        If the observations are none of this family.

    Examples
    --------
    >>> random_hmm([0, 2, 1, 0], 3, seed=0)
    HMM(n_states=3, emission=Categorical)
    >>> random_hmm([0.1, 2.4, 0.3], 2, "gaussian", seed=0).emission.mean[:, 0].tolist()
    [2.4, 0.3]
    """
    states = whole_number("n_states", n_states)
    rng = generator(seed)
    start = rng.dirichlet(np.ones(states))
    transition = rng.dirichlet(np.ones(states), size=states)
    return HMM(start, transition, emission_of(emission, z, states, rng))


def emission_of(
    family: str | Callable[[int, np.random.Generator], Emission],
    z: Observations,
    n_states: int,
    rng: np.random.Generator,
) -> Emission:
    """Return a random emission of a family that suits the observations."""
    if isinstance(family, str):
        if family not in FAMILIES:
            raise ParameterError(unknown("emission", family, FAMILIES))
        kind = FAMILIES[family]
        return cast("Emission", kind.from_data(end_to_end(z, kind.discrete), n_states, rng))
    made = family(n_states, rng)
    if not isinstance(cast("object", made), Emission):
        raise ParameterError(f"the function for the emission returned a {type(made).__name__}, not an Emission")
    return made


def end_to_end(z: Observations, discrete: bool) -> ArrayLike:
    """Return sequences as one array; what is one already stays as it is."""
    parts = listed(z, nested=discrete)
    if parts is None:
        return cast("ArrayLike", z)
    try:
        return np.concatenate([np.asarray(part) for part in parts])
    except ValueError as cause:
        raise ModelError(f"the sequences of z do not fit together: {cause}") from cause
