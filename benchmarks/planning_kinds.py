"""Decision problems of many kinds, as textbooks of operations research, economics, ecology and control have them.

Each is a function of its size that returns the rows of a model with as many actions in every state, from
`numpy.random.default_rng(7)` where it is random. ``python benchmarks/planning.py --kinds`` solves them all.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln
from scipy.stats import binom

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Problem(NamedTuple):
    """The row of the pair (s, a) is number ``s * n_actions + a``, and names no successor twice."""

    rows: csr_array  # (S * A, S)
    reward: Floats  # (S * A,)
    n_actions: int


def outcomes(to: Whole, chance: Floats, reward: Floats) -> Problem:
    """Make a problem from the K outcomes of each pair: `to` and `chance` (S, A, K), `reward` (S, A)."""
    states, actions, ends = to.shape
    chance = np.broadcast_to(chance, to.shape)
    indptr = np.arange(states * actions + 1) * ends
    rows = csr_array((chance.reshape(-1).copy(), to.reshape(-1), indptr), shape=(states * actions, states))
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return Problem(rows, np.ascontiguousarray(np.broadcast_to(reward, (states, actions)).reshape(-1)), actions)


def dense(chance: Floats, reward: Floats) -> Problem:
    """Make a problem from `chance` (S, A, S) and `reward` (S, A)."""
    states, actions, _ = chance.shape
    return Problem(csr_array(chance.reshape(states * actions, states)), reward.reshape(-1), actions)


def poisson(mean: float, most: int) -> Floats:
    """Return the chances of 0 to `most`, the last one that of all more."""
    k = np.arange(most + 1)
    chance = np.exp(k * np.log(mean) - mean - gammaln(k + 1))
    chance[-1] += 1.0 - chance.sum()
    return chance


def garnet(n: int, ends: int = 5) -> Problem:
    """Random successors (Archibald, McKinnon & Thomas 1995)."""
    rng = np.random.default_rng(7)
    return outcomes(rng.integers(n, size=(n, 4, ends)), rng.dirichlet(np.ones(ends), (n, 4)), rng.random((n, 4)))


def full(n: int, actions: int = 2) -> Problem:
    """Every state leads to every other."""
    rng = np.random.default_rng(7)
    chance = rng.random((n, actions, n))
    return dense(chance / chance.sum(2, keepdims=True), rng.random((n, actions)))


def inventory(n: int, mean: float = 20.0) -> Problem:
    """One product, orders up to a tenth of the stock's limit, Poisson demand, a price for each order (P94 3.2)."""
    orders = max(n // 10, 2)
    stock, order = np.arange(n)[:, None], np.arange(orders)[None]
    chance = poisson(mean, int(3 * mean))
    demand = np.arange(chance.size)
    have = np.minimum(stock + order, n - 1)[:, :, None]
    sold = (np.minimum(stock[:, :, None], demand) * chance).sum(2)
    return outcomes(np.maximum(have - demand, 0), chance, 8 * sold - 5 * (order > 0) - 3 * order - 0.5 * stock)


def two_products(n: int) -> Problem:
    """Two products in one shop: n levels each, one order of either at a time, binomial demands."""
    a, b = np.divmod(np.arange(n * n), n)
    size, chance = 3, binom.pmf(np.arange(4), 3, 0.4)
    to, pay = [], []
    for more_a, more_b in ((0, 0), (size, 0), (0, size)):
        x, y = np.minimum(a + more_a, n - 1), np.minimum(b + more_b, n - 1)
        to.append([np.maximum(x - i, 0) * n + np.maximum(y - j, 0) for i in range(4) for j in range(4)])
        sold = sum(p * (4 * np.minimum(x, k) + 5 * np.minimum(y, k)) for k, p in enumerate(chance))
        pay.append(sold - 2 * (more_a + more_b > 0) - 0.1 * (a + b))
    return outcomes(np.array(to).transpose(2, 0, 1), np.outer(chance, chance).reshape(-1), np.array(pay).T)


def routing(n: int) -> Problem:
    """Two queues of n places: reject a customer, or send him to either; services of two speeds."""
    i = np.arange(n * n)
    a, b = np.divmod(i, n)
    to, pay = [], []
    for k in range(3):
        arrives = i if k == 0 else np.where(a < n - 1, i + n, i) if k == 1 else np.where(b < n - 1, i + 1, i)
        to.append([arrives, np.where(a > 0, i - n, i), np.where(b > 0, i - 1, i)])
        pay.append(-(a + 1.3 * b) / n + 2.5 * (arrives != i))
    return outcomes(np.array(to).transpose(2, 0, 1), np.array([0.5, 0.3, 0.2]), np.array(pay).T)


def service_rate(n: int) -> Problem:
    """One queue whose server works at one of five speeds, at a price (birth and death, P94 3.7)."""
    s = np.arange(n)[:, None]
    fast = np.linspace(0.1, 0.5, 5)[None]
    to = np.stack(np.broadcast_arrays(np.minimum(s + 1, n - 1), np.maximum(s - 1, 0), s), 2)
    to = np.broadcast_to(to, (n, 5, 3))
    chance = np.stack(np.broadcast_arrays(np.full((n, 5), 0.4), fast, 0.6 - fast), 2)
    return outcomes(to, chance, -(s / n) - 3 * fast**2)


def admission(n: int) -> Problem:
    """A loss system of n servers and two classes of customers that are accepted or not."""
    s = np.arange(n)[:, None]
    served = s / (n + 2.0 * n)
    come = np.array([[0.0, 0.2, 0.4]]) * np.ones((n, 1))
    to = np.stack(np.broadcast_arrays(np.minimum(s + 1, n - 1), np.maximum(s - 1, 0), s * np.ones((1, 3), int)), 2)
    chance = np.stack(np.broadcast_arrays(come, served, 1 - come - served), 2)
    return outcomes(to, chance, np.array([[0.0, 2.0, 2.5]]) * (s < n - 1))


def polling(n: int) -> Problem:
    """One server that visits two queues of n places, and takes time to move."""
    i = np.arange(2 * n * n)
    at, rest = np.divmod(i, n * n)
    a, b = np.divmod(rest, n)
    to, pay = [], []
    for moves in (0, 1):
        where = np.where(moves, 1 - at, at)
        x = np.where((moves == 0) & (at == 0), np.maximum(a - 1, 0), a)
        y = np.where((moves == 0) & (at == 1), np.maximum(b - 1, 0), b)
        to.append(
            [
                where * n * n + np.minimum(x + 1, n - 1) * n + y,
                where * n * n + x * n + np.minimum(y + 1, n - 1),
                where * n * n + x * n + y,
            ]
        )
        pay.append(-(a + 2.0 * b) / n)
    return outcomes(np.array(to).transpose(2, 0, 1), np.array([0.3, 0.3, 0.4]), np.array(pay).T)


def chain(n: int) -> Problem:
    """Left or right, and .4 against the will; a little at the left end, much at the right one."""
    j = np.arange(n)
    lo, hi = np.maximum(j - 1, 0), np.minimum(j + 1, n - 1)
    pay = np.zeros((n, 2))
    pay[0, 0], pay[-1, 1] = 0.005, 1.0
    return outcomes(np.stack([np.stack([lo, hi], 1), np.stack([hi, lo], 1)], 1), np.array([0.6, 0.4]), pay)


def cycle(n: int) -> Problem:
    """A ring to go round in either direction, with one place that pays."""
    j = np.arange(n)
    to = np.stack([(j + 1) % n, (j - 1) % n], 1)[:, :, None]
    return outcomes(to, np.ones(1), 1.0 * (j == 0)[:, None])


def clusters(n: int) -> Problem:
    """Nearly decomposable: twenty blocks that are hardly ever left (Simon & Ando 1961)."""
    rng = np.random.default_rng(7)
    size = n // 20
    block = np.arange(20 * size) // size
    inside = block[:, None, None] * size + rng.integers(size, size=(20 * size, 3, 4))
    to = np.concatenate([inside, rng.integers(20 * size, size=(20 * size, 3, 1))], 2)
    chance = np.concatenate([0.999 * rng.dirichlet(np.ones(4), (20 * size, 3)), np.full((20 * size, 3, 1), 0.001)], 2)
    return outcomes(to, chance, rng.random((20 * size, 3)) + 0.3 * rng.random(20)[block][:, None])


def layers(n: int) -> Problem:
    """A project in ten stages, each of which leads to the next one, the last to the first."""
    rng = np.random.default_rng(7)
    size = n // 10
    following = (np.arange(10 * size) // size + 1) % 10
    to = following[:, None, None] * size + rng.integers(size, size=(10 * size, 3, 4))
    return outcomes(to, rng.dirichlet(np.ones(4), (10 * size, 3)), rng.random((10 * size, 3)))


def grid(n: int, slip: float = 0.2) -> Problem:
    """A slippery grid, a cost of 1 for a step, a corner as the goal."""
    s = np.arange(n * n)
    row, column = np.divmod(s, n)
    ahead = []
    for down, right in ((0, -1), (1, 0), (0, 1), (-1, 0)):
        inside = (row + down >= 0) & (row + down < n) & (column + right >= 0) & (column + right < n)
        ahead.append(np.where(inside & (s < n * n - 1), s + down * n + right, s))
    to = np.stack([np.stack([ahead[a], ahead[a - 1], ahead[(a + 1) % 4]], 1) for a in range(4)], 1)
    return outcomes(to, np.array([1 - slip, slip / 2, slip / 2]), -1.0 * (s < n * n - 1)[:, None])


def maze(n: int) -> Problem:
    """A grid with walls on a third of its squares, certain moves, a goal that pays once a visit."""
    rng = np.random.default_rng(7)
    free = rng.random((n, n)) > 0.33
    free[0, 0] = free[-1, -1] = True
    s = np.arange(n * n)
    row, column = np.divmod(s, n)
    ahead = []
    for down, right in ((0, -1), (1, 0), (0, 1), (-1, 0)):
        to_row, to_column = np.clip(row + down, 0, n - 1), np.clip(column + right, 0, n - 1)
        ahead.append(np.where(free[to_row, to_column] & free[row, column], to_row * n + to_column, s))
    return outcomes(np.stack(ahead, 1)[:, :, None], np.ones(1), 1.0 * (s == n * n - 1)[:, None])


def corridor(n: int) -> Problem:
    """One way with a reward at its end, which sends back to the start."""
    j = np.arange(n)
    to = np.stack([np.where(j < n - 1, j + 1, 0), np.maximum(j - 1, 0)], 1)[:, :, None]
    return outcomes(to, np.ones(1), np.stack([(j == n - 1) * 1.0, np.zeros(n)], 1))


def product(n: int) -> Problem:
    """Four machines of n conditions each; one at a time is repaired, all wear by chance."""
    shape = (n, n, n, n)
    condition = np.array(np.unravel_index(np.arange(n**4), shape))
    to, pay = [], []
    for repaired in range(5):
        base = condition.copy()
        if repaired < 4:
            base[repaired] = 0
        worn = [base]
        for machine in range(4):
            one = base.copy()
            one[machine] = np.minimum(one[machine] + 1, n - 1)
            worn.append(one)
        to.append([np.ravel_multi_index(tuple(one), shape) for one in worn])
        pay.append((n - 1 - condition).sum(0) / n - (2.0 if repaired < 4 else 0.0))
    return outcomes(np.array(to).transpose(2, 0, 1), np.array([0.4, 0.15, 0.15, 0.15, 0.15]), np.array(pay).T)


def replacement(n: int) -> Problem:
    """Howard's car: keep it, or trade it for one of any age up to 40 periods (Howard 1960)."""
    age = np.arange(n)
    bought = np.minimum(np.arange(40), n - 1)
    value = 2000 * 0.97**age
    survives = 1 - 0.3 * (age / n) ** 2
    to = np.empty((n, 41, 2), int)
    chance = np.empty((n, 41, 2))
    to[:, 0] = np.stack([np.minimum(age + 1, n - 1), np.full(n, n - 1)], 1)
    chance[:, 0] = np.stack([survives, 1 - survives], 1)
    to[:, 1:] = np.stack([np.minimum(bought + 1, n - 1), np.full(40, n - 1)], 1)
    chance[:, 1:] = np.stack([survives[bought], 1 - survives[bought]], 1)
    running = 50 + 2.0 * age
    pay = np.concatenate([-running[:, None], value[:, None] * 0.9 - value[bought] - running[bought]], 1)
    return outcomes(to, chance, pay)


def gambler(n: int) -> Problem:
    """The gambler's problem (S&B2, Example 4.3) with stakes up to 20, begun anew when it ends."""
    capital = np.arange(n)[:, None]
    stake = np.minimum(np.minimum(np.arange(1, 21)[None], capital), n - 1 - capital)
    ends = (capital == 0) | (capital == n - 1)
    to = np.stack([np.where(ends, n // 2, capital + stake), np.where(ends, n // 2, capital - stake)], 2)
    return outcomes(to, np.array([0.4, 0.6]), 1.0 * (capital == n - 1))


def forest(n: int) -> Problem:
    """Wait or cut; fire may burn it all (pymdptoolbox's example)."""
    j = np.arange(n)
    to = np.stack([np.stack([np.minimum(j + 1, n - 1), 0 * j], 1), np.zeros((n, 2), int)], 1)
    pay = np.stack([4.0 * (j == n - 1), np.where(j == 0, 0.0, np.where(j == n - 1, 2.0, 1.0))], 1)
    return outcomes(to, np.array([0.9, 0.1]), pay)


def epidemic(n: int) -> Problem:
    """Susceptible and infected in a town of n, four measures of growing strength and price."""
    pairs = np.array([(s, i) for s in range(n + 1) for i in range(n + 1 - s)])
    number = -np.ones((n + 1, n + 1), int)
    number[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
    s, i = pairs.T
    to, chance, pay = [], [], []
    for strength in (0.0, 0.3, 0.6, 0.9):
        catch = 0.45 * (1 - strength) * s * i / n**2 * 4
        catch = np.minimum(catch, 0.55)
        heal = 0.4 * i / n
        x = number[np.maximum(s - 1, 0), np.minimum(i + (s > 0), n)]
        to.append(np.stack([x, number[s, np.maximum(i - 1, 0)], number[s, i]], 1))
        chance.append(np.stack([catch, heal, 1 - catch - heal], 1))
        pay.append(-i / n - 0.4 * strength**2)
    return outcomes(np.stack(to, 1), np.stack(chance, 1), np.stack(pay, 1))


def fishery(n: int) -> Problem:
    """A stock that grows logistically with noise; what is caught is sold (Clark 1990)."""
    stock = np.linspace(0, 1.5, n)
    share = np.linspace(0, 0.9, 20)
    left = stock[:, None] * (1 - share[None])
    grown = left * np.exp(0.8 * (1 - left))
    shocks = np.array([0.8, 0.9, 1.0, 1.1, 1.2])
    to = np.clip(np.rint(grown[:, :, None] * shocks / 1.5 * (n - 1)), 0, n - 1).astype(int)
    return outcomes(to, np.array([0.1, 0.2, 0.4, 0.2, 0.1]), np.sqrt(stock[:, None] * share[None]))


def growth(n: int) -> Problem:
    """Brock and Mirman's optimal growth: n levels of capital, 5 of productivity, 30 shares that are saved."""
    capital = np.linspace(0.05, 1.0, n)
    tech = np.array([0.85, 0.92, 1.0, 1.08, 1.15])
    move = np.array([[6, 3, 1, 0, 0], [2, 5, 2, 1, 0], [1, 2, 4, 2, 1], [0, 1, 2, 5, 2], [0, 0, 1, 3, 6]]) / 10
    output = (tech[:, None] * capital[None] ** 0.36).reshape(-1)  # state = z * n + k
    saved = np.linspace(0.02, 0.97, 30)[None] * output[:, None]
    after = np.clip(np.rint((saved - 0.05) / 0.95 * (n - 1)), 0, n - 1).astype(int)
    to = after[:, :, None] + n * np.arange(5)[None, None]
    chance = np.repeat(move, n, 0)[:, None, :] * np.ones((1, 30, 1))
    return outcomes(to, chance, np.log(np.maximum(output[:, None] - saved, 1e-6)))


def search_for_work(n: int) -> Problem:
    """McCall's search: take the wage that is offered, or wait for another; work may end."""
    wage = np.linspace(0.5, 2.0, n)
    offers = binom.pmf(np.arange(n), n - 1, 0.4)
    states = 2 * n  # offered wages, then those that are paid
    chance = np.zeros((states, 2, states))
    chance[:n, 0, :n] = offers
    chance[np.arange(n), 1, n + np.arange(n)] = 1
    for action in (0, 1):
        chance[n + np.arange(n), action, n + np.arange(n)] = 0.97
        chance[n:, action, :n] += 0.03 * offers
    pay = np.zeros((states, 2))
    pay[:n, 0] = 0.6
    pay[n:] = wage[:, None]
    return dense(chance, pay)


def pendulum(n: int) -> Problem:
    """Angle and speed of a pendulum on a grid, three torques, each next state shared among the four nearest points."""
    angle, speed = np.meshgrid(np.linspace(-np.pi, np.pi, n, endpoint=False), np.linspace(-6, 6, n), indexing="ij")
    angle, speed = angle.reshape(-1), speed.reshape(-1)
    to, chance, pay = [], [], []
    for torque in (-1.0, 0.0, 1.0):
        new_speed = np.clip(speed + 0.1 * (7.5 * np.sin(angle) + 3 * torque), -6, 6)
        x = ((angle + 0.1 * new_speed + np.pi) / (2 * np.pi) * n) % n
        y = (new_speed + 6) / 12 * (n - 1)
        i, j = np.floor(x).astype(int) % n, np.minimum(np.floor(y).astype(int), n - 2)
        p, q = x - np.floor(x), y - j
        to.append(np.stack([i * n + j, (i + 1) % n * n + j, i * n + j + 1, (i + 1) % n * n + j + 1], 1))
        chance.append(np.stack([(1 - p) * (1 - q), p * (1 - q), (1 - p) * q, p * q], 1))
        pay.append(np.cos(angle) - 0.01 * speed**2 - 0.01 * torque**2)
    return outcomes(np.stack(to, 1), np.stack(chance, 1), np.stack(pay, 1))


def car(n: int) -> Problem:
    """The mountain car on a grid of n by n, with the same interpolation; the top begins anew at the bottom."""
    place, speed = np.meshgrid(np.linspace(-1.2, 0.5, n), np.linspace(-0.07, 0.07, n), indexing="ij")
    place, speed = place.reshape(-1), speed.reshape(-1)
    to, chance = [], []
    for push in (-1.0, 0.0, 1.0):
        new_speed = np.clip(speed + 0.001 * push - 0.0025 * np.cos(3 * place), -0.07, 0.07)
        new_place = np.where(place >= 0.5, -0.5, np.clip(place + new_speed, -1.2, 0.5))
        x, y = (new_place + 1.2) / 1.7 * (n - 1), (new_speed + 0.07) / 0.14 * (n - 1)
        i, j = np.minimum(np.floor(x).astype(int), n - 2), np.minimum(np.floor(y).astype(int), n - 2)
        p, q = x - i, y - j
        to.append(np.stack([i * n + j, (i + 1) * n + j, i * n + j + 1, (i + 1) * n + j + 1], 1))
        chance.append(np.stack([(1 - p) * (1 - q), p * (1 - q), (1 - p) * q, p * q], 1))
    return outcomes(np.stack(to, 1), np.stack(chance, 1), -1.0 * (place < 0.5)[:, None])


def from_data(n: int) -> Problem:
    """A model counted from observed transitions: 30 for each pair, of a walk with jumps."""
    rng = np.random.default_rng(7)
    here = np.arange(n)[:, None, None]
    step = rng.normal(0, 5, (n, 4, 30)) + np.array([-8, -2, 2, 8])[None, :, None]
    return outcomes((here + np.rint(step).astype(int)) % n, np.full(30, 1 / 30), np.cos(np.arange(n) / n * 20)[:, None])


def reservoir(n: int) -> Problem:
    """A dam with a wet and a dry season: how much water is let go (12 months x n levels)."""
    month, level = np.divmod(np.arange(12 * n), n)
    release = np.linspace(0, n // 3, 8).astype(int)[None]
    inflow = np.rint((n / 8) * (1 + np.sin(2 * np.pi * month / 12))).astype(int)[:, None, None]
    spread = np.array([-2, -1, 0, 1, 2])
    let = np.minimum(release, level[:, None])
    after = np.clip(level[:, None, None] - let[:, :, None] + np.maximum(inflow + spread, 0), 0, n - 1)
    need = n / 8 * (1 + 0.5 * np.cos(2 * np.pi * month / 12))
    pay = -((np.maximum(need[:, None] - let, 0) / n) ** 2) - 0.5 * np.maximum(level[:, None] - 0.9 * n, 0) / n
    return outcomes((month[:, None, None] + 1) % 12 * n + after, np.array([0.1, 0.2, 0.4, 0.2, 0.1]), pay)


class Kind(NamedTuple):
    """A problem to solve."""

    name: str
    build: Callable[[int], Problem]
    size: int
    gamma: float


KINDS = [
    Kind("garnet", garnet, 20_000, 0.99),
    Kind("garnet, far-sighted", garnet, 20_000, 0.9999),
    Kind("dense", full, 1_000, 0.999),
    Kind("inventory", inventory, 1_000, 0.99),
    Kind("inventory, far-sighted", inventory, 300, 0.999),
    Kind("two products", two_products, 60, 0.995),
    Kind("routing", routing, 60, 0.9999),
    Kind("routing, larger", routing, 150, 0.999),
    Kind("service rate", service_rate, 3_000, 0.9999),
    Kind("admission", admission, 2_000, 0.9999),
    Kind("polling", polling, 60, 0.999),
    Kind("chain", chain, 2_000, 0.9999),
    Kind("chain, long", chain, 20_000, 0.9999),
    Kind("cycle", cycle, 5_000, 0.999),
    Kind("clusters", clusters, 10_000, 0.9999),
    Kind("layers", layers, 10_000, 0.999),
    Kind("grid, certain", lambda n: grid(n, 0.0), 150, 0.999),
    Kind("grid, slippery", grid, 200, 0.999),
    Kind("grid, icy", lambda n: grid(n, 0.5), 100, 0.9999),
    Kind("maze", maze, 200, 0.99),
    Kind("corridor", corridor, 3_000, 0.9999),
    Kind("product", product, 10, 0.99),
    Kind("replacement", replacement, 400, 0.99),
    Kind("gambler", gambler, 2_000, 0.999),
    Kind("forest", forest, 5_000, 0.99),
    Kind("epidemic", epidemic, 100, 0.999),
    Kind("fishery", fishery, 3_000, 0.95),
    Kind("growth", growth, 500, 0.95),
    Kind("search for work", search_for_work, 300, 0.999),
    Kind("pendulum", pendulum, 100, 0.99),
    Kind("car", car, 100, 0.999),
    Kind("from data", from_data, 3_000, 0.999),
    Kind("reservoir", reservoir, 200, 0.99),
]
