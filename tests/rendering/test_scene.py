"""One description of a grid, and what draws it: the same shapes in each, at the same places."""

import numpy as np

from rlsuite.rendering import GridLayout, Overlay
from rlsuite.rendering.scene import GOAL, PIT, Cells, Polygons, Texts, _outlines, grid_scene, square_colours


def test_what_is_drawn_of_a_grid_and_how_much_of_it():
    layout = GridLayout(
        2, 3, [(0, 0), (0, 1), (0, 2), (1, 0)], [[0, 0, 0], [0, 1, 0]], {(0, 0): "S", (0, 2): "G"}, [(0, 1), (0, 0)]
    )
    overlay = Overlay(layout, [0.0, 0.5, np.nan, 1.0], [[1.0, 0.5], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    goal = np.zeros((2, 3), dtype=bool)
    goal[0, 2] = True
    cells, symbols, arrows, stays, marks, numbers = grid_scene(overlay, square_colours(overlay), 40, {GOAL: goal})
    assert cells.colours[0, 2].tolist() == list(GOAL.colour)
    assert (symbols.name, symbols.corners.mean(axis=1).round(9).tolist()) == ("goal", [[2.0, 0.0]])
    tails, tips = (arrows.corners[:, 0] + arrows.corners[:, 6]) / 2, arrows.corners[:, 3]
    np.testing.assert_allclose(tails, [(0.0, -0.14), (-0.18, 0.86)])  # one of two begins in the middle
    np.testing.assert_allclose(tips, [(0.3, -0.14), (0.225, 0.86)])
    np.testing.assert_allclose(stays.corners.mean(axis=1), [(0.0, -0.14), (1.0, -0.14)], atol=1e-15)
    assert (marks.texts, numbers.texts) == (["S"], ["0.00", "0.50", "1.00"])  # the goal has its symbol
    assert numbers.places.tolist() == [[0.0, 0.29], [1.0, 0.29], [0.0, 1.29]]
    assert numbers.colours.max(axis=1).tolist() == [255, 41, 41]  # white on violet, else black
    kinds = [[type(shape) for shape in grid_scene(overlay, square_colours(overlay), side)] for side in (5, 10, 14, 26)]
    assert kinds == [[Cells], [Cells, Polygons, Polygons], [Cells, Polygons, Polygons, Texts], [*kinds[2], Texts]]
    assert grid_scene(overlay, square_colours(overlay), 5)[0].line is None
    small = grid_scene(overlay, square_colours(overlay), 20)[-1]  # a letter of 9 pixels stays in its square of 20
    assert (small.name, (np.abs(small.places - np.rint(small.places)) + 9 / 20 / 2 < 0.5).tolist()) == (
        "marks",
        [[True, True]] * 2,
    )
    layout = GridLayout(1, 1, [(0, 0)], marks={(0, 0): "X"})
    (cells, letter) = grid_scene(Overlay(layout), square_colours(Overlay(layout)), 40)
    assert (letter.texts, letter.places.tolist(), letter.size) == (["X"], [[0.0, 0.0]], 0.45)
    assert cells.colours.tolist() == [[list(PIT.colour)]]
    short = _outlines(np.zeros((1, 2)), np.array([[0.0, 0.1]]), 0.1)[0]
    assert short[:, 1].min() == 0.0  # a head is not longer than its arrow
