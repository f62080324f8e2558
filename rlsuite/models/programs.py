"""Models in the languages of the model checkers PRISM and Storm, ``.prism`` and ``.jani``, and Storm's ``.drn``.

Storm parses and builds programs, through its Python package stormpy (extra ``storm``), in a process of its own, since
some programs end it; what it writes there is read here (`rlsuite.models.drn`). The states, the order of the choices and
every number are Storm's. A program of a page may have a billion states: Storm stops where there are more than
asked for.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

import numpy as np

from rlsuite.core.checks import whole_amount
from rlsuite.core.modules import is_installed
from rlsuite.core.narrowing import is_mapping
from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.models.drn import Explicit, read_drn, refuse_other
from rlsuite.models.files import reading

SUFFIXES: Final = (".prism", ".pm", ".nm", ".jani", ".drn")
"""Files that Storm reads; PRISM's own programs are also called ``.pm`` (Markov chains) and ``.nm`` (MDPs)."""

MOST_STATES: Final = 1_000_000

Constants: TypeAlias = str | Mapping[str, float | bool]
"""Values of the constants that a file leaves open: ``"N=4,p=0.5"``, or ``{"N": 4, "p": 0.5}``."""

OUT_OF_BOUNDS: Final = "out_of_bounds"
"""Storm's label of the states after a variable has left its range."""

TOO_LARGE: Final = " has more than {:,} states: choose smaller constants, or a larger max_states={}"

_COMMENT = re.compile(r"//[^\n]*")
_DECLARED: Final[Mapping[str, re.Pattern[str]]] = {
    ".drn": re.compile(r"(?mi)^\s*@type:\s*([a-z]+)"),
    ".jani": re.compile(r'"type"\s*:\s*"(lts|dtmc|ctmc|mdp|ctmdp|ma|ta|pta|sta|ha|pha|sha|pomdp)"'),
}
_IN_PRISM = re.compile(r"(?m)^[ \t]*((?:po|i|ipo)?mdp|[cdi]tmc|idtmc|ma|(?:po)?pta|[stc]sg)[ \t\r]*$")
_CHILD = "import sys; sys.path[:] = {!r}; from rlsuite.models.programs import write_built; write_built(*sys.argv[1:])"


def kind_in(path: str | os.PathLike[str]) -> str:
    """Return the type of model that a file declares, in small letters; empty if it cannot be seen.

    Raises
    ------
    FileError
        If the file is missing or cannot be read.
    """
    with reading(path):
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    found = _DECLARED.get(Path(path).suffix.lower(), _IN_PRISM).search(_COMMENT.sub("", text))
    return "" if found is None else found[1].lower()


def build(
    path: str | os.PathLike[str],
    kind: str,
    *,
    constants: Constants | None = None,
    reward: str | Sequence[str] | None = None,
    max_states: int | None = MOST_STATES,
) -> Explicit:
    """Return the model in a file.

    Parameters
    ----------
    path
        The file.
    kind : {"dtmc", "mdp", "pomdp"}
        What the file must hold.
    constants : str or mapping, optional
        Values of the constants that the file leaves open: ``"N=4,p=0.5"`` or ``{"N": 4, "p": 0.5}``.
    reward : str or sequence of str, optional
        The reward structures to add up; by default the only one of the file, if there is one.
    max_states : int, optional
        Largest number of states; None for no limit.

    Raises
    ------
    FileError
        If the file is missing, malformed, about another kind of model, or has too many states; or if Storm ended.
    ParameterError
        If constants are malformed, or a reward structure is unknown, or several are there and none is chosen.
    MissingPackage
        If stormpy is not installed.
    """
    limit = None if max_states is None else whole_amount("max_states", max_states)
    refuse_other(path, kind, kind_in(path))
    if Path(path).suffix.lower() == ".drn":
        if constants is not None:
            raise ParameterError(f"constants={constants!r}: {path} lists its states, and has no constants")
        found = read_drn(path, kind, reward)
        if limit is not None and found.n_states > limit:
            raise FileError(f"{path}{TOO_LARGE.format(limit, 10 * limit)}")
        return found
    if not is_installed("stormpy"):
        raise MissingPackage(
            "programs of PRISM and JANI models (.prism, .jani) are read by stormpy, which is not installed: "
            'pip install "rlsuite[storm]"'
        )
    with TemporaryDirectory() as folder:
        built, said = Path(folder, "model.drn"), Path(folder, "said.txt")
        given = [str(path), _text_of(constants), str(limit or 0), str(built), str(said)]
        command = [sys.executable, "-c", _CHILD.format([os.fspath(one) for one in sys.path]), *given]
        done = subprocess.run(command, capture_output=True, check=False)
        if said.exists() and not built.exists():
            raise FileError(f"{path}{said.read_text(encoding='utf-8')}")
        if done.returncode or not said.exists():
            raise FileError(f"{path}: Storm ended while it read the file, with the exit status {done.returncode}")
        found = read_drn(built, kind, reward)._replace(path=Path(path))
        for label in said.read_text(encoding="utf-8").split():  # a label may hold in no state
            found.labels.setdefault(label, np.zeros(found.n_states, dtype=np.bool_))
    outside = found.labels.pop(OUT_OF_BOUNDS, np.zeros(found.n_states, dtype=np.bool_))
    if outside.any():
        last = int(found.source[np.argmax(outside[found.next_state])])
        name = last if found.state_names is None else repr(found.state_names[last])
        raise FileError(f"{path}: a variable leaves its range in a step from the state {name}")
    return found


