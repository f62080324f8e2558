"""Models on disk: one ``.npz`` of plain arrays, never a pickle, replaced in one step.

A file holds the arrays of the model under the names of their fields, and three more: ``format`` and ``version``, which
say that rlsuite wrote it, and ``kind``, the class. Text is stored as UTF-8 JSON in a uint8 array, because NumPy's own
strings lose trailing zeros.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.core.narrowing import is_sequence
from rlsuite.core.npz import Npz, reading_npz
from rlsuite.errors import FileError, ModelError, ParameterError, RoundingWarning, level_of_the_caller, unknown_suffix
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.validation import ROW_SUM_TOLERANCE, excess, row_sums

M = TypeVar("M", bound=MdpFields)

FORMAT = "rlsuite model"
VERSION = 1


@contextmanager
def reading(path: str | os.PathLike[str], kind: str = "model") -> Generator[None]:
    """Report a file that cannot be read, or whose model is not valid, as an error of the file."""
    try:
        yield
    except FileNotFoundError as cause:
        raise FileError(f"there is no file {path}") from cause
    except OSError as cause:
        raise FileError(f"{path} cannot be read: {cause.strerror or cause}") from cause
    except ModelError as cause:
        raise FileError(f"{path} holds no valid {kind}: {cause}") from cause


@contextmanager
def writing(path: str | os.PathLike[str]) -> Generator[None]:
    """Report a model that a format cannot express as an error of the file."""
    try:
        yield
    except ModelError as cause:
        raise FileError(f"cannot write {path}: {cause}") from cause


HELD = {".mdp": "an MDP", ".pomdp": "a POMDP"}
"""Suffix of a file -> what it holds."""


def suffix_of(path: str | os.PathLike[str], known: Sequence[str]) -> str:
    """Return the suffix of a path, if it is a known one; that of another class is answered with this class."""
    suffix = Path(path).suffix.lower()
    if suffix in known:
        return suffix
    if suffix in HELD:
        kind = HELD[suffix].split()[1]
        raise FileError(f"{path}: a {suffix} file holds {HELD[suffix]}; use {kind}.read and {kind}.write")
    raise FileError(f"{path}: {unknown_suffix(suffix, known)}")


def applies_to(path: str | os.PathLike[str], allowed: Sequence[str], **given: object) -> None:
    """Raise `ParameterError` if a parameter is given that applies to files of other suffixes only."""
    suffix = Path(path).suffix.lower()
    for name, value in given.items():
        if value is not None and suffix not in allowed:
            listed = ", ".join(allowed)
            raise ParameterError(f"{name}={value!r} applies only to {listed} files, and {path} is a {suffix} file")


def write_arrays(path: str | os.PathLike[str], kind: str, arrays: Mapping[str, AnyArray]) -> None:
    """Write `arrays` to `path`; the file appears complete or not at all.

    Raises
    ------
    FileError
        If the name does not end in ``.npz``, or the folder does not exist or cannot be written to.
    """
    file = _npz(path)
    content = {"format": text(FORMAT), "version": np.array(VERSION), "kind": text(kind), **arrays}
    with replacing(file) as unfinished:
        try:
            np.savez_compressed(unfinished, **cast("Mapping[str, Any]", content))
        except OSError as cause:
            raise FileError(f"{file} cannot be written: {cause.strerror or cause}") from cause


@contextmanager
def reading_model(path: str | os.PathLike[str], kind: str) -> Generator[Npz]:
    """Yield the arrays of a model of the class `kind`; all of them must be taken.

    Raises
    ------
    FileError
        If the file is missing, truncated, not of this format, newer than this version, of another class, or has arrays
        that are not taken.
    """
    file = _npz(path)
    with reading_npz(file, "a model") as arrays:
        found = kind_in(file, arrays)
        if found != kind:
            raise FileError(f"{file} holds a model of the kind {found}, not {kind}: read it with {found}.read")
        yield arrays
        for name in sorted(arrays.headers):
            raise FileError(f"{file} is malformed: it has an unknown array {name!r}")


def kind_in(file: str | os.PathLike[str], arrays: Npz) -> str:
    """Take the entry that marks a file of rlsuite, and return the class of the model.

    Raises
    ------
    FileError
        If that is missing, or the version is unknown.
    """
    if "format" not in arrays or text_in(file, "format", arrays.take("format")) != FORMAT:
        raise FileError(
            f"{file} holds no model of rlsuite: it has no format tag {FORMAT!r}; rl.load reads what was kept"
        )
    version = arrays.take("version") if "version" in arrays else np.array(0)
    if version.shape != () or version.dtype.kind not in "iu" or not 1 <= int(version) <= VERSION:
        raise FileError(f"{file} is of version {version}; this rlsuite reads version {VERSION}")
    kind = text_in(file, "kind", arrays.take("kind"))
    if not isinstance(kind, str):
        raise FileError(f"{file} is malformed: kind is not text")
    return kind


def text(value: str | Sequence[str]) -> AnyArray:
    """Return a string, or a sequence of strings, as an array of bytes."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def text_in(file: str | os.PathLike[str], name: str, array: AnyArray) -> Any:
    """Return what `text` stored."""
    if array.dtype != np.uint8 or array.ndim != 1:
        raise FileError(f"{file} is malformed: {name} is not text")
    try:
        return json.loads(array.tobytes())
    except (ValueError, RecursionError) as cause:
        raise FileError(f"{file} is malformed: {name} is not text") from cause


