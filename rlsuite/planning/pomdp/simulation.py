"""Simulated episodes of a POMDP under a policy over beliefs, to test the value that a plan claims.

The hidden state is drawn from the model, and the policy gets only the belief. Many episodes are simulated at the same
time, independently of each other.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from scipy.special import stdtrit

from rlsuite.core.checks import generator, whole_amount, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.models import POMDP
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray
from rlsuite.planning.reachability import reachable


class Acting(Protocol):
    """The interface of policies over beliefs, such as all plans for a POMDP."""

    def act(self, belief: FloatArray, steps_left: int | None = None) -> int:
        """Return the action in a belief (S,)."""
        ...


BeliefPolicy: TypeAlias = Acting | Callable[[FloatArray], int]
"""A plan, or a function from a belief (S,) to an action."""


@dataclass(frozen=True, eq=False)
class BeliefEpisodes:
    """Episodes under a policy over beliefs: n episodes of at most T steps.

    Attributes
    ----------
    returns : ndarray (n,) float64
        Discounted sum of the rewards of each.
    lengths : ndarray (n,) int64
        Steps taken; less than T if the episode ended before.
    terminated : ndarray (n,) bool
        Whether it did end.
    tail : float
        The most that steps beyond T could have added to the mean of the returns, in either direction; 0 if the policy
        has a horizon, or all episodes ended, or came to states from which nothing can be earned.
    states : ndarray (n, T + 1) int64
        The hidden states, -1 after the end.
    actions, observations : ndarray (n, T) int64
        What was done and what was seen then, -1 after the end.
    rewards : ndarray (n, T) float64
        What was paid, 0 after the end.
    beliefs : ndarray (n, T + 1, S) float64 or None
        The belief before each step and after the last; 0 after the end. None unless it was asked for.
    """

    returns: FloatArray
    lengths: IndexArray
    terminated: AnyArray = field(repr=False)
    tail: float
    states: IndexArray = field(repr=False)
    actions: IndexArray = field(repr=False)
    observations: IndexArray = field(repr=False)
    rewards: FloatArray = field(repr=False)
    beliefs: FloatArray | None = field(repr=False)

    def __post_init__(self) -> None:
        for array in (self.returns, self.lengths, self.terminated, self.states, self.actions, self.observations):
            array.setflags(write=False)
        self.rewards.setflags(write=False)
        if self.beliefs is not None:
            self.beliefs.setflags(write=False)

    @property
    def mean(self) -> float:
        """Mean of the returns."""
        return float(self.returns.mean())

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return Student's t interval for the expected return, widened by `tail`.

        Episodes are independent here, unlike those of a learner, so they are the units of replication.

        Raises
        ------
        ParameterError
            If there are fewer than two episodes, or `confidence` lies outside (0, 1).
        """
        n = self.returns.size
        if n < 2:
            raise ParameterError(f"an interval needs at least two episodes; there are {n} returns")
        if not 0.0 < confidence < 1.0:
            raise ParameterError(f"confidence={confidence} does not lie between 0 and 1 (0.95 is usual)")
        spread = float(self.returns.std(ddof=1)) / math.sqrt(n)
        reach = float(stdtrit(n - 1, 0.5 * (1.0 + confidence))) * spread + self.tail
        return self.mean - reach, self.mean + reach


