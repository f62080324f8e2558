"""Saving and loading networks: one .npz file of arrays and JSON text, never a pickle."""

import json
import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.deep.pytorch import arrays_of, put_arrays
from rlsuite.files import replacing

Arrays = dict[str, NDArray[Any]]


def write_file(
    path: str | PathLike[str],
    file_format: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    networks: Mapping[str, Any],
) -> None:
    """Write a header of plain data, arrays, and the weights of networks as arrays "NETWORK.WEIGHT".

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    content: Arrays = {"header": np.array(json.dumps({"format": file_format, **header})), **arrays}
    for which, network in networks.items():
        content |= {f"{which}.{name}": array for name, array in arrays_of(network).items()}
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, **content)  # pyright: ignore[reportArgumentType] - no array has a parameter's name


@contextmanager
def reading(path: str | PathLike[str], file_format: str) -> Generator[tuple[dict[str, Any], Arrays]]:
    """Yield the header and the arrays of a file; errors in the block are errors of the file.

    Raises
    ------
    FileError
        If the file is missing, damaged, or written by something else.
    """
    try:
        with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays: Arrays = dict(file)
        header: dict[str, Any] = json.loads(str(arrays.pop("header")))
        found = header["format"]
    except FileNotFoundError as error:
        raise errors.FileError(f"there is no file {path}") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, KeyError, TypeError) as error:
        raise errors.FileError(f"{path} is not a file of {file_format}, or is damaged ({error})") from error
    if found != file_format:
        raise errors.FileError(f"{path} holds {found!r}, not {file_format!r}")
    try:
        yield header, arrays
    except errors.MissingPackage:
        raise
    except (errors.RlsuiteError, KeyError, ValueError, TypeError) as error:
        raise errors.FileError(f"{path} is not a file of {file_format} ({error!r})") from error


def put_weights(networks: Mapping[str, Any], arrays: Arrays) -> None:
    """Give networks the weights that `write_file` has written.

    Raises
    ------
    ValueError
        If they are not those of such networks.
    """
    for which, network in networks.items():
        weights = {name: array for name, array in arrays.items() if name.startswith(f"{which}.")}
        put_arrays(network, {name.removeprefix(f"{which}."): array for name, array in weights.items()})
