"""What an agent asks of a representation of its values, whichever it is."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.episode_buffer import EpisodeBuffer, VectorEpisodeBuffer
from rlsuite.agents.exploration import Exploration
from rlsuite.agents.memory import Memory
from rlsuite.agents.schedules import VISITS, Rate
from rlsuite.core.aliases import Env, Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.described import Described, Plain
from rlsuite.core.fingerprints import reads
from rlsuite.core.npz import Npz
from rlsuite.environments.observation_view import Encoding
from rlsuite.models.aliases import AnyArray
from rlsuite.training.acting import Policy
from rlsuite.training.kernels import Step

Greedy: TypeAlias = Callable[[NDArray[np.float64], "ArrayLike | None"], NDArray[np.float64]]
"""From action values and masks, both (n, n_actions), to a policy of that shape."""

NO_LAYERS = "only an agent with values=Network() has layers"


class Representation(Described):
    """Base of `Table`, `Linear` and `Network`: what the constructors of agents take as ``values=``.

    An agent has a copy of its own, `of` itself, which `bind` prepares for an environment. What is learned is in the
    agent's memory, which the methods are given.
    """

    described_as = "values"

    lacks: ClassVar[Mapping[str, str]]
    """Learned arrays that an agent with these values does not have, and why."""

    has_rows: ClassVar[bool]
    """Whether each id has a row of its own, in which visits and returns are counted."""

    most_active: int = 0
    """How many features may differ from 0 at once; 0 for a table."""

    outside: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    """How many observations, (1,), lay outside of the range of those that features were fitted to."""

    owner: str = ""
    """The class of the agent, for messages."""

    def of(self, owner: str) -> Self:
        """Return a copy for an agent of this class."""
        copied = copy.copy(self)
        copied.owner = owner
        return copied

    # ---------------------------------------------------------------------------------------------- before learning

    def check_counts(self, name: str, given: Rate | Exploration) -> None:
        """Raise ParameterError if a schedule, or an exploration, counts visits where no id has a row for them."""
        if self.has_rows:
            return
        rates = (given.rule.first, given.rule.second) if isinstance(given, Exploration) else (given,)
        if any(rate.unit == VISITS for rate in rates):
            raise errors.ParameterError(
                f"{name}: a schedule per='visits' needs a table; use per='steps' or per='episodes'"
            )
        if isinstance(given, Exploration) and (
            reads(given.rule.select, "visits") or reads(given.rule.spread, "visits")
        ):
            raise errors.ParameterError(
                f"{name}: {given!r} counts how often each action was taken in each state, which needs a table; with "
                "features use another, such as EpsilonGreedy or Softmax"
            )

    def check_rule(self, step: Step) -> None:
        """Raise ParameterError if a rule asks for what these values do not answer."""

    @abstractmethod
    def check_policy(self, policy: "ArrayLike | None") -> None:
        """Raise ParameterError if a policy to follow is malformed, for any environment."""

    def bind(self, env: Env, has_learned: bool, seed: int | None) -> Encoding | None:
        """Prepare for an environment; return how its observations become vectors, None if they are ids.

        The seed is that of the run; None if none begins, so that the environment must not be stepped.
        """
        return None

    @abstractmethod
    def size(self, n_rows: int) -> int:
        """How many numbers there are for each action: states, or features."""

    @abstractmethod
    def of_actions(self, memory: Memory) -> Memory:
        """Add the initial values of actions to a memory that has none yet."""

    def kept_current(self, memory: Memory) -> Memory:
        """Let ``memory.q`` be right after every update, for a rule that does not call `renew`."""
        return memory

    @abstractmethod
    def of_states(self, memory: Memory, followed: "ArrayLike | None", evaluated: NDArray[np.float64] | None) -> Memory:
        """Add the initial values of states, and the policies: `evaluated` is None where it is the one followed."""

    @abstractmethod
    def new_buffer(self, longest: int) -> EpisodeBuffer | VectorEpisodeBuffer:
        """Make an empty buffer for the steps of an episode."""

    def check_memory(self, memory: Memory) -> None:
        """Raise UnsuitableEnvironment if what was learned is of another size than the environment needs."""

    def refit(self, memory: Memory, observations: "ArrayLike", seed: int) -> tuple[Self, Callable[[Memory], Memory]]:
        """Fit features again; return a copy that has them, and what carries over into its new memory what was learned.

        Raises
        ------
        ParameterError
            If there are none, or they cannot be fitted to the observations.
        """
        raise errors.ParameterError(
            f"this {self.owner} learns a {type(self).__name__.lower()}, and only the features of "
            "values=Linear(features) can be fitted again"
        )

    # --------------------------------------------------------------------------------------------- what was learned

    @abstractmethod
    def legal(self, memory: Memory) -> NDArray[np.bool_]:
        """The actions that exist, shape (n_ids, n_actions)."""

    @abstractmethod
    def q(
        self, memory: Memory, observations: "ArrayLike | None", rows_of: Callable[[object], list[int]]
    ) -> NDArray[np.float64]:
        """Learned values, shape (n, n_columns), of observations; by default of all ids. A state value is one column."""

    @abstractmethod
    def at(
        self, memory: Memory, observation: Observation, row_of: Callable[[Observation], int]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Values (n_actions,) of an observation, and which actions are legal there (n_actions,)."""

    @abstractmethod
    def greedy_policy(self, memory: Memory, greedy: Greedy) -> Policy:
        """Freeze the greedy policy, which a function of values (n, n_actions) and masks returns."""

    @abstractmethod
    def followed_policy(self, memory: Memory) -> Policy:
        """The policy that a memory of state values follows, in the form that evaluations use."""

    @abstractmethod
    def followed(self, memory: Memory) -> NDArray[np.float64]:
        """The same of all ids: probabilities, shape (n_ids, n_actions)."""

    @abstractmethod
    def followed_at(
        self,
        memory: Memory,
        observation: Observation,
        row_of: Callable[[Observation], int],
        action_mask: "ArrayLike | None",
    ) -> NDArray[np.float64]:
        """The same of one observation, shape (n_actions,)."""

    # -------------------------------------------------------------------------------------------------------- files

    def kept_arrays(self) -> dict[str, AnyArray]:
        """Arrays that a file keeps beside those of the memory."""
        return {}

    def restore(self, header: Plain, arrays: Npz) -> None:
        """Restore them, before there is a memory."""
