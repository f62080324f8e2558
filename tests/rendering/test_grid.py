import copy
import pickle
import time

import gymnasium
import numpy as np
import pytest

from rlsuite.rendering import GridDrawing, GridLayout, greedy_weights
from rlsuite.rendering.canvas import CAPTION_HEIGHT, MIN_WIDTH
from rlsuite.rendering.colours import FLOOR, INK, ORANGE, PAPER, UNKNOWN, VIRIDIS, WALL
from rlsuite.rendering.painting import MARGIN
from rlsuite.rendering.scene import GOAL, PIT, START

SIDE = 96  # of a square of a small grid, in pixels


def corner(row, column):
    """Row and column of a pixel near the upper right corner of a square: no line, letter, number or arrow there."""
    return MARGIN + row * SIDE + 4, MARGIN + (column + 1) * SIDE - 4


def pixel(picture, row, column, across, down):
    """Colour of the pixel at a fraction of a square."""
    y, x = MARGIN + (row + down) * SIDE, MARGIN + (column + across) * SIDE
    return tuple(picture[round(y), round(x)].tolist())


def test_text_of_a_plain_grid(grid_goal):
    assert GridDrawing(grid_goal).ansi(4, 1, 0.0, "episode 2") == (
        " . [.] G\n"
        " S  .  .\n"
        "right, reward 0 | episode 2\n"
    )  # fmt: skip


def test_text_with_walls_holes_and_an_agent_nowhere():
    layout = GridLayout(2, 2, [(0, 0), (-1, -1)], walls=[[False, True], [False, False]], marks={(0, 0): "S"})
    assert GridDrawing(layout).ansi(0) == "[S] #\n\nstart\n"
    assert GridDrawing(layout).ansi(1, 3, -1.0) == " S  #\n\naction 3, reward -1\n"


def test_text_with_values_and_all_tied_actions(grid_goal, grid_goal_q):
    drawing = GridDrawing(grid_goal, value=[81, 90, 100, 90, 100, 0], policy=greedy_weights(grid_goal_q))
    assert drawing.ansi(0) == (
        " .  90→   . 100→   G   0\n"
        "[S  81→↑] .  90→↑  . 100↑\n"
        "start\n"
    )  # fmt: skip


def test_text_with_a_policy_alone(grid_goal):
    assert GridDrawing(grid_goal, policy=[1, 2, 2, 1, 1, -1]).ansi(5, 2, 100.0) == (
        " .→  .→ [G ]\n"
        " S→  .↑  .↑\n"
        "up, reward 100\n"
    )  # fmt: skip


def test_text_of_frozen_lake():
    drawing = GridDrawing(GridLayout.from_env(gymnasium.make("FrozenLake-v1")))
    assert drawing.ansi(4, 1, 0.0) == (
        " S  .  .  .\n"
        "[.] H  .  H\n"
        " .  .  .  H\n"
        " H  .  .  G\n"
        "down, reward 0\n"
    )  # fmt: skip


def test_pixels_of_a_plain_grid():
    walls = [[False, True, False], [False, False, False]]
    layout = GridLayout(
        2, 3, [(0, 0), (0, 2), (1, 1), (1, 2)], walls, {(0, 0): "S", (0, 2): "G", (1, 2): "X"}, [(0, -1), (0, 1)]
    )
    picture = GridDrawing(layout).rgb(2, 1, 0.0)
    assert picture.dtype == np.uint8
    assert picture.shape == (2 * SIDE + 2 * MARGIN + CAPTION_HEIGHT, 3 * SIDE + 2 * MARGIN, 3)
    expected = [[START.colour, WALL, GOAL.colour], [PAPER, FLOOR, PIT.colour]]
    for row in range(2):
        for column in range(3):
            assert tuple(picture[corner(row, column)].tolist()) == expected[row][column]
    assert pixel(picture, 1, 1, 0.5, 0.5) == ORANGE  # the agent
    assert pixel(picture, 1, 1, 0.84, 0.5) == INK  # looks right,
    assert pixel(picture, 1, 1, 0.16, 0.5) == FLOOR  # not left


def test_the_caption_is_written_below_the_grid(grid_goal):
    drawing = GridDrawing(grid_goal)
    strip = 2 * SIDE + 2 * MARGIN
    with_reward, without = drawing.rgb(0, 1, 100.0)[strip:], drawing.rgb(0)[strip:]
    assert (with_reward < 100).any()
    assert not np.array_equal(with_reward, without)
    np.testing.assert_array_equal(drawing.rgb(0, 1, 100.0)[:strip].shape, drawing.rgb(0)[:strip].shape)


