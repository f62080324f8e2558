"""Plans of as few vectors as keep the gap at the start.

A plan is turned into a finite-state controller: some of its vectors become nodes, each with its action, and after an
observation the node follows that is the best in the belief then. A controller that is evaluated exactly is a lower
bound by itself, however its nodes were chosen (Hansen 1998, KLC98 section 4.4). So they are chosen by a greedy cover of
the beliefs that the plan reaches, as few as the evaluation confirms.
"""

import heapq
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import vstack

from rlsuite.core.clock import Clock, OutOfTime
from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.errors import ParameterError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.pomdp.exact.backprojection import Projection
from rlsuite.planning.pomdp.exact.infinite_horizon import MOST_UNKNOWNS, controller_value
from rlsuite.planning.pomdp.solution import (
    AlphaVectorSolution,
    UpperBoundSolution,
    best_at,
    values_at,
    values_at_belief,
)

MOST_BELIEFS = 500
"""Beliefs that a controller is chosen for."""

LARGEST_LOSS, LOSSES = 16.0, 24
"""What may be lost in a belief, in gaps, in the first controller that is tried; and how often that is halved."""

CLOSE = 1e-6
"""Distance of the bounds at which a plan of another program counts as the optimum."""

MOST_REMOVED = 64
"""Nodes up to which each is tried to be left out."""


def fewest(plan: AlphaVectorSolution, gap: float, seconds: float | None = None) -> AlphaVectorSolution:
    """Return a plan of few vectors, with a lower bound that is at most `gap` below the upper one.

    Parameters
    ----------
    plan : AlphaVectorSolution
        A plan without a horizon, of a model in which legal actions are the same wherever any is.
    gap : float
        Largest distance of the two bounds at the start; if those of the plan are further apart, as far as they are.
    seconds : float, optional
        What it may take, by default as long as it needs: if it would take longer, the answer is `plan` itself.

    Returns
    -------
    AlphaVectorSolution
        The vectors of a finite-state controller, and in ``successors`` how it goes on. `plan` itself if no smaller one
        was found. In beliefs that are not reached from the start its value may be lower than before.

    Raises
    ------
    ParameterError
        If the plan has a horizon, its vectors are upper bounds, gamma is 1, or legal actions differ.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> stay, again = np.eye(2), np.full((2, 2), 0.5)
    >>> tiger = POMDP.from_arrays(
    ...     [stay, again, again], [[-1, -1], [-100, 10], [10, -100]], [[[0.85, 0.15], [0.15, 0.85]], again, again],
    ...     order="ass", gamma=0.95, start=[0.5, 0.5], action_labels=["listen", "open left", "open right"],
    ... )
    >>> plan = solve(tiger, gap=3.0, prune="fewest")
    >>> plan.n_vectors, plan.gap <= 3.0
    (5, True)
    """
    pomdp = plan.pomdp
    legal = pomdp.mdp.legal
    if plan.horizon is not None or isinstance(plan, UpperBoundSolution):
        kind = "a plan for a number of steps" if plan.horizon is not None else "upper bounds"
        raise ParameterError(
            f"prune='fewest' makes a controller without end, and {plan.method} has found {kind}: leave it out"
        )
    if pomdp.gamma == 1.0:
        raise ParameterError("prune='fewest' needs gamma below 1, and it is 1: leave it out")
    if not (legal.all(axis=1) | ~legal.any(axis=1)).all():
        raise ParameterError(
            "prune='fewest' needs actions that are legal in all states alike, and some are illegal here: leave it out"
        )
    with suppress(OutOfTime):
        return _fewest(plan, gap, CompilingClock("prune", deadline=seconds))
    return plan


def _fewest(plan: AlphaVectorSolution, gap: float, clock: Clock) -> AlphaVectorSolution:
    wanted = plan.upper_bound - max(gap, plan.gap)
    choices = _Choices(plan, clock)
    loss = LARGEST_LOSS * max(gap, plan.gap)
    for _ in range(LOSSES):
        chosen = choices.cover(loss)
        if chosen.size >= plan.n_vectors or chosen.size * plan.pomdp.n_states > MOST_UNKNOWNS:
            return plan
        found = choices.controller(chosen)
        if found.at_start >= wanted:
            break
        loss /= 2.0
    else:
        return plan
    if found.chosen.size <= MOST_REMOVED:
        for vector in sorted(found.chosen.tolist(), key=choices.weight.__getitem__):
            less = found.chosen[found.chosen != vector]
            if 0 < less.size < found.chosen.size and (smaller := choices.controller(less)).at_start >= wanted:
                found = smaller
    return replace(
        plan,
        lower_bound=found.at_start,
        converged=plan.upper_bound - found.at_start <= gap,
        alpha_vectors=found.vectors,
        actions=plan.actions[found.chosen],
        successors=found.successors,
    )


