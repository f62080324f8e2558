"""What a policy is worth: by episodes and, where the environment has a model, exactly (`rlsuite.evaluate`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, cast

import gymnasium
import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import Env, Observation
from rlsuite.core.checks import fraction, whole_amount, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.shown import ShowsItself
from rlsuite.environments.facts import NO_LIMIT, EnvironmentFacts, facts_of
from rlsuite.environments.finding import opened
from rlsuite.environments.followers import TableFollower
from rlsuite.environments.forms.known_kinds import is_known_kind
from rlsuite.environments.forms.stepwise import NOT_ASKED_FOR
from rlsuite.environments.forms.table import declared_model
from rlsuite.environments.observation_ids import ObservationIds
from rlsuite.environments.tabulated_model import tabulate as model_by_asking
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.training.acting import MOST_ASKED, Act, Asked, Drawing, acting, chosen_of
from rlsuite.training.episodes import Rollout, episode_seeds, played
from rlsuite.training.evaluation import MAX_STEPS, warn_of_cuts
from rlsuite.training.failures import in_words, where_raised
from rlsuite.training.optimum import Optima
from rlsuite.training.results import UNKNOWN, Bounds

DEFAULT_GAMMA = 0.99
"""Discount of a policy that has none of its own."""

LISTED = 3
"""States that are printed."""

FACTS = (
    *("policy", "environment", "seed", "gamma", "mean", "value", "length", "terminated"),
    *("mean_interval", "value_interval", "length_interval"),
    *("exact", "exact_mean", "optimum", "regret", "optimal_share", "unknown"),
)

FREE = 1e-9
"""Share of what all states cost, below which a cost is that of rounding."""


class StateCost(NamedTuple):
    """What a policy loses in one state against the optimum."""

    observation: object
    """What is observed in the state."""
    cost: float
    """Part of the regret: expected discounted visits to the state, times what the policy loses there at each."""
    best_actions: tuple[int, ...]
    """The optimal actions, as the environment has them."""


@dataclass(frozen=True, eq=False, repr=False)
class PolicyReport(ShowsItself):
    """What a policy is worth in an environment.

    Attributes
    ----------
    policy, environment : str
        Their names.
    seed : int
        Seed of the episodes.
    gamma : float
        The discount of `value`, `exact`, `optimum` and `regret`.
    returns, values : ndarray (n_episodes,) float64
        Undiscounted and discounted return of each episode.
    lengths : ndarray (n_episodes,) int64
        Steps of each.
    terminated : float
        Share of the episodes that reached an end.
    mean, value, length : float
        The means of `returns`, `values` and `lengths`.
    mean_interval, value_interval, length_interval : tuple of float
        Their 95 % intervals over episodes (see `rlsuite.training.statistics.mean_interval`); NaN for a single episode.
    exact : float or None
        Exact discounted value from the start, without the time limit unless gamma is 1; None if it is unknown.
    exact_mean : float or None
        Exact undiscounted return of an episode with the time limit; NaN if it may never end; None if it is unknown.
    optimum : float or None
        Value of the optimal policy; None if it is unknown.
    regret : float or None
        ``optimum - exact``, which rounding does not make negative.
    optimal_share : float or None
        In which share of the states in which some policy has to act it takes optimal actions only.
    costs : tuple of StateCost
        The states that cost it most, the most expensive first; those without a cost are left out. With gamma < 1 the
        costs of all states sum to the regret.
    unknown : str
        Why `exact` or `regret` is unknown, as a phrase.
    """

    policy: str
    environment: str
    seed: int
    gamma: float
    returns: FloatArray
    values: FloatArray
    lengths: IndexArray
    terminated: float
    exact: float | None = None
    exact_mean: float | None = None
    optimum: float | None = None
    optimal_share: float | None = None
    costs: tuple[StateCost, ...] = ()
    unknown: str = ""
    value_bounds: Bounds = field(default=UNKNOWN)
    return_bounds: Bounds = field(default=UNKNOWN)

    @property
    def mean(self) -> float:
        """Mean undiscounted return."""
        return float(self.returns.mean())

    @property
    def value(self) -> float:
        """Mean discounted return."""
        return float(self.values.mean())

    @property
    def length(self) -> float:
        """Mean length, in steps."""
        return float(self.lengths.mean())

    @property
    def mean_interval(self) -> tuple[float, float]:
        """Interval of `mean`."""
        return _interval(self.returns, self.return_bounds)

    @property
    def value_interval(self) -> tuple[float, float]:
        """Interval of `value`."""
        return _interval(self.values)

    @property
    def length_interval(self) -> tuple[float, float]:
        """Interval of `length`."""
        return _interval(self.lengths)

    @property
    def regret(self) -> float | None:
        """How far the exact value is below the optimum."""
        return None if self.exact is None or self.optimum is None else max(0.0, self.optimum - self.exact)

    def facts(self) -> dict[str, object]:
        """What it says, as plain data."""
        return {**{name: getattr(self, name) for name in FACTS}, "episodes": self.returns.size}

    def __repr__(self) -> str:
        episodes = "1 episode" if self.returns.size == 1 else f"{self.returns.size} episodes"
        lines = [
            f"{self.policy} in {self.environment}: {episodes}, seed {self.seed}",
            f"  mean return (undiscounted): {self.mean:.6g}{_between(self.mean_interval)}",
            f"  value (gamma {self.gamma:g}): {self.value:.6g}{_between(self.value_interval)}",
            f"  length: {self.length:.6g}{_between(self.length_interval)} steps; {self.terminated:.0%} reached an end",
        ]
        if self.exact is not None:
            optimum = "" if self.optimum is None else f", optimum {self.optimum:.6g}, regret {self.regret:.6g}"
            lines.append(f"  exact value: {self.exact:.6g}{optimum}")
        if self.optimal_share is not None:
            lines.append(f"  optimal actions in {self.optimal_share:.1%} of the states in which a policy has to act")
        if self.costs:
            listed = ", ".join(f"{one.observation!r} {one.cost:.3g}" for one in self.costs[:LISTED])
            lines.append(f"  the states that cost most: {listed}")
        if self.unknown:
            lines.append(f"  {'exact value' if self.exact is None else 'optimum'} unknown: {self.unknown}")
        return "\n".join(lines)


def _interval(samples: FloatArray | IndexArray, bounds: Bounds = UNKNOWN) -> tuple[float, float]:
    from rlsuite.training.statistics import mean_interval  # loads SciPy

    if samples.size < 2:
        return np.nan, np.nan
    found = mean_interval(samples, bounds=bounds)
    return float(found.low), float(found.high)


def _between(interval: tuple[float, float]) -> str:
    return "" if np.isnan(interval[0]) else f" [{interval[0]:.6g}, {interval[1]:.6g}]"


@says_what_to_write
def evaluate(
    policy: object,
    env: str | Env,
    *,
    episodes: int = 100,
    seed: int | None = None,
    gamma: float | None = None,
    max_steps: int = MAX_STEPS,
    tabulate: bool = False,
    **kwargs: object,
) -> PolicyReport:
    """Say what a policy is worth in an environment: whatever acts, by episodes, and exactly where that is possible.

    Parameters
    ----------
    policy : policy
        A function from an observation to an action, one with a parameter ``action_mask`` is told the legal actions; an
        action, or probabilities (n_actions,), for each observation, as an array or a mapping; an `rlsuite.Solution`; a
        classifier of scikit-learn; an agent of rlsuite, whose frozen policy acts (of a predictor the one that it
        follows); or one of another library, which is asked by its method ``act``, ``predict`` (the deterministic action
        of Stable-Baselines3), ``compute_action`` or the like.
    env : str or gymnasium.Env
        An id, ``module:Id``, ``file.py:Class``, or an instance, which is left where the last episode ends.
    episodes : int
        How many are played.
    seed : int, optional
        Where the seeds of the episodes and the draws of the policy come from; drawn by default.
    gamma : float, optional
        Discount per step; by default that of the policy, or 0.99.
    max_steps : int
        Steps after which an episode is cut.
    tabulate : bool
        Build a table of an environment that has none that is known to be right, see `rlsuite.tabulate`, and evaluate
        exactly on it.
    **kwargs
        Passed to the environment when it is made.

    Returns
    -------
    PolicyReport
        Its `exact` and what follows from it are known where a table of the environment is: that of Gymnasium's
        toy_text environments, of a `TabularEnv`, or of a tabulation, or one of its own with which all that happened in
        the episodes agrees. A policy that is no table is asked once for each
        state, after the episodes; if it acted otherwise in one of them, it has no exact value.

    Raises
    ------
    ParameterError
        If it is no policy, or an argument is outside its allowed values.
    EnvironmentNotFound
        If there is no such environment.
    UnsuitableEnvironment
        If it is to be tabulated and cannot be, or does not fit the policy.
    NotLearned
        If the agent has not learned yet.
    LearningError
        If the policy takes an action that does not exist, or it or the environment raises an error.

    Warns
    -----
    CutEpisodesWarning
        If episodes were cut at `max_steps`.

    Examples
    --------
    >>> import rlsuite as rl
    >>> rl.evaluate(rl.solve("FrozenLake-v1", gamma=0.9), "FrozenLake-v1", episodes=50, seed=1).regret < 1e-6
    True
    >>> rl.evaluate(lambda state: 1, "CliffWalking-v1", episodes=3, seed=1, max_episode_steps=50)
    <lambda> in CliffWalking-v1: 3 episodes, seed 1
      mean return (undiscounted): -5000 [-5000, -5000]
      value (gamma 0.99): -3949.94 [-3949.94, -3949.94]
      length: 50 [50, 50] steps; 0% reached an end
      exact value: -10000, optimum -12.2479, regret 9987.75
      optimal actions in 89.2% of the states in which a policy has to act
      the states that cost most: 36 9.99e+03
    """
    whole_amount("episodes", episodes)
    whole_amount("max_steps", max_steps)
    given = None if seed is None else whole_number("seed", seed, at_least=0)
    entropy = cast("int", np.random.SeedSequence(given).generate_state(1).tolist()[0] if given is None else given)
    discount = fraction("gamma", _gamma_of(policy) if gamma is None else gamma)
    first, second = cast("Any", policy), cast("Any", env)
    if isinstance(first, str | gymnasium.Env) and not isinstance(second, str | gymnasium.Env):
        shown = repr(first) if isinstance(first, str) else "env"
        raise errors.ParameterError(f"the policy comes first: write evaluate({_name_of(second).lower()}, {shown})")
    with opened(env, **kwargs) as made:
        act = acting("policy", policy, made, np.random.default_rng(entropy))
        seen, facts = _Seen(act, made), facts_of(made)
        follows = _Follows.of(facts, discount)
        where = made if follows is None else follows
        rollouts = [_played(where, seen, one, discount, max_steps) for one in episode_seeds(episodes, entropy)]
        warn_of_cuts(sum(one.cut for one in rollouts), episodes, max_steps, facts.name)
        if follows is not None and not tabulate:
            difference = follows.follower.difference
            model, unknown = (None, f"{facts.name}: {difference}") if difference else (follows.model, "")
        else:
            model, unknown = _model_of(facts, made, discount, tabulate)
        report = PolicyReport(
            policy=_name_of(policy),
            environment=facts.name,
            seed=entropy,
            gamma=discount,
            returns=np.array([one.total for one in rollouts]),
            values=np.array([one.value for one in rollouts]),
            lengths=np.array([one.length for one in rollouts]),
            terminated=float(np.mean([one.terminated for one in rollouts])),
            unknown=unknown,
        )
        return report if model is None else _exactly(report, model, facts, seen)


class _Follows(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose table may be wrong: its answers are compared with it.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of the environment.
    model : MDP or POMDP
        That of its table.
    """

    def __init__(self, facts: EnvironmentFacts, model: MDP | POMDP):
        super().__init__(facts.env)
        self.model, self.follower = model, TableFollower(facts, model)
        self.first_action = int(cast("Any", facts.env.action_space).start)

    @classmethod
    def of(cls, facts: EnvironmentFacts, gamma: float) -> Self | None:
        """Follow an environment with a table; None if it has none, or one that is known to be right."""
        if not facts.has_table or is_known_kind(facts):
            return None
        try:
            return cls(facts, declared_model(facts, gamma))
        except errors.UnsuitableEnvironment:
            return None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and compare its start with the one that the table draws with this seed."""
        if seed is None:
            self._compare(self.follower.begin, 0)
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is None:
            self._compare(self.follower.after_reset, observation, info)
        else:
            self._compare(self.follower.after_seeded_reset, seed, observation, info)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take an action."""
        answer = self.env.step(action)
        self._compare(self.follower.after_step, int(action) - self.first_action, answer)
        return answer

    def _compare(self, compare: Callable[..., None], *arguments: object) -> None:
        """Compare; what cannot be compared is a difference, and not an error of the policy."""
        try:
            if not self.follower.difference:
                compare(*arguments)
        except Exception as error:  # whatever the attributes of an environment raise
            self.follower.difference = f"it cannot be compared with its table ({in_words(error)})"


