"""The operators of dynamic programming; every planner is written with them.

A finite MDP with mean rewards r(s, a), discount gamma and continuation probabilities c(s' | s, a), that is the
probability that the transition leads to s' *and does not end the episode*, defines for every V in R^S

* the lookahead  (QV)(s, a) = r(s, a) + gamma sum_s' c(s' | s, a) V(s'), minus infinity where a is illegal
  (S&B2 (4.2) before the maximum; `q_from_value`),
* the Bellman operator  (TV)(s) = max_a (QV)(s, a), and 0 at an end, where no action is legal
  (S&B2 (4.10), P94 section 6.2; `bellman`),
* the greedy policy  argmax_a (QV)(s, a)  (S&B2 (4.9); `greedy`).

T is a contraction in the supremum norm with modulus beta = gamma max_{s,a} sum_s' c(s' | s, a) <= gamma (P94 Prop.
6.2.4). Its fixed point is the optimal value V*. Termination is a property of the transition here, so T needs no list of
terminal states: the value of a transition that ends the episode is its reward and nothing more.

`Lookahead` holds what the operators need of a model, prepared once. Methods that apply them many times make one;
the functions accept either form.

In plain NumPy: `rlsuite.reference.mdp.lookahead`.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.models import MDP
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.models.validation import pointers
from rlsuite.planning.blocks import cut, multiply, on_blocks
from rlsuite.planning.kernels import (
    LONG,
    Range,
    Rows,
    action_values,
    backup,
    greedy_backup,
    mean_rewards,
    row_statistics,
)
from rlsuite.planning.vectors import vector

if TYPE_CHECKING:
    from typing import TypeAlias

    from scipy.sparse import csr_array

    Matrix: TypeAlias = csr_array[np.float64]

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)

ON_ONE_THREAD = 8_000
"""BLAS adds up products of so many numbers on one thread, and so always in the same order."""

SAMPLE = 10_000
"""Number of states from which a median is taken."""


class Lookahead:
    """The arrays of a model that one step of lookahead reads: QV = reward + gamma * continuation @ V.

    Nothing is copied that can be shared with the model. In particular its probabilities serve as the weights c: a
    state that is only ever entered by transitions that end the episode is *terminal*, and instead of a weight 0 on each
    way into it, its value is taken as 0 whenever it is looked up. Only a model in which some state is entered in both
    ways needs weights of its own.

    Parameters
    ----------
    mdp : MDP
        The model.

    Attributes
    ----------
    mdp : MDP
        The model.
    n_states, n_actions : int
        S and A.
    indptr : ndarray (S * A + 1,) int64
        The transitions of the pair (s, a) are ``indptr[s * A + a] : indptr[s * A + a + 1]``.
    weight : ndarray (N,) float64
        What it adds to c(s' | s, a); transitions into terminal states have one too, and count for nothing.
    terminal : ndarray (S,) bool
        The terminal states.
    reward : ndarray (S * A,) float64
        r(s, a), the mean reward of one step; 0 for illegal actions.
    blocks, policy_blocks : list of (int, int)
        How states are divided among threads: where all actions are looked at, and where one of each state is.
    reward_size : float
        max over (s, a) of the mean |reward|.
    longest_row : int
        The largest number of transitions of a pair.
    ordered : bool
        Whether successors increase within every long row, see `kernels.expected`.
    modulus : float
        beta, rounded up: the factor by which the Bellman operator contracts.
    least_modulus : float
        gamma times the smallest row sum of c, rounded down: 0 where some action is certain to end the episode.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import Lookahead
    >>> mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.5)
    >>> Lookahead(mdp).q([4.0, 0.0]).tolist()
    [[3.0, 5.0], [-inf, -inf]]
    """

    def __init__(self, mdp: MDP) -> None:
        self.mdp = mdp
        self.n_states = mdp.n_states
        self.n_actions = mdp.n_actions
        self.indptr: IndexArray = mdp.indptr
        self.weight: FloatArray = mdp.probability
        self.terminal: BoolArray = np.zeros(self.n_states, dtype=np.bool_)
        self.blocks = cut(self.indptr, self.n_actions)
        self.policy_blocks = cut(self.indptr, self.n_actions, of_policy=True)
        self._every_row = None if mdp.any_terminated else mdp.every_row
        row = self._every_row
        self._to_all = row is not None and row.size <= ON_ONE_THREAD and np.array_equal(row, np.arange(self.n_states))
        if self._every_row is not None:
            least, greatest = mdp.row_sums
            self.longest_row = self._every_row.size
            self.ordered = self.longest_row < int(LONG) or bool((np.diff(self._every_row) > 0).all())
        else:
            least, greatest = self._look_at_rows(mdp)
        self.reward, self.reward_size = _mean_rewards(mdp, self.blocks)
        slack = (self.longest_row + 2) * EPS
        self._row_sum = greatest * (1.0 + slack)
        self.modulus = mdp.gamma * self._row_sum
        self.least_modulus = mdp.gamma * least * (1.0 - slack)

    def _look_at_rows(self, mdp: MDP) -> tuple[float, float]:
        """Find terminal states, long rows, and the least and the greatest row sum of c."""
        if mdp.any_terminated:
            self.terminal[mdp.next_state[mdp.terminated]] = True
        pointers = (self.indptr.view(np.uint64), mdp.next_state.view(np.uint32))
        rows = (self.n_actions, *pointers, mdp.probability, mdp.terminated)
        found = on_blocks(row_statistics, self.blocks, *rows, self.terminal, mdp.any_terminated)
        least, greatest, longest, mixed, ordered = zip(*found, strict=True)
        if any(mixed):
            self.weight = np.where(mdp.terminated, 0.0, mdp.probability)
            self.terminal[:] = False
        self.longest_row = int(max(longest))
        self.ordered = all(ordered)
        return float(min(least)), float(max(greatest))

    @property
    def largest_value(self) -> float:
        """Upper bound on the absolute discounted value of every policy."""
        return self.reward_size / (1.0 - self.modulus) if self.modulus < 1.0 else np.inf

    @property
    def successor(self) -> StateArray:
        """(N,) int32, where each transition leads."""
        return self.mdp.next_state

    @cached_property
    def rows(self) -> Rows:
        """What kernels over the model's rows read."""
        successor = self.mdp.next_state if self._every_row is None else self._every_row
        pointers = (self.indptr.view(np.uint64), successor.view(np.uint32))
        numbers = (self.weight.view(), self.reward.view())
        for one in numbers:  # arrays of the model are read-only; with others, kernels would be compiled twice
            one.setflags(write=False)
        rows = (*pointers, *numbers, self.mdp.gamma, self.terminal, self.ordered, self._every_row is not None)
        return Rows(self.n_actions, *rows)

    @cached_property
    def continuation(self) -> "Matrix":
        """csr_array (S * A, S) float64: c(s' | s, a), see `continuation_matrix`."""
        return continuation_matrix(self.mdp)

    @property
    def table(self) -> FloatArray | None:
        """(S * A, S) float64, c(s' | s, a), if every row leads to all states in their order, and none is terminal.

        None if it is not, or if there are so many states that BLAS would add up one row on several threads.
        """
        if not self._to_all or self.weight is not self.mdp.probability or self.terminal.any():
            return None
        return self.weight.reshape(-1, self.n_states)

    def q(self, value: ArrayLike) -> FloatArray:
        """Return QV as a (S, A) float64 array, minus infinity for illegal actions; `value` is (S,)."""
        ahead = self.ahead(value)
        q = np.empty(self.n_states * self.n_actions)
        table = self.table
        if table is None:
            on_blocks(action_values, self.blocks, self.rows, ahead, q)
        else:
            multiply(table, ahead, q)
            q *= self.mdp.gamma
            q += self.reward
        return q.reshape(self.n_states, self.n_actions)

    def back_up(self, ahead: FloatArray, out: FloatArray, action: StateArray) -> list[Range]:
        """Fill TV (S,) and the first best action (S,), -1 at terminal states; return the changes of each block.

        `ahead` is V (S,), 0 at terminal states.
        """
        if self.table is None:
            return on_blocks(backup, self.blocks, self.rows, ahead, out, action)
        q = self.q(ahead)
        np.copyto(action, q.argmax(axis=1))
        return _chosen(q, action, ahead, out)

    def back_up_greedily(self, ahead: FloatArray, tolerance: float, out: FloatArray, policy: IndexArray) -> list[Range]:
        """Fill TV (S,) and the first action within `tolerance` of the best (S,), -1 where none is legal; as above."""
        if self.table is None:
            return on_blocks(greedy_backup, self.blocks, self.rows, ahead, tolerance, out, policy)
        q = self.q(ahead)
        np.copyto(policy, greedy(q, tolerance))
        return _chosen(q, q.argmax(axis=1), ahead, out)

    def ahead(self, value: ArrayLike) -> FloatArray:
        """Return the value of entering each state: a copy of `value` (S,), 0 at terminal states."""
        ahead = vector(self.n_states)
        np.copyto(ahead, np.asarray(value, dtype=np.float64))
        ahead[self.terminal] = 0.0
        return ahead

    def rounding(self, value: FloatArray) -> float:
        """Return a bound on the rounding error in every entry of ``q(value)``.

        With n the length of the longest row, each term of an entry goes through at most n + 2 rounded operations, one
        after the other: adding up equal successors and then all successors takes n - 1 additions, and there are two
        products and the addition of reward and continuation. The absolute values of the terms add up to at most
        M = max mean |r| + gamma * max row sum * max |V|. So the entry is off by at most (n + 2) u M to first order in
        the unit roundoff u = 2**-53; the bound returned is (n + 4) u M, which leaves room for the higher orders,
        plus (n + 4) times the smallest normal number, for underflow.
        """
        largest = float(max(value.max(initial=0.0), -value.min(initial=0.0)))
        magnitude = self.reward_size + self.mdp.gamma * self._row_sum * largest
        return (self.longest_row + 4) * (0.5 * EPS * magnitude + TINY)


