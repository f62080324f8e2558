"""What learns from a batch.

The base of the methods that learn from a batch: from one that is given, or from one that they collect themselves.

In an environment such a method collects transitions, and learns from all of them anew whenever it is evaluated, and at
the end. So what it has learned is a function of the transitions and the seed, and that is what a file keeps: reading it
means learning again, with the same bytes.

The base of methods that learn action values from a batch, and act greedily on them.
"""

import dataclasses
import json
import time
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self, cast

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.fit_features import check_features, warn_of_numbers
from rlsuite.agents.learner import Learner
from rlsuite.agents.storage import EPISODE, episodes_of, load
from rlsuite.approximation.batch.batch import Batch, check_batch
from rlsuite.approximation.batch.observed_features import Encode, KnownActions, ObservedFeatures, encoder, legal_at
from rlsuite.approximation.experience import Experience
from rlsuite.core.aliases import Env, Space
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.described import Plain, describe
from rlsuite.core.files import replacing
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.npz import Npz
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.environments.finding import find_env
from rlsuite.models import MDP
from rlsuite.training.acting import Act, acting, is_asked
from rlsuite.training.budget import Budget
from rlsuite.training.optimum import Optima, warn_of_another_discount
from rlsuite.training.results import Record

FORMAT: Final = "rlsuite batch learner 1"
COLUMNS: Final = ("observation", "action", "reward", "next_observation", "terminated", "first", "weight")
MASKS: Final = ("action_mask", "next_action_mask")

RANDOM, OPTIMAL = "random", "optimal"

RUN: Final = ("_experience", "_asked_for", "_episodes", "_before", "record_")
"""Attributes that belong to the run, and not to what was learned."""


