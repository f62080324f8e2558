"""Search without discounting, until the end: the search of `sarsop` for gamma = 1, with other bounds to begin with.

Goal-HSVI (Horák, Bošanský and Chatterjee 2018), for models in which it costs something to put off the end: with some
c > 0 added to the reward of every step, no policy that is never at an end gains without limit. Let phi be the optimal
value for these rewards, as if the states were observed. So r(s, a) <= phi(s) - c - sum_s' c(s' | s, a) phi(s'), and the
sum along an episode is

    E[return] <= phi(b) - c E[number of steps].

A plan of value V takes (phi(b) - V) / c steps on average, at most. That limits what rounding adds up to, and a plan
that does in every belief what its vectors promise comes to the end.

Below, the search begins with the plans that take one action and then draw each action uniformly, of those that are
legal everywhere, or wherever the same is observed: where these can always lead to an end, they reach it.
"""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple, Unpack, cast

import numpy as np

from rlsuite.core.checks import positive_number, whole_amount
from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.limits import TimeLimitsOfBounds, takes_limits
from rlsuite.planning.linear_system import fixed_point_solver
from rlsuite.planning.mdp.stochastic_shortest_path import stochastic_shortest_path
from rlsuite.planning.operators import EPS, Lookahead
from rlsuite.planning.pomdp.bounds.initial_bounds import Blind, at_start, left
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.point_based.sarsop import SHARE, PointSearch, warn_if_open
from rlsuite.planning.pomdp.solution import PointBasedSolution
from rlsuite.planning.reachability import reachable
from rlsuite.planning.total_reward.endings import endings, may_end
from rlsuite.planning.watch import Watch

HALVINGS = 40
"""How often the amount that is added to each reward is halved, at most, until no policy gains from going on."""

OBSERVED_TOL = 1e-6
"""Error of the values with the states observed, in times of the largest reward: cheap steps make up for it slowly."""


@takes_limits()
def goal_hsvi(
    pomdp: POMDP,
    *,
    max_iterations: int | None = None,
    max_gb: float = 4.0,
    **limits: Unpack[TimeLimitsOfBounds],
) -> PointBasedSolution:
    """Solve a POMDP with gamma = 1 until its end, with a lower and an upper bound.

    The search of `sarsop`. The end is a transition that ends the episode, or a set of states that is never left and in
    which all rewards are 0. It must be possible from every state to come to the end, and it must cost something to put
    it off: any cycle of steps must lose reward on average, as if the states were observed. So values are finite, and
    the plan comes to the end with probability 1.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma = 1.
    max_iterations : int, optional
        Largest number of trials.
    max_gb : float
        Stop when the search takes more than this many GB of memory.
    **limits
        When to stop: `tol` or `gap`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    PointBasedSolution
        ``iterations`` is the number of trials. After a stop before its time, by a limit or by Ctrl-C, the best answer
        so far with its true bounds.

    Raises
    ------
    ParameterError
        If gamma is less than 1, or an argument is out of range.
    ModelError
        If the end cannot be reached from some state, or can be put off without a loss; if no action is legal in every
        state of the support of some belief, or an end is not noticed and some actions are illegal there; or if values
        overflow.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than asked for.

    Examples
    --------
    A coin lies under one of two cups; a look costs 1 and is right 3 times out of 4, a guess earns 10 or costs 20, and
    is the end:

    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> look, guess, seen = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3, [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]
    >>> cups = POMDP.from_arrays(
    ...     [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], seen,
    ...     order="ass", gamma=1.0, start=[0.5, 0.5, 0], terminated=[False, False, True],
    ... )
    >>> plan = solve(cups, gap=1e-6)
    >>> plan.method, round(plan.lower_bound, 4), plan.act([0.5, 0.5, 0]), plan.act([0.95, 0.05, 0])
    ('goal_hsvi', 3.8, 0, 1)
    """
    watch = Watch("goal_hsvi", **limits)
    last = -1 if max_iterations is None else whole_amount("max_iterations", max_iterations)
    if pomdp.gamma != 1.0:
        raise ParameterError(f"goal_hsvi needs gamma=1, and gamma is {pomdp.gamma:g}; sarsop is the same with discount")
    with watch:
        planner = GoalSearch(pomdp, watch, max_gb=positive_number("max_gb", max_gb))
        planner.search_on(last)
    return warn_if_open(planner.plan(), watch, f"{planner.search.trials} trials")


