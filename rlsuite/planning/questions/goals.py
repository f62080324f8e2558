"""Which states a question is about, and the graph of what can happen on the way.

Four sets of states follow from the graph alone, whatever the probabilities are (Baier & Katoen 2008, section 10.6.1):

- some policy may reach the goal: there is a path;
- some policy reaches the goal surely (with probability 1);
- every policy may reach it;
- every policy reaches it surely.

They make the answers 0 and 1 exact, and what remains has a unique solution or end components that can be collapsed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.compilation import compiled
from rlsuite.errors import ParameterError, unknown
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, IndexArray, StateArray
from rlsuite.models.policies import policy_weights
from rlsuite.models.validation import number_of
from rlsuite.planning.graph import distance_to, predecessors

MOST_NAMED = 50
"""Names of labels and states, at most, in an error."""

States: TypeAlias = int | str | Sequence[int | str] | ArrayLike
"""Some states: a label, a number, a name, a sequence of these, or a mask (S,) bool."""


def states_of(model: MDP, given: States, name: str) -> BoolArray:
    """Return some states of a model as a mask (S,) bool.

    Parameters
    ----------
    model : MDP
        The model.
    given : int, str, sequence of these, or array_like (S,) bool
        A label of the model, the number of a state, its name, a sequence of these, or a mask.
    name : str
        What the argument is called, for errors.

    Raises
    ------
    ParameterError
        If there is no such label or state, or `given` is an empty sequence or a mask of another length; or if a word is
        both a label and the name of a state, and these are not the same states.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> mdp = MDP.from_successors([[1], [2], [2]], [0, 0, 0], gamma=0.9, state_labels=["a", "b", "c"])
    >>> states_of(mdp, "b", "goal").tolist(), states_of(mdp, [0, "c"], "goal").tolist()
    ([False, True, False], [True, False, True])
    >>> states_of(mdp.replace(labels={"done": [1, 2]}), "done", "goal").tolist()
    [False, True, True]
    """
    mask: BoolArray = np.zeros(model.n_states, dtype=np.bool_)
    array: Any = np.asarray(given) if not isinstance(given, str | int) else None
    if array is not None and array.dtype == np.bool_ and array.ndim == 1:
        if array.shape != mask.shape:
            raise ParameterError(f"{name} is a mask of {array.size} states, and the model has {model.n_states}")
        return cast("BoolArray", array.copy())
    if array is not None and array.ndim == 0:
        array = array.reshape(1)
    if array is not None and (array.ndim != 1 or array.size == 0):
        raise ParameterError(
            f"{name}={given!r} names no states: pass a number, a name, a sequence of these, or a mask of "
            f"{model.n_states} booleans"
        )
    if array is not None and np.issubdtype(array.dtype, np.integer):
        outside = (array < 0) | (array >= model.n_states)
        if outside.any():
            raise ParameterError(
                f"{name} names state {array[outside][0]}, which does not exist; states are 0..{model.n_states - 1}"
            )
        mask[array] = True
        return mask
    listed = [given] if isinstance(given, str | int) else list(cast("Sequence[object]", given))
    for each in listed:
        mask |= _named(model, each, name)
    return mask


def _named(model: MDP, given: object, name: str) -> BoolArray:
    """Return the states of a label, or one state by its number or its name."""
    labelled = model.labels.get(given) if isinstance(given, str) else None
    mask: BoolArray = np.zeros(model.n_states, dtype=np.bool_)
    if labelled is None:
        if isinstance(given, str) and model.labels:
            known = [*model.labels, *(model.state_labels or ())]
            if given not in known:
                raise ParameterError(unknown(f"{name}: label", given, known[:MOST_NAMED]))
        mask[number_of("state", given, model.n_states, model.state_labels)] = True
        return mask
    if given in (model.state_labels or ()):
        mask[number_of("state", given, model.n_states, model.state_labels)] = True
        if (mask != labelled).any():
            raise ParameterError(
                f"{name}={given!r} is a label of {int(labelled.sum())} states and the name of another: pass the mask, "
                f"model.labels[{given!r}], or the number of the state"
            )
    return labelled


def as_decisions(model: object, policy: ArrayLike | None = None) -> MDP:
    """Return the model itself; or a Markov chain, or the model under a policy, as an MDP with one action.

    Parameters
    ----------
    model : MDP or MarkovChain
        The model.
    policy : array_like (S,) int or (S, A) float, optional
        The action of each state, or a distribution over actions.

    Raises
    ------
    ParameterError
        If it is neither; or if `policy` is not a policy, takes an illegal action, or is given for a chain.
    """
    if isinstance(model, MDP):
        return model if policy is None else _under(model, policy)
    if isinstance(model, MarkovChain) and policy is not None:
        raise ParameterError("a MarkovChain has no actions: leave policy out")
    if not isinstance(model, MarkovChain):
        raise ParameterError(
            f"{model!r} is neither an MDP nor a MarkovChain; rlsuite.MDP.from_env makes a model of an environment"
        )
    matrix = model.transition
    begins = model.labels.get("init")  # files of chains say so where they begin
    return MDP.from_rows(
        matrix.indptr,
        matrix.indices,
        matrix.data,
        model.reward.reshape(-1, 1),
        n_actions=1,
        gamma=1.0,
        terminated=np.zeros(matrix.indices.size, dtype=np.bool_),
        start=begins / begins.sum() if begins is not None and begins.any() else None,
        state_labels=model.state_labels,
        labels=model.labels,
    )


def _under(mdp: MDP, policy: ArrayLike) -> MDP:
    """Return the model in which the policy acts, as an MDP with one action that keeps all ends of episodes."""
    weight = policy_weights(mdp.legal, policy).reshape(-1)
    pair = mdp.pairs()
    probability = weight[pair] * mdp.probability
    used = probability > 0.0
    state = pair[used] // mdp.n_actions
    lengths = np.bincount(state, minlength=mdp.n_states)
    # Row sums of the model and of the policy may differ from 1 by the tolerance; here this must not add up.
    total = np.bincount(state, weights=probability[used], minlength=mdp.n_states)
    paid = (weight.reshape(mdp.n_states, -1) * mdp.expected_reward()).sum(axis=1)
    return MDP.from_rows(
        np.append(0, np.cumsum(lengths)),
        mdp.next_state[used],
        probability[used] / total[state],
        paid.reshape(-1, 1),
        n_actions=1,
        gamma=1.0,
        terminated=mdp.terminated[used],
        start=mdp.start,
        state_labels=mdp.state_labels,
        labels=mdp.labels,
    )


@dataclass(frozen=True, eq=False)
class Question:
    """A goal to be reached, and states to be avoided until then.

    A run visits the state in which it ends: a transition that ends the episode in a goal state reaches the goal, and
    every other end does not.
    """

    mdp: MDP
    """The model; its gamma does not matter"""
    goal: BoolArray
    """(S,) bool"""
    lost: BoolArray
    """(S,) bool, the states to be avoided that are not in the goal"""

    @cached_property
    def state(self) -> IndexArray:
        """(N,) int64, the state that each transition leaves."""
        return self.mdp.pairs() // self.mdp.n_actions

    @cached_property
    def open(self) -> BoolArray:
        """(S,) bool, where neither is decided yet."""
        return ~self.goal & ~self.lost

    @cached_property
    def possible(self) -> BoolArray:
        """(N,) bool, the transitions with a positive probability that leave open states."""
        return (self.mdp.probability > 0.0) & self.open[self.state]

    @cached_property
    def hits(self) -> BoolArray:
        """(N,) bool, the transitions to the goal."""
        return self.possible & self.goal[self.mdp.next_state]

    @cached_property
    def fails(self) -> BoolArray:
        """(N,) bool, the transitions after which the goal is out of reach: an end elsewhere, a state to be avoided."""
        return self.possible & ~self.hits & (self.mdp.terminated | self.lost[self.mdp.next_state])

    @cached_property
    def edges(self) -> BoolArray:
        """(N,) bool, the transitions from an open state to an open state."""
        return self.possible & ~self.hits & ~self.fails

    # -------------------------------------------------------------------------------------------- the four sets

    @cached_property
    def some_may(self) -> BoolArray:
        """(S,) bool, the states from which some policy reaches the goal with a positive probability."""
        return self._path_to(self.hits) | self.goal

    @cached_property
    def every_may(self) -> BoolArray:
        """(S,) bool, the states from which every policy reaches the goal with a positive probability.

        The least set that contains the goal and all open states each action of which may lead into the set.
        """
        mdp = self.mdp
        legal = mdp.indptr[1:] > mdp.indptr[:-1]
        pair = mdp.pairs()
        inside: BoolArray = np.zeros(legal.size, dtype=np.bool_)
        inside[pair[self.hits]] = True
        # The pairs that may lead to each state, for the search backwards.
        edge = np.flatnonzero(self.edges)
        by_target = edge[np.argsort(mdp.next_state[edge], kind="stable")]
        first = np.append(0, np.cumsum(np.bincount(mdp.next_state[edge], minlength=mdp.n_states)))
        outside = (legal & ~inside).reshape(mdp.n_states, -1).sum(axis=1)
        found = self.open & (outside == 0) & mdp.legal.any(axis=1)
        queue: IndexArray = np.empty(mdp.n_states, dtype=np.int64)
        begun = np.flatnonzero(found)
        queue[: begun.size] = begun
        _attract(first, pair[by_target], mdp.n_actions, inside, outside, queue, begun.size, found)
        return found | self.goal

    @cached_property
    def some_surely(self) -> BoolArray:
        """(S,) bool, the states from which some policy reaches the goal with probability 1."""
        return self._surely[0]

    @cached_property
    def safe(self) -> BoolArray:
        """(S * A,) bool, the legal pairs after which the goal can still be reached with probability 1."""
        return self._surely[1]

    @cached_property
    def every_surely(self) -> BoolArray:
        """(S,) bool, the states from which every policy reaches the goal with probability 1.

        From the others some policy may come to a state in which it can stay away from the goal for ever.
        """
        away = ~self.every_may
        return ~self._path_to(self.fails | (self.edges & away[self.mdp.next_state])) & ~away

    @cached_property
    def _surely(self) -> tuple[BoolArray, BoolArray]:
        """The greatest set of states with, for each, a path to the goal by pairs that surely stay in the set."""
        mdp = self.mdp
        lengths = np.diff(mdp.indptr)
        pair = mdp.pairs()
        states = self.some_may
        while True:
            safe: BoolArray = (lengths > 0) & np.repeat(self.open & states, mdp.n_actions)
            safe[pair[self.fails | (self.edges & ~states[mdp.next_state])]] = False
            kept = self._path_to(self.hits & safe[pair], self.edges & safe[pair]) | self.goal
            if (kept == states).all():
                return states, safe
            states = kept

    def _path_to(self, last: BoolArray, edges: BoolArray | None = None) -> BoolArray:
        """Return the open states (S,) bool with a path of `edges` (by default all) that ends with one of `last`."""
        targets: BoolArray = np.zeros(self.mdp.n_states, dtype=np.bool_)
        targets[self.state[last]] = True
        return distance_to(predecessors(self.mdp, self.edges if edges is None else edges), targets) >= 0


@compiled(in_place=True)
def _attract(
    first: IndexArray,
    pairs: IndexArray,
    n_actions: int,
    inside: BoolArray,
    outside: IndexArray,
    queue: IndexArray,
    filled: int,
    found: BoolArray,
) -> None:
    """Add the states to `found` all of whose pairs may lead into it.

    The pairs that may lead to s are ``pairs[first[s] : first[s + 1]]``; `inside` marks the pairs that may lead into the
    set already, ``outside[s]`` counts the others of s, and `queue` holds the `filled` states found so far.
    """
    done = 0
    while done < filled:
        s = queue[done]
        done += 1
        for i in range(first[s], first[s + 1]):
            pair = pairs[i]
            if inside[pair]:
                continue
            inside[pair] = True
            before = pair // n_actions
            outside[before] -= 1
            if outside[before] == 0 and not found[before]:
                found[before] = True
                queue[filled] = before
                filled += 1


def first_action(mdp: MDP) -> StateArray:
    """Return the first legal action of each state (S,) int32; -1 where there is none."""
    legal = mdp.legal
    return np.where(legal.any(axis=1), legal.argmax(axis=1), -1).astype(np.int32)
