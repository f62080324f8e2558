"""Planners, which know the model, among the agents: `Planner`, and one class for each method of `rlsuite.solve`.

They stand beside the learners of an experiment, to compare with. Where a learner takes steps, a planner does as many
iterations of its method: sweeps, improvements of a policy, or whatever the method counts.
"""

import dataclasses
import inspect
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Final, Self, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.learner import Learner
from rlsuite.agents.storage import EPISODE
from rlsuite.core.aliases import Env, Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fraction, legal_actions, positive_number, row_of_id, whole_number
from rlsuite.core.described import Plain, describe
from rlsuite.core.files import replacing
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.npz import Npz
from rlsuite.environments.facts import action_space_of, facts_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.forms.table import trusted_model
from rlsuite.models import MDP
from rlsuite.planning import Solution, methods
from rlsuite.planning.kept import unpacked
from rlsuite.training.budget import Budget
from rlsuite.training.evaluation import Evaluation, evaluator
from rlsuite.training.optimum import NOT_ASKED, Optima, warn_of_another_discount
from rlsuite.training.results import Record

FORMAT: Final = "rlsuite planner 1"
LIMITS: Final = ("max_iterations", "deadline", "progress", "tol", "rtol")
"""Options of methods that are not parameters of a `Planner`: `learn` sets how many iterations it makes."""