def guaranteed(plan: AlphaVectorSolution, at_start: float | None = None) -> AlphaVectorSolution:
    """Return a plan without end with a lower bound that is proven, if it is small enough.

    Parameters
    ----------
    plan : AlphaVectorSolution
        The plan; its upper bound holds, of its lower one nothing is known.
    at_start : float, optional
        A value at the start that is proven; by default that of the controller that goes on with the best vector.
    """
    legal = plan.pomdp.mdp.legal
    if at_start is None and plan.alpha_vectors.size <= MOST_UNKNOWNS and legal[legal.any(axis=1)].all():
        at_start = _Choices(plan, Clock("the plan")).controller(np.arange(plan.n_vectors)).at_start
    if at_start is None:
        return plan
    upper = max(plan.upper_bound, at_start)
    return replace(plan, lower_bound=at_start, upper_bound=upper, converged=upper - at_start <= CLOSE)


class _Controller(NamedTuple):
    """A finite-state controller: m nodes, the first of which begins."""

    chosen: IndexArray
    """(m,) int64, the vector of the plan that each node was"""
    successors: IndexArray
    """(m, Z) int64"""
    vectors: FloatArray
    """(m, S) float64, the value of each node"""
    at_start: float
    """the value at the start"""


class _Choices:
    """The beliefs that a plan reaches, and the controllers that can be made of its vectors for them."""

    def __init__(self, plan: AlphaVectorSolution, clock: Clock) -> None:
        self.plan, self.pomdp, self.clock = plan, plan.pomdp, clock
        self.projection = Projection(plan.pomdp)
        self._ahead: list[Any] = [
            vstack([step.T for step in moves.values()], format="csr") if moves else None
            for moves in self.projection.moves
        ]
        self.beliefs, self.weights = self._reached()
        self.values = values_at(plan.alpha_vectors, self.beliefs)
        """(k, n)"""
        best = best_at(self.values, plan.alpha_vectors, self.beliefs)
        self.weight = np.bincount(best, self.weights, plan.n_vectors)

    def _reached(self) -> tuple[FloatArray, FloatArray]:
        """The beliefs that the plan reaches from the start, the likeliest ones, and how likely each is, discounted."""
        vectors, actions = self.plan.alpha_vectors, self.plan.actions.tolist()
        waiting: list[tuple[float, int, FloatArray]] = [(-1.0, 0, self.pomdp.start)]
        weights: dict[bytes, float] = {}
        beliefs: list[FloatArray] = []
        pushed = 0
        while waiting and len(beliefs) < MOST_BELIEFS:
            self.clock.check()
            weight, _, belief = heapq.heappop(waiting)
            key = belief.round(9).tobytes()
            if key in weights:
                weights[key] -= weight
                continue
            weights[key] = -weight
            beliefs.append(belief)
            for joint in self._follows(belief, actions[np.argmax(values_at_belief(vectors, belief))]).values():
                discounted = float(joint.sum())
                if discounted > 0.0:
                    pushed += 1
                    heapq.heappush(waiting, (weight * discounted, pushed, joint / discounted))
        return np.array(beliefs), np.array(list(weights.values()))

    def _follows(self, belief: FloatArray, action: int) -> dict[int, FloatArray]:
        """What follows a belief, by observation, times how likely it is, discounted; while the episode goes on."""
        seen = self.projection.moves[action].keys()
        ahead = (self._ahead[action] @ belief).reshape(len(seen), -1) if seen else ()
        return dict(zip(seen, ahead, strict=True))

    def cover(self, loss: float) -> IndexArray:
        """Few vectors such that in each belief one of them is within `loss` of the best: (m,) int64."""
        near = self.values >= self.values.max(axis=1, keepdims=True) - loss
        chosen: list[int] = []
        open_: IndexArray = np.arange(len(near), dtype=np.int64)
        while open_.size:
            chosen.append(int(np.argmax(near[open_].sum(axis=0))))
            open_ = open_[~near[open_, chosen[-1]]]
        return np.array(chosen, dtype=np.int64)

    def controller(self, chosen: IndexArray) -> _Controller:
        """The controller of some vectors, without nodes that are never met, and its value."""
        self.clock.check()
        pomdp, vectors = self.pomdp, self.plan.alpha_vectors[chosen]
        actions = self.plan.actions[chosen]
        best = best_at(self.values[:, chosen], vectors, self.beliefs)
        successors: IndexArray = np.full((chosen.size, pomdp.n_observations), -1, dtype=np.int64)
        begin = int(best[0])
        met = [begin]
        for node in met:  # the list grows during the loop
            own = np.flatnonzero(best == node)
            own = own if own.size else np.argmax(self.values[:, chosen[node]], keepdims=True)
            belief = self.beliefs[own[np.argmax(self.weights[own])]]
            moves = self.projection.moves[int(actions[node])]
            for z, after in self._follows(belief, int(actions[node])).items():
                after = after if after.any() else np.asarray(moves[z].sum(axis=0))  # impossible here: any will do
                follows = (after / after.sum())[np.newaxis]
                successors[node, z] = best_at(values_at(vectors, follows), vectors, follows)[0]
                if successors[node, z] not in met:
                    met.append(int(successors[node, z]))
        position: IndexArray = np.full(chosen.size + 1, -1, dtype=np.int64)
        position[met] = np.arange(len(met))
        links = position[successors[met]]
        own_vectors = controller_value(self.projection, actions[met], links)
        return _Controller(
            chosen[met], links, own_vectors, float(values_at(own_vectors, pomdp.start[np.newaxis]).max())
        )