@says_what_to_write
def simulate_beliefs(
    pomdp: POMDP,
    policy: BeliefPolicy,
    *,
    episodes: int = 1,
    steps: int | None = None,
    seed: int | np.random.SeedSequence | np.random.Generator | None = None,
    keep_beliefs: bool = False,
) -> BeliefEpisodes:
    """Simulate some episodes under a policy over beliefs.

    Parameters
    ----------
    pomdp : POMDP
        The model; the first state is drawn from its start.
    policy : BeliefPlan or callable
        What a solver returned, anything with ``act(belief)``, or a function from a belief (S,) to an action.
    episodes : int
        How many.
    steps : int, optional
        Largest number of steps of an episode. By default the horizon of the policy, if it has one; otherwise enough
        steps that later rewards add less than 1e-3 of the largest possible return.
    seed : int, SeedSequence or Generator, optional
        Source of all randomness.
    keep_beliefs : bool
        Whether the result holds all beliefs.

    Raises
    ------
    ParameterError
        If an argument is out of range, `steps` is needed and not given (gamma = 1, no horizon), or the policy takes an
        action that is illegal in a state of the belief's support.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning.pomdp.simulation import simulate_beliefs
    >>> machine = POMDP.from_arrays(
    ...     [[[0.9, 0.1], [1, 0]], [[0, 1], [1, 0]]], [[1, -1], [0, -1]], [[0.9, 0.1], [0.4, 0.6]], order="sas",
    ...     gamma=0.9, start=0
    ... )
    >>> known = simulate_beliefs(machine, lambda b: int(b[1] > 0.5), steps=50, seed=1, keep_beliefs=True)
    >>> known.actions[0, :6].tolist(), known.beliefs[0, :3].round(2).tolist()
    ([0, 0, 0, 1, 0, 0], [[1.0, 0.0], [0.95, 0.05], [0.93, 0.07]])
    """
    n = whole_amount("episodes", episodes)
    horizon = cast("int | None", getattr(policy, "horizon", None))
    T = _steps(pomdp, horizon, steps)
    rng = np.random.default_rng() if seed is None else generator(seed)
    live = _Live(pomdp, rng, n)
    states = np.full((n, T + 1), -1, dtype=np.int64)
    actions, observations = np.full((n, T), -1, dtype=np.int64), np.full((n, T), -1, dtype=np.int64)
    rewards = np.zeros((n, T))
    beliefs = np.zeros((n, T + 1, pomdp.n_states)) if keep_beliefs else None
    states[:, 0] = live.state
    if beliefs is not None:
        beliefs[:, 0] = live.belief
    for t in range(T):
        if not live.number.size:
            break
        number = live.number
        a = _actions(policy, live.belief, None if horizon is None else horizon - t)
        if a.max() >= pomdp.n_actions:
            raise ParameterError(f"the policy takes action {a.max()}; the actions are 0..{pomdp.n_actions - 1}")
        state, reward, z = live.step(a)
        actions[number, t], rewards[number, t], observations[number, t] = a, reward, z
        states[number, t + 1] = state
        if beliefs is not None:
            beliefs[live.number, t + 1] = live.belief
    lengths = (actions >= 0).sum(axis=1)
    terminated = np.ones(n, dtype=np.bool_)
    terminated[live.number] = False
    left = 0.0
    if horizon is None and live.number.size:
        going_on = float(_may_earn(pomdp)[live.state].sum()) / n
        left = pomdp.gamma**T * _largest_tail(pomdp) * going_on if going_on > 0.0 else 0.0
    return BeliefEpisodes(
        returns=rewards @ pomdp.gamma ** np.arange(T),
        lengths=lengths,
        terminated=terminated,
        tail=left,
        states=states,
        actions=actions,
        observations=observations,
        rewards=rewards,
        beliefs=beliefs,
    )


