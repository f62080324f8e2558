"""What runs are measured against: the optimum, the exact values of a policy, and the discount of the model."""

import dataclasses
import math
import threading
import warnings
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from rlsuite import errors, planning
from rlsuite.core.aliases import Env
from rlsuite.core.arithmetic import weighted_sum
from rlsuite.environments.facts import NO_LIMIT, EnvironmentFacts
from rlsuite.environments.finding import namesake
from rlsuite.environments.forms.stepwise import NO_TABLE
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import FloatArray
from rlsuite.training.results import Bounds


class Optimum(NamedTuple):
    """The value of the optimal policy of a model and its action gaps, as far as they are known."""

    gap: FloatArray
    """``V*(s) - Q*(s, a)`` of the legal pairs, shape (S, A); (0, 0) if unknown."""
    value: float | None
    """Value of the optimal policy at the start, at the model's discount; None if unknown."""
    unknown: str = ""
    """Why the value or the gaps are unknown, as a phrase."""


def no_optimum(why: str) -> Optimum:
    """The `Optimum` of a problem whose optimum is unknown."""
    return Optimum(np.zeros((0, 0)), None, why)


def without_model(facts: EnvironmentFacts) -> Optimum:
    """The `Optimum` of an environment without a model that can be solved."""
    space = facts.env.observation_space
    dtype: object = space.dtype
    real_numbers = isinstance(space, gymnasium.spaces.Box) and isinstance(dtype, np.dtype) and dtype.kind == "f"
    if real_numbers and not facts.comes_with_table:
        return no_optimum(f"the observations of {facts.name} are real numbers, not a finite set")
    table = "no transition table that can be trusted" if facts.comes_with_table else NO_TABLE
    return no_optimum(f"{facts.name} has {table}{namesake(facts.name)}")


NOT_ASKED = no_optimum("no optimum was asked for (regret=False)")


class Optima:
    """Solves each model once, however many runs and threads ask for it.

    With a discount of 1 the optimum is that of the total reward until the end, whatever time limit the environment has;
    it stays unknown where no such optimum exists (`stochastic_shortest_path` says why). It also stays unknown for a
    POMDP with more reachable beliefs than the exact method can handle.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._solved: list[tuple[MDP | POMDP, Optimum]] = []
        self._bounds: list[tuple[MDP | POMDP, int, tuple[Bounds, Bounds]]] = []

    def __reduce__(self) -> tuple[type["Optima"], tuple[()]]:
        """Another process solves again."""
        return Optima, ()

    def of(self, model: MDP | POMDP) -> Optimum:
        """The optimum of a model at its own discount."""
        with self._lock:
            for known, optimum in self._solved:
                if _same(known, model):
                    return optimum
            optimum = _of_pomdp(model) if isinstance(model, POMDP) else _of_mdp(model)
            self._solved.append((model, optimum))
            return optimum

    def of_hidden(self, model: POMDP, name: str) -> Optimum:
        """What is known of the optimum where observations do not tell the states of this model apart."""
        seen = self.of(model.mdp).value
        bound = "" if seen is None else f"an agent that sees them gets {seen:.6g} at best, and no other gets more; "
        solved = "rlsuite.solve(rlsuite.tabulate(env, gamma=...)), or 'rlsuite solve --tabulate', bounds it"
        return no_optimum(f"the observations of {name} do not tell its states apart; {bound}{solved}")

    def bounds(self, model: MDP | POMDP, limit: int) -> tuple[Bounds, Bounds]:
        """Bounds of the value of every policy at the model's discount, and of its return within this time limit."""
        from rlsuite.training.value_bounds import return_bounds, value_bounds  # loads planners

        with self._lock:
            for known, its_limit, bounds in self._bounds:
                if its_limit == limit and _same(known, model):
                    return bounds
            total = return_bounds(model, limit)
            bounds = (total if model.gamma == 1.0 else value_bounds(model)), total
            self._bounds.append((model, limit, bounds))
            return bounds


def _of_mdp(mdp: MDP) -> Optimum:
    if mdp.gamma < 1.0:
        solution = planning.solve(mdp)
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.ConvergenceWarning)  # `Record.optimum_unknown` says so instead
                solution = planning.solve(mdp)
        except errors.ModelError as error:
            return no_optimum(str(error))
        if not solution.converged:
            return no_optimum(
                f"{solution.method} found {solution.value_at_start:g}, which may be wrong by {solution.error_bound:.2g}"
            )
    # An action that may be optimal, within the error bound, has gap 0: otherwise errors of 1e-7 per step would add up
    # to regret. All other actions have a smaller value than their state.
    costly = mdp.legal & ~solution.optimal_actions
    gap = np.where(costly, solution.value[:, None] - solution.q, 0.0)
    return Optimum(gap, weighted_sum(mdp.start, solution.value))


