"""Search with a horizon: the search of `sarsop` in a model whose states also say how many steps have been taken.

From the state s after d steps, d < H, the layer d, each transition leads to the layer d + 1, the last ones to the end.
Every belief lies in one layer, and so does every vector that the search finds: those of the layer d are plans for the
H - d steps to go.
"""

from dataclasses import replace
from typing import Unpack

import numpy as np

from rlsuite.core.checks import positive_number, whole_amount, whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.models.observation_model import ObservationRows
from rlsuite.planning.limits import TimeLimitsOfBounds, takes_limits
from rlsuite.planning.pomdp.point_based.sarsop import PointSearch, warn_if_open
from rlsuite.planning.pomdp.solution import AlphaVectorSolution, PointBasedSolution, VectorSet
from rlsuite.planning.watch import Watch

MOST_TRANSITIONS = 100_000_000
"""Transitions of the model with layers."""

UNIT = float(np.finfo(np.float64).eps)

LONGEST = 10
"""The discount of the search forgets a reward after so many horizons: its own bounds need one below 1."""


@takes_limits()
def finite_horizon_search(
    pomdp: POMDP,
    *,
    horizon: int | None = None,
    max_iterations: int | None = None,
    max_gb: float = 4.0,
    **limits: Unpack[TimeLimitsOfBounds],
) -> PointBasedSolution:
    """Solve a POMDP for a number of steps from its start belief, with a lower and an upper bound that converge.

    The search of `sarsop`, with a set of vectors for each number of steps to go. It goes on where
    `incremental_pruning` has too many vectors, as it looks only at beliefs that are reached from the start.

    Parameters
    ----------
    pomdp : POMDP
        The model; any gamma will do.
    horizon : int
        H, the number of steps to plan for, at least 1.
    max_iterations : int, optional
        Largest number of trials.
    max_gb : float
        Stop when the search takes more than this many GB of memory.
    **limits
        When to stop: `tol` or `gap`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    PointBasedSolution
        ``iterations`` is the number of trials, and `stages` hold the vectors of every number of steps to go. After a
        stop before its time, by a limit or by Ctrl-C, the best answer so far with its true bounds.

    Raises
    ------
    ParameterError
        If there is no horizon, the model with its layers is too large, or an argument is out of range.
    ModelError
        If no action is legal in every state of the support of some belief, or values overflow.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than asked for.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=1.0, start=0)
    >>> plan = solve(machine, "finite_horizon_search", horizon=2)
    >>> round(plan.lower_bound, 9), round(plan.upper_bound, 9), plan.act([0.5, 0.5], steps_left=1)
    (1.9, 1.9, 0)
    """
    if horizon is None:
        raise ParameterError("finite_horizon_search needs a number of steps: pass horizon=10 (say)")
    watch = Watch("finite_horizon_search", **limits)
    last = -1 if max_iterations is None else whole_amount("max_iterations", max_iterations)
    with watch:
        layers = Layers(pomdp, whole_number("horizon", horizon))
        planner = PointSearch(layers.model, watch, max_gb=positive_number("max_gb", max_gb))
        planner.search_on(last)
    return warn_if_open(layers.plan(planner.solution(), watch), watch, f"{planner.search.trials} trials")


