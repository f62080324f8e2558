"""Solutions that outlive the process: files that `rlsuite.load` reads, and tables.

A file holds the arrays of a solution, the model, and a header as JSON; never a pickle. When it is read, every array is
checked: type, shape, and the range of its numbers.
"""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.checks import is_array, is_tuple
from rlsuite.core.declared import Array, check_array
from rlsuite.core.files import replacing
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.npz import Below, Npz, reading_npz
from rlsuite.core.shown import DataFrame, ShowsItself, frame_of
from rlsuite.errors import FileError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.files import mdp_from_arrays, mdp_to_arrays
from rlsuite.models.pomdp import pomdp_from_arrays, pomdp_to_arrays
from rlsuite.planning.operators import Lookahead
from rlsuite.synonyms import attribute_error

FORMAT = "rlsuite solution 1"
MODEL = "model."
"""Prefix of the arrays of the model."""

STATES, ACTIONS, OBSERVATIONS = "n_states", "n_actions", "n_observations"
"""Sizes of the model, in the shapes and ranges of arrays."""


class Shelf:
    """The content of a file, each part of which is checked when it is taken.

    Parameters
    ----------
    header : dict
        Numbers and words, by name.
    arrays : Npz
        The arrays.
    model : MDP or POMDP
        The model, which says how many states and actions there are.
    """

    def __init__(self, header: Mapping[str, Any], arrays: Npz, model: MDP | POMDP) -> None:
        self._header, self._arrays, self.model = header, arrays, model
        self.sizes = {STATES: model.n_states, ACTIONS: model.n_actions}
        if isinstance(model, POMDP):
            self.sizes[OBSERVATIONS] = model.n_observations

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    @property
    def pomdp(self) -> POMDP:
        """The model, if it is a POMDP.

        Raises
        ------
        ValueError
            If it is not.
        """
        if not isinstance(self.model, POMDP):
            raise ValueError("its model is an MDP, not a POMDP")
        return self.model

    def floats(self, name: str, *shape: int | str, finite: bool = True, at_least: float | None = None) -> FloatArray:
        """Take an array of float64 of a shape; names in it stand for sizes.

        Raises
        ------
        KeyError, ValueError
            If there is none, or it is not as it should be.
        """
        array: FloatArray = self._arrays.take(name, np.float64, ndim=len(shape))
        check_array(name, array, Array(shape=shape, finite=finite, at_least=at_least), self.sizes)
        return array

    def indices(self, name: str, *shape: int | str, below: float | str | None, at_least: int = -1) -> IndexArray:
        """Take an array of int64 of a shape, whose numbers are in a range; errors as in `floats`."""
        array: IndexArray = self._arrays.take(name, np.int64, ndim=len(shape))
        check_array(name, array, Array(shape=shape, at_least=at_least, below=below), self.sizes)
        return array

    def number(self, name: str, kind: type[float] | type[int] | type[bool] | type[str]) -> Any:
        """Take a number or a word of a type; whole numbers are at least 0.

        Raises
        ------
        KeyError, ValueError
            If there is none, or it is of another type.
        """
        value = self._header[name]
        whole = isinstance(value, int) and not isinstance(value, bool)
        fits = whole and value >= 0 if kind is int else (isinstance(value, kind) or (kind is float and whole))
        if not fits or value != value:
            raise ValueError(f"{name} is {value!r}")
        return value

    def horizon(self) -> int | None:
        """Take the horizon of a plan, if it has one."""
        return None if self._header["horizon"] is None else int(self.number("horizon", int))


