"""KL-UCB against bisection, by hand, and against the largest of all indices."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.agents.bandits.index_policy import bernoulli_bound, negative_entropy
from rlsuite.training.legality import every_action


def divergence(p, q):
    """d(p, q) of two Bernoulli distributions, in nats."""
    first = p * math.log(p / q) if p else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def bisection(p, level):
    """The largest q in [p, 1] with d(p, q) <= level."""
    low, high = p, 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle < 1.0 and divergence(p, middle) <= level else (low, middle)
    return low


@pytest.mark.parametrize("kind", ["bernoulli", "bounded"])
def test_kl_ucb(follow, live, kind):
    def index(state, arm, seen, t):
        level = math.log(t) + 3 * math.log(max(math.log(t), 1))
        return bisection(np.mean(seen), level / len(seen))

    follow(*live(rl.KLUCB(c=3.0), kind)[:2], index)


def test_kl_ucb_on_another_interval(follow, live):
    """Between -1 and 3 the index is that of the rewards scaled to [0, 1], scaled back."""

    def index(state, arm, seen, t):
        return 4 * bisection((np.mean(seen) + 1) / 4, math.log(t) / len(seen)) - 1

    follow(*live(rl.KLUCB(low=-1.0, high=3.0), "bounded")[:2], index)


@given(st.floats(0, 1), st.floats(1e-6, 50))
def test_the_kl_bound_solves_its_equation(p, level):
    q = kl_bound(p, level)
    assert p <= q <= 1.0
    assert q <= p + math.sqrt(level / 2) + 1e-12  # Pinsker: half the width of UCB1, whose level is the same
    assert q == pytest.approx(bisection(p, level), abs=1e-9)
    if q < 1.0 - 1e-6 and p < 1.0:
        assert divergence(p, q) == pytest.approx(level, abs=1e-9 * max(1.0, level))


def kl_bound(p, level):
    return bernoulli_bound(p, negative_entropy(p), level)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=2, max_size=6), st.integers(0, 99))
def test_kl_ucb_spares_no_arm_that_might_be_the_best(arms, seed):
    """Arms with so many pulls, and so many rewards of 1 among them: the choice is the largest index, computed for all.

    Few different numbers, so that arms tie often; each of those is then chosen with the same probability.
    """
    agent = rl.KLUCB(c=3.0)
    memory = agent.init_memory(np.ones((1, len(arms)), dtype=bool), every_action)
    rng = np.random.default_rng(seed)
    for arm, (pulls, ones) in enumerate(arms):
        for pull in range(pulls):
            type(agent).step(memory, rl.Transition(0, arm, float(pull < ones), 0, True, False), rng)
    level = memory.learned.level(memory, 0)
    indices = np.array([memory.learned.score(memory, 0, arm, level) for arm in range(len(arms))])
    best = np.flatnonzero(indices == indices.max())
    chosen = [rl.choose(memory, 0, rng) for _ in range(20 * len(best))]
    assert set(chosen) <= set(best.tolist())
    assert len(set(chosen)) >= min(2, len(best))  # one of two or more twenty times as often: never, 2^-39


def test_kl_bounds_by_hand():
    assert kl_bound(0.0, math.log(2)) == pytest.approx(0.5, abs=1e-15)  # -ln(1 - q) = ln 2
    assert kl_bound(0.5, 0.5 * math.log(4 / 3)) == pytest.approx(0.75, abs=1e-15)  # -ln(4 q (1 - q)) / 2
    assert kl_bound(1.0, 3.0) == 1.0
    assert kl_bound(0.3, 0.0) == 0.3
    assert kl_bound(0.5, 1e4) == 1.0
    assert kl_bound(1.2, 1.0) == 1.0


def test_normal_kl_ucb_is_ucb1_with_the_standard_deviation(follow, live):
    def index(state, arm, seen, t):
        return np.mean(seen) + 0.5 * math.sqrt(2 * math.log(t) / len(seen))

    follow(*live(rl.KLUCBNormal(std=0.5))[:2], index)
