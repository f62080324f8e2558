import numpy as np
import pytest
from PIL import Image

from rlsuite.errors import FileError, ParameterError
from rlsuite.rendering import GridDrawing, write_gif


def shade(value, height=20, width=30):
    return np.full((height, width, 3), value, dtype=np.uint8)


def test_every_frame_can_be_read_back(tmp_path, grid_goal):
    drawing = GridDrawing(grid_goal)
    frames = [drawing.rgb(0), drawing.rgb(1, 1, 0.0), drawing.rgb(2, 1, 0.0), drawing.rgb(5, 2, 100.0)]
    path = write_gif(tmp_path / "walk.gif", iter(frames), fps=4)
    with Image.open(path) as gif:
        assert (gif.n_frames, gif.size, gif.info["loop"]) == (4, frames[0].shape[1::-1], 0)
        for index, frame in enumerate(frames):
            gif.seek(index)
            assert gif.info["duration"] == 250
            # A gif has 256 colours; those that matter survive.
            difference = np.abs(np.asarray(gif.convert("RGB")).astype(int) - frame)
            assert difference.mean() < 1.0


def test_equal_frames_last_longer_but_none_is_lost(tmp_path):
    path = write_gif(tmp_path / "still.gif", [shade(0), shade(0), shade(255)], fps=10)
    with Image.open(path) as gif:
        durations = []
        for index in range(gif.n_frames):
            gif.seek(index)
            durations.append(gif.info["duration"])
    assert durations == [200, 100]


def test_the_path_is_tried_before_any_frame_is_made(tmp_path):
    def frames():
        pytest.fail("a frame was asked for")
        yield

    with pytest.raises(FileError, match=r"cannot write .*No such file"):
        write_gif(tmp_path / "no folder" / "walk.gif", frames())
    with pytest.raises(ParameterError, match=r"walk\.mp4 does not end in \.gif"):
        write_gif(tmp_path / "walk.mp4", frames())
    with pytest.raises(ParameterError, match="fps=0"):
        write_gif(tmp_path / "walk.gif", frames(), fps=0)
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        write_gif(tmp_path / "folder.gif", frames())


@pytest.mark.parametrize(
    ("frames", "complaint"),
    [
        ([], "no frames to write"),
        ([shade(0).astype(float)], r"frame 0 has shape \(20, 30, 3\) and type float64"),
        ([shade(0), shade(0, height=21)], r"frame 1 has shape \(21, 30, 3\), but frame 0 has \(20, 30, 3\)"),
    ],
)
def test_a_failed_gif_leaves_the_old_one_alone(tmp_path, frames, complaint):
    path = write_gif(tmp_path / "walk.gif", [shade(7)])
    before = path.read_bytes()
    with pytest.raises(ParameterError, match=complaint):
        write_gif(path, frames)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["walk.gif"]
