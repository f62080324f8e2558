"""Learning where the hidden states were observed: counting (lecture notes, section 9.3; R89 eqs. 40, with counts).

a_ij = (#(i -> j) + c) / (#(i -> any) + c K), and b_k(z) = (#(z in k) + c) / (#(any in k) + c M) for M symbols. Without
pseudo-counts, c = 0, these are relative frequencies, the maximum of the likelihood; for a state that was not visited
they would be 0 / 0. With them they are the means of the posteriors under Dirichlet(c, ..., c) priors.
"""

from collections.abc import Callable
from typing import cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.inference import dirichlet
from rlsuite.inference.baum_welch import Prior
from rlsuite.inference.emissions.base import Emission, whole_numbers
from rlsuite.inference.emissions.categorical import Categorical
from rlsuite.inference.emissions.gaussian import Gaussian, MultivariateGaussian
from rlsuite.inference.emissions.poisson import Poisson
from rlsuite.inference.sequences import Observations, end_to_end, known_states, sequences
from rlsuite.models.aliases import FloatArray, IndexArray

FAMILIES = {
    "categorical": Categorical,
    "gaussian": Gaussian,
    "multivariate_gaussian": MultivariateGaussian,
    "poisson": Poisson,
}


def estimate(
    z: Observations,
    states: Observations,
    lengths: ArrayLike | None,
    n_states: int | None,
    n_symbols: int | None,
    emission: str | Emission | Callable[[int, np.random.Generator], Emission],
    prior: float | Prior,
) -> tuple[FloatArray, FloatArray, Emission]:
    """Return the start distribution, transition matrix and emission that follow from counts; see `HMM.from_states`."""
    all_states = whole_numbers(end_to_end(states, True), "states", None)
    number = int(all_states.max(initial=0)) + 1 if n_states is None else whole_number("n_states", n_states)
    family = emission
    if emission == "categorical":
        most = None if n_symbols is None else whole_number("n_symbols", n_symbols)
        symbols = whole_numbers(end_to_end(z, True), "symbols", most)
        size = most or int(symbols.max(initial=0)) + 1
        family = Categorical(np.full((number, size), 1.0 / size))
    if not isinstance(family, Emission):
        family = emission_of(family, z, number, np.random.default_rng(0))
    if family.n_states != number:
        raise ModelError(f"the emission has {family.n_states} states, but the model has {number}")
    data = sequences(family, z, lengths)
    state = known_states(states, data, number).complete("where only some states are known, use HMM.fit(states=...)")
    parts = prior if isinstance(prior, Prior) else Prior(prior, prior, prior or None)
    start, transition = _counts(state, data.pieces, number)
    even = np.full((number, number), 1.0 / number)
    visits = np.bincount(state, minlength=number)
    _check_visited("never occurs", visits + _pseudo("prior.start", parts.start, even[0]), visits)
    rows = transition + _pseudo("prior.transition", parts.transition, even)
    _check_visited("is never left", rows.sum(axis=1), visits)
    values, row = family.distinct(data.z)
    weights = np.zeros((len(values), number))
    np.add.at(weights, (row, state), 1.0)
    learned = family.fit_weighted(values, weights, family.resolve_prior(parts.emission, data.z))
    return (
        dirichlet.most_probable(start, _pseudo("prior.start", parts.start, even[0]), even[0]),
        dirichlet.most_probable(rows, np.zeros(rows.shape), even),
        learned,
    )


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
        return kind.from_data(end_to_end(z, kind.discrete), n_states, rng)
    made = family(n_states, rng)
    if not isinstance(cast("object", made), Emission):
        raise ParameterError(f"the function for the emission returned a {type(made).__name__}, not an Emission")
    return made


def _counts(state: IndexArray, pieces: IndexArray, n_states: int) -> tuple[FloatArray, FloatArray]:
    """Return how often each state was first (K,), and how often each transition occurred (K, K)."""
    start = np.bincount(state[pieces[:, 0]], minlength=n_states).astype(np.float64)
    follows = np.ones(len(state), dtype=np.bool_)
    follows[pieces[:, 0]] = False
    ahead = np.flatnonzero(follows)
    pairs = np.bincount(state[ahead - 1] * n_states + state[ahead], minlength=n_states * n_states)
    return start, pairs.reshape(n_states, n_states).astype(np.float64)


def _pseudo(name: str, prior: dirichlet.PseudoCounts, rows: FloatArray) -> FloatArray:
    return dirichlet.pseudo_counts(name, prior, rows)


def _check_visited(what: str, total: FloatArray, visits: IndexArray) -> None:
    missing = total <= 0.0
    if missing.any():
        k = int(np.argmax(missing))
        raise ModelError(
            f"state {k} {what} in the data ({visits[k]} visits), which say nothing about its probabilities: pass "
            "prior > 0, or learn with HMM.fit(states=...), which does not change the parameters of such states"
        )
