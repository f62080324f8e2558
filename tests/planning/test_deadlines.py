"""Every method looks at the clock inside its work, and what it returns then is still certified.

Seconds of a busy machine say little. Here a second passes whenever somebody looks at the clock: a method that looks
often is stopped early, and one that computes for long between two looks is not seen to be late, but to look too seldom.
"""

import warnings

import numpy as np
import pytest

from rlsuite.models import MDP
from rlsuite.planning import solve

FEW_LOOKS = 12
"""Looks after the deadline that the certificate and the result may take."""


class Seconds:
    """A clock that goes on by a second at each look."""

    def __init__(self) -> None:
        self.looks = 0

    def perf_counter(self) -> float:
        """Look at it."""
        self.looks += 1
        return float(self.looks)


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    clock = Seconds()
    monkeypatch.setattr("rlsuite.clock.time", clock)
    return clock


def garnet(states: int, gamma: float) -> MDP:
    """Five random successors of each of four actions."""
    rng = np.random.default_rng(states)
    rows = 4 * states
    successor = rng.integers(states, size=5 * rows)
    chance = rng.dirichlet(np.ones(5), rows).ravel()
    return MDP.from_rows(np.arange(0, 5 * rows + 1, 5), successor, chance, rng.random(rows), n_actions=4, gamma=gamma)


def corridor(states: int, gamma: float) -> MDP:
    """To the left or to the right, with a slip, and a reward at each end: news have a long way to go."""
    here = np.arange(states)
    ways = np.stack([np.maximum(here - 1, 0), np.minimum(here + 1, states - 1)], axis=1)
    successor = np.stack([ways, ways[:, ::-1]], axis=1)
    reward = np.zeros((states, 2))
    reward[0, 0], reward[-1, 1] = 0.005, 1.0
    return MDP.from_rows(
        np.arange(0, 4 * states + 1, 2), successor.ravel(), np.tile([0.6, 0.4], 2 * states), reward.ravel(),
        n_actions=2, gamma=gamma,
    )  # fmt: skip


DISCOUNTED = [
    ("policy_iteration", lambda: garnet(2_500, 0.999)),
    ("policy_iteration", lambda: corridor(2_500, 0.9999)),
]


@pytest.mark.parametrize(("method", "made"), DISCOUNTED)
def test_the_clock_is_looked_at_inside_the_work(seconds, method, made):
    model = made()
    optimum = solve(model, "policy_iteration", tol=1e-6).value
    seconds.looks = 0
    solve(model, method, deadline=1e9)
    assert seconds.looks > 100
    for deadline in (1, 7, 40):
        seconds.looks = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = solve(model, method, tol=1e-6, deadline=deadline)
        assert not found.converged
        assert found.seconds <= deadline + FEW_LOOKS
        assert np.abs(found.value - optimum).max() <= found.error_bound + 1e-6
