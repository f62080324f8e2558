"""AEMS2: anytime error minimisation search (Ross & Chaib-draa 2007; Ross, Pineau, Paquet & Chaib-draa 2008).

From the current belief a tree of the beliefs that may follow is grown, best first, between a lower and an upper bound.
Both hold at any time, so the search stops when an action is proven to be the best, or its value is known well enough.
"""

from typing import Unpack, cast

import numpy as np

from rlsuite.core.checks import positive_number, whole_amount
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import POMDP
from rlsuite.models.aliases import AnyArray, FloatArray
from rlsuite.planning.limits import TolerancesOfBounds, takes_limits
from rlsuite.planning.operators import EPS
from rlsuite.planning.pomdp.bounds.linear_bounds import Bounds
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.online import bound_tree
from rlsuite.planning.pomdp.online.bound_tree import (
    FULL,
    GOES_ON,
    STUCK,
    BoundTree,
    grown,
    new_scratch,
    new_tree,
    used_bytes,
)
from rlsuite.planning.pomdp.online.online import Decision, OnlinePlan, legal_actions, prepared, time_to_move
from rlsuite.planning.pomdp.solution import AlphaVectorSolution, UpperBoundSolution, noted
from rlsuite.planning.watch import Watch

EXPANSIONS_BY_DEFAULT = 1_000


@takes_limits()
def aems2(
    pomdp: POMDP,
    *,
    max_iterations: int | None = None,
    deadline: float | None = None,
    lower: AlphaVectorSolution | None = None,
    max_gb: float = 1.0,
    preparation: float | None = None,
    progress: bool | None = None,
    **tolerances: Unpack[TolerancesOfBounds],
) -> OnlinePlan:
    """Plan online by best-first search in a tree of beliefs, between a lower and an upper bound.

    Bounds that need no search are computed first. The plan searches whenever it is asked for an action, with the
    same effort each time, and stops early when one action is proven to be the best.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma must be below 1.
    max_iterations : int, optional
        Beliefs expanded for a decision; by default 1,000, or as many as there is time for.
    deadline : float, optional
        Seconds for a decision. What is found then depends on the machine.
    lower : AlphaVectorSolution, optional
        A plan for the same model, found by a method that plans for all beliefs: its vectors are used as lower bounds
        at the leaves, so that the search improves on it.
    max_gb : float
        Memory for one tree, in GB; a search ends when it is used up.
    preparation : float, optional
        Seconds for the bounds at the leaves, once, before the first decision; by default 10 if there is a deadline, and
        as many as are needed if not. They are not a part of the `deadline`.
    progress : bool, optional
        Whether to show a progress bar on stderr, in the search from the start.
    **tolerances
        A search ends when the two bounds at its root are so close: `tol`, `rtol`; see `Limits`.

    Returns
    -------
    OnlinePlan
        Its values are lower bounds: what following the plan earns at least, in expectation.

    Raises
    ------
    ParameterError
        If an argument is out of range, gamma is 1, or `lower` is not such a plan.
    ModelError
        If no action is legal in every state of the support of some belief, or values overflow.

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
    >>> plan = solve(cups, "aems2")
    >>> round(plan.lower_bound, 6), round(plan.upper_bound, 6), plan.act(cups.start)
    (8.0, 8.0, 0)
    """
    watch = Watch("aems2", deadline=deadline, **tolerances)
    watch.says = bool(progress)
    with watch:
        planner = BoundPlanner(
            pomdp, watch, max_iterations=max_iterations, lower=lower, max_gb=max_gb, preparation=preparation
        )
        try:
            legal_actions(pomdp, pomdp.start)
        except ParameterError as error:
            raise ModelError(str(error)) from None
        search = planner.search()
        search.until_proven = False
        decision = search.plan(pomdp.start, None, progress=bool(progress))
    return noted(
        OnlinePlan,
        watch,
        search.bounds,
        iterations=decision.iterations,
        pomdp=pomdp,
        decision=decision,
        planner=planner,
    )


