"""Reading ``.npz`` files from any source: nothing is unpacked before its size and type are known.

A file is a zip archive with one ``.npy`` member for each array. Sizes are read from the archive's directory and from
the headers of the members, and must agree; a member that is larger than its compressed bytes can possibly become, an
object array (which would be a pickle) and an unexpected member are refused without being unpacked. Whatever is
wrong with a file ends in a `FileError`.
"""

import io
import json
import os
import re
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rlsuite.core.checks import is_dict
from rlsuite.errors import FileError, MissingPackage, RlsuiteError

LARGEST_RATIO = 1032
"""Bytes that one byte of a deflated member can become at most."""

LARGEST_HEADER = 10_000
"""Bytes of the header of an array, which says its type and its shape."""

DAMAGED = (
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What Python, NumPy and zipfile raise for bytes that are not what they should be."""


class Header(NamedTuple):
    """What the header of a member says about its array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class Npz:
    """The arrays of an open file, known by name, type and shape before any of them is unpacked.

    Parameters
    ----------
    archive : zipfile.ZipFile
        The open file.

    Attributes
    ----------
    headers : dict
        Name -> header of the arrays that have not been taken yet.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.headers: dict[str, Header] = {}
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename or name in self.headers:
                raise ValueError(f"it holds {member.filename!r}, which is not an array, or occurs twice")
            self.headers[name] = _header(archive, member)

    def __contains__(self, name: str) -> bool:
        return name in self.headers

    def below(self, prefix: str) -> Iterator[str]:
        """Names that have not been taken yet and begin with a prefix."""
        return (name for name in list(self.headers) if name.startswith(prefix))

    def take(
        self, name: str, dtype: DTypeLike | None = None, shape: tuple[int, ...] | None = None, ndim: int | None = None
    ) -> NDArray[Any]:
        """Unpack one array, if it is of this type and this shape, or has this number of dimensions.

        Raises
        ------
        KeyError
            If there is none of this name, or it was taken before.
        ValueError
            If it is of another type or shape.
        """
        header = self.headers[name]
        wanted = header.dtype if dtype is None else np.dtype(dtype)
        fits = header.shape == shape if shape is not None else ndim is None or len(header.shape) == ndim
        if header.dtype != wanted or not fits:
            form = shape if shape is not None else f"with {ndim} dimensions" if ndim is not None else ""
            raise ValueError(f"{name} is {header.dtype} {header.shape}, not {wanted} {form}".rstrip())
        with self._archive.open(f"{name}.npy") as member:
            array = np.lib.format.read_array(cast("Any", member), allow_pickle=False, max_header_size=LARGEST_HEADER)
        del self.headers[name]
        if header.dtype.kind == "U":
            codes = np.frombuffer(array.tobytes(), dtype=np.dtype(np.uint32).newbyteorder(header.dtype.byteorder))
            if codes.size and codes.max() > sys.maxunicode:
                raise ValueError(f"{name} holds numbers that are not characters")
        return array

    def take_json(self, name: str) -> dict[str, Any]:
        """Unpack a JSON object that is stored as text, as a single string.

        Raises
        ------
        ValueError
            If it is something else.
        """
        header = self.headers[name]
        if header.dtype.kind != "U" or header.shape != ():
            raise ValueError(f"{name} is {header.dtype} {header.shape}, not text")
        found: object = json.loads(str(self.take(name)))
        if not is_dict(found):
            raise ValueError(f"{name} is not a JSON object")
        return found

    def finish(self) -> None:
        """Raise unless all arrays have been taken.

        Raises
        ------
        ValueError
            If there are others.
        """
        for name in sorted(self.headers):
            raise ValueError(f"it has an unknown array {name!r}")


class Below(Npz):
    """Those arrays of an open file whose names begin with a prefix, under the rest of their names.

    Parameters
    ----------
    arrays : Npz
        All arrays.
    prefix : str
        What the names begin with.
    """

    def __init__(self, arrays: Npz, prefix: str) -> None:
        self._all, self._prefix = arrays, prefix
        self.headers = {name.removeprefix(prefix): arrays.headers[name] for name in arrays.below(prefix)}

    def take(
        self, name: str, dtype: DTypeLike | None = None, shape: tuple[int, ...] | None = None, ndim: int | None = None
    ) -> NDArray[Any]:
        """Unpack one array; arguments and errors as those of `Npz.take`."""
        array = self._all.take(f"{self._prefix}{name}", dtype, shape, ndim)
        del self.headers[name]
        return array


@contextmanager
def reading_npz(path: str | os.PathLike[str], what: str) -> Generator[Npz]:
    """Open a file for reading; errors in the body, too, are reported as errors of the file.

    Parameters
    ----------
    path
        The file.
    what : str
        What it should be, with its article, for messages: "an agent".

    Raises
    ------
    FileError
        If the file is missing or damaged, or the body raises.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            yield Npz(archive)
    except FileNotFoundError as cause:
        raise FileError(f"there is no file {file}") from cause
    except (FileError, MissingPackage):
        raise
    except (RlsuiteError, *DAMAGED) as cause:
        if _is_single_array(file):
            raise FileError(f"{file} is a single array, not {what} written by rlsuite") from cause
        said = f"it has no {cause}" if type(cause) is KeyError else str(cause) or type(cause).__name__
        raise FileError(f"{file} is damaged or was not written by rlsuite: {said}") from cause
    except OSError as cause:
        raise FileError(f"{file} cannot be read: {cause.strerror or cause}") from cause


def _is_single_array(file: Path) -> bool:
    with suppress(OSError), file.open("rb") as stream:
        return stream.read(6) == np.lib.format.MAGIC_PREFIX
    return False


def _header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Header:
    """What a member says about its array, if its sizes agree."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
        raise ValueError(f"{member.filename} is encrypted, or compressed by a method that NumPy does not use")
    if member.file_size > LARGEST_RATIO * member.compress_size:
        raise ValueError(
            f"{member.filename} cannot have {member.file_size} bytes: it has {member.compress_size} compressed ones"
        )
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(cast("Any", stream))
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        length = stream.read(2 * version[0])  # 2 bytes in the first version, 4 in the second
        text = stream.read(min(int.from_bytes(length, "little"), LARGEST_HEADER + 1))
        if re.search(rb"\dL\s*[,)]", text):  # NumPy would read it, with a warning
            raise ValueError(f"{member.filename} was written by Python 2")
        shape, _, dtype = read(cast("Any", io.BytesIO(length + text)), max_header_size=LARGEST_HEADER)
        start = stream.tell()
    if dtype.hasobject:
        raise ValueError(
            f"{member.filename} is an object array, which would need allow_pickle=True; pickles are never loaded"
        )
    n_bytes = dtype.itemsize
    for length in shape:
        n_bytes *= length
    if any(length < 0 for length in shape) or start + n_bytes != member.file_size:
        raise ValueError(f"{member.filename} has {member.file_size} bytes, and its header says {start + n_bytes}")
    return Header(dtype, tuple(shape))
