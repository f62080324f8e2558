"""A fixed set of transitions as validated arrays: what batch methods learn from.

The batch is the whole experience (the notes' data set D of trajectories). How it came about does not matter to the
methods that evaluate or improve policies off-line, so a batch may be collected, read from a file, taken from a
published data set, or made from a model, in which every transition is weighted by its probability.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite.approximation.batch import sources
from rlsuite.core.aliases import Env, Space
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.environments.facts import name_of
from rlsuite.environments.finding import opened
from rlsuite.environments.observing import has_cells
from rlsuite.errors import ParameterError

if TYPE_CHECKING:
    from rlsuite.approximation.batch.sources import RecordedDataset
    from rlsuite.models import MDP


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Transitions, in the order in which they happened.

    Use the class methods (`collect`, `from_arrays`, `from_csv`, `from_minari`, `from_model`): they check everything.

    Attributes
    ----------
    observation, next_observation : ndarray (n, d) float64
        What was seen before and after.
    action : ndarray (n,) int64
        What was done, counted from 0.
    reward : ndarray (n,) float64
        What it brought.
    terminated : ndarray (n,) bool
        Whether the episode ended by it: nothing follows, whatever `next_observation` says. An episode that was cut off
        did not end.
    first : ndarray (n,) bool
        Whether an episode begins with this transition.
    weight : ndarray (n,) float64
        How often this transition counts; 1, or its probability if the batch was written down from a model.
    n_actions : int
        How many actions there are.
    first_action : int
        What the environment calls action 0.
    observation_space : gymnasium.Space or None
        Where the observations come from, if that is known: it says how one becomes a vector.
    action_mask, next_action_mask : ndarray (n, n_actions) bool, or None
        Which actions were legal before and after; None if all of them always are.
    numbered_grid : str
        The environment that it was collected in, if that shows the number of a state where it could show its cell.

    Examples
    --------
    >>> batch = Batch.collect("FrozenLake-v1", episodes=20, seed=7)
    >>> batch
    Batch(189 transitions, 20 episodes, observations of 1 number, 4 actions)
    >>> batch.observation[:3, 0], batch.action[:3]
    (array([0., 1., 0.]), array([2, 1, 1]))
    """

    observation: NDArray[np.float64]
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    next_observation: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    first: NDArray[np.bool_]
    weight: NDArray[np.float64]
    n_actions: int
    first_action: int = 0
    observation_space: Space | None = None
    action_mask: NDArray[np.bool_] | None = None
    next_action_mask: NDArray[np.bool_] | None = None
    numbered_grid: str = ""

    # -------------------------------------------------------------------------------------------- constructors

    @classmethod
    @says_what_to_write
    def from_arrays(
        cls,
        observation: ArrayLike,
        action: ArrayLike,
        reward: ArrayLike,
        next_observation: ArrayLike,
        terminated: ArrayLike | None = None,
        *,
        first: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        n_actions: int | None = None,
        first_action: int = 0,
        observation_space: Space | None = None,
        action_mask: ArrayLike | None = None,
        next_action_mask: ArrayLike | None = None,
    ) -> Self:
        """Make a batch of arrays, one row per transition.

        Parameters
        ----------
        observation, next_observation : array_like (n, d), or (n,) if an observation is one number
        action : array_like (n,) of int
            As the environment calls them.
        reward : array_like (n,)
        terminated : array_like (n,) of bool
            Cannot be guessed, and so cannot be left out.
        first : array_like (n,) of bool, optional
            By default, an episode begins after each one that terminated, and wherever a transition does not go on
            from where the one before has led.
        weight : array_like (n,), optional
            Not negative; by default, every transition counts once.
        n_actions : int, optional
            By default, as many as the masks have columns; without masks, the largest action in the batch is the last.
        first_action : int
            What the environment calls its first action.
        observation_space : gymnasium.Space, optional
            How an observation of the environment becomes one of these vectors; by default, its numbers in order.
        action_mask, next_action_mask : array_like (n, n_actions) of bool, optional
            1 for the actions that were legal at `observation` and at `next_observation`, as in
            ``info["action_mask"]``; both, or none of them.

        Raises
        ------
        ParameterError
            If the flags of termination are missing, shapes do not match, a number is NaN or infinite, or an action is
            not a whole number or not one of the actions; or if a mask forbids the action taken, or leaves none.

        Examples
        --------
        >>> Batch.from_arrays([0, 1], [1, 1], [0.0, 1.0], [1, 2], [False, True]).first
        array([ True, False])
        """
        before = sources.observations("observation", observation)
        n = len(before)
        after = sources.observations("next_observation", next_observation)
        if after.shape != before.shape:
            raise ParameterError(
                f"next_observation has shape {after.shape}; it must have that of observation, {before.shape}"
            )
        ended = sources.terminated(terminated, n)
        lowest = whole_number("first_action", first_action, at_least=-(2**62))
        if n_actions is None and action_mask is not None and np.ndim(action_mask) == 2:
            n_actions = int(np.shape(action_mask)[1])
        taken, many = sources.actions(action, n, lowest, n_actions)
        legal = sources.masks(action_mask, next_action_mask, taken, ended, many)
        return cls(
            observation=before,
            action=taken,
            reward=sources.numbers("reward", reward, n),
            next_observation=after,
            terminated=ended,
            first=_beginnings(before, after, ended) if first is None else sources.first(first, n),
            weight=np.ones(n) if weight is None else sources.weights(weight, n),
            n_actions=many,
            first_action=lowest,
            observation_space=observation_space,
            action_mask=None if legal is None else legal[0],
            next_action_mask=None if legal is None else legal[1],
        )

    @classmethod
    def join(cls, batches: Iterable[Batch]) -> Self:
        """Concatenate batches of one environment, in their order.

        Raises
        ------
        ParameterError
            If there is none, or they differ in the width of observations or in the first action; or, where actions are
            illegal, in the number of actions.
        """
        parts: Sequence[Batch] = list(batches)
        if not parts:
            raise ParameterError("batches is empty; give at least one batch to join")
        kinds = {(part.observation.shape[1], part.first_action) for part in parts}
        if len(kinds) > 1:
            listed = ", ".join(f"({width}, {lowest})" for width, lowest in sorted(kinds))
            raise ParameterError(
                f"batches of different environments cannot be joined: their (numbers per observation, first action) "
                f"are {listed}, and must be the same"
            )
        begins = [np.concatenate([[True], part.first[1:]]) for part in parts]
        masks = [part.masks for part in parts]
        masked = any(part.action_mask is not None for part in parts)
        if masked and len({part.n_actions for part in parts}) > 1:
            listed = ", ".join(str(part.n_actions) for part in parts)
            raise ParameterError(f"batches with masks of {listed} actions cannot be joined; they need as many actions")
        return cls(
            np.concatenate([part.observation for part in parts]),
            np.concatenate([part.action for part in parts]),
            np.concatenate([part.reward for part in parts]),
            np.concatenate([part.next_observation for part in parts]),
            np.concatenate([part.terminated for part in parts]),
            np.concatenate(begins),
            np.concatenate([part.weight for part in parts]),
            max(part.n_actions for part in parts),
            parts[0].first_action,
            parts[0].observation_space,
            np.concatenate([before for before, _ in masks]) if masked else None,
            np.concatenate([after for _, after in masks]) if masked else None,
            parts[0].numbered_grid,
        )

    @classmethod
    @says_what_to_write
    def collect(
        cls,
        env: str | Env,
        *,
        steps: int | None = None,
        episodes: int | None = None,
        policy: object = None,
        seed: int | None = None,
    ) -> Self:
        """Act in an environment, and record the transitions.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``module:Id``, ``file.py:Class``, or an instance, with a Discrete action space.
        steps, episodes : int
            How long; one of the two. An unfinished episode is cut off.
        policy : policy, optional
            ``policy(observation) -> action``, an agent, a table, and whatever else `rlsuite.evaluate` takes; by default
            all legal actions are equally likely. Where some actions are illegal, a function that has a parameter
            ``action_mask`` receives them.
        seed : int, optional
            Source of all randomness of the environment and of random actions.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        EnvironmentNotFound
            If no environment matches `env`.
        UnsuitableEnvironment
            If its actions are not Discrete, or its observations no vectors.
        LearningError
            If the policy takes an action that does not exist, or the environment answers with a number that is not
            finite, or with a mask that leaves no action.

        Examples
        --------
        >>> import rlsuite_envs
        >>> batch = Batch.collect("rlsuite/GridGoal-v0", steps=2, seed=7)
        >>> batch.action_mask.astype(int).tolist()
        [[0, 1, 1, 0], [0, 1, 0, 1]]
        """
        from rlsuite.approximation.batch.sources import collected

        with opened(env) as made:
            batch = cls.from_arrays(**collected(made, steps, episodes, policy, seed))
            return dataclasses.replace(batch, numbered_grid=name_of(made)) if has_cells(made) else batch

    @classmethod
    def from_model(cls, mdp: MDP) -> Self:
        """Take all transitions of a model, each with its probability as weight and its mean reward.

        What is learned from it is exact, if the features are. Observations are the states' ids. Illegal actions have
        no transition, and are masked.

        Examples
        --------
        >>> import rlsuite as rl
        >>> mdp = rl.MDP.from_successors([[{0: 0.5, 1: 0.5}], [None]], [-1, 0], gamma=0.9)
        >>> batch = Batch.from_model(mdp)
        >>> batch.weight, batch.terminated
        (array([0.5, 0.5]), array([False,  True]))
        """
        from rlsuite.approximation.batch.sources import transitions_of

        return cls.from_arrays(**transitions_of(mdp))

    @classmethod
    @says_what_to_write
    def from_dynamics(cls, env: str | Env, states: ArrayLike, *, samples: int = 1, seed: int | None = None) -> Self:
        """Try every action in each of some states, which can be set in an environment with compiled dynamics.

        Parameters
        ----------
        env : str or gymnasium.Env
            An environment with compiled dynamics: a `CompiledEnv`, or one that a package has announced them for.
        states : array_like (n, k)
            States as the dynamics know them.
        samples : int
            How often each action is tried in each state; more than once only makes sense if outcomes are random.
        seed : int, optional
            Source of randomness.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        UnsuitableEnvironment
            If the environment has no compiled dynamics, or its actions are not Discrete.
        """
        from rlsuite.approximation.batch.sources import simulated

        return cls.from_arrays(**simulated(env, states, samples, seed))

    @classmethod
    @says_what_to_write
    def from_csv(cls, path: str | PathLike[str], *, n_actions: int | None = None, first_action: int = 0) -> Self:
        """Read a table with a line of names; `to_csv` writes it.

        The columns, in any order: ``observation_0``, ``observation_1``, ... (``observation`` if it is one number),
        ``next_observation_0``, ..., ``action``, ``reward``, ``terminated`` (0 or 1, false or true); and, if there are
        any, ``episode`` (a number that changes with each episode), ``weight``, and ``action_mask_0``, ... with
        ``next_action_mask_0``, ... Other columns are not read.

        Raises
        ------
        FileError
            If the file is missing, has no such columns, or holds what is not a number.
        ParameterError
            If its numbers are not those of a batch; see `from_arrays`.
        """
        from rlsuite.approximation.batch.sources import read

        return cls.from_arrays(**read(path), n_actions=n_actions, first_action=first_action)

    @classmethod
    def from_minari(cls, dataset: str | RecordedDataset) -> Self:
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

        return cls.from_arrays(**from_dataset(dataset))

    # ------------------------------------------------------------------------------------- selection and files

    def take(self, rows: ArrayLike) -> Self:
        """Return a batch of some of the transitions.

        Parameters
        ----------
        rows : array_like (n,) of bool, or of int
            A mask, or the numbers of the transitions. An episode goes on in the new batch only from one transition to
            the one that followed it.

        Raises
        ------
        ParameterError
            If no transition is left, or a number is out of range.
        """
        chosen = np.asarray(rows)
        if chosen.dtype == np.bool_ and chosen.shape != self.action.shape:
            raise ParameterError(f"the mask has shape {chosen.shape}; for this batch it must have ({len(self)},)")
        index = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else sources.whole("rows", chosen)
        if not index.size:
            raise ParameterError("rows selects no transition; select at least one")
        if index.min() < 0 or index.max() >= len(self):
            raise ParameterError(
                f"rows has numbers from {index.min()} to {index.max()}; allowed are 0..{len(self) - 1}"
            )
        first = self.first[index]
        first[1:] |= index[1:] != index[:-1] + 1
        first[0] = True
        return type(self)(
            self.observation[index],
            self.action[index],
            self.reward[index],
            self.next_observation[index],
            self.terminated[index],
            first,
            self.weight[index],
            self.n_actions,
            self.first_action,
            self.observation_space,
            None if self.action_mask is None else self.action_mask[index],
            None if self.next_action_mask is None else self.next_action_mask[index],
            self.numbered_grid,
        )

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a table that `from_csv` reads, number for number.

        Raises
        ------
        FileError
            If it cannot be written.
        """
        from rlsuite.approximation.batch.sources import write

        columns_by_name = {
            "episode": self.episode,
            "observation": self.observation,
            "action": self.action + self.first_action,
            "reward": self.reward,
            "next_observation": self.next_observation,
            "terminated": self.terminated.astype(np.int64),
            "weight": self.weight,
        }
        if self.action_mask is not None and self.next_action_mask is not None:
            columns_by_name["action_mask"] = self.action_mask.astype(np.int64)
            columns_by_name["next_action_mask"] = self.next_action_mask.astype(np.int64)
        write(path, columns_by_name)

    @property
    def episode(self) -> NDArray[np.int64]:
        """(n,) int64: the number of the episode that each transition belongs to, from 0."""
        return np.cumsum(self.first) - 1

    @property
    def masks(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which actions were legal before and after, both (n, n_actions) bool, also where all of them are."""
        if self.action_mask is None or self.next_action_mask is None:
            every = np.ones((len(self), self.n_actions), dtype=np.bool_)
            return every, every
        return self.action_mask, self.next_action_mask

    @property
    def weighted(self) -> bool:
        """Whether some transitions have more weight than others."""
        return bool((self.weight != self.weight[0]).any())

    def __len__(self) -> int:
        """Return n, the number of transitions."""
        return self.action.size

    def __repr__(self) -> str:
        width, episodes = self.observation.shape[1], int(self.first.sum())
        return (
            f"Batch({len(self)} transition{'s'[: len(self) != 1]}, {episodes} episode{'s'[: episodes != 1]}, "
            f"observations of {width} number{'s'[: width != 1]}, {self.n_actions} action{'s'[: self.n_actions != 1]})"
        )


def check_batch(batch: object, owner: str) -> Batch:
    """Return a batch, or raise `ParameterError` for anything else.

    Raises
    ------
    ParameterError
        If it is not a batch; the message says how to make one.
    """
    if not isinstance(batch, Batch):
        raise ParameterError(
            f"{owner} takes a Batch, not a {type(batch).__name__}; Batch.collect(env, ...) makes one from an "
            "environment, Batch.from_arrays from arrays, Batch.from_model from a model"
        )
    return batch


def _beginnings(before: NDArray[np.float64], after: NDArray[np.float64], ended: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where an episode must have begun, (n,) bool."""
    first = np.ones(len(before), dtype=np.bool_)
    first[1:] = ended[:-1] | (before[1:] != after[:-1]).any(axis=1)
    return first