class BoundPlanner:
    """What all searches of one plan share: the model's tables, the bounds at the leaves, the limits.

    Parameters
    ----------
    pomdp, max_iterations, lower, max_gb, preparation
        As in `aems2`.
    watch : Watch
        Tolerance and deadline of every search.
    """

    def __init__(
        self,
        pomdp: POMDP,
        watch: Watch,
        *,
        max_iterations: int | None,
        lower: AlphaVectorSolution | None,
        max_gb: float,
        preparation: float | None,
    ) -> None:
        self.pomdp = pomdp
        self.tol, self.rtol = watch.absolute, watch.relative
        self.deadline = None if watch.deadline is None else positive_number("deadline", watch.deadline)
        if max_iterations is None:
            self.expansions = EXPANSIONS_BY_DEFAULT if self.deadline is None else None
        else:
            self.expansions = whole_amount("max_iterations", max_iterations)
        self.max_bytes = positive_number("max_gb", max_gb) * 1e9
        prepared_model, found = prepared(pomdp, "aems2", seconds=preparation, deadline=watch.deadline)
        own = found.lower if lower is None else np.concatenate([found.lower, _lower_vectors(lower, pomdp)])
        self.bounds = Bounds(own, found.upper)
        self.model = _tables(prepared_model, self.bounds)
        # if every plan comes to an illegal action, no bound is finite, and the search raises the error
        tables = self.model.lower, self.model.upper
        largest = max(float(np.abs(one[np.isfinite(one)]).max(initial=0.0)) for one in tables)
        # A backup rounds once for each entry of a belief and each observation of a row.
        roundings = 2 * pomdp.n_states + 2 * pomdp.n_observations + 8
        self.rounding = roundings * EPS * largest * prepared_model.steps

    def search(self) -> "BoundSearch":
        """Return a new search."""
        return BoundSearch(self)


class BoundSearch:
    """A tree of beliefs, grown from the one at its root.

    Attributes
    ----------
    bounds : tuple of float
        Lower and upper bound at the root of the last tree, rounding included.
    """

    def __init__(self, planner: BoundPlanner) -> None:
        self.planner = planner
        self.until_proven = True
        self.bounds = (-np.inf, np.inf)

    def plan(self, belief: FloatArray, steps_left: int | None, *, progress: bool) -> Decision:
        """Grow a tree from a belief; see `rlsuite.planning.pomdp.online.online.Search`."""
        planner = self.planner
        watch = Watch(
            "aems2",
            tol=planner.tol,
            rtol=planner.rtol,
            deadline=planner.deadline,
            max_iterations=planner.expansions,
        )
        watch.progress = progress
        legal_actions(planner.pomdp, belief)
        model = planner.model
        support = np.flatnonzero(belief)
        tree = new_tree(model.n_actions, support.size)
        scratch = new_scratch(planner.pomdp, model.lower.shape[1])
        tree.first[0], tree.size[0] = 0, support.size
        tree.state[: support.size], tree.weight[: support.size] = support, belief[support]
        tree.used[0].n_nodes, tree.used[0].n_entries = 1, support.size
        low, high = planner.bounds.at(belief)
        tree.lower[0], tree.upper[0], tree.slot[0] = low, max(low, high), bound_tree.LEAF
        with watch:
            chunk = 1
            # The root is expanded even when time is up: otherwise there would be no action.
            while tree.slot[0] == bound_tree.LEAF or watch.goes_on(float(tree.upper[0] - tree.lower[0])):
                begun, before = watch.seconds, int(tree.used[0].n_slots)
                watch.between(float(tree.lower[0]), float(tree.upper[0]))
                wanted = chunk if planner.expansions is None else min(chunk, planner.expansions - before)
                code = bound_tree.search(tree, model, scratch, wanted, watch.tol, self.until_proven)
                watch.iterations = int(tree.used[0].n_slots)
                if code == STUCK:
                    raise ModelError(_stuck(planner.pomdp, tree))
                if code == FULL:
                    n_bytes = used_bytes(tree)
                    if tree.slot[0] != bound_tree.LEAF and not time_to_move(n_bytes, watch):
                        break
                    if n_bytes > planner.max_bytes:
                        break
                    tree = grown(tree)
                elif code != GOES_ON:
                    break
                chunk = max(1, int(wanted * min(4.0, 0.01 / max(watch.seconds - begun, 1e-9))))
        return self._decision(tree, watch.seconds)

    def advance(self, action: int, observation: int) -> None:
        """Do nothing: the next belief begins a new tree."""

    def _decision(self, tree: BoundTree, seconds: float) -> Decision:
        if tree.slot[0] == bound_tree.LEAF:
            raise ParameterError(
                f"max_gb={self.planner.max_bytes / 1e9:g} is too little for a single expansion; pass a larger max_gb="
            )
        actions, rounding = self.planner.pomdp.n_actions, self.planner.rounding
        low, high = float(tree.lower[0]) - rounding, float(tree.upper[0]) + rounding
        self.bounds = (low, high)
        q = tree.pair_lower[:actions].copy()
        best = int(np.argmax(q))
        return Decision(best, low, q, int(tree.used[0].n_slots), seconds)


