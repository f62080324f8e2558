"""The search of POMCP: a tree of histories that is grown in pieces, so that a deadline or Ctrl-C can end it."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from rlsuite.core.checks import finite_number, generator, positive_number, whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, StateArray
from rlsuite.planning.pomdp.bounds.linear_bounds import Bounds
from rlsuite.planning.pomdp.online import history_tree
from rlsuite.planning.pomdp.online.history_tree import FREE, Limits, Path, Tree
from rlsuite.planning.pomdp.online.online import Decision, legal_actions, time_to_move
from rlsuite.planning.pomdp.online.preparation import Preparation
from rlsuite.planning.pomdp.online.sampling import random_state, simulator
from rlsuite.planning.watch import Watch

SIMULATIONS_BY_DEFAULT = 10_000
CAUTIOUS, OPTIMISTIC = 1.0, 0.25
"""c by default, in ranges of the mean rewards: leaves whose values are too high are explored anyway."""
ROOM_AT_FIRST = 1 << 17
"""Nodes for which there is room at first; unused memory costs almost nothing."""


class MonteCarloPlanner:
    """What all searches of one plan share: the model's tables, the limits, the random numbers.

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
        leaf: Callable[[Bounds], FloatArray],
        bounds: Bounds,
        preparation: Preparation | None,
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
        self._leaf, self._preparation = leaf, preparation
        self.limits = Limits(pomdp.gamma, depth, constant, leaf(bounds))
        self.random = random_state(np.random.default_rng() if seed is None else generator(seed))

    @property
    def prepared(self) -> bool:
        """Whether the bounds at the leaves are complete."""
        return self._preparation is None or self._preparation.finished

    def prepare(self) -> None:
        """Spend part of a decision's time on the bounds that are not complete."""
        if self._preparation is not None and self._preparation.go_on():
            self.limits = self.limits._replace(leaf=self._leaf(self._preparation.bounds))

    def search(self) -> "MonteCarloSearch":
        """Return a new search with an empty tree."""
        return MonteCarloSearch(self)


class MonteCarloSearch:
    """A tree of histories, grown from the belief at its root."""

    def __init__(self, planner: MonteCarloPlanner) -> None:
        self.planner = planner
        room = min(planner.max_nodes, 1 + (planner.simulations or ROOM_AT_FIRST), ROOM_AT_FIRST)
        self.tree: Tree = history_tree.new_tree(room, planner.pomdp.n_actions)
        depth = planner.limits.depth
        self.path = Path(np.zeros(depth, dtype=np.int64), np.zeros(depth))

    def plan(self, belief: FloatArray, steps_left: int | None, *, progress: bool) -> Decision:
        """Run simulations from a belief; see `online.online.Search`."""
        planner = self.planner
        watch = Watch("pomcp", tol=1.0, deadline=planner.deadline)
        planner.prepare()
        legal = legal_actions(planner.pomdp, belief)
        actions = legal.size
        self.tree.tried[:actions][legal < 0.0] = history_tree.ILLEGAL
        support = np.flatnonzero(belief).astype(np.int32)
        sums = np.cumsum(belief[support])
        sums[-1] = 1.0
        sums.setflags(write=False)  # read-only like the model's arrays: numba gives writable arrays another type
        depth = planner.limits.depth if steps_left is None else min(steps_left, planner.limits.depth)
        limits = planner.limits._replace(depth=depth)
        before = int(self.tree.used[0].n_simulations)
        with watch:
            bar = _bar(planner.simulations) if progress else None
            chunk, done = 1, 0
            while planner.simulations is None or done < planner.simulations:
                begun = watch.seconds
                wanted = chunk if planner.simulations is None else min(chunk, planner.simulations - done)
                ran = self._simulate(limits, support, sums, wanted, watch)
                done += ran
                if bar is not None:
                    bar.update(ran)
                if watch.hurries:
                    break
                chunk = _next_chunk(wanted, watch.seconds - begun)
            if bar is not None:
                bar.close()
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

    def _simulate(self, limits: Limits, support: StateArray, sums: FloatArray, wanted: int, watch: Watch) -> int:
        """Run simulations, and give the tree more room when it is full; return how many were done."""
        planner, done, grows = self.planner, 0, True
        while done < wanted:
            room = self.tree.visits.size
            full = int(self.tree.used[0].n_nodes) == room
            if full and grows:
                grows = room < planner.max_nodes and time_to_move(2 * sum(one.nbytes for one in self.tree), watch)
                if grows:
                    more = min(2 * room, planner.max_nodes)
                    self.tree, full = history_tree.grown(self.tree, more, planner.pomdp.n_actions), False
            done += history_tree.simulate(
                planner.simulator,
                limits,
                self.tree,
                self.path,
                support,
                sums,
                planner.random,
                wanted - done,
                not full,
            )
        return done


def _next_chunk(chunk: int, seconds: float) -> int:
    """Return how many simulations take about a hundredth of a second."""
    if seconds < 0.005:
        return 4 * chunk
    return max(1, int(chunk * min(2.0, 0.01 / seconds)))


def _bar(simulations: int | None) -> Any:
    from tqdm import tqdm

    return tqdm(desc="pomcp", total=simulations, unit=" simulations", file=sys.stderr)