def _text_of(constants: Constants | None) -> str:
    """Return constants as Storm takes them."""
    if constants is None or isinstance(constants, str):
        return (constants or "").replace(" ", "")
    if not is_mapping(constants):
        raise ParameterError(f"constants={constants!r} is neither text such as 'N=4,p=0.5' nor a mapping")
    for name, value in constants.items():
        if not isinstance(name, str) or not isinstance(value, bool | int | float | np.number):
            raise ParameterError(f"constants: {name!r}: {value!r} is not the name of a constant and its value")
    return ",".join(f"{name}={str(value).lower()}" for name, value in constants.items())


def write_built(path: str, constants: str, limit: str, built: str, said: str) -> None:
    """Let Storm build a program and write it as ``.drn``, or what is wrong with it to another file; in a child."""
    storm: Any = import_module("stormpy")
    storm.developer.set_log_level(storm.developer.LogLevel.OFF)
    try:
        parse = storm.parse_jani_model if path.lower().endswith(".jani") else storm.parse_prism_program
        program = _program_in(parse(path))
        left = [str(one.name) for one in program.constants if not one.defined]
        missing = [name for name in left if not re.search(rf"(^|,){name}=", constants)]
        if missing:
            example = ",".join(f"{name}=2" for name in missing)
            open_ones = f"constant{'s' * (len(missing) > 1)} {', '.join(missing)}"
            raise ValueError(f"it leaves the {open_ones} open: give values, such as constants={example!r}")
        if constants:
            program = _program_in(storm.instantiate_constants(program, constants))
        options = storm.BuilderOptions()
        options.set_build_all_labels()
        options.set_build_all_reward_models()
        options.set_build_choice_labels()
        options.set_build_state_valuations()
        options.set_add_out_of_bounds_state()  # otherwise values outside of the range of a variable are made others
        exploration = storm.developer.ExplicitModelBuilderOptions[float]()
        if int(limit):
            # Storm stops as soon as there are so many, though it might find no others.
            exploration.exploration_state_limit = int(limit) + 1
        description = storm.developer.SymbolicModelDescription(program)
        builder = storm.developer.make_explicit_model_builder[float](
            description, options, exploration_options=exploration
        )
        written = storm.io.DirectEncodingExporterOptions()
        written.output_precision = 17
        model = builder.build()
        if int(limit) and model.nr_states > int(limit):
            Path(said).write_text(TOO_LARGE.format(int(limit), 10 * int(limit)), encoding="utf-8")
        else:
            storm.io.export_to_drn(model, built, options=written)
            Path(said).write_text("\n".join(model.labeling.get_labels() - {"deadlock"}), encoding="utf-8")
    except Exception as cause:  # Storm's are RuntimeError, ValueError, IndexError and classes of its own
        reason = re.sub(r"^[A-Za-z]+Exception: ", "", str(cause).strip()) or type(cause).__name__
        found = re.search(r"[Pp]arsing error at (\d+):(\d+):\s*", reason)
        where = f":{found[1]}:{found[2]}" if found else ""
        reason = " ".join((reason[found.end() :] if found else reason).split())
        Path(said).write_text(f"{where}: Storm cannot read it: {reason}", encoding="utf-8")


def _program_in(found: Any) -> Any:
    """Return the program that Storm has read: alone, or with the properties that stand beside it."""
    return found if hasattr(found, "constants") else found[0]
