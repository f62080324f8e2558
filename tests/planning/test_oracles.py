"""Every planner against two independent oracles, on 1,000 random small models.

The oracles share no code with rlsuite. They read the rows that the models are built from, not the models.

* Up to 4 states: policy iteration in rational arithmetic. V* is exact.
* Up to 30 states: the linear program of P94 (6.9.1), by SciPy's HiGHS. It is trusted for no digit: the greedy policy of
  its answer is evaluated in extended precision, and the residual of the Bellman equation, rounding included, says how
  far that can be from V*. The tests allow for that margin: about 1e-17 times the largest value over 1 - gamma where
  `numpy.longdouble` has 64 bits, a hundredth of what double precision can know.
"""

import functools
import inspect
import warnings
from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog

from rlsuite.errors import ConvergenceWarning
from rlsuite.models import MDP
from rlsuite.planning import methods, solve

pytestmark = pytest.mark.arithmetic

MODELS = 1_000
TINY = 840  # so many have up to 4 states, the others 5 to 30

# How the models are drawn, and how many there are of each kind at least (most have several of the features).
LEAST = {
    "dense": 120,  # from_arrays, every successor possible
    "sparse": 400,  # from_rows, a few successors
    "deterministic": 150,  # one successor for every action
    "masked": 250,  # some actions are illegal
    "ends": 250,  # states without legal actions
    "absorbing": 100,  # a state that is never left, and does not end the episode
    "duplicates": 250,  # a successor occurs twice in a row
    "mixed": 150,  # a state is entered both by transitions that end the episode and by others
    "terminal": 200,  # a state with legal actions is entered by transitions that end, and by no others
    "one state": 40,
    "all negative": 80,  # rewards
    "random rewards": 150,
    "gamma 0": 60,
    "gamma 0.9999": 60,
    "tiny": TINY,
    "linear program": MODELS - TINY,
}
LIMIT = 300
"""Iterations that a method may take: too few where values propagate in circles and gamma is close to 1."""
GAMMAS = (0.0, 0.3, 0.9, 0.95, 0.99, 0.999, 0.9999)

Row = list[tuple[float, int, float, bool]]
"""(probability, successor, mean reward, terminated) of each transition of a pair."""


class Case(NamedTuple):
    """A model and what it was built from."""

    rows: list[list[Row]]
    gamma: float
    mdp: MDP
    kinds: set[str]


# ------------------------------------------------------------------------------------------------------------- models


def draw(rng: np.random.Generator, tiny: bool) -> Case:
    """Draw a model."""
    states = int(rng.integers(1, 5)) if tiny else int(rng.integers(5, 31))
    actions = int(rng.integers(1, 4))
    gamma = float(rng.choice(GAMMAS, p=[0.1, 0.2, 0.2, 0.15, 0.15, 0.1, 0.1]))
    form = str(rng.choice(["dense", "sparse", "deterministic"], p=[0.2, 0.55, 0.25]))
    ends = int(rng.integers(1, states)) if states > 1 and rng.random() < 0.4 else 0
    legal = rng.random((states, actions)) < (0.6 if rng.random() < 0.6 else 1.0)
    legal[np.arange(states), rng.integers(actions, size=states)] = True
    legal[states - ends :] = False
    duplicates = form == "sparse" and rng.random() < 0.6
    # Which states end the episode: all ways into them, or some ways at random, or none but the ends.
    over = np.arange(states) >= states - ends
    if rng.random() < 0.4:
        over |= rng.random(states) < 0.3
    sometimes = 0.2 if form != "dense" and rng.random() < 0.4 else 0.0
    level, spread = rng.choice([0.0, 1.0, -20.0]), rng.choice([1.0, 10.0])
    rows: list[list[Row]] = []
    for s in range(states):
        rows.append([])
        stays = s < states - ends and not over[s] and rng.random() < 0.15
        for a in range(actions):
            rows[s].append([])
            if not legal[s, a]:
                continue
            width = {"dense": states, "deterministic": 1}.get(form, int(rng.integers(1, min(states, 4) + 1)))
            ahead = rng.permutation(states)[:width]
            if duplicates:
                ahead = rng.choice(ahead, size=width + 2)
            if stays:
                ahead = np.full(1, s)
            weights = rng.integers(1, 9, size=ahead.size)
            p = weights / weights.sum()
            for probability, there in zip(p.tolist(), ahead.tolist(), strict=True):
                reward = float(np.round(level + spread * rng.normal(), 1))
                rows[s][a].append((probability, there, reward, bool(over[there]) or rng.random() < sometimes))
    start = np.full(states, 0.0)
    start[int(rng.integers(states - ends))] = 1.0
    noise = rng.random((states, actions)) if rng.random() < 0.25 else None
    mdp = built(form, rows, gamma, start, noise)
    return Case(rows, gamma, mdp, kinds_of(form, rows, gamma, noise, tiny))