class Layers:
    """A POMDP whose states say how many steps have been taken.

    The search needs a discount below 1. If the model's own is larger than `discount`, rewards after d steps are
    multiplied by (gamma / discount)^d, so that all values at the start are as before.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    horizon : int
        H, at least 1.

    Attributes
    ----------
    model : POMDP
        State s after d steps has the number d S + s, the end has the last one.
    slack : float
        By how much rounding of the rewards may change the value at the start.
    """

    def __init__(self, pomdp: POMDP, horizon: int) -> None:
        mdp, n = pomdp.mdp, pomdp.n_states
        if horizon * mdp.n_transitions > MOST_TRANSITIONS:
            raise ParameterError(
                f"horizon={horizon} with {mdp.n_transitions:,} transitions: the search needs them once for each step, "
                f"and at most {MOST_TRANSITIONS:,} in all; pass a smaller horizon="
            )
        self.pomdp, self.horizon = pomdp, horizon
        self.discount = min(pomdp.gamma, 1.0 - 1.0 / (LONGEST * horizon))
        growth = pomdp.gamma / self.discount if pomdp.gamma > self.discount else 1.0
        self.scale: FloatArray = np.array([growth**depth for depth in range(horizon)], dtype=np.float64)
        lengths = np.diff(mdp.indptr)
        reward = np.repeat(mdp.reward, lengths) if mdp.reward_per_pair else mdp.reward
        begin = np.arange(1, horizon + 1) * n
        following = mdp.next_state + begin[:, np.newaxis]
        following[-1] = horizon * n
        ends: BoolArray = np.tile(mdp.terminated, (horizon, 1))
        ends[-1] = True
        layered = MDP(
            indptr=np.concatenate([[0], np.cumsum([*np.tile(lengths, horizon), *np.zeros(mdp.n_actions, int)])]),
            next_state=following.reshape(-1),
            probability=np.tile(mdp.probability, horizon),
            reward=(self.scale[:, np.newaxis] * reward).reshape(-1),
            terminated=ends.reshape(-1),
            start=np.concatenate([mdp.start, np.zeros((horizon - 1) * n + 1)]),
            gamma=self.discount,
            n_actions=mdp.n_actions,
        )
        self.model = POMDP(layered, _observed(pomdp, horizon))
        exactly = self.discount == pomdp.gamma
        largest = float(np.abs(layered.reward).max(initial=0.0))
        self.slack = 0.0 if exactly else 8.0 * UNIT * horizon * (horizon + 2) * largest

    def plan(self, found: PointBasedSolution, watch: Watch) -> PointBasedSolution:
        """Return the plan for the model itself, from that for the model with layers."""
        lower, upper = found.lower_bound - self.slack, found.upper_bound + self.slack
        nothing = VectorSet(np.zeros((1, self.pomdp.n_states)), np.array([-1]), self._unknown(1))
        stages = [nothing, *(self._stage(found, depth) for depth in reversed(range(self.horizon)))]
        return replace(
            found,
            lower_bound=lower,
            upper_bound=upper,
            converged=upper - lower <= watch.tol,
            horizon=self.horizon,
            alpha_vectors=stages[-1].alpha_vectors,
            actions=stages[-1].actions,
            pomdp=self.pomdp,
            stages=tuple(stages),
        )

    def _stage(self, found: AlphaVectorSolution, depth: int) -> VectorSet:
        """The vectors of a layer, each once."""
        own = slice(depth * self.pomdp.n_states, (depth + 1) * self.pomdp.n_states)
        vectors = found.alpha_vectors[:, own]
        here = np.flatnonzero(vectors.max(axis=1) > -np.inf)
        _, first = np.unique(np.column_stack([vectors[here], found.actions[here]]), axis=0, return_index=True)
        kept = here[np.sort(first)]
        return VectorSet(vectors[kept] / self.scale[depth], found.actions[kept], self._unknown(kept.size))

    def _unknown(self, n: int) -> IndexArray:
        return np.full((n, self.pomdp.n_observations), -1, dtype=np.int64)


def _observed(pomdp: POMDP, horizon: int) -> ObservationRows:
    """What is observed in the states of each layer; in the end it is always the same."""
    rows, n = pomdp.observation_rows, pomdp.n_states
    lengths = np.diff(rows.indptr).reshape(pomdp.n_actions, n)
    ends = rows.indptr[::n]
    seen: list[StateArray] = []
    probability: list[FloatArray] = []
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        seen += [np.tile(rows.observation[begin:end], horizon), np.zeros(1, dtype=np.int32)]
        probability += [np.tile(rows.probability[begin:end], horizon), np.ones(1)]
    last = np.ones((pomdp.n_actions, 1), dtype=np.int64)
    counts = np.concatenate([np.tile(lengths, (1, horizon)), last], axis=1)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return ObservationRows(indptr, np.concatenate(seen), np.concatenate(probability), rows.n_observations)