def _gamma_of(policy: object) -> float:
    found: object = getattr(getattr(getattr(policy, "lookahead", None), "mdp", policy), "gamma", None)
    return float(found) if isinstance(found, float | int) else DEFAULT_GAMMA


def _name_of(policy: object) -> str:
    if isinstance(policy, np.ndarray | Sequence | Mapping):
        return "the table"
    return str(getattr(policy, "__name__", type(policy).__name__))


def _played(env: Env, act: Act, seed: int, gamma: float, max_steps: int) -> Rollout:
    try:
        return played(env, act, seed, gamma, max_steps, name="policy")
    except errors.RlsuiteError:
        raise
    except Exception as error:  # whatever the policy or the environment raises
        where = f" ({where_raised(error)})" if where_raised(error) else ""
        raise errors.LearningError(f"the policy or the environment raised {in_words(error)}{where}") from error


class _Seen:
    """A policy, and what it did at each observation in its episodes, if the observations have ids.

    Parameters
    ----------
    act : callable
        What `acting` has returned.
    env : gymnasium.Env
        Where it acts.
    """

    def __init__(self, act: Act, env: Env):
        self.act, self.space = act, env.action_space
        try:
            self.ids: ObservationIds | None = ObservationIds(env.observation_space)
        except errors.UnsuitableEnvironment:
            self.ids = None
        self.actions: dict[int, object] = {}
        self.changed = False

    def __call__(self, observation: Observation, action_mask: BoolArray | None = None) -> object:
        """Act, and note the action."""
        action = chosen_of("policy", self.act, observation, self.space, action_mask)
        if self.ids is not None and not isinstance(self.act, Drawing):
            known = self.actions.setdefault(self.ids.id_of(observation), action)
            self.changed = self.changed or bool(known != action)
        return action

    def table(self, n: int, legal: BoolArray | None, first_action: int, asked: IndexArray) -> FloatArray | str:
        """Probabilities (n, n_actions) of the states `asked`; or why there are none, as a phrase."""
        ids = self.ids
        if ids is None or ids.n != n:
            return "its observations do not tell the states of its model apart"
        if isinstance(self.act, Asked) and self.act.state is not None:
            return "the policy has a memory"
        if asked.size > MOST_ASKED:
            return f"there are {asked.size:,} states to ask the policy about"
        n_actions = int(cast("Any", self.space).n)
        found = np.zeros((n, n_actions))
        for state in asked.tolist():
            mask = None if legal is None else legal[state]
            observation = ids.observation_of(state)
            try:
                if isinstance(self.act, Drawing):
                    weights = self.act.probabilities(observation, mask)
                    found[state] = weights / weights.sum()
                    continue
                action = self(observation, mask)
            except Exception as error:  # whatever the policy raises
                return f"asked about observation {observation!r}: {in_words(error)}"
            if self.changed:
                return f"the policy does not always do the same at observation {observation!r}"
            found[state, int(cast("Any", action)) - first_action] = 1.0
        return "the policy does not always do the same at the same observation" if self.changed else found


