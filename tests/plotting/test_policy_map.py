import numpy as np
import pytest
from matplotlib.colors import to_rgb

from rlsuite.errors import ParameterError
from rlsuite.plotting import Palette, policy_map
from rlsuite.plotting.plane import STRENGTH
from rlsuite.rendering.colours import VIRIDIS

SQUARE = ([0.0, 0.0], [2.0, 1.0])


def rows(observations):
    """Action 2 in the lower half, 0 in the upper."""
    return np.where(observations[:, 1] < 0.5, 2, 0)


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_every_pixel_has_the_colour_of_its_action():
    names = ["left", "none", "right"]
    [image] = policy_map(SQUARE, rows, actions=names, resolution=4).images
    looks = Palette(names)
    below, above = (np.array(to_rgb(looks[name].colour)) * STRENGTH + 1.0 - STRENGTH for name in ("right", "left"))
    pixels = image.get_array()
    assert (pixels[:2] == below).all()
    assert (pixels[2:] == above).all()
    assert image.get_extent() == pytest.approx([-1 / 3, 2 + 1 / 3, -1 / 6, 1 + 1 / 6])


def test_an_action_keeps_its_colour_in_another_slice():
    """Colours belong to names, not to what happens to be taken somewhere."""
    names = ["left", "none", "right"]
    everywhere = policy_map(SQUARE, lambda x: np.full(len(x), 2), actions=names, resolution=4)
    both = policy_map(SQUARE, rows, actions=names, resolution=4)
    assert (everywhere.images[0].get_array()[0] == both.images[0].get_array()[0]).all()
    assert legend_of(everywhere) == ["right"]


def test_actions_without_names_are_numbered(caption_of):
    ax = policy_map(SQUARE, rows)
    assert legend_of(ax) == ["action 0", "action 2"]
    assert caption_of(ax) == "Colour: action of the policy."


def test_many_actions_run_from_dark_to_light():
    [image] = policy_map(SQUARE, lambda x: np.rint(8 * x[:, 1]), resolution=9).images
    column = np.rint(image.get_array()[:, 0] * 255)
    assert column.tolist() == VIRIDIS[::2].tolist()


def test_a_policy_may_be_asked_one_by_one():
    [image] = policy_map(SQUARE, lambda x: [int(one[1] < 0.5) for one in x], resolution=4).images
    assert len(np.unique(image.get_array().reshape(-1, 3), axis=0)) == 2


@pytest.mark.parametrize(
    ("act", "arguments", "complaint"),
    [
        (lambda x: x[:, 0], {}, r"holds 0.0166667, which is not an action"),
        (lambda x: np.full(len(x), -1), {}, "holds -1"),
        (lambda x: np.full(len(x), np.nan), {}, "holds nan"),
        (lambda x: 1, {}, r"act\(observations\) has shape \(\)"),
        (rows, {"actions": ["left", "right"]}, r"holds action 2, and actions= names only 0\.\.1"),
        (rows, {"labels": ["x", "y", "z"]}, "3 labels for observations of 2"),
    ],
)
def test_wrong_policies_are_refused(act, arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        policy_map(SQUARE, act, **arguments)
