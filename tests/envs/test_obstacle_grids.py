"""Lecture notes, Figs. 9.3 and 9.4; every open point of the text is a keyword."""

from collections import deque

import gymnasium
import numpy as np
import pytest

from rlsuite.errors import ModelError, ParameterError
from rlsuite_envs.obstacle_problems import obstacle_grid, slippery_obstacle_grid

BUILDERS = [obstacle_grid, slippery_obstacle_grid]


def row(problem, square, action):
    """Transitions from a square (i, j) by the name of an action, with labels instead of numbers."""
    model = problem.model
    label = "({},{})".format(*square)
    s, a = model.state_labels.index(label), model.action_labels.index(action)
    return [(round(p, 12), model.state_labels[ahead], r, over) for p, ahead, r, over in model.P[s][a]]


def test_the_deterministic_problem_as_printed():
    problem = obstacle_grid(width=4, height=3, obstacles=[(1, 1)])
    assert problem.model.action_labels == ("Left", "Right", "Up", "Down")
    assert problem.model.n_states == 11
    assert row(problem, (1, 0), "Left") == [(1.0, "(0,0)", 0.0, False)]
    assert row(problem, (0, 0), "Up") == [(1.0, "(0,1)", 0.0, False)]
    assert row(problem, (0, 1), "Right") == [(1.0, "(0,1)", -10.0, False)]
    assert row(problem, (1, 0), "Up") == [(1.0, "(1,0)", -10.0, False)]
    assert row(problem, (2, 2), "Right") == [(1.0, "(3,2)", 1000.0, True)]
    assert row(problem, (0, 0), "Down") == [(1.0, "(0,0)", 0.0, False)]
    assert row(problem, (3, 1), "Left") == [(1.0, "(3,1)", 0.0, True)]


def test_the_stochastic_problem_as_printed():
    problem = slippery_obstacle_grid(width=4, height=3, obstacles=[(1, 2)])
    assert problem.model.action_labels == ("Left", "Right")
    assert row(problem, (0, 1), "Right") == [
        (0.9, "(1,1)", 1.0, False), (0.05, "(0,1)", -10.0, False), (0.05, "(1,0)", 1.0, False)
    ]  # fmt: skip
    assert row(problem, (2, 1), "Left") == [
        (0.9, "(1,1)", -1.0, False), (0.05, "(2,1)", -10.0, False), (0.05, "(1,0)", -1.0, False)
    ]  # fmt: skip
    assert row(problem, (2, 0), "Right") == [
        (0.9, "(3,0)", 1000.0, True), (0.05, "(3,1)", 1000.0, True), (0.05, "(2,0)", 1.0, False)
    ]  # fmt: skip
    assert row(problem, (0, 1), "Left") == [(p, "(0,1)", -1.0, False) for p in (0.9, 0.05, 0.05)]


@pytest.mark.parametrize("build", BUILDERS)
def test_the_default_field_can_be_crossed_from_every_start(build):
    model, layout = build()
    assert (layout.n_columns, layout.n_rows, int(layout.walls.sum())) == (8, 5, 7)
    for start in np.flatnonzero(model.start):
        seen, queue, arrived = {int(start)}, deque([int(start)]), False
        while queue:
            s = queue.popleft()
            for a in range(model.n_actions):
                for _, ahead, _, over in model.P[s][a]:
                    arrived |= over
                    if ahead not in seen:
                        seen.add(ahead)
                        queue.append(ahead)
        assert arrived


def test_the_optimum_of_the_deterministic_field_is_the_shortest_way(optimum):
    model, layout = obstacle_grid()
    value, _ = optimum(model)
    states = layout.states
    goal_column = layout.n_columns - 1
    distance = {(r, goal_column): 0 for r in range(layout.n_rows) if states[r, goal_column] >= 0}
    queue = deque(distance)
    while queue:
        r, c = queue.popleft()
        for near in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
            inside = 0 <= near[0] < layout.n_rows and 0 <= near[1] < layout.n_columns
            if inside and states[near] >= 0 and near not in distance:
                distance[near] = distance[r, c] + 1
                queue.append(near)
    for square, steps in distance.items():
        wanted = 1000 * 0.9 ** (steps - 1) if steps else 0.0
        assert value[states[square]] == pytest.approx(wanted)


