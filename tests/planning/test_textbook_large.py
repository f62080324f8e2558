"""Jack's car rental and blackjack, S&B2: problems of some hundred states, against published figures."""

import numpy as np
import pytest
from scipy.stats import poisson

from rlsuite.models import MDP
from rlsuite.planning import evaluate_policy, greedy, q_from_value, solve

pytestmark = pytest.mark.arithmetic

CARS, MOVES = 20, 5


def one_location(requests: float, returns: float) -> tuple[np.ndarray, np.ndarray]:
    """P[n, n'] from morning to evening, and the expected number of cars rented out of n."""
    number = np.arange(CARS + 1)
    P, rented = np.zeros((CARS + 1, CARS + 1)), np.zeros(CARS + 1)
    for n in number:
        out = poisson.pmf(number[: n + 1], requests)
        out[n] = poisson.sf(n - 1, requests)  # more requests than cars are lost
        rented[n] = out @ number[: n + 1]
        for k, p in enumerate(out):
            left = n - k
            back = poisson.pmf(np.arange(CARS - left + 1), returns)
            back[-1] = poisson.sf(CARS - left - 1, returns)  # more cars than places are sent away
            P[n, left:] += p * back
    return P, rented


@pytest.fixture(scope="module")
def rental():
    """S&B2 Example 4.2: state n1 * 21 + n2 in the evening, action a + 5 moves a cars from the first to the second."""
    (first, rented_first), (second, rented_second) = one_location(3, 3), one_location(4, 2)
    states, actions = (CARS + 1) ** 2, 2 * MOVES + 1
    P, R = np.zeros((states, actions, states)), np.zeros((states, actions))
    legal = np.zeros((states, actions), dtype=bool)
    for s in range(states):
        n1, n2 = divmod(s, CARS + 1)
        for a in range(-MOVES, MOVES + 1):
            if -n2 <= a <= n1:
                m1, m2 = min(n1 - a, CARS), min(n2 + a, CARS)
                legal[s, a + MOVES] = True
                P[s, a + MOVES] = np.outer(first[m1], second[m2]).reshape(-1)
                R[s, a + MOVES] = 10 * (rented_first[m1] + rented_second[m2]) - 2 * abs(a)
    return MDP.from_arrays(P, R, gamma=0.9, legal=legal)


# v(n1, n2), to four decimals, and how many states move -4 .. 5 cars
VALUES = {(0, 0): 421.4141, (20, 0): 554.9477, (0, 20): 567.7685, (10, 10): 574.9483, (20, 20): 636.9896}
COUNTS = [3, 9, 14, 17, 270, 33, 29, 23, 17, 26]


def assert_is_figure_4_2(value, policy):
    for (n1, n2), expected in VALUES.items():
        assert value[n1 * 21 + n2] == pytest.approx(expected, abs=5.1e-5)
    moved = policy - MOVES
    assert (moved[20 * 21], moved[20]) == (5, -4)
    assert np.bincount(moved + 4, minlength=10).tolist() == COUNTS


@pytest.mark.slow
def test_policy_iteration_by_hand_is_stable_after_the_fourth_policy(rental):
    # S&B2 section 4.3: from "move nothing", evaluate and improve; pi_4 is the figure's last.
    policy = np.full(rental.n_states, MOVES)
    policies = [policy]
    while True:
        value = evaluate_policy(rental, policy)
        q = q_from_value(rental, value)
        kept = q[np.arange(rental.n_states), policy] >= q.max(axis=1) - 1e-9
        improved = np.where(kept, policy, greedy(q))
        if (improved == policy).all():
            break
        policy = improved
        policies.append(policy)
    assert len(policies) == 5
    assert_is_figure_4_2(value, policy)


@pytest.mark.parametrize(
    "method", ["auto", "gauss_seidel", "modified_policy_iteration", "policy_iteration", "value_iteration"]
)
def test_jacks_car_rental(rental, method):
    solution = solve(rental, method)
    assert solution.converged
    assert_is_figure_4_2(solution.value, solution.policy)


# ---------------------------------------------------------------------------------------------------------- blackjack

HIT, STICK = 0, 1
CARDS = [(c, 1 / 13 if c < 10 else 4 / 13) for c in range(1, 11)]


def drawn(total: int, ace: bool, card: int) -> tuple[int, bool]:
    """The hand after one more card; an ace counts 11 (is usable) as long as that is no more than 21."""
    total, ace = (total + 11, True) if card == 1 and total + 11 <= 21 else (total + card, ace)
    return (total - 10, False) if total > 21 and ace else (total, ace)


def dealer_totals(total: int, ace: bool, probability: float, found: dict[int, float]) -> dict[int, float]:
    """What a dealer who draws up to 17 ends with; 0 if bust."""
    if total >= 17:
        found[total if total <= 21 else 0] = found.get(total if total <= 21 else 0, 0.0) + probability
        return found
    for card, p in CARDS:
        dealer_totals(*drawn(total, ace, card), probability * p, found)
    return found


def index(total: int, ace: bool, shown: int) -> int:
    return ((total - 4) * 2 + ace) * 10 + shown - 1


@pytest.fixture(scope="module")
def blackjack():
    """S&B2 Example 5.1, an infinite deck: state (sum 4..21, usable ace, dealer's card), and one that is the end."""
    end = 18 * 2 * 10
    P, R = np.zeros((end + 1, 2, end + 1)), np.zeros((end + 1, 2, end + 1))
    legal = np.zeros((end + 1, 2), dtype=bool)
    for shown in range(1, 11):
        dealer = dealer_totals(*drawn(0, False, shown), 1.0, {})
        for total in range(4, 22):
            for ace in (False, True):
                if ace and total < 12:
                    continue
                s = index(total, ace, shown)
                legal[s] = True
                P[s, STICK, end] = 1.0
                R[s, STICK, end] = sum(p * np.sign(total - other) for other, p in dealer.items())
                for card, p in CARDS:
                    after, usable = drawn(total, ace, card)
                    ahead = end if after > 21 else index(after, usable, shown)
                    P[s, HIT, ahead] += p
                    R[s, HIT, ahead] = -1.0 if after > 21 else 0.0
    return MDP.from_arrays(P, R, gamma=1.0, legal=legal, terminated=np.arange(end + 1) == end)


def test_blackjack_that_sticks_on_20(blackjack):
    policy = np.full(blackjack.n_states, HIT)
    for total in (20, 21):
        for ace in (False, True):
            for shown in range(1, 11):
                policy[index(total, ace, shown)] = STICK
    value = evaluate_policy(blackjack, policy)
    assert value[index(13, True, 2)] == pytest.approx(-0.277204, abs=5.1e-7)
    assert value[index(21, False, 10)] == pytest.approx(0.8886, abs=5.1e-5)


@pytest.mark.parametrize("method", ["auto", "backward_induction"])
def test_blackjack_figure_5_2(blackjack, method):
    # No hand takes more than 20 cards, so a horizon of 20 is for ever.
    solution = solve(blackjack, method, **({"horizon": 20} if method == "backward_induction" else {}))
    lowest = [
        [min(t for t in range(12, 22) if solution.policy[index(t, ace, shown)] == STICK) for shown in range(1, 11)]
        for ace in (True, False)
    ]
    assert lowest[0] == [19, 18, 18, 18, 18, 18, 18, 18, 19, 19]
    assert lowest[1] == [17, 13, 13, 12, 12, 12, 17, 17, 17, 17]
