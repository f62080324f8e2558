"""Whether the rewards of an environment lie in the range that an agent expects.

Where there is a model, its rewards are compared with the range once, when a run begins; otherwise those that the
environment returns are, and only for agents that declare a range.
"""

import math
import warnings
from typing import Self, SupportsFloat
from weakref import WeakKeyDictionary

import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import Info, Observation
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.models import MDP, POMDP
from rlsuite.training.results import Bounds
from rlsuite.training.step_buffer import ReceiveStep, StepBuffer


class ExpectedRewards:
    """The range of rewards that an agent expects; warns once if one lies outside.

    Parameters
    ----------
    agent : str
        The agent's class.
    low, high : float
        Ends of the range; infinite where there is none.
    names : tuple of (str or None)
        The agent's parameters that give the ends, where it has such.
    """

    def __init__(self, agent: str, low: float, high: float, names: tuple[str | None, str | None]):
        self.agent, self.low, self.high, self.names = agent, low, high, names
        self._outside: list[float] = []  # rewards of the environment
        self._warned = False

    @classmethod
    def of(cls, agent: object, ends: tuple[float | str, float | str] | None) -> Self | None:
        """The range of an agent: each end is a number or the name of a parameter; None if the agent has no range."""
        if ends is None:
            return None
        low, high = (float(getattr(agent, end) if isinstance(end, str) else end) for end in ends)
        names = tuple(end if isinstance(end, str) else None for end in ends)
        return cls(type(agent).__name__, low, high, (names[0], names[1]))

    def check(self, low: float, high: float, env: str) -> None:
        """Compare the least and the largest reward that can occur with the range."""
        self._outside = [low] * (low < self.low) + [high] * (high > self.high)
        self.report(env)

    def watch(self, buffer: StepBuffer) -> ReceiveStep:
        """The `receive_step` of a buffer, which checks each reward until one is outside the range."""
        if self._warned:
            return buffer.receive_step

        def receive_step(
            observation: Observation, reward: SupportsFloat, terminated: bool, truncated: bool, info: Info
        ) -> None:
            buffer.receive_step(observation, reward, terminated, truncated, info)
            received = float(buffer.numbers[1])
            if not self.low <= received <= self.high:
                self._outside[:] = [received]

        return receive_step

    def report(self, env: str) -> None:
        """Warn once of rewards that were outside the range."""
        if self._outside and not self._warned:
            self._warned = True
            warnings.warn(self._sentence(env), errors.RewardWarning, stacklevel=errors.level_of_the_caller())

    def _sentence(self, env: str) -> str:
        expected = f"from {self.low:g} to {self.high:g}" if math.isfinite(self.low) else f"of at most {self.high:g}"
        found = "normally distributed rewards, which have no bounds"
        named = [name for name in self.names if name is not None]
        remedy = f"choose {' and '.join(named)} such that hardly any reward lies outside"
        if all(map(math.isfinite, self._outside)):
            plural = "s" if len(self._outside) > 1 else ""
            found = f"the reward{plural} {' and '.join(f'{reward:g}' for reward in self._outside)}"
            ends = [(self.names[reward > self.high], reward) for reward in self._outside]
            remedy = f"give {' and '.join(f'{name}={reward:g}' for name, reward in ends)}, or the true bounds"
        if not named:
            remedy = "scale them (gymnasium.wrappers.TransformReward), or take an agent that has no such range"
        return f"{self.agent} expects rewards {expected}, and {env} has {found}; {remedy}"


MOST_SWEEPS, MOST_BACKUPS = 50, 60_000
"""Backups of all states, and of outcomes in all, in which the least and the greatest return must be found: a
millisecond. Otherwise they are estimated."""

_ranges: WeakKeyDictionary[MDP, tuple[int, Bounds]] = WeakKeyDictionary()


