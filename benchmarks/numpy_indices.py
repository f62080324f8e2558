"""NumPy's side of `bandits.py` for learners that choose by means, indices and turns: all bandits at once.

One row of a table is one bandit, and the largest number of the row is looked for. Of equal arms the first is taken,
which is cheaper than a random one.
"""

from collections.abc import Callable

import numpy as np
from bandits_problem import ARMS
from numpy_testbed import Averages, Floats, Testbed


def greedily(bed: Testbed, pulls: int, epsilon: Callable[[int], float]) -> None:
    """Each arm once; then the largest mean, or with probability epsilon(t) any arm."""
    averages = Averages(bed)
    arm, chance = bed.arm(), np.empty(bed.bandits)
    for t in range(pulls):
        if t < ARMS:
            arm.fill(t)
        else:
            averages.q.argmax(axis=1, out=arm)
            bed.rng.random(out=chance)
            explores = np.flatnonzero(chance < epsilon(t))
            arm[explores] = bed.rng.integers(ARMS, size=explores.size)
        averages.learn(bed.pull(arm))


def epsilon_greedy(bed: Testbed, pulls: int, epsilon: float) -> None:
    """epsilon, always."""
    greedily(bed, pulls, lambda t: epsilon)


def epsilon_decreasing(bed: Testbed, pulls: int, scale: float) -> None:
    """1 / (1 + t / scale)."""
    greedily(bed, pulls, lambda t: 1.0 / (1.0 + t / scale))


def optimistic(bed: Testbed, pulls: int, start: float, rate: float) -> None:
    """Q(a) <- Q(a) + rate (r - Q(a)) from a high start, and never anything but the largest."""
    q = np.full(bed.shape, start)
    flat, arm = q.ravel(), bed.arm()
    for _ in range(pulls):
        q.argmax(axis=1, out=arm)
        reward = bed.pull(arm)
        known = flat.take(bed.place)
        reward -= known
        reward *= rate
        known += reward
        flat[bed.place] = known


def by_index(bed: Testbed, pulls: int, index: Callable[[int, Averages, Floats], object]) -> None:
    """Each arm once; then the largest of what `index(t, averages, out)` writes."""
    averages, arm, found = Averages(bed), bed.arm(), np.empty(bed.shape)
    for t in range(pulls):
        if t < ARMS:
            arm.fill(t)
        else:
            index(t, averages, found)
            found.argmax(axis=1, out=arm)
        averages.learn(bed.pull(arm))


def _mean_and_width(width: float, averages: Averages, out: Floats) -> None:
    """Q(a) + width / sqrt(N(a))."""
    np.sqrt(averages.n, out=out)
    np.divide(width, out, out=out)
    out += averages.q


def upper_confidence(bed: Testbed, pulls: int, c: float) -> None:
    """Q(a) + c sqrt(ln t / N(a))."""
    by_index(bed, pulls, lambda t, averages, out: _mean_and_width(c * np.sqrt(np.log(t)), averages, out))


def ucb1(bed: Testbed, pulls: int, c: float) -> None:
    """Q(a) + c sqrt(2 ln t / N(a))."""
    by_index(bed, pulls, lambda t, averages, out: _mean_and_width(c * np.sqrt(2.0 * np.log(t)), averages, out))


def klucb_normal(bed: Testbed, pulls: int, std: float) -> None:
    """Q(a) + std sqrt(2 ln t / N(a))."""
    ucb1(bed, pulls, std)


def ucbv(bed: Testbed, pulls: int, c: float, zeta: float) -> None:
    """Q(a) + sqrt(2 V(a) E / N(a)) + 3 c E / N(a), E = zeta ln t, with N V summed up by Welford's rule."""
    averages, arm = Averages(bed), bed.arm()
    squares = np.zeros(bed.shape)
    flat, share, found = squares.ravel(), np.empty_like(squares), np.empty_like(squares)
    before, after = np.empty(bed.bandits), np.empty(bed.bandits)
    for t in range(pulls):
        if t < ARMS:
            arm.fill(t)
        else:
            level = zeta * np.log(t)
            np.divide(level, averages.n, out=share)
            np.divide(squares, averages.n, out=found)
            found *= share
            found *= 2.0
            np.sqrt(found, out=found)
            found += averages.q
            share *= 3.0 * c
            found += share
            found.argmax(axis=1, out=arm)
        reward = bed.pull(arm)
        np.subtract(reward, averages.flat_q.take(bed.place), out=before)
        after[:] = reward
        averages.learn(reward)
        after -= averages.flat_q.take(bed.place)
        before *= after
        flat[bed.place] += before


def moss(bed: Testbed, pulls: int, horizon: int, c: float) -> None:
    """Q(a) + c sqrt(max(ln(horizon / (K N(a))), 0) / N(a))."""

    def index(t: int, averages: Averages, out: Floats) -> None:
        np.divide(horizon / ARMS, averages.n, out=out)
        np.log(out, out=out)
        np.maximum(out, 0.0, out=out)
        out /= averages.n
        np.sqrt(out, out=out)
        out *= c
        out += averages.q

    by_index(bed, pulls, index)


def klucb(bed: Testbed, pulls: int) -> None:
    """The largest q with N(a) d(Q(a), q) <= ln t."""
    p, *room = (np.empty(bed.shape) for _ in range(6))

    def index(t: int, averages: Averages, out: Floats) -> None:
        np.clip(averages.q, 1e-12, 1.0 - 1e-12, out=p)
        np.divide(np.log(t), averages.n, out=out)
        _bernoulli_bounds(p, out, *room)

    by_index(bed, pulls, index)


