"""The fields of a `POMDP`, checked, and what follows from them: the base on which constructors and files build.

The observation that follows action a in the new state s' is z with probability O[a, s', z] = Pr(z | a, s') (KLC98,
section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Self, Unpack, cast

from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.models import observation_model, validation
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.models.mdp import MDP
from rlsuite.models.mdp_fields import MdpChanges, Named, with_name
from rlsuite.models.observation_model import ObservationRows, Observations


class PomdpChanges(MdpChanges, total=False):
    """What `POMDP.replace` takes, by keyword."""

    mdp: MDP
    observation: Observations
    observation_labels: Sequence[str] | None


@dataclass(frozen=True, eq=False, repr=False, init=False)
class PomdpFields(Named):
    """The fields of a `POMDP`, which says what they are."""

    what_to_write: ClassVar[str] = "POMDP.from_arrays(P, R, O, gamma=0.9)"

    mdp: MDP
    observation_labels: tuple[str, ...] | None
    given_observation: FloatArray | ObservationRows

    def __init__(self, mdp: MDP, observation: Observations, observation_labels: Sequence[str] | None = None) -> None:
        if not isinstance(cast("object", mdp), MDP):
            raise ModelError(f"mdp is a {type(mdp).__name__}, not an MDP. For arrays, write {self.what_to_write}")
        found = observation_model.checked(observation, mdp.n_actions, mdp.n_states)
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

    def replace(self, **changes: Unpack[PomdpChanges]) -> Self:
        """Return a copy with some fields changed, those of the hidden MDP included, checked again."""
        own = {"mdp", "observation", "observation_labels", "name"}
        hidden = {field.name for field in fields(MDP)}
        for name in changes:
            if name not in own | hidden:
                raise ParameterError(unknown("field", name, own | hidden))
        of_mdp = cast("MdpChanges", {name: value for name, value in changes.items() if name in hidden})
        mdp = changes.get("mdp", self.mdp)
        twin = type(self)(
            mdp.replace(**of_mdp) if of_mdp else mdp,
            changes.get("observation", self.given_observation),
            changes.get("observation_labels", self.observation_labels),
        )
        return with_name(twin, changes.get("name", self.name))

    # ------------------------------------------------------------------------------------------- properties

    @cached_property
    def observation(self) -> FloatArray:
        """(A, S, Z) float64: ``observation[a, s', z]`` = Pr(z | a, s').

        Raises
        ------
        ParameterError
            If the model was made from a sparse form and the dense one needs more memory than there is.
        """
        return observation_model.table_of_rows(self.observation_rows, self.n_states)

    @cached_property
    def observation_rows(self) -> ObservationRows:
        """Pr(z | a, s') as rows over (a, s'), without the observations that are impossible there."""
        return observation_model.rows_of_table(self.observation)

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

    @property
    def labels(self) -> Mapping[str, BoolArray]:
        """Named sets of hidden states: label -> (S,) bool."""
        return self.mdp.labels

    @property
    def origin(self) -> str:
        """What the model was made from, and what was verified, where `rlsuite.tabulate` made it; else empty."""
        return self.mdp.origin

    # As for MDP: immutable, so a copy is the model itself, and unpickling validates again.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...], dict[str, str]]:
        return type(self), (self.mdp, self.given_observation, self.observation_labels), {"_name": self.name}