class GoalSearch(PointSearch):
    """A search for gamma = 1, which knows how many steps its plans may take.

    Its parameters are those of `PointSearch`.
    """

    def __init__(self, pomdp: POMDP, watch: Watch, *, max_gb: float = 4.0) -> None:
        mdp, self._given = pomdp.mdp, pomdp
        self._idle = endings(Lookahead(mdp), watch).idle
        # What is done in states that are never left, at no reward, does not matter, nor what is observed there.
        check_ends(pomdp, self._idle)
        ended = pomdp.replace(terminated=mdp.terminated | self._idle[mdp.next_state])
        self._costs = costs_of(ended.mdp, watch)
        super().__init__(ended, watch, max_gb=max_gb)
        now = self.search.pools.control[0]
        now.step_cost, now.most = self._costs.per_step, self._costs.most

    def hidden(self) -> tuple[PreparedModel, FloatArray]:
        """Return the model, and upper bounds (S, A) on the values of the actions, as if states were observed."""
        model = PreparedModel(self.pomdp, self.watch.method, steps=1.0)
        self._first = plans_to_the_end(model)
        model.steps = model.further = self._most_steps(self._first.vectors)
        solve, time = stochastic_shortest_path, left(self.watch, 2.0 * SHARE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the error bound counts, whatever it is
            solution = solve(self.pomdp.mdp, tol=OBSERVED_TOL * model.lookahead.reward_size or 1.0, deadline=time)
        if not np.isfinite(solution.error_bound):
            solution = solve(self.pomdp.mdp, tol=np.inf, deadline=time)
        bound = known(solution.error_bound, self.watch)
        return model, np.where(self.pomdp.mdp.legal, solution.q + bound, -np.inf)

    def plans(self) -> Blind:
        """Return the plans to begin with."""
        return self._first

    def goes_on(self) -> bool:
        """Record the bounds, and return whether to do one more piece of work."""
        self._update()
        if self.lower_bound == -np.inf:
            self.watch.give_up("no legal plan was found that surely comes to the end; pass horizon=100 (say)")
        return super().goes_on()

    def plan(self) -> PointBasedSolution:
        """Return what was found, for the model itself."""
        self._update()
        found = self.solution()
        legal = self._given.mdp.legal
        over = np.where(legal | ~legal.any(axis=1, keepdims=True), 0.0, -np.inf)[:, found.actions].T
        return replace(found, pomdp=self._given, alpha_vectors=np.where(self._idle, over, found.alpha_vectors))

    def _most_steps(self, vectors: FloatArray) -> float:
        """Return how many steps a plan may take, on average, by the least entry of its vector."""
        least = float(vectors[vectors > -np.inf].min(initial=0.0))
        return (self._costs.most - least) / self._costs.per_step

    def _update(self) -> None:
        """Take the vectors into account that were found: elsewhere they may be worse than the first ones."""
        v = self.search.pools.vectors
        lengths = v.used * np.diff(self.search.t.first)
        held = [v.exact[begin : begin + n] for begin, n in zip(v.begin.tolist(), lengths.tolist(), strict=True)]
        vectors = np.concatenate(held)
        self.size = max(self.size, float(np.abs(vectors[vectors > -np.inf]).max(initial=0.0)))
        self.model.steps = max(self.model.steps, self._most_steps(vectors))
        self.rounding = self.model.rounding(self.size)


def check_ends(pomdp: POMDP, idle: BoolArray) -> None:
    """Check that an agent that does not notice an end may go on there as before.

    Raises
    ------
    ModelError
        If an action is illegal in a state that is never left, legal in another, and an observation fits both.
    """
    mdp, legal = pomdp.mdp, pomdp.mdp.legal
    if legal[idle].all():
        return
    pair = np.repeat(np.arange(mdp.n_states * mdp.n_actions), np.diff(mdp.indptr))
    counts = (mdp.probability > 0.0) & ~mdp.terminated
    if not mdp.start[idle].any():  # so an end is entered from elsewhere
        counts &= ~idle[pair // mdp.n_actions]
    for a in range(mdp.n_actions):
        reached: BoolArray = np.zeros(mdp.n_states, dtype=np.bool_)
        reached[mdp.next_state[counts & (pair % mdp.n_actions == a)]] = True
        seen: Any = pomdp.observation_matrix(a) > 0.0
        for end in np.flatnonzero(idle & reached & ~legal.all(axis=1)).tolist():
            alike = reached & ~idle & ((seen @ seen[[end]].T.astype(np.float64)).toarray()[:, 0] > 0.0)
            clash = legal[alike] & ~legal[end]
            if clash.any():
                k, b = np.argwhere(clash)[0].tolist()
                raise ModelError(
                    f"gamma is 1, and action {b} is illegal in state {end}, which is never left and earns nothing, but "
                    f"legal in state {np.flatnonzero(alike)[k]}, and an observation fits both: let the transitions "
                    "into the first end the episode (terminated=), make the action legal there, or pass horizon=100 "
                    "(say)"
                )


class Costs(NamedTuple):
    """What it costs to go on."""

    per_step: float
    """c: so much may be added to the reward of each step"""
    most: float
    """the largest value phi of a state then, at least 0"""


def costs_of(mdp: MDP, watch: Watch) -> Costs:
    """Return by how much the rewards of all steps may rise before it pays to put off the end.

    Raises
    ------
    ModelError
        If they may not rise at all.
    ParameterError
        If the deadline is too short to know.
    """
    size = Lookahead(mdp).reward_size or 1.0
    legal = mdp.legal.reshape(-1) if mdp.reward_per_pair else True
    for k in range(1, HALVINGS):
        extra = 0.5**k * size
        raised = mdp.replace(reward=np.where(legal, mdp.reward + extra, 0.0), reward_std=None, bernoulli=None)
        try:
            endings(Lookahead(raised), watch, may_stay=False)
            solution = stochastic_shortest_path(raised, tol=np.inf, deadline=left(watch, 2.0 * SHARE))
        except ModelError:
            continue
        return Costs(extra, max(0.0, float(solution.value.max(initial=0.0))) + known(solution.error_bound, watch))
    if watch.hurries:
        raise too_soon(watch)
    stochastic_shortest_path(mdp, tol=np.inf, deadline=left(watch, 2.0 * SHARE))  # says so if values overflow
    raise ModelError(
        "gamma is 1, and the end of an episode can be put off for ever without a loss, so that no limit is known to "
        "the number of steps; let every step cost something, or pass horizon=100 (say), or gamma=0.99"
    )


def known(error_bound: float, watch: Watch) -> float:
    """Return the error bound of the values with the states observed, if there is one."""
    if np.isfinite(error_bound):
        return error_bound
    if watch.hurries:
        raise too_soon(watch)
    raise ModelError(
        "gamma is 1, and the values of this model cannot be computed in double precision, even if the states were "
        "observed; pass horizon=100 (say), or gamma=0.99"
    )


def too_soon(watch: Watch) -> ParameterError:
    """Return the error for a deadline before which not even the first bounds are known."""
    return ParameterError(f"deadline={watch.deadline:g} seconds are too few for first bounds; pass a larger one")


def plans_to_the_end(model: PreparedModel) -> Blind:
    """Return the plans that take an action once, and then draw actions at random until the end.

    They draw each action that is legal everywhere; or, if that does not lead to the end, each that is legal in all
    states that fit the last action and what was observed then.
    """
    legal = model.pomdp.mdp.legal
    acting = cast("BoolArray", legal.any(axis=1))
    everywhere = np.flatnonzero(legal[acting].all(axis=0)).tolist()
    actions: IndexArray = np.arange(model.pomdp.n_actions)
    value: FloatArray = np.where(acting, -np.inf, 0.0)
    if everywhere:
        drawn: Any = sum(cast("Any", model.steps_of[a]) for a in everywhere) / len(everywhere)
        reward = np.where(acting, model.reward[:, everywhere].mean(axis=1), 0.0)
        ending: BoolArray = may_end(model.pomdp.mdp).reshape(legal.shape)[:, everywhere].max(axis=1)
        value = value_to_the_end(model, drawn, reward, ending, ~acting)
    later = np.column_stack([cast("Any", step) @ np.where(value > -np.inf, value, 0.0) for step in model.steps_of])
    never = np.column_stack([cast("Any", step) @ (value == -np.inf) > 0.0 for step in model.steps_of])
    vectors = np.where(legal & ~never, model.reward + later, -np.inf)
    vectors[~acting] = 0.0
    vectors -= model.rounding(float(np.abs(vectors[vectors > -np.inf]).max(initial=0.0)))
    if not legal[acting].all() and at_start(model, vectors.T) == -np.inf:
        vectors = drawn_as_observed(model, acting)
    return Blind(vectors.T.copy(), actions, np.inf)


def drawn_as_observed(model: PreparedModel, acting: BoolArray) -> FloatArray:
    """Return the values (S, A) of the plans that draw what is legal in all states that fit the last observation."""
    from scipy.sparse import block_array, diags_array

    mdp = model.pomdp.mdp
    forbidden = (~mdp.legal & acting[:, np.newaxis]).astype(np.float64)
    stuck: BoolArray = forbidden > 0.0
    blocks = list[list[Any]]()
    for a, step in enumerate(cast("list[Any]", model.steps_of)):
        seen: Any = model.pomdp.observation_matrix(a)
        reached: IndexArray = np.unique(step.indices)
        allowed = (seen[reached] > 0.0).T.astype(np.float64) @ forbidden[reached] == 0.0
        chances: FloatArray = seen @ (allowed / np.maximum(allowed.sum(axis=1, keepdims=True), 1))
        chances /= np.maximum(chances.sum(axis=1, keepdims=True), EPS)
        lost = acting & (seen @ ~allowed.any(axis=1) > 0.0)
        stuck[:, a] |= step @ lost.astype(np.float64) > 0.0
        blocks.append([step @ diags_array(chances[:, b]) for b in range(mdp.n_actions)])
    moves: Any = block_array(blocks, format="csr")
    moves.eliminate_zeros()
    pairs = ~stuck & acting[:, np.newaxis]
    reward = np.where(pairs, model.reward, 0.0).T.reshape(-1)
    ending = may_end(mdp).reshape(mdp.legal.shape) & pairs
    over = np.broadcast_to(~acting[:, np.newaxis], pairs.shape)
    value = value_to_the_end(model, moves, reward, ending.T.reshape(-1), over.T.reshape(-1), stuck.T.reshape(-1))
    return value.reshape(mdp.n_actions, -1).T


def value_to_the_end(
    model: PreparedModel,
    moves: Any,
    reward: FloatArray,
    ending: BoolArray,
    over: BoolArray,
    stuck: BoolArray | None = None,
) -> FloatArray:
    """Return lower bounds (n,) on the values of a chain until its end; minus infinity where it may never come to it.

    With h >= 0 and h - P h >= 1/2 everywhere, P its moves, it takes at most 2 h steps; and if one step makes of a
    vector v at least v - e, then v - 2 e h is at most the value. The chain may end from where it is `ending`, is `over`
    already, or is `stuck`.
    """
    unable = ~reachable(moves.T, ending | over)
    good = ~reachable(moves.T, unable if stuck is None else unable | stuck)
    value: FloatArray = np.where(over, 0.0, -np.inf)
    among, earned, counted = moves[good][:, good], reward[good], ~over[good]
    solve = fixed_point_solver(among)
    steps, guess = solve(np.where(counted, 1.0, 0.0)), solve(earned)
    if steps.min(initial=0.0) >= 0.0 and (steps - among @ steps)[counted].min(initial=1.0) >= 0.75:
        rounding = model.rounding(float(np.abs(guess).max(initial=0.0)))
        excess = max(0.0, float((guess - earned - among @ guess).max(initial=0.0))) + rounding
        value[good] = guess - 2.0 * excess * steps * (1.0 + EPS)
    return value
