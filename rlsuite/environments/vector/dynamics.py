"""The dynamics of a model for many states at once: starts, transitions, observations."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.environments.vector.sampling import RowSampler
from rlsuite.models import MDP, POMDP


class Moves(NamedTuple):
    """One transition of every copy; each array is (N,) and may be written to."""

    pairs: NDArray[np.int64]
    """``state * A + action`` of the row that was looked up."""
    reached: NDArray[np.int64]
    probability: NDArray[np.float64]
    reward: NDArray[np.float64]
    """Means."""
    terminated: NDArray[np.bool_]
    illegal: NDArray[np.bool_]
    """Copies that did not move, because their action is illegal."""


class Dynamics:
    """The tables of a model, in the form in which many copies can be looked up at once.

    Parameters
    ----------
    model : MDP or POMDP

    Attributes
    ----------
    mask : ndarray (S, A) int8 or None
        1 for legal actions; None if all of them are.
    nothing : int or None
        The observation of a `POMDP` that means "nothing observed yet"; None for an `MDP`, whose states are observed.
    """

    def __init__(self, model: MDP | POMDP) -> None:
        mdp = model if isinstance(model, MDP) else model.mdp
        self.mdp = mdp
        self.mask = None if mdp.legal.all() else mdp.legal.astype(np.int8)
        self.nothing = model.n_observations if isinstance(model, POMDP) else None
        self._successors = RowSampler(mdp.indptr, mdp.probability)
        # State 0 is kept even if no episode starts in it, because rounding may lead to entry 0.
        self._start_states = np.union1d([0], np.flatnonzero(mdp.start))
        self._starts = RowSampler(np.array([0, self._start_states.size]), mdp.start[self._start_states])
        # Illegal actions look up this row; the result is discarded.
        self._some_pair = int(np.argmax(mdp.legal))
        self._reward = mdp.rows.reward
        if isinstance(model, POMDP):
            self._emissions, self._emitted = _emission_rows(model.observation)

    def start(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return one start state for each uniform number: (n,) int64."""
        return self._start_states[self._starts.draw(np.zeros(uniform.size, dtype=np.int64), uniform)]

    def move(self, states: NDArray[np.int64], actions: NDArray[np.int64], uniform: NDArray[np.float64]) -> Moves:
        """Take an action in every copy; all arguments are (N,)."""
        mdp = self.mdp
        pairs = states * mdp.n_actions + actions
        illegal = np.zeros(states.size, dtype=np.bool_)
        if self.mask is not None:
            illegal = ~mdp.legal[states, actions]
            pairs[illegal] = self._some_pair
        entries = self._successors.draw(pairs, uniform)
        moves = Moves(
            pairs,
            mdp.next_state[entries].astype(np.int64),
            mdp.probability[entries],
            self._reward[entries],
            mdp.terminated[entries],
            illegal,
        )
        if self.mask is not None:
            moves.reached[illegal] = states[illegal]
            moves.probability[illegal] = 1.0
            moves.terminated[illegal] = ~mdp.legal[states[illegal]].any(axis=1)
        return moves

    def observe(
        self, actions: NDArray[np.int64], reached: NDArray[np.int64], uniform: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return an observation of a `POMDP` for each copy: (N,) int64."""
        rows = actions * self.mdp.n_states + reached
        return self._emitted[self._emissions.draw(rows, uniform)]


def _emission_rows(observation: NDArray[np.float64]) -> tuple[RowSampler, NDArray[np.int64]]:
    """Rows over (action, state reached) of the possible observations, and which observation each entry is."""
    n_observations = observation.shape[2]
    flat = observation.reshape(-1, n_observations)
    possible = flat > 0.0
    possible[:, 0] = True  # rounding may lead there
    rows, seen = np.nonzero(possible)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(possible, axis=1))])
    return RowSampler(indptr, flat[rows, seen]), seen
