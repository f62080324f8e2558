"""Constrained problems and fronts of two rewards against all deterministic policies of small models.

The sums that policies attain are the convex hull of those of the deterministic ones, so the best mixture of these
within the limits is the optimum: a linear program over a few hundred policies, which shares nothing with the one over
pairs.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import rlsuite as rl
from rlsuite.errors import ModelError, ParameterError
from rlsuite.planning import constrained, evaluate_policy, pareto


def random_problem(seed, most_states=5):
    rng = np.random.default_rng(seed)
    states, actions, k = int(rng.integers(2, most_states)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    transitions = rng.dirichlet(np.full(states, 0.5), size=(states, actions))
    gamma = float(rng.choice([0.5, 0.9, 0.99]))
    mdp = rl.MDP.from_arrays(transitions, rng.normal(size=(states, actions)), gamma=gamma, order="sas", start=0)
    return rng, mdp, rng.normal(size=(k, states, actions))


def worth(mdp, reward):
    """Return what each deterministic policy is worth at the start in a reward."""
    model = mdp.replace(reward=reward)
    policies = itertools.product(range(mdp.n_actions), repeat=mdp.n_states)
    return np.array([evaluate_policy(model, list(policy))[0] for policy in policies])


def check_problem(seed):
    """Compare one problem; return whether it can be solved at all."""
    rng, mdp, costs = random_problem(seed)
    rewards = worth(mdp, mdp.expected_reward())
    paid = np.stack([worth(mdp, cost) for cost in costs])
    inside = paid @ rng.dirichlet(np.ones(rewards.size) * 0.1)
    limits = inside - rng.exponential(size=len(costs)) * (rng.random() < 0.4)
    truth = linprog(-rewards, A_ub=paid, b_ub=limits, A_eq=np.ones((1, rewards.size)), b_eq=[1.0])
    pairs = list(zip(costs, limits.tolist(), strict=True))
    if truth.status == 2:
        with pytest.raises(ModelError, match=r"no policy is within (the limit|all limits)"):
            constrained(mdp, pairs)
        return False
    found = constrained(mdp, pairs)
    assert found.converged
    assert found.value_at_start == pytest.approx(-truth.fun, abs=1e-6)
    assert found.value_at_start - 1e-9 <= -truth.fun + 1e-7 <= found.upper_bound + 2e-7
    assert found.violation > (found.costs - found.limits).max()  # rounding included
    assert len(found.random_states) <= len(costs)
    assert evaluate_policy(mdp, found.policy)[0] == pytest.approx(found.value_at_start, abs=1e-9)
    for cost, limit, said in zip(costs, limits, found.costs, strict=True):
        actual = evaluate_policy(mdp.replace(reward=cost), found.policy)[0]
        assert actual == pytest.approx(said, abs=1e-9)
        assert actual <= limit + 1e-9
    return True


def check_front(seed):
    _, mdp, costs = random_problem(seed)
    both = np.stack([worth(mdp, mdp.expected_reward()), worth(mdp, costs[0])], axis=1)
    front = pareto(mdp, ("reward", costs[0]))
    assert front.converged
    for corner, policy in zip(front.points, front.policies, strict=True):
        assert (np.abs(both - corner).max(axis=1) < 1e-9).any(), "a corner is a policy"
        assert evaluate_policy(mdp, policy)[0] == pytest.approx(corner[0], abs=1e-9)
    # Corners rise in one and fall in the other, and for no weights is a policy better than the best corner.
    assert (np.diff(front.points[:, 0]) > 0).all()
    assert (np.diff(front.points[:, 1]) < 0).all()
    for w in np.linspace(0.0, 1.0, 33):
        weights = np.array([w, 1.0 - w])
        assert (both @ weights).max() <= (front.points @ weights).max() + 1e-6
    return len(front.points)


def test_against_mixtures_of_all_policies():
    feasible = [check_problem(seed) for seed in range(30)]
    assert 0 < sum(feasible) < 30
    assert max(check_front(seed) for seed in range(15)) > 3


@pytest.mark.slow
def test_against_mixtures_of_all_policies_of_many_models():
    for seed in range(30, 400):
        check_problem(seed)
        check_front(seed)


def test_a_textbook_problem(tmp_path):
    """To the goal by the short way through traps, or round them: as much risk as is allowed, and no more."""
    short, round_ = {1: 0.9, 2: 0.1}, {3: 1.0}
    mdp = rl.MDP.from_successors(
        [[short, round_], [1, None], [2, None], [{4: 1.0}, None], [{1: 1.0}, None]],
        [[10, 0], [0, 0], [0, 0], [0, 0], [10, 0]],
        gamma=0.9,
        start=0,
    )
    trap = np.zeros((5, 2))
    trap[0, 0] = 0.1
    for allowed in (0.0, 0.05, 0.1):
        found = constrained(mdp, (trap, allowed))
        share = allowed / 0.1
        assert found.policy[0] == pytest.approx([share, 1 - share], abs=1e-9)
        assert found.value_at_start == pytest.approx(share * 10 + (1 - share) * 8.1, abs=1e-9)
        assert found.costs[0] <= allowed + 1e-12
    assert found.columns()["state"] == list("01234")
    found.save(tmp_path / "plan.npz")
    again = rl.load(tmp_path / "plan.npz")
    assert np.array_equal(again.policy, found.policy)
    assert again.upper_bound == found.upper_bound
    assert "<" in again._repr_html_()
    # Of the steps until the goal, at gamma 1: two are possible only by the risky way.
    loop = rl.MDP.from_successors([[{0: 0.5, 1: 0.5}, 1], [None, None]], [[3, 0], [0, 0]], gamma=1.0, start=0)
    free = rl.constrained(loop, ("steps", 5.0))
    assert free.value_at_start == pytest.approx(6.0)
    assert constrained(loop, ("steps", 1.5)).value_at_start == pytest.approx(3.0, abs=1e-9)


def test_what_cannot_be_solved_is_said():
    mdp = rl.MDP.from_successors([[0, 0]], [[10, 4]], gamma=0.9)
    cost = [[5, 1]]
    for call, error, words in (
        (lambda: constrained(mdp, (cost, 5.0)), ModelError, "the least cost at the start is 10, and 5 is allowed"),
        (lambda: constrained(mdp, [(cost, 30), ("steps", 9)]), ModelError, "of cost 1, the least at the start is 10"),
        (lambda: constrained(mdp, cost), ParameterError, "constraint is a pair"),
        (lambda: constrained(mdp, []), ParameterError, "constraint is a pair"),
        (lambda: constrained(mdp, 5.0), ParameterError, "constraint is a pair"),
        (lambda: constrained(mdp, (cost, float("nan"))), ParameterError, "limit"),
        (lambda: constrained(mdp, ([[5, 1, 2]], 1.0)), ParameterError, r"of has shape \(1, 3\)"),
        (lambda: rl.solve(mdp, constraint=(cost, 30)), ParameterError, r"write rl\.constrained\(mdp, constraint\)"),
        (lambda: pareto(mdp, ("reward",)), ParameterError, "are not two"),
        (lambda: pareto(mdp, ("reward", "rewards")), ParameterError, "did you mean 'reward'"),
        (lambda: pareto(mdp, ("reward", cost), most_points=1), ParameterError, "most_points"),
        (lambda: pareto(mdp, ("reward", -np.array(cost))).mixture(101), ParameterError, "more than the largest"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert pareto(mdp, ("reward", -np.array(cost))).mixture(70) == (0, 1, pytest.approx(0.5))
