"""A partially observable Markov decision process: an MDP whose states are hidden and emit observations.

The observation that follows action a in the new state s' is z with probability O[a, s', z] = Pr(z | a, s') (KLC98,
section 3). What is known of the hidden state is the belief b(s); the state estimator SE(b, a, z) is `update_belief`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from rlsuite.core.checks import fraction, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.npz import Npz
from rlsuite.errors import FileError, ParameterError
from rlsuite.models import drn, programs, validation
from rlsuite.models.beliefs import Beliefs
from rlsuite.models.cassandra import read_pomdp, write_pomdp
from rlsuite.models.environments import Playable
from rlsuite.models.files import (
    applies_to,
    mdp_from_arrays,
    mdp_to_arrays,
    reading,
    reading_model,
    suffix_of,
    text,
    text_in,
    write_arrays,
    writing,
)
from rlsuite.models.functions import labels_of
from rlsuite.models.mdp import MDP
from rlsuite.models.mdp_fields import with_name
from rlsuite.models.observation_model import ObservationRows, Observations
from rlsuite.models.pomdp_constructors import PomdpConstructors
from rlsuite.models.pomdp_fields import PomdpFields

P = TypeVar("P", bound=PomdpFields)

WRITTEN = (".npz", ".pomdp")
SUFFIXES = (*WRITTEN, *programs.SUFFIXES)
"""Files that hold a POMDP."""
_ROWS = ("observation_indptr", "observation_index", "observation_probability", "n_observations")


class POMDP(PomdpConstructors, Beliefs, Playable):
    """A finite POMDP: the MDP of its hidden states, and the probabilities of its observations.

    Parameters
    ----------
    mdp : MDP
        The hidden process; its start distribution is the first belief.
    observation : array_like (A, S, Z), or sequence of A sparse (S, Z) matrices, or ObservationRows
        ``observation[a, s', z]`` = Pr(z | a, s'); each row sums to 1 within 1e-8. Nothing is observed before the first
        action. A dense array keeps every bit; of the other forms, impossible observations are left out.
    observation_labels : sequence of str, optional
        Z distinct names.

    Attributes
    ----------
    name : str
        What figures call it: the id of the environment or the stem of the file that it comes from, or what
        ``replace(name=...)`` has given it; empty otherwise. No computation depends on it.

    Raises
    ------
    ModelError
        If the observation model is not one; the message names the offender.

    Notes
    -----
    Rewards that depend on the observation, R(s, a, s', z), are folded into the mean reward of the transition,
    r(s, a, s') = sum_z O[a, s', z] R(s, a, s', z), by the constructors that take them. That changes no value and no
    policy, as a belief is updated with the observation and never with the reward. Only an environment made from the
    model pays the mean instead of the single rewards.

    Examples
    --------
    A machine that is fine or broken, breaks with probability 0.1 a day, and whose product is good with probability
    0.9 or 0.4:

    >>> from rlsuite.models import POMDP
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> machine
    POMDP(n_states=2, n_actions=1, n_observations=2, n_transitions=3, gamma=0.9)
    >>> machine.predict(machine.start, 0).round(3).tolist()
    [0.85, 0.15]
    >>> machine.update_belief(machine.start, 0, 1).round(3).tolist()
    [0.6, 0.4]
    """

    # ------------------------------------------------------------------------------------------------- files

    @classmethod
    @says_what_to_write
    def read(
        cls,
        path: str | PathLike[str],
        *,
        gamma: float | None = None,
        end: str | None = None,
        constants: programs.Constants | None = None,
        reward: str | Sequence[str] | None = None,
        max_states: int | None = programs.MOST_STATES,
    ) -> Self:
        """Read a model from a file; its suffix says which kind of file it is.

        ===========  ========================================================================================
        ``.npz``     what `write` wrote, bit for bit
        ``.pomdp``   Cassandra's text format, as pomdp-solve and SARSOP read it. Probabilities may be off by the
                     rounding of a few decimals and are then rescaled, with a warning if a row is off by more than
                     1e-5; costs become negative rewards, and the model remembers it; rewards that depend on the
                     observation are folded into the mean reward of the transition; without a start, all states are
                     equally likely.
        ``.prism``   programs of PRISM with ``observables`` (extra ``storm``), JANI models and ``.drn`` files, as for
                     `MDP.read`. What is seen in a state is certain.
        ===========  ========================================================================================

        Parameters
        ----------
        path
            The file.
        gamma : float, optional
            Discount factor in [0, 1] instead of that of the file; for
            programs and ``.drn`` files, it is 1 by default.
        end, constants, reward, max_states
            Of programs and ``.drn`` files, as in `MDP.read`.

        Raises
        ------
        FileError
            If the file is missing, malformed (with line and column), truncated, from elsewhere, too large, holds no
            valid model or one of another kind, or has no discount when `gamma` is not given.
        ParameterError
            If `gamma` is out of range, or a parameter is not about this kind of file.
        MissingPackage
            If Storm has to build the model, and stormpy is not installed.

        Warns
        -----
        RoundingWarning
            If rows of a text file are off by more than 1e-5, which the rounding of a few decimals does not explain.
            Beyond 1e-3 that is an error.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rlsuite.models import POMDP
        >>> text = '''
        ... discount: 0.75
        ... values: reward
        ... states: tiger-left tiger-right
        ... actions: listen open-left open-right
        ... observations: hear-left hear-right
        ... T: * uniform
        ... T: listen identity
        ... O: * uniform
        ... O: listen
        ... 0.85 0.15
        ... 0.15 0.85
        ... R: listen : * : * : * -1
        ... R: open-left : tiger-left : * : * -100
        ... R: open-left : tiger-right : * : * 10
        ... R: open-right : tiger-left : * : * 10
        ... R: open-right : tiger-right : * : * -100
        ... '''
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "tiger.pomdp").write_text(text)
        ...     tiger = POMDP.read(Path(folder, "tiger.pomdp"))
        >>> tiger.update_belief(tiger.start, action=0, observation=1).tolist()
        [0.15, 0.85]
        """
        suffix = suffix_of(path, SUFFIXES)
        applies_to(path, programs.SUFFIXES, end=end, constants=constants, reward=reward)
        if suffix == ".pomdp":
            found = read_pomdp(cls, MDP, path, gamma)
        elif suffix == ".npz":
            found = _from_npz(cls, path, gamma)
        else:
            built = programs.build(path, "pomdp", constants=constants, reward=reward, max_states=max_states)
            mdp = drn.mdp_of(MDP, built, gamma=1.0 if gamma is None else gamma, end=end)
            found = cls(mdp, drn.observations_of(built, mdp.n_actions))
        return with_name(found, Path(path).stem)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, atomically; the suffix says which kind of file.

        ``.npz`` keeps every bit. ``.pomdp`` is Cassandra's text format: it keeps every value to the last bit, but knows
        no termination. Episodes that end stay for ever in a state that pays nothing (see `MDP.without_termination`),
        and there an observation is made, "end", that cannot be made anywhere else: so that beliefs from the file agree
        with those of an agent that observes the end. Each successor of a pair is listed once, in ascending order.
        Labels that are no names in the format, such as "open left", stand in a comment, too, which `read` reads.

        Raises
        ------
        FileError
            If the suffix is unknown, the file cannot be written, or the model cannot be expressed in the format:
            ``.pomdp`` knows no illegal actions and no random rewards. The message says what to do.
        """
        suffix = suffix_of(path, WRITTEN)
        if suffix == ".npz":
            write_arrays(path, "POMDP", pomdp_to_arrays(self))
            return
        with writing(path):
            write_pomdp(self.mdp, self.observation_rows, self.observation_labels, path)

    # ------------------------------------------------------------------------------------------- conversions

    def window(self, k: int) -> Self:
        """Return the POMDP whose observation is the window of the last `k` (action, observation) pairs.

        A learner that sees this window instead of the last observation has a memory of `k` steps - the history-based
        policy of the lecture notes.
        """
        return with_name(windowed(self, k), self.name and f"{self.name}, windows of {k}")

    def __repr__(self) -> str:
        return (
            f"POMDP(n_states={self.n_states}, n_actions={self.n_actions}, n_observations={self.n_observations}, "
            f"n_transitions={self.mdp.n_transitions}, gamma={self.gamma:g})"
        )


# ------------------------------------------------------------------------------------------------------ files


def pomdp_to_arrays(pomdp: PomdpFields) -> dict[str, np.ndarray]:
    """Return the fields of a model that are set, as arrays."""
    given = pomdp.given_observation
    arrays = mdp_to_arrays(pomdp.mdp)
    if isinstance(given, ObservationRows):
        arrays.update(zip(_ROWS, map(np.asarray, given), strict=True))
    else:
        arrays["observation"] = given
    if pomdp.observation_labels is not None:
        arrays["observation_labels"] = text(pomdp.observation_labels)
    return arrays


def _from_npz(model: type[P], path: str | PathLike[str], gamma: float | None) -> P:
    checked = None if gamma is None else fraction("gamma", gamma)
    with reading_model(path, "POMDP") as arrays:
        return pomdp_from_arrays(model, path, arrays, checked)


def pomdp_from_arrays(model: type[P], path: str | PathLike[str], arrays: Npz, gamma: float | None = None) -> P:
    """Return the model that `pomdp_to_arrays` turned into arrays; with another discount, if one is given.

    Raises
    ------
    FileError
        If an array is missing, unknown or wrong.
    """
    observation: Observations
    if "observation" in arrays:
        observation = arrays.take("observation")
    elif all(name in arrays for name in _ROWS):
        indptr, index, probability, count = (arrays.take(name) for name in _ROWS)
        if count.shape != () or count.dtype.kind not in "iu":
            raise FileError(f"{path} is malformed: n_observations is not a whole number")
        observation = ObservationRows(indptr, index, probability, int(count))
    else:
        raise FileError(f"{path} is malformed: it has no observation")
    labels = arrays.take("observation_labels") if "observation_labels" in arrays else None
    named = None if labels is None else text_in(path, "observation_labels", labels)
    mdp = mdp_from_arrays(MDP, path, arrays, gamma)
    with reading(path):
        return model(mdp, observation, named)


# ------------------------------------------------------------------------------------------------ windows

# The policy on histories of the lecture notes, cut to the last k steps. With H for the window, the pairs (s, H) form a
# Markov chain under any policy that looks at H alone: action a in s leads to s' with observation z, and H to H', the
# last k pairs of H followed by (a, z). So the windowed problem is a POMDP over the states (s, H), in which every state
# emits its own window with probability 1:
#
#     Pr[(s', H') | (s, H), a] = Pr[s' | s, a] O[a, s', z].
#
# Windows are shorter than k in the first k - 1 steps, and empty at the start.

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
    indptr = validation.pointers(lengths)
    probability = np.array([entry[1] for entry in flat], dtype=np.float64)
    # Row sums of both factors may differ from 1 by the tolerance; in the product this must not add up.
    probability /= np.repeat(validation.row_sums(probability, indptr), lengths.reshape(-1))
    of_hidden = np.array([one.hidden for one in states])
    start = np.zeros(len(states))
    start[:starts] = hidden.start[of_hidden[:starts]]
    names = pomdp.state_labels or [f"s{s}" for s in range(pomdp.n_states)]
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
        state_labels=labels_of(f"{names[one.hidden]} | {_window_label(pomdp, one.window)}" for one in states),
        action_labels=hidden.action_labels,
        labels={label: mask[of_hidden] for label, mask in hidden.labels.items()},
    )
    observation = np.zeros((n_actions, len(states), len(window_index)))
    observation[:, np.arange(len(states)), [window_index[one.window] for one in states]] = 1.0
    return type(pomdp)(mdp, observation, tuple(labels_of(_window_label(pomdp, window) for window in window_index)))


def _window_label(pomdp: PomdpFields, window: Window) -> str:
    actions = pomdp.action_labels or [f"a{a}" for a in range(pomdp.n_actions)]
    seen = pomdp.observation_labels or [f"z{z}" for z in range(pomdp.n_observations)]
    return " ".join(f"{actions[a]}:{seen[z]}" for a, z in window) or NOTHING_YET
