"""Total reward at gamma = 1, against published numbers, other algorithms, and every policy of small models."""

import itertools
import warnings
from fractions import Fraction

import gymnasium
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import evaluate_policy, solve
from rlsuite.planning.mdp import stochastic_shortest_path as module
from rlsuite.planning.mdp.stochastic_shortest_path import stochastic_shortest_path

pytestmark = pytest.mark.arithmetic

EXACT, SWEEPS = 10**9, 0


@pytest.fixture(params=[EXACT, SWEEPS], ids=["exact", "sweeps"])
def engine(request, monkeypatch):
    """Every model is solved by linear systems, or every model by sweeps."""
    monkeypatch.setattr(module, "EXACT", request.param)


def gambler(p):
    """S&B2 Example 4.3; stake k is action k - 1."""
    successors = [[None] * 50 for _ in range(101)]
    for capital in range(1, 100):
        for stake in range(1, min(capital, 100 - capital) + 1):
            successors[capital][stake - 1] = {capital + stake: p, capital - stake: 1 - p}
    return MDP.from_successors(successors, lambda s, a, s2: 1.0 if s2 == 100 else 0.0, gamma=1.0)


def stakes(solution, capital):
    return (np.flatnonzero(solution.optimal_actions[capital]) + 1).tolist()


@pytest.mark.usefixtures("engine")
class TestTextbook:
    def test_small_gridworld(self, small_gridworld):
        solution = stochastic_shortest_path(small_gridworld)
        steps = [0, 1, 2, 3, 1, 2, 3, 2, 2, 3, 2, 1, 3, 2, 1, 0]
        np.testing.assert_allclose(solution.value, -np.array(steps, dtype=float), rtol=0, atol=1e-9)
        assert solution.converged
        assert solution.policy[[0, 15]].tolist() == [-1, -1]

    @pytest.mark.parametrize(
        ("p", "expected"),
        [
            (0.4, {1: 0.00206562, 25: 0.16, 50: 0.4, 51: 0.403098, 75: 0.64, 99: 0.964333}),
            (0.25, {25: 0.0625, 50: 0.25, 75: 0.4375, 99: 0.837972}),
        ],
    )
    def test_gambler(self, p, expected):
        solution = stochastic_shortest_path(gambler(p), tol=1e-10)
        for capital, value in expected.items():
            assert solution.value[capital] == pytest.approx(value, abs=5e-7)
        assert [stakes(solution, capital) for capital in (25, 50, 51, 75)] == [[25], [50], [1, 49], [25]]

    def test_aima_world(self):
        env = gymnasium.make("rlsuite/GridWorld-v0", map="AIMA4x3")
        mdp = env.unwrapped.model.replace(gamma=1.0)
        solution = stochastic_shortest_path(mdp)
        expected = sorted([0.812, 0.868, 0.918, 0.762, 0.660, 0.705, 0.655, 0.611, 0.388])
        np.testing.assert_allclose(sorted(solution.value[solution.value != 0.0]), expected, rtol=0, atol=5e-4)

    @pytest.mark.parametrize(
        ("env", "options", "start"),
        [
            ("rlsuite/CliffWalk-v0", {}, -13),
            ("rlsuite/WindyGrid-v0", {}, -15),
            ("rlsuite/WindyGrid-v0", {"moves": "kings"}, -7),
            ("rlsuite/WindyGrid-v0", {"moves": "kings+stay"}, -7),
        ],
    )
    def test_grids_of_chapter_6(self, env, options, start):
        mdp = gymnasium.make(env, **options).unwrapped.model.replace(gamma=1.0)
        solution = stochastic_shortest_path(mdp)
        assert solution.converged
        assert mdp.start @ solution.value == pytest.approx(start, abs=1e-9)

    def test_gymnasium_cliff(self):
        mdp = MDP.from_env("CliffWalking-v1", gamma=1.0)
        assert mdp.start @ stochastic_shortest_path(mdp).value == pytest.approx(-13, abs=1e-9)


