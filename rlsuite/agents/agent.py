"""The base of all agents: parameters, memory, learning, acting, saving."""

import copy
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import ClassVar, Self, cast

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents import rule_parameters
from rlsuite.agents.learner import Learner
from rlsuite.agents.storage import EPISODE, RUN, episodes_of, fill, fill_run, ids_of_file, save, whole
from rlsuite.core.aliases import Env, Observation, Own, Space
from rlsuite.core.checks import fraction, positive_number, row_of_id, whole_number
from rlsuite.core.compiling_clock import CompilingTime
from rlsuite.core.described import Plain
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.npz import Npz
from rlsuite.environments.facts import action_space_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.observation_ids import ObservationIds
from rlsuite.environments.observation_view import Encoding
from rlsuite.models.aliases import AnyArray
from rlsuite.synonyms import attribute_error
from rlsuite.training.acting import Policy
from rlsuite.training.budget import Budget, LoopChoice
from rlsuite.training.expected_rewards import ExpectedRewards
from rlsuite.training.kept_run import KeptRun, go_on, kept, set_generator
from rlsuite.training.kernels import ALL_STEPS, Begin, Rule, Step
from rlsuite.training.learned import Before, learned_arrays
from rlsuite.training.legality import Legality, every_action, listed_actions
from rlsuite.training.optimum import Optima, Prediction, warn_of_another_discount
from rlsuite.training.results import Record
from rlsuite.training.run import Run
from rlsuite.training.run_log import Keeping

_one_at_a_time = threading.Lock()


