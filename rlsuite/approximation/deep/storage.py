"""Saving and loading networks: one .npz file of arrays and JSON text, never a pickle."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np

from rlsuite import errors
from rlsuite.approximation.deep.pytorch import arrays_of, put_arrays
from rlsuite.core.files import replacing
from rlsuite.core.npz import Npz, reading_npz
from rlsuite.models.aliases import AnyArray

Arrays = dict[str, AnyArray]


def write_file(
    path: str | PathLike[str],
    file_format: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
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
def reading(path: str | PathLike[str], file_format: str) -> Generator[tuple[dict[str, Any], Npz]]:
    """Yield the header and the arrays of a file; an inconsistency between them is an error of the file.

    Raises
    ------
    FileError
        If the file is missing, damaged, written by something else, or has arrays that are not taken.
    """
    with reading_npz(path, f"a {file_format}") as arrays:
        header: dict[str, Any] = arrays.take_json("header")
        if header["format"] != file_format:
            raise errors.FileError(f"{path} has the format {header['format']!r}, not {file_format!r}")
        yield header, arrays
        arrays.finish()


def put_weights(networks: Mapping[str, Any], arrays: Npz) -> None:
    """Give networks the weights that `write_file` has written.

    Raises
    ------
    ValueError
        If they are not those of such networks.
    """
    for which, network in networks.items():
        wanted = arrays_of(network)
        found = {name.removeprefix(f"{which}.") for name in arrays.below(f"{which}.")}
        if wanted.keys() != found:
            raise ValueError(f"the weights are {sorted(found)}, not {sorted(wanted)}")
        put_arrays(
            network, {name: arrays.take(f"{which}.{name}", each.dtype, each.shape) for name, each in wanted.items()}
        )
