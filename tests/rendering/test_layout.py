import copy
import pickle

import gymnasium
import numpy as np
import pytest

from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.rendering import GridLayout


def test_frozen_lake_is_read_from_its_map():
    layout = GridLayout.from_env(gymnasium.make("FrozenLake-v1", desc=["SFH", "FFG"]))
    assert (layout.n_rows, layout.n_columns, layout.n_states) == (2, 3, 6)
    assert layout.marks == {(0, 0): "S", (0, 2): "H", (1, 2): "G"}
    np.testing.assert_array_equal(layout.cells, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)])
    np.testing.assert_array_equal(layout.idle, [False, False, True, False, False, True])
    assert not layout.walls.any()


@pytest.mark.parametrize(
    ("env_id", "kwargs"), [("FrozenLake-v1", {"is_slippery": False, "map_name": "8x8"}), ("CliffWalking-v1", {})]
)
def test_arrows_of_gymnasiums_grids_agree_with_their_tables(env_id, kwargs):
    env = gymnasium.make(env_id, **kwargs)
    layout = GridLayout.from_env(env)
    top_left = 0 if env_id == "CliffWalking-v1" else layout.n_columns + 1
    inside = layout.n_columns + 1 + top_left
    for action, arrow in enumerate(layout.arrows):
        [(probability, successor, _, _)] = env.unwrapped.P[inside][action]
        assert probability == 1.0
        np.testing.assert_array_equal(layout.cells[successor] - layout.cells[inside], arrow)


def test_cliff_walking_marks_start_goal_and_cliff():
    layout = GridLayout.from_env(gymnasium.make("CliffWalking-v1"))
    bottom = "".join(layout.marks[3, column] for column in range(12))
    assert bottom == "SXXXXXXXXXXG"
    assert len(layout.marks) == 12
    np.testing.assert_array_equal(np.flatnonzero(layout.idle), np.arange(37, 48))


def test_an_environment_may_bring_its_own_layout(grid_goal):
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.layout = grid_goal
    assert GridLayout.from_env(env) is grid_goal


@pytest.mark.parametrize("env_id", ["Taxi-v4", "Blackjack-v1"])
def test_an_environment_without_a_plane_is_told_what_is_missing(env_id):
    with pytest.raises(
        UnsuitableEnvironment, match=rf"{env_id} .* env\.unwrapped\.layout is missing\. Give .*`layout`"
    ):
        GridLayout.from_env(gymnasium.make(env_id))


def test_states_of_squares_and_squares_without_states():
    layout = GridLayout(1, 3, [(0, 2), (-1, -1), (0, 0)])
    np.testing.assert_array_equal(layout.states, [[2, -1, 0]])
    np.testing.assert_array_equal(layout.has_state, [[True, False, True]])


def test_two_states_on_one_square_have_no_map():
    layout = GridLayout(1, 2, [(0, 0), (0, 1), (0, 0)])
    with pytest.raises(ParameterError, match=r"states 0 and 2 share square \(0, 0\)"):
        _ = layout.states


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"n_rows": 0}, "at least one row"),
        ({"cells": [0, 1]}, r"cells has shape \(2,\), needed \(n_states, 2\)"),
        ({"cells": [(0, 0), (2, 0)]}, r"cells\[1\] = \(2, 0\) lies outside the 2 x 2 grid"),
        ({"cells": [(0, 0), (-1, 0)]}, r"cells\[1\] = \(-1, 0\) lies outside"),
        ({"walls": [[False, True], [False, False]]}, r"cells\[1\] = \(0, 1\) lies inside a wall"),
        ({"walls": [[False]]}, r"walls has shape \(1, 1\), needed \(2, 2\)"),
        ({"idle": [True]}, r"idle has shape \(1,\), needed \(2,\)"),
        ({"arrows": [0, 1]}, r"arrows has shape \(2,\)"),
        ({"marks": {(0, 0): "Start"}}, r"the mark of square \(0, 0\) is 'Start'"),
        ({"marks": {(0, 2): "G"}}, r"mark 'G' at \(0, 2\) lies outside the 2 x 2 grid"),
    ],
)
def test_wrong_layouts_are_refused(arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        GridLayout(**({"n_rows": 2, "n_columns": 2, "cells": [(0, 0), (0, 1)]} | arguments))


def test_a_layout_cannot_be_changed(grid_goal):
    with pytest.raises(AttributeError):
        grid_goal.n_rows = 3
    with pytest.raises(ValueError, match="read-only"):
        grid_goal.cells[0] = 0


def test_a_layout_keeps_what_nobody_can_change_and_copies_the_rest():
    cells = np.array([[0, 0], [0, 1]])
    layout = GridLayout(1, 2, cells)
    cells[0] = 1
    assert layout.cells.tolist() == [[0, 0], [0, 1]]
    again = GridLayout(1, 2, layout.cells)
    assert again.cells is layout.cells


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda layout: pickle.loads(pickle.dumps(layout))])
def test_copies_are_equal(grid_goal, clone):
    copied = clone(grid_goal)
    assert (copied.n_rows, copied.n_columns, copied.marks) == (2, 3, grid_goal.marks)
    for name in ("cells", "walls", "arrows", "idle"):
        np.testing.assert_array_equal(getattr(copied, name), getattr(grid_goal, name))


def test_names_that_are_no_directions_give_no_arrows():
    assert GridLayout.row_major(1, 2, actions=["left", "jump"]).arrows is None


def test_what_is_not_an_environment_is_refused():
    with pytest.raises(ParameterError, match=r"write GridLayout.from_env\(gymnasium.make\('CliffWalking-v1'\)\)"):
        GridLayout.from_env("CliffWalking-v1")
    with pytest.raises(ParameterError, match="env=3 is not an environment"):
        GridLayout.from_env(3)
