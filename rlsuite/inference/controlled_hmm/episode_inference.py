"""Inference in a POMDP under known actions, with the functions of a hidden Markov model.

Given the actions, the hidden states are a Markov chain whose matrix at time t is that of a_t, and whose observation is
drawn from O[a_t, x_{t+1}, z], so the passes of R89 apply. The last belief is what `POMDP.update_belief` ends with.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError
from rlsuite.inference.controlled_hmm.episode_em import EpisodeEM, parameters_of
from rlsuite.inference.controlled_hmm.episodes import Episode, Episodes, Steps, steps_of
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray


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
