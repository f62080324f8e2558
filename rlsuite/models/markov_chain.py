"""A finite Markov chain with rewards: what remains of an MDP once a policy is fixed.

A law pi is stationary if pi = pi P. Every chain has one for each of its recurrent (closed communicating) classes, and
all others are mixtures of these; it is unique if there is a single recurrent class. Regularity (some power of P is
positive: one class, aperiodic) is sufficient for that, and gives convergence from any start, but it is not necessary: a
chain that is absorbed in one goal is not regular, yet all its mass ends there (Kemeny & Snell 1960, chapters 2-4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_amount
from rlsuite.core.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.core.shown import ShowsItself
from rlsuite.core.threads import one_blas_thread
from rlsuite.errors import FileError, ModelError, ParameterError
from rlsuite.models import drn, programs, row_checks, validation
from rlsuite.models.aliases import BoolArray, CsrMatrix, FloatArray, IndexArray, SparseLike
from rlsuite.models.files import (
    applies_to,
    labels_from_arrays,
    labels_to_arrays,
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
from rlsuite.models.policies import policy_weights
from rlsuite.models.transformations import END

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WRITTEN: Final = (".drn", ".npz")
SUFFIXES: Final = (".npz", *programs.SUFFIXES)
"""Files that hold a Markov chain."""

C = TypeVar("C", bound="MarkovChain")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class MarkovChain(ShowsItself, SaysWhatToWrite):
    """S states, their transition matrix, and the mean reward of leaving each.

    Parameters
    ----------
    transition : array_like (S, S) or scipy.sparse matrix
        Pr[s' | s]; kept as a ``csr_array`` of float64 without stored zeros.
    reward : array_like (S,), optional
        Mean reward of the step that leaves s; 0 by default.
    state_labels : sequence of str, optional
        S distinct names.
    labels : mapping of str to array_like, optional
        Sets of states with a name, as in `MDP`: for each its mask (S,) bool, or the numbers of its states.

    Raises
    ------
    ModelError
        If `transition` is not a matrix of distributions; the message names the offender.

    Examples
    --------
    >>> from rlsuite.models import MarkovChain
    >>> weather = MarkovChain([[0.9, 0.1], [0.5, 0.5]])
    >>> weather.is_regular, weather.stationary().round(4).tolist()
    (True, [0.8333, 0.1667])
    """

    what_to_write: ClassVar[str] = "MarkovChain([[0.9, 0.1], [0.5, 0.5]])"

    transition: csr_array[np.float64]
    reward: FloatArray
    state_labels: tuple[str, ...] | None
    labels: Mapping[str, BoolArray]

    def __init__(
        self,
        transition: ArrayLike | SparseLike,
        reward: ArrayLike | None = None,
        state_labels: Sequence[str] | None = None,
        labels: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        matrix = _stochastic_matrix(transition)
        states = matrix.shape[0]
        paid = np.zeros(states) if reward is None else validation.floats("reward", reward)
        validation.shape("reward", paid, (states,), meaning="one entry per state")
        object.__setattr__(self, "transition", matrix)
        object.__setattr__(self, "reward", validation.frozen(paid, reward))
        object.__setattr__(self, "state_labels", validation.labels("state_labels", state_labels, states))
        object.__setattr__(self, "labels", validation.state_sets(labels, states))

    @classmethod
    @says_what_to_write
    def from_mdp(cls, mdp: MDP, policy: ArrayLike) -> Self:
        """Return the chain of `mdp` under `policy`.

        Parameters
        ----------
        mdp : MDP
            S states, A actions.
        policy : array_like (S,) int, or (S, A) float
            One action per state, or a distribution over actions per state. What it says about states without legal
            actions (-1, say) is not read.

        Returns
        -------
        MarkovChain
            The S states of the model. If an episode can end, one more follows, labelled "end": terminated
            transitions and states without legal actions lead there, and nothing leads away.

        Raises
        ------
        ParameterError
            If `policy` is not a policy, or takes an illegal action.

        Examples
        --------
        >>> from rlsuite.models import MDP, MarkovChain
        >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [0, 5, 0], gamma=0.9)
        >>> MarkovChain.from_mdp(mdp, [1, 1, -1]).transition.toarray().tolist()
        [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]
        """
        from scipy.sparse import coo_array

        weight = policy_weights(mdp.legal, policy).reshape(-1)
        pair = mdp.pairs()
        probability = weight[pair] * mdp.probability
        used = probability > 0.0
        source = pair[used] // mdp.n_actions
        target = np.where(mdp.terminated, mdp.n_states, mdp.next_state)[used]
        over = np.flatnonzero(~validation.leads_on(mdp.indptr, mdp.n_actions))
        reward = (weight.reshape(mdp.n_states, -1) * mdp.expected_reward()).sum(axis=1)
        names, labels = mdp.state_labels, mdp.labels
        size = mdp.n_states
        probability = probability[used]
        if over.size or (target == size).any():
            closing = np.append(over, size)
            source = np.concatenate([source, closing])
            target = np.concatenate([target, np.full(closing.size, size)])
            probability = np.concatenate([probability, np.ones(closing.size)])
            reward = np.append(reward, 0.0)
            names = None if names is None else labels_of([*names, END])
            labels = {label: np.append(mask, False) for label, mask in labels.items()}
            size += 1
        # Row sums of the model and of the policy may differ from 1 by the tolerance; in the chain this must not add up.
        total = np.bincount(source, weights=probability, minlength=size)
        matrix = coo_array((probability / total[source], (source, target)), shape=(size, size))
        return cls(matrix, reward, names, labels)

    # ------------------------------------------------------------------------------------------- files

    @classmethod
    @says_what_to_write
    def read(
        cls,
        path: str | PathLike[str],
        *,
        constants: programs.Constants | None = None,
        reward: str | Sequence[str] | None = None,
        max_states: int | None = programs.MOST_STATES,
    ) -> Self:
        r"""Read a chain from a file; its suffix says which kind of file it is.

        ==========  =========================================================================================
        ``.npz``    what `write` wrote, bit for bit
        ``.drn``    Storm's explicit format: states, transitions, rewards and labels in one file. The label "init"
                    marks the states in which runs begin.
        ``.prism``  programs of PRISM (also ``.pm``) and JANI models, which Storm builds (extra ``storm``); names of
                    states are the values of the variables.
        ``.jani``
        ==========  =========================================================================================

        Parameters
        ----------
        path
            The file.
        constants, reward, max_states
            Of programs and ``.drn`` files, as in `MDP.read`.

        Raises
        ------
        FileError
            If the file is missing, malformed (with its line), from elsewhere, too large, or holds another kind of
            model.
        ParameterError
            If a constant is unknown or has no value, several reward structures are there and none is chosen, or a
            parameter is not about this kind of file.
        MissingPackage
            If Storm has to build the chain, and stormpy is not installed.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rlsuite.models import MarkovChain
        >>> with TemporaryDirectory() as folder:
        ...     coin = MarkovChain([[0.5, 0.5], [0, 1]], [1, 0], labels={"init": [0]})
        ...     coin.write(Path(folder, "coin.drn"))
        ...     coin = MarkovChain.read(Path(folder, "coin.drn"))
        >>> coin.reward.tolist(), coin.absorbing.tolist()
        ([1.0, 0.0], [1])
        """
        suffix = suffix_of(path, SUFFIXES)
        applies_to(path, programs.SUFFIXES, constants=constants, reward=reward)
        with reading(path, "chain"):
            if suffix == ".npz":
                return _from_npz(cls, path)
            found = programs.build(path, "dtmc", constants=constants, reward=reward, max_states=max_states)
            matrix, paid = drn.chain_of(found)
            return cls(matrix, paid, found.state_names, found.labels)

    @says_what_to_write
    def write(self, path: str | PathLike[str]) -> None:
        """Write the chain to a file, atomically; the suffix says which kind of file.

        ``.npz`` keeps every bit. ``.drn`` is Storm's explicit format; names of states are not kept. The label "init"
        has to say where runs begin.

        Raises
        ------
        FileError
            If the suffix is unknown, the file cannot be written, or the format cannot express the chain: no label
            "init", or a label that is not a name. The message says what to do.
        """
        suffix = suffix_of(path, WRITTEN)
        if suffix == ".npz":
            matrix = self._matrix
            parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "reward": self.reward}
            names = {} if self.state_labels is None else {"state_labels": text(self.state_labels)}
            write_arrays(path, "MarkovChain", {**parts, **names, **labels_to_arrays(self.labels)})
            return
        with writing(path):
            drn.write_chain_drn(self.transition, self.reward, self.labels, path)

    @property
    def n_states(self) -> int:
        """S."""
        return self.reward.size

    # ------------------------------------------------------------------------------------------- structure

    @cached_property
    def classes(self) -> tuple[IndexArray, ...]:
        """The communicating classes: sets of states that can reach each other, ordered by their smallest state."""
        number = self._class_of
        by_class = np.argsort(number, kind="stable")
        return tuple(np.split(by_class, np.cumsum(np.bincount(number))[:-1]))

    @cached_property
    def recurrent_classes(self) -> tuple[IndexArray, ...]:
        """The communicating classes that nothing leaves; at least one."""
        matrix = self._matrix
        source = np.repeat(np.arange(self.n_states), np.diff(matrix.indptr))
        number = self._class_of
        left = number[source][number[source] != number[matrix.indices]]
        transient = set(left.tolist())
        return tuple(members for k, members in enumerate(self.classes) if k not in transient)

    @property
    def transient(self) -> BoolArray:
        """(S,) bool: the states that the chain leaves for ever."""
        mask = np.ones(self.n_states, dtype=np.bool_)
        for members in self.recurrent_classes:
            mask[members] = False
        return mask

    @property
    def absorbing(self) -> IndexArray:
        """The states that lead only to themselves: (n,) int64."""
        return np.array([members[0] for members in self.recurrent_classes if members.size == 1], dtype=np.int64)

    @property
    def is_regular(self) -> bool:
        """Whether some power of the transition matrix is positive: one class, of period 1."""
        return len(self.classes) == 1 and self.period(0) == 1

    def period(self, state: int) -> int:
        """Return the greatest common divisor of the times at which the chain can return to `state`.

        0 if it never can. All states of a class have the same period.
        """
        from scipy.sparse.csgraph import shortest_path

        if not 0 <= state < self.n_states:
            raise ParameterError(f"state={state} is not a state; the states are 0..{self.n_states - 1}")
        members = np.flatnonzero(self._class_of == self._class_of[state])
        inside = self._matrix[members][:, members].tocsr()
        first = int(np.searchsorted(members, state))
        distance = np.asarray(shortest_path(inside, unweighted=True, indices=first), dtype=np.int64)
        # Every edge u -> v closes a cycle of length d(u) + 1 - d(v), modulo the period.
        source = np.repeat(np.arange(members.size), np.diff(inside.indptr))
        return int(np.gcd.reduce(distance[source] + 1 - distance[inside.indices], initial=0))

    # ------------------------------------------------------------------------------------------- long run

    def stationary_laws(self) -> FloatArray:
        """Return the stationary law of each recurrent class: (K, S) float64, in the order of `recurrent_classes`.

        Each solves pi (I - P) = 0 on its class with one component fixed, and is then normalised.
        """
        laws = np.zeros((len(self.recurrent_classes), self.n_states))
        for law, members in zip(laws, self.recurrent_classes, strict=True):
            inside = self._matrix[members][:, members].tocsc()
            mass = np.ones(members.size)
            mass[1:] = _solve_identity_minus(inside[1:, 1:].T, inside[[0], 1:].toarray().reshape(-1))
            law[members] = mass / mass.sum()
        return laws

    def stationary(self) -> FloatArray:
        """Return the stationary law, if there is only one: (S,) float64.

        Raises
        ------
        ModelError
            If there are several recurrent classes, so that the long run depends on the start.
        """
        laws = self.stationary_laws()
        if len(laws) > 1:
            raise ModelError(
                f"the chain has {len(laws)} recurrent classes, so its stationary distribution is not unique: "
                "use stationary_laws() and absorption_probabilities()"
            )
        return laws[0]

    def absorption_probabilities(self) -> FloatArray:
        """Return the probability of ending in each recurrent class, given the first state: (S, K) float64.

        With Q the part of P among transient states and R the part that leads into the classes, B = (I - Q)^-1 R.
        """
        found = np.zeros((self.n_states, len(self.recurrent_classes)))
        for k, members in enumerate(self.recurrent_classes):
            found[members, k] = 1.0
        passing = np.flatnonzero(self.transient)
        if passing.size:
            leaving = self._matrix[passing]
            found[passing] = _solve_identity_minus(leaving[:, passing], leaving @ found)
        return found

    @says_what_to_write
    def after(self, start: ArrayLike, steps: int) -> FloatArray:
        """Return the distribution after a number of steps, p P^steps: (S,) float64.

        Parameters
        ----------
        start : int or array_like (S,)
            The first state, or its distribution.
        steps : int
            Number of steps, at least 0.
        """
        p = validation.start_distribution(start, np.ones(self.n_states, dtype=np.bool_))
        validation.shape("start", p, (self.n_states,))
        validation.distribution("start", p)
        for _ in range(whole_amount("steps", steps, at_least=0)):
            p = self._matrix.T @ p
        return p

    # ---------------------------------------------------------------------------------------------- details

    @property
    def _matrix(self) -> Any:
        """`transition`; SciPy's types leave open what slices of it are."""
        return self.transition

    @cached_property
    def _class_of(self) -> IndexArray:
        """The number of the communicating class of each state, classes being ordered by their smallest state."""
        from scipy.sparse.csgraph import connected_components

        found = connected_components(self._matrix, connection="strong")[1]
        first, number = np.unique(found, return_index=True, return_inverse=True)[1:]
        rank = np.empty(first.size, dtype=np.int64)
        rank[np.argsort(first)] = np.arange(first.size)
        return rank[number.reshape(-1)]

    # The view of the labels is read-only, and cannot be pickled.
    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), (self.transition, self.reward, self.state_labels, dict(self.labels))

    def __repr__(self) -> str:
        return f"MarkovChain(n_states={self.n_states}, recurrent_classes={len(self.recurrent_classes)})"


