import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import backward_induction, evaluate_policy, solve

pytestmark = pytest.mark.arithmetic


def uniform(mdp):
    return mdp.legal / np.maximum(mdp.legal.sum(axis=1, keepdims=True), 1)


def test_uniform_policy_on_the_grid_goal(grid_goal):
    # lecture notes, Figs 9.6-9.8: derived values
    for walls, expected in (
        ("illegal", [49.096786, 57.281379, 75.776621, 51.822589, 66.064524, 0]),
        ("stay", [32.831066, 44.094746, 63.493305, 36.158971, 55.557531, 0]),
    ):
        mdp = grid_goal(0.9, walls)
        np.testing.assert_allclose(evaluate_policy(mdp, uniform(mdp)), expected, rtol=0, atol=5e-7)


def test_gridworld_with_jumps(gridworld_with_jumps):
    # S&B2 Fig. 3.2, to four decimals
    expected = [
        [3.3090, 8.7893, 4.4276, 5.3224, 1.4922],
        [1.5216, 2.9923, 2.2501, 1.9076, 0.5474],
        [0.0508, 0.7382, 0.6731, 0.3582, -0.4031],
        [-0.9736, -0.4355, -0.3549, -0.5856, -1.1831],
        [-1.8577, -1.3452, -1.2293, -1.4229, -1.9752],
    ]
    value = evaluate_policy(gridworld_with_jumps, uniform(gridworld_with_jumps))
    np.testing.assert_allclose(value.reshape(5, 5), expected, rtol=0, atol=5.1e-5)


def test_small_gridworld_undiscounted(small_gridworld):
    # S&B2 Fig. 4.1
    expected = [0, -14, -20, -22, -14, -18, -20, -20, -20, -20, -18, -14, -22, -20, -14, 0]
    value = evaluate_policy(small_gridworld, uniform(small_gridworld))
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-10)
    # Fig. 4.1 also shows the value after k = 2 sweeps, which is that of a horizon of 2 steps
    np.testing.assert_allclose(
        evaluate_policy(small_gridworld, uniform(small_gridworld), horizon=2)[1:4], [-1.75, -2, -2], rtol=0, atol=1e-12
    )


def test_end_modelled_as_a_state_that_pays_nothing_for_ever(small_gridworld):
    # The same grid without a single terminated transition: the corners stay where they are, for nothing.
    P, R = small_gridworld.dense()
    P[[0, 15], :, [0, 15]] = 1.0
    textbook = MDP.from_arrays(P, R, gamma=1.0)
    assert not textbook.terminated.any()
    np.testing.assert_allclose(
        evaluate_policy(textbook, np.full((16, 4), 0.25)),
        evaluate_policy(small_gridworld, uniform(small_gridworld)),
        rtol=0,
        atol=1e-10,
    )


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_value_satisfies_the_bellman_equation_of_the_policy(random_mdps, data):
    mdp = data.draw(random_mdps())
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=mdp.legal.size, max_size=mdp.legal.size)))
    policy = weights.reshape(mdp.legal.shape) * mdp.legal
    policy = policy / np.maximum(policy.sum(axis=1, keepdims=True), 1)
    value = evaluate_policy(mdp, policy)
    # S&B2 (4.4), term by term from the rows
    backed_up = [
        sum(
            policy[s, a] * p * (r + (0.0 if ended else mdp.gamma * value[ahead]))
            for a in range(mdp.n_actions)
            for p, ahead, r, ended in mdp.P[s][a]
        )
        for s in range(mdp.n_states)
    ]
    np.testing.assert_allclose(value, backed_up, rtol=0, atol=1e-11 * max(1.0, np.abs(value).max()) + 1e-12)


@pytest.mark.slow
@settings(deadline=None)
@given(data=st.data())
def test_optimal_policy_has_the_optimal_value_and_no_other_has_more(random_mdps, data):
    mdp = data.draw(random_mdps())
    solution = solve(mdp, tol=1e-4)
    optimal = evaluate_policy(mdp, solution.policy)
    np.testing.assert_allclose(optimal, solution.value, rtol=0, atol=1e-4)
    other = [data.draw(st.sampled_from(np.flatnonzero(row).tolist() or [-1])) for row in mdp.legal]
    assert (evaluate_policy(mdp, other) <= solution.value + 1e-4).all()


