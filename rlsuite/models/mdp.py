"""A Markov decision process as validated arrays: the class, its files, and the layouts of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from rlsuite.core.checks import fraction
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError, unknown
from rlsuite.models import drn, programs
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.arrays import ROWS_OF, Order
from rlsuite.models.cassandra import read_mdp, write_mdp
from rlsuite.models.constructors import Constructors
from rlsuite.models.environments import Playable
from rlsuite.models.files import (
    applies_to,
    mdp_from_arrays,
    mdp_to_arrays,
    reading_model,
    suffix_of,
    write_arrays,
    writing,
)
from rlsuite.models.mdp_fields import Transition
from rlsuite.models.transformations import close, fill_illegal, refuse_illegal

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WRITTEN = (".drn", ".mdp", ".npz")
SUFFIXES = (".mdp", ".npz", *programs.SUFFIXES)
"""Files that hold an MDP."""


class Arrays(NamedTuple):
    """A model as dense arrays."""

    P: FloatArray
    """Pr[s' | s, a]: (S, A, S) or (A, S, S) float64"""
    R: FloatArray
    """Mean reward given (s, a, s'), of the same shape; 0 where the transition is impossible"""


class Matrices(NamedTuple):
    """A model as one sparse matrix per action."""

    P: tuple[csr_array[np.float64], ...]
    """Pr[s' | s, a]: A sparse (S, S) matrices"""
    R: FloatArray
    """(S, A) float64, the mean reward of each pair"""


class Pairs(NamedTuple):
    """A model as one row per legal pair, ordered by state and action."""

    R: FloatArray
    """(L,) float64, the mean reward of each pair"""
    Q: csr_array[np.float64]
    """Pr[s' | pair]: sparse (L, S)"""
    s_indices: IndexArray
    """(L,) int64, the state of each pair"""
    a_indices: IndexArray
    """(L,) int64, the action of each pair"""


class MDP(Constructors, Playable):
    """A finite Markov decision process: S states, A actions, N transitions.

    Prefer the constructors with a name (`from_rows`, `from_arrays`, ...): they take what you have, check it, and fill
    in what is usual. The values and the order of the transitions are kept exactly as given. Nothing is merged,
    sorted or renormalised, so that replaying the rows reproduces the environment they came from bit for bit.

    Parameters
    ----------
    indptr : ndarray (S * A + 1,) int64
        The row of the pair (s, a) is ``indptr[s * A + a] : indptr[s * A + a + 1]``. An empty row is an illegal action;
        a state whose rows are all empty is an end, which only terminated transitions may enter.
    next_state : ndarray (N,) int32
        Successor of each transition. If all rows lead to the same k states, as those of dense arrays do, a view
        (S * A, k) of one row, as `numpy.broadcast_to` makes it, takes no memory: the array (N,) is made when it is
        asked for. The same holds for `terminated`.
    probability : ndarray (N,) float64
        Probability of each transition; a row sums to 1 within 1e-8.
    reward : ndarray (N,), (S * A,) or (S, A) float64
        Mean reward of each transition; or of each pair (s, a), if it does not depend on where the transition leads,
        which takes less memory. A flat array of N numbers is taken to be the first. `rows` has the reward of each
        transition in either case.
    terminated : ndarray (N,) bool
        Whether the transition ends the episode. The value of what follows is then 0.
    start : ndarray (S,) float64
        Distribution of the first state.
    gamma : float
        Discount factor per step, in [0, 1].
    n_actions : int
        A.
    reward_std : ndarray (S * A,) float64, optional
        Where positive, rewards of that pair are drawn from normal(mean of the transition, std).
    bernoulli : ndarray (S * A,) bool, optional
        Where true, rewards of that pair are 1 with probability (mean of the transition), else 0.
    state_labels, action_labels : sequence of str, optional
        S and A distinct names.
    labels : mapping of str to array_like, optional
        Sets of states with a name, such as "goal" or "crash", which may overlap: for each its mask (S,) bool, or the
        numbers of its states. Kept as a read-only mapping to read-only masks; ``replace(labels={"goal": [2]})`` sets
        them on any model.
    costs : bool
        Whether rewards are costs with the opposite sign. To maximise rewards is to minimise costs; the costs are what
        solutions print, and what figures of values show.

    Raises
    ------
    ModelError
        If the arrays do not define a decision problem; the message names the offender.
    ParameterError
        If `gamma` or `n_actions` is out of range.

    Examples
    --------
    Two squares and a goal; `1` leads right, `0` left, and bumping into the wall is not allowed:

    >>> from rlsuite.models import MDP
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> mdp
    MDP(n_states=3, n_actions=2, n_transitions=3, gamma=0.9, kind='deterministic')
    >>> mdp.legal.tolist()
    [[False, True], [True, True], [False, False]]
    >>> mdp.P[1][1]
    [(1.0, 2, 100.0, True)]
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

        ==========  ==========================================================================================
        ``.npz``    what `write` wrote, bit for bit
        ``.mdp``    Cassandra's text format without observations. Probabilities may be off by the rounding of
                    a few decimals and are then rescaled; costs become negative rewards, and the model remembers it.
        ``.drn``    Storm's explicit format: states, choices, transitions, rewards and labels in one file. Choices
                    with different names get these as action labels; otherwise choice k of a state is action k.
                    States without choices are ends.
        ``.prism``  programs of PRISM (also ``.pm``, ``.nm``) and JANI models, which Storm builds (extra ``storm``).
                    Actions as for ``.drn``; state labels are the values of the variables.
        ``.jani``
        ==========  ==========================================================================================

        Parameters
        ----------
        path
            The file.
        gamma : float, optional
            Discount factor in [0, 1] instead of that of the file; for ``.drn`` and what Storm builds, it is 1 by
            default.
        end : str, optional
            Label of the terminal states of a ``.drn`` file, or of what Storm builds: entering one ends the
            episode, and what the file says about leaving it is dropped.
        constants : str or mapping, optional
            Values of the constants that a program leaves open: ``"N=4,p=0.5"`` or ``{"N": 4, "p": 0.5}``.
        reward : str or sequence of str, optional
            The reward structure of a program or a ``.drn`` file, or some, which are added up; by default the only one,
            if there is one. State rewards are paid on leaving.
        max_states : int, optional
            Largest number of states of a program; None for no limit.

        Raises
        ------
        FileError
            If the file is missing, malformed (with its line), truncated, from elsewhere, too large, or holds no valid
            model, or a model of another kind.
        ParameterError
            If `gamma` is out of range or missing, a constant is unknown or has no value, several reward structures are
            there and none is chosen, or a parameter is not about this kind of file.
        MissingPackage
            If Storm has to build the model, and stormpy is not installed.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rlsuite.models import MDP
        >>> text = '''
        ... discount: 0.9
        ... values: reward
        ... states: left right
        ... actions: stay go
        ... start: left
        ... T: stay identity
        ... T: go : left : right 1
        ... T: go : right uniform
        ... R: * : right : * 5
        ... '''
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "two.mdp").write_text(text)
        ...     mdp = MDP.read(Path(folder, "two.mdp"))
        >>> mdp.P[1][1]
        [(0.5, 0, 5.0, False), (0.5, 1, 5.0, False)]
        """
        suffix = suffix_of(path, SUFFIXES)
        applies_to(path, programs.SUFFIXES, end=end, constants=constants, reward=reward)
        if suffix in programs.SUFFIXES:
            found = programs.build(path, "mdp", constants=constants, reward=reward, max_states=max_states)
            return drn.mdp_of(cls, found, gamma=1.0 if gamma is None else gamma, end=end)
        if suffix == ".mdp":
            return read_mdp(cls, path, gamma)
        checked = None if gamma is None else fraction("gamma", gamma)
        with reading_model(path, "MDP") as arrays:
            return mdp_from_arrays(cls, path, arrays, checked)

    @says_what_to_write
    def write(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, atomically; the suffix says which kind of file.

        ``.npz`` keeps every bit. The text formats keep every value to the last bit, but know no termination: see
        `without_termination` for what becomes of it. They list each successor of a pair once, in ascending order.
        Labels that are no names in the format, such as "open left", stand in a comment, too, which `read` reads.

        =========  ==========================================================================================
        ``.mdp``   Cassandra's text format; illegal actions have no form in it
        ``.drn``   Storm's explicit format in one file, with the mean reward of each pair, which may be negative. Ends
                   are labelled "end", so that ``read(path, gamma=..., end="end")`` makes them ends again; neither the
                   discount nor names of states are kept.
        =========  ==========================================================================================

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        FileError
            If the suffix is unknown, the file cannot be written, or the model cannot be expressed in the format
            (illegal actions in ``.mdp``; random rewards in both; in ``.drn`` a start that is not uniform over some
            states). The message says what to do.
        """
        suffix = suffix_of(path, WRITTEN)
        if suffix == ".npz":
            write_arrays(path, "MDP", mdp_to_arrays(self))
            return
        with writing(path):
            if suffix == ".mdp":
                write_mdp(self, path)
            else:
                drn.write_mdp_drn(self, path)

    # ------------------------------------------------------------------------------------------- conversions

    def without_termination(self) -> Self:
        """Return a model with the same values in which no transition terminates.

        The value after the end of an episode is 0, like that of a state that is never left and pays nothing. A state
        becomes one, for every action, if nothing can be earned in it: it has no legal action, or all its transitions
        terminate and pay 0. Other terminated transitions lead to one extra state, the last, labelled "end" if states
        have labels. Everything that writes a layout without termination starts with this.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> P = {0: {0: [(1.0, 1, 2.0, True)]}, 1: {0: [(1.0, 0, 3.0, False)]}}
        >>> MDP.from_table(P, gamma=0.9).without_termination().next_state.tolist()
        [2, 0, 2]
        """
        return close(self).mdp

    def with_all_legal(self) -> Self:
        """Return a model with the same optimal values in which every action of a state that leads on is legal.

        An illegal action gets the transitions of the first legal action of its state: a policy that takes it means
        that one. The values of policies that choose at random among all actions do change.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> mdp = MDP.from_successors([[None, 1], [0, 1]], [1, 0], gamma=0.9)
        >>> mdp.with_all_legal().P[0][0]
        [(1.0, 1, 1.0, False)]
        """
        return fill_illegal(self)

    def to_arrays(self, order: Order = "sas") -> Arrays:
        """Return P and R as dense arrays of the same layout, for libraries without termination.

        ``order="ass"`` is the dense layout of MDPtoolbox. Unlike `dense`, the result describes the model
        `without_termination`, so it may have one state more. Rewards are means.

        Raises
        ------
        ModelError
            If an action is illegal, as the layout has no form for that; see `with_all_legal` and `to_pairs`.
        ParameterError
            If `order` is unknown.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> P, R = MDP.from_successors([[1, 0], [None, None]], [[5, 0], [0, 0]], gamma=0.9).to_arrays("ass")
        >>> P.tolist()
        [[[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
        >>> R[0].tolist()
        [[0.0, 5.0], [0.0, 0.0]]
        """
        if order not in ROWS_OF:
            raise ParameterError(unknown("order", order, ROWS_OF))
        by_state = Arrays(*self._complete("a dense array").dense())
        if order == "sas":
            return by_state
        return Arrays(*(np.ascontiguousarray(one.transpose(1, 0, 2)) for one in by_state))

    def to_matrices(self) -> Matrices:
        """Return one sparse transition matrix per action, and R[s, a]: the sparse layout of MDPtoolbox.

        Termination and illegal actions are treated as by `to_arrays`. `MDP.from_arrays` reads the result.

        Raises
        ------
        ModelError
            If an action is illegal.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> P, R = MDP.from_successors([[1], [None]], [[5], [0]], gamma=0.9).to_matrices()
        >>> P[0].toarray().tolist(), R.tolist()
        ([[0.0, 1.0], [0.0, 1.0]], [[5.0], [0.0]])
        """
        closed = self._complete("a matrix per action")
        by_pair = closed.matrix_of(closed.probability)
        return Matrices(
            tuple(by_pair[a :: closed.n_actions] for a in range(closed.n_actions)), closed.expected_reward()
        )

    def to_pairs(self) -> Pairs:
        """Return one row per legal pair: the layout of QuantEcon's ``DiscreteDP(R, Q, beta, s_indices, a_indices)``.

        The result describes the model `without_termination`, so it may have one state more. Illegal actions are not
        listed, and rewards are means. `MDP.from_pairs` reads the result.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> pairs = MDP.from_successors([[None, 1], [0, 0]], [5, 0], gamma=0.9).to_pairs()
        >>> pairs.R.tolist(), pairs.s_indices.tolist(), pairs.a_indices.tolist()
        ([5.0, 0.0, 0.0], [0, 1, 1], [1, 0, 1])
        """
        closed = self.without_termination()
        listed = np.flatnonzero(closed.legal)
        s_indices, a_indices = np.divmod(listed, closed.n_actions)
        reward = closed.expected_reward().reshape(-1)[listed]
        return Pairs(reward, closed.matrix_of(closed.probability)[listed], s_indices, a_indices)

    def to_table(self) -> dict[int, dict[int, list[Transition]]]:
        """Return the transitions in Gymnasium's convention as plain dicts; `P` is a view that copies nothing.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> MDP.from_successors([[1], [None]], [[5], [0]], gamma=0.9).to_table()
        {0: {0: [(1.0, 1, 5.0, True)]}, 1: {0: []}}
        """
        P = self.P
        return {s: dict(P[s]) for s in P}

    def _complete(self, layout: str) -> Self:
        """Return the model without termination, in which every action must be legal."""
        closed = self.without_termination()
        refuse_illegal(closed, layout)
        return closed

    def __repr__(self) -> str:
        return (
            f"MDP(n_states={self.n_states}, n_actions={self.n_actions}, n_transitions={self.n_transitions}, "
            f"gamma={self.gamma:g}, kind={self.kind!r})"
        )
