import copy
import pickle

import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite.rendering import BoxesDrawing
from rlsuite.rendering.boxes import BOXES_ON_A_PAGE, MARGIN
from rlsuite.rendering.canvas import CAPTION_HEIGHT
from rlsuite.rendering.colours import FLOOR, ORANGE


@pytest.fixture
def doors():
    actions = ["listen", "open left", "open right"]
    return BoxesDrawing(["left", "right"], follow="action", boxes=[None, 0, 1], action_labels=actions)


def highlighted(picture, n_boxes):
    """Which of a single row of boxes are orange, seen near their upper edge."""
    side = (picture.shape[0] - 2 * MARGIN - CAPTION_HEIGHT) or 1
    left = (picture.shape[1] - n_boxes * side) // 2
    colours = [tuple(picture[MARGIN + side // 6, left + box * side + side // 2].tolist()) for box in range(n_boxes)]
    assert set(colours) <= {ORANGE, FLOOR}
    return [box for box, colour in enumerate(colours) if colour == ORANGE]


def test_a_bandit_highlights_the_last_arm():
    arms = BoxesDrawing([f"arm {i}" for i in range(4)], follow="action")
    assert arms.ansi(0, 2, 0.25) == " arm 0   arm 1  [arm 2]  arm 3\narm 2, reward 0.25\n"
    assert arms.ansi(0) == " arm 0   arm 1   arm 2   arm 3\nstart\n"
    assert highlighted(arms.rgb(0, 2, 0.25), 4) == [2]
    assert highlighted(arms.rgb(0), 4) == []


def test_a_chain_highlights_its_state():
    chain = BoxesDrawing(["A", "B", "C"])
    assert chain.ansi(1, 0, -1.0) == " A  [B]  C\naction 0, reward -1\n"
    assert highlighted(chain.rgb(1, 0, -1.0), 3) == [1]


def test_doors_never_tell_the_hidden_state(doors):
    for action in (None, 0, 1, 2):
        assert doors.ansi(0, action, -1.0, "heard left") == doors.ansi(1, action, -1.0, "heard left")
        np.testing.assert_array_equal(doors.rgb(0, action, -1.0), doors.rgb(1, action, -1.0))
    assert doors.ansi(0, 0, -1.0, "heard: left") == " left   right\nlisten, reward -1 | heard: left\n"
    assert doors.ansi(0, 2, 10.0) == " left  [right]\nopen right, reward 10\n"
    assert highlighted(doors.rgb(0, 1, -100.0), 2) == [0]
    assert highlighted(doors.rgb(0, 0, -1.0), 2) == []


def test_many_boxes_are_drawn_a_page_at_a_time():
    boxes = BoxesDrawing([str(i) for i in range(10 * BOXES_ON_A_PAGE + 3)])
    first, last = boxes.ansi(0), boxes.ansi(10 * BOXES_ON_A_PAGE + 1)
    assert first.startswith("[0] ")
    assert last.splitlines()[0].split() == ["1900", "[1901]", "1902"]
    assert boxes.rgb(0).shape == boxes.rgb(10 * BOXES_ON_A_PAGE + 1).shape


def test_all_frames_have_one_size(doors):
    assert doors.rgb(0).shape == doors.rgb(0, 1, -100.0, "a caption " * 30).shape


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"labels": []}, "at least one label"),
        ({"labels": ["a"], "follow": "actoin"}, "did you mean 'action'"),
        ({"labels": ["a"], "boxes": [0, 1]}, r"boxes\[1\] = 1 must be 0 to 0"),
    ],
)
def test_wrong_boxes_are_refused(arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        BoxesDrawing(**arguments)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda drawing: pickle.loads(pickle.dumps(drawing))])
def test_copies_draw_the_same(doors, clone):
    np.testing.assert_array_equal(clone(doors).rgb(0, 1, -100.0), doors.rgb(0, 1, -100.0))
