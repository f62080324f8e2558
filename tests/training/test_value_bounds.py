import itertools
import math

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.training import value_bounds as module
from rlsuite.training.value_bounds import return_bounds, value_bounds


def test_they_are_the_extremes_over_all_policies():
    """Every deterministic policy of models of three states."""
    rng = np.random.default_rng(4)
    for trial in range(5):
        transitions = rng.dirichlet(np.ones(3), size=(3, 2))
        rewards = rng.normal(size=(3, 2)) + trial - 2
        mdp = rl.MDP.from_arrays(transitions, rewards, gamma=0.8, start=[0.5, 0.5, 0.0])
        values, totals = [], []
        for actions in itertools.product(range(2), repeat=3):
            policy = np.eye(2)[list(actions)]
            values.append(rl.planning.PolicyEvaluator(mdp)(policy))
            totals.append(rl.planning.PolicyEvaluator(mdp, gamma=1.0, horizon=1)(policy))
        np.testing.assert_allclose(value_bounds(mdp)[:2], (min(values), max(values)), rtol=1e-8)
        np.testing.assert_allclose(return_bounds(mdp, 1)[:2], (min(totals), max(totals)), rtol=1e-12)
        low, high, uniform = return_bounds(mdp, 6)  # policies may change from step to step
        assert uniform == rl.planning.PolicyEvaluator(mdp, gamma=1.0, horizon=6)(np.full((3, 2), 0.5))
        worst = rl.MDP.from_arrays(transitions, -rewards, gamma=1.0, start=[0.5, 0.5, 0.0])
        assert low == pytest.approx(-rl.solve(worst, horizon=6).value_at_start, rel=1e-12)
        assert high == pytest.approx(rl.solve(mdp.replace(gamma=1.0), horizon=6).value_at_start, rel=1e-12)


def test_long_episodes_of_large_models_are_bounded_by_rewards(monkeypatch):
    monkeypatch.setattr(module, "MOST_BACKUPS", 1_000)
    cliff = rl.MDP.from_env("CliffWalking-v1", gamma=1.0)
    assert return_bounds(cliff, 200)[:2] == (-20_000.0, -1.0)
    assert return_bounds(cliff, NO_LIMIT) == (-math.inf, -1.0, None)


def test_hidden_states_bound_by_what_is_known_of_them():
    tiger = rl.POMDP.from_env("rlsuite_envs:rlsuite/Tiger-v0", gamma=0.75)
    low, high, _ = value_bounds(tiger)
    assert low <= rl.solve(tiger).lower_bound <= high == pytest.approx(10.0 / (1.0 - 0.75))
