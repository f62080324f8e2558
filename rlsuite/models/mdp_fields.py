"""The fields of an `MDP`, checked, and what follows from them: the base on which constructors and files build.

An MDP is (S, A, p, r, start, gamma) with Pr[s', r | s, a] as in S&B2 section 3.1. The transitions are kept as rows
over (state, action) rather than as the dense array p[s, a, s'], for four reasons: most problems are sparse; the same
successor may occur twice in one row (once per way to get there, each with its reward); termination belongs to the
transition, not to the state; and an empty row is an illegal action.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeAlias, TypedDict, TypeVar, Unpack, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fits_in_memory, fraction, whole_number
from rlsuite.core.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.errors import ParameterError, unknown
from rlsuite.models import row_checks, validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray, Rows, StateArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from rlsuite.rendering import GridLayout


class MdpChanges(TypedDict, total=False):
    """What `MDP.replace` takes, by keyword."""

    indptr: ArrayLike
    next_state: ArrayLike
    probability: ArrayLike
    reward: ArrayLike
    terminated: ArrayLike
    start: ArrayLike
    gamma: float
    n_actions: int
    reward_std: ArrayLike | None
    bernoulli: ArrayLike | None
    state_labels: Sequence[str] | None
    action_labels: Sequence[str] | None
    costs: bool
    labels: Mapping[str, ArrayLike] | None
    name: str


class Named(SaysWhatToWrite):
    """A model with a name."""

    @property
    def name(self) -> str:
        """Name for figures: that of its environment, or the one given by ``model.replace(name=...)``; else empty."""
        return str(vars(self).get("_name", ""))


@dataclass(frozen=True, eq=False, repr=False)
class MdpFields(Named):
    """The fields of an `MDP`, which says what they are."""

    what_to_write: ClassVar[str] = "MDP.from_arrays(P, R, gamma=0.9)"

    indptr: IndexArray
    next_state: StateArray
    probability: FloatArray
    reward: FloatArray
    terminated: BoolArray
    start: FloatArray
    gamma: float
    n_actions: int
    reward_std: FloatArray | None = None
    bernoulli: BoolArray | None = None
    state_labels: tuple[str, ...] | None = None
    action_labels: tuple[str, ...] | None = None
    costs: bool = False
    labels: Mapping[str, BoolArray] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        n_actions = whole_number("n_actions", self.n_actions)
        given_indptr = validation.integers("indptr", self.indptr)
        states = row_checks.n_states(given_indptr, n_actions)
        indptr = given_indptr.astype(np.int64, copy=False)
        given_next = validation.integers("next_state", self.next_state)
        given_ends = validation.booleans("terminated", self.terminated)
        next_state, same_next = row_checks.one_of_all(given_next, given_indptr)
        terminated, same_ends = row_checks.one_of_all(given_ends, given_indptr) if same_next else (given_ends, False)
        probability = validation.array("probability", self.probability).astype(np.float64, copy=False)
        reward = validation.floats("reward", self.reward)
        for name, values, same in (
            ("next_state", given_next, same_next),
            ("probability", probability, False),
            ("terminated", given_ends, same_ends),
        ):
            if not same:
                validation.shape(name, values, (given_next.size,), meaning="one entry per transition")
        start = validation.floats("start", self.start)
        validation.shape("start", start, (states,), meaning="one entry per state")
        reward_std, bernoulli = row_checks.noise(self.reward_std, self.bernoulli, states, n_actions)

        row_checks.row_pointers(indptr, given_next.size, n_actions)
        reward = row_checks.rewards(reward, indptr, n_actions)
        row_checks.successors(next_state, states, indptr, n_actions)
        row_sums = row_checks.probabilities(probability, indptr, n_actions)
        validation.distribution("start", start)
        row_checks.ends(given_next, given_ends, start, indptr, n_actions)
        row_checks.reward_noise(reward, reward_std, bernoulli, indptr, n_actions)

        next_state: StateArray = next_state.astype(np.int32, copy=False)
        checked: dict[str, object] = {
            "indptr": validation.frozen(indptr, self.indptr),
            "next_state": validation.frozen(next_state, self.next_state),
            "probability": validation.frozen(probability, self.probability),
            "reward": validation.frozen(reward, self.reward),
            "terminated": validation.frozen(terminated, self.terminated),
            "start": validation.frozen(start, self.start),
            "gamma": fraction("gamma", self.gamma),
            "n_actions": n_actions,
            "reward_std": None if reward_std is None else validation.frozen(reward_std, self.reward_std),
            "bernoulli": None if bernoulli is None else validation.frozen(bernoulli, self.bernoulli),
            "state_labels": validation.labels("state_labels", self.state_labels, states),
            "action_labels": validation.labels("action_labels", self.action_labels, n_actions),
            "costs": bool(self.costs),
            "labels": validation.state_sets(self.labels, states),
        }
        repeated = [name for name, same in (("next_state", same_next), ("terminated", same_ends)) if same]
        checked["_repeated"] = {name: checked.pop(name) for name in repeated}
        checked["_row_sums"] = row_sums
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        for name in repeated:
            object.__delattr__(self, name)  # until it is asked for

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> AnyArray:
            """Make an array that is the same in each row when it is asked for."""
            row = vars(self).get("_repeated", {}).get(name)
            if row is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            made = np.tile(row, self.indptr.size - 1)
            made.setflags(write=False)
            object.__setattr__(self, name, made)
            return made

    def replace(self, **changes: Unpack[MdpChanges]) -> Self:
        """Return a copy with some fields changed, checked again.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> MDP.from_successors([[0]], [1], gamma=0.9).replace(gamma=0.5).gamma
        0.5
        """
        title = changes.pop("name", self.name)
        names = [one.name for one in fields(self)]
        for name in changes:
            if name not in names:
                raise ParameterError(unknown("field", name, names))
        if self.reward_per_pair and "indptr" in changes:
            # As a table (S, A): a flat array would be read as one reward per transition if its length fits.
            changes.setdefault("reward", self.reward.reshape(-1, self.n_actions))
        if "indptr" not in changes:
            for name, row in vars(self)["_repeated"].items():
                changes = cast("MdpChanges", {name: np.broadcast_to(row, (self.indptr.size - 1, row.size)), **changes})
        copy = with_origin(replace(self, **changes), self.origin)
        if copy.n_states == self.n_states:
            with_layout(copy, self.layout)
        return with_name(copy, title)

    @classmethod
    @says_what_to_write
    def from_rows(
        cls,
        indptr: ArrayLike,
        next_state: ArrayLike,
        probability: ArrayLike,
        reward: ArrayLike,
        *,
        n_actions: int,
        gamma: float,
        terminated: ArrayLike | None = None,
        start: ArrayLike | None = None,
        reward_std: ArrayLike | None = None,
        bernoulli: ArrayLike | None = None,
        state_labels: Sequence[str] | None = None,
        action_labels: Sequence[str] | None = None,
        labels: Mapping[str, ArrayLike] | None = None,
    ) -> Self:
        """Build a model from the raw rows.

        Parameters
        ----------
        indptr, next_state, probability, reward, n_actions, gamma, state_labels, action_labels, labels
            As in the class.
        terminated : array_like (N,) bool, optional
            By default the transitions into states without legal actions terminate, and no others.
        start : int or array_like (S,), optional
            One state or a distribution; by default uniform over the states that have a legal action.
        reward_std, bernoulli : array_like (S, A) or (S * A,), optional
            As in the class.

        Examples
        --------
        A coin that is tossed until it shows heads:

        >>> from rlsuite.models import MDP
        >>> MDP.from_rows([0, 2, 2], [0, 1], [0.5, 0.5], [-1, -1], n_actions=1, gamma=1.0).terminated.tolist()
        [False, True]
        """
        actions = whole_number("n_actions", n_actions)
        pointers = validation.integers("indptr", indptr)
        states = row_checks.n_states(pointers, actions)
        can_start = validation.leads_on(pointers, actions)
        ahead = validation.integers("next_state", next_state)
        if terminated is None:
            # The constructor reports successors out of range; here they must only not be used as indices.
            inside = (ahead >= 0) & (ahead < states)
            ended = ~can_start[np.where(inside, ahead, 0)].reshape(-1)
        else:
            ended = validation.booleans("terminated", terminated)
        return cls(
            indptr=pointers,
            next_state=ahead,
            probability=validation.array("probability", probability),
            reward=validation.array("reward", reward),
            terminated=ended,
            start=validation.start_distribution(start, can_start),
            gamma=gamma,
            n_actions=actions,
            reward_std=None if reward_std is None else validation.floats("reward_std", reward_std),
            bernoulli=None if bernoulli is None else validation.booleans("bernoulli", bernoulli),
            state_labels=validation.labels("state_labels", state_labels, states),
            action_labels=validation.labels("action_labels", action_labels, actions),
            labels=validation.state_sets(labels, states),
        )

    # ------------------------------------------------------------------------------------------ what follows

    @property
    def n_states(self) -> int:
        """S."""
        return (self.indptr.size - 1) // self.n_actions

    @property
    def reward_per_pair(self) -> bool:
        """Whether `reward` is that of each pair (s, a), 0 for illegal actions, instead of that of each transition."""
        return self.reward.size != self.probability.size

    @property
    def every_row(self) -> StateArray | None:
        """(k,) int32, where every row leads, if the model was made of rows that all lead to the same k states."""
        return vars(self)["_repeated"].get("next_state")

    @property
    def row_sums(self) -> tuple[float, float]:
        """The least and the greatest sum of the probabilities of a legal pair: 1 but for rounding."""
        return vars(self)["_row_sums"]

    @cached_property
    def any_terminated(self) -> bool:
        """Whether some transition ends the episode."""
        row = vars(self)["_repeated"].get("terminated")
        return bool((self.terminated if row is None else row).any())

    @property
    def rows(self) -> Rows:
        """The transitions as a named tuple of arrays, with a reward for each of them whatever `reward` holds."""
        reward = np.repeat(self.reward, np.diff(self.indptr)) if self.reward_per_pair else self.reward
        reward.setflags(write=False)
        return Rows(self.indptr, self.next_state, self.probability, reward, self.terminated)

    def pairs(self) -> IndexArray:
        """Return the number s * A + a of the pair that each transition leaves: (N,) int64."""
        return np.repeat(np.arange(self.n_states * self.n_actions), np.diff(self.indptr))

    def expected_reward(self) -> FloatArray:
        """Return r(s, a), the mean reward of one step: (S, A) float64, 0 for illegal actions. S&B2 (3.5)."""
        paid = self.reward
        mean = paid if self.reward_per_pair else validation.row_sums(self.probability * paid, self.indptr)
        return mean.reshape(self.n_states, self.n_actions)

    def transition_matrix(self, action: int) -> csr_array[np.float64]:
        """Return Pr[s' | s, action] as a sparse (S, S) matrix; the rows of states where it is illegal are empty.

        Terminated transitions are part of it.
        """
        if whole_number("action", action, at_least=0) >= self.n_actions:
            raise ParameterError(f"action={action} is not an action; the actions are 0..{self.n_actions - 1}")
        return self.matrix_of(self.probability)[action :: self.n_actions]

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return P[s, a, s'] and R[s, a, s'], both (S, A, S) float64.

        R is the mean reward given (s, a, s'), 0 where the transition is impossible. Rows of illegal actions are 0.
        Which transitions terminate is not part of the pair.

        Raises
        ------
        ParameterError
            If the arrays need more memory than there is.
        """
        states = self.n_states
        fits_in_memory(f"a dense array of {states} states", 32 * states * self.n_actions * states)
        P = np.zeros((states * self.n_actions, states))
        weighted = np.zeros_like(P)
        pair = self.pairs()
        np.add.at(P, (pair, self.next_state), self.probability)
        np.add.at(weighted, (pair, self.next_state), self.probability * self.rows.reward)
        R = np.divide(weighted, P, out=np.zeros_like(P), where=P > 0.0)
        cube = (states, self.n_actions, states)
        return P.reshape(cube), R.reshape(cube)

    def matrix_of(self, values: FloatArray) -> csr_array[np.float64]:
        """Return the sum of `values` (N,) over the transitions from each pair to each state.

        The result is a sparse (S * A, S) matrix without stored zeros; row s * A + a belongs to the pair (s, a).
        """
        from scipy.sparse import csr_array

        shape = (self.n_states * self.n_actions, self.n_states)
        # A copy, because sum_duplicates works in place and the arrays of the model are read-only. The cast is there
        # because SciPy has no type annotations, and type checkers infer a mixture of the types of the three arrays.
        matrix = cast(
            "csr_array[np.float64]", csr_array((values, self.next_state, self.indptr), shape=shape, copy=True)
        )
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix

    @property
    def n_transitions(self) -> int:
        """N, the number of stored transitions."""
        return self.probability.size

    @cached_property
    def legal(self) -> BoolArray:
        """(S, A) bool: the actions that may be taken in each state."""
        mask = (self.indptr[1:] > self.indptr[:-1]).reshape(self.n_states, self.n_actions)
        mask.setflags(write=False)
        return mask

    @cached_property
    def kind(self) -> Literal["deterministic", "nondeterministic", "stochastic"]:
        """The kind of the transitions, one of the three of the lecture notes.

        "deterministic": every legal action has one successor. "nondeterministic": every legal action has a set of
        successors, all equally likely. "stochastic": anything else.
        """
        row = self.every_row
        if row is not None and np.unique(row).size == row.size > 1 and self.probability.min() > 0.0:
            equal = np.abs(self.probability * row.size - 1.0) <= 1e-8
            return "nondeterministic" if equal.all() else "stochastic"
        successors = self.matrix_of(self.probability)
        lengths = np.diff(successors.indptr)
        if not (lengths > 1).any():
            return "deterministic"
        equal = np.abs(successors.data * np.repeat(lengths, lengths) - 1.0) <= 1e-8
        return "nondeterministic" if equal.all() else "stochastic"

    @property
    def random_rewards(self) -> bool:
        """Whether some rewards are drawn at random, given the transition."""
        return self.reward_std is not None or self.bernoulli is not None

    @cached_property
    def P(self) -> TransitionView:  # noqa: N802 - Gymnasium's name
        """Read-only view of the transitions in Gymnasium's convention.

        ``P[s][a]`` is a list of ``(probability, next_state, reward, terminated)`` in plain Python numbers; the list
        of an illegal action is empty.
        """
        return TransitionView(self.rows, self.n_actions)

    def index_of(self, label: str) -> int:
        """Return the index of the state with this label.

        Raises
        ------
        ParameterError
            If there is no such label, or the model has none at all.
        """
        if label not in self._index:
            what = (
                unknown("state label", label, self._index)
                if self._index
                else f"there is no state {label!r}: this model has no state labels"
            )
            raise ParameterError(what)
        return self._index[label]

    # ----------------------------------------------------------------------------------------------- details

    @cached_property
    def _index(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self.state_labels or ())}

    @property
    def origin(self) -> str:
        """What the model was made from, and what was verified, where `rlsuite.tabulate` made it; else empty."""
        return str(vars(self).get("_origin", ""))

    @property
    def layout(self) -> GridLayout | None:
        """Where the states lie on a grid, for figures, if `from_env` has found them on one."""
        return vars(self).get("_layout")

    # The arrays are immutable, so a copy is the model itself; unpickling validates again because
    # NumPy restores arrays writeable.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...], dict[str, str]]:
        return (
            type(self),
            # The view of the labels is read-only, and cannot be pickled: the last field is passed as a dict.
            (*(getattr(self, one.name) for one in fields(self)[:-1]), dict(self.labels)),
            {
                "_origin": self.origin,
                "_name": self.name,
            },
        )