def test_left_is_optimal_in_front_of_a_wall(optimum, at):
    # Fig. 9.4: green squares mean Right, red squares Left; Left makes room to slip round the wall.
    model, layout = slippery_obstacle_grid()
    _, q = optimum(model)
    in_front = at(layout, 2, 1)
    assert layout.walls[1:4, 2].all()
    assert q[in_front, 0] > q[in_front, 1]
    free = at(layout, 2, 6)
    assert q[free, 1] > q[free, 0]


# -------------------------------------------------------------------------------- the points left open, one by one


@pytest.mark.parametrize("build", BUILDERS)
def test_where_episodes_start(build):
    def starts(**kwargs):
        model, _ = build(width=3, height=2, obstacles=[(0, 1)], **kwargs)
        return {label: p for label, p in zip(model.state_labels, model.start.tolist(), strict=True) if p}

    assert starts() == {"(0,0)": pytest.approx(1 / 3), "(1,0)": pytest.approx(1 / 3), "(1,1)": pytest.approx(1 / 3)}
    assert starts(start="left") == {"(0,0)": 1.0}
    assert starts(start=(1, 1)) == {"(1,1)": 1.0}
    assert starts(start=[1, 1]) == {"(1,1)": 1.0}


@pytest.mark.parametrize("build", BUILDERS)
def test_indices_may_begin_at_one_and_j_may_grow_downwards(build):
    up = build(width=3, height=2, obstacles=[(0, 0)])
    down = build(width=3, height=2, obstacles=[(0, 1)], j_axis="down")
    from_one = build(width=3, height=2, obstacles=[(1, 1)], origin=1)
    for other in (down, from_one):
        assert other.layout.walls.tolist() == up.layout.walls.tolist() == [[False] * 3, [True, False, False]]
        assert all(np.array_equal(a, b) for a, b in zip(other.model.rows, up.model.rows, strict=True))
    assert up.model.state_labels == ("(0,1)", "(1,1)", "(2,1)", "(1,0)", "(2,0)")
    assert down.model.state_labels == ("(0,0)", "(1,0)", "(2,0)", "(1,1)", "(2,1)")
    assert from_one.model.state_labels == ("(1,2)", "(2,2)", "(3,2)", "(2,1)", "(3,1)")


@pytest.mark.parametrize("build", BUILDERS)
def test_black_squares_may_count_as_states_which_nobody_enters(build):
    without = build(width=3, height=2, obstacles=[(1, 1)])
    problem = build(width=3, height=2, obstacles=[(1, 1)], obstacle_states=True)
    assert (without.model.n_states, problem.model.n_states) == (5, 6)
    black = problem.model.state_labels.index("(1,1)")
    from_elsewhere = problem.model.pairs() // problem.model.n_actions != black
    assert black not in problem.model.next_state[from_elsewhere]
    assert problem.model.start[black] == 0.0
    assert problem.layout.marks[0, 1] == "#"
    for square in ((0, 0), (0, 1), (1, 0)):
        for action in problem.model.action_labels:
            assert row(problem, square, action) == row(without, square, action)


