"""Baum-Welch: a hidden Markov model is learned from observations alone (Baum et al. 1970; R89 section III.C).

xi_t(i, j) = alpha_t(i) a_ij b_j(z_{t+1}) beta_{t+1}(j) / Pr[z] is the probability of the transition from i to j at time
t given all observations, gamma_t(i) that of the state i. Their sums over time are expected counts, and the next model
has the relative frequencies: start gamma_0, transition sum xi / sum gamma, and the emission that fits gamma best.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.checks import whole_number
from rlsuite.compiling_clock import CompilingClock
from rlsuite.errors import CollapseWarning, ParameterError, level_of_the_caller, unknown
from rlsuite.inference import dirichlet
from rlsuite.inference.e_step import Counts, expected_counts
from rlsuite.inference.emissions.base import Emission, Likelihoods
from rlsuite.inference.expectation_maximisation import Limits, best_of_starts
from rlsuite.inference.fitted import FittedHMM
from rlsuite.inference.forward_backward import log_likelihoods
from rlsuite.inference.hmm import HMM
from rlsuite.inference.learning import Learning, record_of
from rlsuite.inference.sampling import Seed, generator
from rlsuite.inference.semi_supervised import DistinctPairs, KnownStates, known_states
from rlsuite.inference.sequences import Observations, Sequences, sequences
from rlsuite.inference.transitions import TransitionRows
from rlsuite.keywords import says_what_to_write
from rlsuite.models.aliases import FloatArray

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet


class Prior(NamedTuple):
    """The prior distribution of each part of a model.

    Examples
    --------
    Transitions that stay are held more probable:

    >>> prior = Prior(transition=[[10, 1], [1, 10]])
    """

    start: dirichlet.PseudoCounts = None
    """pseudo-counts: a number, or (K,)"""
    transition: dirichlet.PseudoCounts = None
    """pseudo-counts: a number, or (K, K)"""
    emission: object = None
    """the prior of the emission's family; all families except functions accept one number"""


@says_what_to_write
def fit(
    model: HMM,
    z: Observations,
    lengths: ArrayLike | None = None,
    *,
    states: Observations | None = None,
    restarts: int = 1,
    prior: float | Prior | None = None,
    frozen: Iterable[str] = (),
    held_out: Observations | None = None,
    max_iterations: int = 1000,
    tol: float = 1e-6,
    seed: Seed = 0,
    deadline: float | None = None,
    progress: bool = False,
) -> FittedHMM:
    """Learn a model by expectation maximisation.

    Parameters
    ----------
    model : HMM
        Where to begin. What is impossible in it stays impossible, and states that are not visited stay as they are.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`; some may be missing.
    states : array_like (T,) of int, or list of arrays, optional
        Hidden states as far as they are known, -1 where they are not, in the same form as `z`.
    restarts : int
        Number of starts: the first from `model`, the others from random parts where `frozen` does not forbid it. The
        most probable result is returned.
    prior : float or Prior, optional
        One number is added to the counts of everything that is possible in `model`, and a prior for the emission: what
        is maximised is then the likelihood times the density of the prior. By default, the likelihood.
    frozen : iterable of str
        What stays as it is: "start", "transition", "emission", or a part of the emission, such as "mean".
    held_out : array_like or list of arrays, optional
        Observations that are not learned from; their log-likelihood after every iteration is `learning.held_out_`.
    max_iterations : int
        Limit on the iterations from each start.
    tol : float
        An iteration that gains at most so many nats for each observation is the last. With 0, all iterations are done
        as long as anything is gained.
    seed : int, SeedSequence or Generator
        Where random starts come from.
    deadline : float, optional
        Number of seconds after which the best model so far is returned; so it is after Ctrl-C. The clock is checked
        after each iteration.
    progress : bool
        Whether to show a progress bar on stderr.

    Returns
    -------
    FittedHMM
        The learned model; its `learning` tells how it was learned.

    Raises
    ------
    ModelError
        If the observations are malformed, or impossible from every start; the message says at which t.
    ParameterError
        If an argument is out of range.

    Warns
    -----
    ConvergenceWarning
        If a limit came first.

    Examples
    --------
    One iteration by hand:

    >>> from rlsuite.inference import HMM
    >>> health = HMM([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    >>> learned = fit(health, [0, 1, 2], max_iterations=1, tol=0)
    >>> learned.transition.round(4).tolist(), learned.emission.table.round(4).tolist()
    ([[0.5024, 0.4976], [0.1634, 0.8366]], [[0.5121, 0.364, 0.1239], [0.0958, 0.2927, 0.6115]])
    """
    parts = _parts(model, frozen)
    starts = whole_number("restarts", restarts)
    limits = Limits(tol, max_iterations)
    rng = generator(seed)
    clock = CompilingClock("Baum-Welch", deadline=deadline, progress=progress)
    data = sequences(model.emission, z, lengths)
    problem = BaumWelch(
        model,
        data,
        known=None if states is None else known_states(states, data, model.n_states),
        prior=prior,
        frozen=parts,
        others=None if held_out is None else sequences(model.emission, held_out),
    )
    with clock:
        best, reached = best_of_starts(problem, problem.starts(model, starts, rng), limits, clock)
    record = record_of(
        best,
        reached,
        n_observations=int(np.count_nonzero(~model.emission.missing(data.z))),
        n_parameters=_n_parameters(model, parts),
        seconds=clock.seconds,
    )
    warn_of_collapse(best.model.emission)
    return FittedHMM(best.model, Learning(**record))