Fields = TypeVar("Fields", bound=MdpFields)
AnyModel = TypeVar("AnyModel", bound=Named)


def with_origin(model: Fields, origin: str) -> Fields:
    """Say of a new model what it was made from; not an argument of the constructor, as no computation needs it."""
    object.__setattr__(model, "_origin", origin)  # it is immutable once it has been handed over
    return model


def with_layout(model: Fields, layout: GridLayout | None) -> Fields:
    """Say of a new model where its states lie on a grid; not an argument of the constructor, as for `with_origin`."""
    object.__setattr__(model, "_layout", layout)
    return model


def with_name(model: AnyModel, name: object) -> AnyModel:
    """Name a new model, an MDP or a POMDP; not an argument of the constructor, which subclasses may have overridden.

    Raises
    ------
    ParameterError
        If the name is not text.
    """
    if not isinstance(name, str):
        raise ParameterError(f"name={name!r} is not text")
    object.__setattr__(model, "_name", name)
    return model


# ------------------------------------------------------------------------------------------ Gymnasium's table

Transition: TypeAlias = tuple[float, int, float, bool]
"""(probability, next_state, mean reward, terminated)"""


class ActionView(Mapping[int, list[Transition]]):
    """``P[s]``: the transitions of each action of one state."""

    __slots__ = ("_n_actions", "_rows", "_state")

    def __init__(self, rows: Rows, n_actions: int, state: int) -> None:
        self._rows = rows
        self._n_actions = n_actions
        self._state = state

    def __getitem__(self, action: int) -> list[Transition]:
        if not 0 <= action < self._n_actions:
            raise KeyError(action)
        rows = self._rows
        pair = self._state * self._n_actions + action
        row = slice(int(rows.indptr[pair]), int(rows.indptr[pair + 1]))
        return list(
            zip(
                rows.probability[row].tolist(),
                rows.next_state[row].tolist(),
                rows.reward[row].tolist(),
                rows.terminated[row].tolist(),
                strict=True,
            )
        )

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._n_actions))

    def __len__(self) -> int:
        return self._n_actions

    def __repr__(self) -> str:
        return repr(dict(self))


class TransitionView(Mapping[int, ActionView]):
    """A read-only ``P[s][a] -> [(probability, next_state, reward, terminated), ...]`` over the rows of a model.

    Nothing is copied: a list is made when its pair is asked for, of plain Python numbers equal to those of the
    arrays. The list of an illegal action is empty.
    """

    __slots__ = ("_n_actions", "_rows")

    def __init__(self, rows: Rows, n_actions: int) -> None:
        self._rows = rows
        self._n_actions = n_actions

    def __getitem__(self, state: int) -> ActionView:
        if not 0 <= state < len(self):
            raise KeyError(state)
        return ActionView(self._rows, self._n_actions, int(state))

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return (self._rows.indptr.size - 1) // self._n_actions

    def __repr__(self) -> str:
        return f"<transitions of {len(self)} states and {self._n_actions} actions>"