def test_the_border_may_cost_or_not_exist():
    assert row(obstacle_grid(border_cost=10), (0, 0), "Left") == [(1.0, "(0,0)", -10.0, False)]
    masked = obstacle_grid(border="mask")
    assert row(masked, (0, 0), "Left") == []
    assert row(masked, (0, 0), "Down") == []
    assert row(masked, (1, 1), "Right") == [(1.0, "(1,1)", -10.0, False)]
    slippery = slippery_obstacle_grid(width=3, height=1, obstacles=[], border_cost=4)
    assert row(slippery, (0, 0), "Right") == [
        (0.9, "(1,0)", 1.0, False), (0.05, "(0,0)", -4.0, False), (0.05, "(0,0)", -4.0, False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("goal", "entering", "staying", "leaving"),
    [
        ("end", [(1.0, "(2,0)", 1000.0, True)], [(1.0, "(2,0)", 0.0, True)], [(1.0, "(2,0)", 0.0, True)]),
        ("entry", [(1.0, "(2,0)", 1000.0, False)], [(1.0, "(2,1)", 0.0, False)], [(1.0, "(1,0)", 0.0, False)]),
        ("every", [(1.0, "(2,0)", 1000.0, False)], [(1.0, "(2,1)", 1000.0, False)], [(1.0, "(1,0)", 0.0, False)]),
    ],
)
def test_what_the_right_most_column_does(goal, entering, staying, leaving):
    problem = obstacle_grid(width=3, height=2, obstacles=[], goal=goal)
    assert row(problem, (1, 0), "Right") == entering
    assert row(problem, (2, 0), "Up") == staying
    assert row(problem, (2, 0), "Left") == leaving


def test_the_slip_is_shared_by_the_diagonals_or_that_of_each():
    each = slippery_obstacle_grid(width=4, height=3, obstacles=[], slip_is="each")
    assert [p for p, *_ in row(each, (0, 1), "Right")] == [0.8, 0.1, 0.1]
    sure = slippery_obstacle_grid(width=4, height=3, obstacles=[], slip=0)
    assert row(sure, (0, 1), "Right") == [(1.0, "(1,1)", 1.0, False)]


@pytest.mark.parametrize(
    ("diagonal_out", "wanted"),
    [
        ("stay", [(0.9, "(1,1)"), (0.05, "(0,1)"), (0.05, "(1,0)")]),
        ("slide", [(0.9, "(1,1)"), (0.05, "(1,1)"), (0.05, "(1,0)")]),
        ("renormalise", [(round(0.9 / 0.95, 12), "(1,1)"), (round(0.05 / 0.95, 12), "(1,0)")]),
    ],
)
def test_a_diagonal_that_leaves_the_grid(diagonal_out, wanted):
    problem = slippery_obstacle_grid(width=4, height=2, obstacles=[], diagonal_out=diagonal_out)
    assert [(p, ahead) for p, ahead, *_ in row(problem, (0, 1), "Right")] == wanted
    # At the left border nothing gets anywhere, whatever the reading.
    assert {ahead for _, ahead, *_ in row(problem, (0, 1), "Left")} == {"(0,1)"}


def test_a_slide_meets_the_obstacle_straight_ahead():
    problem = slippery_obstacle_grid(width=4, height=1, obstacles=[(1, 0)], diagonal_out="slide")
    assert row(problem, (0, 0), "Right") == [
        (0.9, "(0,0)", -10.0, False), (0.05, "(0,0)", -10.0, False), (0.05, "(0,0)", -10.0, False)
    ]  # fmt: skip


def test_corners_may_be_cut_or_not():
    obstacles = [(1, 1)]
    cut = slippery_obstacle_grid(width=4, height=3, obstacles=obstacles)
    assert row(cut, (0, 0), "Right")[1] == (0.05, "(0,0)", -10.0, False)
    assert row(cut, (0, 1), "Right")[1] == (0.05, "(1,2)", 1.0, False)
    assert row(cut, (1, 0), "Right")[1] == (0.05, "(2,1)", 1.0, False)
    uncut = slippery_obstacle_grid(width=4, height=3, obstacles=obstacles, corner_cutting=False)
    # Between (1,1), black, and (0,2); and between (1,1) and (2,0).
    assert row(uncut, (0, 1), "Right")[1] == (0.05, "(0,1)", -10.0, False)
    assert row(uncut, (1, 0), "Right")[1] == (0.05, "(1,0)", -10.0, False)
    assert row(uncut, (2, 0), "Left")[0] == (0.9, "(1,0)", -1.0, False)


@pytest.mark.parametrize(
    ("paid", "rewards", "free", "slipped", "hit", "out", "goal"),
    [
        ("always", "exclusive", 1, 1, -10, 1, 1000),
        ("moved", "exclusive", 1, 1, -10, 0, 1000),
        ("straight", "exclusive", 1, 0, -10, 0, 1000),
        ("always", "additive", 1, 1, -9, 1, 1001),
        ("moved", "additive", 1, 1, -10, 0, 1001),
        ("straight", "additive", 1, 0, -10, 0, 1001),
    ],
)
def test_which_rewards_are_paid_together(paid, rewards, free, slipped, hit, out, goal):
    problem = slippery_obstacle_grid(width=4, height=2, obstacles=[(1, 0)], paid=paid, rewards=rewards)
    straight, over_the_top, onto_black = row(problem, (0, 1), "Right")
    assert (straight[2], over_the_top[2], onto_black[2]) == (free, out, hit)
    # A slip from (2,1) down to (3,0) arrives, one from (1,1) to (2,0) only moves.
    assert row(problem, (1, 1), "Right")[2][2] == slipped
    assert row(problem, (2, 1), "Right")[0][2] == goal


def test_additive_border_costs_come_on_top():
    problem = slippery_obstacle_grid(width=3, height=1, obstacles=[], border_cost=4, rewards="additive")
    assert row(problem, (0, 0), "Left")[0] == (0.9, "(0,0)", -5.0, False)


def test_the_rewards_are_keywords():
    problem = slippery_obstacle_grid(
        width=3, height=2, obstacles=[(1, 1)], goal_reward=5, obstacle_cost=2, left_reward=-3, right_reward=4
    )
    assert row(problem, (0, 0), "Right")[0][2] == 4
    assert row(problem, (0, 0), "Right")[1][2] == -2
    assert row(problem, (1, 0), "Left")[0][2] == -3
    assert row(problem, (1, 0), "Right")[0][2] == 5


def test_default_obstacles_follow_the_origin_and_only_fit_the_default_size():
    assert obstacle_grid(origin=1).layout.walls.tolist() == obstacle_grid().layout.walls.tolist()
    assert not obstacle_grid(width=9).layout.walls.any()


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"width": 1}, "width=1 is not a whole number of at least 2"),
        ({"height": 0}, "height=0"),
        ({"obstacles": 3}, "obstacles=3 is not a sequence"),
        ({"obstacles": [(1, 1), (8, 0)]}, r"obstacles\[1\]=\(8, 0\) lies outside the field, .* to \(7, 4\)"),
        (
            {"obstacles": [(0, 0)], "origin": 1},
            r"obstacles\[0\]=\(0, 0\) lies outside the field, .*\(1, 1\) to \(8, 5\)",
        ),
        ({"obstacles": [1]}, r"obstacles\[0\]=1 is not a pair"),
        ({"start": "right"}, "unknown start 'right'"),
        ({"start": (2, 2)}, r"start=\(2, 2\) is an obstacle"),
        ({"start": (7, 0)}, "in the right-most column"),
        ({"start": (9, 0)}, "start=.9, 0. lies outside"),
        ({"goal": "stop"}, "unknown goal 'stop'"),
        ({"j_axis": "left"}, "unknown j_axis 'left'"),
        ({"origin": -1}, "origin=-1"),
        ({"obstacle_cost": None}, "obstacle_cost=None is not a finite number"),
    ],
)
def test_bad_keywords_are_named(build, kwargs, words):
    with pytest.raises(ParameterError, match=words):
        build(**kwargs)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"slip": 1.1}, "slip=1.1"),
        ({"slip": 0.6, "slip_is": "each"}, r"slip=0.6 is not a number in \[0, 0.5\]"),
        ({"slip_is": "both"}, "unknown slip_is 'both'"),
        ({"diagonal_out": "stop"}, "unknown diagonal_out 'stop'"),
        ({"rewards": "both"}, "unknown rewards 'both'"),
        ({"paid": "never"}, "unknown paid 'never'"),
        ({"right_reward": "1"}, "right_reward='1'"),
        ({"slip": 1, "height": 1, "obstacles": [], "diagonal_out": "renormalise"}, "has nothing to renormalise"),
    ],
)
def test_bad_keywords_of_the_slippery_grid_are_named(kwargs, words):
    with pytest.raises(ParameterError, match=words):
        slippery_obstacle_grid(**kwargs)


@pytest.mark.parametrize("build", BUILDERS)
def test_fields_without_start_or_goal_are_no_problems(build):
    with pytest.raises(ModelError, match="no goal can be reached"):
        build(width=3, height=2, obstacles=[(2, 0), (2, 1)])
    with pytest.raises(ModelError, match="nowhere to start"):
        build(width=2, height=2, obstacles=[(0, 0), (0, 1)])


def test_keywords_reach_the_registered_environments():
    env = gymnasium.make("rlsuite/SlipperyObstacleGrid-v0", width=3, height=1, obstacles=[], slip=0.0, start=[1, 0])
    env.reset(seed=1)
    assert env.step(1)[1:3] == (1000.0, True)
    env = gymnasium.make("rlsuite/ObstacleGrid-v0", width=30, height=20, border="mask")
    assert env.observation_space.n == 600
