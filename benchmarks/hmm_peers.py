"""A hidden Markov model with symbols in the words of rlsuite, hmmlearn and deeptime: each of them does the same work.

hmmlearn and deeptime run their fastest variants: hmmlearn with scaling instead of logarithms; deeptime with its own
forward-backward routine, which finds posteriors and pairs at once and is what its estimator calls in every iteration.
"""

import logging
import os
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rlsuite.errors import ConvergenceWarning
from rlsuite.inference import HMM

logging.getLogger("hmmlearn").setLevel(logging.ERROR)

# deeptime shares out each single step among the threads of OpenMP, which takes it two to forty times as long as one
# thread; and they keep the cores busy for a while when it is the others' turn
os.environ["OMP_NUM_THREADS"] = "1"

ITERATIONS = 20


class Problem(NamedTuple):
    """A model, and sequences drawn from it."""

    start: np.ndarray
    """(K,)"""
    transition: np.ndarray
    """(K, K)"""
    emission: np.ndarray
    """(K, M)"""
    z: np.ndarray
    """(T,) all sequences, end to end"""
    lengths: Sequence[int]


def problem(n_states: int, n_symbols: int, length: int, sequences: int, seed: int) -> Problem:
    """Draw a model without zeros, and as many sequences of one length."""
    rng = np.random.default_rng(seed)
    start, transition = rng.dirichlet(np.ones(n_states)), rng.dirichlet(np.ones(n_states), n_states)
    emission = rng.dirichlet(np.ones(n_symbols), n_states)
    hmm = HMM(start, transition, emission)
    z = [hmm.sample(length, seed=rng)[0] for _ in range(sequences)]
    return Problem(start, transition, emission, np.concatenate(z), [length] * sequences)


class Rlsuite:
    """The words of rlsuite."""

    name = "rlsuite"

    def __init__(self, given: Problem) -> None:
        self.model = HMM(given.start, given.transition, given.emission)
        self.data = given.z, given.lengths

    def likelihood(self) -> float:
        """Return ln Pr[z], in nats."""
        return self.model.score(*self.data)

    def smoothing(self) -> Any:
        """Return the posteriors (T, K)."""
        return self.model.smooth(*self.data)

    def viterbi(self) -> Any:
        """Return the best path (T,)."""
        return self.model.decode(*self.data)

    def learning(self) -> float:
        """Do the iterations of Baum-Welch; return the log-likelihood that the last but one reached."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learned = self.model.fit(*self.data, max_iterations=ITERATIONS, tol=0)
        return float(learned.learning.log_likelihoods_[ITERATIONS - 1])


class Hmmlearn:
    """The words of hmmlearn."""

    name = "hmmlearn"

    def __init__(self, given: Problem) -> None:
        self.given = given
        self.data = given.z[:, None], given.lengths
        self.model = self._new()

    def _new(self) -> Any:
        from hmmlearn.hmm import CategoricalHMM

        model = CategoricalHMM(
            len(self.given.start), implementation="scaling", init_params="", n_iter=ITERATIONS, tol=-np.inf
        )
        model.startprob_, model.transmat_ = self.given.start.copy(), self.given.transition.copy()
        model.emissionprob_ = self.given.emission.copy()
        model.n_features = self.given.emission.shape[1]
        return model

    def likelihood(self) -> float:
        """Return ln Pr[z], in nats."""
        return float(self.model.score(*self.data))

    def smoothing(self) -> Any:
        """Return the posteriors (T, K)."""
        return self.model.predict_proba(*self.data)

    def viterbi(self) -> Any:
        """Return the best path (T,)."""
        return self.model.decode(*self.data)[1]

    def learning(self) -> float:
        """Do the iterations of Baum-Welch; return the log-likelihood that the last but one reached."""
        model = self._new().fit(*self.data)
        return float(model.monitor_.history[-1])


class Deeptime:
    """The words of deeptime."""

    name = "deeptime"

    def __init__(self, given: Problem) -> None:
        from deeptime.markov.hmm import DiscreteOutputModel, HiddenMarkovModel

        outputs = DiscreteOutputModel(given.emission.copy())
        self.model = HiddenMarkovModel(given.transition.copy(), outputs, given.start.copy())
        ends = np.cumsum(given.lengths)[:-1]
        self.data = [np.ascontiguousarray(each) for each in np.split(given.z.astype(np.int32), ends)]

    def likelihood(self) -> float:
        """Return ln Pr[z], in nats."""
        return float(self.model.compute_observation_likelihood(self.data))

    def smoothing(self) -> Any:
        """Return the posteriors (T, K)."""
        from deeptime.markov.hmm._hmm_bindings import util

        matrix, start = self.model.transition_model.transition_matrix, self.model.initial_distribution
        states = len(start)
        longest = max(map(len, self.data))
        alpha, beta, counts = np.zeros((longest, states)), np.zeros((longest, states)), np.zeros((states, states))
        found = [np.zeros((len(z), states)) for z in self.data]
        for z, gamma in zip(self.data, found, strict=True):
            likelihoods = self.model.output_model.to_state_probability_trajectory(z)
            util.forward_backward(matrix, likelihoods, start, alpha, beta, gamma, counts, len(z))
        return np.concatenate(found)

    def viterbi(self) -> Any:
        """Return the best path (T,)."""
        return np.concatenate(self.model.compute_viterbi_paths(self.data))

    def learning(self) -> float:
        """Do the iterations of Baum-Welch; return the log-likelihood that the last but one reached."""
        from deeptime.markov.hmm import MaximumLikelihoodHMM

        estimator = MaximumLikelihoodHMM(
            self.model.copy(), lagtime=1, reversible=False, accuracy=-np.inf, maxit=ITERATIONS
        )
        return float(estimator.fit(self.data).fetch_model().likelihoods[-1])


SIDES = (Rlsuite, Hmmlearn, Deeptime)
