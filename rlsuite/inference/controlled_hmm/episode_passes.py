"""The passes over episodes of a hidden process with actions, compiled, and in logarithms.

An episode is a_0, z_1, a_1, z_2, ..., with hidden states x_0, x_1, ...: action a_t leads from x_t to x_{t+1}, which
emits z_{t+1}. The recursions of R89 (eqs. 20 and 25) hold with the matrix of the action taken; whether the step ended
the episode is observed as well, so there is one matrix for steps that did and one for those that did not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.compilation import compiled
from rlsuite.errors import ModelError
from rlsuite.inference.emissions.base import whole_numbers
from rlsuite.models import validation
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray


class Episode(NamedTuple):
    """T steps: in the hidden state x_t the action a_t is taken, which leads to x_{t+1}, where z_{t+1} is seen.

    Examples
    --------
    >>> Episode(actions=[0, 0, 2], observations=[1, 1, 0], rewards=[-1, -1, 10]).terminated
    False
    """

    actions: ArrayLike
    """(T,) int: a_0..a_{T-1}"""
    observations: ArrayLike
    """(T,) int: z_1..z_T, -1 where one is missing"""
    rewards: ArrayLike | None = None
    """(T,) float: r_1..r_T, NaN where one is missing"""
    terminated: bool = False
    """whether the last step ended the episode, so that nothing follows it; not whether it was cut off"""
    states: ArrayLike | None = None
    """(T + 1,) int: x_0..x_T as far as they are known, -1 where they are not"""


Episodes: TypeAlias = Iterable[Episode | tuple[ArrayLike, ...]]


class Steps(NamedTuple):
    """N episodes laid end to end, T steps in all."""

    action: IndexArray
    """(T,)"""
    observation: IndexArray
    """(T,), Z for one that is missing"""
    reward: FloatArray
    """(T,), NaN for one that is missing"""
    ended: IndexArray
    """(T,), 1 where the episode ended"""
    state: IndexArray
    """(T + N,), -1 for one that is not known; episode e has the rows ``first[e] + e`` to ``first[e + 1] + e``"""
    first: IndexArray
    """(N + 1,): where each episode begins"""
    n_observations: int
    """Z"""

    @property
    def before(self) -> BoolArray:
        """(T + N,) bool: whether a step follows, which is not so for the last state of each episode."""
        mask = np.ones(self.state.size, dtype=np.bool_)
        mask[self.first[1:] + np.arange(self.first.size - 1)] = False
        return mask

    @property
    def longest(self) -> int:
        """Steps of the longest episode."""
        return int(np.diff(self.first).max())


def steps_of(episodes: Episodes, *, n_actions: int | None, n_observations: int | None, n_states: int | None) -> Steps:
    """Return checked episodes.

    Parameters
    ----------
    episodes : iterable of Episode or tuple
        A tuple has the fields of an `Episode`, in their order.
    n_actions, n_observations, n_states : int, optional
        Bounds of the numbers, if they are known.

    Raises
    ------
    ModelError
        If there are none, one is empty, its parts differ in length, or a number is out of range.
    """
    listed = [_steps(one, n, n_actions, n_observations, n_states) for n, one in enumerate(episodes)]
    if not listed:
        raise ModelError("there are no episodes: at least one is needed")
    symbols = n_observations or max(1, max(int(each.observation.max()) for each in listed) + 1)
    joined = [np.concatenate([each[field] for each in listed]) for field in range(5)]
    observation = np.where(joined[1] < 0, symbols, joined[1])
    first = np.cumsum([0, *(each.action.size for each in listed)])
    return Steps(joined[0], observation, joined[2], joined[3], joined[4], first, symbols)


def _steps(
    given: Episode | tuple[ArrayLike, ...],
    number: int,
    n_actions: int | None,
    n_observations: int | None,
    n_states: int | None,
) -> Steps:
    try:
        if not isinstance(cast("object", given), tuple) or not 2 <= len(given) <= len(Episode._fields):
            raise ModelError("it is neither an Episode nor a tuple (actions, observations, ...)")
        episode = Episode(*cast("tuple[ArrayLike, ArrayLike]", given))
        action = _numbers("actions", episode.actions, n_actions, None)
        length = action.size
        if length == 0:
            raise ModelError("it has no actions: leave it out")
        if (action < 0).any():
            raise ModelError(f"actions[{int(np.argmax(action < 0))}] is missing; every action has to be known")
        observation = _numbers("observations", episode.observations, n_observations, length)
        reward = np.full(length, np.nan)
        if episode.rewards is not None:
            reward = np.asarray(validation.array("rewards", episode.rewards), dtype=np.float64)
            validation.shape("rewards", reward, (length,), meaning="one for each action")
            if np.isinf(reward).any():
                raise ModelError(f"rewards[{int(np.argmax(np.isinf(reward)))}] is infinite")
        state = np.full(length + 1, -1, dtype=np.int64)
        if episode.states is not None:
            state = _numbers("states", episode.states, n_states, length + 1)
    except ModelError as cause:
        raise ModelError(f"episode {number}: {cause}") from cause
    ended = np.zeros(length, dtype=np.int64)
    ended[-1] = bool(episode.terminated)
    return Steps(action, observation, reward, ended, state, np.array([0, length]), 0)


def _numbers(name: str, given: ArrayLike, below: int | None, length: int | None) -> IndexArray:
    try:
        numbers = whole_numbers(given, name, below)
    except ModelError as cause:
        raise ModelError(str(cause).replace("z[t=", f"{name}[").replace("z has", f"{name} has")) from cause
    if numbers.ndim != 1 or (length is not None and numbers.size != length):
        raise ModelError(f"{name} has shape {numbers.shape}, not ({'T' if length is None else length},)")
    return numbers


UNDERFLOW = 2.3e-308
"""Smallest probability that has all its digits; of a smaller one, 1 / p would overflow.