def built(form: str, rows: list[list[Row]], gamma: float, start: np.ndarray, noise: np.ndarray | None) -> MDP:
    """Build the model, dense ones by way of dense arrays."""
    states, actions = len(rows), len(rows[0])
    if form == "dense" and noise is None:
        P, R = np.zeros((2, states, actions, states))
        legal = np.array([[bool(row) for row in of] for of in rows])
        ended = np.zeros((states, actions, states), dtype=bool)
        for s in range(states):
            for a in range(actions):
                for p, there, r, terminated in rows[s][a]:
                    P[s, a, there], R[s, a, there], ended[s, a, there] = p, r, terminated
        return MDP.from_arrays(P, R, gamma=gamma, order="sas", terminated=ended, legal=legal, start=start)
    flat = [entry for of in rows for row in of for entry in row]
    return MDP.from_rows(
        np.cumsum([0, *(len(row) for of in rows for row in of)]),
        [there for _, there, _, _ in flat],
        [p for p, _, _, _ in flat],
        [r for _, _, r, _ in flat],
        terminated=[terminated for _, _, _, terminated in flat],
        n_actions=actions,
        gamma=gamma,
        start=start,
        reward_std=None if noise is None else noise * [[bool(row) for row in of] for of in rows],
    )


def kinds_of(form: str, rows: list[list[Row]], gamma: float, noise: np.ndarray | None, tiny: bool) -> set[str]:
    """Say what the model has, judged by its rows."""
    full = [(s, row) for s, of in enumerate(rows) for row in of if row]
    acting = {s for s, _ in full}
    going_on = {there for _, row in full for _, there, _, terminated in row if not terminated}
    ending = {there for _, row in full for _, there, _, terminated in row if terminated}
    whether = {
        form: True,
        "masked": any(not row for s in acting for row in rows[s]),
        "ends": len(acting) < len(rows),
        "absorbing": any(all(x[1] == s and not x[3] for row in rows[s] for x in row) for s in acting),
        "duplicates": any(len({x[1] for x in row}) < len(row) for _, row in full),
        "mixed": bool(going_on & ending),
        "terminal": bool((ending - going_on) & acting),
        "one state": len(rows) == 1,
        "all negative": all(x[2] < 0 for _, row in full for x in row),
        "random rewards": noise is not None,
        "gamma 0": gamma == 0.0,
        "gamma 0.9999": gamma == 0.9999,
        "tiny" if tiny else "linear program": True,
    }
    return {kind for kind, so in whether.items() if so}


@functools.cache
def cases() -> list[Case]:
    rng = np.random.default_rng(2_718)
    return [draw(rng, tiny=i < TINY) for i in range(MODELS)]


# ------------------------------------------------------------------------------------------------------------ oracles


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss-Jordan elimination."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = rows[i][i]  # I - gamma C is an M-matrix: no pivot is 0
        rows[i] = [x / pivot for x in rows[i]]
        for k in range(len(rows)):
            if k != i and (factor := rows[k][i]):
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


