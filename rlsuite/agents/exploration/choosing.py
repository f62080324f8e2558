"""Choosing actions from a memory: which are legal, which is the best, which one to take.

The functions work on any memory with the fields

=========== ========================= ==========================================
q           (n_states, n_actions)     action values, float64
visits      (n_states, n_actions)     how often each pair was taken, int64
legal       (n_states, n_actions)     the actions that exist, bool
legality    function                  ``(legal, state, action) -> bool``: how to look that up
clock       (2,)                      [steps, episodes] learned from, int64
scores      (n_actions,)              buffer of one number per action, float64; its content has no meaning
exploration `ExplorationRule`         how actions are chosen; only `choose` and `action_probabilities` need it
=========== ========================= ==========================================

Ties are broken at random, always, and illegal actions are never chosen.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.schedules import VISITS, Rate, rate_now
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.core.described import Described
from rlsuite.training.legality import Legality

Select = Compiled[..., int]
Spread = Compiled[..., None]
Score = Compiled[..., float]
NO_ACTION = -1


class MaskedMemory(Protocol):
    """A memory that knows which actions are legal."""

    @property
    def legal(self) -> NDArray[np.bool_]:
        """The actions that exist, shape (n_rows, n_actions)."""
        ...

    @property
    def legality(self) -> Legality:
        """How `legal` is looked up."""
        ...


class ChoiceMemory(MaskedMemory, Protocol):
    """A memory with what choosing needs: the fields above."""

    @property
    def q(self) -> NDArray[np.float64]:
        """Action values, shape (n_rows, n_actions)."""
        ...

    @property
    def visits(self) -> NDArray[np.int64]:
        """How often each pair was taken, shape (n_rows, n_actions)."""
        ...

    @property
    def clock(self) -> NDArray[np.int64]:
        """Steps and episodes learned from, shape (2,)."""
        ...

    @property
    def scores(self) -> NDArray[np.float64]:
        """Buffer of one number per action."""
        ...

    @property
    def exploration(self) -> "ExplorationRule":
        """How actions are chosen."""
        ...


class ExplorationRule(NamedTuple):
    """An exploration in compiled form.

    ``select(memory, state, first, second, rng) -> action`` chooses; ``spread(memory, state, first, second, out)`` fills
    in how probable each action is. Both are given the present values of the two parameters.
    """

    select: Select
    spread: Spread
    first: Rate
    second: Rate


@compiled(in_place=True)
def is_legal(memory: MaskedMemory, state: int, action: int) -> bool:
    """Whether an action exists in a state."""
    return memory.legality(memory.legal, state, action)


@compiled(in_place=True)
def max_value(memory: ChoiceMemory, state: int) -> float:
    """max_a Q(state, a) over the legal actions; 0 where there is none, as at an end."""
    best = -np.inf
    for action in range(memory.legal.shape[1]):
        if memory.q[state, action] > best and is_legal(memory, state, action):
            best = memory.q[state, action]
    return best if best > -np.inf else 0.0


@compiled(in_place=True)
def own_value(memory: ChoiceMemory, state: int, action: int, parameter: float) -> float:
    """Q(state, action): the score by which `greedy` chooses."""
    return memory.q[state, action]


@compiled(in_place=True)
def _largest(
    values: NDArray[np.float64], legal: NDArray[np.bool_], legality: Legality, state: int, rng: np.random.Generator
) -> int:
    """The legal action with the largest of the values, ties at random; -1 where none is legal."""
    best = -np.inf
    choice = NO_ACTION
    ties = 0
    for action in range(values.size):
        if legality(legal, state, action):
            value = values[action]
            if value > best or choice == NO_ACTION:
                best = value
                choice = action
                ties = 1
            elif value == best:
                ties += 1
    if ties > 1:
        chosen = int(rng.random() * ties)
        for action in range(choice, values.size):
            if legality(legal, state, action) and values[action] == best:
                if chosen == 0:
                    return action
                chosen -= 1
    return choice


@compiled(in_place=True)
def argmax(score: Score, memory: ChoiceMemory, state: int, parameter: float, rng: np.random.Generator) -> int:
    """argmax_a score(memory, state, a, parameter) over the legal actions, ties at random; -1 where none is legal.

    A score may be infinite, but not NaN.
    """
    # all scores before any comparison: the processor computes several of them at once
    for action in range(memory.legal.shape[1]):
        memory.scores[action] = score(memory, state, action, parameter)
    return _largest(memory.scores, memory.legal, memory.legality, state, rng)


@compiled(in_place=True)
def spread_over_best(
    score: Score, memory: ChoiceMemory, state: int, parameter: float, out: NDArray[np.float64]
) -> None:
    """Fill in the probabilities of `argmax`: equal ones for all that tie."""
    best = -np.inf
    ties = 0
    for action in range(out.size):
        if is_legal(memory, state, action):
            value = score(memory, state, action, parameter)
            if value > best or ties == 0:
                best = value
                ties = 1
            elif value == best:
                ties += 1
    for action in range(out.size):
        out[action] = 0.0
        if is_legal(memory, state, action) and score(memory, state, action, parameter) == best:
            out[action] = 1.0 / ties


@compiled(in_place=True)
def lean_to_best(memory: ChoiceMemory, state: int, share: float, out: NDArray[np.float64]) -> None:
    """Mix the probabilities in `out` with those of `greedy`, which get this share."""
    best = -np.inf
    ties = 0
    for action in range(out.size):
        if is_legal(memory, state, action):
            if memory.q[state, action] > best or ties == 0:
                best = memory.q[state, action]
                ties = 1
            elif memory.q[state, action] == best:
                ties += 1
    for action in range(out.size):
        out[action] *= 1.0 - share
        if is_legal(memory, state, action) and memory.q[state, action] == best:
            out[action] += share / ties


@compiled(in_place=True)
def greedy(memory: ChoiceMemory, state: int, rng: np.random.Generator) -> int:
    """argmax_a Q(state, a) over the legal actions, ties broken at random; -1 where no action is legal."""
    return _largest(memory.q[state], memory.legal, memory.legality, state, rng)


@compiled(in_place=True)
def uniform(memory: ChoiceMemory, state: int, rng: np.random.Generator) -> int:
    """Any legal action, each equally likely; -1 where no action is legal."""
    n_legal = 0
    for action in range(memory.legal.shape[1]):
        n_legal += is_legal(memory, state, action)
    chosen = int(rng.random() * n_legal)
    for action in range(memory.legal.shape[1]):
        if is_legal(memory, state, action):
            if chosen == 0:
                return action
            chosen -= 1
    return NO_ACTION


@compiled(in_place=True)
def _parameter_now(rate: Rate, clock: NDArray[np.int64], visits: NDArray[np.int64], state: int) -> float:
    """The value of a parameter now; a schedule per visits counts those of the state."""
    visited = 0
    if rate.unit == VISITS:
        for action in range(visits.shape[1]):
            visited += visits[state, action]
    return rate_now(rate, clock, visited)


@compiled(in_place=True)
def choose(memory: ChoiceMemory, state: int, rng: np.random.Generator) -> int:
    """Choose an action by the memory's exploration; its schedules are evaluated at the present time."""
    rule = memory.exploration
    first = _parameter_now(rule.first, memory.clock, memory.visits, state)
    second = _parameter_now(rule.second, memory.clock, memory.visits, state)
    return rule.select(memory, state, first, second, rng)


@compiled(in_place=True)
def choices(memory: ChoiceMemory, state: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield a choice, as `choose` makes it, whenever one is asked for.

    A generator takes its arguments once. What takes them at each call takes some hundred bytes for a random generator,
    too, and without reference counting they are never freed: a million of them, spread over the heap, leave no gap
    between them that could be used for anything larger.
    """
    while True:
        yield choose(memory, state, rng)


@compiled(in_place=True)
def action_probabilities(memory: ChoiceMemory, state: int, out: NDArray[np.float64]) -> None:
    """Fill in the probabilities with which `choose` would now take each action of a state: (n_actions,)."""
    rule = memory.exploration
    first = _parameter_now(rule.first, memory.clock, memory.visits, state)
    second = _parameter_now(rule.second, memory.clock, memory.visits, state)
    rule.spread(memory, state, first, second, out)


class Exploration(Described):
    """Base of all explorations: a description that compiles to an `ExplorationRule`."""

    described_as = "exploration"

    @property
    def rule(self) -> ExplorationRule:
        """The compiled form, as an agent's memory stores it."""
        raise NotImplementedError