@dataclass(eq=False, kw_only=True)
class BatchLearner(Learner):
    """Base of the methods that learn from a `Batch`; subclasses define `teach`.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    behaviour : str or policy
        Who collects the transitions, if an environment is given: "random", all legal actions equally likely; "optimal",
        an optimal policy of the environment's model; ``FILE.npz``, a saved agent; ``behaviour(observation)``; or
        another policy that `rlsuite.evaluate` takes.

    Attributes
    ----------
    record_ : Record
        What the last call of `learn` in an environment has noted.
    episodes_ : ndarray, shape (n_episodes,)
        Fields ``return`` (float64) and ``length`` (int64, steps) of all finished episodes.
    seed_ : int
        The seed of the last call of `learn`, given or drawn.
    outside_ : int
        How many observations it was asked about, in evaluations too, lie outside of the range of those that it has
        learned from.
    """

    gamma: float = 0.99
    behaviour: object = RANDOM

    def __post_init__(self) -> None:
        check_features(getattr(self, "features", None))
        behaviour: Any = self.behaviour
        if not isinstance(behaviour, str | np.ndarray | list | tuple) and not is_asked(behaviour):
            raise errors.ParameterError(
                f"behaviour={self.behaviour!r} must be 'random', 'optimal', the name of a saved agent FILE.npz, or a "
                "function from observations to actions, an agent, or another policy that rlsuite.evaluate takes"
            )
        named = isinstance(self.behaviour, str) and Path(self.behaviour).suffix != ".npz"
        if named and self.behaviour not in (RANDOM, OPTIMAL):
            raise errors.ParameterError(errors.unknown("behaviour", str(self.behaviour), (RANDOM, OPTIMAL, "FILE.npz")))
        self.seed_: int
        self.record_: Record
        self._lessons: list[tuple[Batch, int]] = []
        self._episodes: list[NDArray[np.void]] = []
        self._experience: Experience | None = None
        self._asked_for: str | Env | None = None
        self._before = (0, 0)  # steps and episodes of the run of the file that this was read from

    @classmethod
    def is_complete(cls) -> bool:
        """Whether it can be taught."""
        return cls.teach is not BatchLearner.teach

    def teach(self, batch: Batch, seed: int, progress: bool) -> None:
        """Learn from a batch, going on from what is known; all randomness comes from the seed."""
        raise NotImplementedError

    def act(self, observation: object, action_mask: ArrayLike | None = None) -> int:
        """Return the action for an observation.

        Raises
        ------
        NotLearned
            If it only learns the values of the policy that collects.
        """
        raise errors.NotLearned(
            f"{type(self).__name__} takes no actions of its own: it learns the values of the policy that collects, "
            "behaviour=; LSPI and FittedQ learn to act"
        )

    def usable(self, batch: Batch) -> Batch:
        """Return the transitions of a batch of experience that can be learned from."""
        return batch

    def evaluated(self) -> Self | None:
        """What is evaluated during a run: this policy itself; None for the one that collects at random."""
        return self

    @says_what_to_write
    def learn(
        self,
        env: str | Env | Batch,
        *,
        steps: int | None = None,
        episodes: int | None = None,
        seed: int | None = None,
        evaluate_every: int | None = None,
        record_every: int | None = None,
        regret: bool = False,
        progress: bool = False,
        optima: Optima | None = None,
    ) -> Self:
        """Learn from a batch, or collect one in an environment and learn from it; return self.

        Called again on a batch, it goes on with what it has learned. In an environment, it learns from all transitions
        of the run anew: ``learn(env, steps=n, seed=s)`` gives what ``learn(Batch.collect(env, steps=n, seed=s),
        seed=s)`` gives. Called again there without a seed, it collects more, also after `rlsuite.load`; two halves give
        the bytes of the whole.

        Parameters
        ----------
        env : Batch, or str or gymnasium.Env
            The transitions; or an id, ``module:Id``, ``file.py:Class``, or an instance, to collect them in.
        steps, episodes : int
            How much to collect in an environment; one of the two.
        seed : int, optional
            Source of all randomness; drawn and kept in ``seed_`` if not given.
        evaluate_every : int, optional
            Steps (or episodes) between two evaluations, each of what is learned from the transitions until then. Where
            nothing can be learned from these yet, random actions are evaluated.
        record_every : int, optional
            Steps (or episodes) between two records of the cumulative reward; by default there are about 200 records.
        regret : bool
            Solve the model, if there is one, and note the optimal value.
        progress : bool
            Show a progress bar.
        optima : Optima, optional
            A store of solved models to share between runs; implies `regret`.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values, or a batch lacks what the method needs.
        EnvironmentNotFound, UnsuitableEnvironment
            If there is no such environment, or the method cannot learn in it.
        LearningError
            If the environment or the estimator fails; what was learned before is kept.

        Warns
        -----
        StateNumberWarning
            If features would be computed from the number of a state where its place can be shown.
        """
        if seed is not None:
            whole_number("seed", seed, at_least=0)
        if isinstance(env, Batch) or (steps is episodes is None):
            batch = check_batch(env, f"{type(self).__name__}.learn")
            timing = {"steps": steps, "episodes": episodes, "evaluate_every": evaluate_every}
            for name, value in timing.items():
                if value is not None:
                    raise errors.ParameterError(
                        f"{name}={value} is for an environment; a batch is learned from as it is"
                    )
            self._warn_of_numbers(batch)
            self.seed_ = _entropy(seed)
            self._experience, self._before = None, (0, 0)
            lessons, self._lessons = self._lessons, []  # until the lesson is over, there is nothing to save
            self.teach(batch, self.seed_, progress)
            self._lessons = [*lessons, (batch, self.seed_)]
            return self
        budget = Budget.of(steps, episodes, evaluate_every, record_every)
        run, before = self._experience, (0, 0)
        if run is None or seed is not None or env is not self._asked_for:
            before, self._before = self._before if seed is None else (0, 0), (0, 0)
            if before == (0, 0):
                self.seed_ = _entropy(seed)
            made = find_env(env)
            warn_of_another_discount(self, made)
            run = Experience(made, self.gamma, self.seed_, optima or (Optima() if regret else None))
        self._experience, self._asked_for = run, env
        self._collect(run, budget, before, progress)
        follows = self.evaluated() is None
        self.record_ = dataclasses.replace(run.record(), follows=follows, outside=self.outside_)
        self._episodes.append(episodes_of(self.record_))
        return self

    def _collect(self, run: Experience, budget: Budget, before: tuple[int, int], progress: bool) -> None:
        """Collect what the budget says, after what was done before, in steps and in episodes, if a file had that."""
        began = time.perf_counter()
        steps, episodes = (run.steps, run.episodes) if before == (0, 0) else before
        length = (steps if budget.unit == "steps" else episodes) + budget.amount
        policy = self._behaviour(run)
        batch = Batch.collect(run.env, **cast(Any, {budget.unit: length}), policy=policy, seed=self.seed_)
        ends = _ends(batch, run, budget)
        self._warn_of_numbers(batch)
        if run.steps < steps:
            run.follow(batch.reward[:steps], ends[:steps])
        present: dict[str, int] = {"steps": 0}
        seconds = 0.0

        def learned() -> Any:
            nonlocal seconds
            start = time.perf_counter()
            try:
                self._learn_anew(batch.take(slice_of(run.steps)), progress=False)
            except (errors.ParameterError, errors.LearningError):
                if run.over:
                    raise
                return policy  # nothing can be learned from so few transitions
            finally:
                seconds += time.perf_counter() - start
            present["steps"] = run.steps
            return self.evaluated() or policy

        run.begin(budget, learned)
        run.seconds = time.perf_counter() - began
        run.add(batch.reward[steps:], ends[steps:])
        run.seconds += seconds
        if present["steps"] != run.steps:
            began = time.perf_counter()
            self._learn_anew(batch, progress)
            run.seconds += time.perf_counter() - began

    def _warn_of_numbers(self, batch: Batch) -> None:
        """Warn of features of the numbers of states of a grid."""
        features: object = getattr(self, "features", None)
        if features is not None and isinstance(batch.observation_space, Discrete):
            warn_of_numbers(features, batch.numbered_grid, int(batch.observation_space.n))

    def _learn_anew(self, batch: Batch, progress: bool) -> None:
        """Learn from a batch alone, forgetting what was known."""
        twin = dataclasses.replace(self)
        usable = self.usable(batch)
        twin.teach(usable, self.seed_, progress)
        kept = {name: vars(self)[name] for name in RUN if name in vars(self)}
        vars(self).update(vars(twin) | kept | {"_lessons": [(usable, self.seed_)]})

    def _behaviour(self, run: Experience) -> Act | None:
        """The policy that collects; None for random actions."""
        if not isinstance(self.behaviour, str):
            rng = np.random.default_rng(np.random.SeedSequence(run.seed, spawn_key=(1_001, run.steps)))
            return acting("behaviour", self.behaviour, run.env, rng)
        if self.behaviour == RANDOM:
            return None
        if self.behaviour == OPTIMAL:
            if not isinstance(run.model, MDP) or not run.is_exact:
                raise errors.UnsuitableEnvironment(
                    f"behaviour='optimal' needs a model, and {run.facts.name} has none that can be solved: give "
                    "behaviour= the name of a saved agent, FILE.npz, or a function"
                )
            return _optimal(run.model, run)
        import_module("rlsuite.approximation.agents")  # defines the agents with features
        return load(self.behaviour).act

    @property
    def episodes_(self) -> NDArray[np.void]:
        """Return and length of all finished episodes, shape (n_episodes,), fields "return" and "length"."""
        return np.concatenate([np.zeros(0, dtype=EPISODE), *self._episodes])

    @property
    def outside_(self) -> int:
        """How many observations it was asked about lie outside of the range of those that it has learned from."""
        features: ObservedFeatures | None = getattr(self, "_features", None)
        return 0 if features is None else features.outside

    @property
    def steps_(self) -> int:
        """Steps of the present run so far."""
        return 0 if self._experience is None else self._experience.steps

    def __getstate__(self) -> dict[str, object]:
        """Copy and pickle what was learned, not the run: that of a copy begins anew."""
        return {**self.__dict__, "_experience": None, "_asked_for": None, "_before": (0, 0)}

    # ----------------------------------------------------------------------------------------------------- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the parameters, the seed and the transitions to an .npz file; `rlsuite.load` learns from them again.

        Raises
        ------
        NotLearned
            If there is nothing to save yet.
        ParameterError
            If an estimator has no plain description: only what can be found again by its name can be saved.
        FileError
            If the file cannot be written.
        """
        if not self._lessons:
            raise errors.NotLearned(f"this {type(self).__name__} has not learned yet; call learn first")
        if not isinstance(self.behaviour, str):
            raise errors.ParameterError("behaviour: a function has no plain description, which a file needs")
        batches = list({id(batch): batch for batch, _ in self._lessons}.values())
        about: list[dict[str, Any]] = []
        arrays: dict[str, NDArray[Any]] = {}
        for number, batch in enumerate(batches):
            space = batch.observation_space
            ids = [int(space.n), int(space.start)] if isinstance(space, Discrete) else None
            about.append({"n_actions": batch.n_actions, "first_action": batch.first_action, "ids": ids})
            names = COLUMNS if batch.action_mask is None else (*COLUMNS, *MASKS)
            arrays |= {f"batch.{number}.{name}": getattr(batch, name) for name in names}
        header = {
            "format": FORMAT,
            "agent": describe(self),
            "batches": about,
            "run": self._before if self._experience is None else (self._experience.steps, self._experience.episodes),
            "lessons": [[batches.index(batch), str(seed)] for batch, seed in self._lessons],
        }
        with replacing(path) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, header=np.array(json.dumps(header)), **cast(Any, arrays))

    def restore_file(self, header: Plain, arrays: Npz) -> None:
        """Learn from the transitions of a file.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or is not what a batch can hold.
        """
        batches: list[Batch] = []
        for number, about in enumerate(header["batches"]):
            ids = about["ids"]
            found = {name: arrays.take(f"batch.{number}.{name}") for name in COLUMNS}
            found |= {
                name: arrays.take(f"batch.{number}.{name}") for name in MASKS if f"batch.{number}.{name}" in arrays
            }
            found["action"] = found["action"] + int(about["first_action"])
            batches.append(
                Batch.from_arrays(
                    **found,
                    n_actions=about["n_actions"],
                    first_action=about["first_action"],
                    observation_space=None if ids is None else Discrete(ids[0], start=ids[1]),
                )
            )
        for number, seed in header["lessons"]:
            self.learn(cast(Batch, batches[number]), seed=int(seed))
        steps, episodes = header["run"]
        self._before = (int(steps), int(episodes))


def slice_of(n: int) -> NDArray[np.int64]:
    """The numbers of the first n transitions."""
    return np.arange(n)


def _entropy(seed: int | None) -> int:
    return cast(int, np.random.SeedSequence(seed).entropy)


def _ends(batch: Batch, run: Experience, budget: Budget) -> NDArray[np.bool_]:
    """Whether an episode ended by each transition (n,)."""
    ends = np.append(batch.first[1:], True)
    if budget.unit == "steps" and not batch.terminated[-1]:
        length = len(batch) - int(np.flatnonzero(batch.first)[-1])
        ends[-1] = run.facts.time_limit != NO_LIMIT and length >= run.facts.time_limit
    return ends


def _optimal(model: MDP, run: Experience) -> Act:
    from rlsuite.planning import solve

    policy = solve(model).policy
    encode = encoder(run.env.observation_space)

    def act(observation: object) -> int:
        return int(policy[run.states_of(encode(observation)[None])[0]]) + run.first_action

    return act


class BatchAgent(BatchLearner):
    """Base of the agents that learn from a `Batch`; subclasses define `predicted`.

    An action that a mask of the batch forbids at an observation has the value minus infinity there, and is never taken.

    Attributes
    ----------
    n_actions_ : int
        How many actions there are.
    first_action_ : int
        What the environment calls action 0.
    """

    n_actions_: int
    first_action_: int
    observation_space_: Space | None
    _encode: Encode | None
    _known: KnownActions | None = None
    _features: ObservedFeatures | None = None

    def bind_environment(self, batch: Batch) -> None:
        """Store the spaces of the transitions.

        Raises
        ------
        ParameterError
            If it is not a batch, or of an environment with other actions than the one before.
        """
        check_batch(batch, f"{type(self).__name__}.learn")
        if "n_actions_" in vars(self) and batch.n_actions > self.n_actions_:
            raise errors.ParameterError(
                f"this {type(self).__name__} has learned {self.n_actions_} actions, and the batch has "
                f"{batch.n_actions}; give the first batch n_actions={batch.n_actions}, or learn with a new agent"
            )
        if "n_actions_" not in vars(self):
            self.n_actions_ = batch.n_actions
        self.first_action_ = batch.first_action
        self.observation_space_ = batch.observation_space
        self._encode = encoder(batch.observation_space)
        if batch.action_mask is not None and batch.next_action_mask is not None:
            ahead = ~batch.terminated
            seen = np.concatenate([batch.observation, batch.next_observation[ahead]])
            legal = np.concatenate([batch.action_mask, batch.next_action_mask[ahead]])
            self._known = KnownActions(seen, legal) if self._known is None else self._known.and_those_at(seen, legal)

    def predicted(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Predict the values of all actions (n, n_actions) at observations (n, d), legal or not; errors as in `q`."""
        raise NotImplementedError

    def q(self, observations: ArrayLike, action_mask: ArrayLike | None = None) -> NDArray[np.float64]:
        """Learned action values of observations (n, d), shape (n, n_actions).

        Parameters
        ----------
        observations : array_like (n, d)
            Observations as vectors.
        action_mask : array_like (n, n_actions), optional
            1 for the actions that are legal; illegal ones have the value minus infinity. By default the masks of the
            batch say so at the observations that are in it, and all actions are legal at others.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite or of another width, or the mask has not a 0 or 1 for each action, or
            leaves none.

        Warns
        -----
        OutsideWarning
            If observations lie outside of the range of those that it has learned from.
        """
        before = self.outside_
        found = self._legal_q(observations, action_mask)
        if self._features is not None:
            self._features.say_outside(before)
        return found

    def _legal_q(self, observations: ArrayLike, action_mask: ArrayLike | None) -> NDArray[np.float64]:
        q = self.predicted(observations)
        legal = legal_at(self._known, observations, action_mask, self.n_actions_)
        return q if legal is None else np.where(legal, q, -np.inf)

    def value(self, observations: ArrayLike, action_mask: ArrayLike | None = None) -> NDArray[np.float64]:
        """Values of observations (n, d), shape (n,): of the best legal action of each; see `q`."""
        return self.q(observations, action_mask).max(axis=1)

    def policy(self, observations: ArrayLike, action_mask: ArrayLike | None = None) -> NDArray[np.int64]:
        """Best legal actions for observations (n, d), shape (n,), counted from 0; the first of equally good ones."""
        return self._legal_q(observations, action_mask).argmax(axis=1)

    def act(self, observation: object, action_mask: ArrayLike | None = None) -> int:
        """Take the best legal action, as the environment calls it; the first of those that are equally good.

        Parameters
        ----------
        observation : object
            What the environment returned.
        action_mask : array_like (n_actions,), optional
            1 for the actions that are legal, as in ``info["action_mask"]``; by default see `q`.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not finite or of another width, or the mask has not a 0 or 1 for each action, or
            leaves none.
        """
        if "n_actions_" not in vars(self):
            raise self.not_learned()
        if self._encode is None:
            self._encode = encoder(self.observation_space_)
        mask = None if action_mask is None else np.asarray(action_mask)[None]
        return int(self.policy(self._encode(observation)[None], mask)[0]) + self.first_action_

    def action_probabilities(self, seen: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Probabilities (n, n_actions) of the actions at vectors (n, d), some of them legal; part of evaluations."""
        found = np.zeros(legal.shape)
        found[np.arange(len(seen)), self.policy(seen, legal)] = 1.0
        return found

    def __getstate__(self) -> dict[str, object]:
        """Copy and pickle without the function that encodes observations, which is made again when needed."""
        copied = super().__getstate__()
        return {**copied, "_encode": None} if "_encode" in copied else copied

    def not_learned(self) -> errors.NotLearned:
        """Return the error for a call before learning."""
        return errors.NotLearned(f"this {type(self).__name__} has not learned yet; call learn(batch) first")
