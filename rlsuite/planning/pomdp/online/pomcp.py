"""POMCP: partially observable Monte-Carlo planning (Silver & Veness 2010).

A tree of histories is grown from the current belief by simulations, more of them for promising actions (UCT).
With more and more simulations the values of the actions converge to the optimum; there is no bound on their error. The
belief at the root is exact, or, as in the paper, kept as particles (`OnlinePlan.episode`).
"""

import math
from typing import Unpack, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, generator, positive_number, whole_amount, whole_number
from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.models import POMDP, validation
from rlsuite.models.aliases import FloatArray, StateArray
from rlsuite.planning.limits import TolerancesOfBounds, takes_limits
from rlsuite.planning.pomdp.bounds.linear_bounds import Bounds, bounds_with_horizon
from rlsuite.planning.pomdp.online import history_tree
from rlsuite.planning.pomdp.online.history_tree import FREE, Path, SearchParameters, Tree, random_state, simulator
from rlsuite.planning.pomdp.online.online import Decision, OnlinePlan, legal_actions, prepared, time_to_move
from rlsuite.planning.pomdp.solution import best_at, noted, values_at
from rlsuite.planning.watch import Watch

NEGLIGIBLE = 0.01
"""Weight gamma^depth at which a simulation ends."""
DEEPEST_BY_DEFAULT = 1_000
LEAVES = ("blind", "informed", "random")


@takes_limits()
def pomcp(
    pomdp: POMDP,
    *,
    simulations: int | None = None,
    deadline: float | None = None,
    horizon: int | None = None,
    depth: int | None = None,
    exploration: float | None = None,
    leaf: str | ArrayLike | None = None,
    max_nodes: int = 1_000_000,
    seed: int | np.random.Generator | None = None,
    preparation: float | None = None,
    progress: bool | None = None,
    **tolerances: Unpack[TolerancesOfBounds],
) -> OnlinePlan:
    """Plan online by Monte-Carlo tree search: simulate episodes, with more simulations for promising actions.

    Only bounds on the value at the start are computed first. The plan searches whenever it is asked for an
    action, with the same effort each time; through `OnlinePlan.episode` it keeps its tree from step to step.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    simulations : int, optional
        Simulations for a decision; by default 10,000, or as many as there is time for.
    deadline : float, optional
        Seconds for a decision. What is found then depends on the machine.
    horizon : int, optional
        H, the number of steps to plan for; any gamma will do. By default there is no end, and gamma must be below 1.
    depth : int, optional
        Steps that a simulation looks ahead; by default all of the horizon, or until gamma^depth < 0.01, but no more
        than 1,000.
    exploration : float, optional
        c of the upper confidence bound, in the unit of the reward; by default the range of the mean rewards, and a
        quarter of it with informed leaves. Large values try all actions for long, 0 is greedy.
    leaf : {"informed", "blind", "random"} or array_like (S,), optional
        The value of a new leaf of the tree: the fast informed bound, which is too large; the value of the one action
        that is the best at the start if it is taken for ever; the return of uniformly random actions, as in the
        paper, which is slower and as a rule worse; or values of the states of your own. By default "informed", and
        with a horizon, when only that will do, "random".
    max_nodes : int
        Largest number of histories kept; when it is reached, the simulations continue and the tree stays as it is.
    seed : int or numpy.random.Generator, optional
        Where random numbers come from.
    preparation : float, optional
        Seconds for the bounds at the leaves, once, before the first decision; by default 10 if there is a deadline, and
        as many as are needed if not. They are not a part of the `deadline`. Not with a horizon, whose bounds need all
        of their steps.
    progress : bool, optional
        Whether to show a progress bar on stderr, in the search from the start.
    **tolerances
        What counts as converged, which the search does not look at: `tol`, `rtol`; see `Limits`.

    Returns
    -------
    OnlinePlan
        Its bounds need no search: the best blind policy below, the fast informed bound above, or,
        with a horizon, the optimum with observed states: the search improves neither. Its values are estimates.

    Raises
    ------
    ParameterError
        If an argument is out of range, or gamma is 1 without a horizon.
    ModelError
        If no action is legal in every state of the start belief's support.

    Warns
    -----
    ConvergenceWarning
        If the bounds at the leaves were not finished in `preparation` seconds.

    Examples
    --------
    The coin under one of two cups: first a look, then a guess, in all -1 + 0.9 * 10.

    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    >>> cups = POMDP.from_arrays(
    ...     [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
    ...     order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    ... )
    >>> plan = solve(cups, "pomcp", simulations=5_000, seed=7)
    >>> plan.decision.action, round(plan.decision.value)
    (0, 8)
    """
    watch = Watch("pomcp", deadline=deadline, **tolerances)
    watch.says = bool(progress)
    with watch:
        if horizon is None:
            name = "pomcp without a horizon"
            _, bounds = prepared(pomdp, name, seconds=preparation, deadline=watch.deadline)
        else:
            horizon = whole_amount("horizon", horizon)
            if preparation is not None:
                raise ParameterError(
                    f"preparation={preparation!r} is for plans without a horizon: with horizon={horizon} the bounds "
                    "need all of their steps; leave it out"
                )
            bounds = bounds_with_horizon(pomdp, horizon)
        planner = MonteCarloPlanner(
            pomdp,
            simulations=simulations,
            deadline=watch.deadline,
            depth=_depth(pomdp.gamma, horizon, depth),
            exploration=exploration,
            leaf=_leaf(pomdp, leaf, horizon, bounds),
            optimistic=horizon is None and (leaf is None or (isinstance(leaf, str) and leaf == "informed")),
            max_nodes=max_nodes,
            seed=seed,
        )
        try:
            legal_actions(pomdp, pomdp.start)
        except ParameterError as error:
            raise ModelError(str(error)) from None
        decision = planner.search().plan(pomdp.start, horizon, progress=bool(progress))
    return noted(
        OnlinePlan,
        watch,
        bounds.at(pomdp.start),
        horizon=horizon,
        iterations=decision.iterations,
        pomdp=pomdp,
        decision=decision,
        planner=planner,
    )


