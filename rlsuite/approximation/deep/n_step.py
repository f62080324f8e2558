"""Several steps as one transition: from an observation to the one n steps later (Sutton & Barto 2018, section 7.1).

In plain NumPy: `rlsuite.reference.deep_q.n_step_target`.
"""

from collections import deque
from typing import NamedTuple

from rlsuite.models.aliases import AnyArray


class Steps(NamedTuple):
    """An observation and the action taken there, with the discounted rewards since."""

    observation: AnyArray  # (*shape)
    action: int  # counted from 0
    reward: float  # R_1 + gamma R_2 + ... + gamma^{m-1} R_m, of m steps
    discount: float  # gamma^m, of what comes after them; 0 if nothing does


class Window:
    """The latest steps of an episode, until each of them is n steps old or the episode is over.

    Parameters
    ----------
    n : int
        How many steps make a transition. Those at the end of an episode have fewer.
    gamma : float
        Discount per step.

    Examples
    --------
    Two steps that pay 1 and 10, and an end after a third that pays 100:

    >>> window = Window(n=2, gamma=0.5)
    >>> for reward, terminated in ((1.0, False), (10.0, False), (100.0, True)):
    ...     print([tuple(each) for each in window.add("x", 0, reward, terminated, ends=terminated)])
    []
    [('x', 0, 6.0, 0.25)]
    [('x', 0, 60.0, 0.0), ('x', 0, 100.0, 0.0)]
    """

    def __init__(self, n: int, gamma: float):
        self.n, self.gamma = n, gamma
        self.latest: deque[Steps] = deque()

    def add(self, observation: AnyArray, action: int, reward: float, terminated: bool, ends: bool) -> list[Steps]:
        """Add one step, and return the transitions that are complete now, the oldest first.

        Parameters
        ----------
        observation : ndarray
            What was seen before the step.
        action : int
            What was done.
        reward : float
            What it paid.
        terminated : bool
            Whether nothing comes after it.
        ends : bool
            Whether the episode is over: terminated or truncated.
        """
        self.latest.append(Steps(observation, action, reward, 1.0))
        if not ends and len(self.latest) < self.n:
            return []
        complete: list[Steps] = []
        total, discount = 0.0, 0.0 if terminated else 1.0
        for step in reversed(self.latest):  # G_t = R_{t+1} + gamma G_{t+1}
            total, discount = step.reward + self.gamma * total, self.gamma * discount
            complete.append(step._replace(reward=total, discount=discount))
        complete.reverse()
        if ends:
            self.latest.clear()
            return complete
        self.latest.popleft()
        return complete[:1]

    def clear(self) -> None:
        """Forget the steps of an episode that was interrupted."""
        self.latest.clear()