def _bernoulli_bounds(
    p: Floats, q: Floats, other: Floats, level: Floats, step: Floats, rest: Floats, work: Floats
) -> None:
    """The q >= p with d(p, q) = level, for all arms together, by Newton's method; `q` holds the levels to begin with.

    It starts beyond all of them: where p ln p + (1 - p) ln((1 - p) / (1 - q)), or 2 (q - p)^2, reaches the level.
    """
    level[:] = q
    np.subtract(1.0, p, out=other)
    np.log(p, out=work)
    work *= p
    np.subtract(work, level, out=q)
    q /= other
    np.exp(q, out=q)
    q *= other
    np.subtract(1.0, q, out=q)
    np.multiply(level, 0.5, out=step)
    np.sqrt(step, out=step)
    step += p
    np.minimum(q, step, out=q)
    np.minimum(q, 1.0 - 1e-15, out=q)
    np.log(other, out=rest)
    rest *= other
    rest += work
    rest -= level  # p ln p + (1 - p) ln(1 - p) - level
    for _ in range(20):
        np.log(q, out=work)  # the step is (d(p, q) - level) q (1 - q) / (q - p)
        work *= p
        np.subtract(rest, work, out=step)
        np.subtract(1.0, q, out=level)
        np.log(level, out=work)
        work *= other
        step -= work
        step *= level
        step *= q
        np.subtract(q, p, out=level)
        np.maximum(level, 1e-15, out=level)
        step /= level
        q -= step
        np.maximum(q, p, out=q)
        if step.max() < 1e-6:
            break


def explore_then_commit(bed: Testbed, pulls: int, m: int) -> None:
    """Each arm m times, then the largest mean for ever."""
    averages, arm = Averages(bed), bed.arm()
    for t in range(pulls):
        if t < m * ARMS:
            arm.fill(t % ARMS)
            averages.learn(bed.pull(arm))
        else:
            if t == m * ARMS:
                averages.q.argmax(axis=1, out=arm)
            bed.pull(arm)
            averages.flat_n[bed.place] += 1.0


def successive_elimination(bed: Testbed, pulls: int, delta: float, c: float) -> None:
    """Arms in turn; after a round those are out whose mean is too far below the best."""
    averages, arm = Averages(bed), bed.arm()
    turn = np.zeros(bed.shape)  # pulls of the arms that are not out, infinity for those that are
    flat, left = turn.ravel(), np.full(bed.bandits, ARMS)
    for _ in range(pulls):
        turn.argmin(axis=1, out=arm)
        averages.learn(bed.pull(arm))
        flat[bed.place] += 1.0
        left -= 1
        ended = np.flatnonzero(left == 0)
        if ended.size:
            n = flat.take(bed.place[ended])
            mean = np.where(np.isinf(turn[ended]), -np.inf, averages.q[ended])
            width = c * np.sqrt((np.log(4.0 * ARMS / delta) + 2.0 * np.log(n)) / (2.0 * n))
            out = mean.max(axis=1, keepdims=True) - mean >= 2.0 * width[:, None]
            turn[ended] = np.where(out, np.inf, turn[ended])
            left[ended] = ARMS - out.sum(axis=1)


def sliding_window_ucb(bed: Testbed, pulls: int, window: int, c: float) -> None:
    """Q(a) + c sqrt(ln n / N(a)) over the last pulls, which lie in a ring."""
    shape = bed.shape
    n, total, q, found = (np.zeros(shape) for _ in range(4))
    arm = bed.arm()
    places, rewards = np.empty((window, bed.bandits), dtype=np.intp), np.empty((window, bed.bandits))
    flat_n, flat_total, flat_q = n.ravel(), total.ravel(), q.ravel()
    for t in range(pulls):
        np.sqrt(n, out=found)
        np.divide(c * np.sqrt(np.log(min(max(t, 1), window))), found, out=found, where=n > 0.0)
        found += q
        np.copyto(found, np.inf, where=n == 0.0)
        found.argmax(axis=1, out=arm)
        reward = bed.pull(arm)
        ring, slot = t % window, bed.place
        if t >= window:
            oldest = places[ring]
            flat_n[oldest] -= 1.0
            flat_total[oldest] -= rewards[ring]
            flat_q[oldest] = flat_total[oldest] / np.maximum(flat_n[oldest], 1.0)
        places[ring], rewards[ring] = slot, reward
        flat_n[slot] += 1.0
        flat_total[slot] += reward
        flat_q[slot] = flat_total[slot] / flat_n[slot]


def discounted_ucb(bed: Testbed, pulls: int, discount: float, c: float) -> None:
    """Q(a) + c sqrt(ln n / N(a)) with weights that fade."""
    averages, arm, found, remembered = Averages(bed), bed.arm(), np.empty(bed.shape), 0.0
    for t in range(pulls):
        if t < ARMS:
            arm.fill(t)
        else:
            _mean_and_width(c * np.sqrt(np.log(max(remembered, 1.0))), averages, found)
            found.argmax(axis=1, out=arm)
        averages.n *= discount
        remembered = remembered * discount + 1.0
        averages.learn(bed.pull(arm))