def _model_of(facts: EnvironmentFacts, env: Env, gamma: float, tabulate: bool) -> tuple[MDP | POMDP | None, str]:
    """The model on which the policy is evaluated exactly; or None, and why."""
    try:
        if facts.has_table and is_known_kind(facts):
            return declared_model(facts, gamma), ""
    except errors.UntrustedTable as error:
        if not tabulate:
            return None, f"{error}; tabulate=True may make a table"
    if tabulate:
        return model_by_asking(env, gamma=gamma), ""
    if facts.comes_with_table:
        return None, "its table may be wrong; tabulate=True compares it with what its step does"
    return None, NOT_ASKED_FOR


def _exactly(report: PolicyReport, model: MDP | POMDP, facts: EnvironmentFacts, seen: _Seen) -> PolicyReport:
    """Add what the model says."""
    from dataclasses import replace

    from rlsuite.planning.policy_value import PolicyEvaluator
    from rlsuite.planning.visits import decision_states

    mdp = model.mdp if isinstance(model, POMDP) else model
    limit = None if facts.time_limit == NO_LIMIT else facts.time_limit
    if report.gamma == 1.0 and limit is None:
        return replace(report, unknown="gamma is 1, and the environment has no time limit")
    evaluator = PolicyEvaluator(model, report.gamma, horizon=limit if report.gamma == 1.0 else None)
    first = int(cast("Any", facts.env.action_space).start)
    n = evaluator.n_observations
    acts = np.arange(n) if isinstance(model, POMDP) else decision_states(mdp)
    masked = isinstance(model, MDP) and not mdp.legal[acts].all()
    table = seen.table(n, mdp.legal if masked else None, first, acts)
    if isinstance(table, str):
        return replace(report, unknown=table)
    table[~table.any(axis=1), 0] = 1.0  # in states that it does not come to
    exact, total = evaluator.value_and_total(table, limit)
    optima = Optima()
    optimum = optima.of(model)
    value_bounds, return_bounds = optima.bounds(model, facts.time_limit)
    report = replace(
        report,
        exact=exact,
        exact_mean=total,
        optimum=optimum.value,
        unknown="" if optimum.value is not None else optimum.unknown,
        value_bounds=value_bounds,
        return_bounds=return_bounds,
    )
    if isinstance(model, POMDP) or optimum.value is None:
        return report
    return replace(report, **_state_by_state(mdp, table, optimum.gap, acts, report, limit, seen, first))


def _state_by_state(
    mdp: MDP,
    table: FloatArray,
    gap: FloatArray,
    acts: IndexArray,
    report: PolicyReport,
    limit: int | None,
    seen: _Seen,
    first_action: int,
) -> dict[str, Any]:
    """In which states the policy is optimal, and which cost it most."""
    from rlsuite.planning.visits import expected_visits

    illegal = np.where(mdp.legal, 0.0, table).sum(axis=1)
    lost = (table * gap).sum(axis=1)
    visits = expected_visits(mdp, table, gamma=report.gamma, horizon=limit if report.gamma == 1.0 else None)
    cost = visits * lost
    order = [s for s in np.argsort(-cost, kind="stable").tolist() if cost[s] > FREE * max(1.0, float(cost.sum()))]
    ids = cast("ObservationIds", seen.ids)
    best = mdp.legal & (gap <= 0.0)
    costs = tuple(
        StateCost(ids.observation_of(s), float(cost[s]), tuple((np.flatnonzero(best[s]) + first_action).tolist()))
        for s in order
    )
    good = (lost[acts] <= 0.0) & (illegal[acts] <= 0.0)
    return {"optimal_share": float(good.mean()) if acts.size else None, "costs": costs}