def _of_pomdp(pomdp: POMDP) -> Optimum:
    if pomdp.gamma == 1.0:
        return no_optimum("its states are hidden, and without discounting the value of a belief may be infinite")
    try:
        solution = planning.solve(pomdp, method="reachable_beliefs")
    except (errors.ModelError, errors.ParameterError) as error:
        return no_optimum(str(error))
    value = (solution.lower_bound + solution.upper_bound) / 2
    return Optimum(np.zeros((0, 0)), value, "its states are hidden: the regret of an action depends on the belief")


def _same(one: MDP | POMDP, other: MDP | POMDP) -> bool:
    if isinstance(one, POMDP) and isinstance(other, POMDP):
        return np.array_equal(one.observation, other.observation) and _same(one.mdp, other.mdp)
    if isinstance(one, MDP) and isinstance(other, MDP):
        names = ("indptr", "next_state", "probability", "reward", "terminated", "start")
        return one.gamma == other.gamma and all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)
    return False


class Prediction(NamedTuple):
    """What an agent that learns state values has learned, and of which policy."""

    value: FloatArray
    """Learned values of all states, (S,); empty where observations are not ids."""
    followed: FloatArray
    """The policy that is followed, (S, n_actions)."""
    evaluated: FloatArray
    """The policy whose values are learned, (S, n_actions) or (1, n_actions); the same unless it learns off-policy."""
    by_visits: bool
    """Whether a state counts as often as it is visited."""


class ValueErrors:
    """Measures predictions of one policy in one model.

    Parameters
    ----------
    mdp : MDP
        The model, at the agent's discount.
    time_limit : int
        Of the environment, in steps; `NO_LIMIT` without one.
    prediction : Prediction
        The first; its policies are those of all.

    Raises
    ------
    RlsuiteError
        If the policies have no exact values: they do not fit the model, or at gamma 1 their episodes need not end.
    """

    def __init__(self, mdp: MDP, time_limit: int, prediction: Prediction):
        from rlsuite.planning import evaluate_policy
        from rlsuite.planning.visits import expected_visits, surely_ends

        acts = mdp.legal.any(axis=1)
        evaluated = np.broadcast_to(prediction.evaluated, mdp.legal.shape) * mdp.legal
        self.exact = evaluate_policy(mdp, evaluated / np.maximum(evaluated.sum(axis=1, keepdims=True), 1e-300))
        if surely_ends(mdp, prediction.followed):
            visits = expected_visits(mdp, prediction.followed, gamma=1.0)
        elif time_limit != NO_LIMIT:
            visits = expected_visits(mdp, prediction.followed, gamma=1.0, horizon=time_limit)
        else:
            visits = expected_visits(mdp, prediction.followed, gamma=mdp.gamma)
        counted = visits * acts
        weight = counted if prediction.by_visits else (counted > 0.0).astype(np.float64)
        self.weight = weight / weight.sum()

    def of(self, value: FloatArray) -> float:
        """The error of learned values (S,)."""
        return math.sqrt(weighted_sum(self.weight, (value - self.exact) ** 2))


def value_errors(mdp: object, time_limit: int, prediction: Prediction) -> ValueErrors | None:
    """Prepare to measure predictions; None if the exact values are unknown."""
    if not isinstance(mdp, MDP) or prediction.value.shape != (mdp.n_states,):
        return None
    try:
        return ValueErrors(mdp, time_limit, prediction)
    except errors.RlsuiteError:
        return None


_said: set[tuple[str, float, float]] = set()
"""What this process has warned of: agent, its discount, that of the model."""


def warn_of_another_discount(agent: Any, env: Env) -> None:
    """Warn, once in a process, if an agent keeps its default discount in a model that has another.

    An agent with another gamma than the default has been asked for it, and the gamma of a registered environment was
    not written by the user: in both cases there is no warning.

    Parameters
    ----------
    agent : Learner
        Its class is a dataclass, with a field ``gamma``.
    env : gymnasium.Env
        Where it is to learn.

    Warns
    -----
    DiscountWarning
        With both numbers.

    Examples
    --------
    >>> import rlsuite as rl
    >>> mdp = rl.MDP.from_successors([[0, 1], [None, None]], [0, 1], gamma=0.875, start=0)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn_of_another_discount(rl.Sarsa(), mdp.to_env())
    >>> print(str(said[0].message).partition(":")[0])
    Sarsa learns with its default gamma=0.99, and the model of its environment has gamma=0.875
    """
    base = env.unwrapped
    if type(base) is not TabularEnv:
        return
    default = {field.name: field.default for field in dataclasses.fields(agent)}.get("gamma")
    given, own, name = base.model.gamma, agent.gamma, type(agent).__name__
    if own != default or own == given or base.model.n_states == 1 or (name, own, given) in _said:
        return
    _said.add((name, own, given))
    warnings.warn(
        f"{name} learns with its default gamma={own:g}, and the model of its environment has gamma={given:g}: they "
        f"have different optima. Write {name}(gamma={given:g}), or give the model gamma={own:g}",
        errors.DiscountWarning,
        stacklevel=errors.level_of_the_caller(),
    )