def return_range(model: MDP | POMDP, limit: int) -> Bounds:
    """The least and the greatest undiscounted return that any single episode can have.

    Exact where few backups over the outcomes find it, and rewards are fixed numbers; otherwise as many of the least and
    of the greatest reward as an episode may have steps.

    Examples
    --------
    >>> import rlsuite as rl
    >>> return_range(rl.MDP.from_env("FrozenLake-v1", gamma=1.0), 100)[:2]
    (0.0, 1.0)
    >>> return_range(rl.MDP.from_env("CliffWalking-v1", gamma=1.0), 200)[:2]
    (-20000.0, -13.0)
    """
    mdp = model.mdp if isinstance(model, POMDP) else model
    known = _ranges.get(mdp)
    if known is None or known[0] != limit:
        steps = math.inf if limit == NO_LIMIT else limit
        found = return_limits(mdp, steps)
        if mdp.bernoulli is None and mdp.reward_std is None:
            low, high = _greatest_return(mdp, -1.0, steps), _greatest_return(mdp, 1.0, steps)
            found = Bounds(max(found.low, -low), min(found.high, high))
        known = _ranges[mdp] = (limit, found)
    return known[1]


def return_limits(model: MDP | POMDP, steps: float) -> Bounds:
    """As many of the least and of the greatest reward as an episode may have steps."""
    least, most = reward_limits(model)
    return Bounds(least if least >= 0.0 else least * steps, most if most <= 0.0 else most * steps)


def _greatest_return(mdp: MDP, sign: float, steps: float) -> float:
    """The greatest return of an episode, of rewards times a sign; infinite if it takes too many backups."""
    n_outcomes = np.diff(mdp.indptr)
    possible = mdp.probability > 0.0
    reward = np.where(possible, sign * mdp.rows.reward, -np.inf)
    acted = n_outcomes > 0
    begins = mdp.indptr[:-1][acted]
    best = np.full(acted.size, -np.inf)
    value = np.zeros(mdp.n_states)
    most = min(steps, MOST_SWEEPS, 1 + MOST_BACKUPS // max(1, reward.size))
    for _ in range(int(most)):
        before = value
        with np.errstate(over="ignore"):
            total = reward + np.where(mdp.terminated, 0.0, value[mdp.next_state])
        best[acted] = np.maximum.reduceat(total, begins)
        value = best.reshape(mdp.n_states, -1).max(axis=1)
        value[np.isneginf(value)] = 0.0  # an end
        if np.array_equal(before, value):
            break
    else:
        if steps > most:
            return math.inf
    return float(value[mdp.start > 0.0].max())


def reward_limits(model: MDP | POMDP) -> tuple[float, float]:
    """The least and the largest reward that can occur, infinite for normal rewards.

    Examples
    --------
    >>> import rlsuite as rl
    >>> reward_limits(rl.MDP.from_env("CliffWalking-v1", gamma=1.0))
    (-100.0, -1.0)
    """
    mdp = model.mdp if isinstance(model, POMDP) else model
    pair = np.repeat(np.arange(mdp.n_states * mdp.n_actions), np.diff(mdp.indptr))
    possible = mdp.probability > 0.0
    acted_in = mdp.start > 0.0  # states in which actions are taken; the others are terminal or never entered
    acted_in[mdp.next_state[possible & ~mdp.terminated]] = True
    possible &= acted_in[pair // mdp.n_actions]
    pairs, rewards = pair[possible], mdp.rows.reward[possible]
    low, high = rewards.min(initial=np.inf), rewards.max(initial=-np.inf)
    if mdp.bernoulli is not None and mdp.bernoulli[pairs].any():
        drawn = mdp.bernoulli[pairs]
        exact = rewards[~drawn]
        low = min(exact.min(initial=np.inf), 0.0 if (rewards[drawn] < 1.0).any() else 1.0)
        high = max(exact.max(initial=-np.inf), 1.0 if (rewards[drawn] > 0.0).any() else 0.0)
    if mdp.reward_std is not None and (mdp.reward_std[pairs] > 0.0).any():
        return -math.inf, math.inf
    return float(low), float(high)