def warn_of_collapse(emission: Emission) -> None:
    """Issue a `CollapseWarning` if the narrowest allowed distribution was learned for some state."""
    if emission.collapsed:
        listed = ", ".join(map(str, emission.collapsed))
        warnings.warn(
            f"state {listed} has collapsed: in some direction its observations are as good as equal, and its variance "
            "is least_variance times that of all observations. The likelihood says little then: learn fewer states, "
            "begin elsewhere (restarts=), or pass a prior; if so small a variance is meant, a smaller least_variance",
            CollapseWarning,
            stacklevel=level_of_the_caller(),
        )


class BaumWelch:
    """The problem: observations, the parameters to learn, and the prior; its protocol is that of `run_em`."""

    def __init__(
        self,
        model: HMM,
        data: Sequences,
        *,
        known: KnownStates | None = None,
        prior: float | Prior | None = None,
        frozen: AbstractSet[str] = frozenset(),
        others: Sequences | None = None,
    ) -> None:
        self.data = data
        self.frozen = frozen
        self.others = others
        self.values, self.row = model.emission.distinct(data.z)
        self.known = None if known is None else known.combined(self.row)
        parts = prior if isinstance(prior, Prior) else Prior(prior, prior, prior)
        self.start_prior = dirichlet.pseudo_counts("prior.start", parts.start, model.start)
        self.transitions = TransitionRows(model, parts.transition)
        self.emission_prior = model.emission.resolve_prior(parts.emission, data.z)

    @property
    def size(self) -> int:
        """Number of observations."""
        return len(self.data.z)

    def starts(self, model: HMM, number: int, rng: np.random.Generator) -> Iterator[HMM]:
        """Yield the model, and random ones with the same zeros."""
        yield model
        for _ in range(number - 1):
            drawn: dict[str, Any] = {}
            if "start" not in self.frozen:
                weights = rng.exponential(size=model.n_states) * (model.start > 0.0)
                drawn["start"] = weights / weights.sum()
            if "transition" not in self.frozen:
                drawn["transition"] = self.transitions.randomized(model, rng)
            if not self.frozen & {"emission", *model.emission.freezable()}:
                drawn["emission"] = model.emission.randomized(self.data.z, rng)
            yield model.replace(**drawn)

    def expect(self, model: HMM) -> tuple[float, Counts]:
        """Return the log-likelihood, and expected counts."""
        counts = expected_counts(model, self._seen(model))
        if self.known is not None:
            counts = counts._replace(weight=self.known.gathered(counts.weight, len(self.values)))
        return counts.log_likelihood, counts

    def maximise(self, model: HMM, counts: Counts) -> HMM:
        """Return the most probable parameters given the counts; rows that were not visited stay as they are."""
        start, transition, emission = model.start, model.transition, model.emission
        if "start" not in self.frozen:
            start = dirichlet.most_probable(counts.start, self.start_prior, start)
        if "transition" not in self.frozen:
            transition = self.transitions.most_probable(model, counts.transition)
        if "emission" not in self.frozen:
            emission = emission.fit_weighted(self.values, counts.weight, self.emission_prior, self.frozen)
        return HMM(start, transition, emission, model.state_labels)

    def log_likelihood(self, model: HMM) -> float:
        """Return the log-likelihood of the observations, in nats."""
        return score(model, self._seen(model))

    def log_prior(self, model: HMM) -> float:
        """Return the logarithm of the density of the parameters, in nats, up to a constant."""
        own = dirichlet.log_density(model.start, self.start_prior) + self.transitions.log_density(model)
        return own + model.emission.log_prior(self.emission_prior)

    def held_out(self, model: HMM) -> float:
        """Return the log-likelihood of the observations that are held out, in nats; NaN if there are none."""
        if self.others is None:
            return np.nan
        return score(model, Sequences(model.emission, self.others.z, self.others.pieces))

    def explain_impossible(self, model: HMM) -> str:
        """Return a sentence; the E-step raises a better one itself."""
        return "the observations are impossible under the model"

    def _seen(self, model: HMM) -> Sequences:
        """Return the observations with their likelihoods under a model."""
        table, shift = model.emission.likelihoods(self.values)
        exact = partial(model.emission.logarithms, self.values, shift)
        row = self.row
        shifts = shift[row] if shift.any() else None
        if self.known is not None:
            exact = partial(_masked, self.known, exact)
            table, row = self.known.masked(table), self.known.row
        seen = Sequences(model.emission, self.data.z, self.data.pieces)
        # the cached property: which observations are equal does not change from iteration to iteration
        vars(seen)["likelihoods"] = Likelihoods(np.ascontiguousarray(table), row, shifts, exact)
        return seen


def _masked(known: DistinctPairs, exact: Callable[[], FloatArray]) -> FloatArray:
    return known.masked(exact(), -np.inf)


def score(model: HMM, data: Sequences) -> float:
    """Return the log-likelihood of checked observations, in nats."""
    return float(log_likelihoods(model, cast("Any", data)).sum())


def _parts(model: HMM, frozen: Iterable[str]) -> frozenset[str]:
    parts = frozenset([frozen] if isinstance(frozen, str) else frozen)
    choices = {"start", "transition", "emission", *model.emission.freezable()}
    for part in parts:
        if part not in choices:
            raise ParameterError(unknown("part in frozen", part, choices))
    return parts


def _n_parameters(model: HMM, frozen: AbstractSet[str]) -> int:
    """Return the number of free parameters that are learned."""
    number = 0
    if "start" not in frozen:
        number += int(np.count_nonzero(model.start)) - 1
    if "transition" not in frozen:
        number += model.n_transitions - model.n_states
    return number + (0 if "emission" in frozen else model.emission.n_free(frozen))
