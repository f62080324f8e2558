"""Average reward against published values, closed forms and linear programs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, hstack, vstack

from rlsuite.models import MDP, MarkovChain
from rlsuite.planning import continuation_matrix, gain_and_bias, solve

pytestmark = pytest.mark.arithmetic

METHODS = ["average_reward_policy_iteration", "relative_value_iteration"]
both = pytest.mark.parametrize("method", METHODS)


@both
def test_taxicab_of_howard(method, taxicab, exact_gain, best_gain):
    """Howard 1960, section 4: 2, 2, 2 is optimal, with 13.34 per trip and relative values -1.18, 12.66, 0."""
    assert best_gain(taxicab) == exact_gain(taxicab, [1, 1, 1]) == [Fraction(1588, 119)] * 3
    assert [float(g) for g in exact_gain(taxicab, [0, 0, 0])] == pytest.approx([9.2] * 3)
    solution = solve(taxicab, method)
    assert solution.policy.tolist() == [1, 1, 1]
    assert solution.gain == pytest.approx([1588 / 119] * 3, abs=1e-6)
    assert (solution.value - solution.value[2]).round(2).tolist() == [-1.18, 12.66, 0.0]
    assert solution.optimal_actions.tolist() == [[False, True, False]] * 3
    assert solution.chains == "unichain"


@both
def test_toymaker_of_howard(method):
    """Howard 1960, section 3: advertise and do research, for 2 a week instead of 1; being successful is worth 10."""
    law = [[[0.5, 0.5], [0.8, 0.2]], [[0.4, 0.6], [0.7, 0.3]]]
    toymaker = MDP.from_arrays(law, [[6.0, 4.0], [-3.0, -5.0]], order="sas", gamma=1.0)
    solution = solve(toymaker, method, tol=1e-9)
    assert solution.policy.tolist() == [1, 1]
    assert solution.gain == pytest.approx([2.0, 2.0], abs=1e-9)
    assert solution.value[0] - solution.value[1] == pytest.approx(10.0, abs=1e-7)


@both
@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
def test_two_states_of_puterman_whatever_gamma(method, puterman, gamma):
    """P94 section 3.1: one ends in the second state, which pays -1; the coin (bias 12) is the better way (11)."""
    solution = solve(puterman(gamma), method)
    assert solution.gain == pytest.approx([-1.0, -1.0], abs=1e-6)
    assert solution.value[0] - solution.value[1] == pytest.approx(12.0, abs=1e-5)
    assert solution.policy.tolist() == [0, 0]


@both
def test_machine_replacement_has_the_best_of_all_cycles(method):
    """Age i costs i * i, a new machine 40: replacing at age n costs (40 + sum i * i) / (n + 1) per step."""
    oldest, price = 15, 40.0
    successors = [[min(age + 1, oldest), 0] for age in range(oldest + 1)]
    reward = [[-float(age * age), -price] for age in range(oldest + 1)]
    solution = solve(MDP.from_successors(successors, reward, gamma=1.0), method)
    costs = [(price + sum(i * i for i in range(n))) / (n + 1) for n in range(oldest + 1)]
    best_age = int(np.argmin(costs))
    assert 1 < best_age < oldest - 1
    assert solution.gain == pytest.approx([-min(costs)] * (oldest + 1), abs=1e-6)
    assert np.flatnonzero(solution.policy)[0] == best_age
    assert solution.error_bound <= 1e-6


def _queue(positions, arrive, serve, fee, cost):
    """A queue in slots: a customer comes with probability `arrive` and may be let in, for a fee; waiting costs."""
    rows, reward = [], []
    for here in range(positions + 1):
        up = arrive if here < positions else 0.0
        down = serve if here > 0 else 0.0
        for probability in (0.0, up):
            rows.append({here + 1: probability, here - 1: down, here: 1.0 - probability - down})
            reward.append(fee * probability - cost * here)
    indptr = [0, *np.cumsum([sum(p > 0 for p in row.values()) for row in rows])]
    pairs = [(to, p, paid) for row, paid in zip(rows, reward, strict=True) for to, p in row.items() if p > 0]
    to, p, paid = zip(*pairs, strict=True)
    return MDP.from_rows(indptr, to, p, paid, n_actions=2, gamma=1.0)


@both
@pytest.mark.parametrize(("arrive", "serve"), [(0.3, 0.4), (0.4, 0.3), (0.45, 0.5)])
def test_controlled_queue_lets_in_up_to_the_best_of_all_thresholds(method, arrive, serve):
    """Naor 1969: with a threshold n the queue is M/M/1/n, and its law proportional to (arrive / serve)^i."""
    positions, fee, cost = 20, 12.0, 0.5
    solution = solve(_queue(positions, arrive, serve, fee, cost), method, tol=1e-8)
    gains = []
    for threshold in range(positions + 1):
        law = (arrive / serve) ** np.arange(threshold + 1)
        law /= law.sum()
        gains.append(fee * arrive * (1.0 - law[-1]) - cost * law @ np.arange(threshold + 1))
    assert solution.gain == pytest.approx([max(gains)] * (positions + 1), abs=1e-8)
    assert np.argmin(solution.policy) == np.argmax(gains)


@both
def test_periodic_circle(method):
    """Two states in turn: without damping, plain sweeps would go back and forth for ever."""
    mdp = MDP.from_successors([[1], [0]], [[1.0], [0.0]], gamma=1.0)
    solution = solve(mdp, method)
    assert solution.gain == pytest.approx([0.5, 0.5], abs=1e-6)
    assert solution.value[0] - solution.value[1] == pytest.approx(0.5, abs=1e-6)


def _garnet(seed, states, actions, branches):
    rng = np.random.default_rng(seed)
    to = np.array([rng.choice(states, branches, replace=False) for _ in range(states * actions)])
    p = rng.dirichlet(np.ones(branches), states * actions)
    indptr = np.arange(states * actions + 1) * branches
    paid = np.repeat(rng.normal(size=states * actions), branches)
    return MDP.from_rows(indptr, to.ravel(), p.ravel(), paid, n_actions=actions, gamma=0.5)


def _gain_by_linear_program(mdp):
    """P94 section 9.3.1: minimise sum g subject to g >= P g and g + h >= r + P h for every pair."""
    pairs, states = mdp.n_states * mdp.n_actions, mdp.n_states
    source = coo_array((np.ones(pairs), (np.arange(pairs), np.arange(pairs) // mdp.n_actions)), shape=(pairs, states))
    legal = mdp.legal.ravel()
    law = continuation_matrix(mdp)
    left = vstack([hstack([law - source, 0 * law]), hstack([-source, law - source])]).tocsr()
    right = np.concatenate([np.zeros(pairs), -mdp.expected_reward().ravel()])
    use = np.concatenate([legal, legal])
    found = linprog(np.repeat([1.0, 0.0], states), left[use], right[use], bounds=(None, None), method="highs")
    assert found.status == 0
    return found.x[:states]


@both
@pytest.mark.parametrize("seed", range(4))
def test_random_models_agree_with_the_linear_program(method, seed):
    mdp = _garnet(seed, 40, 3, 4)
    solution = solve(mdp, method)
    np.testing.assert_allclose(solution.gain, _gain_by_linear_program(mdp), rtol=0, atol=2e-6)


@pytest.mark.parametrize("seed", range(6))
def test_random_models_of_several_chains_agree_with_the_linear_program(seed):
    """One or two successors per pair, among states of about the same number: few get everywhere."""
    rng = np.random.default_rng(seed)
    states, actions = 60, 2
    near = np.arange(states)[:, np.newaxis, np.newaxis] + rng.integers(-4, 3, size=(states, actions, 2))
    to = np.clip(near, 0, states - 1)
    share = rng.choice([0.25, 0.5], size=(states, actions, 1))
    p = np.concatenate([share, 1.0 - share], axis=2)
    paid = np.repeat(rng.normal(size=states * actions), 2)
    indptr = 2 * np.arange(states * actions + 1)
    mdp = MDP.from_rows(indptr, to.ravel(), p.ravel(), paid, n_actions=actions, gamma=1.0)
    solution = solve(mdp, "average_reward_policy_iteration", tol=1e-9)
    assert solution.converged
    np.testing.assert_allclose(solution.gain, _gain_by_linear_program(mdp), rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_deterministic_models_have_the_best_reachable_cycle(seed):
    """P94 section 9.5.3: the gain is the greatest mean of a cycle that can be reached (Karp 1978)."""
    rng = np.random.default_rng(seed)
    states = 8
    successors = rng.integers(0, states, size=(states, 2))
    reward = rng.integers(-5, 6, size=(states, 2)).astype(float)
    mdp = MDP.from_successors(successors.tolist(), reward.tolist(), gamma=1.0)
    best = np.full(states, -np.inf)
    for policy in itertools.product(range(2), repeat=states):
        for start in range(states):
            seen, here = [], start
            while here not in seen:
                seen.append(here)
                here = successors[here, policy[here]]
            cycle = seen[seen.index(here) :]
            best[start] = max(best[start], np.mean([reward[s, policy[s]] for s in cycle]))
    solution = solve(mdp, "average_reward_policy_iteration")
    np.testing.assert_allclose(solution.gain, best, rtol=0, atol=1e-12)


def test_several_chains_with_their_own_gains():
    """P94 Figure 9.0.1 in spirit: two closed circles, and a choice between them from outside."""
    mdp = MDP.from_successors([[1, 2], [1, None], [3, None], [2, None]], [[9, 0], [1, 0], [4, 0], [2, 0]], gamma=1.0)
    solution = solve(mdp, "average_reward_policy_iteration")
    assert solution.gain.tolist() == [3.0, 1.0, 3.0, 3.0]
    assert solution.policy.tolist() == [1, 0, 0, 0]
    assert solution.chains == "multichain"
    assert solution.value.tolist() == [-2.5, 0.0, 0.5, -0.5]
    # The way to the poorer circle pays 9 at once, and is not among the optimal actions all the same.
    assert solution.q[0, 0] > solution.q[0, 1]
    assert solution.optimal_actions.tolist() == [[False, True], [True, False], [True, False], [True, False]]


@both
def test_gain_is_the_stationary_law_times_the_reward(method):
    mdp = _garnet(5, 30, 3, 3)
    solution = solve(mdp, method, tol=1e-9)
    chain = MarkovChain.from_mdp(mdp, solution.policy)
    law = chain.stationary()
    assert solution.gain == pytest.approx([law @ chain.reward] * 30, abs=1e-9)
    if method == "average_reward_policy_iteration":
        assert law @ solution.value == pytest.approx(0.0, abs=1e-12)


@both
def test_episodes_that_end_have_gain_zero_and_the_value_of_the_way(method):
    """A shorter walk of S&B2 Example 6.2: the total reward until the end is the relative value."""
    walk = MDP.from_successors([[None], [{0, 2}], [{1, 3}], [{2, 4}], [None]], [0, 0, 0, 0.5, 0], gamma=1.0)
    solution = solve(walk, method)
    assert solution.gain.tolist() == [0.0] * 5
    assert solution.value == pytest.approx([0.0, 0.25, 0.5, 0.75, 0.0], abs=1e-5)
    assert solution.policy.tolist() == [-1, 0, 0, 0, -1]
    assert solution.chains == "unichain"


def test_a_queue_that_hardly_ever_empties_is_solved_to_full_precision():
    """The expected time until it is empty is 10^70 steps, so nothing may be computed relative to that state."""
    positions, up, down = 400, 0.6, 0.4
    law = coo_array(
        (
            np.concatenate([np.full(positions, up), np.full(positions, down), [down, up]]),
            (
                np.concatenate([np.arange(positions), np.arange(1, positions + 1), [0, positions]]),
                np.concatenate([np.arange(1, positions + 1), np.arange(positions), [0, positions]]),
            ),
        ),
        shape=(positions + 1, positions + 1),
    )
    found = gain_and_bias(MarkovChain(law, np.arange(positions + 1.0)))
    weights = (up / down) ** (np.arange(positions + 1.0) - positions)
    np.testing.assert_allclose(found.gain, weights @ np.arange(positions + 1.0) / weights.sum(), rtol=1e-12)
    residual = np.arange(positions + 1.0) - found.gain + law @ found.bias - found.bias
    assert np.abs(residual).max() < 1e-9


def test_bias_is_what_the_limit_of_sums_says():
    """P94 Theorem 8.2.3 for an aperiodic chain: h = sum (P^t - P*) r."""
    rng = np.random.default_rng(3)
    law = rng.dirichlet(np.ones(7), size=7)
    law[5:, 5:] = [[0.2, 0.3], [0.1, 0.1]]
    law[5, :5], law[6, :5] = [0.5, 0, 0, 0, 0], [0, 0, 0, 0, 0.8]
    law[:2, 2:] = law[2:5, :2] = law[2:5, 5:] = 0.0
    law[:5] /= law[:5].sum(axis=1, keepdims=True)
    reward = rng.normal(size=7)
    limit = np.linalg.matrix_power(law, 4096)
    fundamental = np.linalg.inv(np.eye(7) - law + limit)
    found = gain_and_bias(MarkovChain(law, reward))
    np.testing.assert_allclose(found.gain, limit @ reward, atol=1e-12)
    np.testing.assert_allclose(found.bias, (fundamental - limit) @ reward, atol=1e-11)
    assert len(np.unique(found.gain.round(9))) == 4