@dataclass(eq=False, kw_only=True)
class Planner(Learner):
    """A planner as an agent: any method of `rlsuite.solve` for observed states, stopped after n iterations.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    method : str
        Name of the method; by default one that suits the model.
    tol : float
        Error of the value at which it stops, in the unit of the reward.

    Attributes
    ----------
    solution_ : Solution
        What the method has found, with the bound on its error.
    value_, q_ : ndarray
        Values of the states (n_states,) and of the actions (n_states, n_actions).
    record_ : Record
        What `learn` has noted; its steps are iterations.

    Raises
    ------
    ParameterError
        If there is no such method, or a parameter is outside its range.

    Examples
    --------
    >>> planner = Planner(gamma=0.9, method="value_iteration")
    >>> planner = planner.learn("FrozenLake-v1", steps=20, evaluate_every=5)
    >>> planner.record_.evaluation.round(4).tolist()
    [0.0434, 0.0619, 0.0689, 0.0689]
    """

    counts: ClassVar[str] = "iterations"

    gamma: float = 0.99
    method: str = "auto"
    tol: float = 1e-6

    def __post_init__(self) -> None:
        self.gamma, self.tol = fraction("gamma", self.gamma), positive_number("tol", self.tol)
        if self.method not in methods(MDP):
            raise errors.ParameterError(errors.unknown("method", self.method, methods(MDP)))
        self._solution: Solution | None = None
        self._env: str | Env | None = None
        self._done = 0

    @says_what_to_write
    def learn(
        self,
        env: str | Env,
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
        """Plan on the model of an environment, and return self. Nothing is random.

        Before it plans on a table of a class that rlsuite does not know, it compares the table with `step`: on a copy,
        in a process of its own.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``module:Id``, ``file.py:Class``, or an instance, with a transition table.
        steps, episodes : int
            How many iterations: one of the two, so that a planner stands beside agents whose runs are given so.
        seed : int, optional
            Of the record; nothing else depends on it.
        evaluate_every : int, optional
            Iterations between two evaluations of the policy; by default at the end alone.
        record_every : int, optional
            Not used: a planner receives no rewards.
        regret : bool
            Solve the model, and note the optimal value.
        progress : bool
            Not used: a planner shows a bar with ``rlsuite.solve(model, progress=True)``.
        optima : Optima, optional
            A store of solved models to share between runs; implies `regret`.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values, or does not suit the method.
        EnvironmentNotFound, UnsuitableEnvironment
            If there is no such environment, it has no table or one that its `step` does not follow, or its states are
            hidden.
        """
        budget = Budget.of(steps, episodes, evaluate_every, record_every)
        made = find_env(env)
        warn_of_another_discount(self, made)
        if seed is not None or env is not self._env:
            self._done = 0
        self.seed_ = 0 if seed is None else whole_number("seed", seed, 0)
        facts = facts_of(made)
        try:  # it takes no step that would show that a table is wrong, so the table is tried first
            model = trusted_model(facts, self.gamma) if facts.has_table else None
        except errors.UntrustedTable as error:
            raise errors.UntrustedTable(
                f"{type(self).__name__} plans on a table that can be trusted, and {error}. "
                "rlsuite.solve(rlsuite.tabulate(env, gamma=...)) plans on what step does"
            ) from error
        if not isinstance(model, MDP):
            why = "its states are hidden" if model is not None else "it has no transition table"
            raise errors.UnsuitableEnvironment(
                f"{type(self).__name__} plans on the model of an environment, and {facts.name}: {why}. Use an agent "
                "that learns, or rlsuite.solve on a model that you make"
            )
        self._env, self.model_ = env, model
        self._first_action = int(action_space_of(made).start)
        space = made.observation_space
        self._first_id = int(space.start) if isinstance(space, gymnasium.spaces.Discrete) else None
        store = optima or (Optima() if regret else None)
        optimum = NOT_ASKED if store is None else store.of(model)
        evaluate = evaluator(facts, model, self.gamma, self.seed_, None)
        began, found = time.perf_counter(), list[Evaluation]()
        times = [self._done + one for one in budget.times(budget.evaluate_every or budget.amount)]
        for now in times:
            found.append(evaluate(self._after(now), now))
        table = self.policy()
        self._done = times[-1]
        self.record_ = Record(
            seed=self.seed_,
            loop="compiled",
            unit=budget.unit,
            episode_return=np.zeros(0),
            episode_length=np.zeros(0, dtype=np.int64),
            evaluation_time=np.array(times, dtype=np.int64),
            evaluation=np.array([one.value for one in found]),
            evaluation_return=np.array([one.total for one in found]),
            end_probability=evaluate.ends(table),
            optimal_value=optimum.value,
            optimum_unknown=optimum.unknown,
            seconds=time.perf_counter() - began,
        )
        return self

    def _after(self, iterations: int) -> NDArray[np.float64]:
        """The policy after so many iterations; a method that has none is done at once."""
        if self._solution is None or not self._solution.converged or self._solution.lookahead.mdp is not self.model_:
            function = methods(MDP)[self.method]
            taken = inspect.signature(function).parameters
            limit = {"max_iterations": iterations} if "max_iterations" in taken else {}
            tol = {"tol": self.tol} if "tol" in taken else {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.ConvergenceWarning)  # it is asked to stop early
                found = function(self.model_, **limit, **tol, **self._options())
            if not isinstance(found, Solution):
                raise errors.ParameterError(f"{self.method} finds no policy for all times; choose another method")
            self._solution = found
        return self.policy()

    def _options(self) -> dict[str, object]:
        """The parameters that belong to one method."""
        common = {one.name for one in dataclasses.fields(Planner)}
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.name not in common}

    @property
    def solution_(self) -> Solution:
        """What the method has found."""
        if self._solution is None:
            raise errors.NotLearned(f"this {type(self).__name__} has not planned yet; call learn(env, steps=...) first")
        return self._solution

    @property
    def value_(self) -> NDArray[np.float64]:
        """Values of the states, shape (n_states,)."""
        return self.solution_.value

    @property
    def q_(self) -> NDArray[np.float64]:
        """Values of the actions, shape (n_states, n_actions); minus infinity for illegal ones."""
        return self.solution_.q

    @property
    def steps_(self) -> int:
        """Iterations so far."""
        return self._done

    @property
    def episodes_(self) -> NDArray[np.void]:
        """No episodes: a planner plays none."""
        return np.zeros(0, dtype=EPISODE)

    def policy(self) -> NDArray[np.float64]:
        """The policy found, shape (n_states, n_actions): probabilities."""
        best, table = self.solution_.policy, np.zeros(self.q_.shape)
        acting = np.flatnonzero(best >= 0)
        table[acting, best[acting]] = 1.0
        return table

    def act(self, observation: Observation, action_mask: ArrayLike | None = None) -> int:
        """Take the best action at a state.

        Raises
        ------
        NotLearned
            Before `learn`.
        ParameterError
            If it is not the number of a state, or is terminal, or a mask forbids the action.
        """
        policy = self.solution_.policy
        if self._first_id is None:
            raise errors.ParameterError("a planner acts on the numbers of states, and this environment shows others")
        action = int(policy[row_of_id(observation, self._first_id, len(policy))])
        if action < 0:
            raise errors.ParameterError(f"observation {observation!r} is terminal: no action is legal there")
        if action_mask is not None and not legal_actions("action_mask", action_mask, self.q_.shape[1])[action]:
            raise errors.ParameterError(f"action_mask={action_mask!r} forbids the best action, {action}")
        return action + self._first_action

    def save(self, path: str | PathLike[str]) -> None:
        """Write the parameters and the solution to an .npz file; `rlsuite.load` reads it.

        Raises
        ------
        NotLearned
            If there is nothing to save yet.
        FileError
            If the file cannot be written.
        """
        solution, arrays = dataclasses.replace(self.solution_, seconds=0.0).packed()
        arrays["trace.seconds"] = 0.0 * arrays["trace.seconds"]  # the same seed gives the same bytes
        header = {"format": FORMAT, "agent": describe(self), "seed": str(self.seed_), "solution": solution}
        header["first"] = [self._first_id, self._first_action]
        with replacing(path) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, header=np.array(json.dumps(header)), **cast(Any, arrays))

    def restore_file(self, header: Plain, arrays: Npz) -> None:
        """Restore what `save` has written; part of `rlsuite.load`.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or does not fit together.
        """
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}, not {FORMAT!r}")
        solution = unpacked("its solution", header["solution"], arrays)
        if not isinstance(solution, Solution):
            raise ValueError(f"its solution is a {type(solution).__name__}")
        first_id, first_action = header["first"]
        self._first_id, self._first_action = None if first_id is None else int(first_id), int(first_action)
        self._solution, self.seed_ = solution, int(header["seed"])
        self.model_ = solution.lookahead.mdp


