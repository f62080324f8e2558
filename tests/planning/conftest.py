"""Models with known answers, random models, and independent oracles for the planning tests.

Strategies and oracles are handed out as fixtures that return functions, because test modules cannot import one another.
"""

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from rlsuite.models import MDP, POMDP

LEFT, RIGHT, UP, DOWN = range(4)
MOVES = {LEFT: (0, -1), RIGHT: (0, 1), UP: (-1, 0), DOWN: (1, 0)}

# ------------------------------------------------------------------------------------------ models with known answers


def _grid(rows: int, columns: int, ends: set[int], *, walls: str) -> list[list[int | None]]:
    """Successors in a grid numbered row by row from the top; `walls` says what a move off the grid does."""
    table: list[list[int | None]] = []
    for cell in range(rows * columns):
        row, column = divmod(cell, columns)
        moves: list[int | None] = []
        for drow, dcolumn in MOVES.values():
            inside = 0 <= row + drow < rows and 0 <= column + dcolumn < columns
            moves.append((row + drow) * columns + column + dcolumn if inside else cell if walls == "stay" else None)
        table.append([None] * 4 if cell in ends else moves)
    return table


# The lecture notes number the 2 x 3 grid S0 S1 S2 (bottom row), S3 S4 G (top row).
NOTES = [3, 4, 5, 0, 1, 2]


@pytest.fixture(scope="session")
def grid_goal() -> Callable[..., MDP]:
    """Lecture notes, Figs 9.6-9.8: states in the order S0 S1 S2 S3 S4 G, actions L R U D."""

    def build(gamma: float = 0.9, walls: str = "illegal") -> MDP:
        by_cell = _grid(2, 3, {2}, walls=walls)
        successors = [[None if to is None else NOTES.index(to) for to in by_cell[cell]] for cell in NOTES]
        return MDP.from_successors(successors, lambda s, a, s2: 100.0 if s2 == 5 else 0.0, gamma=gamma, start=0)

    return build


@pytest.fixture(scope="session")
def nondeterministic_grid_goal() -> MDP:
    """Lecture notes, Fig. 9.10, reading A: Right from the left column goes one or two squares."""
    by_cell = _grid(2, 3, {2}, walls="illegal")
    successors = [[None if to is None else NOTES.index(to) for to in by_cell[cell]] for cell in NOTES]
    successors[0][RIGHT] = {1, 2}
    successors[3][RIGHT] = {4, 5}
    return MDP.from_successors(successors, lambda s, a, s2: 100.0 if s2 == 5 else 0.0, gamma=0.9, start=0)


@pytest.fixture(scope="session")
def gridworld_with_jumps() -> MDP:
    """S&B2 Example 3.5: from A = (0, 1) to (4, 1) for 10, from B = (0, 3) to (2, 3) for 5, -1 for leaving the grid."""
    successors = _grid(5, 5, set(), walls="stay")
    reward = [[-1.0 if to == cell else 0.0 for to in moves] for cell, moves in enumerate(successors)]
    for cell, to, gain in ((1, 21, 10.0), (3, 13, 5.0)):
        successors[cell] = [to] * 4
        reward[cell] = [gain] * 4
    return MDP.from_successors(successors, reward, gamma=0.9)


@pytest.fixture(scope="session")
def small_gridworld() -> MDP:
    """S&B2 Example 4.1: 4 x 4, two corners are the end, -1 per step, undiscounted."""
    return MDP.from_successors(_grid(4, 4, {0, 15}, walls="stay"), [-1.0] * 16, gamma=1.0)


@pytest.fixture(scope="session")
def puterman() -> Callable[[float], MDP]:
    """P94 section 3.1: two states; in the first 5 and a coin, or 10 and on to the second, which pays -1 for ever."""

    def build(gamma: float) -> MDP:
        return MDP.from_successors([[{0, 1}, 1], [1, None]], [[5.0, 10.0], [-1.0, 0.0]], gamma=gamma, start=0)

    return build


