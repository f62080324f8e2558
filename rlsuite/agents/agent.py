"""The base of all agents: parameters, memory, learning, acting, saving."""

import functools
import inspect
import warnings
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.storage import EPISODE, fill, learned_arrays, save, whole
from rlsuite.core.aliases import Env, Observation, Own
from rlsuite.core.checks import fraction, row_of_id
from rlsuite.core.compilation import compiled
from rlsuite.core.compiling_clock import CompilingTime
from rlsuite.core.described import Described, Plain
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.npz import Npz
from rlsuite.environments.finding import find_env
from rlsuite.models.aliases import AnyArray
from rlsuite.synonyms import attribute_error
from rlsuite.training.engines import action_space_of, id_space_of
from rlsuite.training.evaluation import Policy
from rlsuite.training.expected_rewards import ExpectedRewards
from rlsuite.training.kernels import Begin, Rule, Step, Transition
from rlsuite.training.legality import Legality, every_action, listed_actions
from rlsuite.training.observation_view import Encoding
from rlsuite.training.optimum import Optima
from rlsuite.training.replicas import Replicas
from rlsuite.training.results import Record
from rlsuite.training.run import Budget, LoopChoice, Run


@dataclass(eq=False, kw_only=True)
class Agent(Described):
    """Base of all agents. Constructors only check and store parameters; names of learned arrays end in ``_``.

    An agent of your own is two compiled functions over a memory (a NamedTuple of arrays and numbers):

    ``begin(memory, state, rng) -> action``
        chooses the first action of an episode;
    ``step(memory, t, rng) -> action``
        learns from one transition `t` (see `rlsuite.Transition`) and chooses the next action, which is ignored when
        the episode is over.

    Derive from `TabularAgent`, whose memory is `ActionValues`, or from this class and give `init_memory` too.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].

    Attributes
    ----------
    episodes_ : ndarray, shape (n_episodes,)
        Fields ``return`` (float64) and ``length`` (int64, steps) of all episodes learned from so far.
    record_ : Record
        What the last call of `learn` has noted.
    seed_ : int
        The seed that was used, given or drawn.
    """

    described_as = "agent"

    begin: ClassVar[Begin]
    step: ClassVar[Step]
    expected_rewards: ClassVar[tuple[float | str, float | str] | None] = None
    """Least and largest reward that the rule is made for: numbers, or names of parameters; None if any will do."""

    gamma: float = 0.99

    def __init_subclass__(cls) -> None:
        """Take a memory that is made by `remember`, as `init_memory` was called in version 0.1."""
        super().__init_subclass__()
        if "remember" in vars(cls) and "init_memory" not in vars(cls):
            warnings.warn(
                f"{cls.__name__}.remember(legal, legality) is called init_memory since rlsuite 0.2, and a later "
                "version will not call it: rename it, and super().remember inside it",
                errors.FormerSignatureWarning,
                stacklevel=errors.level_of_the_caller(),
            )
            type.__setattr__(cls, "init_memory", vars(cls)["remember"])
        elif "init_memory" in vars(cls):
            type.__setattr__(cls, "remember", vars(cls)["init_memory"])

    def __post_init__(self) -> None:
        self.gamma = fraction("gamma", self.gamma)
        self._run: Run | None = None
        self._asked_for: str | Env | None = None
        self._memory: Own = None
        self._episodes: list[NDArray[np.void]] = []

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Own:
        """Make an empty memory.

        Parameters
        ----------
        legal : ndarray of bool, shape (n_observations, n_actions)
            The actions that exist; it may change while learning and must be kept as it is, not copied.
        legality : compiled function
            ``(legal, state, action) -> bool``: how to look it up; a constant where all actions exist, now and later.
        """
        raise NotImplementedError

    def policy(self) -> NDArray[np.float64]:
        """Greedy policy learned so far, shape (n_observations, n_actions): probabilities; ties share them equally."""
        raise NotImplementedError

    def best_actions(self, state: int) -> NDArray[np.int64]:
        """Greedy actions of one state (counted from 0), ascending; several if tied, none in a terminal state."""
        policy = self.policy()
        return np.flatnonzero(policy[row_of_id(state, 0, len(policy))])

    @says_what_to_write
    def learn(
        self,
        env: str | Env,
        *,
        steps: int | None = None,
        episodes: int | None = None,
        seed: int | None = None,
        loop: LoopChoice = "auto",
        evaluate_every: int | None = None,
        checkpoint_every: int | None = None,
        regret: bool = False,
        progress: bool = False,
        optima: Optima | None = None,
    ) -> Self:
        """Learn from an environment, and return self.

        Called again without a seed on the same environment, it goes on where it stopped, mid-episode: two halves give
        the bytes of the whole. With a seed, or on another environment of the same size, a new run begins with what is
        already learned. One agent must not learn in two threads at once: give each thread an agent of its own.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``module:Id``, ``file.py:Class``, or an instance with Discrete spaces. Without a table,
            ``info["action_mask"]`` says which actions are legal. Beside a table, the table says it: ``P[s][a] = []``
            where an action is illegal; or, if the class declares ``metadata = {"action_mask": "law"}``, the masks do.
        steps, episodes : int
            How long; one of the two.
        seed : int, optional
            Source of all randomness of the agent and the environment; drawn and kept in ``seed_`` if not given.
        loop : {"auto", "compiled", "stepwise"}
            The compiled loop runs on the environment's table, the stepwise loop calls the environment. The result is
            the same, bit for bit. "auto" compiles if there is a table, and a replay shows that it can be trusted; in a
            run of 10,000 steps or more it makes one by asking the environment, if that can be done in half the time
            that stepping takes. ``record_.loop_reason`` says what was done.
        evaluate_every : int, optional
            Evaluate the greedy policy, frozen, after each so many steps (episodes).
        checkpoint_every : int, optional
            Note the cumulative reward after each so many steps (episodes); about 200 times by default.
        regret : bool
            Solve the model, if there is one, and note the regret.
        progress : bool
            Show a progress bar.
        optima : Optima, optional
            A store of solved models to share between runs; implies ``regret``.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        EnvironmentNotFound
            If ``env`` leads to none.
        UnsuitableEnvironment
            If its spaces are not Discrete, its size is not that of the memory, or ``loop="compiled"`` is not possible.
        LearningError
            If the environment answers with NaN or outside its spaces; what was learned until then is kept.
        """
        budget = Budget.of(steps, episodes, evaluate_every, checkpoint_every)
        before = self.learned_before()
        with CompilingTime() as compiling:
            run = self._run
            if run is None or seed is not None or env is not self._asked_for:
                optima = optima or (Optima() if regret else None)
                run = self._start(env, seed, loop, optima, budget.patience(loop))
            elif loop != run.loop:
                run.use(loop)
            try:
                run.learn(budget, self.frozen_policy, progress)
            except errors.LearningError as error:
                self.check_divergence(before, error)
                raise
            finally:
                self.record_ = replace(run.record, compiling_seconds=compiling.seconds)
                self._memory = run.learner.memory
                self._episodes.append(_episodes_of(self.record_))
        self.check_divergence(before)
        return self

    def replicas(
        self, env: str | Env, seed: int, loop: LoopChoice, optima: Optima | None, budget: Budget
    ) -> Replicas | None:
        """Prepare runs of this agent with many seeds; None if each needs an environment of its own.

        Part of `rlsuite.train`, which gives an agent and an environment for nothing else.
        """
        if type(self).learn is not Agent.learn:
            return None
        return Replicas.of(self._start(env, seed, loop, optima, budget.patience(loop)), self.init_memory, budget)

    def learned_before(self) -> list[AnyArray] | None:
        """What `check_divergence` may have to put back; nothing here, as tables of averages do not diverge."""
        return None

    def check_divergence(self, before: list[AnyArray] | None, error: errors.LearningError | None = None) -> None:
        """Check what was learned, after a run that may have ended in an error; nothing here."""

    def _start(self, env: str | Env, seed: int | None, loop: LoopChoice, optima: Optima | None, patience: float) -> Run:
        made = find_env(env)
        encode = self.bind_environment(made)
        rule = Rule(type(self).begin, _step_of(type(self)))
        expected = ExpectedRewards.of(self, self.expected_rewards)
        run = Run(made, rule, self._restore_memory, self.gamma, seed, loop, optima, encode, expected, patience)
        self._run, self._asked_for = run, env
        self._memory = run.learner.memory
        self.seed_ = run.seed
        self.generator_ = np.random.default_rng(run.act_seed)
        self.first_action_ = int(action_space_of(made).start)
        return run

    def bind_environment(self, env: Env) -> Encoding | None:
        """Prepare to learn in an environment.

        Returns
        -------
        Encoding or None
            How its observations become vectors, for an agent that sees vectors; None for one that sees ids, as tables
            do.

        Raises
        ------
        UnsuitableEnvironment
            If its observations are of the wrong kind.
        """
        self.first_observation_ = int(id_space_of(env).start)
        return None

    def frozen_policy(self) -> Policy:
        """Greedy policy learned so far, in the form that evaluations use; `policy` for an agent that observes ids."""
        return self.policy()

    def _restore_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Own:
        """The memory for an environment: a new one, or the present one if it fits."""
        if self._memory is None:
            return self.init_memory(legal, legality)
        known = self._memory.legal
        if known.shape != legal.shape:
            raise errors.UnsuitableEnvironment(
                f"this {type(self).__name__} has learned on {known.shape[0]} states and {known.shape[1]} actions; the "
                f"environment has {legal.shape[0]} and {legal.shape[1]}. Use a new agent for it"
            )
        known = {"legal": legal, "legality": legality}
        return self._memory._replace(**{name: known[name] for name in known if name in self._memory._fields})

    def act(self, observation: Observation) -> int:
        """Take the best action learned so far; ties are broken at random.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not an integer in the range of the space, or is terminal.
        """
        index = row_of_id(observation, self.first_observation_, len(self.memory_.legal))
        best = self.best_actions(index)
        if not best.size:
            raise errors.ParameterError(f"observation {observation!r} is terminal: no action is legal there")
        return int(self.generator_.choice(best)) + self.first_action_

    @property
    def memory_(self) -> Own:
        """The memory: a NamedTuple of the learned arrays and of everything else that the rule uses."""
        if self._memory is None:
            raise errors.NotLearned(f"this {type(self).__name__} has not learned yet; call learn(env, steps=...) first")
        return self._memory

    @property
    def legal_(self) -> NDArray[np.bool_]:
        """The actions that exist, shape (n_observations, n_actions)."""
        return self.memory_.legal

    @property
    def episodes_(self) -> NDArray[np.void]:
        """Return and length of all finished episodes, shape (n_episodes,), fields "return" and "length"."""
        return np.concatenate([np.zeros(0, dtype=EPISODE), *self._episodes])

    def __getattr__(self, name: str) -> AnyArray:
        """Learned arrays by name: ``visits_`` is the field ``visits`` of the memory, or of its ``learned``."""
        if name.endswith("_") and not name.startswith("_"):
            memory = self.memory_
            for known in (memory, getattr(memory, "learned", ())):
                if name[:-1] in getattr(known, "_fields", ()):
                    return getattr(known, name[:-1])
        raise attribute_error(type(self).__name__, name, [one for one in dir(self) if not one.startswith("_")])

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse to change a parameter once there is a memory that was made with the old value."""
        if self.__dict__.get("_memory") is not None and any(name == each.name for each in fields(self)):
            raise errors.ParameterError(
                f"{name}= cannot be changed once this {type(self).__name__} has begun to learn; make a new agent, or "
                "give a schedule (rlsuite.Linear, for instance) for a number that changes during learning"
            )
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, object]:
        """Copy and pickle what was learned, not the state of the run: a copy's next run begins with a new episode."""
        return {**self.__dict__, "_run": None, "_asked_for": None}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the agent to an .npz file; `rlsuite.load` reads it."""
        save(self, path)

    def kept_arrays(self) -> dict[str, AnyArray]:
        """The arrays that a file keeps, which hold what was learned; part of `save`."""
        return learned_arrays(self.memory_)

    def restore(self, header: Plain, arrays: Npz, episodes: NDArray[np.void]) -> None:
        """Restore what `save` has written; part of `rlsuite.load`.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or is not what the agent declares.
        """
        legal = arrays.take("legal", np.bool_, ndim=2)
        if not legal.size or legal.view(np.uint8).max() > 1:
            raise ValueError(f"legal, of shape {legal.shape}, is empty, or has an entry other than 0 and 1")
        memory = self.init_memory(legal, every_action if legal.all() else listed_actions)
        fill(memory, legal, arrays)
        self.check_memory(memory)
        self._memory = memory
        self._episodes = [episodes]
        self.seed_ = int(header["seed"])
        self.first_observation_ = whole(header, "first_observation")
        self.first_action_ = whole(header, "first_action")
        self.generator_ = np.random.default_rng()
        try:
            self.generator_.bit_generator.state = header["generator"]
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise ValueError(f"the state of its generator is not one of PCG64: {error}") from error

    def check_memory(self, memory: Own) -> None:
        """Raise ValueError unless the arrays of a memory are consistent; part of `rlsuite.load`.

        Only for agents whose rule would reach beyond an array if two arrays contradicted each other. What a single
        array may hold is declared where its class names it, with `rlsuite.Array`.
        """


def _step_of(kind: type[Agent]) -> Step:
    """The `step` of a class, checked; that of an agent written for version 0.1 is adapted."""
    names = list(inspect.signature(kind.step).parameters)
    if len(names) == 3:
        return kind.step
    if len(names) != 8:
        raise errors.ParameterError(
            f"{kind.__name__}.step has the parameters ({', '.join(names)}), but should have (memory, t, rng): t is an "
            "rlsuite.Transition with the fields state, action, reward, next_state, terminated and truncated"
        )
    fields = ", ".join(f"t.{field}" for field in Transition._fields)
    warnings.warn(
        f"{kind.__name__}.step({', '.join(names)}) has the signature of rlsuite 0.1, which a later version will "
        f"refuse: write step(memory, t, rng), and {fields} in its body",
        errors.FormerSignatureWarning,
        stacklevel=errors.level_of_the_caller(),
    )
    return _with_transition(kind.step)


@functools.cache
def _with_transition(former: Step) -> Step:
    """Adapt a rule with eight parameters to the present signature."""

    @compiled
    def step(memory: Own, t: Transition, rng: np.random.Generator) -> int:
        return former(memory, t.state, t.action, t.reward, t.next_state, t.terminated, t.truncated, rng)

    return step


def _episodes_of(record: Record) -> NDArray[np.void]:
    episodes = np.zeros(record.episode_return.size, dtype=EPISODE)
    episodes["return"] = record.episode_return
    episodes["length"] = record.episode_length
    return episodes
