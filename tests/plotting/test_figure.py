import subprocess
import sys

import pytest
from PIL import Image

from rlsuite import plotting
from rlsuite.errors import FileError, ParameterError
from rlsuite.rendering import GridLayout

BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", list(BEGINNINGS))
def test_equal_figures_give_equal_bytes(results_of, tmp_path, suffix):
    paths = [tmp_path / f"{name}.{suffix}" for name in ("first", "second", "third")]
    for path in paths[:2]:
        assert plotting.save(plotting.evaluation([results_of("QLearning"), results_of("Sarsa")]), path) == path
    # Neither axes or figure nor an earlier save makes a difference.
    ax = plotting.evaluation([results_of("QLearning"), results_of("Sarsa")])
    plotting.save(ax, tmp_path / f"earlier.{suffix}")
    plotting.save(ax.figure, paths[2])
    contents = {path.read_bytes() for path in paths}
    assert len(contents) == 1
    assert contents.pop().startswith(BEGINNINGS[suffix])


def test_value_maps_give_equal_bytes_too(tmp_path):
    for name in ("first", "second"):
        plotting.save(plotting.value_map(GridLayout.row_major(2, 2), [0, 1, 2, 3]), tmp_path / f"{name}.svg")
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()


def test_a_png_is_large_enough_to_read(results_of, tmp_path):
    with Image.open(plotting.save(plotting.regret(results_of()), tmp_path / "regret.png")) as picture:
        assert picture.width > 1000


def test_other_formats_and_impossible_places_are_refused(results_of, tmp_path):
    ax = plotting.regret(results_of())
    with pytest.raises(ParameterError, match=r"unknown figure format '\.pgn'; did you mean '\.png'\?"):
        plotting.save(ax, tmp_path / "regret.pgn")
    with pytest.raises(FileError, match="No such file"):
        plotting.save(ax, tmp_path / "missing" / "regret.png")
    assert list(tmp_path.iterdir()) == []


def test_figures_are_found_from_the_code():
    found = plotting.figures()
    values = ["evaluation", "evaluation_return", "parameter_map", "parameter_study", "regret", "value_error"]
    assert list(found) == ["cumulative_reward", "episode_return", *values]
    for name, function in found.items():
        assert getattr(plotting, name) is function


def test_matplotlib_is_imported_with_the_first_figure_only():
    code = "import sys, rlsuite.plotting; rlsuite.plotting.figures(); print('matplotlib' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "False"