class _Live:
    """The episodes that have not ended: their numbers, hidden states and beliefs."""

    def __init__(self, pomdp: POMDP, rng: np.random.Generator, episodes: int) -> None:
        self.pomdp = pomdp
        self.rng = rng
        self.number: IndexArray = np.arange(episodes)
        first = np.minimum(
            np.searchsorted(np.cumsum(pomdp.start), rng.random(episodes), side="right"), pomdp.n_states - 1
        )
        self.state: IndexArray = first
        self.belief: FloatArray = np.broadcast_to(pomdp.start, (episodes, pomdp.n_states))
        rows = pomdp.observation_rows
        self._moves = np.cumsum(pomdp.mdp.probability)
        self._seen = np.cumsum(rows.probability)
        self._reward = pomdp.mdp.rows.reward

    def step(self, action: IndexArray) -> tuple[IndexArray, FloatArray, IndexArray]:
        """Take one step in every episode; return states, rewards and observations, and keep those that continue."""
        mdp, rows, rng = self.pomdp.mdp, self.pomdp.observation_rows, self.rng
        pair = self.state * mdp.n_actions + action
        illegal = mdp.indptr[pair] == mdp.indptr[pair + 1]
        if illegal.any():
            k = int(np.argmax(illegal))
            raise ParameterError(f"the policy takes action {action[k]}, which is illegal in state {self.state[k]}")
        move = _pick(self._moves, mdp.indptr[pair], mdp.indptr[pair + 1], rng.random(pair.size))
        state = mdp.next_state[move].astype(np.int64)
        reward = self._reward[move]
        if mdp.reward_std is not None:
            reward = reward + mdp.reward_std[pair] * rng.standard_normal(pair.size)
        if mdp.bernoulli is not None:
            drawn = rng.random(pair.size) < self._reward[move]
            reward = np.where(mdp.bernoulli[pair], drawn, reward)
        row = action * mdp.n_states + state
        z = rows.observation[_pick(self._seen, rows.indptr[row], rows.indptr[row + 1], rng.random(pair.size))].astype(
            np.int64
        )
        going = ~mdp.terminated[move]
        self.belief = self.pomdp.update_beliefs(self.belief[going], action[going], z[going])
        self.state, self.number = state[going], self.number[going]
        return state, reward, z


def _pick(cumulative: FloatArray, begin: IndexArray, end: IndexArray, u: FloatArray) -> IndexArray:
    """Return an entry of each row, drawn in proportion to the increase of the running sum there."""
    below = np.where(begin > 0, cumulative[begin - 1], 0.0)
    target = below + u * (cumulative[end - 1] - below)
    return np.clip(np.searchsorted(cumulative, target, side="right"), begin, end - 1)


def _actions(policy: BeliefPolicy, beliefs: FloatArray, steps_left: int | None) -> IndexArray:
    """Return the actions of a policy in some beliefs (n, S): (n,) int64."""
    if (at_once := getattr(policy, "_actions_at", None)) is not None:
        return at_once(beliefs, steps_left)
    act: Any = getattr(policy, "act", policy)
    more = () if steps_left is None or act is policy else (steps_left,)
    chosen = [act(b, *more) for b in beliefs]
    return np.array([whole_number("an action of the policy", a, at_least=0) for a in chosen], dtype=np.int64)


def _steps(pomdp: POMDP, horizon: int | None, steps: int | None) -> int:
    if steps is not None:
        T = whole_amount("steps", steps)
        if horizon is not None and horizon < T:
            raise ParameterError(f"steps={T} is more than the {horizon} steps of the policy")
        return T
    if horizon is not None:
        return horizon
    if pomdp.gamma == 1.0:
        raise ParameterError("gamma is 1 and the policy has no horizon: pass steps=, the number of steps to simulate")
    return 1 if pomdp.gamma == 0.0 else max(1, math.ceil(math.log(1e-3) / math.log(pomdp.gamma)))


def _may_earn(pomdp: POMDP) -> AnyArray:
    """Return the states (S,) bool from which a reward that is not 0, on average, can be reached."""
    mdp = pomdp.mdp
    moves = mdp.matrix_of(mdp.probability * ~mdp.terminated)
    onwards: Any = sum(cast("Any", moves)[a :: mdp.n_actions] for a in range(mdp.n_actions))
    return reachable(onwards.T, (mdp.expected_reward() != 0.0).any(axis=1))


def _largest_tail(pomdp: POMDP) -> float:
    """Return a bound on the absolute return of an infinite episode."""
    if pomdp.gamma == 1.0:
        return math.inf
    return float(np.abs(pomdp.mdp.expected_reward()).max()) / (1.0 - pomdp.gamma)
