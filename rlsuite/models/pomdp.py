"""A partially observable Markov decision process: an MDP whose states are hidden and emit observations.

The observation that follows action a in the new state s' is z with probability O[a, s', z] = Pr(z | a, s') (KLC98,
section 3). What is known of the hidden state is the belief b(s); the state estimator SE(b, a, z) is `update_belief`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

from rlsuite.core.keywords import MadeFromArrays
from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.models import observations, validation
from rlsuite.models.aliases import FloatArray
from rlsuite.models.beliefs import Beliefs
from rlsuite.models.finite_memory import windowed
from rlsuite.models.mdp import MDP
from rlsuite.models.observations import ObservationRows, Observations
from rlsuite.models.pomdp_constructors import PomdpConstructors
from rlsuite.models.pomdp_files import PomdpFiles, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlsuite.environments.tabular_env import TabularEnv


@dataclass(frozen=True, eq=False, repr=False, init=False)
class POMDP(PomdpConstructors, PomdpFiles, Beliefs, MadeFromArrays):
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
    r(s, a, s') = sum_z O[a, s', z] R(s, a, s', z), by the ways in that take them. That changes no value and no policy,
    as a belief is updated with the observation and never with the reward. Only an environment made from the model pays
    the mean in place of the single rewards.

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

    what_to_write = "POMDP.from_arrays(P, R, O, gamma=0.9)"

    mdp: MDP
    observation_labels: tuple[str, ...] | None
    given_observation: FloatArray | ObservationRows
    name: str = ""

    def __init__(self, mdp: MDP, observation: Observations, observation_labels: Sequence[str] | None = None) -> None:
        if not isinstance(cast("object", mdp), MDP):
            raise ModelError(f"mdp is a {type(mdp).__name__}, not an MDP. For arrays, write {self.what_to_write}")
        found = observations.checked(observation, mdp.n_actions, mdp.n_states)
        is_rows = isinstance(found, ObservationRows)
        symbols = found.n_observations if is_rows else found.shape[2]
        values: dict[str, object] = {
            "mdp": mdp,
            "observation_labels": validation.labels("observation_labels", observation_labels, symbols),
            "given_observation": found,
            # The other form is computed when it is asked for.
            "observation_rows" if is_rows else "observation": found,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, those of the hidden MDP included, checked anew."""
        own = {"mdp", "observation", "observation_labels", "name"}
        hidden = {field.name for field in fields(MDP)}
        for name in changes:
            if name not in own | hidden:
                raise ParameterError(unknown("field", name, own | hidden))
        of_mdp = {name: value for name, value in changes.items() if name in hidden}
        mdp = changes.get("mdp", self.mdp)
        twin = type(self)(
            mdp.replace(**of_mdp) if of_mdp else mdp,
            changes.get("observation", self.given_observation),
            changes.get("observation_labels", self.observation_labels),
        )
        return named(twin, changes.get("name", self.name))

    # ------------------------------------------------------------------------------------------- properties

    @cached_property
    def observation(self) -> FloatArray:
        """(A, S, Z) float64: ``observation[a, s', z]`` = Pr(z | a, s').

        Raises
        ------
        ParameterError
            If the model was made from a sparse form and the dense one needs more memory than there is.
        """
        return observations.table_of_rows(self.observation_rows, self.n_states)

    @cached_property
    def observation_rows(self) -> ObservationRows:
        """Pr(z | a, s') as rows over (a, s'), without the observations that are impossible there."""
        return observations.rows_of_table(self.observation)

    @property
    def n_states(self) -> int:
        """S."""
        return self.mdp.n_states

    @property
    def n_actions(self) -> int:
        """A."""
        return self.mdp.n_actions

    @property
    def n_observations(self) -> int:
        """Z."""
        given = self.given_observation
        return given.n_observations if isinstance(given, ObservationRows) else given.shape[2]

    @property
    def gamma(self) -> float:
        """Discount factor per step."""
        return self.mdp.gamma

    @property
    def start(self) -> FloatArray:
        """(S,) float64: the distribution of the first state, which is the first belief."""
        return self.mdp.start

    @property
    def state_labels(self) -> tuple[str, ...] | None:
        """Names of the hidden states."""
        return self.mdp.state_labels

    @property
    def action_labels(self) -> tuple[str, ...] | None:
        """Names of the actions."""
        return self.mdp.action_labels

    # ------------------------------------------------------------------------------------------ conversions

    def window(self, k: int) -> Self:
        """Return the POMDP whose observation is the window of the last `k` (action, observation) pairs.

        A learner that sees this window instead of the last observation has a memory of `k` steps - the history-based
        policy of the lecture notes. See `rlsuite.models.finite_memory`.
        """
        return named(windowed(self, k), self.name and f"{self.name}, windows of {k}")

    def to_env(self, **kwargs: Any) -> TabularEnv:
        """Return an environment whose dynamics are this model; the keywords are those of `TabularEnv`."""
        from rlsuite.environments.tabular_env import TabularEnv

        return TabularEnv(self, **kwargs)

    def __repr__(self) -> str:
        return (
            f"POMDP(n_states={self.n_states}, n_actions={self.n_actions}, n_observations={self.n_observations}, "
            f"n_transitions={self.mdp.n_transitions}, gamma={self.gamma:g})"
        )

    # As for MDP: immutable, so a copy is the model itself, and unpickling validates again.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...], dict[str, str]]:
        return type(self), (self.mdp, self.given_observation, self.observation_labels), {"name": self.name}
