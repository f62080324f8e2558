"""Value iteration over sets of alpha vectors, stage by stage: V_{t+1} is the best of all plans that continue with V_t.

A method is a way to find, for one action, the sums of one vector per observation that matter (`CrossSum`). The rest is
the same for all of them: the vectors of all actions are put together and reduced once more, and the bounds count what
was lost. A selection may lose epsilon in a belief, and a plan goes through at most 2 Z of them in a stage.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.pomdp.exact.backprojection import Projection
from rlsuite.planning.pomdp.exact.pruning import that_matter
from rlsuite.planning.pomdp.solution import VectorSet
from rlsuite.planning.watch import Watch


class Sums(NamedTuple):
    """Of the sums of one vector per observation, for one action, the n that matter."""

    numbers: list[IndexArray]
    """for each observation, (n,) int64: the vector in each sum"""
    points: FloatArray
    """(p, S) float64, beliefs to look at"""
    loss: float
    """the largest amount by which a vector that was left out can exceed them"""


CrossSum: TypeAlias = Callable[[list[FloatArray], FloatArray, float, Watch], Sums]
"""From the sets of each observation [(n_1, S), (n_2, S) ...], beliefs to look at first, what a selection may lose and
the watch to the sums that matter."""


class Stage(NamedTuple):
    """The vectors of all plans of one length that matter."""

    plans: VectorSet
    points: FloatArray
    """(p, S) float64, a belief for each in which it is best"""
    loss: float
    """how much more the true optimum can be, at most, if the stage before was exact"""


def next_stage(
    projection: Projection,
    vectors: FloatArray,
    points: FloatArray,
    cross_sum: CrossSum,
    epsilon: float,
    watch: Watch,
) -> Stage:
    """Return the plans that are one step longer.

    Parameters
    ----------
    projection : Projection
        The model, prepared.
    vectors : ndarray (n, S) float64
        The plans to continue with.
    points : ndarray (p, S) float64
        Beliefs to look at first.
    cross_sum : CrossSum
        The method.
    epsilon : float
        What a selection may lose.
    watch : Watch
        Told when to stop.

    Raises
    ------
    OutOfTime
        If it is.
    ModelError
        If no such plan is legal to its end, wherever it begins.
    """
    pomdp = projection.pomdp
    found: list[FloatArray] = []
    first: list[IndexArray] = []
    then: list[IndexArray] = []
    witnesses: list[FloatArray] = [points]
    loss = 0.0
    for action in range(pomdp.n_actions):
        reward, seen = projection.reward[action], list(projection.moves[action])
        if not (reward > -np.inf).any():
            continue
        sets = [projection.of(vectors, action, z) for z in seen]
        sums = cross_sum(sets, points, epsilon, watch) if sets else Sums([], points, 0.0)
        total = np.tile(reward, (sums.numbers[0].size if sets else 1, 1))
        links = np.full((total.shape[0], pomdp.n_observations), -1, dtype=np.int64)
        for z, numbers, earlier in zip(seen, sums.numbers, sets, strict=True):
            total += earlier[numbers]
            links[:, z] = numbers
        found.append(total)
        first.append(np.full(len(total), action, dtype=np.int64))
        then.append(links)
        witnesses.append(sums.points)
        loss = max(loss, sums.loss)
        watch.check()
    every = np.concatenate(found)
    best = that_matter(every, np.concatenate(witnesses), epsilon, watch)
    if not best.left.size:
        raise no_plan(pomdp.start)
    plans = VectorSet(every[best.left], np.concatenate(first)[best.left], np.concatenate(then)[best.left])
    return Stage(plans, best.points, loss + best.loss + projection.rounding(vectors))


def no_plan(belief: FloatArray) -> ModelError:
    """Return the error for a start belief from which no plan is legal to its end."""
    return ModelError(
        f"from the start belief {belief.tolist()}, every plan comes to a belief in which no action is legal in every "
        "state of its support"
    )
