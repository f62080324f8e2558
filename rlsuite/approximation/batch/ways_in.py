"""The constructors of a `Batch` except from arrays, as class methods that it inherits."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, cast

from numpy.typing import ArrayLike

from rlsuite.core.keywords import says_what_to_write

if TYPE_CHECKING:
    from gymnasium import Env

    from rlsuite.models import MDP


class WaysIn:
    """The constructors of a `Batch` from other things than arrays."""

    @classmethod
    @says_what_to_write
    def collect(
        cls,
        env: str | Env[Any, Any],
        *,
        steps: int | None = None,
        episodes: int | None = None,
        policy: Callable[[Any], Any] | None = None,
        seed: int | None = None,
    ) -> Self:
        """Act in an environment, and record the transitions.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``module:Id``, ``file.py:Class``, or an instance, with a Discrete action space.
        steps, episodes : int
            How long; one of the two. An unfinished episode is cut off.
        policy : callable, optional
            ``policy(observation) -> action``, such as the ``act`` of an agent; by default all actions are equally
            likely.
        seed : int, optional
            Source of all randomness of the environment and of random actions.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        EnvironmentNotFound
            If `env` leads to none.
        UnsuitableEnvironment
            If its actions are not Discrete, its observations no vectors, or some actions illegal.
        LearningError
            If the policy takes an action that does not exist, or the environment answers with a number that is not
            finite.
        """
        from rlsuite.approximation.batch.sources import collected

        return cast("type[Any]", cls).from_arrays(**collected(env, steps, episodes, policy, seed))

    @classmethod
    def from_model(cls, mdp: MDP) -> Self:
        """Take all transitions of a model, each with its probability as weight and its mean reward.

        What is learned from it is exact, if the features are. Observations are the states' ids. Where some actions are
        illegal, the model `MDP.with_all_legal` is written down, which has the same optimum.

        Examples
        --------
        >>> import rlsuite as rl
        >>> from rlsuite.approximation.batch.batch import Batch
        >>> mdp = rl.MDP.from_successors([[{0: 0.5, 1: 0.5}], [None]], [-1, 0], gamma=0.9)
        >>> batch = Batch.from_model(mdp)
        >>> batch.weight, batch.terminated
        (array([0.5, 0.5]), array([False,  True]))
        """
        from rlsuite.approximation.batch.sources import transitions_of

        return cast("type[Any]", cls).from_arrays(**transitions_of(mdp))

    @classmethod
    @says_what_to_write
    def from_dynamics(
        cls, env: str | Env[Any, Any], states: ArrayLike, *, samples: int = 1, seed: int | None = None
    ) -> Self:
        """Try every action in each of some states, which can be set in an environment with compiled dynamics.

        Parameters
        ----------
        env : str or gymnasium.Env
            An environment with compiled dynamics: a `CompiledEnv`, or one that a package has announced them for.
        states : array_like (n, k)
            States as the dynamics know them.
        samples : int
            How often each action is tried in each state; more than once only makes sense where chance has a say.
        seed : int, optional
            Source of the chance.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        UnsuitableEnvironment
            If the environment has no compiled dynamics, or its actions are not Discrete.
        """
        from rlsuite.approximation.batch.sources import simulated

        return cast("type[Any]", cls).from_arrays(**simulated(env, states, samples, seed))

    @classmethod
    def from_csv(cls, path: str | PathLike[str], *, n_actions: int | None = None, first_action: int = 0) -> Self:
        """Read a table with a line of names; `to_csv` writes it.

        The columns, in any order: ``observation_0``, ``observation_1``, ... (``observation`` if it is one number),
        ``next_observation_0``, ..., ``action``, ``reward``, ``terminated`` (0 or 1, false or true); and, if there are
        any, ``episode`` (a number that changes with each episode) and ``weight``. Other columns are not read.

        Raises
        ------
        FileError
            If the file is missing, has no such columns, or holds what is not a number.
        ParameterError
            If its numbers are not those of a batch; see `from_arrays`.
        """
        from rlsuite.approximation.batch.csv_files import read

        return cast("type[Any]", cls).from_arrays(**read(path), n_actions=n_actions, first_action=first_action)

    @classmethod
    def from_minari(cls, dataset: Any) -> Self:
        """Read a data set of Minari.

        Parameters
        ----------
        dataset : str or minari.MinariDataset
            An id of a data set on this machine, or the data set.

        Raises
        ------
        MissingPackage
            If an id is given and Minari is not installed.
        ParameterError
            If it knows none of that name.
        UnsuitableEnvironment
            If its actions are not Discrete, or its observations no vectors.
        """
        from rlsuite.approximation.batch.sources import from_dataset

        return cast("type[Any]", cls).from_arrays(**from_dataset(dataset))
