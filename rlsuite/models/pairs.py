"""From one row per state-action pair, the layout of QuantEcon's `DiscreteDP`, to rows.

``R[l]`` and ``Q[l, s']`` belong to the pair (``s_indices[l]``, ``a_indices[l]``). Pairs that are not listed, or whose
reward is minus infinity, are illegal.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.core.checks import whole_number
from rlsuite.errors import ModelError
from rlsuite.models import row_checks, validation
from rlsuite.models.aliases import AnyArray, BoolArray, IndexArray, Rows, SparseLike


def rows_from_pairs(
    R: ArrayLike,
    Q: ArrayLike | SparseLike,
    s_indices: ArrayLike,
    a_indices: ArrayLike,
    *,
    n_actions: int | None,
    terminated: ArrayLike | None,
) -> tuple[Rows, int, BoolArray]:
    """Return the rows, the number of actions, and the states (S,) bool in which an episode may start by default."""
    matrix = _matrix(Q)
    listed, states = (int(i) for i in matrix.shape)
    if listed < 1 or states < 1:
        raise ModelError(f"Q has shape {(listed, states)}; at least one pair and one state are needed")
    state = _indices("s_indices", s_indices, listed, states)
    action = _indices("a_indices", a_indices, listed, None)
    actions = int(action.max()) + 1 if n_actions is None else whole_number("n_actions", n_actions)
    if action.max() >= actions:
        at = int(np.argmax(action >= actions))
        raise ModelError(f"a_indices[{at}] is {action[at]}; the actions are 0..{actions - 1}")
    given: AnyArray = validation.array("R", R).astype(np.float64)
    validation.shape("R", given, (listed,), meaning="one reward per pair")
    pair = state * actions + action
    feasible = ~np.isneginf(given)
    order = np.arange(listed)
    if not feasible.all() or (pair[1:] <= pair[:-1]).any():
        order = np.argsort(pair, kind="stable")
        _distinct(pair, order, actions)
        order = order[feasible[order]]
        matrix, pair = matrix[order], pair[order]
    reward = validation.floats("R", np.where(feasible, given, 0.0))[order]

    lengths = np.diff(matrix.indptr)
    empty = lengths == 0
    if empty.any():
        at = int(np.argmax(empty))
        row_checks.bad_row_sum(int(pair[at]) // actions, int(pair[at]) % actions, 0.0, "Q[l, :]")
    indptr = np.zeros(states * actions + 1, dtype=np.int64)
    indptr[pair + 1] = lengths
    np.cumsum(indptr, out=indptr)
    probability = validation.floats("Q.data", matrix.data)
    row_checks.probabilities(probability, indptr, actions, "Q[l, :]")
    can_start = validation.leads_on(indptr, actions)
    ended = ~can_start
    if terminated is not None:
        ended = validation.booleans("terminated", terminated)
        validation.shape("terminated", ended, (states,), meaning="one entry per state")
    ahead: AnyArray = matrix.indices
    paid = np.zeros(states * actions)
    paid[pair] = reward
    table = paid.reshape(states, actions)
    return Rows(indptr, ahead, probability, table, ended[ahead]), actions, can_start & ~ended


def _matrix(Q: ArrayLike | SparseLike) -> Any:
    """Return `Q` (L, S) in compressed row form."""
    from scipy.sparse import csr_array

    if hasattr(Q, "tocsr"):
        shape, compressed = cast("SparseLike", Q).shape, cast("SparseLike", Q).tocsr
    else:
        dense = validation.floats("Q", cast("ArrayLike", Q))
        shape, compressed = dense.shape, lambda: cast("Any", csr_array(dense))
    if len(shape) == 3:
        raise ModelError(f"Q has shape {shape}, that of the product form: use MDP.from_arrays(Q, R)")
    if len(shape) != 2:
        raise ModelError(f"Q has shape {shape}, not (L, S): Q[l, s'] for each pair l")
    return compressed()


def _indices(name: str, values: ArrayLike, listed: int, limit: int | None) -> IndexArray:
    found: IndexArray = validation.integers(name, values).astype(np.int64, copy=False)
    validation.shape(name, found, (listed,), meaning="one entry per pair")
    wrong = (found < 0) | (found >= (found.max() + 1 if limit is None else limit))
    if wrong.any():
        at = int(np.argmax(wrong))
        allowed = "actions are at least 0" if limit is None else f"the states are 0..{limit - 1}"
        raise ModelError(f"{name}[{at}] is {found[at]}; {allowed}")
    return found


def _distinct(pair: IndexArray, order: IndexArray, actions: int) -> None:
    twice = pair[order][1:] == pair[order][:-1]
    if twice.any():
        at = int(np.argmax(twice))
        one, other = sorted((int(order[at]), int(order[at + 1])))
        state, action = divmod(int(pair[one]), actions)
        raise ModelError(f"the pair (s={state}, a={action}) is listed twice: entries {one} and {other}")
