"""The files of a `POMDP`; the suffix gives the format."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np

from rlsuite.core.checks import fraction
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import FileError, ModelError, ParameterError, unknown_suffix
from rlsuite.models.cassandra import read_pomdp, write_pomdp
from rlsuite.models.files import mdp_from_arrays, mdp_to_arrays, reading_model, text, text_in, write_arrays
from rlsuite.models.mdp import MDP
from rlsuite.models.observations import ObservationRows, Observations

if TYPE_CHECKING:
    from rlsuite.models.pomdp import POMDP

P = TypeVar("P", bound="POMDP")

SUFFIXES = (".npz", ".pomdp")
_ROWS = ("observation_indptr", "observation_index", "observation_probability", "n_observations")


def named(model: P, name: object) -> P:
    """Set the name of a new model; not an argument of the constructor, which subclasses may have overridden.

    Raises
    ------
    ParameterError
        If the name is not text.
    """
    if not isinstance(name, str):
        raise ParameterError(f"name={name!r} is not text")
    object.__setattr__(model, "name", name)  # it is immutable once it has been handed over
    return model


class PomdpFiles:
    """The methods of `POMDP` that read and write files."""

    @classmethod
    @says_what_to_write
    def read(cls, path: str | PathLike[str], *, gamma: float | None = None) -> Self:
        """Read a model from a file; its suffix says which kind of file it is.

        ==========  =========================================================================================
        ``.npz``    what `write` wrote, bit for bit
        ``.pomdp``  Cassandra's text format, as pomdp-solve and SARSOP read it. Probabilities may be off by the rounding
                    of a few decimals and are then rescaled, with a warning if a row is off by more than 1e-5;
                    costs become negative rewards; rewards that depend on the observation are folded into the mean
                    reward of the transition; without a start, all states are equally likely.
        ==========  =========================================================================================

        Parameters
        ----------
        path
            The file.
        gamma : float, optional
            Discount factor in [0, 1] in place of that of the file.

        Raises
        ------
        FileError
            If the file is missing, malformed (with line and column), truncated, from elsewhere, holds no valid model,
            or has no discount when `gamma` is not given.
        ParameterError
            If `gamma` is out of range.

        Warns
        -----
        RoundingWarning
            If rows of a text file are off by more than 1e-5, which the rounding of a few decimals does not explain.
            Beyond 1e-3 that is an error.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rlsuite.models import POMDP
        >>> text = '''
        ... discount: 0.75
        ... values: reward
        ... states: tiger-left tiger-right
        ... actions: listen open-left open-right
        ... observations: hear-left hear-right
        ... T: * uniform
        ... T: listen identity
        ... O: * uniform
        ... O: listen
        ... 0.85 0.15
        ... 0.15 0.85
        ... R: listen : * : * : * -1
        ... R: open-left : tiger-left : * : * -100
        ... R: open-left : tiger-right : * : * 10
        ... R: open-right : tiger-left : * : * 10
        ... R: open-right : tiger-right : * : * -100
        ... '''
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "tiger.pomdp").write_text(text)
        ...     tiger = POMDP.read(Path(folder, "tiger.pomdp"))
        >>> tiger.update_belief(tiger.start, action=0, observation=1).tolist()
        [0.15, 0.85]
        """
        kind = cast("type[Any]", cls)
        found = read_pomdp(kind, MDP, path, gamma) if _suffix(path) == ".pomdp" else _from_npz(kind, path, gamma)
        return named(found, Path(path).stem)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, atomically; the suffix says which kind of file.

        ``.npz`` keeps every bit. ``.pomdp`` is Cassandra's text format: it keeps every value to the last bit, but knows
        no termination. Episodes that end go on for ever in a state that pays nothing (see `MDP.without_termination`),
        and there an observation is made, "end", that cannot be made anywhere else: so that beliefs from the file agree
        with those of an agent that observes the end. Each successor of a pair is listed once, in ascending order.
        Labels are kept where they are names in the format.

        Raises
        ------
        FileError
            If the suffix is unknown, the file cannot be written, or the model cannot be expressed in the format:
            ``.pomdp`` knows no illegal actions and no random rewards. The message says what to do.
        """
        pomdp = cast("POMDP", self)
        if _suffix(path) == ".npz":
            write_arrays(path, "POMDP", _to_arrays(pomdp))
            return
        try:
            write_pomdp(pomdp, path)
        except ModelError as cause:
            raise FileError(f"cannot write {path}: {cause}") from cause


def _suffix(path: str | PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix in (".mdp", ".tra"):
        raise FileError(f"{path}: a {suffix} file holds an MDP; use MDP.read and MDP.write")
    if suffix not in SUFFIXES:
        raise FileError(f"{path}: {unknown_suffix(suffix, SUFFIXES)}")
    return suffix


def _to_arrays(pomdp: POMDP) -> dict[str, np.ndarray]:
    given = pomdp.given_observation
    arrays = mdp_to_arrays(pomdp.mdp)
    if isinstance(given, ObservationRows):
        arrays.update(zip(_ROWS, map(np.asarray, given), strict=True))
    else:
        arrays["observation"] = given
    if pomdp.observation_labels is not None:
        arrays["observation_labels"] = text(pomdp.observation_labels)
    return arrays


def _from_npz(model: type[P], path: str | PathLike[str], gamma: float | None) -> P:
    checked = None if gamma is None else fraction("gamma", gamma)
    with reading_model(path, "POMDP") as arrays:
        observation: Observations
        if "observation" in arrays:
            observation = arrays.take("observation")
        elif all(name in arrays for name in _ROWS):
            indptr, index, probability, count = (arrays.take(name) for name in _ROWS)
            if count.shape != () or count.dtype.kind not in "iu":
                raise FileError(f"{path} is malformed: n_observations is not a whole number")
            observation = ObservationRows(indptr, index, probability, int(count))
        else:
            raise FileError(f"{path} is malformed: it has no observation")
        labels = arrays.take("observation_labels") if "observation_labels" in arrays else None
        named = None if labels is None else text_in(path, "observation_labels", labels)
        mdp = mdp_from_arrays(MDP, path, arrays, checked)
        try:
            return model(mdp, observation, named)
        except ModelError as cause:
            raise FileError(f"{path} holds no valid model: {cause}") from cause
