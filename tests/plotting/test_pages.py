"""The page of a movie: pictures come back as they were, in few bytes; and a gif."""

import importlib
import subprocess

import numpy as np
import pytest
from PIL import Image

from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.plotting import pages
from rlsuite.plotting.pages import COLOURS, Frame, write_movie
from rlsuite.rendering.colours import heat


def frames_of(pictures):
    return [Frame(f"frame {k}", Image.fromarray(picture)) for k, picture in enumerate(pictures)]


def test_pictures_of_few_colours_come_back_exactly(tmp_path, movie_of):
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, (COLOURS, 3), dtype=np.uint8)
    pictures = colours[rng.integers(0, COLOURS, (4, 40, 60))]
    texts, found = movie_of(write_movie(tmp_path / "some.html", "Some", frames_of(pictures)))
    assert texts == ["frame 0", "frame 1", "frame 2", "frame 3"]
    assert np.array_equal(found, pictures)


def test_of_many_colours_the_frequent_ones_are_exact_and_the_others_similar(tmp_path, movie_of):
    steps = np.linspace(0.0, 1.0, 600)
    bar = np.broadcast_to(heat(steps), (20, 600, 3))
    plain = np.full((80, 600, 3), (250, 251, 255), dtype=np.uint8)
    pictures = np.stack([np.concatenate([plain, np.roll(bar, shift, axis=1)]) for shift in (0, 100)])
    assert len(np.unique(pictures.reshape(-1, 3), axis=0)) > COLOURS
    _, found = movie_of(write_movie(tmp_path / "bar.html", "Bar", frames_of(pictures)))
    error = np.abs(np.array(found, dtype=int) - pictures)
    assert error[:, :80].max() == 0
    assert error.max() <= 5


def test_a_video_shows_the_frames_in_order(tmp_path, monkeypatch):
    """Two frames a second are twelve or thirteen pictures of the video each; H.264 changes colours a little."""
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    pictures = np.full((3, 41, 61, 3), 255, dtype=np.uint8)  # neither width nor height is even
    pictures[0], pictures[1, :, 30:], pictures[2, 20:] = 0, 0, 0
    path = write_movie(tmp_path / "some.mp4", "Some", frames_of(pictures), per_second=2)
    read = [ffmpeg, "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    shown = subprocess.run(read, capture_output=True, check=True)
    assert b"Video: h264" in shown.stderr
    found = np.frombuffer(shown.stdout, dtype=np.uint8).reshape(-1, 42, 62, 3)[:, :41, :61]
    assert len(found) / 25 == pytest.approx(1.5, abs=0.1)
    for frame, at in zip(pictures, (6, 18, 31), strict=True):
        assert (np.abs(found[at].astype(int) - frame).mean()) < 12
    assert not [other for other in tmp_path.iterdir() if other != path]
    monkeypatch.setattr(pages.shutil, "which", lambda name: None)
    monkeypatch.setattr(pages, "import_module", lambda name: importlib.import_module("no_such_package"))
    with pytest.raises(MissingPackage, match=r"videos need ffmpeg.*rlsuite\[video\].*or write a .gif"):
        write_movie(tmp_path / "other.mp4", "Some", frames_of(pictures))
    monkeypatch.setattr(pages, "_ffmpeg", lambda: "false")
    with pytest.raises(FileError, match="ffmpeg could not make the video: no message"):
        write_movie(tmp_path / "other.mp4", "Some", frames_of(pictures))
    assert not [other for other in tmp_path.iterdir() if other != path]


def test_what_does_not_change_is_stored_once(tmp_path):
    picture = np.random.default_rng(0).integers(0, 2, (200, 200, 1), dtype=np.uint8) * np.array([[[255, 90, 0]]])
    one, many = (
        write_movie(tmp_path / f"{n}.html", "The same", frames_of([picture.astype(np.uint8)] * n)).stat().st_size
        for n in (1, 20)
    )
    assert many < one + 20 * 2_000  # a palette and nothing else
    assert 20 * one > 5 * many


def test_titles_and_texts_cannot_end_the_page(tmp_path, movie_of):
    said = 'a </script> and a "quote" <!-- <script>'
    picture = Image.new("RGB", (4, 4))
    path = write_movie(tmp_path / "text.html", "<b>", [Frame(said, picture)])
    assert movie_of(path)[0] == [said]
    page = path.read_text(encoding="utf-8")
    assert page.count("</script>") == 1
    assert "<!--" not in page
    assert "<title>&lt;b&gt;</title>" in page


def test_smaller_pictures_get_white_margins_in_both_formats(tmp_path, movie_of):
    frames = [Frame("small", Image.new("RGB", (30, 20))), Frame("large", Image.new("RGB", (50, 40)))]
    _, found = movie_of(write_movie(tmp_path / "sizes.html", "Sizes", frames, begin=-1))
    assert '"at":[1]' in (tmp_path / "sizes.html").read_text(encoding="utf-8")
    with Image.open(write_movie(tmp_path / "sizes.gif", "Sizes", frames)) as gif:
        pictures = [*found, np.asarray(gif.convert("RGB"))]
    for picture in (pictures[0], pictures[2]):
        assert picture.shape == (40, 50, 3)
        assert picture[:20, :30].max() == 0
        assert min(picture[20:].min(), picture[:, 30:].min()) == 255


def test_what_is_no_movie_is_refused(tmp_path):
    for name, said in (("some.avi", "ends in none of .html, .gif, .mp4"), ("some.html", "no frames")):
        with pytest.raises(ParameterError, match=said):
            write_movie(tmp_path / name, "Some", [])
    assert not list(tmp_path.iterdir())