def test_solve_without_a_method_at_gamma_1(small_gridworld):
    assert solve(small_gridworld).method == "stochastic_shortest_path"
    assert solve(small_gridworld.replace(gamma=0.9), gamma=1.0).value[3] == pytest.approx(-3)


def test_shortest_paths_are_those_of_dijkstra(engine):
    rng = np.random.default_rng(1959)
    for _ in range(20):
        states, actions = 60, 3
        to = rng.integers(states, size=(states, actions))
        cost = rng.uniform(0.1, 2.0, size=(states, actions))
        to[1:, 0] = rng.integers(np.arange(1, states))  # a way down to the goal, state 0
        graph = np.full((states, states), np.inf)
        np.minimum.at(graph, (np.repeat(np.arange(states), actions), to.reshape(-1)), cost.reshape(-1))
        edges = np.isfinite(graph) & ~np.eye(states, dtype=bool)
        row, column = (part.astype(np.int32) for part in np.nonzero(edges))  # SciPy 1.13 takes no others
        matrix = csr_array((graph[edges], (row, column)), shape=graph.shape)
        expected = dijkstra(matrix.T, indices=0)
        ends = [[None] * actions, *to[1:].tolist()]
        solution = stochastic_shortest_path(MDP.from_successors(ends, -cost, gamma=1.0), tol=1e-9)
        np.testing.assert_allclose(solution.value, -expected, rtol=0, atol=1e-9)
        assert solution.converged


def test_absorbing_states_that_earn_nothing_are_ends(engine):
    # The pair {2, 3} is never left and earns nothing; nobody may prefer to wander in it.
    mdp = MDP.from_successors([[1, 0], [2, 0], [3, 2], [2, 3]], [[-1, -1], [-5, -1], [0, 0], [0, 0]], gamma=1.0)
    solution = stochastic_shortest_path(mdp)
    assert solution.value.tolist() == pytest.approx([-6, -5, 0, 0])
    assert solution.converged


def test_rewards_on_the_way_may_be_positive(engine):
    # +1 and -2 in turn, again and again, costs; +1 once and then out is the best.
    mdp = MDP.from_successors([[1, 2], [0, 2], [None, None]], [[1, 0], [-2, 3], [0, 0]], gamma=1.0)
    solution = stochastic_shortest_path(mdp)
    assert solution.value.tolist() == pytest.approx([4, 3, 0])
    assert solution.converged


def test_large_model_encloses_the_exact_value():
    # A walk of 3,000 squares that ends at its left end, 0.7 to the left: h(s) = s / 0.4.
    states = 3_000
    steps = {s: {s - 1: 0.7, min(s + 1, states - 1): 0.3} for s in range(1, states)}
    mdp = MDP.from_successors([[None, None], *([steps[s], s] for s in range(1, states))], -np.ones(states), gamma=1.0)
    solution = stochastic_shortest_path(mdp)
    assert solution.converged
    expected = evaluate_policy(mdp, np.zeros(states, dtype=int))
    assert np.abs(solution.value - expected).max() <= solution.error_bound
    np.testing.assert_allclose(solution.value[:1000], -np.arange(1000) / 0.4, rtol=0, atol=1e-6)


def test_limit_and_deadline_leave_an_honest_bound(monkeypatch):
    monkeypatch.setattr(module, "EXACT", SWEEPS)
    walk = [[None], *([{s - 1: 0.5, s + 1: 0.5}] for s in range(1, 99)), [98]]
    mdp = MDP.from_successors(walk, -np.ones(100), gamma=1)
    with pytest.warns(ConvergenceWarning, match="max_iterations=1 reached"):
        solution = stochastic_shortest_path(mdp, max_iterations=1)
    exact = evaluate_policy(mdp, np.zeros(100, dtype=int))
    assert np.abs(solution.value - exact).max() <= solution.error_bound
    with pytest.warns(ConvergenceWarning, match="deadline"):
        assert stochastic_shortest_path(mdp, deadline=1e-9).error_bound == np.inf