@pytest.fixture(scope="session")
def tiger() -> Callable[[float], POMDP]:
    """KLC98 section 5: listen, open left, open right; after opening the tiger is placed anew."""

    def build(gamma: float) -> POMDP:
        stay, again = np.eye(2), np.full((2, 2), 0.5)
        reward = [[-1.0, -1.0], [-100.0, 10.0], [10.0, -100.0]]
        heard, nothing = [[0.85, 0.15], [0.15, 0.85]], [[0.5, 0.5], [0.5, 0.5]]
        return POMDP.from_arrays(
            [stay, again, again], reward, [heard, nothing, nothing], order="ass", gamma=gamma, start=[0.5, 0.5]
        )

    return build


# -------------------------------------------------------------------------------------------------------- random models


@pytest.fixture(scope="session")
def random_mdps() -> Callable[..., st.SearchStrategy[MDP]]:
    """Small MDPs with everything that a row can hold.

    Masks, ends, successors that occur twice, probability zero, transitions that end although their successor leads on,
    random rewards, and every kind of gamma.
    """

    @st.composite
    def draw_mdp(draw: st.DrawFn, gammas: tuple[float, ...] = (0.0, 0.3, 0.9, 0.99, 0.9999), size: int = 4) -> MDP:
        n_states = draw(st.integers(1, size))
        n_actions = draw(st.integers(1, 3))
        n_ends = draw(st.integers(0, n_states - 1))
        indptr, next_state, probability, reward, terminated = [0], [], [], [], []
        for s in range(n_states):
            acting = s < n_states - n_ends
            legal = draw(st.sets(st.integers(0, n_actions - 1), min_size=1)) if acting else set()
            for a in range(n_actions):
                if a in legal:
                    weights = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any))
                    for weight in weights:
                        ahead = draw(st.integers(0, n_states - 1))
                        next_state.append(ahead)
                        probability.append(weight / sum(weights))
                        reward.append(draw(st.floats(-100, 100)))
                        terminated.append(ahead >= n_states - n_ends or draw(st.integers(0, 3)) == 0)
                indptr.append(len(next_state))
        noise = draw(st.booleans())
        return MDP.from_rows(
            indptr,
            next_state,
            probability,
            reward,
            n_actions=n_actions,
            gamma=draw(st.sampled_from(gammas)),
            terminated=terminated,
            reward_std=np.ones(n_states * n_actions) if noise else None,
        )

    return draw_mdp


@pytest.fixture(scope="session")
def random_pomdps(random_mdps: Callable[..., st.SearchStrategy[MDP]]) -> Callable[..., st.SearchStrategy[POMDP]]:
    """Small POMDPs in which every action is legal in every state that leads on."""

    @st.composite
    def draw_pomdp(draw: st.DrawFn, gammas: tuple[float, ...] = (0.5, 0.9, 1.0), size: int = 3) -> POMDP:
        mdp = draw(random_mdps(gammas=gammas, size=size).filter(_all_or_nothing_legal))
        n_observations = draw(st.integers(1, 2))
        observation = np.empty((mdp.n_actions, mdp.n_states, n_observations))
        for row in observation.reshape(-1, n_observations):
            weights = draw(st.lists(st.integers(0, 4), min_size=n_observations, max_size=n_observations).filter(any))
            row[:] = np.array(weights) / sum(weights)
        return POMDP(mdp, observation)

    return draw_pomdp


def _all_or_nothing_legal(mdp: MDP) -> bool:
    return bool((mdp.legal.all(axis=1) | ~mdp.legal.any(axis=1)).all())


# ------------------------------------------------------------------------------------------------------------- oracles


def _lookahead(mdp: MDP, s: int, a: int, value: list[Fraction]) -> Fraction:
    """q(s, a) in rational arithmetic, straight from the rows."""
    total = _paid(mdp, s, a)
    for p, ahead, _, terminated in mdp.P[s][a]:
        total += 0 if terminated else Fraction(p) * Fraction(mdp.gamma) * value[ahead]
    return total