def _depth(gamma: float, horizon: int | None, depth: int | None) -> int:
    if depth is not None:
        most = whole_number("depth", depth)
        return most if horizon is None else min(most, horizon)
    if horizon is not None:
        return horizon
    if gamma == 0.0:
        return 1
    return min(DEEPEST_BY_DEFAULT, 1 + int(math.log(NEGLIGIBLE) / math.log(gamma)))


def _leaf(pomdp: POMDP, leaf: str | ArrayLike | None, horizon: int | None, bounds: Bounds) -> FloatArray:
    """Return values of the states at a leaf (S,), or an empty array for random actions."""
    name = leaf if isinstance(leaf, str) else ("informed" if horizon is None else "random") if leaf is None else ""
    if name and name not in LEAVES:
        raise ParameterError(unknown("leaf", name, LEAVES))
    if name == "random":
        return np.zeros(0)
    if horizon is not None:
        raise ParameterError('with a horizon, the value of a leaf depends on the steps left: use leaf="random"')
    if name == "informed":
        values = bounds.upper.max(axis=0)
        return np.where(np.isfinite(values), values, 0.0)
    if name == "blind":
        start = pomdp.start[np.newaxis]
        best: FloatArray = bounds.lower[best_at(values_at(bounds.lower, start), bounds.lower, start)[0]]
        # In states where that plan comes to an illegal action, take the best value of the others.
        return np.where(np.isfinite(best), best, bounds.lower.max(axis=0))
    try:
        values = validation.floats("leaf", cast("ArrayLike", leaf))
        validation.shape("leaf", values, (pomdp.n_states,), meaning="one value per state")
    except ModelError as error:
        raise ParameterError(str(error)) from None
    return np.array(values)


SIMULATIONS_BY_DEFAULT = 10_000
CAUTIOUS, OPTIMISTIC = 1.0, 0.25
"""c by default, in ranges of the mean rewards: leaves whose values are too high are explored anyway."""
FIRST_CAPACITY = 1 << 17
"""Nodes for which there is room at first; unused memory costs almost nothing."""


