"""Models with the same values, for formats that can express less than rows over (state, action).

Most formats know neither the end of an episode nor illegal actions. Termination becomes a state that is never left
and pays nothing: the value after an end is 0 either way. An illegal action becomes a copy of a legal one:
the best of a set does not change when a member is listed twice.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.models import validation
from rlsuite.models.aliases import BoolArray, IndexArray
from rlsuite.models.functions import labels_of
from rlsuite.models.mdp_fields import MdpFields

M = TypeVar("M", bound=MdpFields)

END = "end"
"""Label of a state that is added to stand for the end of an episode."""


class Closed(NamedTuple, Generic[M]):
    """A model in which no transition terminates."""

    mdp: M
    absorbing: BoolArray
    """(S,) bool: the states that stand for the end of an episode"""


def close(mdp: M) -> Closed[M]:
    """Return the model in which terminated transitions lead to states that are never left and pay nothing.

    A state is such a state already, or is made one, if nothing can be earned in it any more: it has no legal action,
    or all its transitions terminate and pay 0. Other terminated transitions are led to one extra state, the last.
    """
    states, actions = mdp.n_states, mdp.n_actions
    if not mdp.terminated.any() and validation.leads_on(mdp.indptr, actions).all():
        return Closed(mdp, np.zeros(states, dtype=np.bool_))
    pair, paid = mdp.pairs(), mdp.rows.reward
    over = np.ones(states, dtype=np.bool_)
    over[pair[~mdp.terminated | (paid != 0.0)] // actions] = False
    redirected = mdp.terminated & ~over[mdp.next_state]
    extra = int(redirected.any())
    absorbing = np.append(over, np.ones(extra, dtype=np.bool_))

    lengths = np.append(np.diff(mdp.indptr), np.ones(extra * actions, dtype=np.int64)).reshape(-1, actions)
    lengths[absorbing] = 1
    indptr = validation.pointers(lengths)
    # The order of rows, and of entries within a row, is kept; absorbing states get a self-loop for every action.
    kept = ~over[pair // actions]
    target = (np.arange(mdp.n_transitions) + (indptr[:-1][: mdp.indptr.size - 1] - mdp.indptr[:-1])[pair])[kept]
    loops = np.flatnonzero(np.repeat(absorbing, actions))
    next_state = np.empty(int(indptr[-1]), dtype=np.int32)
    probability = np.ones(next_state.size)
    reward = np.zeros(next_state.size)
    next_state[indptr[loops]] = loops // actions
    next_state[target] = np.where(redirected, states, mdp.next_state)[kept]
    probability[target] = mdp.probability[kept]
    reward[target] = paid[kept]

    noisy = ~np.repeat(absorbing, actions)
    labels = mdp.state_labels
    closed = type(mdp).from_rows(
        indptr,
        next_state,
        probability,
        reward,
        n_actions=actions,
        gamma=mdp.gamma,
        terminated=np.zeros(next_state.size, dtype=np.bool_),
        start=np.append(mdp.start, np.zeros(extra)),
        reward_std=None if mdp.reward_std is None else np.append(mdp.reward_std, np.zeros(extra * actions)) * noisy,
        bernoulli=None
        if mdp.bernoulli is None
        else np.append(mdp.bernoulli, np.zeros(extra * actions, dtype=np.bool_)) & noisy,
        state_labels=labels_of([*labels, END]) if labels is not None and extra else labels,
        action_labels=mdp.action_labels,
        labels={label: np.append(mask, np.zeros(extra, dtype=np.bool_)) for label, mask in mdp.labels.items()},
    )
    return Closed(closed, absorbing)


def chosen_rows(indptr: IndexArray, rows: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the pointers of a table of the given rows (R,), and the entries of the first table in their order.

    A row -1 stands for an empty one.

    Examples
    --------
    >>> pointers, entry = chosen_rows(np.array([0, 2, 2, 5]), np.array([2, -1, 0]))
    >>> pointers.tolist(), entry.tolist()
    ([0, 3, 3, 5], [2, 3, 4, 0, 1])
    """
    lengths = np.where(rows >= 0, indptr[rows + 1] - indptr[rows], 0)
    chosen = validation.pointers(lengths)
    return chosen, np.repeat(indptr[rows] - chosen[:-1], lengths) + np.arange(int(chosen[-1]))


def fill_illegal(mdp: M) -> M:
    """Return the model in which each illegal action does what the first legal action of its state does."""
    if mdp.legal.all():
        return mdp
    first = np.argmax(mdp.legal, axis=1)
    own = np.arange(mdp.legal.size).reshape(mdp.legal.shape)
    model_row = np.where(mdp.legal, own, own[:, :1] + first[:, None]).reshape(-1)
    indptr, entry = chosen_rows(mdp.indptr, model_row)
    return mdp.replace(
        indptr=indptr,
        next_state=mdp.next_state[entry],
        probability=mdp.probability[entry],
        reward=mdp.rows.reward[entry],
        terminated=mdp.terminated[entry],
        reward_std=None if mdp.reward_std is None else mdp.reward_std[model_row],
        bernoulli=None if mdp.bernoulli is None else mdp.bernoulli[model_row],
    )


def merge(mdp: M) -> M:
    """Return the model, in which nothing terminates, with one transition per successor, in ascending order.

    Impossible transitions are left out, probabilities added, and rewards replaced by their mean. Rows that are in
    this form already keep every bit.
    """
    possible = mdp.probability > 0.0
    key = mdp.pairs() * mdp.n_states + mdp.next_state
    if possible.all() and (key[1:] > key[:-1]).all():
        return mdp
    key, probability, reward = key[possible], mdp.probability[possible], mdp.rows.reward[possible]
    kept, first, group, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    total = np.bincount(group, weights=probability)
    mean = np.bincount(group, weights=probability * reward) / total
    # Rounded, p r / p need not be r: an entry that is alone is copied, not computed.
    alone = count == 1
    indptr = validation.pointers(np.bincount(kept // mdp.n_states, minlength=mdp.indptr.size - 1))
    return mdp.replace(
        indptr=indptr,
        next_state=kept % mdp.n_states,
        probability=np.where(alone, probability[first], total),
        reward=np.where(alone, reward[first], mean),
        terminated=np.zeros(kept.size, dtype=np.bool_),
    )


def refuse_illegal(mdp: MdpFields, layout: str) -> None:
    """Raise `ModelError` naming the first illegal action, which `layout` cannot express."""
    if not mdp.legal.all():
        state, action = (int(i) for i in np.argwhere(~mdp.legal)[0])
        raise ModelError(
            f"action {action} is illegal in state {state}, which {layout} cannot express: "
            "use with_all_legal() first, which repeats a legal action there, or to_pairs() or a .drn file, "
            "which list the legal pairs"
        )


def refuse_noise(mdp: MdpFields, layout: str) -> None:
    """Raise `ModelError` if rewards are random, which `layout` cannot express."""
    if mdp.random_rewards:
        raise ModelError(
            f"some rewards are random, and {layout} holds mean rewards only: "
            "keep the means with replace(reward_std=None, bernoulli=None), or write a .npz file"
        )
