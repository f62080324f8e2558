"""Random models to begin with, and the choice of the number of hidden states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import Seed, generator, whole_number
from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.inference.baum_welch import Prior
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.forward_backward import log_likelihoods
from rlsuite.inference.from_complete_data import emission_of
from rlsuite.inference.hmm import HMM, FittedHMM
from rlsuite.inference.sequences import Observations, sequences
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray


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
        If there is no such family, or `n_states` or `seed` is not a number of that kind.
    ModelError
        If the observations do not fit this family.

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


CRITERIA = ("aic", "bic", "held_out")


@dataclass(frozen=True, eq=False)
class Selection:
    """Models of different sizes, and the best of them.

    Attributes
    ----------
    tried : ndarray (n,) int64
        Numbers of hidden states.
    models : tuple of FittedHMM
        What was learned from all the data with each.
    log_likelihoods, aic, bic : ndarray (n,) float64
        Of the data under these models; the information criteria are the better the smaller.
    held_out : ndarray (n,) float64
        Log-likelihood, in nats, of each part of the data under a model learned from the others, summed over the parts;
        the better the larger. NaN unless that was the criterion.
    criterion : str
        What chose.
    """

    tried: IndexArray
    models: tuple[FittedHMM, ...]
    log_likelihoods: FloatArray
    aic: FloatArray
    bic: FloatArray
    held_out: FloatArray
    criterion: str

    @property
    def n_states(self) -> int:
        """The number of hidden states that is best; the smaller of equals."""
        return int(self.tried[self._index])

    @property
    def hmm(self) -> FittedHMM:
        """The best model."""
        return self.models[self._index]

    @property
    def posterior(self) -> FloatArray:
        """(n,) float64: how probable each number of states is, if all were equally so before the data.

        Pr[m | z] is proportional to Pr[z | m], the logarithm of which is -BIC / 2 up to terms that do not grow with the
        data (Schwarz 1978). What all models say together is their mean with these weights.
        """
        weights = np.exp((self.bic.min() - self.bic) / 2.0)
        return weights / weights.sum()

    @property
    def _index(self) -> int:
        if self.criterion == "held_out":
            return int(np.argmax(self.held_out))
        return int(np.argmin(self.aic if self.criterion == "aic" else self.bic))

    def __str__(self) -> str:
        lines = [f"{'states':>8}{'log-likelihood':>18}{'AIC':>14}{'BIC':>14}{'held out':>14}"]
        columns = (self.tried, self.log_likelihoods, self.aic, self.bic, self.held_out)
        for number, likelihood, aic, bic, out in zip(*columns, strict=True):
            mark = " *" if number == self.n_states else ""
            lines.append(f"{number:>8}{likelihood:>18.2f}{aic:>14.2f}{bic:>14.2f}{out:>14.2f}{mark}")
        return "\n".join(lines)


@says_what_to_write
def choose_n_states(
    z: ArrayLike | Sequence[ArrayLike],
    numbers: Iterable[int],
    emission: str | Callable[[int, np.random.Generator], Emission] = "categorical",
    lengths: ArrayLike | None = None,
    *,
    criterion: Literal["aic", "bic", "held_out"] = "bic",
    folds: int = 5,
    restarts: int = 5,
    prior: float | Prior | None = None,
    max_iterations: int = 1000,
    tol: float = 1e-6,
    seed: int | np.random.SeedSequence = 0,
    progress: bool = False,
) -> Selection:
    """Learn a model with each number of hidden states, and choose the best.

    Parameters
    ----------
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.
    numbers : iterable of int
        Numbers of hidden states to try.
    emission : str or callable
        As in `random_hmm`.
    criterion : {"bic", "aic", "held_out"}
        Information criteria are computed from one model; "held_out" learns `folds` more, each without one part of the
        sequences, and scores that part. A single sequence is cut into as many pieces for that.
    folds : int
        Number of parts, at least 2.
    restarts : int
        Number of random starts of each model.
    prior, max_iterations, tol
        As in `fit`.
    seed : int or SeedSequence
        Where random starts come from.
    progress : bool
        Whether to show a progress bar on stderr.

    Returns
    -------
    Selection
        ``.n_states`` and ``.hmm`` are the best; printed, it is a table. After Ctrl-C, it holds the numbers that were
        done by then.

    Raises
    ------
    ModelError
        If the observations are malformed, or there are too few for the folds.
    ParameterError
        If an argument is out of range.

    Warns
    -----
    ConvergenceWarning
        If a limit or Ctrl-C came first.

    Examples
    --------
    >>> from rlsuite.inference import HMM
    >>> truth = HMM([0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]], [[0.9, 0.1], [0.1, 0.9]])
    >>> z, _ = truth.sample(500, seed=0)
    >>> choose_n_states(z, [1, 2, 3], seed=0).n_states
    2
    """
    if criterion not in CRITERIA:
        raise ParameterError(unknown("criterion", criterion, CRITERIA))
    tried = [whole_number("numbers", number) for number in numbers]
    if not tried:
        raise ParameterError("numbers is empty: give numbers of hidden states to try")
    parts = whole_number("folds", folds, at_least=2)
    root = seed
    if not isinstance(root, np.random.SeedSequence):
        root = np.random.SeedSequence(whole_number("seed", seed, at_least=0))
    data = sequences(emission_of(emission, z, 1, np.random.default_rng(root)), z, lengths)
    everything = [data.z[begin:end] for begin, end in data.pieces.tolist()]
    splits = list(_splits(everything, parts)) if criterion == "held_out" else []

    def learned(parts: list[AnyArray], number: int, seeds: list[np.random.SeedSequence]) -> FittedHMM:
        # the first model is made from all sequences, so that it knows every symbol
        first = random_hmm(everything, number, emission, seed=np.random.default_rng(seeds[0]))
        return first.fit(parts, restarts=restarts, prior=prior, max_iterations=max_iterations, tol=tol, seed=seeds[1])

    models: list[FittedHMM] = []
    out: list[float] = []
    with CompilingClock("choosing a number of states", progress=progress) as clock:
        for number, branch in zip(tried, root.spawn(len(tried)), strict=True):
            seeds = branch.spawn(2 * (len(splits) + 1))
            models.append(learned(everything, number, seeds[:2]))
            total = 0.0 if splits else np.nan
            for fold, (kept, left) in enumerate(splits, start=1):
                model = learned(kept, number, seeds[2 * fold : 2 * fold + 2])
                total += float(log_likelihoods(model, left).sum())
            out.append(total)
            clock.tick(f"{number} states")
            if clock.hurries:
                break
    if clock.hurries:  # learning the last model was cut short: it must not be compared with the others
        del models[-1], out[-1]
        if not models:
            raise KeyboardInterrupt
    return Selection(
        np.array(tried[: len(models)]),
        tuple(models),
        np.array([model.learning.log_likelihood for model in models]),
        np.array([model.aic for model in models]),
        np.array([model.bic for model in models]),
        np.array(out),
        criterion,
    )


def _splits(everything: list[AnyArray], folds: int) -> Iterator[tuple[list[AnyArray], list[AnyArray]]]:
    """Yield the sequences that are learned from, and those that are held out."""
    parts = everything
    if len(parts) == 1:
        if len(parts[0]) < 2 * folds:
            raise ModelError(
                f"{len(parts[0])} observations are too few for folds={folds}; at least {2 * folds} are needed"
            )
        parts = [piece for piece in np.array_split(parts[0], folds)]
    if len(parts) < folds:
        raise ModelError(f"{len(parts)} sequences are too few for folds={folds}; at least {folds} are needed")
    for fold in range(folds):
        yield [part for n, part in enumerate(parts) if n % folds != fold], parts[fold::folds]
