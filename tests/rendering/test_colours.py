import subprocess
import sys
from itertools import pairwise

import numpy as np
from matplotlib import colormaps

from rlsuite.rendering.colours import heat, inks_on


def test_the_embedded_table_is_viridis():
    def reference(fraction):
        return np.rint(255 * colormaps["viridis"](fraction)[:, :3])

    anchors = np.linspace(0.0, 1.0, 17)
    np.testing.assert_array_equal(heat(anchors), reference(anchors))
    between = np.linspace(0.0, 1.0, 1001)
    assert np.abs(heat(between) - reference(between)).max() <= 6  # of 255


def test_larger_is_lighter():
    luma = heat(np.linspace(0.0, 1.0, 256)) @ np.array([0.299, 0.587, 0.114])
    assert all(later > earlier - 0.5 for earlier, later in pairwise(luma))
    assert luma[-1] - luma[0] > 150


def test_ink_stands_out_on_every_shade():
    shades = heat(np.linspace(0.0, 1.0, 64))
    for colour, ink in zip(shades.tolist(), inks_on(shades).tolist(), strict=True):
        light, dark = sorted((luminance(ink), luminance(colour)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 3.7


def luminance(colour):
    """Relative luminance as in WCAG 2.2, whose contrast of symbols is at least 3."""
    parts = np.array(colour) / 255.0
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))


def test_rendering_needs_no_plotting_library():
    code = "import sys, rlsuite.rendering; print('matplotlib' in sys.modules, 'gymnasium' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["False", "False"]
