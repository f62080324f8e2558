"""Hidden Markov models on disk: one ``.npz`` of plain arrays, as for the other models.

An emission is stored as the name of its class, and what its constructor takes under names that begin with its own:
``emission``, ``emission.table``. Where it consists of other emissions, these are stored in the same way:
``emission.channels.0``, ``emission.channels.0.table``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from inspect import isabstract, signature
from typing import TypeVar, cast

import numpy as np

from rlsuite.core.npz import Npz
from rlsuite.errors import FileError, ModelError, ParameterError
from rlsuite.inference import emissions
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.parameters import HMMParameters, SparseMatrix, csr
from rlsuite.models.aliases import AnyArray
from rlsuite.models.files import reading_model, text, text_in, write_arrays

M = TypeVar("M", bound=HMMParameters)

KIND = "HMM"
SPARSE_ARRAYS = "transition.data", "transition.indices", "transition.indptr"


def write(model: HMMParameters, path: str | os.PathLike[str]) -> None:
    """Write a model; see `HMM.write`."""
    arrays: dict[str, AnyArray] = {"start": model.start}
    if isinstance(model.transition, np.ndarray):
        arrays["transition"] = model.transition
    else:
        matrix = model.transition
        arrays |= dict(zip(SPARSE_ARRAYS, (matrix.data, matrix.indices, matrix.indptr), strict=True))
    try:
        arrays |= dict(_taken_apart("emission", model.emission))
    except NotImplementedError as cause:
        raise FileError(f"{path} cannot be written: {cause}") from cause
    if model.state_labels is not None:
        arrays["state_labels"] = text(model.state_labels)
    write_arrays(path, KIND, arrays)


def read(model: type[M], path: str | os.PathLike[str]) -> M:
    """Read a model of a class; see `HMM.read`."""
    with reading_model(path, KIND) as arrays:
        if "start" not in arrays or not ("transition" in arrays or arrays.headers.keys() >= set(SPARSE_ARRAYS)):
            raise FileError(f"{path} is malformed: it has no start or no transition")
        try:
            start = arrays.take("start")
            transition = arrays.take("transition") if "transition" in arrays else _sparse(arrays, start.size)
            labels = arrays.take("state_labels") if "state_labels" in arrays else None
            emission = _put_together(path, "emission", arrays)
            named = None if labels is None else tuple(text_in(path, "state_labels", labels))
            return model(start, transition, emission, named)
        except (ModelError, ParameterError, TypeError, ValueError, IndexError) as cause:
            raise FileError(f"{path} holds no valid model: {cause}") from cause


def _sparse(arrays: Npz, n: int) -> SparseMatrix:
    """The transitions (n, n) as a SciPy array, its indices inside its rows and columns."""
    data, indices, indptr = (arrays.take(name, ndim=1) for name in SPARSE_ARRAYS)
    matrix = csr(data, indices, indptr, n)
    matrix.check_format(full_check=True)
    return matrix


def _taken_apart(name: str, emission: Emission) -> Iterator[tuple[str, AnyArray]]:
    yield name, text(type(emission).__name__)
    for field, value in emission.arrays().items():
        if isinstance(value, Emission):
            yield from _taken_apart(f"{name}.{field}", value)
        elif isinstance(value, tuple):
            yield f"{name}.{field}", text("")
            for number, one in enumerate(cast("tuple[Emission, ...]", value)):
                yield from _taken_apart(f"{name}.{field}.{number}", one)
        else:
            yield f"{name}.{field}", np.asarray(value)


def _put_together(path: str | os.PathLike[str], name: str, arrays: Npz, given: AnyArray | None = None) -> Emission:
    """Return the emission of that name, and take its arrays; its class, too, unless it is `given`."""
    if given is None and name not in arrays:
        raise FileError(f"{path} is malformed: it has no {name}")
    kind = text_in(path, name, arrays.take(name) if given is None else given)
    found: object = getattr(emissions, kind, None) if isinstance(kind, str) else None
    if not isinstance(found, type) or not issubclass(found, Emission) or isabstract(found):
        raise FileError(f"{path} has an emission of the kind {kind!r}, which this version of rlsuite does not know")
    values: dict[str, object] = {}
    own = f"{name}."
    taken = signature(found).parameters
    for field in arrays.below(own):
        bare = field.removeprefix(own)
        if bare in taken:
            values[bare] = _value(path, field, arrays)
    return cast("Callable[..., Emission]", found)(**values)


def _value(path: str | os.PathLike[str], field: str, arrays: Npz) -> object:
    if arrays.headers[field].dtype != np.uint8:
        value = arrays.take(field)
        return value.item() if value.ndim == 0 else value
    kind = arrays.take(field)
    if text_in(path, field, kind) != "":
        return _put_together(path, field, arrays, kind)
    number = 0
    inner: list[Emission] = []
    while f"{field}.{number}" in arrays:
        inner.append(_put_together(path, f"{field}.{number}", arrays))
        number += 1
    return tuple(inner)
