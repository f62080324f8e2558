"""Expectation maximisation for a POMDP under known actions: its parameters, its E-step and its M-step."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import partial, reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fits_in_memory
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.threads import at_the_same_time
from rlsuite.errors import ModelError
from rlsuite.inference import dirichlet
from rlsuite.inference.controlled_hmm.episode_passes import (
    Buffers,
    Counts,
    Episode,
    EpisodeArrays,
    EpisodeResults,
    Episodes,
    ExactEpisode,
    PomdpArrays,
    Steps,
    expected_counts,
    log_likelihoods,
    steps_of,
)
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.validation import pointers

MAX_BLOCKS = 8
"""Runs of episodes that are processed at the same time."""

MIN_THREAD_WORK = 1 << 16
"""Least number of steps times squared states in a block: about the work that outweighs handing it to a thread."""


# ------------------------------------------------------------------------------------------------- parameters


class Parameters(NamedTuple):
    """The parameters that are learned."""

    start: FloatArray
    """(S,)"""
    transition: FloatArray
    """(A, 2, S, S): Pr[s', whether the episode ends | s, a] at [a, ended, s, s']"""
    observation: FloatArray
    """(A, S, Z)"""
    reward: FloatArray
    """(S, A): mean reward of each pair"""


class Prior(NamedTuple):
    """Pseudo-counts, in the shapes of the parameters; the transitions as (A, S, 2 S)."""

    start: FloatArray
    transition: FloatArray
    observation: FloatArray


def parameters_of(model: POMDP) -> Parameters:
    """Return the parameters of a model as dense arrays.

    Raises
    ------
    ParameterError
        If they need more memory than there is.
    """
    states, actions = model.n_states, model.n_actions
    fits_in_memory(f"dense transitions of {states} states", 8 * 6 * actions * states * states)
    mdp = model.mdp
    transition = np.zeros((actions, 2, states, states))
    pair = mdp.pairs()
    position = (pair % actions, mdp.terminated.astype(np.int64), pair // actions, mdp.next_state)
    np.add.at(transition, position, mdp.probability)
    return Parameters(mdp.start, transition, model.observation, mdp.expected_reward())


def random_parameters(model: Parameters, frozen: AbstractSet[str], rng: np.random.Generator) -> Parameters:
    """Return random probabilities where those of `model` are positive."""
    actions, _, states, _ = model.transition.shape
    found = model
    if "start" not in frozen:
        found = found._replace(start=_random_rows(model.start, rng))
    if "transition" not in frozen:
        rows = _random_rows(by_row(model.transition), rng)
        found = found._replace(transition=by_matrix(rows, actions, states))
    if "observation" not in frozen:
        found = found._replace(observation=_random_rows(model.observation, rng))
    return found


def model_of(found: Parameters, like: POMDP, keep_rewards: bool) -> POMDP:
    """Return the model that has these parameters; the rest is that of `like`, and its rewards, too, if `keep_rewards`.

    Rewards that depend on the next state then stay with it, so that their mean follows the transitions.
    """
    mdp = like.mdp
    actions, _, states, _ = found.transition.shape
    rows = found.transition.transpose(2, 0, 1, 3).reshape(states * actions, 2 * states)
    pair, outcome = np.nonzero(rows)
    reward = found.reward.reshape(-1)[pair]
    if keep_rewards and not mdp.reward_per_pair:
        paid, weight = np.zeros(rows.shape), np.zeros(rows.shape)
        position = (mdp.pairs(), mdp.terminated * states + mdp.next_state)
        np.add.at(paid, position, mdp.probability * mdp.reward)
        np.add.at(weight, position, mdp.probability)
        known = weight[pair, outcome] > 0.0
        reward[known] = paid[pair, outcome][known] / weight[pair, outcome][known]
    indptr = pointers(np.bincount(pair, minlength=states * actions))
    learned = MDP.from_rows(
        indptr,
        outcome % states,
        rows[pair, outcome],
        reward,
        n_actions=actions,
        gamma=mdp.gamma,
        terminated=outcome >= states,
        start=found.start,
        reward_std=mdp.reward_std if keep_rewards else None,
        bernoulli=mdp.bernoulli if keep_rewards else None,
        state_labels=mdp.state_labels,
        action_labels=mdp.action_labels,
    )
    return POMDP(learned, found.observation, like.observation_labels)


def pseudo_counts(model: Parameters, prior: dirichlet.PseudoCounts) -> Prior:
    """Return one number, or nothing, as pseudo-counts of every possible outcome."""
    return Prior(
        dirichlet.pseudo_counts("prior", prior, model.start),
        dirichlet.pseudo_counts("prior", prior, by_row(model.transition)),
        dirichlet.pseudo_counts("prior", prior, model.observation),
    )


def by_row(transition: FloatArray) -> FloatArray:
    """Return transitions as (A, S, 2 S): one row of outcomes for each action and state."""
    actions, _, states, _ = transition.shape
    return transition.transpose(0, 2, 1, 3).reshape(actions, states, 2 * states)


def by_matrix(rows: FloatArray, actions: int, states: int) -> FloatArray:
    """Undo `by_row`: (A, 2, S, S)."""
    return np.ascontiguousarray(rows.reshape(actions, states, 2, states).transpose(0, 2, 1, 3))


def _random_rows(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    drawn = rng.exponential(size=rows.shape) * (rows > 0.0)
    total = drawn.sum(axis=-1, keepdims=True)
    return drawn / np.where(total > 0.0, total, 1.0)


# ------------------------------------------------------------------------------------------------- learning


class EpisodeEM:
    """The problem: episodes, the parameters that are learned, and the prior."""

    def __init__(
        self,
        steps: Steps,
        model: Parameters,
        *,
        prior: Prior | None = None,
        frozen: AbstractSet[str] = frozenset(),
        shared_observation: bool = False,
        reward_std: float | None = None,
        others: Steps | None = None,
    ) -> None:
        self.steps = steps
        self.prior = prior or pseudo_counts(model, None)
        self.frozen = frozen
        self.shared_observation = shared_observation
        self.reward_std = reward_std
        self.others = None if others is None else EpisodeEM(others, model, reward_std=reward_std)
        states = model.start.size
        self._blocks = _blocks(steps, states)
        self._known: FloatArray | None = None
        if (steps.state >= 0).any():
            self._known = np.ones((steps.state.size, states))
            known = np.flatnonzero(steps.state >= 0)
            self._known[known] = 0.0
            self._known[known, steps.state[known]] = 1.0

    @property
    def size(self) -> int:
        """Number of steps."""
        return self.steps.action.size

    def log_likelihood(self, model: Parameters) -> float:
        """Return ln Pr[all observations | all actions], in nats; minus infinity if it is impossible."""
        return float(self.log_likelihoods(model)[0].sum())

    def log_likelihoods(self, model: Parameters) -> tuple[FloatArray, IndexArray]:
        """Return the same for each episode (N,), and -1 or the number of steps that are possible (N,)."""
        evidence, shift = self._evidence(model)
        found, matrices, record = self._empty_results(), _matrices(model), self._record(evidence)
        tasks = [
            partial(log_likelihoods, matrices, record, *block, self._buffers(model), found) for block in self._blocks
        ]
        at_the_same_time(tasks)
        for e in np.flatnonzero(found.failed >= 0).tolist():
            alpha, failed = ExactEpisode(matrices, record, e).forward()
            found.failed[e] = failed
            found.log_likelihood[e] = -np.inf if failed >= 0 else np.logaddexp.reduce(alpha[-1])
        return found.log_likelihood + shift, found.failed

    def expect(self, model: Parameters, *, smoothing: bool = False) -> tuple[float, Counts]:
        """Return the log-likelihood and the expected counts of the hidden states."""
        evidence, shift = self._evidence(model)
        actions, states, symbols = model.observation.shape
        rows = self.steps.state.size if smoothing or self.reward_std is not None else 0
        smoothed = np.zeros((rows, states))
        parts = [
            Counts(
                np.zeros(states), np.zeros(model.transition.shape), np.zeros((actions, symbols + 1, states)), smoothed
            )
            for _ in self._blocks
        ]
        found, matrices, record = self._empty_results(), _matrices(model), self._record(evidence)
        tasks = [
            partial(expected_counts, matrices, record, *block, self._buffers(model), found, part)
            for block, part in zip(self._blocks, parts, strict=True)
        ]
        at_the_same_time(tasks)
        start, pairs, seen = (reduce(np.add, [part[field] for part in parts]) for field in range(3))
        counts = Counts(start, pairs * model.transition, seen, smoothed)
        for e in np.flatnonzero(found.failed >= 0).tolist():
            found.log_likelihood[e], found.failed[e] = ExactEpisode(matrices, record, e).count(counts)
        return float((found.log_likelihood + shift).sum()), counts

    def maximise(self, model: Parameters, counts: Counts) -> Parameters:
        """Return the relative frequencies from the counts; rows that were not visited stay as they are."""
        actions, _, states, _ = model.transition.shape
        found = model
        if "start" not in self.frozen:
            found = found._replace(start=dirichlet.most_probable(counts.start, self.prior.start, model.start))
        if "transition" not in self.frozen:
            rows = dirichlet.most_probable(by_row(counts.transition), self.prior.transition, by_row(model.transition))
            found = found._replace(transition=by_matrix(rows, actions, states))
        if "observation" not in self.frozen:
            seen, pseudo = counts.observation[:, :-1].transpose(0, 2, 1), self.prior.observation
            if self.shared_observation:
                seen, pseudo = (np.broadcast_to(each.sum(axis=0), each.shape) for each in (seen, pseudo))
            found = found._replace(observation=dirichlet.most_probable(seen, pseudo, model.observation))
        if self.reward_std is not None:
            found = self.with_rewards(found, counts)
        return found

    def with_rewards(self, model: Parameters, counts: Counts) -> Parameters:
        """Return the parameters with the mean reward of each pair, each weighted with the probability of its state."""
        if "reward" in self.frozen:
            return model
        there = ~np.isnan(self.steps.reward)
        weight = counts.smoothed[self.steps.before][there]
        reward, action = self.steps.reward[there], self.steps.action[there]
        earned, times = np.zeros(model.reward.shape), np.zeros(model.reward.shape)
        for a in range(model.reward.shape[1]):
            taken = action == a
            times[:, a] = weight[taken].sum(axis=0)
            earned[:, a] = reward[taken] @ weight[taken]
        visited = times > 1e-300
        return model._replace(reward=np.where(visited, earned / np.where(visited, times, 1.0), model.reward))

    def log_prior(self, model: Parameters) -> float:
        """Return the logarithm of the density of the parameters, in nats, up to a constant."""
        return (
            dirichlet.log_density(model.start, self.prior.start)
            + dirichlet.log_density(by_row(model.transition), self.prior.transition)
            + dirichlet.log_density(model.observation, self.prior.observation)
        )

    def held_out(self, model: Parameters) -> float:
        """Return the log-likelihood of the other episodes in nats, NaN if there are none."""
        return np.nan if self.others is None else self.others.log_likelihood(model)

    def explain_impossible(self, model: Parameters) -> str:
        """Return a sentence that names the first step that the model cannot explain."""
        failed = self.log_likelihoods(model)[1]
        if (failed < 0).all():
            return "the rewards are impossible under the model: pass a larger reward_std"
        episode = int(np.argmax(failed >= 0))
        if failed[episode] == 0:
            return f"episode {episode} is impossible under the model: it cannot begin in its known state"
        t = int(failed[episode]) - 1
        step = int(self.steps.first[episode]) + t
        z = int(self.steps.observation[step])
        seen = "a missing observation" if z == model.observation.shape[2] else f"observations[{t}]={z}"
        end = ", which ended it" if self.steps.ended[step] else ""
        return (
            f"episode {episode} is impossible under the model: after actions[{t}]={self.steps.action[step]}{end}, "
            f"{seen} has probability 0"
        )

    def exact_episode(self, model: Parameters, e: int) -> ExactEpisode:
        """Return one episode, for the passes in logarithms."""
        return ExactEpisode(_matrices(model), self._record(self._evidence(model)[0]), e)

    def _record(self, evidence: FloatArray) -> EpisodeArrays:
        steps = self.steps
        return EpisodeArrays(steps.action, steps.observation, steps.ended, steps.first, evidence)

    def _buffers(self, model: Parameters) -> Buffers:
        longest, states = self.steps.longest, model.start.size
        return Buffers(np.empty((longest + 1, states)), np.empty(longest + 1), np.empty((3, states)))

    def _empty_results(self) -> EpisodeResults:
        episodes = self.steps.first.size - 1
        return EpisodeResults(np.zeros(episodes), np.zeros(episodes, dtype=np.int64))

    def _evidence(self, model: Parameters) -> tuple[FloatArray, FloatArray]:
        """Return a factor for each hidden state (T + N, S) or (0, S), and the log of what was taken out (N,), nats."""
        nothing = np.zeros((0, model.start.size)), np.zeros(self.steps.first.size - 1)
        if self.reward_std is None:
            return nothing if self._known is None else (self._known, nothing[1])
        deviation = (self.steps.reward[:, np.newaxis] - model.reward.T[self.steps.action]) / self.reward_std
        logs = -0.5 * deviation**2 - np.log(self.reward_std * np.sqrt(2.0 * np.pi))
        logs[np.isnan(self.steps.reward)] = 0.0
        top = logs.max(axis=1)
        factor = np.ones((self.steps.state.size, model.start.size)) if self._known is None else self._known.copy()
        factor[self.steps.before] *= np.exp(logs - top[:, np.newaxis])
        return factor, np.add.reduceat(top, self.steps.first[:-1].astype(np.intp))


def _blocks(steps: Steps, states: int) -> list[tuple[int, int]]:
    """Divide the episodes into at most `MAX_BLOCKS` runs of about as many steps, always the same for the same data."""
    total = int(steps.first[-1])
    number = min(MAX_BLOCKS, steps.first.size - 1, max(1, total * states * states // MIN_THREAD_WORK))
    cuts = np.searchsorted(steps.first, total * np.arange(number + 1) // number)
    cuts[-1] = steps.first.size - 1
    return [(begin, end) for begin, end in pairwise(cuts.tolist()) if begin < end]


def _matrices(model: Parameters) -> PomdpArrays:
    actions, states, symbols = model.observation.shape
    seen = np.ones((actions, symbols + 1, states))
    seen[:, :symbols] = model.observation.transpose(0, 2, 1)
    transition = np.ascontiguousarray(model.transition)
    return PomdpArrays(np.array(model.start), transition, np.ascontiguousarray(transition.transpose(0, 1, 3, 2)), seen)


@says_what_to_write
def score_episodes(pomdp: POMDP, episodes: Episodes) -> float:
    """Return ln Pr[observations and ends | actions], summed over the episodes, in nats; minus infinity if impossible.

    Parameters
    ----------
    pomdp : POMDP
        The model. Rewards are not looked at.
    episodes : iterable of Episode or of tuples
        What was done and seen; states that are known count as seen.

    Raises
    ------
    ModelError
        If the episodes are malformed.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> coin = POMDP.from_arrays([[[0.5, 0.5]], [[0.5, 0.5]]], [0, 0], [[1, 0], [0, 1]], gamma=0.9)
    >>> float(np.exp(score_episodes(coin, [([0, 0, 0], [1, 0, 1])])).round(9))
    0.125
    """
    parameters = parameters_of(pomdp)
    return EpisodeEM(model_steps(pomdp, episodes), parameters).log_likelihood(parameters)


@says_what_to_write
def smooth_episode(
    pomdp: POMDP, actions: ArrayLike, observations: ArrayLike, *, terminated: bool = False
) -> FloatArray:
    """Return Pr[x_t = s | all actions and observations]: (T + 1, S) float64.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    actions, observations : array_like (T,) of int
        a_0..a_{T-1} and z_1..z_T; -1 is a missing observation.
    terminated : bool
        Whether the last step ended the episode.

    Raises
    ------
    ModelError
        If the episode is malformed, or impossible; the message says at which step.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> stay = POMDP.from_arrays([[[1, 0]], [[0, 1]]], [0, 0], [[0.8, 0.2], [0.2, 0.8]], gamma=0.9)
    >>> smooth_episode(stay, [0, 0], [0, 0])[0].round(4).tolist()
    [0.9412, 0.0588]
    """
    parameters = parameters_of(pomdp)
    problem = EpisodeEM(model_steps(pomdp, [Episode(actions, observations, None, terminated)]), parameters)
    score, counts = problem.expect(parameters, smoothing=True)
    if score == -np.inf:
        raise ModelError(problem.explain_impossible(parameters))
    return counts.smoothed


@says_what_to_write
def decode_episode(
    pomdp: POMDP, actions: ArrayLike, observations: ArrayLike, *, terminated: bool = False
) -> tuple[IndexArray, float]:
    """Return the most probable hidden states given all actions and observations (R89 eqs. 32-35).

    Parameters
    ----------
    pomdp, actions, observations, terminated
        As in `smooth_episode`.

    Returns
    -------
    states : ndarray (T + 1,) int64
        x_0..x_T; the first of equals.
    log_probability : float
        ln Pr[states, observations | actions], in nats.

    Raises
    ------
    ModelError
        If the episode is malformed, or impossible; the message says at which step.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> stay = POMDP.from_arrays([[[1, 0]], [[0, 1]]], [0, 0], [[0.8, 0.2], [0.2, 0.8]], gamma=0.9)
    >>> decode_episode(stay, [0, 0, 0], [1, 0, 1])[0].tolist()
    [1, 1, 1, 1]
    """
    parameters = parameters_of(pomdp)
    problem = EpisodeEM(model_steps(pomdp, [Episode(actions, observations, None, terminated)]), parameters)
    score, before = problem.exact_episode(parameters, 0).best()
    if score[-1].max() == -np.inf:
        raise ModelError(problem.explain_impossible(parameters))
    states = np.zeros(len(score), dtype=np.int64)
    states[-1] = score[-1].argmax()
    for i in range(len(before) - 1, -1, -1):
        states[i] = before[i, states[i + 1]]
    return states, float(score[-1].max())


def model_steps(model: POMDP, episodes: Episodes) -> Steps:
    """Return checked episodes of a model."""
    return steps_of(episodes, n_actions=model.n_actions, n_observations=model.n_observations, n_states=model.n_states)
