"""Episodes under policies over beliefs."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import solve
from rlsuite.planning.pomdp.simulation import simulate_beliefs

pytestmark = pytest.mark.arithmetic


@pytest.fixture(scope="module")
def tiger():
    stay, reset = np.eye(2), np.full((2, 2), 0.5)
    ear = np.array([[0.85, 0.15], [0.15, 0.85]])
    return POMDP.from_arrays(
        np.stack([stay, reset, reset]),
        [[-1, -1], [-100, 10], [10, -100]],
        np.stack([ear, reset, reset]),
        gamma=0.75,
        order="ass",
    )


def test_what_is_recorded_is_what_happened(tiger):
    def policy(belief):
        return int(np.argmin(belief)) + 1 if belief.max() > 0.9 else 0

    lived = simulate_beliefs(tiger, policy, episodes=200, steps=20, seed=4, keep_beliefs=True)
    table = tiger.mdp.expected_reward()
    assert lived.rewards.tolist() == table[lived.states[:, :-1], lived.actions].tolist()
    np.testing.assert_allclose(lived.returns, lived.rewards @ 0.75 ** np.arange(20))
    for k in range(5):
        belief = tiger.start
        for t in range(20):
            assert lived.beliefs[k, t].tolist() == pytest.approx(belief.tolist())
            assert lived.actions[k, t] == policy(belief)
            belief = tiger.update_belief(belief, int(lived.actions[k, t]), int(lived.observations[k, t]))
    heard = lived.observations[lived.actions == 0] == lived.states[:, 1:][lived.actions == 0]
    assert heard.mean() == pytest.approx(0.85, abs=0.02)
    assert lived.lengths.tolist() == [20] * 200
    assert lived.tail == pytest.approx(0.75**20 * 100 / 0.25)


def test_a_plan_keeps_its_promise(tiger):
    plan = solve(tiger, "incremental_pruning", horizon=6)
    low, high = simulate_beliefs(tiger, plan, episodes=20_000, seed=1).interval(0.999)
    assert low <= plan.value(tiger.start) <= high
    assert high - low < 1
    slow = simulate_beliefs(tiger, Slow(plan), episodes=300, seed=2)
    assert slow.returns.tolist() == simulate_beliefs(tiger, plan, episodes=300, seed=2).returns.tolist()


@given(data=st.data())
@settings(max_examples=25)
def test_every_plan_keeps_its_promise(data, random_pomdps):
    pomdp = data.draw(random_pomdps())
    plan = solve(pomdp, "incremental_pruning", horizon=3)
    lived = simulate_beliefs(pomdp, plan, episodes=3000, seed=data.draw(st.integers(0, 2**32)))
    low, high = lived.interval(0.9999)
    assert low - 1e-9 <= plan.value(pomdp.start) <= high + 1e-9
    assert lived.tail == 0


class Slow:
    """The same plan, asked one belief at a time."""

    def __init__(self, plan):
        self.plan = plan
        self.horizon = plan.horizon

    def act(self, belief, steps_left=None):
        return self.plan.act(belief, steps_left)


def test_episodes_end_and_pay_at_random():
    mdp = MDP.from_arrays(
        [[[0.5, 0.5]], [[0, 1]]],
        [[0.25], [0.5]],
        gamma=0.5,
        start=0,
        terminated=[False, True],
        bernoulli=[[True], [False]],
    )
    pomdp = POMDP(mdp, np.ones((1, 2, 1)))
    lived = simulate_beliefs(pomdp, lambda b: 0, episodes=4000, steps=60, seed=0, keep_beliefs=True)
    assert lived.terminated.all()
    assert lived.tail == 0
    assert lived.lengths.mean() == pytest.approx(2, abs=0.1)
    assert lived.mean == pytest.approx(0.25 / (1 - 0.25), abs=0.02)
    last = int(lived.lengths[0])
    assert lived.states[0, : last + 1].tolist() == [0] * last + [1]
    assert set(lived.states[0, last + 1 :]) == set(lived.actions[0, last:]) == {-1}
    assert not lived.beliefs[0, last + 1 :].any()
    noisy = POMDP(mdp.replace(bernoulli=None, reward_std=np.array([2.0, 0.0])), np.ones((1, 2, 1)))
    low, high = simulate_beliefs(noisy, lambda b: 0, episodes=4000, steps=60, seed=0).interval()
    assert low < 1 / 3 < high


def test_an_undiscounted_episode_that_ends_has_no_tail():
    mdp = MDP.from_arrays([[[0.5, 0.5]], [[0, 1]]], [[1.0], [0.0]], gamma=1.0, start=0, terminated=[False, True])
    lived = simulate_beliefs(POMDP(mdp, np.ones((1, 2, 1))), lambda b: 0, episodes=500, steps=100, seed=0)
    assert lived.terminated.all()
    assert lived.tail == 0.0
    low, high = lived.interval(0.999)
    assert low < 2.0 < high


def test_a_plan_without_a_legal_vector_is_told(tiger):
    plan = solve(tiger, "incremental_pruning", horizon=2)
    stages = tuple(stage._replace(alpha_vectors=np.full_like(stage.alpha_vectors, -np.inf)) for stage in plan.stages)
    lost = dataclasses.replace(plan, stages=stages)
    with pytest.raises(ParameterError, match="no plan is legal in every state"):
        simulate_beliefs(tiger, lost, seed=0)


def test_bad_arguments(tiger):
    for seed in (-1, 0.5, "one"):
        with pytest.raises(ParameterError, match="seed="):
            simulate_beliefs(tiger, lambda b: 0, steps=3, seed=seed)
    with pytest.raises(ParameterError, match="gamma is 1 and the policy has no horizon"):
        simulate_beliefs(tiger.replace(gamma=1.0), lambda b: 0)
    with pytest.raises(ParameterError, match="steps=9 is more than the 2 steps of the policy"):
        simulate_beliefs(tiger, solve(tiger, "incremental_pruning", horizon=2), steps=9)
    with pytest.raises(ParameterError, match=r"an action of the policy=None is not a whole number"):
        simulate_beliefs(tiger, lambda b: None)
    with pytest.raises(ParameterError, match="needs at least two"):
        simulate_beliefs(tiger, lambda b: 0, steps=3).interval()
    with pytest.raises(ParameterError, match="confidence=95"):
        simulate_beliefs(tiger, lambda b: 0, steps=3, episodes=2).interval(95)
    masked = POMDP(MDP.from_successors([[0, None]], [0], gamma=0.5), np.ones((2, 1, 1)))
    with pytest.raises(ParameterError, match="the policy takes action 1, which is illegal in state 0"):
        simulate_beliefs(masked, lambda b: 1, seed=0)
    with pytest.raises(ParameterError, match=r"the policy takes action 5; the actions are 0\.\.2"):
        simulate_beliefs(tiger, lambda b: 5, steps=3)
