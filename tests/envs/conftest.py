import numpy as np
import pytest

import rlsuite_envs


def pytest_generate_tests(metafunc):
    """`env_id`: every environment with a table; `moving_id`: every one with compiled dynamics instead."""
    for name, found in (("env_id", rlsuite_envs.TIME_LIMITS), ("moving_id", rlsuite_envs.MOVING)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, [f"rlsuite/{one}" for one in sorted(found)])


def action_values(model, value):
    """One Bellman backup, written for reading: q[s][a], None for illegal actions."""
    return [
        [
            sum(p * (r + (0.0 if over else model.gamma * value[ahead])) for p, ahead, r, over in model.P[s][a])
            if model.P[s][a]
            else None
            for a in range(model.n_actions)
        ]
        for s in range(model.n_states)
    ]


@pytest.fixture
def optimum():
    """V* and Q* (nan for illegal actions) by plain value iteration."""

    def solve(model):
        value = [0.0] * model.n_states
        while True:
            q = action_values(model, value)
            better = [max((x for x in row if x is not None), default=0.0) for row in q]
            gap = max(abs(a - b) for a, b in zip(value, better, strict=True))
            value = better
            if gap < 1e-12:
                table = [[np.nan if x is None else x for x in row] for row in action_values(model, value)]
                return np.array(value), np.array(table)

    return solve


@pytest.fixture
def evaluate():
    """V of a stochastic policy (S, A), by default uniform over legal actions, from one linear system."""

    def solve(model, policy=None):
        if policy is None:
            policy = model.legal / np.maximum(model.legal.sum(axis=1, keepdims=True), 1)
        going_on = np.zeros((model.n_states, model.n_states))
        reward = np.zeros(model.n_states)
        for s in range(model.n_states):
            for a in range(model.n_actions):
                for p, ahead, r, over in model.P[s][a]:
                    going_on[s, ahead] += 0.0 if over else policy[s, a] * p
                    reward[s] += policy[s, a] * p * r
        return np.linalg.solve(np.eye(model.n_states) - model.gamma * going_on, reward)

    return solve


@pytest.fixture
def at():
    """State on a square of a layout."""
    return lambda layout, row, column: int(layout.states[row, column])
