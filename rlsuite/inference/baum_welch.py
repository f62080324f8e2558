"""Baum-Welch: a hidden Markov model is learned from observations alone (Baum et al. 1970; R89 section III.C).

xi_t(i, j) = alpha_t(i) a_ij b_j(z_{t+1}) beta_{t+1}(j) / Pr[z] is the probability of the transition from i to j at time
t given all observations, gamma_t(i) that of the state i. Their sums over time are expected counts, and the next model
has the relative frequencies: start gamma_0, transition sum xi / sum gamma, and the emission that fits gamma best
(R89 eqs. 37-40). The E-step adds xi and gamma up in the passes of `rlsuite.inference.forward_backward_kernels`.

In plain NumPy: `rlsuite.reference.hmm.baum_welch`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from typing import NamedTuple

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.threads import at_the_same_time
from rlsuite.errors import CollapseWarning, ParameterError, level_of_the_caller, unknown
from rlsuite.inference import dirichlet
from rlsuite.inference import forward_backward_kernels as kernels
from rlsuite.inference.emissions.base import Emission, Likelihoods
from rlsuite.inference.forward_backward import log_likelihood_of_halves, log_likelihoods_of
from rlsuite.inference.forward_backward_kernels import exact_pairs, exact_posterior
from rlsuite.inference.parameters import Changes, HMMParameters, SparseMatrix, Workspace, csr
from rlsuite.inference.sequences import DistinctPairs, KnownStates, Observations, Sequences, sequences
from rlsuite.inference.smoothing import BackwardBlocks
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.validation import row_sums

# ------------------------------------------------------------------------------------------------- the E-step


class Counts(NamedTuple):
    """Expected counts, given the observations and a model."""

    start: FloatArray
    """(K,) float64: sum over the sequences of Pr[x_0 = k | z]"""
    transition: FloatArray | SparseMatrix
    """(K, K) float64: sum over sequences and times of Pr[x_t = i, x_{t+1} = j | z]; sparse if that of the model is"""
    weight: FloatArray
    """(R, K) float64: expected visits to k with observation r, where `Emission.distinct` says which these are; if all
    count as different, these are the posteriors Pr[x_t = k | z], R = T"""
    log_likelihood: float
    """nats, of all sequences"""


@says_what_to_write
def expected_counts(
    model: HMMParameters, z: Observations | Sequences, lengths: ArrayLike | None = None, *, checkpointed: bool = False
) -> Counts:
    """Return how often each state and each transition is expected to have occurred.

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.
    checkpointed : bool
        Keep O(sqrt(T) K) numbers in memory instead of T K, apart from the result, and sweep once more.

    Returns
    -------
    Counts
        The expected counts.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible; the message says at which t.

    Examples
    --------
    >>> from rlsuite.inference import HMM, expected_counts
    >>> health = HMM([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    >>> counts = expected_counts(health, [0, 1, 2])
    >>> counts.start.round(4).tolist()
    [0.8765, 0.1235]
    >>> (counts.transition / counts.transition.sum(axis=1, keepdims=True)).round(4).tolist()
    [[0.5024, 0.4976], [0.1634, 0.8366]]
    """
    workspace = Workspace(model, sequences(model.emission, z, lengths))
    if checkpointed:
        return _count_by_checkpoints(workspace)
    kept = workspace.prepared.empty(workspace.length) if workspace.keeps_posteriors else None
    schedule = workspace.schedule
    tasks = [
        partial(_count_batches, workspace, batches, numbers, kept)
        for batches, numbers in zip(schedule.batches, schedule.numbers, strict=True)
    ]
    parts = at_the_same_time(tasks, workspace.uses_threads)
    parts += [_count_halves(workspace, number, kept) for number in schedule.halved]
    return _total(workspace, parts, kept)


class _PartialCounts:
    """The counts of one task.

    Attributes
    ----------
    keeps : bool
        Whether posteriors are kept for each observation, because all of these are different.
    pairs : tuple of ndarray
        Expected pairs, not yet multiplied by the matrix, from passes forwards and backwards.
    weight : ndarray (R, Kp), or (1, Kp) if posteriors are kept
        Expected visits with each different observation, or with any.
    start : ndarray (1, Kp)
        Posteriors of x_0.
    extra : ndarray
        Expected pairs that were found in logarithms.
    log_likelihood : float
        Nats, without what the likelihoods leave out.
    """

    def __init__(self, workspace: Workspace) -> None:
        prepared = workspace.prepared
        rows = len(workspace.data.likelihoods.table)
        self.workspace = workspace
        self.keeps = workspace.keeps_posteriors
        shape = (1, workspace.model.n_transitions) if prepared.is_sparse else (prepared.height, prepared.width)
        self.pairs = (np.zeros(shape), np.zeros(shape))
        self.weight = np.zeros((1 if self.keeps else rows, prepared.width))
        self.start = np.zeros((1, prepared.width))
        self.extra = (
            np.zeros(workspace.model.n_transitions) if prepared.is_sparse else np.zeros((prepared.n_states,) * 2)
        )
        self.log_likelihood = 0.0

    def counts(self, backwards: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the arrays that `posteriors_kernel` adds to; a pass that ends at the last observation has no start."""
        first = self.start if backwards else np.zeros_like(self.start)
        return self.pairs[backwards], self.weight, first

    def add(self, other: _PartialCounts) -> None:
        """Add the counts of another part."""
        for own, added in zip(
            (*self.pairs, self.weight, self.start, self.extra),
            (*other.pairs, other.weight, other.start, other.extra),
            strict=True,
        ):
            own += added
        self.log_likelihood += other.log_likelihood

    def add_exactly(self, number: int, kept: FloatArray | None) -> None:
        """Add the counts of one sequence, found in logarithms."""
        workspace, states = self.workspace, self.workspace.model.n_states
        found, posterior = exact_posterior(workspace, number)
        begin, end = workspace.data.pieces[number]
        self.start[0, :states] += posterior[0]
        self.log_likelihood += found.log_likelihood
        if self.keeps and kept is not None:
            kept[begin:end, :states] = posterior
        else:
            np.add.at(self.weight[:, :states], workspace.row[begin:end], posterior)
        pairs = exact_pairs(workspace, number, found)
        if workspace.prepared.is_sparse:
            self.extra += pairs
        else:
            self.extra[workspace.prepared.rows, workspace.model.sparse_transition.indices] += pairs


def _count_batches(
    workspace: Workspace, batches: list[IndexArray], numbers: list[IndexArray], kept: FloatArray | None
) -> _PartialCounts:
    part = _PartialCounts(workspace)
    for batch, which in zip(batches, numbers, strict=True):
        base = 0 if kept is not None else int(batch[0, 0])
        rows = workspace.buffer(batch) if kept is None else kept
        swept = kernels.sweep(workspace, batch, kept=rows, base=base)
        fine = swept.failed < 0
        if fine.any() and not kernels.posteriors(
            workspace, batch[fine], rows, base, keep=part.keeps, counts=part.counts(True)
        ):
            # a pass failed in the middle of a sequence, part of which is counted: count all again with exact passes
            part = _PartialCounts(workspace)
            for number in np.concatenate(numbers):
                part.add_exactly(int(number), kept)
            return part
        part.log_likelihood += float(swept.log_likelihood[fine].sum())
        for number in which[~fine]:
            part.add_exactly(int(number), kept)
    return part


def _count_halves(workspace: Workspace, number: int, kept: FloatArray | None) -> _PartialCounts:
    """Sweep from both ends of a sequence to its middle, and through each other's half, on two threads."""
    halves = workspace.halves(number)
    buffers = [workspace.buffer(half) if kept is None else kept for half in halves]
    bases = [int(half[0, 0]) if kept is None else 0 for half in halves]
    swept = at_the_same_time(
        [
            partial(kernels.sweep, workspace, half, backwards=bool(backwards), kept=buffer, base=base)
            for backwards, (half, buffer, base) in enumerate(zip(halves, buffers, bases, strict=True))
        ],
        workspace.uses_threads,
    )
    middle = int(halves[0][0, 1])
    f, w = buffers[0][[middle - 1 - bases[0]]], buffers[1][[middle - bases[1]]]
    both = [_PartialCounts(workspace), _PartialCounts(workspace)]
    both[0].log_likelihood = log_likelihood_of_halves(workspace, swept[0], swept[1], f[0], w[0])
    fine = both[0].log_likelihood > -np.inf
    if fine:
        fine = all(
            at_the_same_time(
                [
                    partial(
                        kernels.posteriors,
                        workspace,
                        half,
                        buffer,
                        base,
                        backwards=not second,
                        initial=middle_row,
                        keep=both[0].keeps,
                        count_first_pair=not second,
                        counts=part.counts(not second),
                    )
                    for second, (half, buffer, base, middle_row, part) in enumerate(
                        zip(halves, buffers, bases, (w, f), both, strict=True)
                    )
                ],
                workspace.uses_threads,
            )
        )
    if fine:
        both[0].add(both[1])
        return both[0]
    # a pass from the beginning knows which states can be reached, and may succeed
    return _count_batches(workspace, [workspace.data.pieces[[number]]], [np.array([number])], kept)


def _total(workspace: Workspace, parts: list[_PartialCounts], kept: FloatArray | None) -> Counts:
    """Return the sum of all parts."""
    total = parts[0]
    for part in parts[1:]:
        total.add(part)
    prepared, states = workspace.prepared, workspace.model.n_states
    ahead, back = total.pairs
    given = workspace.model.transition
    transition: FloatArray | SparseMatrix
    if prepared.is_sparse:
        matrix = workspace.model.sparse_transition
        pairs = back[0].copy()
        pairs[prepared.by_column] += ahead[0]
        sparse = csr(pairs * matrix.data + total.extra, matrix.indices, matrix.indptr, states)
        transition = sparse.toarray() if isinstance(given, np.ndarray) else sparse
    else:
        pairs = back[:states, :states] + ahead[:states, :states].T
        transition = pairs * workspace.model.dense_transition + total.extra
        if not isinstance(given, np.ndarray):
            matrix = workspace.model.sparse_transition  # keeps its entries, also where no transition is expected
            transition = csr(transition[prepared.rows, matrix.indices], matrix.indices, matrix.indptr, states)
    weight = prepared.narrow(total.weight if kept is None else kept)
    log_likelihood = total.log_likelihood + float(workspace.data.shifts.sum())
    return Counts(total.start[0, :states].copy(), transition, weight, log_likelihood)


def _count_by_checkpoints(workspace: Workspace) -> Counts:
    """Return what `rlsuite.inference.expected_counts` does."""
    total = _PartialCounts(workspace)
    kept = workspace.prepared.empty(workspace.length) if total.keeps else None
    for number, piece in enumerate(workspace.data.pieces):
        part = _PartialCounts(workspace)
        backwards = BackwardBlocks(workspace, piece)
        while backwards.fine and backwards.blocks:
            part.start[:] = 0.0  # only the first block of the sequence counts for x_0, and it comes last
            begin, rows = backwards.block(part.counts(True))
            if kept is not None:
                kept[begin : begin + len(rows)] = rows
        part.log_likelihood = backwards.log_likelihood
        if not backwards.fine:
            part = _PartialCounts(workspace)
            part.add_exactly(number, kept)
        total.add(part)
    return _total(workspace, [total], kept)


# ------------------------------------------------------------------------------------------------- the M-step


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


class TransitionRows:
    """The prior of the transitions, and what follows from counts.

    Parameters
    ----------
    model : HMM
        The model to begin with.
    prior : float, array_like (K, K) or None
        Pseudo-counts. If the matrix is sparse, only a number will do.

    Raises
    ------
    ParameterError
        If they are negative, or of another shape.
    """

    def __init__(self, model: HMMParameters, prior: dirichlet.PseudoCounts) -> None:
        self.is_sparse = not isinstance(model.transition, np.ndarray)
        if not self.is_sparse:
            self.pseudo = dirichlet.pseudo_counts("prior.transition", prior, model.dense_transition)
            return
        if prior is not None and np.ndim(prior) != 0:
            raise ParameterError(
                f"prior.transition has shape {np.shape(prior)}; for a sparse transition matrix it has to be one number"
            )
        self.pseudo = dirichlet.pseudo_counts("prior.transition", prior, np.ones(1))

    def most_probable(self, model: HMMParameters, counts: FloatArray | SparseMatrix) -> FloatArray | SparseMatrix:
        """Return the matrix for expected counts of transitions, of the same kind."""
        if isinstance(counts, np.ndarray):
            return dirichlet.most_probable(counts, self.pseudo, model.dense_transition)
        old = model.sparse_transition
        added = counts.data + self.pseudo[0]
        total = row_sums(added, np.asarray(old.indptr, dtype=np.int64))
        visited = total > dirichlet.NO_VISITS
        row = np.repeat(np.arange(model.n_states), np.diff(old.indptr))
        data = np.where(visited[row], added / np.where(visited, total, 1.0)[row], old.data)
        return csr(data, old.indices, old.indptr, model.n_states)

    def log_density(self, model: HMMParameters) -> float:
        """Return the logarithm of the prior's density in nats, up to a constant."""
        if not self.is_sparse:
            return dirichlet.log_density(model.dense_transition, self.pseudo)
        return float(self.pseudo[0] * np.log(model.sparse_transition.data).sum())

    def randomized(self, model: HMMParameters, rng: np.random.Generator) -> FloatArray | SparseMatrix:
        """Return random rows; what is impossible stays impossible."""
        if not self.is_sparse:
            table = model.dense_transition
            drawn = rng.exponential(size=table.shape) * (table > 0.0)
            return drawn / drawn.sum(axis=1, keepdims=True)
        matrix = model.sparse_transition
        weights = rng.exponential(size=int(matrix.nnz))
        total = row_sums(weights, np.asarray(matrix.indptr, dtype=np.int64))
        return csr(weights / np.repeat(total, np.diff(matrix.indptr)), matrix.indices, matrix.indptr, model.n_states)


class BaumWelch:
    """The problem: observations, the parameters to learn, and the prior; its protocol is that of `run_em`."""

    def __init__(
        self,
        model: HMMParameters,
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

    def starts(self, model: HMMParameters, number: int, rng: np.random.Generator) -> Iterator[HMMParameters]:
        """Yield the model, and random ones with the same zeros."""
        yield model
        for _ in range(number - 1):
            drawn: Changes = {}
            if "start" not in self.frozen:
                weights = rng.exponential(size=model.n_states) * (model.start > 0.0)
                drawn["start"] = weights / weights.sum()
            if "transition" not in self.frozen:
                drawn["transition"] = self.transitions.randomized(model, rng)
            if not self.frozen & {"emission", *model.emission.freezable()}:
                drawn["emission"] = model.emission.randomized(self.data.z, rng)
            yield model.replace(**drawn)

    def expect(self, model: HMMParameters) -> tuple[float, Counts]:
        """Return the log-likelihood, and expected counts."""
        counts = expected_counts(model, self._seen(model))
        if self.known is not None:
            counts = counts._replace(weight=self.known.gathered(counts.weight, len(self.values)))
        return counts.log_likelihood, counts

    def maximise(self, model: HMMParameters, counts: Counts) -> HMMParameters:
        """Return the most probable parameters given the counts; rows that were not visited stay as they are."""
        start, transition, emission = model.start, model.transition, model.emission
        if "start" not in self.frozen:
            start = dirichlet.most_probable(counts.start, self.start_prior, start)
        if "transition" not in self.frozen:
            transition = self.transitions.most_probable(model, counts.transition)
        if "emission" not in self.frozen:
            emission = emission.fit_weighted(self.values, counts.weight, self.emission_prior, self.frozen)
        return HMMParameters(start, transition, emission, model.state_labels)

    def log_likelihood(self, model: HMMParameters) -> float:
        """Return the log-likelihood of the observations, in nats."""
        return score(model, self._seen(model))

    def log_prior(self, model: HMMParameters) -> float:
        """Return the logarithm of the density of the parameters, in nats, up to a constant."""
        own = dirichlet.log_density(model.start, self.start_prior) + self.transitions.log_density(model)
        return own + model.emission.log_prior(self.emission_prior)

    def held_out(self, model: HMMParameters) -> float:
        """Return the log-likelihood of the observations that are held out, in nats; NaN if there are none."""
        if self.others is None:
            return np.nan
        return score(model, Sequences(model.emission, self.others.z, self.others.pieces))

    def explain_impossible(self, model: HMMParameters) -> str:
        """Return a sentence; the E-step raises a better one itself."""
        return "the observations are impossible under the model"

    def _seen(self, model: HMMParameters) -> Sequences:
        """Return the observations with their likelihoods under a model."""
        table, shift = model.emission.likelihoods(self.values)
        exact = partial(model.emission.logarithms, self.values, shift)
        row = self.row
        shifts = shift[row] if shift.any() else None
        if self.known is not None:
            exact = partial(_masked, self.known, exact)
            table, row = self.known.masked(table), self.known.row
        seen = Sequences(model.emission, self.data.z, self.data.pieces)
        # set the cached property: which observations are equal does not change from iteration to iteration
        vars(seen)["likelihoods"] = Likelihoods(np.ascontiguousarray(table), row, shifts, exact)
        return seen


def _masked(known: DistinctPairs, exact: Callable[[], FloatArray]) -> FloatArray:
    return known.masked(exact(), -np.inf)


def score(model: HMMParameters, data: Sequences) -> float:
    """Return the log-likelihood of checked observations, in nats."""
    return float(log_likelihoods_of(Workspace(model, data)).sum())


def frozen_parts(model: HMMParameters, frozen: Iterable[str]) -> frozenset[str]:
    """Return the parts that stay as they are, checked."""
    parts = frozenset([frozen] if isinstance(frozen, str) else frozen)
    choices = {"start", "transition", "emission", *model.emission.freezable()}
    for part in parts:
        if part not in choices:
            raise ParameterError(unknown("part in frozen", part, choices))
    return parts


def n_learned(model: HMMParameters, frozen: AbstractSet[str]) -> int:
    """Return the number of free parameters that are learned."""
    number = 0
    if "start" not in frozen:
        number += int(np.count_nonzero(model.start)) - 1
    if "transition" not in frozen:
        number += model.n_transitions - model.n_states
    return number + (0 if "emission" in frozen else model.emission.n_free(frozen))


def warn_of_collapse(emission: Emission) -> None:
    """Issue a `CollapseWarning` if the narrowest allowed distribution was learned for some state."""
    if emission.collapsed:
        listed = ", ".join(map(str, emission.collapsed))
        warnings.warn(
            f"state {listed} has collapsed: in some direction its observations are almost equal, and its variance is "
            "least_variance times that of all observations. The likelihood then means little: learn fewer states, "
            "try other first parameters (restarts=), or pass a prior; if so small a variance is intended, pass a "
            "smaller least_variance",
            CollapseWarning,
            stacklevel=level_of_the_caller(),
        )
