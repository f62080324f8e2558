"""The probabilities of the hidden states along a sequence of observations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlsuite.cli.beliefs import cells, heads, names
from rlsuite.cli.output import number
from rlsuite.cli.step_input import MISSING, Steps, index
from rlsuite.errors import ParameterError
from rlsuite.inference import HMM, decode_episode, path_log_probability, smooth_episode
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray


@dataclass(frozen=True)
class Trail:
    """The observations at n times, and the probabilities of the hidden states at each."""

    state_labels: Sequence[str] | None
    seen: dict[str, list[str]]
    """The actions and observations, one text for each time; by "action" and "observation"."""
    given: dict[str, Any]
    """The same as numbers, for JSON."""
    beliefs: FloatArray
    """(n, K) float64: given the observations until then"""
    log_likelihood: float
    """nats"""
    smoothed: FloatArray | None
    """(n, K) float64: given all observations"""
    path: IndexArray | StateArray | None
    """(n,): the most probable states"""
    path_log_probability: float = np.nan
    """nats"""

    @property
    def states(self) -> list[str]:
        """Names of the hidden states."""
        return names(self.state_labels, self.beliefs.shape[1])

    def heads(self) -> list[str]:
        """Titles of the columns of a table."""
        path = [] if self.path is None else ["most probable path"]
        return [*self.seen, *heads(self.states), *path]

    def row(self, t: int) -> list[str]:
        """The row of a time in a table."""
        known = self.beliefs if self.smoothed is None else self.smoothed
        path = [] if self.path is None else [self.states[int(self.path[t])]]
        return [*(texts[t] for texts in self.seen.values()), *cells(known[t], self.states), *path]

    def facts(self) -> dict[str, Any]:
        """All of it, for JSON."""
        facts = {
            "state_labels": self.state_labels,
            **self.given,
            "beliefs": self.beliefs,
            "log_likelihood": self.log_likelihood,
        }
        if self.smoothed is not None:
            facts["smoothed"] = self.smoothed
        if self.path is not None:
            facts |= {"path": self.path, "path_log_probability": self.path_log_probability}
        return facts


def trail(model: HMM | POMDP, steps: Steps, *, smooth: bool, decode: bool) -> Trail:
    """Return the probabilities of the hidden states.

    Parameters
    ----------
    model : HMM or POMDP
        The model.
    steps : Steps
        The observations, and in a POMDP the actions before them.
    smooth, decode : bool
        What to compute besides the beliefs.

    Raises
    ------
    ParameterError
        If a name is unknown, or an observation of a POMDP is impossible; the message says at which step.
    ModelError
        If the hidden Markov model has no such observation, or it is impossible; the message says at which time.
    """
    if isinstance(model, HMM):
        return _of_hmm(model, steps, smooth, decode)
    return _of_pomdp(model, steps, smooth, decode)


def _of_hmm(model: HMM, steps: Steps, smooth: bool, decode: bool) -> Trail:
    z = model.emission.check(_numbers(model.emission.width, steps.observations))
    rows, log_scale = model.forward(z)
    path = model.decode(z) if decode else None
    missing = model.emission.missing(z)
    texts = [
        MISSING if is_missing else ", ".join(map(number, np.atleast_1d(one).tolist()))
        for one, is_missing in zip(z, missing, strict=True)
    ]
    return Trail(
        state_labels=model.state_labels,
        seen={"observation": texts},
        given={"observations": z},
        beliefs=rows,
        log_likelihood=float(log_scale[-1]),
        smoothed=model.smooth(z) if smooth else None,
        path=path,
        path_log_probability=np.nan if path is None else float(path_log_probability(model, z, path)[0]),
    )


def _numbers(width: int, observations: list[list[str]]) -> FloatArray:
    """Return observations (T,), or vectors of them (T, D), NaN where one is missing."""
    rows: list[list[float]] = []
    for t, words in enumerate(observations):
        if words == [MISSING]:
            words = [MISSING] * width
        if len(words) != width:
            raise ParameterError(f"the observation at t={t} has {len(words)} numbers, not {width}")
        rows.append([_number(t, word) for word in words])
    z = np.array(rows)
    return z[:, 0] if width == 1 else z


def _number(t: int, word: str) -> float:
    try:
        return np.nan if word == MISSING else float(word)
    except ValueError:
        raise ParameterError(
            f"the observation {word!r} at t={t} is not a number; {MISSING} stands for a missing one"
        ) from None


def _of_pomdp(pomdp: POMDP, steps: Steps, smooth: bool, decode: bool) -> Trail:
    words = [word for (word,) in steps.observations]
    actions = [index("action", word, pomdp.action_labels, pomdp.n_actions) for word in steps.actions]
    observations = [
        -1 if word in (MISSING, "-1") else index("observation", word, pomdp.observation_labels, pomdp.n_observations)
        for word in words
    ]
    beliefs, log_likelihood = _followed(pomdp, actions, observations)
    path, score = decode_episode(pomdp, actions, observations) if decode else (None, np.nan)
    done, seen = names(pomdp.action_labels, pomdp.n_actions), names(pomdp.observation_labels, pomdp.n_observations)
    return Trail(
        state_labels=pomdp.state_labels,
        seen={
            "action": ["", *(done[a] for a in actions)],
            "observation": ["", *(MISSING if z < 0 else seen[z] for z in observations)],
        },
        given={"actions": actions, "observations": observations},
        beliefs=beliefs,
        log_likelihood=log_likelihood,
        smoothed=smooth_episode(pomdp, actions, observations) if smooth else None,
        path=path,
        path_log_probability=score,
    )


def _followed(pomdp: POMDP, actions: list[int], observations: list[int]) -> tuple[FloatArray, float]:
    """Return the beliefs (T + 1, S) before the first step and after each, and the log-likelihood in nats."""
    beliefs = np.empty((len(actions) + 1, pomdp.n_states))
    beliefs[0] = pomdp.start
    log_likelihood = 0.0
    for t, (action, z) in enumerate(zip(actions, observations, strict=True)):
        try:
            pomdp.predict(beliefs[t], action)  # raises if the action is illegal
            if z >= 0:
                joint = pomdp.joint(beliefs[t], action, z)
            else:
                joint = np.sum([pomdp.joint(beliefs[t], action, one) for one in range(pomdp.n_observations)], axis=0)
            if not joint.any():
                seen = "an observation" if z < 0 else f"observation={z}"
                raise ParameterError(f"{seen} cannot follow action={action} in this belief while the episode goes on")
        except ParameterError as error:
            raise ParameterError(f"step {t + 1}: {error}") from error
        total = float(joint.sum())
        beliefs[t + 1] = joint / total
        log_likelihood += float(np.log(total))
    return beliefs, log_likelihood
