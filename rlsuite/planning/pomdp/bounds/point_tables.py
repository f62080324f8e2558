"""A POMDP in the form that the compiled point-based search reads: one table per region and action.

Much of a hidden state is often observed. Where a robot knows its place, the support of a belief is within the states
of one place, and a vector need only be known there. A *region* is a set of states such that every belief after some
action and observation, from a belief inside a region, is inside a region again. All states together are one region;
many small ones cost less in every operation (the idea of mixed observability: Ong, Png, Hsu and Lee 2010, found here
from the zeros of the model instead of being declared).
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rlsuite.models import POMDP
from rlsuite.models.aliases import BoolArray, CsrMatrix, FloatArray, IndexArray, StateArray
from rlsuite.planning.certificate import FOR_POMDPS, discounted
from rlsuite.planning.operators import EPS, Lookahead

SMALL = 128
"""Up to this many states one region is best: a vector found for one belief is used at all others."""

MOST_REGIONS = 2048
LARGEST_TOTAL = 3.0
"""Largest sum of the sizes of all regions, in times of the number of states."""


class Regions(NamedTuple):
    """K regions of the states of a model."""

    members: list[IndexArray]
    """the states of each, in ascending order; the first holds the start belief"""
    child: IndexArray
    """(K, A, Z) int64, the region after an action and an observation; -1 if that observation is impossible"""


class SparseModel(NamedTuple):
    """Possible transitions and observations with their probabilities: rows of sparse matrices, without zeros."""

    n_states: int
    n_actions: int
    n_observations: int
    row: IndexArray
    """(S * A + 1,) int64, the transitions of the pair (s, a): row s A + a"""
    successor: StateArray
    """(n,) int32, s'"""
    weight: FloatArray
    """(n,) float64, c(s' | s, a)"""
    seen: IndexArray
    """(A * S + 1,) int64, what may be observed in s' after a: row a S + s'"""
    symbol: StateArray
    """(m,) int32, z"""
    probability: FloatArray
    """(m,) float64, Pr(z | a, s')"""


