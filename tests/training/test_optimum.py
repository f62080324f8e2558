import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation import SemiGradientSarsa, TileCoding
from rlsuite.training.optimum import Optima

SIZE = 30
CORNER = SIZE * SIZE - 1


def slippery_moves(square):
    """Right, down and back on a square grid that ends in a corner; the first two slip into each other."""
    if square == CORNER:
        return [None] * 3
    row, column = divmod(square, SIZE)
    right, down = row * SIZE + min(column + 1, SIZE - 1), min(row + 1, SIZE - 1) * SIZE + column
    back = max(row - 1, 0) * SIZE + max(column - 1, 0)
    return [{right: 0.8, down: 0.2}, {right: 0.2, down: 0.8}, back]


def test_optimal_actions_of_a_model_that_is_swept_cost_nothing_at_all():
    # Right and down are equally good on the diagonal, but a sweep sees one of their successors before the other.
    squares = np.arange(SIZE * SIZE)
    reward = np.where((squares == CORNER - 1) | (squares == CORNER - SIZE), 10.0, 0.0)
    mdp = rl.MDP.from_successors(list(map(slippery_moves, squares.tolist())), reward, gamma=0.9, start=0)
    gap = Optima().of(mdp).gap
    diagonal = squares[: -1 : SIZE + 1]
    assert rl.solve(mdp).method != "policy_iteration"
    assert (gap[diagonal][:, :2] == 0.0).all()
    assert (gap[diagonal][1:, 2] > 0.0).all()
    exact = rl.solve(mdp, "policy_iteration")
    np.testing.assert_allclose(gap, np.where(mdp.legal, exact.value[:, None] - exact.q, 0.0), atol=4e-6)


def test_with_gamma_1_the_optimum_is_the_total_reward_until_the_end():
    results = rl.train(rl.QLearning(gamma=1.0), "CliffWalking-v1", episodes=20, seeds=1)
    record = results.records[0]
    assert record.optimal_value == pytest.approx(-13.0)
    assert record.optimum_unknown == ""
    # an episode costs what its actions are worse than the best ones, and that is known for each of them
    np.testing.assert_allclose(record.episode_regret, -13.0 - record.episode_return, atol=1e-6)
    assert record.regret[-1] == pytest.approx(record.episode_regret.sum())


@pytest.mark.parametrize(
    ("env", "value"), [("FrozenLake-v1", 14 / 17), ("rlsuite/GridGoal-v0", 100.0), ("rlsuite/GridWorld-v0", 1.0)]
)
def test_with_gamma_1_one_may_walk_about_for_nothing(env, value):
    record = rl.QLearning(gamma=1.0).learn(env, steps=200, seed=0, regret=True).record_
    assert record.optimal_value == pytest.approx(value)
    assert record.optimum_unknown == ""
    assert (record.regret >= 0.0).all()


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ("rlsuite/SlipperyObstacleGrid-v0", "gains and losses that add up to 0"),
        ("rlsuite/RiverSwim-v0", "5 is earned per step: its total reward is infinite"),
        ("rlsuite/Bandit-v0", "no end can be reached"),
        ("rlsuite/Tiger-v0", "its states are hidden, and without discounting"),
    ],
)
def test_an_optimum_that_is_unknown_is_missing_for_a_reason(env, why):
    agent = rl.QLearning(gamma=1.0).learn(env, steps=10, seed=0, regret=True)
    assert agent.record_.optimal_value is None
    assert why in agent.record_.optimum_unknown
    assert agent.record_.regret.size == 0


@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_what_has_been_tabulated_has_an_optimum(gamma):
    """The cliff under a wrapper of rewards, which no declared table describes: half of everything, to the last bit."""
    made = gymnasium.make("CliffWalking-v1", max_episode_steps=80)
    cliff = rl.QLearning(gamma=gamma)
    cliff.learn(made, steps=3_000, seed=1, regret=True, evaluate_every=3_000)
    halved = gymnasium.wrappers.TransformReward(made, lambda reward: 0.5 * float(reward))
    half = rl.QLearning(gamma=gamma)
    half.learn(halved, steps=3_000, seed=1, regret=True, evaluate_every=3_000, tabulate=True)
    whole, record = cliff.record_, half.record_
    assert (record.loop, record.optimum_unknown) == ("compiled", "")
    for name in ("optimal_value", "evaluation", "evaluation_return", "regret", "episode_regret"):
        np.testing.assert_allclose(2.0 * np.array(getattr(record, name)), getattr(whole, name), rtol=1e-9, atol=1e-6)
    assert record.end_probability == whole.end_probability
    np.testing.assert_allclose(2.0 * np.array(record.value_bounds[:2]), whole.value_bounds[:2], rtol=1e-6)
    np.testing.assert_allclose(2.0 * np.array(record.return_bounds[:2]), whole.return_bounds[:2], rtol=1e-12)


@pytest.mark.slow
def test_states_that_observations_do_not_tell_apart_have_no_optimum_here():
    tiger = gymnasium.wrappers.TransformReward(gymnasium.make("rlsuite/Tiger-v0"), lambda reward: 0.5 * reward)
    hidden = rl.QLearning(gamma=0.9).learn(tiger, steps=5, seed=0, regret=True, tabulate=True)
    assert hidden.record_.loop == "compiled"
    said = hidden.record_.optimum_unknown
    assert (
        "do not tell its states apart; an agent that sees them gets 50 at best" in said
    )  # 5 / (1 - 0.9): it opens the right door
    assert "rlsuite.solve(rlsuite.tabulate(" in said


def test_the_reason_tells_what_was_not_asked_for_from_what_cannot_be_known():
    assert "regret=False" in rl.QLearning().learn("FrozenLake-v1", steps=5, seed=0).record_.optimum_unknown
    lake = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda reward: 2 * reward)
    learned = rl.QLearning().learn(lake, steps=5, seed=0, regret=True, loop="stepwise")
    assert "no transition table that can be trusted" in learned.record_.optimum_unknown
    car = SemiGradientSarsa(features=TileCoding(n_tilings=2, bins=2), learning_rate=0.1)
    car.learn("MountainCar-v0", steps=5, seed=0, regret=True)
    assert car.record_.optimum_unknown == "the observations of MountainCar-v0 are real numbers, not a finite set"
    hidden = rl.QLearning(gamma=0.9).learn("rlsuite/Tiger-v0", steps=5, seed=0, regret=True)
    assert "belief" in hidden.record_.optimum_unknown
