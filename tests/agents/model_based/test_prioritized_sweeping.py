"""Prioritized sweeping: its queue, and how few updates it needs."""

import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.training.legality import listed_actions
from rlsuite_envs.gridworld import grid_world


def test_prioritized_sweeping_needs_far_fewer_updates():
    """Q* of the Dyna maze, to 1e-6, with under a hundredth of the updates of Dyna-Q (as S&B2 Example 8.4 has it).

    Both act at random and may change about as many values per step. Over ten seeds the ratio was 1 : 173 to 1 : 544.
    """
    model, _ = grid_world("DynaMaze")
    optimum = rl.solve(model, tol=1e-9).q
    legal = model.legal & ~np.isclose(optimum.max(axis=1, keepdims=True), 0.0)
    common = {"gamma": 0.95, "learning_rate": 1.0, "exploration": rl.RandomActions(), "n": 20}
    needed = []
    for learner in (rl.PrioritizedSweeping(theta=1e-9, **common), rl.DynaQ(**common)):
        env = model.to_env()
        learner.learn(env, steps=100, seed=0)
        while np.abs(learner.q_ - optimum)[legal].max() > 1e-6:
            learner.learn(env, steps=100)
        steps = int(learner.memory_.clock[0])
        needed.append(int(learner.updates_[0]) if isinstance(learner, rl.PrioritizedSweeping) else steps * 21)
    assert needed[0] * 100 < needed[1], needed


def test_the_queue_raises_priorities_and_never_overflows():
    """All pairs lead to one state whose value rises again and again: each pair waits once, with its highest error."""
    agent = rl.PrioritizedSweeping(n=1, theta=0.0, gamma=0.5)
    memory = agent.init_memory(np.ones((20, 3), dtype=bool), listed_actions)
    rng = np.random.default_rng(0)
    for state in range(1, 20):
        for action in range(3):
            rl.PrioritizedSweeping.step(memory, rl.Transition(state, action, 0.0, 0, False, False), rng)
    for reward in (1.0, 4.0, 2.0, 64.0, 32.0):
        rl.PrioritizedSweeping.step(memory, rl.Transition(0, 0, reward, 5, True, False), rng)
        learned = memory.learned
        n_waiting = int(learned.n_waiting[0])
        heap = learned.heap[:n_waiting]
        assert len(set(heap.tolist())) == n_waiting
        assert (learned.position[heap] == np.arange(n_waiting)).all()
        assert (learned.position >= 0).sum() == n_waiting
        above = learned.priority[heap[(np.arange(1, n_waiting) - 1) // 2]]
        assert (above >= learned.priority[heap[1:]]).all()
    assert memory.learned.priority[3:60].max() == 32.0  # half of 64