def test_a_bad_policy_has_no_bound_but_is_returned():
    # Stopped at the first policy, which goes to the end at a cost of 100; a round trip costs no more than 1.
    mdp = MDP.from_successors([[2, 1], [0, 2], [None, None]], [[-100, -1], [0, -1], [0, 0]], gamma=1.0)
    with pytest.warns(ConvergenceWarning, match="max_iterations=1 reached"):
        solution = stochastic_shortest_path(mdp, max_iterations=1)
    assert solution.error_bound >= 98.0 - 1e-9
    assert stochastic_shortest_path(mdp).value.tolist() == [-2.0, -1.0, 0.0]


def test_discounted_models_are_for_other_methods(small_gridworld):
    with pytest.raises(ParameterError, match=r"needs gamma=1, and gamma is 0\.9; .*policy_iteration"):
        stochastic_shortest_path(small_gridworld.replace(gamma=0.9))


def test_values_that_overflow(engine):
    with pytest.raises(ModelError, match="overflow"):
        stochastic_shortest_path(MDP.from_successors([[1], [None]], [-1e308, 0], gamma=1.0))


# ------------------------------------------------------------------------------------------ every policy there is


def chain_of(mdp, policy):
    """Continuation probabilities and rewards of a policy, as fractions."""
    n = mdp.n_states
    matrix, reward = [[Fraction(0)] * n for _ in range(n)], [Fraction(0)] * n
    for s, a in enumerate(policy):
        for p, ahead, gain, terminated in mdp.P[s][a] if a is not None else []:
            reward[s] += Fraction(p) * Fraction(gain)
            matrix[s][ahead] += 0 if terminated else Fraction(p)
    return matrix, reward


def reach(n, edges, targets):
    """States from which some edge path leads to a target, themselves included."""
    found = set(targets)
    while True:
        more = {s for s in range(n) if s not in found and any(t in found for t in edges[s])}
        if not more:
            return found
        found |= more


def solved(matrix, right):
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


def restricted_value(matrix, right, states):
    system = [[Fraction(i == j) - matrix[i][j] for j in states] for i in states]
    return dict(zip(states, solved(system, [right[i] for i in states]), strict=True))


def mean_reward(matrix, reward, circle):
    """What a round from the first state back to it earns, divided by how long it takes."""
    first, others = circle[0], circle[1:]
    earned = restricted_value(matrix, reward, others)
    lasted = restricted_value(matrix, [Fraction(1)] * len(reward), others)
    return (reward[first] + sum(matrix[first][s] * earned[s] for s in others)) / (
        1 + sum(matrix[first][s] * lasted[s] for s in others)
    )


def optimum(mdp):
    """V* in rational arithmetic, by trying all deterministic policies; or what is wrong with the model."""
    n = mdp.n_states
    choices = [np.flatnonzero(mdp.legal[s]).tolist() or [None] for s in range(n)]
    whole = [{t for a in legal if a is not None for p, t, _, end in mdp.P[s][a] if p and not end}
             for s, legal in enumerate(choices)]  # fmt: skip
    earns = [s for s, legal in enumerate(choices) if any(
        sum(Fraction(p) * Fraction(r) for p, _, r, _ in mdp.P[s][a]) for a in legal if a is not None)]  # fmt: skip
    idle = set(range(n)) - reach(n, whole, earns)
    ends = {s for s, legal in enumerate(choices) for a in legal
            if a is None or any(p and end for p, _, _, end in mdp.P[s][a])}  # fmt: skip
    chains = [(policy, *chain_of(mdp, policy)) for policy in itertools.product(*choices)]
    resting = [free_circles(mdp, *chain, idle) for chain in chains]  # where a policy stays for nothing
    if len(reach(n, whole, idle | ends | set().union(*resting))) < n:
        return "no end can be reached"
    best = [None] * n
    worst_mean = None
    for (policy, matrix, reward), rests in zip(chains, resting, strict=True):
        edges = [{t for t in range(n) if matrix[s][t]} for s in range(n)]
        endless = set(range(n)) - reach(n, edges, out_of(mdp, policy) | idle | rests)
        for circle in circles(edges, endless):
            mean = mean_reward(matrix, reward, circle)
            worst_mean = mean if worst_mean is None else max(worst_mean, mean)
        if not endless:
            busy = [s for s in range(n) if s not in idle | rests]
            value = restricted_value(matrix, reward, busy)
            for s in range(n):
                v = value.get(s, Fraction(0))
                best[s] = v if best[s] is None else max(best[s], v)
    if worst_mean is not None and worst_mean >= 0:
        return "is earned per step" if worst_mean > 0 else "avoided for ever"
    return best


