"""Blackjack as a table (S&B2 Example 5.1): an infinite deck makes it a small Markov decision problem."""

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import MDP
from rlsuite_envs.keywords import whole

STICK, HIT = 0, 1
CARDS = {card: (4 if card == 10 else 1) / 13 for card in range(1, 11)}
"""Probability of each card; 1 is the ace, and 10 stands for jack, queen and king too."""


class Hand(NamedTuple):
    """What the player observes, in the terms of Gymnasium's Blackjack-v1."""

    total: int
    dealer: int
    usable_ace: bool


HANDS = tuple(
    Hand(total, dealer, usable)
    for usable in (False, True)
    for total in range(12 if usable else 4, 22)
    for dealer in CARDS
)
"""The hands in the order of the observations; the end of the game comes after them."""

END = len(HANDS)


def observation_of(total: int, dealer: int, *, usable_ace: bool) -> int:
    """Return the observation of a hand.

    >>> HANDS[observation_of(13, 2, usable_ace=True)]
    Hand(total=13, dealer=2, usable_ace=True)
    """
    return HANDS.index(Hand(total, dealer, usable_ace))


def with_card(total: int, usable_ace: bool, card: int) -> tuple[int, bool]:
    """Return the sum after one more card, and whether it counts an ace as 11; an ace does so if that is possible.

    >>> with_card(16, True, 10)
    (16, False)
    """
    if card == 1 and total <= 10:
        return total + 11, True
    if total + card > 21 and usable_ace:
        return total + card - 10, False
    return total + card, usable_ace


def blackjack(*, dealer_sticks_on: int = 17, gamma: float = 1.0) -> MDP:
    """Build the game; the keywords are those of `BlackjackEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> blackjack().n_states
    281
    """
    whole("dealer_sticks_on", dealer_sticks_on, 12)
    indptr, rows = [0], list[tuple[float, int, float, bool]]()
    for hand in HANDS:
        for row in (_stick(hand, dealer_sticks_on), _hit(hand)):
            rows += row
            indptr.append(len(rows))
    probability, next_state, reward, terminated = zip(*rows, strict=True)
    return MDP.from_rows(
        [*indptr, *[len(rows)] * 2],
        next_state,
        probability,
        reward,
        terminated=terminated,
        n_actions=2,
        gamma=gamma,
        start=_deal(),
        state_labels=[f"{hand.total}{' with ace' if hand.usable_ace else ''}, {hand.dealer}" for hand in HANDS]
        + ["end"],
        action_labels=("Stick", "Hit"),
    )


def _stick(hand: Hand, dealer_sticks_on: int) -> list[tuple[float, int, float, bool]]:
    """Rows of Gymnasium's `P`: the game is won, drawn or lost."""
    chance = {1.0: 0.0, 0.0: 0.0, -1.0: 0.0}
    for total, p in _dealer_totals(*with_card(0, False, hand.dealer), dealer_sticks_on).items():
        chance[1.0 if total > 21 else float(np.sign(hand.total - total))] += p
    return [(p, END, reward, True) for reward, p in chance.items() if p > 0.0]


def _hit(hand: Hand) -> list[tuple[float, int, float, bool]]:
    row: list[tuple[float, int, float, bool]] = []
    bust = 0.0
    for card, p in CARDS.items():
        total, usable = with_card(hand.total, hand.usable_ace, card)
        if total > 21:
            bust += p
        else:
            row.append((p, observation_of(total, hand.dealer, usable_ace=usable), 0.0, False))
    return [*row, (bust, END, -1.0, True)] if bust > 0.0 else row


@cache
def _dealer_totals(total: int, usable_ace: bool, sticks_on: int) -> dict[int, float]:
    """Return how probable each final sum of the dealer is."""
    if total >= sticks_on:
        return {total: 1.0}
    found: dict[int, float] = {}
    for card, p in CARDS.items():
        for final, q in _dealer_totals(*with_card(total, usable_ace, card), sticks_on).items():
            found[final] = found.get(final, 0.0) + p * q
    return found


def _deal() -> list[float]:
    """Distribution of the first hand: two cards, and one of the dealer's two."""
    start = [0.0] * (END + 1)
    for (first, p), (second, q), (dealer, r) in product(CARDS.items(), repeat=3):
        total, usable = with_card(*with_card(0, False, first), second)
        start[observation_of(total, dealer, usable_ace=usable)] += p * q * r
    return start


class BlackjackEnv(TabularEnv):
    """Blackjack against a dealer, cards drawn with replacement (S&B2 Example 5.1).

    The game is that of Gymnasium's ``Blackjack-v1`` with its default arguments, as a table: a natural (an ace and a
    ten) is a 21 like any other.

    Parameters
    ----------
    dealer_sticks_on : int
        Lowest sum on which the dealer takes no more cards, at least 12.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    Observations: the hands of `HANDS` (`observation_of` finds one), then the end. Actions: 0 Stick, 1 Hit. Rewards: 1,
    0 and -1 for a game won, drawn and lost.

    Examples
    --------
    >>> env = BlackjackEnv()
    >>> HANDS[env.reset(seed=7)[0]]
    Hand(total=17, dealer=7, usable_ace=False)
    >>> env.step(STICK)[1:3]
    (-1.0, True)
    """

    def __init__(self, *, dealer_sticks_on: int = 17, gamma: float = 1.0, render_mode: str | None = None) -> None:
        super().__init__(blackjack(dealer_sticks_on=dealer_sticks_on, gamma=gamma), render_mode=render_mode)