def _from_npz(chain: type[C], path: str | PathLike[str]) -> C:
    from scipy.sparse import csr_array

    with reading_model(path, "MarkovChain") as arrays:
        labels = labels_from_arrays(Path(path), arrays)
        for name in ("data", "indices", "indptr", "reward"):
            if name not in arrays:
                raise FileError(f"{path} is malformed: it has no {name}")
        reward = arrays.take("reward", np.float64, ndim=1)
        data = arrays.take("data", np.float64, ndim=1)
        indices, indptr = arrays.take("indices", ndim=1), arrays.take("indptr", shape=(reward.size + 1,))
        names = text_in(path, "state_labels", arrays.take("state_labels")) if "state_labels" in arrays else None
        whole = indices.dtype.kind == indptr.dtype.kind == "i"
        ascending = whole and indptr[0] == 0 and indptr[-1] == data.size and (np.diff(indptr) >= 0).all()
        inside = whole and ((indices >= 0) & (indices < reward.size)).all()
        if indices.size != data.size or not ascending or not inside:
            raise FileError(f"{path} is malformed: data, indices and indptr are not a sparse matrix")
        matrix = csr_array((data, indices, indptr), shape=(reward.size, reward.size))
        with reading(path, "chain"):
            return chain(matrix, reward, names, labels)


def _stochastic_matrix(transition: ArrayLike | SparseLike) -> csr_array[np.float64]:
    from scipy.sparse import csr_array

    given: Any = transition if validation.is_matrix(transition) else validation.floats("transition", transition)
    if len(given.shape) != 2:
        raise ModelError(f"transition has shape {given.shape}, not (S, S)")
    matrix: Any = csr_array(given, dtype=np.float64, copy=True)
    rows: CsrMatrix = matrix
    if rows.shape[0] != rows.shape[1] or rows.shape[0] < 1:
        raise ModelError(f"transition has shape {rows.shape}, not (S, S)")
    validation.floats("transition.data", rows.data)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    row_checks.chain_rows(rows.data, rows.indptr)
    for part in (rows.data, rows.indices, rows.indptr):
        part.setflags(write=False)
    return matrix


def _solve_identity_minus(matrix: Any, right: FloatArray) -> FloatArray:
    """Return (I - matrix)^-1 right for a sparse `matrix` of spectral radius below 1."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    if matrix.shape[0] == 0:
        return right
    with one_blas_thread():
        return cast("Any", splu)((eye_array(matrix.shape[0]) - matrix).tocsc()).solve(right)