def out_of(mdp, policy):
    """States in which the episode may end."""
    return {s for s, a in enumerate(policy) if a is None or any(p and end for p, _, _, end in mdp.P[s][a])}


def circles(edges, endless):
    """The recurrent classes among states from which the end is never reached, each as a list."""
    found = []
    for s in sorted(endless):
        ahead = forward(edges, s)
        circle = [s, *(t for t in sorted(ahead) if t != s)]
        if s in ahead and all(s in forward(edges, t) for t in ahead) and not any(s in each for each in found):
            found.append(circle)
    return found


def free_circles(mdp, policy, matrix, reward, idle):
    n = mdp.n_states
    edges = [{t for t in range(n) if matrix[s][t]} for s in range(n)]
    endless = set(range(n)) - reach(n, edges, out_of(mdp, policy) | idle)
    return {s for circle in circles(edges, endless) if not any(reward[t] for t in circle) for s in circle}


def forward(edges, s):
    found, more = set(), set(edges[s])
    while more:
        found |= more
        more = {u for t in more for u in edges[t]} - found
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_against_all_policies(random_mdps, data):
    mdp = data.draw(random_mdps(gammas=(1.0,)))
    reward = np.rint(mdp.reward / 25.0)
    reward[np.abs(reward) <= data.draw(st.sampled_from([0, 0, 1, 4]))] = 0.0  # all of the same sign, and free circles
    mdp = mdp.replace(reward=reward - data.draw(st.sampled_from([0, 0, 1, 2, 3])))
    expected = optimum(mdp)
    if isinstance(expected, str):
        with pytest.raises(ModelError, match=expected):
            stochastic_shortest_path(mdp)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        limit = data.draw(st.sampled_from([1, 3, 100_000]))
        solution = stochastic_shortest_path(mdp, max_iterations=limit, tol=1e-8)
    if limit > 3:
        assert solution.converged
    if solution.error_bound == np.inf:
        return
    bound = Fraction(solution.error_bound)
    matrix, reward = chain_of(mdp, [a if a >= 0 else None for a in solution.policy.tolist()])
    for s in range(mdp.n_states):
        assert abs(Fraction(solution.value[s]) - expected[s]) <= bound
        for a in np.flatnonzero(mdp.legal[s]):
            q = sum(Fraction(p) * (Fraction(r) + (0 if end else expected[t])) for p, t, r, end in mdp.P[s][int(a)])
            assert abs(Fraction(solution.q[s, a]) - q) <= bound
            if q == expected[s]:
                assert solution.optimal_actions[s, a]
    busy = [s for s in range(mdp.n_states) if any(mdp.legal[s]) and expected[s] != 0]
    value = restricted_value(matrix, reward, list(range(mdp.n_states))) if not _idle(matrix) else None
    for s in busy if value else []:
        assert expected[s] - value[s] <= bound


def _idle(matrix):
    """Whether some state surely goes on for ever: then the linear system of the policy is singular."""
    n = len(matrix)
    edges = [{t for t in range(n) if matrix[s][t]} for s in range(n)]
    out = {s for s in range(n) if sum(matrix[s]) < Fraction(999, 1000)}
    return len(reach(n, edges, out)) < n