def _chosen(q: FloatArray, action: AnyArray, ahead: FloatArray, out: FloatArray) -> list[Range]:
    """Fill q(s, action(s)) into `out`, and return the least and the greatest change."""
    np.copyto(out, np.take_along_axis(q, action[:, np.newaxis], axis=1)[:, 0])
    changes = out - ahead
    return [(float(changes.min()), float(changes.max()))]


def _mean_rewards(mdp: MDP, blocks: list[tuple[int, int]]) -> tuple[FloatArray, float]:
    """Return r(s, a) as (S * A,), shared with the model if it has it, and the largest mean |reward|."""
    if mdp.reward_per_pair:
        return mdp.reward, float(max(mdp.reward.max(), -mdp.reward.min()))
    mean: FloatArray = vector(mdp.n_states * mdp.n_actions)
    rows = (mdp.n_actions, mdp.indptr.view(np.uint64), mdp.probability, mdp.reward)
    return mean, float(max(on_blocks(mean_rewards, blocks, *rows, mean)))


@says_what_to_write
def q_from_value(model: MDP | Lookahead, value: ArrayLike) -> FloatArray:
    """Return the value of every action if V is the value of its successors: r(s, a) + gamma sum_s' c(s' | s, a) V(s').

    Parameters
    ----------
    model : MDP or Lookahead
        The model, or the model prepared.
    value : array_like (S,)
        V.

    Returns
    -------
    ndarray (S, A) float64
        Minus infinity for illegal actions.

    Raises
    ------
    ParameterError
        If `value` is not S finite numbers.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import q_from_value
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> q_from_value(mdp, [90.0, 100.0, 0.0]).tolist()
    [[-inf, 90.0], [81.0, 100.0], [-inf, -inf]]
    """
    lookahead = model if isinstance(model, Lookahead) else Lookahead(model)
    return lookahead.q(checked_value(lookahead.mdp, value))