def entries_of(pointers: IndexArray, rows: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the numbers of all entries of some rows, row by row, and how many each row has.

    Examples
    --------
    >>> import numpy as np
    >>> entries, lengths = entries_of(np.array([0, 2, 3, 6]), np.array([2, 0]))
    >>> entries.tolist(), lengths.tolist()
    ([3, 4, 5, 0, 1], [3, 2])
    """
    lengths = pointers[rows + 1] - pointers[rows]
    begins = np.cumsum(lengths) - lengths
    entries: IndexArray = np.repeat(pointers[rows] - begins, lengths) + np.arange(int(lengths.sum()))
    return entries, lengths


def find_regions(model: SparseModel, start: BoolArray) -> Regions:
    """Return regions that hold all beliefs that can be reached.

    Parameters
    ----------
    model : SparseModel
        The model.
    start : ndarray (S,) bool
        The states in the support of the start belief.
    """
    if start.size > SMALL:
        found = _small_regions(model, start)
        if found is not None:
            return found
    return _one_region(model, start)


def _one_region(model: SparseModel, start: BoolArray) -> Regions:
    reached, states = start.copy(), np.flatnonzero(start)
    while True:
        action, after, symbol = _what_follows(model, states)
        reached[after] = True
        if np.count_nonzero(reached) == states.size:
            break
        states = np.flatnonzero(reached)
    child = np.full((1, model.n_actions, model.n_observations), -1, dtype=np.int64)
    child[0, action, symbol] = 0
    return Regions([states], child)


def _small_regions(model: SparseModel, start: BoolArray) -> Regions | None:
    """Return the regions that following the start finds, or None if they are too many."""
    members: list[IndexArray] = []
    masks: list[int] = []
    holders: list[list[int]] = [[] for _ in range(start.size)]  # of a state, the regions that it belongs to
    number: dict[bytes, int] = {}
    limit = LARGEST_TOTAL * start.size
    total = 0

    def region_of(states: IndexArray) -> int:
        nonlocal total
        key = states.tobytes()
        if key in number:
            return number[key]
        mask = _bits(states, start.size)
        candidates = min(holders[int(states[0])], holders[int(states[-1])], key=len)
        holding = [k for k in candidates if mask & masks[k] == mask]
        if holding:
            number[key] = min(holding, key=lambda k: members[k].size)
        else:
            number[key] = len(members)
            listed: list[int] = states.tolist()
            for state in listed:
                holders[state].append(len(members))
            members.append(states)
            masks.append(mask)
            total += states.size
        return number[key]

    region_of(np.flatnonzero(start))
    children: list[IndexArray] = []
    symbols = model.n_observations
    while len(children) < len(members):
        action, after, symbol = _what_follows(model, members[len(children)])
        both = action * symbols + symbol
        order = np.argsort(both * start.size + after)
        both, after = both[order], after[order]
        child: IndexArray = np.full(model.n_actions * symbols, -1, dtype=np.int64)
        cuts: list[int] = np.flatnonzero(np.diff(both, prepend=-1, append=-1)).tolist()
        for begin, end in pairwise(cuts):
            child[both[begin]] = region_of(after[begin:end])
            if total > limit or len(members) > MOST_REGIONS:
                return None
        children.append(child)
    return Regions(members, np.stack(children).reshape(len(members), model.n_actions, symbols))


def _what_follows(model: SparseModel, states: IndexArray) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return all (action, successor, observation) that can follow some states, without repetition."""
    pairs = (states[:, np.newaxis] * model.n_actions + np.arange(model.n_actions)).reshape(-1)
    found, lengths = entries_of(model.row, pairs)
    reached = np.unique(np.repeat(pairs % model.n_actions, lengths) * model.n_states + model.successor[found])
    seen, counts = entries_of(model.seen, reached)
    action, after = np.divmod(np.repeat(reached, counts), model.n_states)
    return action, after, model.symbol[seen].astype(np.int64)


def _bits(states: IndexArray, n_states: int) -> int:
    marked = np.zeros(n_states, dtype=np.bool_)
    marked[states] = True
    return int.from_bytes(np.packbits(marked).tobytes(), "big")


class Tables(NamedTuple):
    """A model, region by region. K regions, A actions, Z observations; M is the sum of the sizes of the regions.

    State i of region k is the one with number ``first[k] + i`` among the M. The pair (k, a) has the number k A + a.
    The successors of a pair are the states that the action can lead to from the region, in ascending order.
    """

    n_actions: int
    """A"""
    n_observations: int
    """Z"""
    gamma: float
    """discount factor per step"""
    first: IndexArray
    """(K + 1,) int64"""
    states: StateArray
    """(M,) int32, number of each state in the model"""
    reward: FloatArray
    """(M * A,) float64, r(s, a); minus infinity for illegal actions"""
    informed: FloatArray
    """(M * A,) float64, upper bounds on the values of the actions if the state is observed; as the reward"""
    corner: FloatArray
    """(M,) float64, the largest of them"""
    row: IndexArray
    """(M * A + 1,) int64, the transitions of state i of region k by action a: row first[k] A + a size + i"""
    successor: StateArray
    """(n,) int32, where a transition leads, as a number among the successors of the pair"""
    weight: FloatArray
    """(n,) float64, c(s' | s, a)"""
    successors: IndexArray
    """(K A + 1,) int64, the successors of each pair"""
    seen: IndexArray
    """(n_successors + 1,) int64, what may be observed in each successor"""
    symbol: StateArray
    """(m,) int32, an observation"""
    position: StateArray
    """(m,) int32, the number of the successor in the region that the observation leads to"""
    probability: FloatArray
    """(m,) float64, Pr(z | a, s')"""
    child: StateArray
    """(K * A * Z,) int32, the region after an observation, -1 if it is impossible"""


class PreparedModel:
    """A POMDP, prepared for point-based planning.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    method : str
        Who asks, for error messages.
    steps : float, optional
        How many steps a plan may take on average, which is needed for gamma = 1.

    Attributes
    ----------
    pomdp : POMDP
        The model.
    lookahead : Lookahead
        Its hidden process.
    steps_of : list of csr_array (S, S)
        For each action, c(s' | s, a) without stored zeros.
    sparse : SparseModel
        All of it but the rewards.
    reward : ndarray (S, A) float64
        r(s, a); minus infinity for illegal actions.
    steps, further : float
        So many times an error of each step counts, and one of each step but the first: 1 / (1 - beta) and
        beta / (1 - beta), if beta is the factor by which a backup contracts.

    Raises
    ------
    ParameterError
        If gamma is too close to 1; or is 1, and `steps` is not given.
    ModelError
        If values overflow.
    """

    def __init__(self, pomdp: POMDP, method: str, *, steps: float | None = None) -> None:
        self.pomdp = pomdp
        self.lookahead = discounted(pomdp.mdp, method, FOR_POMDPS) if steps is None else Lookahead(pomdp.mdp)
        modulus = self.lookahead.modulus
        self.steps = 1.0 / (1.0 - modulus) if steps is None else steps
        self.further = modulus / (1.0 - modulus) if steps is None else steps
        states, actions = pomdp.n_states, pomdp.n_actions
        ahead: Any = self.lookahead.continuation
        self.steps_of: list[CsrMatrix] = [ahead[a::actions] for a in range(actions)]
        rows = pomdp.observation_rows
        # Rows of a model sum to 1 only within a tolerance; normalised rows make the bounds simpler.
        sums = np.add.reduceat(rows.probability, rows.indptr[:-1].astype(np.intp))
        self.sparse = SparseModel(
            states,
            actions,
            pomdp.n_observations,
            ahead.indptr.astype(np.int64),
            ahead.indices.astype(np.int32),
            ahead.data,
            rows.indptr,
            rows.observation,
            rows.probability / np.repeat(sums, np.diff(rows.indptr)),
        )
        legal = pomdp.mdp.legal
        self.reward: FloatArray = np.where(legal, self.lookahead.reward.reshape(legal.shape), -np.inf)
        longest = int(np.diff(ahead.indptr).max()) + int(np.diff(rows.indptr).max())
        self._terms = longest + pomdp.n_observations + states

    def rounding(self, size: float) -> float:
        """Return a bound on the effect of the rounding errors of all backups on a value.

        `size` is the largest magnitude of a value. A term of a backup goes through at most one rounding per transition
        and observation of its rows, per possible observation, and twice one per state of the belief's support:
        where its reward is added up, and its product with a vector. EPS is two roundings, and errors of later steps are
        discounted.
        """
        one = (self._terms + 16) * EPS * (self.lookahead.reward_size + self.pomdp.gamma * size)
        return one * self.steps


def tables(model: PreparedModel, informed: FloatArray) -> Tables:
    """Return the tables of a model.

    Parameters
    ----------
    model : PreparedModel
        The model.
    informed : ndarray (S, A) float64
        Upper bounds on the values of the actions if the state is seen; minus infinity for illegal actions.
    """
    sparse = model.sparse
    states, actions = sparse.n_states, sparse.n_actions
    regions = find_regions(sparse, model.pomdp.start > 0.0)
    sizes = np.array([members.size for members in regions.members])
    first = _pointers(sizes)
    everywhere = np.concatenate(regions.members)
    position: StateArray = np.full((sizes.size, states), -1, dtype=np.int32)
    position[np.repeat(np.arange(sizes.size), sizes), everywhere] = np.arange(everywhere.size) - np.repeat(
        first[:-1], sizes
    )
    # One row per region, action and state, in this order; and the pair (region, action) of each row.
    rows = np.concatenate(
        [(members * actions + np.arange(actions)[:, np.newaxis]).reshape(-1) for members in regions.members]
    )
    pair_of_row = np.repeat(np.arange(sizes.size * actions), np.repeat(sizes, actions))
    entries, lengths = entries_of(sparse.row, rows)
    # The successors of each pair, each once, in ascending order.
    key = np.repeat(pair_of_row, lengths) * states + sparse.successor[entries]
    reached, successor = np.unique(key, return_inverse=True)
    pair, after = np.divmod(reached, states)
    successors = _pointers(np.bincount(pair, minlength=sizes.size * actions))
    observed, counts = entries_of(sparse.seen, pair % actions * states + after)
    symbol = sparse.symbol[observed]
    pair, after = np.repeat(pair, counts), np.repeat(after, counts)
    child = regions.child.reshape(sizes.size * actions, -1)
    return Tables(
        n_actions=actions,
        n_observations=sparse.n_observations,
        gamma=model.pomdp.gamma,
        first=first,
        states=everywhere.astype(np.int32),
        reward=np.ascontiguousarray(model.reward[everywhere]).reshape(-1),
        informed=np.ascontiguousarray(informed[everywhere]).reshape(-1),
        corner=informed[everywhere].max(axis=1),
        row=_pointers(lengths),
        successor=(successor - successors[np.repeat(pair_of_row, lengths)]).astype(np.int32),
        weight=sparse.weight[entries],
        successors=successors,
        seen=_pointers(counts),
        symbol=symbol.astype(np.int32),
        position=position[child[pair, symbol], after],
        probability=sparse.probability[observed],
        child=child.reshape(-1).astype(np.int32),
    )


def _pointers(lengths: IndexArray) -> IndexArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
