"""R-max against planners: its plans are those for the world that it has counted."""

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import RewardWarning
from rlsuite.testing.problems import corridor, gamble, ring
from rlsuite.training.legality import every_action


@pytest.mark.parametrize(("problem", "steps"), [(gamble, 30), (gamble, 300), (ring, 80), (ring, 400)])
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")  # the rewards of the gamble are normal
def test_r_max_plans_for_the_world_it_has_counted(counted_world, problem, steps):
    model, m, gamma, tol = problem(), 10, 0.9, 1e-5
    agent = rl.RMax(m=m, r_max=3.0, gamma=gamma, tol=tol).learn(model.to_env(), steps=steps, seed=2)
    optimum = rl.solve(counted_world(agent, model, gamma, m), tol=1e-10).q[: model.n_states]
    assert agent.error_bound_[0] <= tol
    assert np.abs(agent.q_ - optimum)[model.legal].max() <= tol
    unknown = (agent.visits_ < m)[model.legal]
    assert unknown.any() == (steps < 300)  # both cases are there


def test_r_max_counts_m_outcomes_and_no_more():
    agent = rl.RMax(m=7, gamma=0.9, r_max=3.0)
    with pytest.warns(RewardWarning, match="normally distributed"):
        agent.learn(gamble().to_env(), steps=2_000, seed=0)
    assert (agent.outcomes_.sum(axis=1) == np.minimum(agent.visits_, 7).ravel()).all()


def test_r_max_learns_a_deterministic_world_exactly():
    """m = 1: every state that matters is explored, and the values on the best way are those of the planner."""
    model = corridor()
    optimum = rl.solve(model, tol=1e-12)
    agent = rl.RMax(m=1, r_max=10.0, gamma=0.9, tol=1e-9).learn(model.to_env(), steps=60, seed=0)
    np.testing.assert_allclose(agent.q_[model.legal], optimum.q[model.legal], atol=1e-8)


def test_a_reward_above_r_max_raises_all_hopes():
    agent = rl.RMax(m=1, r_max=1.0, gamma=0.5)
    memory = agent.init_memory(np.ones((3, 2), dtype=bool), every_action)
    assert (memory.q == 2.0).all()
    rng = np.random.default_rng(0)
    rl.RMax.step(memory, rl.Transition(0, 0, 0.0, 1, False, False), rng)
    assert memory.q[0].tolist() == [0.5 * 2.0, 2.0]
    rl.RMax.step(memory, rl.Transition(1, 0, 8.0, 0, False, False), rng)
    assert memory.learned.largest_reward[0] == 8.0
    np.testing.assert_allclose(memory.q, [[0.5 * 16, 16], [8 + 0.5 * 16, 16], [16, 16]], atol=1e-4)


def test_costs_alone_do_not_make_an_end_look_better_than_the_optimistic_value():
    """With r_max = -1 for ever, all that is unknown would be worth less than 0, which is what an end is worth."""
    agent = rl.RMax(m=1, r_max=-1.0, gamma=0.9).learn("CliffWalking-v1", steps=3_000, seed=0)
    assert agent.episodes_["return"].max() == -13.0
    assert agent.episodes_["return"][-1] == -13.0


def test_a_plan_that_was_cut_short_says_so(counted_world):
    """The bound is larger than what was asked for, and it holds."""
    model = ring()
    for n in (1, 3, 30):
        agent = rl.RMax(m=2, r_max=3.0, gamma=0.95, max_iterations=n).learn(model.to_env(), steps=200, seed=0)
        optimum = rl.solve(counted_world(agent, model, 0.95, 2), tol=1e-9).q[: model.n_states]
        assert agent.iterations_[0] == n
        assert agent.error_bound_[0] > 1e-4
        assert 1e-4 < np.abs(agent.q_ - optimum)[model.legal].max() <= agent.error_bound_[0] + 1e-9