@says_what_to_write
def bellman(model: MDP | Lookahead, value: ArrayLike) -> FloatArray:
    """Return TV, the Bellman operator applied once. S&B2 (4.10).

    Parameters
    ----------
    model : MDP or Lookahead
        The model, or the model prepared.
    value : array_like (S,)
        V.

    Returns
    -------
    ndarray (S,) float64
        0 where no action is legal.

    Raises
    ------
    ParameterError
        If `value` is not S finite numbers.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import bellman
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> bellman(mdp, [0, 0, 0]).tolist(), bellman(mdp, bellman(mdp, [0, 0, 0])).tolist()
    ([0.0, 100.0, 0.0], [90.0, 100.0, 0.0])
    """
    return best(q_from_value(model, value))


def best(q: FloatArray) -> FloatArray:
    """Return max_a q(s, a) as a (S,) array, and 0 where every action is illegal (minus infinity)."""
    maximum = highest(q)
    maximum[maximum == -np.inf] = 0.0
    return maximum


@says_what_to_write
def greedy(q: ArrayLike, tolerance: float = 0.0) -> IndexArray:
    """Return the first best action of each state. S&B2 (4.9).

    Parameters
    ----------
    q : array_like (S, A)
        Action values, minus infinity for illegal actions.
    tolerance : float, at least 0
        How far below the maximum an action may lie and still count as a best one.

    Returns
    -------
    ndarray (S,) int64
        -1 where no action is legal.

    Raises
    ------
    ParameterError
        If `q` is not a table of numbers, or holds NaN; or if the tolerance is negative or no finite number.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning import greedy
    >>> greedy([[1.0, 3.0, 3.0], [-np.inf, -np.inf, -np.inf]]).tolist()
    [1, -1]
    """
    table = _action_values(q)
    if finite_number("tolerance", tolerance) < 0.0:
        raise ParameterError(f"tolerance={tolerance} is less than 0")
    maximum = highest(table)
    unknown = np.isnan(maximum)
    if unknown.any():
        raise ParameterError(f"q[{unknown.argmax()}] contains NaN; the value of an illegal action is -inf")
    enough = maximum - tolerance
    actions = table.shape[1]
    policy = np.full(maximum.size, actions - 1, dtype=np.int64)
    for action in reversed(range(actions - 1)):
        np.copyto(policy, action, where=table[:, action] >= enough)
    policy[maximum == -np.inf] = -1
    return policy