def test_large_models_are_solved_sparsely_to_the_same_value():
    # A ring of 500 states is past the limit of the dense solver; its value is a geometric series.
    n, gamma = 500, 0.99
    mdp = MDP.from_successors([[(s + 1) % n] for s in range(n)], [1.0 * (s == 0) for s in range(n)], gamma=gamma)
    expected = gamma ** ((n - np.arange(n)) % n) / (1 - gamma**n)
    np.testing.assert_allclose(evaluate_policy(mdp, [0] * n), expected, rtol=1e-12)


def test_horizon_is_the_value_of_the_first_steps(grid_goal):
    mdp = grid_goal()
    solution = backward_induction(mdp, horizon=1)
    assert evaluate_policy(mdp, solution.policy, horizon=1).tolist() == solution.value.tolist()
    long = evaluate_policy(mdp, uniform(mdp), horizon=1000)
    np.testing.assert_allclose(long, evaluate_policy(mdp, uniform(mdp)), rtol=0, atol=1e-9)
    with pytest.raises(ParameterError, match="horizon=0"):
        evaluate_policy(mdp, uniform(mdp), horizon=0)


def test_undiscounted_policy_that_goes_round_for_ever_is_named(grid_goal):
    # S0 and S1 pass the agent to and fro; the message names a state of that loop, not S3 beside it.
    with pytest.raises(ParameterError, match=r"from state [01] this policy may never reach an end.*horizon="):
        evaluate_policy(grid_goal(gamma=1.0).replace(reward=np.ones(12)), [1, 0, 2, 3, 1, -1])


def test_loop_that_earns_nothing_has_no_value(grid_goal):
    assert evaluate_policy(grid_goal(gamma=1.0), [1, 0, 2, 3, 1, -1]).tolist() == [0, 0, 100, 0, 100, 0]


def test_state_that_the_policy_is_never_in_may_be_endless():
    # Only state 0 is begun in, and it ends; state 1 would go round for 1 each time.
    mdp = MDP.from_successors([[3], [1], [1], [None]], [5, 1, 1, 0], gamma=1.0, start=0)
    np.testing.assert_array_equal(evaluate_policy(mdp, [0, 0, 0, -1]), [5, np.nan, np.nan, 0])
    with pytest.raises(ParameterError, match="from state 2 this policy"):
        evaluate_policy(mdp.replace(start=np.array([0.5, 0.0, 0.5, 0.0])), [0, 0, 0, -1])


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([1, 1, 2, 1, 1], r"shape \(5,\).*\(6,\) integers.*\(6, 4\) probabilities"),
        ([1.0, 1, 2, 1, 1, -1], "dtype float64"),
        ([1, 4, 2, 1, 1, -1], r"policy\[1\] is 4.*0\.\.3"),
        ([1, -1, 2, 1, 1, -1], r"policy\[1\] is -1"),
        ([0, 1, 2, 1, 1, -1], r"action 0 in state 0, where only the actions \[1, 2\] are legal"),
        (np.full((6, 4), 0.25), r"action 0 in state 0, where only the actions \[1, 2\] are legal"),
        (np.eye(6, 4) * 0.9, r"policy\[0\] is \[0.9, 0.0, 0.0, 0.0\]"),
        (np.full((6, 4), np.nan), r"policy\[0\] is \[nan"),
        ([[2.0, -1.0, 0.0, 0.0]] * 6, r"policy\[0\] is \[2.0, -1.0"),
    ],
)
def test_policy_that_is_none_is_named(grid_goal, policy, message):
    with pytest.raises(ParameterError, match=message):
        evaluate_policy(grid_goal(), policy)


def test_gamma_too_close_to_one_and_values_that_overflow():
    ring = MDP.from_successors([[1], [0]], [1.0, 0.0], gamma=1 - 1e-15)
    with pytest.raises(ParameterError, match="too close to 1"):
        evaluate_policy(ring, [0, 0])
    with pytest.raises(ModelError, match="overflow"):
        evaluate_policy(ring.replace(gamma=0.9999999, reward=np.array([1e305, 0.0])), [0, 0])
    with pytest.raises(ModelError, match="overflow"):
        evaluate_policy(ring.replace(gamma=1.0, reward=np.array([1e299, 0.0])), [0, 0], horizon=100)
