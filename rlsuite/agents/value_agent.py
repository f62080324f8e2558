"""The base of all agents that learn values, in whatever represents them: see `rlsuite.agents.values`."""

import copy
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.agents.agent import Agent
from rlsuite.agents.memory import ABSENT, Memory
from rlsuite.agents.rule_parameters import in_memory
from rlsuite.agents.schedules import Schedule, as_schedule
from rlsuite.agents.values import Representation, Table
from rlsuite.core.aliases import Env, Own
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.described import Plain
from rlsuite.core.npz import Npz
from rlsuite.environments.observation_view import Encoding
from rlsuite.models.aliases import AnyArray
from rlsuite.training.budget import Budget, LoopChoice
from rlsuite.training.legality import Legality
from rlsuite.training.optimum import Optima
from rlsuite.training.run_log import Keeping

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.feature_map import FeatureMap


@dataclass(eq=False, kw_only=True)
class ValueAgent(Agent):
    """Base of the agents that learn values of actions (`TabularAgent`) or of states (`Predictor`).

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1].
    initial_value : float
        What every value is before anything is learned.

    Raises
    ------
    ParameterError
        If a parameter is outside its range.
    """

    if TYPE_CHECKING:  # its two bases declare them, each in the order of its own parameters
        learning_rate: float | Schedule
        initial_value: float

    def __post_init__(self) -> None:
        super().__post_init__()
        rate = as_schedule("learning_rate", self.learning_rate, 0.0, 1.0).rate
        self.initial_value = finite_number("initial_value", self.initial_value)
        self._represent()
        self.values_.check_counts("learning_rate", rate)

    def __setattr__(self, name: str, value: object) -> None:
        """Represent the values again if a parameter of that changes before there is a memory."""
        super().__setattr__(name, value)
        if name in {"initial_value", "features", "values"} and "values_" in vars(self):
            self._represent()

    def _represent(self) -> None:
        self.values_ = self.representation().of(type(self).__name__)
        self.values_.check_rule(type(self).step)

    def representation(self) -> Representation:
        """What the values are learned in."""
        return Table(self.initial_value)

    # ------------------------------------------------------------------------------------------------------- learning

    def learn_for(
        self,
        env: str | Env,
        budget: Budget,
        seed: int | None,
        loop: LoopChoice,
        optima: Optima | None,
        keeping: Keeping | None = None,
        progress: bool = False,
    ) -> Self:
        """Learn, and record how many observations lay outside of the range that features were fitted to."""
        counter, before = self.values_.outside, self.outside_
        super().learn_for(env, budget, seed, loop, optima, keeping, progress)
        new = self.outside_ - (before if self.values_.outside is counter else 0)
        self.record_ = dataclasses.replace(self.record_, outside=new)
        return self

    @property
    def outside_(self) -> int:
        """How many observations lay outside of the range of those that features which learn from data were fitted to.

        All that the features were computed of are counted, in evaluations, too. An estimator of another package takes
        them for observations on the border.
        """
        return int(self.values_.outside[0])

    def bind_environment(self, env: Env, seed: int | None = None) -> Encoding | None:
        """Prepare the representation for an environment.

        Raises
        ------
        ParameterError
            If features cannot be fitted to what is seen in it at first.
        UnsuitableEnvironment
            If the observations are not ids, for a table; not numbers, or of another width than what the features were
            fitted to.
        """
        encoding = self.values_.bind(env, self._memory is not None, seed)
        if encoding is None:
            return super().bind_environment(env, seed)
        self.first_observation_, self.observation_ids_ = encoding.first, None
        return encoding

    def _memory_without_values(self, legal: NDArray[np.bool_], legality: Legality) -> Memory:
        """What memories of action values and of state values have in common."""
        return Memory(
            q=ABSENT,
            visits=ABSENT,
            legal=legal,
            legality=legality,
            clock=np.zeros(2, dtype=np.int64),
            gamma=self.gamma,
            learning_rate=as_schedule("learning_rate", self.learning_rate, 0.0, 1.0).rate,
            parameters=in_memory(self),
        )

    def _restore_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Own:
        if self._memory is not None:
            self.values_.check_memory(self._memory)
        return super()._restore_memory(legal, legality)

    def refit(self, observations: ArrayLike, seed: int = 0) -> Self:
        """Fit features that learn from data again, to what the agent has come to see.

        The values at these observations stay as they are, as nearly as the new features can (least squares). The next
        `learn` begins a new run, with what was learned; whichever loop it takes, the result is the same.

        Parameters
        ----------
        observations : array_like (n, d), or ids (n, 1)
            Such as ``Batch.collect(env, steps=5_000, policy=agent.act).observation``.
        seed : int
            Of maps that leave their own seed open.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the agent has no features, if they do not learn from data or were given fitted, or if they cannot be
            fitted to these observations.

        Examples
        --------
        >>> import rlsuite as rl, rlsuite_envs
        >>> from rlsuite.approximation import Batch, Standardization
        >>> cliff = rl.find_env("CliffWalking-v1", observe="cell")
        >>> agent = rl.Sarsa(features=Standardization()).learn(cliff, steps=500, seed=1)
        >>> seen = Batch.collect(cliff, steps=500, policy=agent.act, seed=1).observation
        >>> agent.refit(seen).learn(cliff, steps=500, seed=2).weights_.shape
        (2, 4)
        """
        memory = self.memory_
        renewed, carry_over = self.values_.refit(memory, observations, whole_number("seed", seed, 0))
        twin = copy.copy(self)
        twin.values_ = renewed
        self._memory = carry_over(twin.init_memory(memory.legal, memory.legality))
        self.values_, self._run, self._before, self._loaded = renewed, None, None, None
        return self

    # ------------------------------------------------------------------------------------------------ what was learned

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Learned weights, shape (n_features, n_actions); only with features."""
        return self._learned("weights_")

    @property
    def features_(self) -> "FeatureMap":
        """The fitted feature map; only with features."""
        return getattr(self.values_, "fitted")  # noqa: B009 - a table has none

    @property
    def layers_(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Weights (inputs, units) and biases (units,) of each layer; only with ``values=Network()``."""
        return getattr(self.values_, "layers")(self.memory_)  # noqa: B009 - only a network has some

    def _learned(self, name: str) -> AnyArray:
        """A learned array; AttributeError if what represents the values has none, of which `__getattr__` says why."""
        known = self.memory_
        if name in self.values_.lacks:
            raise AttributeError(name)  # a rule may have learned one of its own, which `__getattr__` finds
        return getattr(known, name[:-1])

    def __getattr__(self, name: str) -> AnyArray:
        """Learned arrays by name, as of every agent; those that only a table has, or only weights, say so."""
        values: Representation | None = self.__dict__.get("values_")
        own = getattr(getattr(self._memory, "learned", ()), "_fields", ()) if values is not None else ()
        if values is not None and name in values.lacks and self._memory is not None and name[:-1] not in own:
            raise AttributeError(f"this {type(self).__name__} has no {name}: {values.lacks[name]}")
        return super().__getattr__(name)

    @property
    def legal_(self) -> NDArray[np.bool_]:
        """The actions that exist, shape (n_ids, n_actions); (0, n_actions) where observations are not ids."""
        return self.values_.legal(self.memory_)

    def kept_arrays(self) -> dict[str, AnyArray]:
        """What a file keeps: the learned arrays, and those of the representation."""
        return {**super().kept_arrays(), **self.values_.kept_arrays()}

    def restore(self, header: Plain, arrays: Npz, episodes: NDArray[np.void]) -> None:
        """Restore what `save` has written; part of `rlsuite.load`.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or is not what the agent or its features declare.
        UnsuitableEnvironment
            If the features are those of observations of another width.
        """
        self.values_.restore(header, arrays)
        super().restore(header, arrays, episodes)
