"""Grading an answer by what it is worth: a policy, values, probabilities, a path or a number.

An exercise knows the exact answer. So it takes every answer that is as good, whichever of several best actions it
chooses; of any other it names the first state that is wrong, and what that costs. What is right it keeps to itself,
unless `grade` is asked with ``reveal=True``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, fraction
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.narrowing import is_mapping, is_sequence
from rlsuite.errors import ParameterError
from rlsuite.inference import HMM
from rlsuite.inference.viterbi import decode, path_log_probability
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray
from rlsuite.models.policies import policy_weights
from rlsuite.models.validation import floats, number_of
from rlsuite.planning import Solution, solve
from rlsuite.planning.mdp.policy_evaluation import value_where_it_ends
from rlsuite.planning.operators import Lookahead

ROUNDED: Final = 1e-3
"""Relative error that rounding an answer to four digits stays below."""


@dataclass(frozen=True)
class Grade:
    """What an answer is worth.

    Attributes
    ----------
    points : float
        From 0 to 1. Only a correct answer gets 1.
    correct : bool
        Whether nothing is wrong.
    reason : str
        The first thing that is wrong, and what it costs; empty if nothing is.
    right : str
        What is right there, if `grade` was asked to reveal it.
    """

    points: float
    correct: bool
    reason: str = ""
    right: str = ""

    def __post_init__(self) -> None:
        if not self.correct:  # an answer that is almost right must not look right when it is rounded
            object.__setattr__(self, "points", min(max(self.points, 0.0), 0.99))

    def __str__(self) -> str:
        if self.correct:
            return "1 point of 1: correct"
        return f"{self.points:.2f} points of 1: {self.reason}{f'; {self.right}' if self.right else ''}"

    __repr__ = __str__


class Exercise(ABC):
    """A question with an exact answer; `grade` compares an answer with it."""

    question: str

    def grade(self, answer: object, *, reveal: bool = False) -> Grade:
        """Grade an answer; only ``reveal=True`` says what is right, as for `rlsuite.testing.grade`."""
        found = self.judged(answer)
        return found if reveal else replace(found, right="")

    @abstractmethod
    def judged(self, answer: object) -> Grade:
        """What an answer is worth, and what is right: whoever writes an exercise writes this."""


@says_what_to_write
def grade(answer: object, exercise: Exercise, *, reveal: bool = False) -> Grade:
    """Grade an answer to an exercise by the exact truth.

    Parameters
    ----------
    answer : object
        What the exercise asks for; its class says in which forms.
    exercise : Exercise
        One of `BestPolicy`, `Values`, `Probabilities`, `BestPath`, `Number`, or your own.
    reveal : bool
        Say what is right as well, for whoever corrects.

    Returns
    -------
    Grade
        Points from 0 to 1, and the first thing that is wrong.

    Raises
    ------
    ParameterError
        If the answer has a form that the exercise cannot read, and the message names the allowed ones; or if the
        optimal values of the exercise are not known to nine digits.

    Examples
    --------
    >>> import rlsuite as rl
    >>> corridor = rl.MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 10], [0, 0]], gamma=0.9)
    >>> exercise = rl.testing.BestPolicy(corridor, "Which way is best?")
    >>> rl.testing.grade([1, 1, -1], exercise)
    1 point of 1: correct
    >>> rl.testing.grade([1, 0, -1], exercise)
    0.00 points of 1: in state 1, action 0 costs 1.9
    >>> rl.testing.grade([1, 0, -1], exercise, reveal=True)
    0.00 points of 1: in state 1, action 0 costs 1.9; action 1 is best, and worth 10
    """
    if not isinstance(cast("object", exercise), Exercise):
        raise ParameterError(
            f"exercise={exercise!r} is not an exercise: write rlsuite.testing.BestPolicy(mdp) or Number(1.5)"
        )
    return exercise.grade(answer, reveal=reveal)


@dataclass(frozen=True, eq=False)
class BestPolicy(Exercise):
    """Find a best policy of a model.

    An answer is one action per state, by number or name: a sequence, or a mapping from states to actions; or (S, A)
    probabilities; or what has a policy: a solution, an agent. States without actions are left out, or have any entry.

    The points of a state are its share of the way from acting at random to acting optimally, v_random to v*; half a
    point where acting at random may go on for ever and the answer does not. Those of the answer are the mean over the
    states in which there is something to lose.

    Parameters
    ----------
    mdp : MDP
        The model.
    question : str
        What is asked.
    """

    mdp: MDP
    question: str = "Find a best policy."

    @cached_property
    def _solution(self) -> Solution:
        return _solved(self.mdp)

    @cached_property
    def _random(self) -> FloatArray:
        """(S,): the values of acting at random; minus infinity where that may never end."""
        legal = self.mdp.legal
        return _values(self.mdp, legal / np.maximum(legal.sum(axis=1, keepdims=True), 1))

    def judged(self, answer: object) -> Grade:
        """Compare an answer with the truth."""
        best, allowed = self._solution.value, _rounding(self._solution)
        given = policy = _policy(self.mdp, answer)
        illegal = _illegal(self.mdp, given)
        if illegal.any():  # as bad as the worst that is legal
            policy = np.where(illegal, np.where(self.mdp.legal, self._solution.q, np.inf).argmin(axis=1), given)
        weights = policy_weights(self.mdp.legal, policy)
        value = _values(self.mdp, weights)
        wrong = illegal | (value < best - allowed)
        if not wrong.any():
            return Grade(1.0, True)
        matters = wrong | (self._random < best - allowed)
        loss, way = best[matters] - value[matters], best[matters] - self._random[matters]
        shares = np.where(wrong[matters], np.where(np.isfinite(way), 0.0, 0.5), 1.0)
        measured = np.isfinite(loss) & np.isfinite(way) & (way > allowed)
        shares[measured] = 1.0 - loss[measured] / way[measured]
        shares[~np.isfinite(loss) | illegal[matters]] = 0.0
        if illegal.any():
            state = int(np.argmax(illegal))
            action = _name(int(given[state]), self.mdp.action_labels)
            reason = f"in state {_name(state, self.mdp.state_labels)}, action {action} is not legal"
        else:
            state, reason = self._first_wrong(weights, value, wrong)
        action = _name(int(self._solution.policy[state]), self.mdp.action_labels)
        right = f"action {action} is best, and worth {_amount(best[state])}"
        return Grade(float(np.clip(shares, 0.0, 1.0).mean()), False, reason, right)

    def _first_wrong(self, weights: FloatArray, value: FloatArray, wrong: BoolArray) -> tuple[int, str]:
        solution, mdp = self._solution, self.mdp
        loss = solution.value[:, None] - solution.q
        worse = (weights > 0.0) & (loss > _rounding(solution))
        if worse.any():
            state, action = map(int, np.argwhere(worse)[0])
            named = f"in state {_name(state, mdp.state_labels)}, action {_name(action, mdp.action_labels)}"
            return state, f"{named} costs {_amount(loss[state, action])}"
        state = int(np.argmax(wrong))  # each action is one of the best, and yet they never arrive
        name = _name(state, mdp.state_labels)
        if np.isfinite(value[state]):
            costs = _amount(solution.value[state] - value[state])
            return state, f"from state {name}, each action is a best one, but together they go round: it costs {costs}"
        return state, f"from state {name}, the policy may go on for ever"


@dataclass(frozen=True, eq=False)
class Values(Exercise):
    """Find the values of a model's states or actions: the best ones, or those of a policy.

    An answer is a sequence (S,) or a mapping from states to values, or (S, A) action values; or what has a `value`,
    as a solution does. Entries of states without actions are left out of the comparison.

    The points are the share of the states (or actions) whose values are right, within a thousandth of the largest one.

    Parameters
    ----------
    mdp : MDP
        The model.
    policy : array_like (S,) int, or (S, A) float, optional
        The policy whose values are asked for; by default the best one.
    question : str
        What is asked.

    Examples
    --------
    >>> import rlsuite as rl
    >>> corridor = rl.MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 10], [0, 0]], gamma=0.9)
    >>> rl.testing.grade([9, 9, 0], rl.testing.Values(corridor))
    0.50 points of 1: 9 is too small for state 1
    """

    mdp: MDP
    policy: ArrayLike | None = None
    question: str = "Find the value of each state."

    @cached_property
    def _value(self) -> FloatArray:
        given = self.policy
        value = (
            _solved(self.mdp).value
            if given is None
            else _values(self.mdp, policy_weights(self.mdp.legal, _policy(self.mdp, given)))
        )
        if not np.isfinite(value).all():
            state = _name(int(np.argmin(np.isfinite(value))), self.mdp.state_labels)
            raise ParameterError(f"from state {state} this policy may go on for ever; give one that ends, or gamma < 1")
        return value

    def judged(self, answer: object) -> Grade:
        """Compare an answer with the truth."""
        mdp = self.mdp
        acting = np.asarray(mdp.legal.any(axis=1))
        given = _numbers(getattr(answer, "value", answer), mdp.n_states, mdp.state_labels, acting)
        if given.shape == mdp.legal.shape and given.ndim == 2:
            truth, compared = Lookahead(mdp).q(self._value), mdp.legal
        elif given.shape == (mdp.n_states,):
            truth, compared = self._value, acting
        else:
            raise ParameterError(
                f"the answer has shape {given.shape}; allowed are ({mdp.n_states},) values of states and "
                f"{mdp.legal.shape} values of actions"
            )
        right = np.isclose(given, truth, rtol=0.0, atol=ROUNDED * np.abs(truth[compared]).max(initial=0.0))
        wrong = compared & ~right  # what is not a number is wrong
        if not wrong.any():
            return Grade(1.0, True)
        state, *action = map(int, np.argwhere(wrong)[0])
        where = f"state {_name(state, mdp.state_labels)}"
        if action:
            where = f"action {_name(action[0], mdp.action_labels)} in {where}"
        place = (state, *action)
        reason = f"{_beside(given[place], truth[place])} for {where}"
        return Grade(float(right[compared].mean()), False, reason, f"it is worth {_amount(truth[place])}")


@dataclass(frozen=True, eq=False)
class Probabilities(Exercise):
    """Find probabilities: a belief, or one in each row.

    The points are the share of the probabilities that are right, which is what differs by less than a thousandth. How
    far off the others are is not said: of two states it would give the answer away.

    Parameters
    ----------
    truth : array_like (N,) or (T, N)
        The exact probabilities.
    labels : sequence of str, optional
        Names of the N states.
    question : str
        What is asked.

    Raises
    ------
    ParameterError
        If a row of `truth` is not a distribution.

    Examples
    --------
    >>> import rlsuite as rl
    >>> exercise = rl.testing.Probabilities([0.85, 0.15], ["left", "right"])
    >>> rl.testing.grade({"left": 0.5, "right": 0.5}, exercise)
    0.00 points of 1: 0.5 is too small for state 'left'
    """

    truth: ArrayLike
    labels: Sequence[str] | None = None
    question: str = "Find the probability of each state."

    def __post_init__(self) -> None:
        truth = floats("truth", self.truth)
        if truth.ndim not in (1, 2) or not (truth >= 0.0).all() or (abs(truth.sum(axis=-1) - 1.0) > 1e-8).any():
            raise ParameterError("truth must have one distribution, or one in each row: probabilities that add up to 1")
        object.__setattr__(self, "truth", truth)

    @classmethod
    def of_belief(
        cls,
        pomdp: POMDP,
        actions: Sequence[int | str],
        observations: Sequence[int | str],
        question: str = "What is the belief after this?",
    ) -> Self:
        """Return the exercise that asks for the belief after some actions, each followed by an observation."""
        belief: Any = pomdp.start
        for action, observation in zip(actions, observations, strict=True):
            belief = pomdp.update_belief(belief, action, observation)
        return cls(belief, pomdp.state_labels, question)

    def judged(self, answer: object) -> Grade:
        """Compare an answer with the truth."""
        truth = cast("FloatArray", self.truth)
        states = int(truth.shape[-1])
        given = _numbers(answer, states, self.labels, np.ones(states, dtype=np.bool_))
        if given.shape != truth.shape:
            raise ParameterError(f"the answer has shape {given.shape}; the probabilities have shape {truth.shape}")
        if not np.isfinite(given).all():
            raise ParameterError("the answer has an entry that is not a finite number")
        wrong = np.abs(given - truth) > ROUNDED
        if not wrong.any():
            return Grade(1.0, True)
        *row, state = map(int, np.argwhere(wrong)[0])
        place = (*row, state)
        when = f" in row {row[0]}" if row else ""
        reason = f"{_beside(given[place], truth[place])} for state {_name(state, self.labels)}{when}"
        return Grade(1.0 - float(wrong.mean()), False, reason, f"its probability is {_amount(truth[place])}")


@dataclass(frozen=True, eq=False)
class BestPath(Exercise):
    """Find a most probable path of hidden states, as Viterbi's algorithm does.

    An answer is one state for each observation, by number or name. The points are its probability as a share of that
    of the best path, which several may have.

    Parameters
    ----------
    hmm : HMM
        The model.
    observations : array_like (T,)
        What was seen.
    question : str
        What is asked.

    Examples
    --------
    >>> import rlsuite as rl
    >>> stay, seen = [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]]
    >>> weather = rl.HMM(start=[0.5, 0.5], transition=stay, emission=seen, state_labels=["rain", "sun"])
    >>> exercise = rl.testing.BestPath(weather, [0, 0, 1])
    >>> rl.testing.grade(["rain", "rain", "rain"], exercise)
    0.29 points of 1: the best path is elsewhere than in 'rain' at time 2: this one is 3.43 times less probable
    """

    hmm: HMM
    observations: ArrayLike
    question: str = "Which path is most probable?"

    def judged(self, answer: object) -> Grade:
        """Compare an answer with the truth."""
        observations = np.asarray(self.observations)
        if not is_sequence(answer) and not isinstance(answer, np.ndarray):
            raise ParameterError(f"the answer {answer!r} is not a sequence of states, one for each observation")
        hmm, given = self.hmm, list(cast("Sequence[object]", answer))
        if len(given) != len(observations):
            raise ParameterError(f"the answer has {len(given)} states; there are {len(observations)} observations")
        states = np.array([number_of("state", _plain(one), hmm.n_states, hmm.state_labels) for one in given])
        best = decode(hmm, observations)
        ratio = float(np.subtract(*path_log_probability(hmm, [observations] * 2, [best, states])))
        if ratio <= 1e-9 * len(observations):
            return Grade(1.0, True)
        time = int(np.argmax(best != states))
        how = f"{np.exp(ratio):.3g} times less probable" if np.isfinite(ratio) else "impossible"
        reason = (
            f"the best path is elsewhere than in {_name(int(states[time]), hmm.state_labels)} at time {time}: this one "
            f"is {how}"
        )
        right = f"it is in {_name(int(best[time]), hmm.state_labels)} there"
        return Grade(float(np.exp(-ratio)), False, reason, right)


@dataclass(frozen=True, eq=False)
class Number(Exercise):
    """Find a number. It gets the point if it is right within `tolerance`, a share of the number, and nothing else.

    Parameters
    ----------
    value : float
        The exact number.
    tolerance : float
        By default a thousandth: four digits are enough. Of 0 the tolerance is taken as it is.
    question : str
        What is asked.

    Examples
    --------
    >>> import rlsuite as rl
    >>> rl.testing.grade(3.14, rl.testing.Number(3.14159))
    1 point of 1: correct
    """

    value: float
    tolerance: float = ROUNDED
    question: str = "Which number is it?"

    def __post_init__(self) -> None:
        finite_number("value", self.value)
        fraction("tolerance", self.tolerance)

    def judged(self, answer: object) -> Grade:
        """Compare an answer with the truth."""
        given = finite_number("the answer", _plain(answer))
        if abs(given - self.value) <= self.tolerance * (abs(self.value) or 1.0):
            return Grade(1.0, True)
        return Grade(0.0, False, _beside(given, self.value), f"it is {_amount(self.value)}")


def _beside(given: float, truth: float) -> str:
    if np.isnan(given):
        return "nan is not a number"
    return f"{_amount(given)} is too {'large' if given > truth else 'small'}"


def _solved(mdp: MDP) -> Solution:
    solution = solve(mdp)
    if not solution.converged:
        raise ParameterError(
            f"the optimal values are known within {solution.error_bound:.2g} only, too little to grade by; "
            "take a smaller gamma or a smaller model"
        )
    return solution


def _rounding(solution: Solution) -> float:
    """How much two equal values may differ: what is not known of them, and rounding."""
    return 4.0 * solution.error_bound + 1e-9 * float(np.abs(solution.value).max(initial=1.0))


def _values(mdp: MDP, weights: FloatArray) -> FloatArray:
    """(S,): the values of a policy; minus infinity where it may go on for ever, at gamma = 1."""
    return np.nan_to_num(value_where_it_ends(mdp, weights), nan=-np.inf, neginf=-np.inf, posinf=np.inf)


def _policy(mdp: MDP, answer: object) -> AnyArray:
    """Return a policy that is given in any form as one action per state, or as probabilities (S, A)."""
    given: Any = getattr(answer, "policy", answer)
    if callable(given):
        given = given()
    if is_mapping(given) or (is_sequence(given) and any(isinstance(one, str) for one in given)):
        actions = np.full(mdp.n_states, -1)
        named = given.items() if is_mapping(given) else enumerate(given)
        for state, action in named:
            at = number_of("state", _plain(state), mdp.n_states, mdp.state_labels)
            if mdp.legal[at].any():
                actions[at] = number_of("action", _plain(action), mdp.n_actions, mdp.action_labels)
        missing = np.flatnonzero((actions < 0) & mdp.legal.any(axis=1))
        if missing.size:
            raise ParameterError(f"the answer has no action for state {_name(int(missing[0]), mdp.state_labels)}")
        return actions
    return np.asarray(cast("ArrayLike", given))


def _illegal(mdp: MDP, policy: AnyArray) -> BoolArray:
    """(S,): where one action per state is given, and the one of this state is an action, but not legal there."""
    wrong = np.zeros(mdp.n_states, dtype=np.bool_)
    if policy.shape == wrong.shape and policy.dtype.kind in "iu":
        known = np.flatnonzero(mdp.legal.any(axis=1) & (policy >= 0) & (policy < mdp.n_actions))
        wrong[known] = ~mdp.legal[known, policy[known]]
    return wrong


def _numbers(answer: object, n: int, labels: Sequence[str] | None, needed: BoolArray) -> FloatArray:
    """Return numbers that are given as an array, or by state."""
    if not is_mapping(answer):
        try:
            return np.asarray(cast("ArrayLike", answer), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"the answer is not made of numbers: {error}; allowed are an array and a mapping from states to numbers"
            ) from error
    numbers = np.full(n, np.nan)
    for state, number in cast("Mapping[object, object]", answer).items():
        numbers[number_of("state", _plain(state), n, labels)] = finite_number("the answer", _plain(number))
    missing = np.flatnonzero(np.isnan(numbers) & needed)
    if missing.size:
        raise ParameterError(f"the answer has no number for state {_name(int(missing[0]), labels)}")
    return numbers


def _plain(given: object) -> object:
    return cast("object", given.item()) if isinstance(given, np.generic) else given


def _name(number: int, labels: Sequence[str] | None) -> str:
    return str(number) if labels is None else repr(labels[number])


def _amount(number: float) -> str:
    return f"{number:.6g}"