@dataclass(eq=False, kw_only=True)
class Agent(Learner):
    """Base of all agents. Constructors only check and store parameters; names of learned arrays end in ``_``.

    An agent of your own is two compiled functions over a memory (a NamedTuple of arrays and numbers):

    ``begin(memory, state, rng) -> action``
        chooses the first action of an episode;
    ``step(memory, t, rng) -> action``
        learns from one transition `t` (see `rlsuite.Transition`) and chooses the next action, which is ignored when
        the episode is over.

    Derive from `TabularAgent`, which makes a `Memory`, or from this class and give `init_memory` too. A field
    of the class that is declared as `rlsuite.Parameter` is a parameter that the rule finds in ``memory.parameters``.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].

    Attributes
    ----------
    episodes_ : ndarray, shape (n_episodes,)
        Fields ``return`` (float64) and ``length`` (int64, steps) of all episodes learned from so far.
    record_ : Record
        What the last call of `learn` has recorded.
    seed_ : int
        The seed that was used, given or drawn.
    steps_ : int
        Steps of the present run so far; of the continued run, if the agent was loaded from a file.
    """

    begin: ClassVar[Begin]
    step: ClassVar[Step]
    expected_rewards: ClassVar[tuple[float | str, float | str] | None] = None
    """Least and largest reward that the rule is made for: numbers, or names of parameters; None if any will do."""

    rule_parameters: ClassVar[dict[str, type[float]]] = {}
    """Parameters that the rule finds in ``memory.parameters``, and their types; see `rlsuite.Parameter`."""

    gamma: float = 0.99

    @classmethod
    def is_complete(cls) -> bool:
        """Whether the class has the function `step`, which a base class leaves to others."""
        return hasattr(cls, "step")

    def __init_subclass__(cls) -> None:
        """Find the declared parameters."""
        super().__init_subclass__()
        type.__setattr__(cls, "rule_parameters", rule_parameters.declare(cls))

    def __post_init__(self) -> None:
        self.gamma = fraction("gamma", self.gamma)
        rule_parameters.check(self)
        self._run: Run | None = None
        self._before: Before | None = None
        self._loaded: KeptRun | None = None  # the run of the file that the agent was read from, until it continues
        self._learning = False
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
        raise rule_parameters.no_memory(type(self))

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
        tabulate: bool | None = None,
        evaluate_every: int | None = None,
        record_every: int | None = None,
        regret: bool = False,
        progress: bool = False,
        save_to: str | PathLike[str] | None = None,
        save_every: float | None = None,
        optima: Optima | None = None,
    ) -> Self:
        """Learn from an environment, and return self.

        Called again without a seed on the same environment, it continues in mid-episode: a run in two parts gives the
        same bytes as one, also across `save`, processes and loops. With a seed, or on another environment of the same
        size, a new run begins with what is already learned.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``module:Id``, ``file.py:Class``, or an instance. Its actions are Discrete. So are its observations,
            or they consist of a few integers (Tuple, Dict, MultiDiscrete, MultiBinary, integer Box); `row_of` gives the
            row of an observation in the learned arrays. Without a table, ``info["action_mask"]`` says which actions are
            legal. Beside a table, the table says it: ``P[s][a] = []`` where an action is illegal; or, if the class
            declares ``metadata = {"action_mask": "law"}``, the masks do.
        steps, episodes : int
            How long; one of the two.
        seed : int, optional
            Source of all randomness of the agent and the environment; drawn and kept in ``seed_`` if not given.
        loop : {"auto", "compiled", "stepwise"}
            The compiled loop runs on the environment's table, the stepwise loop calls the environment. The result is
            the same, bit for bit. "auto" compiles if the environment has a table; ``record_.loop_reason`` says what
            was done. If its class is not a known one, the first 1,000 steps and some of the later ones are taken in
            the environment and compared with the table; at a difference the run goes back to where they agreed, warns
            and continues stepwise. A short run is over before machine code would have been loaded; "compiled" compiles
            before the first step.
        tabulate : bool, optional
            Whether to build a table by probing the environment, as `rlsuite.tabulate` does, with many calls of its
            `step`: True, or an error where it cannot be done; False, never. By default only with ``loop="compiled"``.
        evaluate_every : int, optional
            Steps (or episodes) between two evaluations of the greedy policy.
        record_every : int, optional
            Steps (or episodes) between two records of the cumulative reward; by default there are about 200 records.
        regret : bool
            Solve the model, if there is one, and record the regret.
        progress : bool
            Show a progress bar.
        save_to : str or path, optional
            A file ``.npz``. The agent and its run are saved in it at the beginning, every `save_every` seconds, at the
            end, and when Ctrl-C, SIGTERM or SIGHUP ends the run; ``rlsuite.load(save_to).learn(env, steps=...)``
            continues the run.
        save_every : float, optional
            Minimum number of seconds between two saves; 60 by default.
        optima : Optima, optional
            A store of solved models to share between runs; implies ``regret``.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        EnvironmentNotFound
            If no environment matches ``env``.
        UnsuitableEnvironment
            If its spaces are of other kinds, its size is not that of the memory, or ``loop="compiled"`` or
            ``tabulate=True`` is not possible.
        LearningError
            If the environment answers with NaN or outside its spaces; what was learned until then is kept. If a learned
            number overflows; what was learned before this call is restored. Or if this agent is learning already, in
            another thread.
        FileError
            If `save_to` cannot be written.

        Warns
        -----
        NewRunWarning
            If the run in the file of a loaded agent cannot continue, so that a new one begins; or if `save_to` cannot
            save the present run.
        """
        budget = Budget.of(steps, episodes, evaluate_every, record_every, tabulate)
        keeping = self._keeping(save_to, save_every)
        return self.learn_for(env, budget, seed, loop, optima or (Optima() if regret else None), keeping, progress)

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
        """Learn, as `learn` does, with arguments that have been checked; part of experiments."""
        with _one_at_a_time:
            if self._learning:
                raise errors.LearningError(
                    f"this {type(self).__name__} is learning already: an agent learns in one thread at a time. Give "
                    "each thread an agent of its own, such as copy.deepcopy(agent)"
                )
            self._learning = True
        try:
            return self._learn(env, budget, seed, loop, optima, progress, keeping)
        finally:
            self._learning = False

    def resume(
        self, env: Env, budget: Budget, loop: LoopChoice, optima: Optima | None, keeping: Keeping | None
    ) -> bool:
        """Go on with the run of the file from which the agent was loaded; False if that cannot be done.

        Part of experiments, as are `learn_for` and `record_so_far`.
        """
        if self._loaded is None or self._loaded.lost or self._begin_again(env, loop, optima, 0.0):
            return False
        self.learn_for(env, budget, None, loop, optima, keeping)
        return True

    def record_so_far(self) -> Record:
        """The record of what the present call of `learn` has done; part of experiments."""
        assert self._run is not None
        return self._run.record()

    def _learn(
        self,
        env: str | Env,
        budget: Budget,
        seed: int | None,
        loop: LoopChoice,
        optima: Optima | None,
        progress: bool,
        keeping: Keeping | None,
    ) -> Self:
        first_loop, has_learned = budget.first_loop(loop), self._memory is not None
        with CompilingTime() as compiling:
            run = self._run
            if run is None or seed is not None or env is not self._asked_for:
                run = self._go_on_or_start(env, seed, first_loop, optima, budget.patience(loop))
            elif budget.tabulate:
                run.use(first_loop)
            if loop != run.loop:
                run.use(loop, budget.patience(loop))
            before = self._before_learning(run, has_learned)
            try:
                run.learn(budget, self.frozen_policy, progress, keeping, self._prediction())
            except errors.LearningError as error:
                before.check(type(self).__name__, error)
                raise
            finally:
                self.record_ = run.record(compiling.seconds)
                self._memory = run.learner.memory
                self._episodes.append(episodes_of(self.record_))
        before.check(type(self).__name__)
        return self

    def _before_learning(self, run: Run, has_learned: bool) -> Before:
        """Keep what was learned until now."""
        memory, run_state = run.learner.memory, run.learner.run_state
        if self._before is not None and self._before.run_state is run_state:
            self._before.begin_call()
            return self._before
        new = None if has_learned else lambda: self.init_memory(memory.legal, memory.legality)
        self._before = before = Before(memory, run_state, new)
        return before

    def first_run(
        self,
        env: str | Env,
        seed: int,
        loop: LoopChoice,
        optima: Optima | None,
        budget: Budget,
        like: Run | None = None,
    ) -> Run | None:
        """Begin one of many runs that differ in seeds alone; None if it has another `learn`.

        Part of `rlsuite.train` and of experiments, as is `measured`.
        """
        if type(self).learn is not Agent.learn:
            return None
        return self._start(env, seed, budget.first_loop(loop), optima, budget.patience(loop), like)

    def measured(self, memory: Own) -> tuple[Callable[[], Policy], Callable[[], Prediction] | None]:
        """What evaluations ask for while this agent learns with another memory: its policy, and its prediction."""
        own = copy.copy(self)
        own._memory = memory
        return own.frozen_policy, own._prediction()

    def _prediction(self) -> Callable[[], Prediction] | None:
        """What gives the state values learned so far, of an agent that evaluates a policy."""
        return getattr(self, "prediction") if hasattr(type(self), "prediction") else None  # noqa: B009 - of subclasses

    def _keeping(self, save_to: str | PathLike[str] | None, save_every: float | None) -> Keeping | None:
        """Check where and how often the run is to be kept."""
        if save_to is None and save_every is not None:
            raise errors.ParameterError(f"{save_every=} is the time between two saves: give save_to= as well")
        seconds = 60.0 if save_every is None else positive_number("save_every", save_every)
        return None if save_to is None else Keeping(lambda: save(self, save_to, compress=False), seconds)

    def _go_on_or_start(
        self, env: str | Env, seed: int | None, loop: LoopChoice, optima: Optima | None, patience: float
    ) -> Run:
        """Go on with the run of the file from which the agent was loaded, if that is asked for, or start a new one."""
        loaded = self._loaded
        if loaded is None or seed is not None:
            return self._start(env, seed, loop, optima, patience)
        reason = loaded.lost or self._begin_again(env, loop, optima, patience)
        if not reason:
            assert self._run is not None
            return self._run
        level = errors.level_of_the_caller()
        warnings.warn(
            f"{reason}. A new run begins, with what was learned (give a seed to ask for that)",
            errors.NewRunWarning,
            stacklevel=level,
        )
        return self._start(env, None, loop, optima, patience)

    def _begin_again(self, env: str | Env, loop: LoopChoice, optima: Optima | None, patience: float) -> str:
        """Put the run of the file where it was kept; return why that cannot be done, as a sentence."""
        loaded = self._loaded
        assert loaded is not None
        legal, rng = self.memory_.legal, self.generator_
        run = self._start(env, self.seed_, loop, (optima or Optima()) if loaded.regret else None, patience)
        reason = go_on(run, loaded, legal)
        if not reason:
            self.generator_ = rng
        return reason

    def _start(
        self,
        env: str | Env,
        seed: int | None,
        loop: LoopChoice,
        optima: Optima | None,
        patience: float,
        like: Run | None = None,
    ) -> Run:
        made = find_env(env)
        warn_of_another_discount(self, made)
        seed = cast(int, np.random.SeedSequence(None if seed is None else whole_number("seed", seed, 0)).entropy)
        encode = self.bind_environment(made, seed)
        rule, expected = self.compiled_rule(), ExpectedRewards.of(self, self.expected_rewards)
        run = Run(made, rule, self._restore_memory, self.gamma, seed, loop, optima, encode, expected, patience, like)
        self._run, self._asked_for, self._loaded = run, env, None
        self._memory = run.learner.memory
        self.seed_ = run.seed
        self.generator_ = np.random.default_rng(run.act_seed)
        self.first_action_ = int(action_space_of(made).start)
        return run

    def compiled_rule(self) -> Rule:
        """The two functions of the class."""
        return Rule(step=rule_parameters.step_of(type(self)), begin=type(self).begin)

    def bind_environment(self, env: Env, seed: int | None = None) -> Encoding | None:
        """Prepare to learn in an environment; the seed is that of a run that begins, None if it must not be stepped.

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
        self._observe_ids_of(env.observation_space)
        return None

    def _observe_ids_of(self, space: Space) -> None:
        """Store the space whose observations are the rows of the tables."""
        ids = ObservationIds(space)
        self.observation_ids_ = None if isinstance(space, Discrete) else ids
        self.first_observation_ = int(space.start) if isinstance(space, Discrete) else 0

    def row_of(self, observation: Observation) -> int:
        """Return the row of an observation in the learned arrays, such as ``q_``.

        It is ``observation - space.start`` in a Discrete space. In spaces of several integers (Tuple, Dict,
        MultiDiscrete, MultiBinary, integer Box), these are the digits of the row, the first counts most.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If it is not an observation of the space.
        """
        n_rows = len(self.memory_.legal)
        if self.observation_ids_ is None:
            return row_of_id(observation, self.first_observation_, n_rows)
        try:
            return self.observation_ids_.id_of(observation)
        except ValueError as error:
            raise errors.ParameterError(str(error)) from error

    def rows_of(self, observations: object) -> list[int]:
        """Return the rows of several observations: a list of them or, of a Discrete space, an array."""
        if self.observation_ids_ is None:
            return [self.row_of(one) for one in np.atleast_1d(np.asarray(observations)).ravel().tolist()]
        if not isinstance(observations, Sequence | np.ndarray):
            raise errors.ParameterError(f"observations={observations!r} is not a list of observations")
        return [self.row_of(one) for one in cast("Sequence[Observation]", observations)]

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
            If it is not an observation of the space, or is terminal.
        """
        index = self.row_of(observation)
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
        present = [episodes_of(self._run.record())] if self._learning and self._run is not None else []
        return np.concatenate([np.zeros(0, dtype=EPISODE), *self._episodes, *present])

    @property
    def steps_(self) -> int:
        """Steps of the present run so far; of the continued run, if the agent was loaded from a file."""
        if self._run is not None:
            return int(self._run.learner.run_state.position[ALL_STEPS])
        return 0 if self._loaded is None else self._loaded.steps

    def __getattr__(self, name: str) -> AnyArray:
        """Learned arrays by name: ``visits_`` is the field ``visits`` of the memory, or of its ``learned``."""
        if "_memory" not in self.__dict__ and not name.startswith("__"):
            raise rule_parameters.not_initialised(type(self))
        if name.endswith("_") and not name.startswith("_"):
            memory = self.memory_
            for known in (memory, getattr(memory, "learned", ())):
                fields = getattr(known, "_fields", ())
                if name[:-1] in fields and type(getattr(known, name[:-1])) is not tuple:  # () is what is not needed
                    return getattr(known, name[:-1])
        raise attribute_error(type(self).__name__, name, [one for one in dir(self) if not one.startswith("_")])

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse to change a parameter once there is a memory that was made with the old value."""
        if self.__dict__.get("_memory") is not None and name in self.__dataclass_fields__:
            raise errors.ParameterError(
                f"{name}= cannot be changed once this {type(self).__name__} has begun to learn; make a new agent, or "
                "give a schedule (rlsuite.Linear, for instance) for a number that changes during learning"
            )
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, object]:
        """Copy and pickle what was learned, not the state of the run: a copy's next run begins with a new episode."""
        return {**self.__dict__, "_run": None, "_before": None, "_asked_for": None, "_loaded": None, "_learning": False}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the agent and its run to an .npz file; `rlsuite.load` reads it, and `learn` without a seed continues.

        To know what its state is, an environment that has neither a table nor compiled dynamics nor ``get_state()`` is
        asked for a table, once a run, for at most five seconds.

        Raises
        ------
        NotLearned
            If there is nothing to save yet.
        FileError
            If the file cannot be written.

        Warns
        -----
        NewRunWarning
            If the run cannot be kept, as the state of its environment cannot; what was learned is saved.
        """
        save(self, path)

    def kept_run(self) -> KeptRun | None:
        """The run that a file keeps; None if there is none. Part of `save`."""
        return self._loaded if self._run is None else kept(self._run)

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
        if RUN in header:
            self._loaded = KeptRun.read(header[RUN], arrays)
            if not self._loaded.lost:
                fill_run(memory, arrays)
        self.check_memory(memory)
        self._memory = memory
        self._episodes = [episodes]
        self.seed_ = int(header["seed"])
        self.first_observation_ = whole(header, "first_observation")
        self.observation_ids_ = ids_of_file(header, len(legal))
        self.first_action_ = whole(header, "first_action")
        self.generator_ = np.random.default_rng(0)
        set_generator(self.generator_, header["generator"])

    def check_memory(self, memory: Own) -> None:
        """Raise ValueError unless the arrays of a memory are consistent; part of `rlsuite.load`.

        Only for agents whose rule would reach beyond an array if two arrays contradicted each other. What a single
        array may hold is declared where its class names it, with `rlsuite.Array`.
        """
