"""A table: a number for each state, or for each pair of a state and an action."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.episode_buffer import EpisodeBuffer, new_episode_buffer
from rlsuite.agents.memory import STATE_TABLE, Memory
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.values.linear import Linear
from rlsuite.agents.values.representation import NO_LAYERS, Greedy, Representation
from rlsuite.core.aliases import Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, legal_actions
from rlsuite.models.policies import check_policy_form, policy_weights
from rlsuite.training.acting import Policy

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.estimators import Transformer
    from rlsuite.features.feature_map import FeatureMap


@dataclass(eq=False)
class Table(Representation):
    """Values in a table, whose rows are the ids of the observations.

    Parameters
    ----------
    initial : float
        What every value is before anything is learned.

    Raises
    ------
    ParameterError
        If it is not a finite number.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite.agents.values import Table
    >>> agent = rl.QLearning(values=Table(1.0)).learn("FrozenLake-v1", steps=20, seed=1)
    >>> agent.q_[14].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    lacks: ClassVar[Mapping[str, str]] = {
        "weights_": "it learns a table; an agent with features= learns weights",
        "layers_": NO_LAYERS,
    }
    has_rows: ClassVar[bool] = True

    initial: float = 0.0

    def __post_init__(self) -> None:
        self.initial = finite_number("initial", self.initial)

    def check_policy(self, policy: "ArrayLike | None") -> None:
        """Raise ParameterError unless it is an action for each state, or probabilities."""
        if policy is not None:
            check_policy_form("policy_to_follow", policy)

    def size(self, n_rows: int) -> int:
        """How many states there are."""
        return n_rows

    def of_actions(self, memory: Memory) -> Memory:
        """Add a table of initial values."""
        shape = memory.legal.shape
        return memory._replace(q=np.full(shape, self.initial), visits=np.zeros(shape, dtype=np.int64))

    def of_states(self, memory: Memory, followed: "ArrayLike | None", evaluated: NDArray[np.float64] | None) -> Memory:
        """Add a column of initial values, and the table of the policy.

        Raises
        ------
        ParameterError
            If the policy does not fit the environment.
        """
        legal = memory.legal
        if followed is None:
            weights = legal / np.maximum(legal.sum(axis=1, keepdims=True), 1)
        else:
            weights = policy_weights(legal, followed)
        return memory._replace(
            q=np.where(legal.any(axis=1, keepdims=True), self.initial, 0.0),
            visits=np.zeros((len(legal), 1), dtype=np.int64),
            behaviour=np.cumsum(weights, axis=1),
            operations=STATE_TABLE,
        )

    def new_buffer(self, longest: int) -> EpisodeBuffer:
        """Make an empty buffer of ids."""
        return new_episode_buffer(longest)

    def legal(self, memory: Memory) -> NDArray[np.bool_]:
        """The actions that exist, shape (n_states, n_actions)."""
        return memory.legal

    def q(
        self, memory: Memory, observations: "ArrayLike | None", rows_of: Callable[[object], list[int]]
    ) -> NDArray[np.float64]:
        """Learned values, shape (n, n_columns), of ids (n,); by default of all."""
        return memory.q if observations is None else memory.q[rows_of(observations)]

    def at(
        self, memory: Memory, observation: Observation, row_of: Callable[[Observation], int]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Values of an observation, and which actions are legal there."""
        row = row_of(observation)
        return memory.q[row], memory.legal[row]

    def greedy_policy(self, memory: Memory, greedy: Greedy) -> Policy:
        """The greedy policy of all ids."""
        return greedy(memory.q, memory.legal)

    def followed_policy(self, memory: Memory) -> Policy:
        """The policy that is followed, of all ids."""
        return self.followed(memory)

    def followed(self, memory: Memory) -> NDArray[np.float64]:
        """The policy that is followed, shape (n_states, n_actions): probabilities, 0 at ends."""
        weights: NDArray[np.float64] = np.diff(memory.behaviour, axis=1, prepend=0.0)
        masked = weights * memory.legal
        return (
            weights
            if np.array_equal(masked, weights)
            else masked / np.maximum(masked.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        )

    def followed_at(
        self,
        memory: Memory,
        observation: Observation,
        row_of: Callable[[Observation], int],
        action_mask: "ArrayLike | None",
    ) -> NDArray[np.float64]:
        """The same of one observation, shape (n_actions,)."""
        row = row_of(observation)
        policy = self.followed(memory)[row]
        if not policy.any():
            raise errors.ParameterError(f"observation {observation!r} is terminal: no action is legal there")
        if action_mask is not None:
            policy = policy * legal_actions("action_mask", action_mask, policy.size)
        if not policy.any():
            raise errors.ParameterError(f"action_mask={action_mask!r} allows no action of the policy")
        return policy


def chosen(
    values: Representation | None, features: "FeatureMap | Transformer | None", initial_value: float
) -> Representation:
    """What the constructor of an agent was given as ``values=``, or in the short form.

    Raises
    ------
    ParameterError
        If `values` is not a representation, or both forms are given.
    """
    if values is None:
        return Table(initial_value) if features is None else Linear(features, initial_value)
    if not isinstance(cast(object, values), Representation):
        raise errors.ParameterError(
            f"values={values!r} must be Table(), Linear(features) or Network() of rlsuite.agents.values"
            + "; rlsuite.Linear is a schedule, for learning_rate=" * isinstance(values, Schedule)
        )
    if features is not None or initial_value != 0.0:
        raise errors.ParameterError(
            "values= has its own features and initial value: give Linear(features, initial), or features= and "
            "initial_value= alone"
        )
    return values
