"""The page of a movie: pictures come back as they were, in few bytes; and a gif."""

import numpy as np
import pytest
from PIL import Image

from rlsuite.errors import ParameterError
from rlsuite.plotting.movie_files import COLOURS, Frame, write_movie
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


def test_what_does_not_change_is_stored_once(tmp_path):
    picture = np.random.default_rng(0).integers(0, 2, (200, 200, 1), dtype=np.uint8) * np.array([[[255, 90, 0]]])
    one, many = (
        write_movie(tmp_path / f"{n}.html", "The same", frames_of([picture.astype(np.uint8)] * n)).stat().st_size
        for n in (1, 20)
    )
    assert many < one + 20 * 2_000  # a palette and nothing else
    assert 20 * one > 5 * many


def test_titles_and_texts_cannot_end_the_page(tmp_path, movie_of):
    said = 'a </script> and a "quote"'
    picture = Image.new("RGB", (4, 4))
    path = write_movie(tmp_path / "text.html", "<b>", [Frame(said, picture)])
    assert movie_of(path)[0] == [said]
    page = path.read_text(encoding="utf-8")
    assert page.count("</script>") == 1
    assert "<title>&lt;b&gt;</title>" in page


def test_smaller_pictures_get_white_margins_in_both_formats(tmp_path, movie_of):
    frames = [Frame("small", Image.new("RGB", (30, 20))), Frame("large", Image.new("RGB", (50, 40)))]
    _, found = movie_of(write_movie(tmp_path / "sizes.html", "Sizes", frames, begin=-1))
    assert 'max="1" value="1"' in (tmp_path / "sizes.html").read_text(encoding="utf-8")
    with Image.open(write_movie(tmp_path / "sizes.gif", "Sizes", frames)) as gif:
        pictures = [*found, np.asarray(gif.convert("RGB"))]
    for picture in (pictures[0], pictures[2]):
        assert picture.shape == (40, 50, 3)
        assert picture[:20, :30].max() == 0
        assert min(picture[20:].min(), picture[:, 30:].min()) == 255


def test_what_is_no_movie_is_refused(tmp_path):
    for name, said in (("some.mp4", "ends in neither .html nor .gif"), ("some.html", "no frames")):
        with pytest.raises(ParameterError, match=said):
            write_movie(tmp_path / name, "Some", [])
    assert not list(tmp_path.iterdir())
