"""Archives of arrays: each is taken once, as what it has to be, and nothing may be left over."""

import json

import numpy as np
import pytest

from rlsuite.core.npz import reading_npz
from rlsuite.errors import FileError


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, q=np.eye(2), about=json.dumps({"gamma": 0.9}))
    return path


def test_what_was_written_is_taken(archive):
    with reading_npz(archive, "an archive") as npz:
        assert "q" in npz
        np.testing.assert_array_equal(npz.take("q", np.float64, (2, 2)), np.eye(2))
        assert npz.take_json("about") == {"gamma": 0.9}
        assert "q" not in npz
        npz.finish()


@pytest.mark.parametrize(
    ("take", "message"),
    [
        (lambda npz: npz.take("q", np.int64), "q"),
        (lambda npz: npz.take("q", ndim=1), "q"),
        (lambda npz: npz.take("v"), "v"),
        (lambda npz: npz.take_json("q"), "q is float64 .2, 2., not text"),
        (lambda npz: npz.finish(), "it has an unknown array 'about'"),
    ],
)
def test_what_does_not_fit_is_an_error_of_the_file(archive, take, message):
    with pytest.raises(FileError, match=message), reading_npz(archive, "an archive") as npz:
        take(npz)
