"""POMCP: partially observable Monte-Carlo planning (Silver & Veness 2010).

A tree of histories is grown from the current belief by simulations, more of them for promising actions (UCT).
With more and more simulations the values of the actions converge to the optimum; there is no bound on their error. The
belief at the root is exact, or, as in the paper, kept as particles (`OnlinePlan.episode`).
"""

import math
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.models import POMDP, validation
from rlsuite.models.aliases import FloatArray
from rlsuite.planning.pomdp.bounds.linear_bounds import Bounds, bounds_with_horizon
from rlsuite.planning.pomdp.online.monte_carlo import MonteCarloPlanner
from rlsuite.planning.pomdp.online.online import OnlinePlan, legal_actions
from rlsuite.planning.pomdp.online.preparation import Preparation
from rlsuite.planning.pomdp.vectors import best_at, worth
from rlsuite.planning.watch import Watch

NEGLIGIBLE = 0.01
"""Weight gamma^depth at which a simulation ends."""
DEEPEST_BY_DEFAULT = 1_000
LEAVES = ("blind", "informed", "random")


@says_what_to_write
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
    tol: float = 1e-6,
    rtol: float | None = None,
    preparation: float | None = None,
    progress: bool | None = None,
) -> OnlinePlan:
    """Plan online by Monte-Carlo tree search: simulate episodes, with more simulations for promising actions.

    Nothing is computed beforehand but bounds on the value at the start. The plan searches whenever it is asked for an
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
        Largest number of histories kept; when it is reached, the simulations go on and the tree stays as it is.
    seed : int or numpy.random.Generator, optional
        Where random numbers come from.
    tol : float
        Not looked at by the search; the solution calls itself converged if its bounds are so close.
    rtol : float, optional
        The same relative to the value, by default a thousandth of `tol`, at most 1e-9: see `rlsuite.planning.solve`.
    preparation : float, optional
        Seconds for the bounds at the leaves, once, before the first decision; by default 10 if there is a deadline, and
        as many as are needed if not. They are not a part of the `deadline`. If they are too few, each of the following
        decisions goes on with the bounds for a quarter of its time, until the plan's ``prepared`` is true. Not with a
        horizon, whose bounds need all of their steps.
    progress : bool, optional
        Whether to show a progress bar on stderr, in the search from the start.

    Returns
    -------
    OnlinePlan
        Its bounds are those that cost no search - the best blind policy below, the fast informed bound above, or,
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
    watch = Watch("pomcp", tol=tol, rtol=rtol, deadline=deadline)
    watch.says = bool(progress)
    with watch:
        preparing = None
        if horizon is None:
            name = "pomcp without a horizon"
            preparing = Preparation(pomdp, name, seconds=preparation, deadline=watch.deadline)
            bounds = preparing.bounds
        else:
            horizon = whole_number("horizon", horizon)
            if preparation is not None:
                raise ParameterError(
                    f"preparation={preparation!r} is for plans without a horizon: with horizon={horizon} the bounds "
                    "need all of their steps; leave it out"
                )
            bounds = bounds_with_horizon(pomdp, horizon)
        planner = MonteCarloPlanner(
            pomdp,
            simulations=simulations,
            deadline=deadline,
            depth=_depth(pomdp.gamma, horizon, depth),
            exploration=exploration,
            leaf=partial(_leaf, pomdp, leaf, horizon),
            bounds=bounds,
            preparation=preparing,
            optimistic=horizon is None and (leaf is None or (isinstance(leaf, str) and leaf == "informed")),
            max_nodes=max_nodes,
            seed=seed,
        )
        try:
            legal_actions(pomdp, pomdp.start)
        except ParameterError as error:
            raise ModelError(str(error)) from None
        decision = planner.search().plan(pomdp.start, horizon, progress=bool(progress))
    lower, upper = bounds.at(pomdp.start)
    watch.between(lower, upper)
    return OnlinePlan(
        lower_bound=lower,
        upper_bound=upper,
        converged=upper - lower <= watch.tol,
        horizon=horizon,
        iterations=decision.iterations,
        seconds=watch.seconds,
        method="pomcp",
        pomdp=pomdp,
        decision=decision,
        planner=planner,
    )


def _depth(gamma: float, horizon: int | None, depth: int | None) -> int:
    if depth is not None:
        told = whole_number("depth", depth)
        return told if horizon is None else min(told, horizon)
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
        best: FloatArray = bounds.lower[best_at(worth(bounds.lower, start), bounds.lower, start)[0]]
        # In states where that plan comes to an illegal action, take the best value of the others.
        return np.where(np.isfinite(best), best, bounds.lower.max(axis=0))
    try:
        values = validation.floats("leaf", cast("ArrayLike", leaf))
        validation.shape("leaf", values, (pomdp.n_states,), meaning="one value per state")
    except ModelError as error:
        raise ParameterError(str(error)) from None
    return np.array(values)
