"""The last n steps of an episode, for the n-step methods of S&B2 chapter 7.

The pair of time tau learns at time tau + n, from the n rewards that followed it and from the value of the state in the
table then; when an episode is over, all remaining pairs learn from the rewards that are left. If it was truncated, they
learn from the value of the state in which it was cut, too: the value at that moment, before any of them learns, as in
`NStepTD` and in Monte Carlo control. A step size belongs to the visit of the pair, so it is stored then: a schedule per
visits gives the k-th visit of a pair the k-th value.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.memory import Memory, Observation, begin, step_size, store, stored_value, update_stored
from rlsuite.core.checks import fits_in_memory, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Action, Array, Count, Feature, State
from rlsuite.training.kernels import Begin


class NStepBuffer(NamedTuple):
    """A ring of n steps: time t of the episode is at entry t % n. It holds ids for a table, or features."""

    state: State  # (n,), for a table
    indices: Feature  # (n, most_active), of the active features; (n, 0) for a table
    values: NDArray[np.float64]  # (n, most_active)
    n_active: Annotated[NDArray[np.int64], Array(at_least=0, at_most="indices")]  # (n,)
    action: Action  # (n,)
    reward: NDArray[np.float64]  # (n,), the reward that followed
    step_size: NDArray[np.float64]  # (n,)
    length: Count  # (1,), steps of the episode so far
    n: int
    probabilities: NDArray[np.float64]  # (n_actions,), a buffer for the probabilities of one state


def new_n_step_buffer(n: int, n_actions: int, most_active: int = 0) -> NStepBuffer:
    """Make an empty buffer for this many steps, with this many active features each.

    Raises
    ------
    ParameterError
        If it needs more memory than there is.
    """
    fits_in_memory(
        f"n={n}" + f" with {most_active} active features a step" * bool(most_active), 16 * n * (most_active + 2)
    )
    states, n_active, actions = (np.zeros(n, dtype=np.int64) for _ in range(3))
    return NStepBuffer(
        state=states,
        indices=np.zeros((n, most_active), dtype=np.int64),
        values=np.zeros((n, most_active)),
        n_active=n_active,
        action=actions,
        reward=np.zeros(n),
        step_size=np.zeros(n),
        length=np.zeros(1, dtype=np.int64),
        n=n,
        probabilities=np.zeros(n_actions),
    )


@compiled(in_place=True)
def begin_n_steps(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Discard the last episode, and choose as in all other steps."""
    memory.scratch.buffer.length[0] = 0
    return begin(memory, state, rng)


@compiled(in_place=True)
def record_step(memory: Memory, row: int, action: int, reward: float) -> int:
    """Record a step and the step size of its pair; return its time t."""
    buffer = memory.scratch.buffer
    t = buffer.length[0]
    entry = t % buffer.n
    store(memory, row, entry)
    buffer.action[entry] = action
    buffer.reward[entry] = reward
    buffer.step_size[entry] = step_size(memory, row, action)
    buffer.length[0] = t + 1
    return t


@compiled(in_place=True)
def first_to_learn(buffer: NStepBuffer, t: int) -> int:
    """Time tau of the first pair that learns after step t: tau = t - n + 1, or 0 in the first n steps."""
    return max(t - buffer.n + 1, 0)


@compiled(in_place=True)
def last_to_learn(buffer: NStepBuffer, t: int, over: bool) -> int:
    """Time of the last pair that learns after step t: tau alone, if there is one, or all that wait at the end."""
    return t if over else t - buffer.n + 1


@compiled(in_place=True)
def learn(memory: Memory, tau: int, target: float) -> None:
    """Q(S_tau, A_tau) <- Q(S_tau, A_tau) + alpha [G - Q(S_tau, A_tau)]."""
    buffer = memory.scratch.buffer
    entry = tau % buffer.n
    action = buffer.action[entry]
    update_stored(memory, entry, action, buffer.step_size[entry] * (target - stored_value(memory, entry, action)))


class Recent(NamedTuple):
    """The scratch of a rule that needs only the buffer."""

    buffer: NStepBuffer


@dataclass(eq=False, kw_only=True)
class NStepAgent(ActionValueAgent):
    """Base of the n-step methods.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning.
    n : int
        Steps after which a pair learns, at least 1.
    """

    begin: ClassVar[Begin] = begin_n_steps

    n: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n = whole_number("n", self.n)
        fits_in_memory(f"n={self.n}", 32 * self.n)

    def scratch(self, n_states: int, n_actions: int) -> tuple[object, ...]:
        """Make an empty buffer."""
        return Recent(new_n_step_buffer(self.n, n_actions, self.values_.most_active))