def test_colours_of_values(grid_goal):
    picture = GridDrawing(grid_goal, value=[50, 90, 100, np.nan, 100, 0]).rgb(1)
    assert tuple(picture[corner(0, 2)].tolist()) == tuple(VIRIDIS[0])  # G, the lowest
    assert tuple(picture[corner(0, 1)].tolist()) == tuple(VIRIDIS[-1])  # the highest
    assert tuple(picture[corner(1, 0)].tolist()) == tuple(VIRIDIS[8])  # half way
    assert tuple(picture[corner(0, 0)].tolist()) == UNKNOWN


def test_a_tied_policy_has_an_arrow_for_each_best_action(grid_goal, grid_goal_q):
    picture = GridDrawing(grid_goal, policy=greedy_weights(grid_goal_q)).rgb(5)
    directions = {"left": (0.3, 0.5), "right": (0.7, 0.5), "up": (0.5, 0.3), "down": (0.5, 0.7)}

    def drawn(row, column):
        return {name for name, place in directions.items() if pixel(picture, row, column, *place) == INK}

    assert drawn(1, 0) == {"right", "up"}
    assert drawn(1, 1) == {"right", "up"}
    # A single arrow is centred and therefore crosses the whole square.
    assert drawn(1, 2) == {"up", "down"}
    assert drawn(0, 0) == {"left", "right"}


def test_over_an_overlay_the_agent_is_a_frame_that_hides_no_number(grid_goal):
    drawing = GridDrawing(grid_goal, value=[81, 90, 100, 90, 100, 0], policy=[1, 1, 2, 1, 1, -1])
    here, elsewhere = drawing.rgb(0), drawing.rgb(3)
    assert pixel(here, 1, 0, 0.05, 0.5) == ORANGE
    inside = np.s_[
        MARGIN + SIDE + SIDE // 5 : MARGIN + 2 * SIDE - SIDE // 9, MARGIN + SIDE // 8 : MARGIN + SIDE - SIDE // 8
    ]
    np.testing.assert_array_equal(here[inside], elsewhere[inside])


def test_all_frames_have_one_size(grid_goal):
    drawing = GridDrawing(grid_goal)
    frames = [drawing.rgb(0), drawing.rgb(5, 2, 100.0, "a caption that is much longer than the picture is wide, " * 3)]
    assert frames[0].shape == frames[1].shape


def test_a_narrow_grid_keeps_room_for_its_caption():
    assert GridDrawing(GridLayout.row_major(3, 1)).rgb(0).shape[1] == MIN_WIDTH


@pytest.mark.slow
def test_large_grids_shrink_to_one_pixel_a_square_and_stay_fast():
    generator = np.random.default_rng(0)
    walls = generator.random((1000, 1000)) < 0.2
    walls[7, 5] = True
    cells = np.argwhere(~walls)
    layout = GridLayout(1000, 1000, cells, walls, arrows=[(0, 1), (1, 0)])
    drawing = GridDrawing(layout, value=cells.sum(axis=1), policy=np.zeros(len(cells), dtype=int))
    begin = time.perf_counter()
    picture = drawing.rgb(len(cells) // 2, 1, 0.0)
    assert time.perf_counter() - begin < 10.0
    assert picture.shape == (1000 + 2 * MARGIN + CAPTION_HEIGHT, 1000 + 2 * MARGIN, 3)
    assert tuple(picture[MARGIN + 7, MARGIN + 5].tolist()) == WALL
    row, column = cells[len(cells) // 2]
    assert tuple(picture[MARGIN + row, MARGIN + column].tolist()) == ORANGE


def test_a_long_chain_fits_on_a_page():
    height, width, _ = GridDrawing(GridLayout.row_major(1, 500)).rgb(250).shape
    assert width <= 1600 + 2 * MARGIN
    assert height >= 2 * MARGIN + CAPTION_HEIGHT + 3


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda drawing: pickle.loads(pickle.dumps(drawing))])
@pytest.mark.parametrize("used", [False, True])
def test_copies_draw_the_same(grid_goal, clone, used):
    drawing = GridDrawing(grid_goal, value=np.arange(6.0), policy=[1, 1, 2, 1, 1, -1])
    if used:
        drawing.rgb(0)
    copied = clone(drawing)
    np.testing.assert_array_equal(copied.rgb(3, 1, 0.0), drawing.rgb(3, 1, 0.0))
    assert copied.ansi(3) == drawing.ansi(3)


def test_a_drawing_cannot_be_changed(grid_goal):
    with pytest.raises(AttributeError):
        GridDrawing(grid_goal).layout = grid_goal
