"""A form: one way in which an environment can be run, and what has to be known for it.

What the compiled loop runs are two compiled functions and their data:

``begin(data, view, rng) -> (state, observation)``
    draws the beginning of an episode.
``step(data, state, action, observation, view, rng) -> (state, reward, terminated, truncated, next observation)``
    takes an action. Truncated is what the environment itself cuts off; the loop adds the limit of `TimeLimit`.

They write the vector that an agent observes into its view (see `rlsuite.environments.observation_view`), which is empty
for ids. They draw from the environment's own generator, exactly as the environment does.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from rlsuite import errors
from rlsuite.core.compilation import Compiled
from rlsuite.environments.facts import EnvironmentFacts
from rlsuite.environments.followers import Follower
from rlsuite.environments.observation_view import Encoding
from rlsuite.environments.tabulation import MAX_STATES
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import AnyArray, BoolArray

EnvState: TypeAlias = Any
"""The state of an environment: an int if it has a table, a tuple of floats if it has compiled dynamics."""


class EnvironmentFunctions(NamedTuple):
    """An environment in compiled form."""

    data: object
    begin: Compiled[..., tuple[EnvState, int]]
    step: Compiled[..., tuple[EnvState, float, bool, bool, int]]


class Adapter(NamedTuple):
    """How the compiled loop reads an environment's state before a run, and sets it afterwards."""

    functions: EnvironmentFunctions
    read: Callable[[], EnvState]
    """The state of the environment, in the form that the functions use."""
    write: Callable[[EnvState], None]
    """Sets the environment to a state."""
    generator: Callable[[], np.random.Generator]
    """The generator that the environment draws from."""
    recording: Callable[[BoolArray], EnvironmentFunctions] | None = None
    """Returns functions that record the legal actions of each observation, as the environment reports them, in an array
    (n_observations, n_actions)."""


class StateKeeper(NamedTuple):
    """How the state of an environment is kept in a file, as plain data."""

    kind: str
    keep: Callable[[], object]
    """Returns the state."""
    put_back: Callable[[Any], None]
    """Puts the environment into a state; ValueError if it has no such state."""
    generator: Callable[[], np.random.Generator | None]
    """The generator that the environment draws from."""


class Wish(NamedTuple):
    """What a run needs: which agent, which loop, and whether the environment may be probed."""

    gamma: float
    """Discount of the model."""
    loop: Literal["auto", "compiled", "stepwise"] = "auto"
    encode: Encoding | None = None
    """How observations become vectors; None for an agent that is shown ids."""
    masked: bool = False
    """Whether each info of the environment says which actions exist."""
    patience: float = 0.0
    """Seconds for probing the environment; 0 if it is not to be probed."""
    max_states: int = MAX_STATES
    """Most states that a tabulation may have."""
    id_of: Callable[[Any], int] | None = None
    """The number of an observation; by default its id."""

    @property
    def asks(self) -> bool:
        """Whether the user wants the environment to be probed."""
        return self.loop == "compiled" and self.encode is None and self.patience > 0.0


class Refusal(NamedTuple):
    """Why an environment cannot be run in a form."""

    reason: errors.UnsuitableEnvironment | None = None
    """None if the form is not meant for it: without a table none is expected."""
    n_states: int = 0
    """How many states were found nevertheless."""


class Form:
    """One way in which an environment can be run.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of the environment.
    reason : str
        What the compiled form is made of, or why there is none, as a phrase.
    adapter : Adapter or None
        How the compiled loop runs it; None if it cannot.
    model : MDP, POMDP or None
        The model of its table.
    complaint : UnsuitableEnvironment or None
        Why there is no compiled form, where the user may expect one.
    """

    hidden_state: POMDP | None = None
    """The model by which an environment of a known class is judged whose beliefs are shown."""
    kind: ClassVar[str] = ""
    """How the state of the environment is kept: "table", "dynamics", "attributes", or "hooks"."""

    def __init__(
        self,
        facts: EnvironmentFacts,
        reason: str,
        adapter: Adapter | None = None,
        model: MDP | POMDP | None = None,
        complaint: errors.UnsuitableEnvironment | None = None,
    ):
        self.facts, self.reason, self.adapter, self.model, self.complaint = facts, reason, adapter, model, complaint

    @property
    def mdp(self) -> MDP | None:
        """The transitions of its table."""
        return self.model.mdp if isinstance(self.model, POMDP) else self.model

    @property
    def judged(self) -> MDP | POMDP | None:
        """The model by which the exact optimum and the exact value of a policy are computed; None if there is none."""
        return self.hidden_state or self.model

    @property
    def hidden(self) -> POMDP | None:
        """What was found of an environment whose observations do not tell its states apart."""
        return None

    @property
    def rewards(self) -> tuple[float, float] | None:
        """The least and the largest reward, where there is no model that says so."""
        return None

    def draws_rewards(self) -> bool:
        """Whether rewards are drawn from a continuum, so that none occurs twice."""
        return False

    def follower(self, facts: EnvironmentFacts) -> Follower | None:
        """Make what says beside the environment what it should do; None if the form is known to be right."""
        return None

    def keeper(self) -> StateKeeper:
        """Return how the state of the environment is kept.

        Raises
        ------
        UnsuitableEnvironment
            If it cannot be kept; the message says why.
        """
        raise NotImplementedError

    def parts(self) -> Sequence[AnyArray]:
        """The arrays that make up its table or its dynamics, by which it is recognised in another process."""
        return ()
