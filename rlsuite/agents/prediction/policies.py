"""The policies of predictors: probabilities of actions, the policy that is followed, and importance sampling ratios.

A table of values keeps a row of the policy for each state: running sums of the probabilities. With features it is a
table of probabilities. It has one row if it is the same whatever is observed, a row for each id, or no row: then all
legal actions are equally likely.
"""

from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import MaskedMemory, is_legal
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.compilation import compiled
from rlsuite.errors import ParameterError
from rlsuite.models.validation import ROW_SUM_TOLERANCE


class FollowingMemory(MaskedMemory, Protocol):
    """A memory with the policy that is followed."""

    @property
    def behaviour(self) -> NDArray[np.float64]:
        """The policy that is followed, shape (n_policy_rows, n_actions)."""
        ...


class ComparingMemory(FollowingMemory, Protocol):
    """A memory with the policy that is evaluated as well."""

    @property
    def target(self) -> NDArray[np.float64]:
        """The policy that is evaluated, shape (n_policy_rows, n_actions); (0, 0) if it is the same."""
        ...


@compiled(in_place=True)
def _follow_mask(memory: FollowingMemory, state: int, forbidden: int, rng: np.random.Generator) -> int:
    """Draw an action of the policy that is legal now; if the policy takes none of these, the forbidden one."""
    total = before = 0.0
    for action in range(memory.behaviour.shape[1]):
        if is_legal(memory, state, action):
            total += memory.behaviour[state, action] - before
        before = memory.behaviour[state, action]
    u = rng.random() * total
    choice = forbidden
    reached = before = 0.0
    for action in range(memory.behaviour.shape[1]):
        probability = memory.behaviour[state, action] - before
        before = memory.behaviour[state, action]
        if probability > 0.0 and is_legal(memory, state, action):
            choice = action
            reached += probability
            if u < reached:
                break
    return choice


@compiled(in_place=True)
def follow(memory: FollowingMemory, state: int, rng: np.random.Generator) -> int:
    """Draw an action of the policy; where a mask forbids it, draw again among those that the mask allows."""
    last = memory.behaviour.shape[1] - 1
    u = rng.random() * memory.behaviour[state, last]
    choice = last
    for action in range(last):
        if u < memory.behaviour[state, action]:
            choice = action
            break
    return choice if is_legal(memory, state, choice) else _follow_mask(memory, state, choice, rng)


@compiled(in_place=True)
def probability(
    memory: MaskedMemory, policy: NDArray[np.float64], observation: NDArray[np.float64], row: int, action: int
) -> float:
    """Return pi(a | s): a policy's probability of an action, for an observation whose legal actions are in a row."""
    if policy.shape[0] == 0:
        n_legal = 0
        for other in range(memory.legal.shape[1]):
            n_legal += is_legal(memory, row, other)
        return 1.0 / n_legal if is_legal(memory, row, action) else 0.0
    return policy[int(observation[0]) if policy.shape[0] > 1 else 0, action]


@compiled(in_place=True)
def follow_policy(memory: FollowingMemory, observation: NDArray[np.float64], row: int, rng: np.random.Generator) -> int:
    """Draw an action of the policy that is followed."""
    n_actions = memory.legal.shape[1]
    total = 0.0
    for action in range(n_actions):
        total += probability(memory, memory.behaviour, observation, row, action)
    u = rng.random() * total
    reached = 0.0
    for action in range(n_actions):
        reached += probability(memory, memory.behaviour, observation, row, action)
        if u < reached:
            return action
    return n_actions - 1


@compiled(in_place=True)
def ratio_of_policies(memory: ComparingMemory, observation: NDArray[np.float64], row: int, action: int) -> float:
    """Return rho = pi(a | s) / b(a | s): how much likelier the policy to evaluate takes the action that was taken.

    It is 1 where the policy that is followed is the one that is evaluated (S&B2 eq. 11.1).
    """
    if memory.target.shape[1] == 0:
        return 1.0
    wanted = probability(memory, memory.target, observation, row, action)
    return wanted / probability(memory, memory.behaviour, observation, row, action)


def policy_table(name: str, policy: object) -> NDArray[np.float64] | None:
    """Return a policy as probabilities (n_rows, n_actions); None for equally likely actions.

    Parameters
    ----------
    name : str
        Of the argument, for messages.
    policy : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities.

    Raises
    ------
    ParameterError
        If it has another shape, or a row is not a distribution.

    Examples
    --------
    >>> policy_table("policy_to_follow", [0.25, 0.75])
    array([[0.25, 0.75]])
    """
    if policy is None:
        return None
    allowed = "probabilities (n_actions,) for all observations alike, or (n_ids, n_actions), a row for each id"
    given = cast("ArrayLike", policy)
    try:
        table = np.atleast_2d(np.array(given, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} is not an array of numbers ({error}); allowed are {allowed}") from error
    if table.ndim != 2 or table.size == 0:
        raise ParameterError(f"{name} has shape {np.shape(given)}; allowed are {allowed}")
    bad = ~((table >= 0.0).all(axis=1) & (np.abs(table.sum(axis=1) - 1.0) <= ROW_SUM_TOLERANCE))
    if bad.any():
        row = int(np.argmax(bad))
        raise ParameterError(f"{name}, row {row}: {table[row].tolist()} is not a probability distribution")
    return table


def check_size(name: str, table: NDArray[np.float64] | None, n_actions: int, n_ids: int) -> None:
    """Raise ParameterError unless a policy suits an environment; ``n_ids=0`` if its observations are not ids."""
    if table is None:
        return
    if table.shape[1] != n_actions:
        raise ParameterError(f"{name} is for {table.shape[1]} actions, but the environment has {n_actions}")
    if len(table) > 1 and len(table) != n_ids:
        there = (
            f"has {n_ids} ids; give {n_ids} rows or one" if n_ids else "has observations that are not ids; give one row"
        )
        raise ParameterError(f"{name} has {len(table)} rows, but the environment {there}")


def check_coverage(followed: NDArray[np.float64] | None, evaluated: NDArray[np.float64] | None) -> None:
    """Raise ParameterError if an action that is evaluated is never taken (the assumption of coverage, S&B2 p. 103)."""
    if followed is None or evaluated is None:
        return
    if followed.shape[1] != evaluated.shape[1] or min(len(followed), len(evaluated)) not in (1, len(followed)):
        raise ParameterError(
            f"policy_to_follow has shape {followed.shape}, and policy_to_evaluate {evaluated.shape}; both need "
            "the same number of columns, and of rows unless one has a single row"
        )
    missing = np.argwhere((evaluated > 0.0) & (followed == 0.0))
    if missing.size:
        row, action = missing[0]
        raise ParameterError(
            f"policy_to_evaluate takes action {action} (row {row}), which policy_to_follow never takes; so its "
            "value cannot be learned"
        )