class Rational:
    """Policy iteration in rational arithmetic."""

    def __init__(self, case: Case) -> None:
        gamma = Fraction(case.gamma)
        self.n = len(case.rows)
        self.reward = [[sum((Fraction(p) * Fraction(r) for p, _, r, _ in row), Fraction(0)) for row in of]
                       for of in case.rows]  # fmt: skip
        self.follow: list[list[dict[int, Fraction]]] = [[{} for _ in of] for of in case.rows]
        for s, of in enumerate(case.rows):
            for a, row in enumerate(of):
                for p, there, _, terminated in row:
                    if not terminated:
                        self.follow[s][a][there] = self.follow[s][a].get(there, Fraction(0)) + gamma * Fraction(p)
        self.legal = [[a for a, row in enumerate(of) if row] for of in case.rows]
        policy = tuple(legal[0] if legal else -1 for legal in self.legal)
        while True:
            value = self.evaluate(policy)
            better = tuple(
                max(legal, key=lambda a, s=s: (self.q(s, a, value), a == policy[s])) if legal else -1
                for s, legal in enumerate(self.legal)
            )
            if better == policy:
                break
            policy = better
        self.value = value

    def q(self, s: int, a: int, value: list[Fraction]) -> Fraction:
        return self.reward[s][a] + sum((c * value[there] for there, c in self.follow[s][a].items()), Fraction(0))

    def evaluate(self, policy: tuple[int, ...]) -> list[Fraction]:
        matrix = [[Fraction(i == j) for j in range(self.n)] for i in range(self.n)]
        right = [Fraction(0)] * self.n
        for s, a in enumerate(policy):
            if a >= 0:
                right[s] = self.reward[s][a]
                for there, c in self.follow[s][a].items():
                    matrix[s][there] -= c
        return solved(matrix, right)


def check_with_fractions(case: Case, solutions: list) -> None:
    oracle = Rational(case)
    optimum = oracle.value
    q = [[oracle.q(s, a, optimum) if a in oracle.legal[s] else None for a in range(len(case.rows[0]))]
         for s in range(oracle.n)]  # fmt: skip
    losses: dict[tuple[int, ...], Fraction] = {}
    for solution in solutions:
        bound = Fraction(solution.error_bound)
        policy = tuple(solution.policy.tolist())
        if policy not in losses:
            losses[policy] = max(v - w for v, w in zip(optimum, oracle.evaluate(policy), strict=True))
        assert losses[policy] <= bound
        table, optimal = solution.q, solution.optimal_actions
        for s in range(oracle.n):
            assert abs(Fraction(solution.value[s]) - optimum[s]) <= bound
            assert (policy[s] == -1) == (not oracle.legal[s])
            for a, exact in enumerate(q[s]):
                if exact is None:
                    assert table[s, a] == -np.inf
                    assert not optimal[s, a]
                else:
                    assert abs(Fraction(table[s, a]) - exact) <= bound
                    assert optimal[s, a] or exact < optimum[s]


EXTENDED = np.longdouble
UNIT = float(np.finfo(EXTENDED).eps)


class Programmed:
    """The linear program, its greedy policy evaluated in extended precision."""

    def __init__(self, case: Case) -> None:
        states, actions = len(case.rows), len(case.rows[0])
        self.gamma = case.gamma
        self.legal = np.array([[bool(row) for row in of] for of in case.rows])
        self.reward = np.zeros((states, actions), dtype=EXTENDED)
        self.follow = np.zeros((states, actions, states), dtype=EXTENDED)
        size = 0.0
        for s, of in enumerate(case.rows):
            for a, row in enumerate(of):
                size = max(size, sum(p * abs(r) for p, _, r, _ in row))
                for p, there, r, terminated in row:
                    self.reward[s, a] += EXTENDED(p) * EXTENDED(r)
                    self.follow[s, a, there] += 0.0 if terminated else EXTENDED(p)
        acting = self.legal.any(axis=1)
        above = (np.eye(states)[:, np.newaxis] - case.gamma * self.follow.astype(float))[self.legal]
        program = linprog(
            np.ones(states),
            A_ub=-above,
            b_ub=-self.reward.astype(float)[self.legal],
            bounds=[(None, None) if acts else (0, 0) for acts in acting],
            method="highs",
        )
        assert program.status == 0
        self.size = size
        self.value, _ = self.evaluate(self.q(program.x.astype(EXTENDED)).argmax(axis=1))
        backed_up = np.where(acting, self.q(self.value).max(axis=1), 0.0)
        self.margin = self.distance(backed_up, self.value)

    def q(self, value: np.ndarray) -> np.ndarray:
        return np.where(self.legal, self.reward + self.gamma * (self.follow @ value), -np.inf)

    def evaluate(self, policy: np.ndarray) -> tuple[np.ndarray, float]:
        """Value of a policy and its error: elimination in double precision, refined in extended precision."""
        states = np.arange(policy.size)
        acting = self.legal.any(axis=1)
        chain = np.where(acting[:, np.newaxis], self.gamma * self.follow[states, policy], 0.0)
        reward = np.where(acting, self.reward[states, policy], 0.0)
        inverse = np.linalg.inv(np.eye(policy.size) - chain.astype(float))
        value = np.zeros(policy.size, dtype=EXTENDED)
        for _ in range(4):
            value = value + inverse @ (reward + chain @ value - value).astype(float)
        return value, self.distance(reward + chain @ value, value)

    def distance(self, backed_up: np.ndarray, value: np.ndarray) -> float:
        """How far V can be from the fixed point of T: |TV - V| / (1 - beta), with what rounding can hide in TV - V.

        An entry of TV goes through no more than S + 40 rounded operations: a row has at most S + 2 transitions.
        """
        largest = self.size + float(np.abs(value).max())
        residual = float(np.abs(backed_up - value).max()) + (value.size + 40) * UNIT * largest
        margin = 1.01 * residual / (1.0 - self.gamma * (1.0 + 1e-12))
        assert margin <= 1e-13 * largest / (1.0 - self.gamma)  # so small that it excuses nothing
        return margin