class Kept(ShowsItself):
    """The base of all solutions that can be saved and shown as tables. Subclasses are dataclasses."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the solution and its model to an .npz file, which `rlsuite.load` reads.

        Raises
        ------
        FileError
            If the name does not end in ``.npz``, or the file cannot be written.
        ParameterError
            If the solution consists of more than arrays: online planners search whenever they act.

        Examples
        --------
        >>> import rlsuite as rl
        >>> from tempfile import TemporaryDirectory
        >>> mdp = rl.MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.5)
        >>> with TemporaryDirectory() as folder:
        ...     rl.solve(mdp).save(f"{folder}/plan.npz")
        ...     rl.load(f"{folder}/plan.npz").act(0)
        1
        """
        header, arrays = self.packed()
        if Path(path).suffix != ".npz":
            raise FileError(
                f"{path}: solutions are kept in .npz files; to_csv writes a table, and rlsuite.planning.write_plan the "
                ".alpha, .policy and .pg files of plans"
            )
        with replacing(path) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, header=np.array(json.dumps(header)), **cast("dict[str, Any]", arrays))

    @says_what_to_write
    def write(self, path: str | PathLike[str], *, model: str | PathLike[str] | None = None) -> None:
        """Write a proof that the solution is right: a .cert file, which anyone can check in exact arithmetic.

        The file holds two bounds on the value of each state, and the policy. ``rlsuite verify MODEL plan.cert`` checks
        it, and so does ``python verify.py``, one file that needs neither rlsuite nor NumPy: see docs/certificates.md.
        The bounds are a little wider than ``error_bound``, as they hold without any rounding.

        Parameters
        ----------
        path
            The file; its name ends in ``.cert``.
        model : path, optional
            The ``.mdp`` or ``.pomdp`` file of the model, which the proof is then about, down to the last digit. By
            default it is about the text that the `write` of the model writes.

        Raises
        ------
        FileError
            If the name does not end in ``.cert``, or a file cannot be read or written.
        ParameterError
            If there is no proof of this kind: for a plan with a horizon, for the average reward, or, for gamma = 1,
            where no bounds were found.

        Examples
        --------
        >>> import rlsuite as rl
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> mdp = rl.MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.5)
        >>> with TemporaryDirectory() as folder:
        ...     rl.solve(mdp).write(f"{folder}/plan.cert")
        ...     print(Path(f"{folder}/plan.cert").read_text().splitlines()[-2])
        state 0 4.99999999999984 5.00000000000016 1
        """
        if Path(path).suffix != ".cert":
            raise FileError(f"{path}: proofs are written to .cert files; save keeps a solution in an .npz file")
        text = self._proof(model)
        with replacing(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")

    def to_frame(self) -> DataFrame:
        """Return the solution as a pandas DataFrame, a row for each state, belief or vector, with their names.

        Raises
        ------
        MissingPackage
            If pandas is not installed.
        ParameterError
            If the solution has no such rows.
        """
        return frame_of(self.columns())

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the solution as a table, a row for each state, belief or vector, with their names.

        Raises
        ------
        FileError
            If the file cannot be written.
        ParameterError
            If the solution has no such rows.
        """
        columns = self.columns()
        with replacing(path) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(columns)
            table.writerows(zip(*columns.values(), strict=True))

    def columns(self) -> dict[str, list[object]]:
        """Return the table: lists of equal length, by title.

        Raises
        ------
        ParameterError
            If the solution has none.
        """
        raise ParameterError(f"a solution of {getattr(self, 'method', type(self).__name__)} has no table")

    def _proof(self, model: str | PathLike[str] | None) -> str:
        """Return the content of a .cert file; see `write`.

        Raises
        ------
        ParameterError
            If there is none.
        """
        raise ParameterError(
            f"there is no proof for a solution of {getattr(self, 'method', type(self).__name__)}: only for values and "
            "plans without a horizon"
        )

    @classmethod
    def _restored(cls, shelf: Shelf) -> Self:
        """Return the solution in a file; part of `rlsuite.load`.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or not as it should be.
        """
        raise ValueError(f"a {cls.__name__} is not kept in files")

    if not TYPE_CHECKING:  # or every name would have a type

        def __getattr__(self, name: str) -> NoReturn:
            """Answer a name that others use, such as V, with ours."""
            raise attribute_error(type(self).__name__, name, dir(self))

    def packed(self) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
        """Return the solution as a header and arrays; `unpacked` makes it of them.

        Raises
        ------
        ParameterError
            As `save`.
        """
        numbers: dict[str, object] = {}
        arrays: dict[str, NDArray[Any]] = {}
        model: MDP | POMDP | None = None
        for field in fields(cast("Any", self)):
            value: Any = getattr(self, field.name)
            if not field.init or (value is None and field.name != "horizon"):
                continue
            if isinstance(value, MDP | POMDP | Lookahead):
                model = value.mdp if isinstance(value, Lookahead) else value
            elif value is None or isinstance(value, bool | int | float | str):
                numbers[field.name] = value
            elif (parts := _arrays(field.name, value)) is not None:
                arrays |= parts
            else:
                model = None
                break
        if model is None:
            raise ParameterError(
                f"a plan of {getattr(self, 'method', type(self).__name__)} is more than arrays, and cannot be saved: "
                "save the model, and solve it again"
            )
        header: dict[str, object] = {
            "format": FORMAT,
            "kind": type(self).__name__,
            "model": type(model).__name__,
            "numbers": numbers,
        }
        of_model = pomdp_to_arrays(model) if isinstance(model, POMDP) else mdp_to_arrays(model)
        return header, arrays | {f"{MODEL}{name}": array for name, array in of_model.items()}


def _arrays(name: str, value: object) -> dict[str, NDArray[Any]] | None:
    """Return the arrays in a value by name; None if it holds something else."""
    if is_array(value):
        return {name: value}
    if not is_tuple(value):
        return None
    names: tuple[str, ...] = getattr(value, "_fields", tuple(map(str, range(len(value)))))
    found: dict[str, NDArray[Any]] = {}
    for field, part in zip(names, value, strict=True):
        parts = _arrays(f"{name}.{field}", part)
        if parts is None:
            return None
        found |= parts
    return found


def labels(given: Sequence[str] | None, count: int) -> list[str]:
    """Return names, or numbers where there are none."""
    return [str(index) for index in range(count)] if given is None else list(given)


def is_solution(header: Mapping[str, Any]) -> bool:
    """Whether the header of a file says that it holds a solution."""
    return header.get("format") == FORMAT


def read_solution(path: str | PathLike[str]) -> Kept:
    """Read a solution that was written by its `save`; see `rlsuite.load`.

    Raises
    ------
    FileError
        If the file is missing, damaged, or holds something else.
    """
    with reading_npz(path, "a solution") as arrays:
        solution = unpacked(path, arrays.take_json("header"), arrays)
        arrays.finish()
    return solution


def unpacked(path: str | PathLike[str], header: Mapping[str, Any], arrays: Npz) -> Kept:
    """Return the solution of a header and arrays that `Kept.packed` has made.

    Raises
    ------
    FileError, KeyError, ValueError
        If something is missing, or does not fit together.
    """
    from rlsuite import planning

    if not is_solution(header):
        raise ValueError(f"its format is {header.get('format')!r}, not {FORMAT!r}")
    kind: object = getattr(planning, str(header.get("kind")), None)
    numbers: object = header.get("numbers")
    if not (isinstance(kind, type) and issubclass(kind, Kept)) or not isinstance(numbers, dict):
        raise ValueError(f"it holds a solution of the unknown kind {header.get('kind')!r}")
    of_model = Below(arrays, MODEL)
    model: MDP | POMDP
    if header.get("model") == "POMDP":
        model = pomdp_from_arrays(POMDP, path, of_model)
    else:
        model = mdp_from_arrays(MDP, path, of_model)
    restored: Callable[[Shelf], Kept] = cast("Any", kind)._restored
    return restored(Shelf(cast("dict[str, Any]", numbers), arrays, model))
