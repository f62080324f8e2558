"""From ``P[s, a, s']`` and ``R``, dense or sparse per action, to rows.

Several layouts are in use. ``order="sas"`` is Sutton & Barto's p(s' | s, a) with the action in the middle;
``order="ass"``, one matrix per action, is that of MDPtoolbox and of Puterman's P_a. Unless S = A, the shape of an array
says which of them it is; if S = A, the user has to. pymdptoolbox also takes an object array of A matrices, and rewards
(S, A) beside them.

QuantEcon's `DiscreteDP` has one row for each pair: ``R[l]`` and ``Q[l, s']`` belong to the pair (``s_indices[l]``,
``a_indices[l]``). Pairs that are not listed, or whose reward is minus infinity, are illegal.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple, Self, TypeAlias, TypeGuard, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.narrowing import is_sequence
from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.models import row_checks, validation
from rlsuite.models.aliases import AnyArray, BoolArray, CsrMatrix, FloatArray, IndexArray, Rows, SparseLike

Order: TypeAlias = Literal["sas", "ass"]
Tables: TypeAlias = ArrayLike | Sequence[SparseLike]
"""A dense array, one sparse (S, S) matrix per action, or an object array of A matrices."""

ROWS_OF = {"sas": "P[s, a, :]", "ass": "P[a, s, :]"}


def rewards_of(R: Tables | SparseLike | None, costs: Tables | SparseLike | None) -> Tables | SparseLike:
    """Return rewards, or the same table as costs with the opposite signs.

    Raises
    ------
    ModelError
        If costs are no table of numbers.
    ParameterError
        If both are given, or none.
    """
    if (R is None) == (costs is None):
        raise ParameterError("rewards R or costs= are needed, and not both: write from_arrays(P, R, ..., gamma=0.9)")
    if R is not None:
        return R
    given: Any = costs
    if hasattr(given, "tocsr") or getattr(given, "dtype", float) == np.dtype(object):
        return -given
    if is_sequence(given) and any(validation.is_matrix(one) for one in given):
        return [-cast("Any", one) for one in given]
    return 0.0 - validation.array("costs", given)


class FromArrays(NamedTuple):
    """The parts of a model. The probabilities are not checked yet: the model does that when it is made of them."""

    rows: Rows
    """Rewards that do not depend on where a transition leads are a table (S, A)."""
    n_actions: int
    can_start: BoolArray
    """(S,), in which states an episode may start by default"""
    P: Tables
    """The array, or the matrices of actions."""
    rows_name: str
    """What a row is in `P`."""

    def fault_of_p(self) -> ModelError | None:
        """Return what is wrong with the entries of P, with their indices in P; None if nothing is."""
        try:
            if not is_sparse(self.P):
                validation.floats("P", self.P)
            row_checks.probabilities(self.rows.probability, self.rows.indptr, self.n_actions, self.rows_name)
        except ModelError as named:
            return named
        return None


def rows_from_arrays(
    P: Tables, R: Tables | SparseLike, *, order: Order | None, terminated: Tables | None, legal: ArrayLike | None
) -> FromArrays:
    """Return rows of the arrays that `MDP.from_arrays` takes.

    Raises
    ------
    ModelError
        If the arrays do not fit together, or if S = A, `order` is None and the two orders are different models.
    """
    if order is not None and order not in ROWS_OF:
        raise ParameterError(unknown("order", order, ROWS_OF))
    tables, by_action = listed_by_action("P", P)
    layout: Order = "ass"
    if is_sparse(tables):
        entries = _entries_of_sparse(tables)
        rows_name = "P[a][s, :]"
    else:
        dense = validation.array("P", tables).astype(np.float64, copy=False)
        if order is None and not by_action and dense.shape == (len(dense),) * 3 != (1, 1, 1):
            return _only_reading(P, R, terminated, legal)
        layout = "ass" if by_action else order or _shown(dense.shape)
        entries = _entries_of_dense(dense, layout)
        rows_name = ROWS_OF[layout]
    states, actions = entries.shape
    rewards, by_action = listed_by_action("R", R.tocsr().toarray() if validation.is_matrix(R) else R)
    rewards_order = "ass" if by_action else order_of("R", rewards, states, actions, layout, order)
    if terminated is not None:
        terminated, by_action = listed_by_action("terminated", terminated)
        flags_order = "ass" if by_action else order_of("terminated", terminated, states, actions, layout, order)
    else:
        flags_order = layout
    is_terminal = _terminal_states(terminated, states)
    mask = _legal_pairs(legal, entries.lengths, is_terminal)
    paid = rewards
    if legal is None:
        paid, feasible = _feasible(rewards, rewards_order)
        if feasible is not None and feasible.shape == mask.shape:
            mask &= feasible

    if not mask.all():
        if not is_sparse(tables):
            validation.floats("P", tables)  # what is left out, the model does not check
        entries = entries.within(mask)
    indptr = validation.pointers(entries.lengths)

    missing = mask & (entries.lengths == 0)
    if missing.any():
        s, a = (int(i) for i in np.argwhere(missing)[0])
        row_checks.bad_row_sum(s, a, 0.0, f"{rows_name}; if the action is illegal there, say so with legal=")

    reward = _rewards(paid, rewards_order, entries)
    can_start = np.any(mask, axis=1)
    if is_terminal is not None:
        ended = is_terminal[entries.next_state]
    elif terminated is not None:
        ended = validation.booleans("terminated", _lookup("terminated", terminated, flags_order, entries))
    elif can_start.all():
        same_in_each_row = entries.successors.ndim == 2
        ended = np.zeros(states if same_in_each_row else entries.probability.size, dtype=np.bool_)
        if same_in_each_row:
            ended = np.broadcast_to(ended, entries.successors.shape)
    else:
        ended = ~can_start[entries.next_state]
    if is_terminal is not None:
        can_start = can_start & ~is_terminal
    for made in (indptr, entries.successors, entries.probability, ended):  # new arrays, which the model need not copy
        made.setflags(write=False)
    rows = Rows(indptr, entries.successors, entries.probability, reward, ended)
    return FromArrays(rows, actions, can_start, tables, rows_name)


def _only_reading(P: Tables, R: Tables | SparseLike, terminated: Tables | None, legal: ArrayLike | None) -> FromArrays:
    """Return rows of arrays with S = A, if P[a, s, s'] is no other model than P[s, a, s'].

    Raises
    ------
    ModelError
        If it is one.
    """
    valid: dict[str, FromArrays] = {}
    orders: tuple[Order, ...] = ("ass", "sas")
    for order in orders:
        with suppress(ModelError):
            given = rows_from_arrays(P, R, order=order, terminated=terminated, legal=legal)
            if given.fault_of_p() is None:
                valid[order] = given
    by_state = valid.get("sas")
    if "ass" in valid and not (by_state and all(map(np.array_equal, valid["ass"].rows, by_state.rows))):
        raise open_order("P", valid["ass"].n_actions)
    return by_state or rows_from_arrays(P, R, order="sas", terminated=terminated, legal=legal)


def open_order(name: str, states: int) -> ModelError:
    """Return the error that the order of a table cannot be told, as there are as many actions as states."""
    return ModelError(
        f"with {states} states and {states} actions, {name} can be {name}[s, a, s'], with rewards R[s, a], or "
        f"{name}[a, s, s'], with R[a, s]: write order='sas' or order='ass'"
    )


def is_sparse(tables: object) -> TypeGuard[Sequence[SparseLike]]:
    """Whether `tables` is a sequence of sparse matrices."""
    if validation.is_matrix(tables):
        raise ModelError(
            f"a single sparse matrix of shape {tables.shape} was given; pass a list with one matrix per action"
        )
    if not is_sequence(tables):
        return False
    sparse = [hasattr(one, "tocsr") for one in tables]
    if any(sparse) and not all(sparse):
        raise ModelError(
            f"matrix {sparse.index(False)} is not sparse, but others are: make all of them sparse, or none"
        )
    return bool(sparse) and sparse[0]


def listed_by_action(name: str, tables: Tables) -> tuple[Tables, bool]:
    """Return a dense array or a sequence of sparse matrices, and whether it is certain that there is one per action.

    Raises
    ------
    ModelError
        If an object array has other elements than matrices of one shape.
    """
    array = cast("AnyArray", tables)
    if not isinstance(tables, np.ndarray) or array.dtype != object:
        return cast("Tables", tables), is_sparse(cast("object", tables))
    given: list[object] = array.tolist()
    if array.ndim != 1:
        return validation.array(name, given), False
    if is_sparse(given):
        return given, True
    matrices = [validation.array(f"{name}[{a}]", one) for a, one in enumerate(given)]
    for a, one in enumerate(matrices):
        if one.shape != matrices[0].shape:
            raise ModelError(
                f"{name}[{a}] has shape {one.shape}, but {name}[0] has {matrices[0].shape}; "
                "all must have the same shape"
            )
    if not matrices:
        raise ModelError(f"{name} is empty; one (S, S) matrix per action is needed")
    return np.stack(matrices), True


def order_of(
    name: str, tables: Tables, states: int, actions: int, transitions: Order, order: Order | None = None
) -> Order:
    """Return which index of `tables` is the action: as the user says, or as its shape and that of P imply.

    Raises
    ------
    ModelError
        If there is one matrix of transitions per action and the shape leaves it open, because S = A.
    """
    if order is not None or transitions == "sas" or is_sparse(tables):
        return order or transitions
    shape = np.asarray(tables).shape
    if states != actions:
        return "ass" if shape[:2] == (actions, states) else "sas"
    if len(shape) <= 2:
        return "sas"
    raise open_order(name, states)


def _shown(shape: tuple[int, ...]) -> Order:
    """Return the layout of P that its shape implies: (A, S, S) if it cannot be (S, A, S)."""
    return "ass" if len(shape) == 3 and shape[1] == shape[2] != shape[0] else "sas"


class _Entries(NamedTuple):
    """The transitions, row by row: those of (s, a) before those of (s, a + 1)."""

    lengths: AnyArray  # (S, A), how many each row has
    successors: AnyArray  # (N,), or (S * A, S) where each row leads to all states
    probability: FloatArray  # (N,)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of states and actions."""
        return self.lengths.shape[0], self.lengths.shape[1]

    @property
    def next_state(self) -> AnyArray:
        """Successor of each transition, (N,)."""
        return self.successors.reshape(-1)

    def of_rows(self, table: AnyArray) -> AnyArray:
        """The entries of a table (S, A) at the transitions, (N,)."""
        return np.repeat(table.reshape(-1), self.lengths.reshape(-1))

    def within(self, mask: BoolArray) -> Self:
        """The rows of a mask (S, A); the others become empty."""
        if not (kept := self.of_rows(mask)).all():
            return type(self)(np.where(mask, self.lengths, 0), self.next_state[kept], self.probability[kept])
        return self

    def pairs(self) -> tuple[AnyArray, AnyArray]:
        """State and action of each transition, (N,) each."""
        states, actions = self.shape
        pair: IndexArray = np.arange(states * actions)
        return self.of_rows(pair // actions), self.of_rows(pair % actions)


def _entries_of_dense(dense: FloatArray, order: Order) -> _Entries:
    if dense.ndim != 3:
        raise ModelError(
            f"P has {dense.ndim} dimensions, not 3: P[s, a, s'] or P[a, s, s'], "
            "or a sequence of sparse matrices, one per action"
        )
    if order == "ass":
        if dense.shape[1] != dense.shape[2]:
            hint = "; it looks like P[s, a, s']: leave order out" if dense.shape[0] == dense.shape[2] else ""
            raise ModelError(f"P has shape {dense.shape}, not (A, S, S){hint}")
        dense = dense.transpose(1, 0, 2)
    elif dense.shape[0] != dense.shape[2]:
        hint = "; it looks like P[a, s, s']: leave order out" if dense.shape[1] == dense.shape[2] else ""
        raise ModelError(f"P has shape {dense.shape}, not (S, A, S){hint}")
    states, actions, _ = dense.shape
    _at_least_one(states, actions)
    if (copied := _copied_if_positive(dense)) is not None:  # nothing is to be left out
        everywhere = np.broadcast_to(np.arange(states, dtype=np.int32), (states * actions, states))
        return _Entries(np.full((states, actions), states), everywhere, copied)
    rows = dense.reshape(-1, states)
    positive = rows != 0.0
    lengths = np.count_nonzero(positive, axis=1).reshape(states, actions)
    return _Entries(lengths, np.nonzero(positive)[1], rows[positive])


def _copied_if_positive(dense: FloatArray) -> FloatArray | None:
    """Return a flat copy of an array (S, A, S) if all entries are positive.

    It is made in parts, which are in the cache when they are read again.
    """
    states, copied = dense.shape[0], np.empty(dense.size)
    at_once = max(1, row_checks.ENTRIES // dense[0].size)

    def copy_if_positive(begin: int) -> bool:
        part = slice(begin, begin + at_once)
        if not dense[part].min() > 0.0:
            return False
        copied.reshape(dense.shape)[part] = dense[part]
        return True

    if not dense[0].min() > 0.0 or row_checks.first_fault(copy_if_positive, range(0, states, at_once)) is not None:
        return None
    return copied


def _entries_of_sparse(P: Sequence[SparseLike]) -> _Entries:
    actions = len(P)
    matrices = [_csr(f"P[{a}]", one) for a, one in enumerate(P)]
    states = int(matrices[0].shape[0])
    _at_least_one(states, actions)
    for a, one in enumerate(matrices):
        if one.shape != (states, states):
            raise ModelError(f"P[{a}] has shape {one.shape}, not {(states, states)}")
    lengths = np.stack([np.diff(one.indptr) for one in matrices], axis=1)  # (S, A)
    pair = np.concatenate([np.repeat(np.arange(states) * actions + a, lengths[:, a]) for a in range(actions)])
    next_state: AnyArray = np.concatenate([one.indices for one in matrices])
    probability = np.concatenate([validation.floats(f"P[{a}].data", one.data) for a, one in enumerate(matrices)])
    by_pair = np.argsort(pair, kind="stable")
    return _Entries(lengths, next_state[by_pair], probability[by_pair])


def _csr(name: str, matrix: SparseLike) -> CsrMatrix:
    if len(matrix.shape) != 2:
        raise ModelError(f"{name} has shape {matrix.shape}, not (S, S)")
    return matrix.tocsr()


def _at_least_one(states: int, actions: int) -> None:
    if states < 1 or actions < 1:
        raise ModelError(f"P describes {states} states and {actions} actions; at least one of each is needed")


def _terminal_states(terminated: Tables | None, states: int) -> BoolArray | None:
    """Return `terminated` when it is a mask of states: (S,) bool."""
    if terminated is None or is_sparse(terminated):
        return None
    mask = validation.booleans("terminated", terminated)
    if mask.ndim != 1:
        return None
    validation.shape("terminated", mask, (states,), meaning="one entry per state")
    return mask


def _legal_pairs(legal: ArrayLike | None, lengths: AnyArray, is_terminal: BoolArray | None) -> BoolArray:
    """Return the mask of legal actions (S, A).

    Without a mask every action is legal, except in terminal states that have no transitions at all.
    """
    if legal is not None:
        mask = validation.booleans("legal", legal)
        validation.shape("legal", mask, lengths.shape, meaning="legal[s, a] whatever the order of P")
        return mask
    mask = np.ones(lengths.shape, dtype=np.bool_)
    if is_terminal is not None:
        mask[is_terminal & ~lengths.any(axis=1)] = False
    return mask


def _feasible(R: Tables, order: Order) -> tuple[Tables, BoolArray | None]:
    """Return R with 0 for minus infinity, and a mask (S, A) of the finite entries, if R is a table of pairs."""
    if is_sparse(R):
        return R, None
    dense = validation.array("R", R)
    illegal = np.isneginf(dense) if dense.dtype.kind == "f" else np.zeros(dense.shape, dtype=np.bool_)
    if dense.ndim != 2 or not illegal.any():
        return dense, None
    return np.where(illegal, 0.0, dense), ~(illegal.T if order == "ass" else illegal)


def _rewards(R: Tables, order: Order, entries: _Entries) -> FloatArray:
    states, actions = entries.shape
    if not is_sparse(R):
        dense = validation.floats("R", R)
        if dense.ndim == 1:
            validation.shape("R", dense, (states,), meaning="R[s], the reward for leaving s")
            return np.repeat(dense, actions).reshape(states, actions)
        if dense.ndim == 2:
            if order == "sas":
                validation.shape("R", dense, (states, actions), meaning="R[s, a]")
                return dense
            meaning = "R[a, s]; pass R[s, a] as R.T, or leave order out"
            validation.shape("R", dense, (actions, states), meaning=meaning)
            return dense.T
        return _lookup("R", dense, order, entries)
    return validation.floats("R", _lookup("R", R, order, entries))


def _lookup(name: str, tables: Tables, order: Order, entries: _Entries) -> AnyArray:
    """Return the entries of `tables`, laid out like P, at the transitions: (N,)."""
    (states, actions), next_state = entries.shape, entries.next_state
    state, action = entries.pairs()
    if is_sparse(tables):
        if len(tables) != actions:
            raise ModelError(f"{name} has {len(tables)} matrices, not {actions}, one per action")
        found: AnyArray = np.zeros(state.size)
        for a, one in enumerate(tables):
            matrix = _csr(f"{name}[{a}]", one).copy()
            validation.shape(f"{name}[{a}]", matrix, (states, states))
            matrix.sum_duplicates()  # also sorts the columns
            here = np.repeat(np.arange(states), np.diff(matrix.indptr)) * states + matrix.indices
            chosen = np.flatnonzero(action == a)
            wanted = state[chosen] * states + next_state[chosen]
            chosen = chosen[np.isin(wanted, here)]
            found[chosen] = matrix.data[np.searchsorted(here, state[chosen] * states + next_state[chosen])]
        return found
    dense = validation.array(name, tables)
    if order == "sas":
        validation.shape(name, dense, (states, actions, states))
        return dense[state, action, next_state]
    validation.shape(name, dense, (actions, states, states))
    return dense[action, state, next_state]


# ------------------------------------------------------------------------------------------------ one row for each pair


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

    given = Q if validation.is_matrix(Q) else validation.floats("Q", Q)
    shape = given.shape
    if len(shape) == 3:
        raise ModelError(f"Q has shape {shape}, that of the product form: use MDP.from_arrays(Q, R)")
    if len(shape) != 2:
        raise ModelError(f"Q has shape {shape}, not (L, S): Q[l, s'] for each pair l")
    return csr_array(given) if isinstance(given, np.ndarray) else given.tocsr()


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
