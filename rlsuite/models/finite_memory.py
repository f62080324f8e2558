"""A POMDP whose observation is the window of the last k (action, observation) pairs.

The policy on histories of the lecture notes, cut to the last k steps. With H for the window, the pairs (s, H) form a
Markov chain under any policy that looks at H alone: action a in s leads to s' with observation z, and H to H', the
last k pairs of H followed by (a, z). So the windowed problem is a POMDP over the states (s, H), in which every state
emits its own window with probability 1:

    Pr[(s', H') | (s, H), a] = Pr[s' | s, a] O[a, s', z].

Windows are shorter than k in the first k - 1 steps, and empty at the start.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np

from rlsuite.core.checks import whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import validation
from rlsuite.models.functions import labels_of
from rlsuite.models.mdp import MDP

if TYPE_CHECKING:
    from rlsuite.models.pomdp import POMDP

P = TypeVar("P", bound="POMDP")

Window: TypeAlias = tuple[tuple[int, int], ...]
"""(action, observation) pairs, oldest first."""

MAX_ENTRIES = 2**27
"""Largest observation array that is built: one GiB."""

NOTHING_YET = "(nothing yet)"
"""Label of the empty window."""


class _State(NamedTuple):
    hidden: int
    window: Window


def windowed(pomdp: P, k: int) -> P:
    """Return the POMDP over the reachable (hidden state, window) pairs.

    Parameters
    ----------
    pomdp : POMDP
        The model to look at.
    k : int
        Length of the window, in steps, at least 1.

    Returns
    -------
    POMDP
        States and observations (windows) are numbered in the order in which they are found, breadth first from
        the start; observation 0 is the empty window. Labels read ``"state | action:observation action:observation"``,
        oldest first. States that are only entered by terminated transitions have no legal actions.

    Raises
    ------
    ParameterError
        If `k` is less than 1, or the windows are too many for a dense observation array.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> coin = POMDP.from_arrays([[[0.5, 0.5]], [[0.5, 0.5]]], [0, 1], [[1, 0], [0, 1]], gamma=0.9)
    >>> coin.window(2).n_observations, coin.window(2).observation_labels[-1]
    (7, 'a0:z1 a0:z1')
    """
    length = whole_number("k", k)
    n_actions = pomdp.n_actions
    hidden = pomdp.mdp
    emitted = [
        [np.flatnonzero(pomdp.observation[a, s] > 0.0).tolist() for s in range(pomdp.n_states)]
        for a in range(n_actions)
    ]
    window_index: dict[Window, int] = {(): 0}
    index: dict[_State, int] = {}
    states: list[_State] = []

    def number_of(state: _State) -> int:
        if state not in index:
            index[state] = len(states)
            states.append(state)
            window_index.setdefault(state.window, len(window_index))
            windows = len(window_index)
            if n_actions * len(states) * windows > MAX_ENTRIES:
                raise ParameterError(
                    f"k={k} gives more than {len(states)} states and {windows} windows, too many to store; "
                    "choose a smaller k"
                )
        return index[state]

    rows: dict[int, list[list[tuple[int, float, float, bool]]]] = {}
    queue = deque(number_of(_State(int(s), ())) for s in np.flatnonzero(hidden.start > 0.0))
    starts = len(queue)
    while queue:
        i = queue.popleft()
        if i in rows:
            continue
        s, window = states[i]
        rows[i] = []
        for a in range(n_actions):
            row: list[tuple[int, float, float, bool]] = []
            for p, ahead, reward, terminated in hidden.P[s][a]:
                for z in emitted[a][ahead]:
                    j = number_of(_State(ahead, (*window, (a, z))[-length:]))
                    row.append((j, p * float(pomdp.observation[a, ahead, z]), reward, terminated))
                    if not terminated:
                        queue.append(j)
            rows[i].append(row)

    flat = [entry for i in range(len(states)) for row in rows.get(i, []) for entry in row]
    lengths = np.zeros((len(states), n_actions), dtype=np.int64)
    for i, of_state in rows.items():
        lengths[i] = [len(row) for row in of_state]
    indptr = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    probability = np.array([entry[1] for entry in flat], dtype=np.float64)
    # Row sums of both factors may differ from 1 by the tolerance; in the product this must not add up.
    probability /= np.repeat(validation.row_sums(probability, indptr), lengths.reshape(-1))
    of_hidden = np.array([one.hidden for one in states])
    start = np.zeros(len(states))
    start[:starts] = hidden.start[of_hidden[:starts]]
    mdp = MDP.from_rows(
        indptr,
        np.array([entry[0] for entry in flat], dtype=np.int32),
        probability,
        np.array([entry[2] for entry in flat], dtype=np.float64),
        terminated=np.array([entry[3] for entry in flat], dtype=np.bool_),
        n_actions=n_actions,
        gamma=hidden.gamma,
        start=start,
        reward_std=None if hidden.reward_std is None else hidden.reward_std.reshape(-1, n_actions)[of_hidden],
        bernoulli=None if hidden.bernoulli is None else hidden.bernoulli.reshape(-1, n_actions)[of_hidden],
        state_labels=_state_labels(pomdp, states),
        action_labels=hidden.action_labels,
    )
    observation = np.zeros((n_actions, len(states), len(window_index)))
    observation[:, np.arange(len(states)), [window_index[one.window] for one in states]] = 1.0
    return type(pomdp)(mdp, observation, tuple(labels_of(_window_label(pomdp, window) for window in window_index)))


def _window_label(pomdp: POMDP, window: Window) -> str:
    actions = pomdp.action_labels or [f"a{a}" for a in range(pomdp.n_actions)]
    seen = pomdp.observation_labels or [f"z{z}" for z in range(pomdp.n_observations)]
    return " ".join(f"{actions[a]}:{seen[z]}" for a, z in window) or NOTHING_YET


def _state_labels(pomdp: POMDP, states: list[_State]) -> list[str]:
    names = pomdp.state_labels or [f"s{s}" for s in range(pomdp.n_states)]
    return labels_of(f"{names[one.hidden]} | {_window_label(pomdp, one.window)}" for one in states)
