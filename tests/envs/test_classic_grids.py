"""Published values: Sutton & Barto, 2nd ed., Examples 6.5, 6.6 and exercises."""

from collections import deque

import gymnasium
import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite.models import MDP
from rlsuite_envs.classic_grids import cliff_walk, windy_grid


def steps_to_end(model):
    """Length of the shortest way from the start, by breadth-first search."""
    start = int(np.argmax(model.start))
    depth, queue = {start: 0}, deque([start])
    while queue:
        s = queue.popleft()
        for a in range(model.n_actions):
            for p, ahead, _, over in model.P[s][a]:
                if p and over:
                    return depth[s] + 1
                if p and ahead not in depth:
                    depth[ahead] = depth[s] + 1
                    queue.append(ahead)
    return None


def best_soft_value(model, epsilon):
    """Value of the start under the best epsilon-soft policy, by value iteration over such policies."""
    P, R = model.dense()
    over = np.zeros_like(P)
    for s in range(model.n_states):
        for a in range(model.n_actions):
            for p, ahead, _, ends in model.P[s][a]:
                over[s, a, ahead] += p * ends
    expected = (P * R).sum(axis=2)
    value = np.zeros(model.n_states)
    for _ in range(20_000):
        q = expected + model.gamma * (P - over) @ value
        better = (1 - epsilon) * q.max(axis=1) + epsilon * q.mean(axis=1)
        if np.abs(better - value).max() < 1e-10:
            break
        value = better
    return float(value @ model.start)


def test_the_cliff(optimum, at):
    model, layout = cliff_walk()
    value, _ = optimum(model)
    assert value @ model.start == pytest.approx(-13)
    assert best_soft_value(model, 0.1) == pytest.approx(-20.708, abs=5e-4)
    # Along the top row: 3 up, 11 right, 3 down.
    policy = np.zeros(model.n_states, dtype=int)
    policy[[at(layout, row, 0) for row in (1, 2, 3)]] = 2
    policy[[at(layout, 0, column) for column in range(11)]] = 1
    policy[[at(layout, row, 11) for row in (0, 1, 2)]] = 3
    state, total = at(layout, 3, 0), 0.0
    for _ in range(17):
        ((_, state, reward, over),) = model.P[state][policy[state]]
        total += reward
    assert (over, total) == (True, -17)


def test_the_cliff_is_gymnasiums_cliff(optimum):
    model, layout = cliff_walk()
    theirs, _ = optimum(MDP.from_env("CliffWalking-v1", gamma=1.0))
    mine, _ = optimum(model)
    goal = model.n_states - 1
    rows, columns = layout.cells[:goal].T
    np.testing.assert_allclose(mine[:goal], theirs[12 * rows + columns])


def test_a_fall_may_end_the_episode(optimum):
    model, _ = cliff_walk(fall="end", cliff_cost=5, step_cost=1)
    value, _ = optimum(model)
    # To fall at once is now cheaper than to walk.
    assert value @ model.start == pytest.approx(-5)


def test_the_size_of_the_cliff_is_a_keyword(optimum):
    model, layout = cliff_walk(width=5, height=3)
    assert (layout.n_rows, layout.n_columns, model.n_states) == (3, 5, 12)
    assert optimum(model)[0] @ model.start == pytest.approx(-6)


def test_the_shortest_ways_through_the_wind():
    assert steps_to_end(windy_grid().model) == 15
    assert steps_to_end(windy_grid(moves="kings").model) == 7
    assert steps_to_end(windy_grid(moves="kings+stay").model) == 7


@pytest.mark.parametrize(("moves", "wanted"), [("four", 17.048), ("kings", 8.187), ("kings+stay", 8.167)])
def test_the_best_soft_policies_in_the_wind(moves, wanted):
    assert -best_soft_value(windy_grid(moves=moves).model, 0.1) == pytest.approx(wanted, abs=5e-4)


def test_the_wind_blows_where_one_leaves(at):
    model, layout = windy_grid()
    assert model.P[at(layout, 3, 6)][1] == [(1.0, at(layout, 1, 7), -1.0, False)]
    assert model.P[at(layout, 3, 2)][1] == [(1.0, at(layout, 3, 3), -1.0, False)]
    assert model.P[at(layout, 0, 6)][3] == [(1.0, at(layout, 0, 6), -1.0, False)]
    assert model.P[at(layout, 3, 7)][0] == [(1.0, at(layout, 3, 7), 0.0, True)]


def test_gusts_vary_the_wind_by_one_where_there_is_wind(at):
    model, layout = windy_grid(gust=1 / 3)
    row = model.P[at(layout, 4, 6)][1]
    assert [ahead for _, ahead, *_ in row] == [at(layout, 2, 7), at(layout, 1, 7), at(layout, 3, 7)]
    assert [p for p, *_ in row] == pytest.approx([1 / 3] * 3)
    assert [over for *_, over in row] == [False, False, True]
    assert model.P[at(layout, 4, 2)][1] == [(1.0, at(layout, 4, 3), -1.0, False)]


def test_wind_start_and_goal_are_keywords():
    model, layout = windy_grid(wind=[0, 0, 0], height=2, start=(1, 0), goal=(0, 2))
    assert (layout.n_rows, layout.n_columns) == (2, 3)
    assert steps_to_end(model) == 3
    assert layout.marks == {(1, 0): "S", (0, 2): "G"}


@pytest.mark.parametrize(
    ("build", "kwargs", "words"),
    [
        (cliff_walk, {"width": 2}, "width=2 is not a whole number of at least 3"),
        (cliff_walk, {"height": 2.0}, "height=2.0"),
        (cliff_walk, {"fall": "stop"}, "unknown fall 'stop'"),
        (windy_grid, {"moves": "king"}, "unknown moves 'king'; did you mean 'kings'"),
        (windy_grid, {"gust": 0.6}, r"gust=0.6 is not a number in \[0, 0.5\]"),
        (windy_grid, {"wind": [0, -1]}, r"wind\[1\]=-1"),
        (windy_grid, {"goal": (3, 10)}, r"goal=\(3, 10\) lies outside the 7 x 10 grid"),
        (windy_grid, {"start": 3}, "start=3 is not a pair of whole numbers"),
        (windy_grid, {"start": (3, 7)}, r"start and goal are both \(3, 7\)"),
    ],
)
def test_bad_keywords_are_named(build, kwargs, words):
    with pytest.raises(ParameterError, match=words):
        build(**kwargs)


def test_lists_from_json_do_for_pairs():
    env = gymnasium.make("rlsuite/WindyGrid-v0", start=[0, 0], goal=[6, 9], wind=[0] * 10)
    assert env.reset(seed=1)[0] == 0