def _tables(model: PreparedModel, bounds: Bounds) -> bound_tree.BeliefModel:
    pomdp, sparse = model.pomdp, model.sparse
    return bound_tree.BeliefModel(
        n_states=pomdp.n_states,
        n_actions=pomdp.n_actions,
        gamma=pomdp.gamma,
        reward=np.array(model.lookahead.reward).reshape(-1),
        legal=pomdp.mdp.legal,
        indptr=sparse.row,
        successor=sparse.successor,
        weight=sparse.weight,
        seen=sparse.seen,
        symbol=sparse.symbol,
        probability=sparse.probability,
        lower=np.ascontiguousarray(bounds.lower.T),
        upper=np.ascontiguousarray(bounds.upper.T),
    )


def _lower_vectors(plan: AlphaVectorSolution, pomdp: POMDP) -> FloatArray:
    """Return the vectors of a plan, if they are lower bounds on the values of a model."""
    if not isinstance(cast("object", plan), AlphaVectorSolution) or isinstance(plan, UpperBoundSolution):
        kind = type(plan).__name__
        raise ParameterError(f"lower= is of type {kind}, whose vectors are not lower bounds; pass solve(pomdp, 'pbvi')")
    if plan.horizon is not None or not _same(plan.pomdp, pomdp):
        raise ParameterError("lower= needs a plan without horizon for the same model; pass solve(pomdp, 'pbvi')")
    return plan.alpha_vectors


def _same(one: POMDP, other: POMDP) -> bool:
    """Whether the values of two models are the same, wherever they start."""
    if one is other or (one.gamma, one.n_states, one.n_actions) != (other.gamma, other.n_states, other.n_actions):
        return one is other
    return all(map(np.array_equal, _arrays(one), _arrays(other)))


def _arrays(pomdp: POMDP) -> tuple[AnyArray, ...]:
    mdp, rows = pomdp.mdp, pomdp.observation_rows
    hidden = (mdp.indptr, mdp.next_state, mdp.probability, mdp.rows.reward, mdp.terminated)
    return (*hidden, rows.indptr, rows.observation, rows.probability)


def _stuck(pomdp: POMDP, tree: BoundTree) -> str:
    node = int(tree.used[0].stuck_at)
    entries = slice(int(tree.first[node]), int(tree.first[node] + tree.size[node]))
    return (
        "a belief can be reached in which no action is legal in every state of its support: "
        f"{sorted(tree.state[entries].tolist())}"
    )
