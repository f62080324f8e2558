"""What the average-reward methods share: their solution, and the model without discounting. P94 chapters 8 and 9.

The gain of a policy in a state is the mean reward per step that it earns from there in the long run. gamma plays
no part. A finite number of steps does not count either, and that includes whole episodes: an episode that has ended
earns nothing afterwards, so the gain of a policy that terminates is 0, whatever it earned on the way. (The mean return
per episode is a different quantity. So is the mean reward per step if each end is followed by a new start; for that
one, model the restart as a transition that continues.)
"""

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from rlsuite.errors import ParameterError
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.planning.certificate import representable
from rlsuite.planning.kept import STATES, Shelf
from rlsuite.planning.long_run import CompletedModel
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.solution import Solution


@dataclass(frozen=True, eq=False, repr=False)
class AverageRewardSolution(Solution):
    """The solution of a planner for the average reward per step in the long run.

    Attributes
    ----------
    gain : ndarray (S,) float64
        The optimal mean reward per step from each state, within `error_bound`; 0 where no action is legal. In the unit
        of the reward per step.
    gain_at_start : float
        The mean of `gain` over the start distribution.
    value : ndarray (S,) float64
        Relative values h, in the unit of the reward: gain and value satisfy max_a (r - gain + P h) = h up to rounding
        or, for relative value iteration, up to `error_bound`, the maximum being over the actions that keep the gain.
        They are fixed only up to a constant for each recurrent class. Policy iteration returns the bias of `policy`:
        their mean under the stationary law of each class is 0. Relative value iteration returns 0 in state 0, or at the
        end if episodes can end. At the end, and where no action is legal, 0 always.
    policy : ndarray (S,) int64
        A gain-optimal action of each state; -1 where no action is legal.
    converged : bool
        Whether `error_bound` is at most the tolerance that was asked for.
    error_bound : float
        An upper bound, rounding included, on two things in every state: the distance of `gain` from the optimal gain,
        and the gain that following `policy` loses. It says nothing about `value`.
    lookahead : Lookahead
        The model without discount, prepared.

    See Also
    --------
    Solution : the other attributes.

    Examples
    --------
    Two circles, of 1 and of 2 per step; from the first one may go to the second, for 5 less:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import solve
    >>> mdp = MDP.from_successors([[0, 1], [1, None]], [[1, -5], [2, 0]], gamma=1.0)
    >>> solution = solve(mdp, method="average_reward_policy_iteration")
    >>> solution.gain.tolist(), solution.value.tolist(), solution.policy.tolist(), solution.chains
    ([2.0, 2.0], [-7.0, 0.0], [1, 0], 'unichain')
    """

    gain: FloatArray = field(repr=False)
    value_at_start: float = field(init=False, repr=False)
    gain_at_start: float = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gain.setflags(write=False)
        object.__setattr__(self, "gain_at_start", self._at_start(self.gain))

    def __repr__(self) -> str:
        of_costs = self.lookahead.mdp.costs
        gain = f"cost_per_step={-self.gain_at_start:.6g}" if of_costs else f"gain_at_start={self.gain_at_start:.6g}"
        return (
            f"{type(self).__name__}(method={self.method!r}, {gain}, "
            f"error_bound={self.error_bound:.3g}, converged={self.converged})"
        )

    def columns(self) -> dict[str, list[object]]:
        """Return the table: the gain, the relative value and the best action of each state, by title."""
        table = super().columns()
        of_costs = self.lookahead.mdp.costs
        gain = {"cost per step": (0.0 - self.gain).tolist()} if of_costs else {"gain": self.gain.tolist()}
        return {"state": table.pop("state"), **gain, **table}

    @classmethod
    def _fields_in(cls, shelf: Shelf) -> dict[str, Any]:
        return super()._fields_in(shelf) | {"gain": shelf.floats("gain", STATES)}

    def _proof(self, model: str | PathLike[str] | None) -> str:
        raise ParameterError("there is no proof for an average: only for sums of rewards, discounted or until an end")

    @cached_property
    def chain(self) -> MarkovChain:
        """The Markov chain of `policy`; with one more state, the end, if there is one."""
        return MarkovChain.from_mdp(self.lookahead.mdp, self.policy)

    @property
    def chains(self) -> str:
        """Whether the chain of `policy` has one recurrent class ("unichain") or several ("multichain").

        The end of an episode counts as one.
        """
        return "unichain" if len(self.chain.recurrent_classes) == 1 else "multichain"

    @cached_property
    def q(self) -> FloatArray:
        """(S, A) float64: r(s, a) - gain(s) + sum_s' c(s' | s, a) h(s'), minus infinity for illegal actions.

        The value of the action relative to that of the state, **if it keeps the gain**. An action that leads
        to less gain may well show a greater number here: see `optimal_actions`.
        """
        q = self.lookahead.q(self.value) - self.gain[:, np.newaxis]
        q.setflags(write=False)
        return q

    @property
    def optimal_actions(self) -> BoolArray:
        """(S, A) bool: the actions that satisfy both optimality equations up to `error_bound`.

        First, those that keep the gain, sum_s' p(s' | s, a) gain(s') >= gain(s) - `error_bound`. Among these, those
        with ``q >= value - error_bound``. A policy made of such actions is gain-optimal (P94 Theorem 9.1.7), up to
        2 * `error_bound` where the gain is the same everywhere. Not every action of every gain-optimal policy is
        listed: what happens only finitely often has no influence on the gain, and these lose no reward on the way
        either, relative to `value`.
        """
        mdp = self.lookahead.mdp
        listed: BoolArray = mdp.legal & (self.q >= (self.value - self.error_bound)[:, np.newaxis])
        if np.ptp(self.gain) == 0.0 and (self.gain[0] == 0.0 or not mdp.terminated.any()):
            return listed
        ahead = CompletedModel(mdp, ends=True).ahead(np.append(self.gain, 0.0))
        return listed & (ahead >= (self.gain - self.error_bound)[:, np.newaxis])


def undiscounted(mdp: MDP) -> Lookahead:
    """Return the prepared model, with gamma = 1 in place of its own discount.

    Raises
    ------
    ModelError
        If the rewards are so large that values overflow.
    """
    lookahead = Lookahead(mdp if mdp.gamma == 1.0 else mdp.replace(gamma=1.0))
    representable(lookahead, 1e9)
    return lookahead
