"""Visits of a policy, against what they add up to."""

import numpy as np

import rlsuite as rl
from rlsuite.planning.visits import decision_states, expected_visits, surely_ends


def test_visits_times_losses_are_what_a_policy_falls_short_of_the_optimum():
    """Kakade & Langford (2002), lemma 6.1, on random policies."""
    rng = np.random.default_rng(1)
    lake = rl.MDP.from_env("FrozenLake-v1", gamma=0.9)
    best = rl.solve(lake, tol=1e-12)
    for _ in range(3):
        policy = rng.dirichlet(np.ones(4), size=16)
        lost = (policy * (best.value[:, None] - best.q)).sum(axis=1)
        visits = expected_visits(lake, policy, gamma=0.9)
        value = rl.planning.PolicyEvaluator(lake)(policy)
        np.testing.assert_allclose(visits @ lost, best.value_at_start - value, atol=1e-10)
        np.testing.assert_allclose(expected_visits(lake, policy, gamma=0.9, horizon=400), visits, atol=1e-12)
    assert decision_states(lake).tolist() == [0, 1, 2, 3, 4, 6, 8, 9, 10, 13, 14]

    walk = rl.MDP.from_successors([[1], [2], [None]], [0, 0, 1], gamma=1.0)
    assert surely_ends(walk, np.ones((3, 1)))
    assert expected_visits(walk, np.ones((3, 1)), gamma=1.0).tolist() == [0.5, 1.0, 0.0]
    cliff = rl.MDP.from_env("CliffWalking-v1", gamma=0.9)
    assert not surely_ends(cliff, np.eye(4)[np.zeros(48, dtype=int)])
