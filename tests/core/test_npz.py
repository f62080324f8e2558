"""Archives of arrays: each is taken once, as what it has to be, and nothing may be left over."""

import io
import json
import zipfile

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


def crafted(path, *, size=None, flag=0, ratio=False):
    """A file with one array of 4 numbers: its header, its flags, or its declared size may be wrong."""
    body = io.BytesIO()
    np.lib.format.write_array_header_1_0(body, {"descr": "<f8", "fortran_order": False, "shape": (size or 4,)})
    body.write(np.zeros(4).tobytes() if not ratio else bytes(8 * (size or 4)))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.npy", body.getvalue())
    if flag:
        content = bytearray(path.read_bytes())
        for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            content[content.index(signature) + offset] |= flag
        path.write_bytes(bytes(content))
    return path


@pytest.mark.parametrize("size", [3, 5, 10**9])
def test_a_header_that_promises_other_sizes_is_refused_before_anything_is_unpacked(tmp_path, size):
    with (
        pytest.raises(FileError, match=r"q\.npy has \d+ bytes, and its header says \d+"),
        reading_npz(crafted(tmp_path / "q.npz", size=size), "a table"),
    ):
        pass


def test_what_is_compressed_more_than_possible_is_refused_before_anything_is_unpacked(tmp_path, monkeypatch):
    path = crafted(tmp_path / "q.npz", size=100_000, ratio=True)
    with reading_npz(path, "a table") as archive:
        assert archive.take("q").size == 100_000
    monkeypatch.setattr("rlsuite.core.npz.LARGEST_RATIO", 100)
    with (
        pytest.raises(FileError, match=r"q\.npy cannot have \d+ bytes: it has \d+ compressed ones"),
        reading_npz(path, "a table"),
    ):
        pass


def test_encrypted_arrays_are_refused(tmp_path):
    with (
        pytest.raises(FileError, match=r"q\.npy is encrypted"),
        reading_npz(crafted(tmp_path / "q.npz", flag=1), "a table"),
    ):
        pass