def _paid(mdp: MDP, s: int, a: int) -> Fraction:
    """r(s, a): as it is given, or the mean of those of the transitions, whose probabilities need not add up to 1."""
    if mdp.reward_per_pair:
        return Fraction(float(mdp.reward[s * mdp.n_actions + a]))
    return sum((Fraction(p) * Fraction(reward) for p, _, reward, _ in mdp.P[s][a]), Fraction(0))


def _solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss-Jordan elimination in rational arithmetic."""
    n = len(right)
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i and rows[k][i]:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[n] for row in rows]


@pytest.fixture(scope="session")
def exact_q() -> Callable[[MDP, list[Fraction]], list[list[Fraction | None]]]:
    """The lookahead in rational arithmetic, None for illegal actions."""

    def compute(mdp: MDP, value: list[Fraction]) -> list[list[Fraction | None]]:
        return [
            [_lookahead(mdp, s, a, value) if mdp.legal[s, a] else None for a in range(mdp.n_actions)]
            for s in range(mdp.n_states)
        ]

    return compute


@pytest.fixture(scope="session")
def exact_value() -> Callable[..., list[Fraction]]:
    """V* in rational arithmetic: policy iteration with exact elimination. Or V_pi, if a policy is given."""

    def compute(mdp: MDP, given: list[int] | None = None) -> list[Fraction]:
        gamma = Fraction(mdp.gamma)
        n = mdp.n_states
        choices = [np.flatnonzero(mdp.legal[s]).tolist() for s in range(n)]
        if given is not None:
            choices = [[given[s]] if legal else [] for s, legal in enumerate(choices)]
        policy = [legal[0] if legal else None for legal in choices]
        while True:
            matrix = [[Fraction(i == j) for j in range(n)] for i in range(n)]
            right = [Fraction(0)] * n
            for s, a in enumerate(policy):
                right[s] = Fraction(0) if a is None else _paid(mdp, s, a)
                for p, ahead, _, terminated in mdp.P[s][a] if a is not None else []:
                    matrix[s][ahead] -= 0 if terminated else gamma * Fraction(p)
            value = _solved(matrix, right)
            improved = [
                max(legal, key=lambda a, s=s: (_lookahead(mdp, s, a, value), a == policy[s])) if legal else None
                for s, legal in enumerate(choices)
            ]
            if improved == policy:
                return value
            policy = improved

    return compute


# ------------------------------------------------------------------------------------------------------ average reward


@pytest.fixture(scope="session")
def long_run_mdps() -> Callable[..., st.SearchStrategy[MDP]]:
    """Small MDPs of every structure of chains: few successors per row, few rewards, so that ties and classes abound."""

    @st.composite
    def draw_mdp(draw: st.DrawFn, size: int = 4, ending: bool = True) -> MDP:
        n_states = draw(st.integers(1, size))
        n_actions = draw(st.integers(1, 3))
        ends = ending and draw(st.booleans())
        indptr, next_state, probability, reward, terminated = [0], [], [], [], []
        for _ in range(n_states):
            legal = draw(st.sets(st.integers(0, n_actions - 1), min_size=1))
            for a in range(n_actions):
                if a in legal:
                    weights = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3).filter(any))
                    for weight in weights:
                        next_state.append(draw(st.integers(0, n_states - 1)))
                        probability.append(weight / sum(weights))
                        reward.append(draw(st.sampled_from([-1.0, 0.0, 0.0, 1.0, 1.0, 7.0, 0.1])))
                        terminated.append(ends and draw(st.integers(0, 3)) == 0)
                indptr.append(len(next_state))
        gamma = draw(st.sampled_from([0.0, 0.9, 1.0]))
        return MDP.from_rows(
            indptr, next_state, probability, reward, n_actions=n_actions, gamma=gamma, terminated=terminated
        )

    return draw_mdp


def _rational_gain(law: list[list[Fraction]], reward: list[Fraction]) -> list[Fraction]:
    """The gain of a chain, from its classes, their stationary laws, and the probabilities of absorption."""
    n = len(reward)
    reach = [[law[i][j] > 0 or i == j for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                reach[i][j] = reach[i][j] or (reach[i][k] and reach[k][j])
    recurrent = [all(reach[j][i] for j in range(n) if reach[i][j]) for i in range(n)]
    gain = [Fraction(0)] * n
    for i in range(n):
        if recurrent[i]:
            members = [j for j in range(n) if reach[i][j]]
            # pi (P - I) = 0 with the first equation replaced by sum pi = 1
            matrix = [[law[row][column] - (row == column) for row in members] for column in members]
            matrix[0] = [Fraction(1)] * len(members)
            pi = _solved(matrix, [Fraction(k == 0) for k in range(len(members))])
            gain[i] = sum(p * reward[j] for p, j in zip(pi, members, strict=True))
    passing = [i for i in range(n) if not recurrent[i]]
    if passing:
        matrix = [[Fraction(i == j) - law[i][j] for j in passing] for i in passing]
        right = [sum((law[i][j] * gain[j] for j in range(n) if recurrent[j]), Fraction(0)) for i in passing]
        for i, found in zip(passing, _solved(matrix, right), strict=True):
            gain[i] = found
    return gain


@pytest.fixture(scope="session")
def exact_gain() -> Callable[[MDP, list[int]], list[Fraction]]:
    """The gain of a policy in rational arithmetic; an ended episode earns 0, and rows are divided by their sums."""

    def compute(mdp: MDP, policy: list[int]) -> list[Fraction]:
        n = mdp.n_states
        law = [[Fraction(0)] * (n + 1) for _ in range(n + 1)]
        reward = [Fraction(0)] * (n + 1)
        law[n][n] = Fraction(1)
        for s, a in enumerate(policy):
            row = mdp.P[s][a] if a >= 0 else [(1.0, 0, 0.0, True)]
            total = sum(Fraction(p) for p, *_ in row)
            for p, ahead, paid, terminated in row:
                law[s][n if terminated else ahead] += Fraction(p) / total
                reward[s] += Fraction(p) / total * Fraction(paid)
        return _rational_gain(law, reward)[:n]

    return compute


@pytest.fixture(scope="session")
def best_gain(exact_gain: Callable[[MDP, list[int]], list[Fraction]]) -> Callable[[MDP], list[Fraction]]:
    """The optimal gain of each state: the best of all deterministic policies."""

    def compute(mdp: MDP) -> list[Fraction]:
        choices = [np.flatnonzero(mdp.legal[s]).tolist() or [-1] for s in range(mdp.n_states)]
        gains = [exact_gain(mdp, list(policy)) for policy in itertools.product(*choices)]
        return [max(column) for column in zip(*gains, strict=True)]

    return compute


@pytest.fixture(scope="session")
def taxicab() -> MDP:
    """Howard 1960, pages 44 to 52: cruise, wait at a stand, wait for a radio call; towns A, B (no radio), C."""
    half, quarter, eighth, sixteenth = 1 / 2, 1 / 4, 1 / 8, 1 / 16
    law = [
        *(half, quarter, quarter, sixteenth, 3 / 4, 3 / 16, quarter, eighth, 5 / 8),
        *(half, 0, half, sixteenth, 7 / 8, sixteenth),
        *(quarter, quarter, half, eighth, 3 / 4, eighth, 3 / 4, sixteenth, 3 / 16),
    ]
    fares = [10, 4, 8, 8, 2, 4, 4, 6, 4, 14, 0, 18, 8, 16, 8, 10, 2, 8, 6, 4, 2, 4, 0, 8]
    indptr = [0, 3, 6, 9, 12, 15, 15, 18, 21, 24]
    return MDP.from_rows(indptr, [0, 1, 2] * 8, law, fares, n_actions=3, gamma=1.0)