def define_all() -> None:
    """Define the class of each method, unless an agent has its name: `Planner(method=...)` is for those."""
    known = {kind.__name__ for kind in _below(Learner)}
    for name, method in methods(MDP).items():
        spelled = "".join(word.capitalize() for word in name.split("_"))
        signature = inspect.signature(method)
        options = [one for one in signature.parameters.values() if one.name not in LIMITS][1:]
        needs_more = any(one.default is inspect.Parameter.empty for one in options)
        finds: object = signature.return_annotation
        plans = inspect.isclass(finds) and issubclass(finds, Solution)
        if spelled not in known and name != "auto" and plans and not needs_more:
            globals()[spelled] = _class_of(spelled, name, method, options)


def _class_of(
    spelled: str, name: str, method: Callable[..., object], options: list[inspect.Parameter]
) -> type[Planner]:
    own: list[Any] = [("method", str, dataclasses.field(init=False, default=name))]
    own += [(one.name, Any, dataclasses.field(default=one.default)) for one in options]
    first_line = (inspect.getdoc(method) or "").partition("\n")[0]
    about = {"__module__": __name__, "__doc__": f"{first_line}\n\n`rlsuite.planning.{name}`, as a `Planner`."}
    return dataclasses.make_dataclass(spelled, own, bases=(Planner,), namespace=about, eq=False, kw_only=True)


def _below(kind: type) -> set[type]:
    return {kind}.union(*(_below(one) for one in kind.__subclasses__()))


def __getattr__(name: str) -> type[Planner]:
    """Find the class of a method, which another process may ask for first."""
    define_all()
    if name in globals():
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
