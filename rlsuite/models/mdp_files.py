"""The files of an `MDP`; the suffix gives the format."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast, get_args

from rlsuite.core.checks import fraction
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import FileError, ModelError, ParameterError, unknown, unknown_suffix
from rlsuite.models.cassandra import read_mdp, write_mdp
from rlsuite.models.explicit import Dialect, read_explicit, write_explicit
from rlsuite.models.files import mdp_from_arrays, mdp_to_arrays, reading_model, write_arrays
from rlsuite.models.from_rows import FromRows

if TYPE_CHECKING:
    from rlsuite.models.mdp import MDP

SUFFIXES = (".mdp", ".npz", ".tra")


class MdpFiles(FromRows):
    """The methods of `MDP` that read and write files."""

    @classmethod
    @says_what_to_write
    def read(
        cls,
        path: str | PathLike[str],
        *,
        gamma: float | None = None,
        labels: str | PathLike[str] | None = None,
        rewards: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
        end: str | None = None,
    ) -> Self:
        """Read a model from a file; its suffix says which kind of file it is.

        =========  ==========================================================================================
        ``.npz``   what `write` wrote, bit for bit
        ``.mdp``   Cassandra's text format without observations. Probabilities may be off by the rounding of
                   a few decimals and are then rescaled; costs become negative rewards.
        ``.tra``   explicit transitions of PRISM or Storm, with labels and rewards in files beside it. Choices
                   that are told apart by action names get these as action labels; otherwise choice k of a
                   state is action k. States without choices are ends.
        =========  ==========================================================================================

        Parameters
        ----------
        path
            The file.
        gamma : float, optional
            Discount factor in [0, 1] in place of that of the file; ``.tra`` files have none and need it.
        labels : path, optional
            Label file of a ``.tra`` file; by default that with the suffix ``.lab`` beside it, if there is one. Episodes
            start in the states labelled "init"; without labels in any state that has a choice.
        rewards : path or sequence of paths, optional
            Reward files of a ``.tra`` file, of states (paid on leaving) or of transitions; they are added up. By
            default those with the suffixes ``.rew``, ``.srew``, ``.trew``, ``.rews`` and ``.rewt`` beside it.
        end : str, optional
            Label of the terminal states of a ``.tra`` file: entering one ends the episode, and what the file says
            about leaving it is dropped.

        Raises
        ------
        FileError
            If the file is missing, malformed (with its line), truncated, from elsewhere, or holds no valid model.
        ParameterError
            If `gamma` is out of range or missing, or a parameter is not about this kind of file.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from rlsuite.models import MDP
        >>> text = '''
        ... discount: 0.9
        ... values: reward
        ... states: left right
        ... actions: stay go
        ... start: left
        ... T: stay identity
        ... T: go : left : right 1
        ... T: go : right uniform
        ... R: * : right : * 5
        ... '''
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "two.mdp").write_text(text)
        ...     mdp = MDP.read(Path(folder, "two.mdp"))
        >>> mdp.P[1][1]
        [(0.5, 0, 5.0, False), (0.5, 1, 5.0, False)]
        """
        suffix = _suffix(path)
        if suffix == ".tra":
            return read_explicit(cls, path, gamma=gamma, labels=labels, rewards=rewards, end=end)
        for name, value in (("labels", labels), ("rewards", rewards), ("end", end)):
            if value is not None:
                raise ParameterError(f"{name}={value!r} applies only to .tra files, and {path} is a {suffix} file")
        if suffix == ".mdp":
            return read_mdp(cls, path, gamma)
        checked = None if gamma is None else fraction("gamma", gamma)
        with reading_model(path, "MDP") as arrays:
            return mdp_from_arrays(cls, path, arrays, checked)

    def write(self, path: str | PathLike[str], *, dialect: Dialect | None = None) -> None:
        """Write the model to a file, atomically; the suffix says which kind of file.

        ``.npz`` keeps every bit. The text formats keep every value to the last bit, but know no termination: see
        `without_termination` for what becomes of it. They list each successor of a pair once, in ascending order.
        Labels are kept where they are names in the format.

        =========  ==========================================================================================
        ``.mdp``   Cassandra's text format; illegal actions have no form in it
        ``.tra``   explicit transitions, with labels in a ``.lab`` file and rewards of transitions in a ``.rew`` file
                   beside it. Ends are labelled "end", so that ``read(path, gamma=..., end="end")`` makes them ends
                   again; neither the discount nor names of states are kept.
        =========  ==========================================================================================

        Parameters
        ----------
        path
            The file.
        dialect : {"prism", "storm"}, optional
            Whose ``.tra``, ``.lab`` and ``.rew`` files to write; those of PRISM by default. Neither model checker reads
            the other's; `read` reads both, and sees which they are. Storm takes the three files as
            ``storm --explicit model.tra model.lab --transrew model.rew``, and no negative rewards.

        Raises
        ------
        FileError
            If the suffix is unknown, the file cannot be written, or the model cannot be expressed in the format
            (illegal actions in ``.mdp``; random rewards in both; a start in ``.tra`` that is not uniform over some
            states; negative rewards for Storm). The message says what to do.
        ParameterError
            If `dialect` is unknown, or given for another kind of file.
        """
        mdp = cast("MDP", self)
        suffix = _suffix(path)
        if dialect is not None and suffix != ".tra":
            raise ParameterError(f"dialect={dialect!r} applies only to .tra files, and {path} is a {suffix} file")
        if dialect not in (None, *get_args(Dialect)):
            raise ParameterError(unknown("dialect", dialect, get_args(Dialect)))
        if suffix == ".npz":
            write_arrays(path, "MDP", mdp_to_arrays(mdp))
            return
        try:
            if suffix == ".mdp":
                write_mdp(mdp, path)
            else:
                write_explicit(mdp, path, dialect or "prism")
        except ModelError as cause:
            raise FileError(f"cannot write {path}: {cause}") from cause


def _suffix(path: str | PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix == ".pomdp":
        raise FileError(f"{path}: a .pomdp file holds a POMDP; use POMDP.read and POMDP.write")
    if suffix not in SUFFIXES:
        raise FileError(f"{path}: {unknown_suffix(suffix, SUFFIXES)}")
    return suffix