def check_with_linear_program(case: Case, solutions: list) -> None:
    oracle = Programmed(case)
    optimum, q, margin = oracle.value, oracle.q(oracle.value), oracle.margin
    for solution in solutions:
        allowed = solution.error_bound + margin
        value_of_policy, error = oracle.evaluate(solution.policy)
        assert (np.abs(solution.value - optimum) <= allowed).all()
        assert (optimum - value_of_policy <= allowed + error).all()
        assert (np.abs(np.where(oracle.legal, solution.q - np.where(oracle.legal, q, 0.0), 0.0)) <= allowed).all()
        assert ((solution.q == -np.inf) == ~oracle.legal).all()
        assert ((solution.policy == -1) == ~oracle.legal.any(axis=1)).all()
        may_be_optimal = oracle.legal & (q >= (optimum - 2.0 * margin)[:, np.newaxis])
        assert (solution.optimal_actions | ~may_be_optimal).all()
        assert not (solution.optimal_actions & ~oracle.legal).any()


# -------------------------------------------------------------------------------------------------------------- tests


def discounted_methods() -> list[str]:
    """All methods that solve a discounted model for ever: no horizon, no average, no undiscounted total."""
    other = ("average", "relative", "stochastic_shortest_path")
    return [
        name
        for name, function in methods(MDP).items()
        if "horizon" not in inspect.signature(function).parameters and not any(word in name for word in other)
    ]


def solved_by_all(case: Case, rng: np.random.Generator) -> list:
    """Solve a model by every method, now and then with a limit that is too low: the bound must hold all the same."""
    solutions = []
    for method in discounted_methods():
        accepted = inspect.signature(methods(MDP)[method]).parameters
        limit = int(rng.choice([1, 3, 20 if case.gamma > 0.99 else LIMIT], p=[0.05, 0.05, 0.9]))
        options = {"max_iterations": limit} if "max_iterations" in accepted else {}
        tol = float(rng.choice([1e-2, 1e-5, 1e-7]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solution = solve(case.mdp, method, tol=tol, rtol=0.0, **options)
        assert solution.converged == (solution.error_bound <= tol), method
        solutions.append(solution)
    return solutions


def test_every_kind_of_model_occurs():
    found = Counter(kind for case in cases() for kind in case.kinds)
    assert len(cases()) == MODELS
    assert {kind: found[kind] for kind in LEAST if found[kind] < LEAST[kind]} == {}
    assert {case.gamma for case in cases()} == set(GAMMAS)


def test_no_method_is_left_out():
    required = {"auto", "value_iteration", "gauss_seidel", "modified_policy_iteration", "policy_iteration"}
    assert required | {"linear_programming"} <= set(discounted_methods())


@pytest.mark.cases("0")
@pytest.mark.parametrize("part", range(10))
def test_no_error_exceeds_its_bound(part):
    rng = np.random.default_rng(part)
    converged = Counter()
    for case in cases()[part::10]:
        solutions = solved_by_all(case, rng)
        (check_with_fractions if "tiny" in case.kinds else check_with_linear_program)(case, solutions)
        converged.update(solution.converged for solution in solutions)
    assert converged[True] > 0.8 * converged.total()