def _npz(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if file.suffix != ".npz":
        raise FileError(f"{file}: models are kept in .npz files, not {file.suffix or 'files without suffix'}")
    return file


def mdp_to_arrays(mdp: MdpFields) -> dict[str, AnyArray]:
    """Return the fields of a model that are set, as arrays."""
    arrays: dict[str, AnyArray] = {}
    for field in fields(mdp):
        value = getattr(mdp, field.name)
        if field.name == "labels":
            arrays.update(labels_to_arrays(mdp.labels))
        elif value is not None and value is not False:
            arrays[field.name] = text(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else np.asarray(value)
    return arrays


def labels_to_arrays(labels: Mapping[str, BoolArray]) -> dict[str, AnyArray]:
    """Return labels of states as their names and their masks (L, S) bool; nothing if there are none."""
    return {"labels": text([*labels]), "labelled": np.array([*labels.values()])} if labels else {}


def labels_from_arrays(file: Path, arrays: Npz) -> dict[str, AnyArray]:
    """Take what `labels_to_arrays` returned."""
    if "labels" not in arrays and "labelled" not in arrays:
        return {}
    for name in ("labels", "labelled"):
        if name not in arrays:
            raise FileError(f"{file} is malformed: it has no {name}")
    names: object = text_in(file, "labels", arrays.take("labels"))
    masks = arrays.take("labelled")
    if not is_sequence(names) or not all(isinstance(one, str) for one in names) or len({*names}) < len(names):
        raise FileError(f"{file} is malformed: labels are not distinct names")
    if masks.dtype != np.bool_ or masks.ndim != 2 or len(masks) != len(names):
        raise FileError(f"{file} is malformed: labelled is not a table of booleans with a row for each label")
    return {str(one): mask for one, mask in zip(names, masks, strict=True)}


def mdp_from_arrays(model: type[M], path: str | os.PathLike[str], arrays: Npz, gamma: float | None = None) -> M:
    """Return the model that `mdp_to_arrays` turned into arrays; with another discount, if one is given."""
    file = Path(path)
    declared = fields(model)
    known = {field.name for field in declared}
    optional = {field.name for field in declared if field.default is not MISSING} | {"labels"}
    labels = labels_from_arrays(file, arrays)
    for name in sorted(known - optional - arrays.headers.keys()):
        raise FileError(f"{file} is malformed: it has no {name}")
    for name in sorted(arrays.headers.keys() - known):
        raise FileError(f"{file} is malformed: it has an unknown array {name!r}")
    values: dict[str, Any] = {name: arrays.take(name) for name in list(arrays.headers)}
    for name in ("gamma", "n_actions", *(["costs"] if "costs" in values else [])):
        if values[name].shape != ():
            raise FileError(f"{file} is malformed: {name} has shape {values[name].shape}, not ()")
        values[name] = values[name].item()
    for name in ("state_labels", "action_labels"):
        if name in values:
            values[name] = text_in(file, name, values[name])
    if gamma is not None:
        values["gamma"] = gamma
    try:
        return model(**values, labels=labels)
    except (ModelError, ParameterError) as cause:
        raise FileError(f"{file} holds no valid model: {cause}") from cause


ROUNDING = 1e-5
"""How far the sum of a row may be off in a text file; the tolerance of pomdp-solve and of PRISM."""


def rescaled(
    file: str | os.PathLike[str],
    probability: FloatArray,
    indptr: IndexArray,
    name: Callable[[int], str],
    *,
    position: Callable[[int], str] = lambda row: "",
    worst: float = ROUNDING,
) -> FloatArray:
    """Return the probabilities with the rows that were rounded divided by their sums.

    Rows that sum to 1 within the tolerance of the models, and empty ones, keep every bit.

    Parameters
    ----------
    file
        Named in the error.
    probability : ndarray (N,) float64
        Probabilities of all rows.
    indptr : ndarray (rows + 1,) int64
        Where each row begins and ends.
    name : callable
        Describes the row of a number.
    position : callable
        Says where in the file the row of a number stands: ``":line:column"``.
    worst : float
        How far a row may be off; beyond `ROUNDING` with a warning.

    Raises
    ------
    FileError
        If a row is off by more than `worst`.

    Warns
    -----
    RoundingWarning
        If a row is off by more than the rounding of a text file explains.
    """
    filled = indptr[1:] > indptr[:-1]
    sums = np.where(filled, row_sums(probability, indptr), 1.0)
    off = np.abs(sums - 1.0)
    if (off > ROUNDING).any():
        row = int(np.argmax(off))
        wrong = (
            f"{file}{position(row)}: {name(row)} sums to {float(sums[row]):.10g}, not 1 ({excess(float(sums[row]))})"
        )
        if off[row] > worst:
            raise FileError(wrong)
        level = level_of_the_caller()
        warnings.warn(f"{wrong}; such rows were divided by their sums", RoundingWarning, stacklevel=level)
    if (off <= ROW_SUM_TOLERANCE).all():
        return probability
    return probability / np.repeat(np.where(off > ROW_SUM_TOLERANCE, sums, 1.0), np.diff(indptr))
