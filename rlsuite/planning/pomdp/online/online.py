"""Planning online: instead of a plan for every belief, a search from the current belief.

Such a planner computes only what the current decision needs, within limits for each decision: simulations, expansions,
seconds. So it takes no more time for a large model than it is given.

What such a planner computes beforehand are bounds at the leaves. The seconds for a decision are too few for them, and a
search with poor bounds plays badly for as long as it has no others. So they have a time of their own before the first
decision.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from rlsuite.core.checks import positive_number, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.inference.particle_filter import ParticleFilter
from rlsuite.models import POMDP, validation
from rlsuite.models.aliases import BeliefLike, FloatArray
from rlsuite.planning.certificate import warn_not_converged
from rlsuite.planning.pomdp.bounds.linear_bounds import Bounds, bounds_in_time
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.solution import BeliefPlan
from rlsuite.planning.watch import Watch

SECONDS = 10.0
"""Time for the bounds before the first decision, by default, where decisions have a deadline."""


def prepared(
    pomdp: POMDP, method: str, *, seconds: float | None, deadline: float | None
) -> tuple[PreparedModel, Bounds]:
    """Return the tables of a model, and the bounds at the leaves of a planner without horizon.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    method : str
        Name of the planner.
    seconds : float or None
        Time for the bounds; None for `SECONDS`, or for as many as are needed if decisions have no deadline.
    deadline : float or None
        Seconds for a decision.

    Raises
    ------
    ParameterError
        If `seconds` is not a positive number.

    Warns
    -----
    ConvergenceWarning
        If the time was too short.
    """
    if seconds is not None:
        seconds = positive_number("preparation", seconds)
    elif deadline is not None:
        seconds = SECONDS
    with Watch(method, tol=1.0, deadline=seconds) as watch:
        model = PreparedModel(pomdp, method)
        bounds, finished = bounds_in_time(model, watch, share=0.5)
    if not finished:
        warn_not_converged(
            f"{method} could not finish the bounds at the leaves in preparation={seconds:g} seconds: the search is "
            "worse for it; pass a larger preparation="
        )
    return model, bounds


MOVED_PER_SECOND = 1e9
"""Bytes that a slow machine moves in a second."""


class Decision(NamedTuple):
    """The result of a search from one belief."""

    action: int
    """the best action found"""
    value: float
    """its value: an estimate (POMCP), or a lower bound (AEMS2)"""
    q: FloatArray
    """(A,) float64, the same for every action; NaN for those that were not explored, minus infinity if illegal"""
    iterations: int
    """simulations (POMCP) or expansions (AEMS2) done for it"""
    seconds: float
    """wall-clock time taken"""


class Search(Protocol):
    """A search from the beliefs of one episode, one after the other."""

    def plan(self, belief: FloatArray, steps_left: int | None, *, progress: bool) -> Decision:
        """Search from a belief, starting with the current tree."""
        ...

    def advance(self, action: int, observation: int) -> None:
        """Keep the part of the tree after an action and an observation, and remove the rest."""
        ...


class Planner(Protocol):
    """The interface of planners that search."""

    def search(self) -> Search:
        """Return a new search with an empty tree."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class OnlinePlan(BeliefPlan):
    """The solution of an online planner: it acts in any belief, and searches when an action is needed.

    It has the attributes of `BeliefPlan`; the bounds are those of the value at the start belief. And:

    Attributes
    ----------
    pomdp : POMDP
        The model.
    decision : Decision
        What the search from the start belief found.
    planner : Planner
        Who searches.

    Examples
    --------
    A coin lies under one of two cups; a look costs 1 and shows it with certainty, a guess earns 10 or costs 20:

    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    >>> cups = POMDP.from_arrays(
    ...     [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
    ...     order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    ... )
    >>> plan = solve(cups, "pomcp", simulations=2_000, seed=7)
    >>> plan.act([0.5, 0.5, 0]), plan.act([0, 1, 0])
    (0, 2)

    Through an episode, a search continues where the last one has been:

    >>> episode = plan.episode()
    >>> action = episode.act()
    >>> episode.observe(action, 1)
    >>> episode.belief.tolist(), episode.act()
    ([0.0, 1.0, 0.0], 2)
    """

    decision: Decision = field(repr=False)
    planner: Planner = field(repr=False)

    def decide(self, belief: BeliefLike, steps_left: int | None = None) -> Decision:
        """Search from a belief.

        Parameters
        ----------
        belief : array_like (S,)
            Any distribution over the states.
        steps_left : int, optional
            For a plan with a horizon: how many steps are still to come, this one included; all of them by default.

        Raises
        ------
        ParameterError
            If `belief` is not a distribution, no action is legal in every state of its support, or
            `steps_left` is out of range.
        """
        b = validation.belief(belief, self.pomdp.n_states, self.pomdp.state_labels)
        return self.planner.search().plan(b, checked_steps(self.horizon, steps_left), progress=False)

    def _action(self, belief: BeliefLike, steps_left: int | None) -> int:
        return self.decide(belief, steps_left).action

    def value(self, belief: BeliefLike, steps_left: int | None = None) -> float:
        """Return the value of the best action by a search from a belief; arguments and errors as in `decide`."""
        return self.decide(belief, steps_left).value

    @says_what_to_write
    def episode(
        self,
        belief: BeliefLike | None = None,
        *,
        particles: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> "OnlineEpisode":
        """Begin an episode at a belief, by default the start.

        Parameters
        ----------
        belief : array_like (S,), optional
            Any distribution over the states.
        particles : int, optional
            Follow the belief with this many particles instead of exactly; see
            `rlsuite.inference.particle_filter.ParticleFilter`.
        seed : int or numpy.random.Generator, optional
            Where the particles come from.

        Raises
        ------
        ParameterError
            If `belief` is not a distribution over the states, or `particles` is out of range.
        """
        first = (
            self.pomdp.start
            if belief is None
            else validation.belief(belief, self.pomdp.n_states, self.pomdp.state_labels)
        )
        known = None
        if particles is not None:
            known = ParticleFilter(self.pomdp.replace(start=first), particles, seed=seed)
        return OnlineEpisode(self.pomdp, self.planner.search(), first, self.horizon, known)


class OnlineEpisode:
    """An online planner during an episode: it tracks the belief, and keeps its tree from step to step.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    search : Search
        Who searches.
    belief : ndarray (S,) float64
        Where the episode begins.
    horizon : int or None
        Steps of the episode, if the plan has an end.
    particles : ParticleFilter, optional
        Who follows the belief, if it is not followed exactly.

    Attributes
    ----------
    belief : ndarray (S,) float64
        The belief now.
    """

    def __init__(
        self,
        pomdp: POMDP,
        search: Search,
        belief: FloatArray,
        horizon: int | None,
        particles: ParticleFilter | None = None,
    ) -> None:
        self.belief = belief
        self._particles = particles
        self._pomdp = pomdp
        self._search = search
        self._steps_left = horizon

    def decide(self) -> Decision:
        """Search from the current belief.

        Raises
        ------
        ParameterError
            If no step is left, or no action is legal in every state of the belief's support.
        """
        if self._steps_left == 0:
            raise ParameterError("the plan is at its end, and no action is left")
        return self._search.plan(self.belief, self._steps_left, progress=False)

    def act(self) -> int:
        """Return the best action that a search from the current belief finds; errors as in `decide`."""
        return self.decide().action

    def observe(self, action: int | str, observation: int | str) -> None:
        """Update the belief and the tree by an action and an observation, given by their numbers or names.

        Raises
        ------
        ParameterError
            As `POMDP.update_belief`, or as `rlsuite.inference.particle_filter.ParticleFilter.update`.
        """
        pomdp = self._pomdp
        a = validation.number_of("action", action, pomdp.n_actions, pomdp.action_labels)
        z = validation.number_of("observation", observation, pomdp.n_observations, pomdp.observation_labels)
        if self._particles is None:
            self.belief = pomdp.update_belief(self.belief, a, z)
        else:
            self.belief = self._particles.update(a, z)
        self._search.advance(a, z)
        if self._steps_left is not None:
            self._steps_left -= 1


def checked_steps(horizon: int | None, steps_left: int | None) -> int | None:
    """Return the number of steps left in a plan, or None if it has no horizon."""
    if horizon is None:
        if steps_left is not None:
            raise ParameterError("this plan has no horizon: leave steps_left out")
        return None
    if steps_left is None:
        return horizon
    if not 1 <= whole_number("steps_left", steps_left, at_least=0) <= horizon:
        raise ParameterError(
            f"steps_left={steps_left} is not one of 1..{horizon}, the steps that can be left in this plan"
        )
    return steps_left


def legal_actions(pomdp: POMDP, belief: FloatArray) -> FloatArray:
    """Return 0 for the actions that are legal in every state of a belief's support, minus infinity otherwise.

    Raises
    ------
    ParameterError
        If none is.
    """
    legal = pomdp.mdp.legal[belief > 0.0].all(axis=0)
    if not legal.any():
        states = np.flatnonzero(belief).tolist()
        raise ParameterError(f"no action is legal in every state of the belief's support: {states}")
    return np.where(legal, 0.0, -np.inf)


def time_to_move(n_bytes: int, watch: Watch) -> bool:
    """Return whether there is time to copy a tree of that many bytes into larger memory."""
    return n_bytes / MOVED_PER_SECOND < watch.left
