"""The promise for average reward: no gain is further off than its bound says, for every structure of chains."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.core.clock import Clock
from rlsuite.errors import ConvergenceWarning, ModelError
from rlsuite.models import MDP
from rlsuite.planning import average_reward_policy_iteration, relative_value_iteration
from rlsuite.planning.long_run import long_run_structure


def check(mdp, solution, exact_gain, best_gain):
    optimum, achieved = best_gain(mdp), exact_gain(mdp, solution.policy.tolist())
    bound = Fraction(solution.error_bound)
    assert solution.error_bound >= 0.0
    for s in range(mdp.n_states):
        assert abs(Fraction(solution.gain[s]) - optimum[s]) <= bound
        assert optimum[s] - achieved[s] <= bound
        if mdp.legal[s].any():
            assert solution.optimal_actions[s, solution.policy[s]]
        else:
            assert solution.policy[s] == -1
            assert solution.gain[s] == solution.value[s] == 0.0
            assert not solution.optimal_actions[s].any()


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_policy_iteration_finds_the_best_of_all_policies(long_run_mdps, exact_gain, best_gain, data):
    mdp = data.draw(long_run_mdps())
    solution = average_reward_policy_iteration(mdp, tol=1e-9)
    assert solution.converged
    check(mdp, solution, exact_gain, best_gain)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_policy_iteration_with_masks_ends_and_any_rewards(random_mdps, exact_gain, best_gain, data):
    mdp = data.draw(random_mdps())
    solution = average_reward_policy_iteration(mdp, tol=1e-7)
    check(mdp, solution, exact_gain, best_gain)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_bounds_hold_for_every_policy_and_the_lower_one_is_tight(long_run_mdps, exact_gain, best_gain, data):
    from rlsuite.planning.gain_bounds import gain_bounds
    from rlsuite.planning.long_run import CompletedModel, gain_and_bias

    mdp = data.draw(long_run_mdps())
    policy = np.array([data.draw(st.sampled_from(np.flatnonzero(mdp.legal[s]).tolist())) for s in range(mdp.n_states)])
    structure = long_run_structure(mdp)
    model = CompletedModel(mdp, structure.ends)
    run = gain_and_bias(model.chain(policy))
    lower, upper = gain_bounds(model, structure, policy, run, Clock("this test"))
    optimum, achieved = best_gain(mdp), exact_gain(mdp, policy.tolist())
    for s in range(mdp.n_states):
        assert Fraction(lower[s]) <= achieved[s] <= optimum[s] <= Fraction(upper[s])
        assert abs(Fraction(lower[s]) - achieved[s]) <= Fraction(1, 10**10)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_relative_value_iteration_never_errs_by_more_than_its_bound(long_run_mdps, exact_gain, best_gain, data):
    mdp = data.draw(long_run_mdps())
    limit = data.draw(st.sampled_from([1, 3, 10, 100_000]))
    tau = data.draw(st.sampled_from([0.5, 0.9, 1.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if not long_run_structure(mdp).weakly_communicating:
            with pytest.raises(ModelError, match="average_reward_policy_iteration"):
                relative_value_iteration(mdp)
            return
        solution = relative_value_iteration(mdp, max_iterations=limit, tau=tau)
    assert solution.converged or limit < 100_000 or tau == 1.0
    check(mdp, solution, exact_gain, best_gain)
    assert np.ptp(solution.gain) == 0.0


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_policies_of_listed_actions_are_optimal(long_run_mdps, exact_gain, best_gain, data):
    mdp = data.draw(long_run_mdps())
    solution = average_reward_policy_iteration(mdp)
    listed = [np.flatnonzero(row).tolist() for row in solution.optimal_actions]
    policy = [data.draw(st.sampled_from(actions)) for actions in listed]
    achieved, optimum = exact_gain(mdp, policy), best_gain(mdp)
    assert [float(g) for g in achieved] == pytest.approx([float(g) for g in optimum], abs=1e-9)


def test_long_transient_walk_between_two_gains_is_certified():
    """Gambler's ruin over 400 states, between a circle of gain 1 and one of gain 0: the gain is linear in the stake."""
    n = 400
    successors = [[0], *([{s - 1, s + 1}] for s in range(1, n)), [n]]
    reward = [[0.0], *([[0.3]] * (n - 1)), [1.0]]
    solution = average_reward_policy_iteration(MDP.from_successors(successors, reward, gamma=1.0), tol=1e-6)
    np.testing.assert_allclose(solution.gain, np.arange(n + 1) / n, rtol=0, atol=solution.error_bound)
    assert solution.converged
    assert solution.error_bound < 1e-7
    assert solution.chains == "multichain"
