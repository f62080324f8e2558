"""Every method looks at the clock inside its work, and what it returns then is still certified.

Seconds of a busy machine say little. Here a second passes whenever somebody looks at the clock: a method that looks
often is stopped early, and one that computes for long between two looks is not seen to be late, but to look too seldom.
"""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import discretised, solve
from rlsuite.planning.average_reward import AverageRewardSolution

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
    monkeypatch.setattr("rlsuite.core.clock.time", clock)
    return clock


def garnet(states: int, gamma: float) -> MDP:
    """Five random successors of each of four actions."""
    rng = np.random.default_rng(states)
    rows = 4 * states
    successor = rng.integers(states, size=5 * rows)
    probability = rng.dirichlet(np.ones(5), rows).ravel()
    return MDP.from_rows(
        np.arange(0, 5 * rows + 1, 5), successor, probability, rng.random(rows), n_actions=4, gamma=gamma
    )


def corridor(states: int, gamma: float) -> MDP:
    """To the left or to the right, with a slip, and a reward at each end: a value needs many sweeps to arrive."""
    here = np.arange(states)
    ways = np.stack([np.maximum(here - 1, 0), np.minimum(here + 1, states - 1)], axis=1)
    successor = np.stack([ways, ways[:, ::-1]], axis=1)
    reward = np.zeros((states, 2))
    reward[0, 0], reward[-1, 1] = 0.005, 1.0
    return MDP.from_rows(
        np.arange(0, 4 * states + 1, 2), successor.ravel(), np.tile([0.6, 0.4], 2 * states), reward.ravel(),
        n_actions=2, gamma=gamma,
    )  # fmt: skip


def dense(states: int, gamma: float) -> MDP:
    """Every state may lead to every other."""
    rng = np.random.default_rng(0)
    probability = rng.random((states, 2, states))
    return MDP.from_arrays(probability / probability.sum(axis=2, keepdims=True), rng.random((states, 2)), gamma=gamma)


def earning_on_the_way(states: int) -> MDP:
    """Round in a circle of states without order, 1 in each step but one, which costs more; and a way to the end."""
    circle = np.random.default_rng(2).permutation(states)
    moves: list[list[int | None]] = [[0, None] for _ in range(states)]
    reward = np.ones((states + 1, 2))
    for here, there in zip(circle, np.roll(circle, -1), strict=True):
        moves[here] = [int(there), None]
    moves[circle[-1]][1] = states
    reward[circle[-1]], reward[-1] = -states - 10.0, 0.0
    return MDP.from_successors([*moves, [None, None]], reward, gamma=1.0)


CASES = [
    ("policy_iteration", lambda: garnet(2_500, 0.999), 100),
    ("policy_iteration", lambda: corridor(2_500, 0.9999), 100),
    ("topological", lambda: dense(400, 0.99), 100),
    ("prioritized_sweeping", lambda: dense(300, 0.9), 100),
    ("average_reward_policy_iteration", lambda: garnet(300, 1.0), 60),
    ("average_reward_policy_iteration", lambda: corridor(500, 1.0), 60),
    ("relative_value_iteration", lambda: corridor(500, 1.0), 60),
    ("stochastic_shortest_path", lambda: earning_on_the_way(600), 60),
]


@pytest.mark.cases(".*value_iteration.*", ".*sarsop.*")
@pytest.mark.parametrize(("method", "made", "often"), CASES)
def test_the_clock_is_looked_at_inside_the_work(seconds, method, made, often):
    """And what is there when the deadline has passed is certified by a bound that holds."""
    model = made()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = solve(model, method, deadline=1e9)
    assert seconds.looks > often
    for deadline in (1, 7, 40):
        seconds.looks = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = solve(model, method, deadline=deadline)
        assert found.converged == (found.error_bound <= 1e-6)
        assert found.seconds <= deadline + FEW_LOOKS
        wanted, value = (one.gain if isinstance(one, AverageRewardSolution) else one.value for one in (best, found))
        assert np.abs(value - wanted).max() <= found.error_bound + best.error_bound


def test_the_gain_is_bounded_where_there_is_no_time_for_a_linear_system(seconds):
    model = garnet(3_000, 1.0)
    seconds.looks = 0
    with pytest.warns(ConvergenceWarning, match="deadline=5 seconds passed"):
        found = solve(model, "average_reward_policy_iteration", deadline=5)
    exact = solve(model, "relative_value_iteration")
    assert found.method == "average_reward_policy_iteration"
    assert np.isfinite(found.error_bound)
    assert np.abs(found.gain - exact.gain).max() <= found.error_bound + exact.error_bound


def test_what_gives_no_answer_before_the_end_says_so(seconds):
    with pytest.raises(ParameterError, match=r"deadline=20 seconds are too short for horizon=1000: \d+ of these steps"):
        solve(garnet(10, 1.0), "backward_induction", horizon=1_000, deadline=20)
    known = POMDP.from_arrays([[[1.0]]], [1.0], [[[1.0]]], order="ass", gamma=1.0)
    with pytest.raises(ParameterError, match=r"seconds are too short for horizon=1000: \d+ of these steps"):
        solve(known, "reachable_beliefs", horizon=1_000, deadline=40)
    stay, again = np.eye(3), np.full((3, 3), 1 / 3)
    hidden = POMDP.from_arrays(
        [stay, again], [[-1, -1, -1], [1, 2, 3]], [np.full((3, 3), 0.1) + 0.7 * stay, again], order="ass", gamma=0.9
    )
    with pytest.raises(ParameterError, match=r"deadline=2 seconds are too short for a grid of 231 beliefs.*resolution"):
        discretised(hidden, resolution=20, deadline=2)
    assert discretised(hidden, resolution=20, deadline=100).mdp.n_states == 231


def test_what_cannot_look_at_the_clock_is_not_begun_without_time_for_it(seconds, monkeypatch):
    """A linear program, whose solver simplifies it first, and the linear systems of average rewards."""
    limits: list[float] = []

    def program(cost, *, options, **_):
        limits.append(options["time_limit"])
        return SimpleNamespace(x=np.zeros(cost.size), message="")

    monkeypatch.setattr("scipy.optimize.linprog", program)
    model = garnet(100, 0.9)  # 2,400 coefficients
    for per_entry, begins in ((0.1, False), (0.01, True)):
        monkeypatch.setattr("rlsuite.planning.mdp.linear_programming.PER_ENTRY", per_entry)
        seconds.looks = 0
        message = "more than tol" if begins else "no time for a linear program of 400 constraints with 2400 coeffi"
        with pytest.warns(ConvergenceWarning, match=message):
            found = solve(model, "linear_programming", deadline=100)
        assert np.isfinite(found.error_bound)
        assert bool(limits) == begins
    assert 80.0 < limits[0] < 100.0

    def prepared(*_):
        raise AssertionError("the chain of a policy is made though time is up")

    monkeypatch.setattr("rlsuite.planning.mdp.average_reward_policy_iteration.CompletedModel", prepared)
    seconds.looks = 0
    with pytest.warns(ConvergenceWarning, match="deadline=20 seconds passed"):
        found = solve(corridor(500, 1.0), "average_reward_policy_iteration", deadline=20)
    assert np.isfinite(found.error_bound)