def _action_values(q: ArrayLike) -> FloatArray:
    try:
        table = np.asarray(q)
    except ValueError as error:  # rows of different length
        raise ParameterError(f"q is not a table of numbers: {error}") from error
    if table.ndim != 2 or table.shape[1] == 0 or table.dtype.kind not in "biuf":
        raise ParameterError(
            f"q has shape {table.shape} and dtype {table.dtype}; pass numbers of shape (states, actions), such as "
            "q_from_value computes from a model and a value"
        )
    return table.astype(np.float64, copy=False)


def highest(q: FloatArray) -> FloatArray:
    """Return the maximum of each row, as a new array.

    Column by column, because there are few actions: NumPy's maximum over a short axis is 15 times slower.
    """
    maximum = q[:, 0].copy()
    for action in range(1, q.shape[1]):
        np.maximum(maximum, q[:, action], out=maximum)
    return maximum


def checked_value(mdp: MDP, value: ArrayLike, name: str = "value") -> FloatArray:
    """Return `value` as a new float64 array (S,), or raise `ParameterError` if it is not S finite numbers."""
    numbers = np.asarray(value)
    if numbers.shape != (mdp.n_states,) or numbers.dtype.kind not in "biuf":
        raise ParameterError(
            f"{name} has shape {numbers.shape} and dtype {numbers.dtype}; pass {mdp.n_states} numbers, one per state"
        )
    if not np.isfinite(numbers).all():
        state = int(np.argmin(np.isfinite(numbers)))
        raise ParameterError(f"{name}[{state}] is {numbers[state]}; every entry must be finite")
    return numbers.astype(np.float64)


@says_what_to_write
def continuation_matrix(mdp: MDP) -> "Matrix":
    """Return c(s' | s, a), the probability to be in s' after action a in s with the episode going on.

    Parameters
    ----------
    mdp : MDP
        The model.

    Returns
    -------
    csr_array (S * A, S) float64
        Row s * A + a belongs to the pair (s, a). The probabilities of transitions that occur twice are added;
        terminated transitions are left out, so a row may sum to less than 1. The row of an illegal action is empty.

    Examples
    --------
    A coin that ends the game on heads:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning.operators import continuation_matrix
    >>> mdp = MDP.from_rows([0, 2, 2], [0, 1], [0.5, 0.5], [-1, -1], n_actions=1, gamma=1.0)
    >>> continuation_matrix(mdp).toarray().tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    from scipy.sparse import csr_array

    going_on = np.where(mdp.terminated, 0.0, mdp.probability)
    shape = (mdp.n_states * mdp.n_actions, mdp.n_states)
    # A copy, because adding up works in place and the arrays of a model are read-only.
    matrix: Any = csr_array((going_on, mdp.next_state, mdp.indptr), shape=shape, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def averaging(weights: FloatArray) -> Any:
    """Return the matrix that averages over actions: (averaging(pi) @ x)(s) = sum_a pi(a | s) x(s, a).

    Parameters
    ----------
    weights : ndarray (n, A) float64
        pi(a | s).

    Returns
    -------
    csr_array (n, n * A) float64
        Without stored zeros.
    """
    from scipy.sparse import csr_array

    n, actions = weights.shape
    taken: IndexArray = np.flatnonzero(weights)
    # Row i averages the entries i * A to (i + 1) * A.
    indptr = pointers(np.count_nonzero(weights, axis=1))
    return csr_array((weights.reshape(-1)[taken], taken, indptr), shape=(n, n * actions))


def starting_value(lookahead: Lookahead, initial: ArrayLike | None) -> FloatArray:
    """Return the initial value of a method: a user's guess, or 0; 0 at terminal states.

    Raises
    ------
    ParameterError
        If `initial` is not S finite numbers.
    """
    if initial is None:
        value = vector(lookahead.n_states)
        value[:] = 0.0
        return value
    return lookahead.ahead(checked_value(lookahead.mdp, initial, "initial"))


def typical_value(lookahead: Lookahead) -> FloatArray:
    """Return the value of earning the best reward of the median state for ever; 0 at ends.

    Far from anything of interest that is already the value: where every step costs 1, say. Sweeps that begin with it
    need not raise or lower the greater part of a large model step by step. gamma < 1.
    """
    legal = lookahead.mdp.legal
    acting = legal.any(axis=1) & ~lookahead.terminal
    some = np.flatnonzero(acting)
    if some.size == 0:
        return starting_value(lookahead, None)
    some = some[:: max(1, some.size // SAMPLE)]
    reward = lookahead.reward.reshape(legal.shape)[some]
    typical = float(np.median(highest(np.where(legal[some], reward, -np.inf))))
    return lookahead.ahead(np.where(acting, typical / (1.0 - lookahead.modulus), 0.0))