class MonteCarloPlanner:
    """What all searches of one plan share: the model's tables, the parameters, the random numbers.

    Parameters
    ----------
    pomdp, simulations, deadline, exploration, max_nodes, seed
        As in `pomcp`.
    depth : int
        Steps that a simulation looks ahead.
    leaf : callable
        From bounds to values of the states at a leaf, (S,) float64, or empty for random actions.
    bounds : Bounds
        Bounds on the values.
    preparation : Preparation, optional
        The computation that improves them, if they are not finished.
    optimistic : bool
        Whether these values are upper bounds.
    """

    def __init__(
        self,
        pomdp: POMDP,
        *,
        simulations: int | None,
        deadline: float | None,
        depth: int,
        exploration: float | None,
        leaf: FloatArray,
        optimistic: bool,
        max_nodes: int,
        seed: int | np.random.Generator | None,
    ) -> None:
        self.pomdp = pomdp
        self.simulator = simulator(pomdp)
        if simulations is None:
            self.simulations = SIMULATIONS_BY_DEFAULT if deadline is None else None
        else:
            self.simulations = whole_number("simulations", simulations)
        self.deadline = None if deadline is None else positive_number("deadline", deadline)
        self.max_nodes = whole_number("max_nodes", max_nodes)
        if exploration is None:
            rewards = pomdp.mdp.expected_reward()[pomdp.mdp.legal]
            constant = (OPTIMISTIC if optimistic else CAUTIOUS) * float(rewards.max() - rewards.min())
        elif finite_number("exploration", exploration) < 0.0:
            raise ParameterError(f"exploration={exploration} is less than 0")
        else:
            constant = float(exploration)
        most = min(((1 << 62) - 1) // (pomdp.n_actions * pomdp.n_observations), (1 << 31) - 1)
        if self.max_nodes > most:
            raise ParameterError(f"max_nodes={max_nodes} is too large for this model; pass at most {most}")
        self.parameters = SearchParameters(pomdp.gamma, depth, constant, leaf)
        self.random = random_state(np.random.default_rng() if seed is None else generator(seed))

    def search(self) -> "MonteCarloSearch":
        """Return a new search with an empty tree."""
        return MonteCarloSearch(self)


class MonteCarloSearch:
    """A tree of histories, grown from the belief at its root."""

    def __init__(self, planner: MonteCarloPlanner) -> None:
        self.planner = planner
        self.random = planner.random.copy()  # so that a search depends neither on others nor on threads
        capacity = min(planner.max_nodes, 1 + (planner.simulations or FIRST_CAPACITY), FIRST_CAPACITY)
        self.tree: Tree = history_tree.new_tree(capacity, planner.pomdp.n_actions)
        depth = planner.parameters.depth
        self.path = Path(np.zeros(depth, dtype=np.int64), np.zeros(depth))

    def plan(self, belief: FloatArray, steps_left: int | None, *, progress: bool) -> Decision:
        """Run simulations from a belief; see `online.online.Search`."""
        planner = self.planner
        watch = Watch("pomcp", tol=1.0, deadline=planner.deadline, progress=progress)
        legal = legal_actions(planner.pomdp, belief)
        actions = legal.size
        self.tree.tried[:actions][legal < 0.0] = history_tree.ILLEGAL
        support = np.flatnonzero(belief).astype(np.int32)
        sums = np.cumsum(belief[support])
        sums[-1] = 1.0
        sums.setflags(write=False)  # read-only like the model's arrays: numba gives writable arrays another type
        depth = planner.parameters.depth if steps_left is None else min(steps_left, planner.parameters.depth)
        parameters = planner.parameters._replace(depth=depth)
        before = int(self.tree.used[0].n_simulations)
        with watch:
            chunk, done = 1, 0
            while planner.simulations is None or done < planner.simulations:
                begun = watch.seconds
                wanted = chunk if planner.simulations is None else min(chunk, planner.simulations - done)
                done += self._simulate(parameters, support, sums, wanted, watch)
                watch.tick("simulations", done)
                if watch.hurries:
                    break
                chunk = _next_chunk(wanted, watch.seconds - begun)
        tried = self.tree.tried[:actions]
        q = np.where(tried > 0, self.tree.q[:actions], np.nan) + legal
        q[legal < 0.0] = -np.inf
        best = int(np.nanargmax(q))
        return Decision(best, float(q[best]), q, int(self.tree.used[0].n_simulations) - before, watch.seconds)

    def advance(self, action: int, observation: int) -> None:
        """Make the child behind an action and an observation the root; see `online.online.Search`."""
        pomdp = self.planner.pomdp
        child = history_tree.child_of(self.tree, action * pomdp.n_observations + observation)
        if child == FREE:
            self.tree = history_tree.new_tree(self.tree.visits.size, pomdp.n_actions)
            return
        number = np.zeros(int(self.tree.used[0].n_nodes), dtype=np.int32)
        history_tree.move_root(self.tree, int(child), pomdp.n_actions, pomdp.n_observations, number)

    def _simulate(
        self, parameters: SearchParameters, support: StateArray, sums: FloatArray, wanted: int, watch: Watch
    ) -> int:
        """Run simulations, and give the tree more room when it is full; return how many were done."""
        planner, done, grows = self.planner, 0, True
        while done < wanted:
            capacity = self.tree.visits.size
            full = int(self.tree.used[0].n_nodes) == capacity
            if full and grows:
                grows = capacity < planner.max_nodes and time_to_move(2 * sum(one.nbytes for one in self.tree), watch)
                if grows:
                    more = min(2 * capacity, planner.max_nodes)
                    self.tree, full = history_tree.grown(self.tree, more, planner.pomdp.n_actions), False
            done += history_tree.simulate(
                planner.simulator,
                parameters,
                self.tree,
                self.path,
                support,
                sums,
                self.random,
                wanted - done,
                not full,
            )
        return done


def _next_chunk(chunk: int, seconds: float) -> int:
    """Return how many simulations take about a hundredth of a second."""
    if seconds < 0.005:
        return 4 * chunk
    return max(1, int(chunk * min(2.0, 0.01 / seconds)))
