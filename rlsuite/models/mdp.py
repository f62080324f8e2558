"""A Markov decision process as validated, immutable arrays.

An MDP is (S, A, p, r, start, gamma) with Pr[s', r | s, a] as in S&B2 section 3.1. The transitions are kept as rows
over (state, action) rather than as the dense array p[s, a, s'], for four reasons: most problems are sparse; the same
successor may occur twice in one row (once per way to get there, each with its reward); termination belongs to the
transition, not to the state; and an empty row is an illegal action.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from rlsuite.core.checks import fraction, whole_number
from rlsuite.core.keywords import MadeFromArrays
from rlsuite.errors import ParameterError, unknown
from rlsuite.models import row_checks, validation
from rlsuite.models.aliases import BoolArray, CsrMatrix, FloatArray, IndexArray, StateArray
from rlsuite.models.constructors import Constructors
from rlsuite.models.conversions import Conversions
from rlsuite.models.mdp_files import MdpFiles
from rlsuite.models.transition_view import TransitionView

if TYPE_CHECKING:
    from rlsuite.environments.tabular_env import TabularEnv


@dataclass(frozen=True, eq=False, repr=False)
class MDP(Constructors, Conversions, MdpFiles, MadeFromArrays):
    """A finite Markov decision process: S states, A actions, N transitions.

    Prefer the ways in (`from_rows`, `from_arrays`, ...) to the constructor: they take what you have, check it, and
    fill in what is usual. The values and the order of the transitions are kept exactly as given. Nothing is merged,
    sorted or renormalised, so that replaying the rows reproduces the environment they came from bit for bit.

    Parameters
    ----------
    indptr : ndarray (S * A + 1,) int64
        The row of the pair (s, a) is ``indptr[s * A + a] : indptr[s * A + a + 1]``. An empty row is an illegal action;
        a state whose rows are all empty is an end, which only terminated transitions may enter.
    next_state : ndarray (N,) int32
        Successor of each transition.
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

    what_to_write = "MDP.from_arrays(P, R, gamma=0.9)"

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

    def __post_init__(self) -> None:
        n_actions = whole_number("n_actions", self.n_actions)
        given_indptr = validation.integers("indptr", self.indptr)
        states = row_checks.n_states(given_indptr, n_actions)
        indptr = given_indptr.astype(np.int64, copy=False)
        given_next = validation.integers("next_state", self.next_state)
        probability = validation.floats("probability", self.probability)
        reward = validation.floats("reward", self.reward)
        terminated = validation.booleans("terminated", self.terminated)
        for name, values in (
            ("next_state", given_next),
            ("probability", probability),
            ("terminated", terminated),
        ):
            validation.shape(name, values, (given_next.size,), meaning="one entry per transition")
        start = validation.floats("start", self.start)
        validation.shape("start", start, (states,), meaning="one entry per state")
        reward_std, bernoulli = row_checks.noise(self.reward_std, self.bernoulli, states, n_actions)

        row_checks.row_pointers(indptr, given_next.size, n_actions)
        reward = row_checks.rewards(reward, indptr, n_actions)
        row_checks.successors(given_next, states, indptr, n_actions)
        row_checks.probabilities(probability, indptr, n_actions)
        validation.distribution("start", start)
        row_checks.ends(given_next, terminated, start, indptr, n_actions)
        row_checks.reward_noise(reward, reward_std, bernoulli, indptr, n_actions)

        next_state: StateArray = given_next.astype(np.int32, copy=False)
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
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, checked anew.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> MDP.from_successors([[0]], [1], gamma=0.9).replace(gamma=0.5).gamma
        0.5
        """
        names = [field.name for field in fields(self)]
        for name in changes:
            if name not in names:
                raise ParameterError(unknown("field", name, names))
        if self.reward_per_pair and "indptr" in changes:
            # As a table (S, A): a flat array would be read as one reward per transition if its length fits.
            changes.setdefault("reward", self.reward.reshape(-1, self.n_actions))
        return replace(self, **changes)

    # ------------------------------------------------------------------------------------------- properties

    @property
    def n_transitions(self) -> int:
        """N, the number of stored transitions."""
        return self.next_state.size

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
        successors = cast("CsrMatrix", self.matrix_of(self.probability))
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

    # ------------------------------------------------------------------------------------------ conversions

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

    def to_env(self, **kwargs: Any) -> TabularEnv:
        """Return an environment whose dynamics are this model; the keywords are those of `TabularEnv`."""
        from rlsuite.environments.tabular_env import TabularEnv

        return TabularEnv(self, **kwargs)

    # ---------------------------------------------------------------------------------------------- details

    @cached_property
    def _index(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self.state_labels or ())}

    def __repr__(self) -> str:
        return (
            f"MDP(n_states={self.n_states}, n_actions={self.n_actions}, n_transitions={self.n_transitions}, "
            f"gamma={self.gamma:g}, kind={self.kind!r})"
        )

    # The arrays are immutable, so a copy is the model itself; unpickling validates again because
    # NumPy restores arrays writeable.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))
