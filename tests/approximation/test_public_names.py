"""What `rlsuite.approximation` offers is found there, documented, and loaded no sooner than asked for."""

import inspect
import subprocess
import sys

import pytest

from rlsuite import approximation

ROOMS = ("features", "agents", "batch", "policies", "selection", "deep")
NAMES = [(room, name) for room in ROOMS for name in getattr(approximation, room).__all__]


def test_names_are_found_and_documented():
    for room, name in NAMES:
        value = getattr(approximation, name)
        assert value is getattr(getattr(approximation, room), name)
        assert inspect.getdoc(value), name


def test_all_names_are_listed():
    listed = {name for _, name in NAMES}
    assert listed | set(ROOMS) <= set(dir(approximation))
    taken = {}
    exec("from rlsuite.approximation import *", taken)
    assert listed == set(taken) - {"__builtins__"}


def test_no_name_is_taken_twice():
    names = [name for _, name in NAMES]
    assert len(set(names)) == len(names)


def test_a_misspelt_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="TileKoding"):
        _ = approximation.TileKoding


@pytest.mark.slow
def test_features_load_no_networks_and_no_forests():
    code = (
        "import sys; from rlsuite.approximation import TileCoding, SemiGradientSarsa; "
        "print('torch' in sys.modules, 'sklearn.ensemble' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
