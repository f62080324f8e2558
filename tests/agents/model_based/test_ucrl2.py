"""UCRL2 against linear programs and plain Python written from the paper."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents.model_based.counted import observe
from rlsuite.agents.model_based.ucrl2 import best_mean, best_reward
from rlsuite.training.legality import every_action, listed_actions


def test_the_best_mean_is_the_solution_of_a_linear_program():
    """max p u over the probabilities within an L1 distance of the frequencies: HiGHS finds the same."""
    rng = np.random.default_rng(0)
    agent = rl.UCRL2()
    for distance in (0.01, 0.2, 0.7, 1.5, 2.5):
        memory = agent.init_memory(np.ones((5, 1), dtype=bool), every_action)
        for outcome in rng.choice(6, 12, p=[0.3, 0.3, 0.2, 0.1, 0.1, 0.0]):
            observe(memory, 0, 0, 0.0, int(outcome), outcome == 5, 0)
        model = memory.learned
        model.value[:] = rng.integers(0, 4, 6)  # with ties
        model.ranking[:] = np.argsort(-model.value, kind="stable")
        frequencies = model.outcomes[0] / 12
        # p = frequencies + more - less
        split = np.hstack([np.eye(6), -np.eye(6), np.eye(6)])
        answer = linprog(
            np.concatenate([-model.value, np.zeros(12)]),
            A_ub=[np.concatenate([np.zeros(6), np.ones(12)])],
            b_ub=[distance],
            A_eq=np.vstack([split, np.concatenate([np.ones(6), np.zeros(12)])]),
            b_eq=np.concatenate([frequencies, [1.0]]),
        )
        assert best_mean(model, 0, 12, distance) == pytest.approx(-answer.fun, abs=1e-9)
    assert best_mean(model, 1, 0, 0.3) == model.value.max()


def test_the_best_reward_is_a_share_of_the_range():
    model = rl.UCRL2(r_min=-10.0, r_max=30.0).tables(2, 2)
    assert best_reward(model, 0.0, 4, 0.125) == 0.375
    assert best_reward(model, 20.0, 4, 0.5) == 1.0
    assert best_reward(model, 0.0, 0, 0.0) == 1.0


class PlainUCRL2:
    """The algorithm of the paper in plain Python, without what makes it fast."""

    def __init__(self, legal, delta):
        self.legal, self.delta = legal, delta
        n_states, n_actions = legal.shape
        self.outcomes = np.zeros((n_states, n_actions, n_states + 1))
        self.rewards = np.zeros((n_states, n_actions))
        self.starts, self.u = np.zeros(n_states), np.zeros(n_states)
        self.planned_at = np.zeros((n_states, n_actions))

    def best(self, row, distance, u):
        """Fig. 2 of the paper."""
        order = np.argsort(-u, kind="stable")
        p = row / max(row.sum(), 1)
        p[order[0]] = min(1.0, p[order[0]] + distance / 2)
        for worst in order[::-1]:
            if p.sum() > 1.0:
                p[worst] = max(0.0, 1.0 - (p.sum() - p[worst]))
        return p @ u

    def plan(self, steps):
        n_states, n_actions = self.legal.shape
        tried = self.outcomes.sum(axis=2)
        self.planned_at = tried.copy()
        many = np.maximum(tried, 1)
        close = np.sqrt(7 * np.log(2 * n_states * n_actions * steps / self.delta) / (2 * many))
        near = np.sqrt(14 * n_states * np.log(2 * n_actions * steps / self.delta) / many)
        optimistic = np.where(tried > 0, np.minimum(self.rewards / many + close, 1.0), 1.0)
        for sweep in range(1, 10_000):
            u = np.append(self.u, self.starts @ self.u / self.starts.sum())
            q = np.full(self.legal.shape, -np.inf)
            for s, a in np.argwhere(self.legal):
                q[s, a] = optimistic[s, a] + self.best(self.outcomes[s, a], near[s, a], u)
            gains = q.max(axis=1) - self.u
            self.u = q.max(axis=1) - gains.min()
            if np.ptp(gains) < 1 / math.sqrt(steps):
                return q - gains.min(), (gains.max() + gains.min()) / 2, sweep
        raise AssertionError("no end")


def test_ucrl2_is_the_algorithm_of_the_paper():
    """On a recorded walk with ends and cuts; actions are those of the walk, plans are made when the rule makes them."""
    rng = np.random.default_rng(1)
    legal = np.array([[True, True], [True, False], [True, True]])
    agent = rl.UCRL2(delta=0.1)
    memory = agent.init_memory(legal, listed_actions)
    twin = PlainUCRL2(legal, 0.1)
    q, plans, state = np.zeros(legal.shape), 0, 0
    rl.UCRL2.begin(memory, state, rng)
    twin.starts[state] += 1
    for step in range(1, 1_500):
        action = int(rng.choice(np.flatnonzero(legal[state])))
        next_state, reward = int(rng.choice(3, p=[0.6, 0.3, 0.1])), float(rng.random() < 0.3)
        terminated, truncated = bool(rng.random() < 0.05), bool(rng.random() < 0.05)
        next_state = 0 if terminated else next_state  # the start, which is never an end for good
        twin.outcomes[state, action, 3 if terminated else next_state] += 1
        twin.rewards[state, action] += reward
        before = memory.learned.planned_at.copy()
        rl.UCRL2.step(memory, rl.Transition(state, action, reward, next_state, terminated, truncated), rng)
        state = next_state
        if terminated or truncated:
            state = int(rng.integers(3))
            twin.starts[state] += 1
            rl.UCRL2.begin(memory, state, rng)
        if (memory.learned.planned_at != before).any():
            plans += 1
            q, gain, sweeps = twin.plan(step)
            assert memory.learned.iterations[0] == sweeps
            assert memory.learned.gain[0] == pytest.approx(gain, abs=1e-9)
        assert (memory.learned.planned_at == twin.planned_at).all()
        np.testing.assert_allclose(memory.q[legal], q[legal], rtol=0, atol=1e-9)
    assert plans > 10
