"""The dynamics of a model for one state, in plain Python numbers.

Everything is chosen by the rule of Gymnasium's toy_text environments: a uniform number u picks the first entry whose
running sum of probabilities exceeds u, and entry 0 if rounding left the whole sum at or below u. The running sums are
added from the left, as ``numpy.cumsum`` adds them.
"""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.models.mdp_fields import Transition

# Rows are turned into Python numbers on first use, and the cache is emptied when it has this many: so a model of a
# million states is ready at once, and long runs in it take little memory.
CACHED_ROWS = 65_536

Entry = TypeVar("Entry")


class Choice(NamedTuple, Generic[Entry]):
    """A discrete distribution to draw from; made by `choice`."""

    cumulative: tuple[float, ...]
    """Running sums of the probabilities."""
    entries: tuple[Entry, ...]
    """The entries; the last one is for a u above all sums."""

    def pick(self, u: float) -> Entry:
        """Return the entry that the uniform number `u` chooses."""
        return self.entries[bisect_right(self.cumulative, u)]


def choice(probabilities: Iterable[float], entries: Iterable[Entry], otherwise: Entry) -> Choice[Entry]:
    """Make a choice among entries; `otherwise` is entry 0, which may have been left out as impossible.

    >>> choice([0.25, 0.75], ["a", "b"], otherwise="a").pick(0.25)
    'b'
    """
    return Choice(tuple(accumulate(probabilities)), (*entries, otherwise))


class Dynamics:
    """The tables of a model, one row at a time.

    Parameters
    ----------
    model : MDP or POMDP

    Attributes
    ----------
    mdp : MDP
        The model itself, or what a `POMDP` hides.
    mask : ndarray (S, A) int8 or None
        1 for legal actions; None if all of them are.
    nothing : int or None
        The observation before there was one, of a `POMDP`; None for an `MDP`, whose states are seen.
    start : Choice of int
        The start state.
    """

    def __init__(self, model: MDP | POMDP) -> None:
        self.model = model
        self.mdp = model if isinstance(model, MDP) else model.mdp
        self.mask = None if self.mdp.legal.all() else self.mdp.legal.astype(np.int8)
        self.nothing = model.n_observations if isinstance(model, POMDP) else None
        # Probabilities of 0 add nothing to a running sum, so leaving them out changes no choice.
        starts = np.flatnonzero(model.start)
        self.start: Choice[int] = choice(model.start[starts].tolist(), starts.tolist(), otherwise=0)
        self._transitions: dict[int, Choice[Transition] | None] = {}
        self._emissions: dict[int, Choice[int]] = {}

    def transition(self, state: int, action: int) -> Choice[Transition] | None:
        """Return the possible outcomes of an action, None if it is illegal.

        Raises
        ------
        ParameterError
            If `state` is not a state.
        """
        pair = state * self.mdp.n_actions + action
        if pair in self._transitions:
            return self._transitions[pair]
        if not 0 <= state < self.mdp.n_states:
            raise ParameterError(f"s={state} is not a state; the states are 0..{self.mdp.n_states - 1}")
        row = self.mdp.P[state][action]
        outcome = choice([entry[0] for entry in row], row, otherwise=row[0]) if row else None
        if len(self._transitions) >= CACHED_ROWS:
            self._transitions.clear()
        self._transitions[pair] = outcome
        return outcome

    def emission(self, state: int, action: int) -> Choice[int]:
        """Return the possible observations of a `POMDP` in `state`, reached by `action`."""
        pair = state * self.mdp.n_actions + action
        if pair in self._emissions:
            return self._emissions[pair]
        assert isinstance(self.model, POMDP)
        chances = self.model.observation[action, state]
        seen = np.flatnonzero(chances)
        observation: Choice[int] = choice(chances[seen].tolist(), seen.tolist(), otherwise=0)
        if len(self._emissions) >= CACHED_ROWS:
            self._emissions.clear()
        self._emissions[pair] = observation
        return observation

    def __getstate__(self) -> dict[str, Any]:
        # The caches are quickly computed again, and would be most of the pickled bytes.
        return {**self.__dict__, "_transitions": {}, "_emissions": {}}
