"""The same passes over an episode in logarithms, for probabilities that are too small for doubles.

A state that explains a thousand observations a little worse than another is less probable than 1e-308, and would be
lost; if it explains the next thousand better, it was the true one. That is rare, so speed does not matter here.
"""

import numpy as np

from rlsuite.inference.controlled_hmm.episode_kernels import Counts, EpisodeArrays, PomdpArrays
from rlsuite.models.aliases import FloatArray, IndexArray


class ExactEpisode:
    """One episode under a model.

    Parameters
    ----------
    model : PomdpArrays
        The model.
    record : EpisodeArrays
        The episodes.
    e : int
        Which of them.
    """

    def __init__(self, model: PomdpArrays, record: EpisodeArrays, e: int) -> None:
        begin, end = int(record.first[e]), int(record.first[e + 1])
        self.length = end - begin
        self.states = slice(begin + e, end + e + 1)
        action, ended = record.action[begin:end], record.ended[begin:end]
        observation = record.observation[begin:end]
        self._place: list[tuple[int, int, int]] = np.column_stack([action, ended, observation]).tolist()
        with np.errstate(divide="ignore"):
            self._transition: FloatArray = np.log(model.transition)
            self._seen: FloatArray = np.zeros((self.length + 1, model.start.size))
            self._seen[0] = np.log(model.start)
            self._seen[1:] = np.log(model.likelihood[action, observation])
            if len(record.evidence):
                self._seen += np.log(record.evidence[self.states])

    def forward(self) -> tuple[FloatArray, int]:
        """Return ln Pr[x_i, what was seen until then] (L + 1, S), and -1 or the number of steps that are possible."""
        alpha = self._seen.copy()
        for i in range(self.length + 1):
            if i > 0:
                alpha[i] += np.logaddexp.reduce(alpha[i - 1][:, np.newaxis] + self._step(i - 1), axis=0)
            if alpha[i].max() == -np.inf:
                return alpha, i
        return alpha, -1

    def backward(self) -> FloatArray:
        """Return ln Pr[what is seen afterwards | x_i]: (L + 1, S)."""
        beta = np.zeros(self._seen.shape)
        for i in range(self.length - 1, -1, -1):
            beta[i] = np.logaddexp.reduce(self._step(i) + self._seen[i + 1] + beta[i + 1], axis=1)
        return beta

    def best(self) -> tuple[FloatArray, IndexArray]:
        """Return ln of the probability of the best path to each state (L + 1, S), and the state before it (L, S)."""
        score = self._seen.copy()
        before = np.zeros((self.length, score.shape[1]), dtype=np.int64)
        for i in range(1, self.length + 1):
            each = score[i - 1][:, np.newaxis] + self._step(i - 1)
            before[i - 1] = each.argmax(axis=0)
            score[i] += each.max(axis=0)
        return score, before

    def count(self, counts: Counts) -> tuple[float, int]:
        """Add to `counts`, whose pairs have been multiplied by the matrix already.

        Return the log-likelihood and -1; or, if the episode is impossible, minus infinity and the number of steps that
        are possible.
        """
        alpha, failed = self.forward()
        if failed >= 0:
            return -np.inf, failed
        beta = self.backward()
        total = float(np.logaddexp.reduce(alpha[-1]))
        gamma = np.exp(alpha + beta - total)
        gamma /= gamma.sum(axis=1, keepdims=True)  # 1 but for rounding
        counts.start[:] += gamma[0]
        for i, (action, ended, observation) in enumerate(self._place):
            pairs = alpha[i][:, np.newaxis] + self._step(i) + self._seen[i + 1] + beta[i + 1] - total
            counts.transition[action, ended] += np.exp(pairs)
            counts.observation[action, observation] += gamma[i + 1]
        if len(counts.smoothed):
            counts.smoothed[self.states] = gamma
        return total, -1

    def _step(self, i: int) -> FloatArray:
        """Return the logarithms of the matrix of a step: (S, S)."""
        action, ended, _ = self._place[i]
        return self._transition[action, ended]