A state that is less probable than that is dropped, and might explain all that follows better than the others.
"""


class PomdpArrays(NamedTuple):
    """The model."""

    start: FloatArray
    """(S,)"""
    transition: FloatArray
    """(A, 2, S, S): Pr[s', ended | s, a] at [a, ended, s, s']"""
    transposed: FloatArray
    """(A, 2, S, S): the same at [a, ended, s', s]"""
    likelihood: FloatArray
    """(A, Z + 1, S): Pr[z | a, s'] at [a, z, s'], and 1 at z = Z, where the observation is missing"""


class EpisodeArrays(NamedTuple):
    """N episodes end to end, T steps in all."""

    action: IndexArray
    """(T,)"""
    observation: IndexArray
    """(T,)"""
    ended: IndexArray
    """(T,)"""
    first: IndexArray
    """(N + 1,): the step at which each episode begins"""
    evidence: FloatArray
    """(T + N, S): a factor for each state before each step and after the last; or (0, S)"""


class Buffers(NamedTuple):
    """The arrays of the passes over one episode, of L steps at most."""

    alpha: FloatArray
    """(L + 1, S): Pr[x_i = s | what was seen until then]"""
    sums: FloatArray
    """(L + 1,): the factors of the likelihood"""
    work: FloatArray
    """(3, S)"""


class EpisodeResults(NamedTuple):
    """The results of the passes for each episode."""

    log_likelihood: FloatArray
    """(N,), nats"""
    failed: IndexArray
    """(N,): the step where the pass gave up, see `UNDERFLOW`, or -1; in the end how many steps are possible"""


class Counts(NamedTuple):
    """Expected counts of the hidden states."""

    start: FloatArray
    """(S,)"""
    transition: FloatArray
    """(A, 2, S, S); as the pass leaves it, still to be multiplied by the probabilities"""
    observation: FloatArray
    """(A, Z + 1, S)"""
    smoothed: FloatArray
    """(T + N, S): Pr[x_t = s | the whole episode]; or (0, S) if it is not asked for"""


@compiled(in_place=True)
def _filter(model: PomdpArrays, record: EpisodeArrays, e: int, buffers: Buffers) -> int:
    """Fill `alpha` and `sums` for episode e; return -1, or the step at which no state is left, or one is dropped."""
    start, alpha, evidence = model.start, buffers.alpha, record.evidence
    begin, end = record.first[e], record.first[e + 1]
    states = start.size
    for i in range(end - begin + 1):
        if i == 0:
            for s in range(states):
                alpha[0, s] = start[s]
        else:
            t = begin + i - 1
            matrix = model.transition[record.action[t], record.ended[t]]
            likelihood = model.likelihood[record.action[t], record.observation[t]]
            for n in range(states):
                alpha[i, n] = 0.0
            for s in range(states):
                weight = alpha[i - 1, s]
                if weight > 0.0:
                    for n in range(states):
                        alpha[i, n] += weight * matrix[s, n]
            for n in range(states):
                alpha[i, n] *= likelihood[n]
        if evidence.shape[0] > 0:
            for s in range(states):
                alpha[i, s] *= evidence[begin + e + i, s]
        total = 0.0
        for s in range(states):
            total += alpha[i, s]
        buffers.sums[i] = total
        if not total > UNDERFLOW:
            return i
        for s in range(states):
            alpha[i, s] /= total
            if 0.0 < alpha[i, s] < UNDERFLOW:
                return i
    return -1


@compiled(in_place=True)
def log_likelihoods(
    model: PomdpArrays, record: EpisodeArrays, begin_e: int, end_e: int, buffers: Buffers, found: EpisodeResults
) -> None:
    """Fill `found` for a range of episodes."""
    for e in range(begin_e, end_e):
        found.failed[e] = _filter(model, record, e, buffers)
        found.log_likelihood[e] = 0.0 if found.failed[e] < 0 else -np.inf
        if found.failed[e] < 0:
            for i in range(record.first[e + 1] - record.first[e] + 1):
                found.log_likelihood[e] += math.log(buffers.sums[i])


@compiled(in_place=True)
def expected_counts(
    model: PomdpArrays,
    record: EpisodeArrays,
    begin_e: int,
    end_e: int,
    buffers: Buffers,
    found: EpisodeResults,
    counts: Counts,
) -> None:
    """Fill `found` for a range of episodes, and add to `counts` (`smoothed` is filled)."""
    alpha, sums, evidence = buffers.alpha, buffers.sums, record.evidence
    beta, weighted, gamma = buffers.work[0], buffers.work[1], buffers.work[2]
    states = model.start.size
    for e in range(begin_e, end_e):
        begin, end = record.first[e], record.first[e + 1]
        found.failed[e] = _filter(model, record, e, buffers)
        found.log_likelihood[e] = 0.0 if found.failed[e] < 0 else -np.inf
        if found.failed[e] >= 0:
            continue
        for i in range(end - begin, -1, -1):
            found.log_likelihood[e] += math.log(sums[i])
            if i == end - begin:
                for s in range(states):
                    beta[s] = 1.0
            else:
                a, d, z = record.action[begin + i], record.ended[begin + i], record.observation[begin + i]
                # weighted[n] = Pr[z_{i+1} and all later ones | x_{i+1} = n], divided by the factors of the filter
                for n in range(states):
                    factor = evidence[begin + e + i + 1, n] if evidence.shape[0] > 0 else 1.0
                    weighted[n] = model.likelihood[a, z, n] * factor * beta[n] / sums[i + 1]
                    beta[n] = 0.0
                for n in range(states):
                    if weighted[n] > 0.0:
                        for s in range(states):
                            beta[s] += weighted[n] * model.transposed[a, d, n, s]
                for s in range(states):
                    if alpha[i, s] > 0.0:
                        for n in range(states):
                            counts.transition[a, d, s, n] += alpha[i, s] * weighted[n]
            # beta is at most 1 / alpha; that of an impossible state has no bound, and could turn 0 * inf into NaN
            total = 0.0
            for s in range(states):
                if alpha[i, s] == 0.0:
                    beta[s] = 0.0
                total += alpha[i, s] * beta[s]
            for s in range(states):
                beta[s] /= total  # 1 up to rounding
                gamma[s] = alpha[i, s] * beta[s]
            if counts.smoothed.shape[0] > 0:
                for s in range(states):
                    counts.smoothed[begin + e + i, s] = gamma[s]
            if i > 0:
                for s in range(states):
                    counts.observation[record.action[begin + i - 1], record.observation[begin + i - 1], s] += gamma[s]
            else:
                for s in range(states):
                    counts.start[s] += gamma[s]


# ------------------------------------------------------------------------------------------------- in logarithms


class ExactEpisode:
    """One episode under a model, for probabilities that are too small for doubles.

    A state that explains a thousand observations a little worse than another is less probable than 1e-308, and would be
    lost; if it explains the next thousand better, it was the true one. That is rare, so speed does not matter here.

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
        self._position: list[tuple[int, int, int]] = np.column_stack([action, ended, observation]).tolist()
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
        gamma /= gamma.sum(axis=1, keepdims=True)  # 1 up to rounding
        counts.start[:] += gamma[0]
        for i, (action, ended, observation) in enumerate(self._position):
            pairs = alpha[i][:, np.newaxis] + self._step(i) + self._seen[i + 1] + beta[i + 1] - total
            counts.transition[action, ended] += np.exp(pairs)
            counts.observation[action, observation] += gamma[i + 1]
        if len(counts.smoothed):
            counts.smoothed[self.states] = gamma
        return total, -1

    def _step(self, i: int) -> FloatArray:
        """Return the logarithms of the matrix of a step: (S, S)."""
        action, ended, _ = self._position[i]
        return self._transition[action, ended]
