"""Modules that a user names: ``package.module`` is imported, ``file.py`` is run."""

import hashlib
import importlib
import importlib.util
import os
import pkgutil
import sys
import zlib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from rlsuite.errors import FileError, RlsuiteError
from rlsuite.synonyms import nearest

WRITTEN: Final = "__rlsuite_written__"
"""Attribute of the module of a file: the name of the file, as the user wrote it."""

CONTENT: Final = "__rlsuite_content__"
"""Another: what the file held when it was run."""


def parts_of(spec: str) -> tuple[str, str]:
    """Split ``module:Name``, ``file.py:Name``, ``file.py`` or ``Name``: module or file, and name; either may be empty.

    >>> parts_of("folder/file.py:Maze"), parts_of("file.py"), parts_of("CliffWalking-v1")
    (('folder/file.py', 'Maze'), ('file.py', ''), ('', 'CliffWalking-v1'))
    """
    if spec.endswith(".py"):
        return spec, ""
    source, _, name = spec.rpartition(":")
    return source, name


def is_installed(package: str) -> bool:
    """Whether a package can be found; nothing is imported.

    >>> is_installed("json"), is_installed("no_such_package")
    (True, False)
    """
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # hidden by what looks for modules, or by None in its place
        return False


def module_of(source: str, folder: Path = Path()) -> ModuleType:
    """Return the module that a specification names: a file, which is run, or a module, which is imported.

    Parameters
    ----------
    source : str
        ``file.py`` or ``package.module``.
    folder : Path
        The folder that file names are relative to.

    Raises
    ------
    FileError
        If there is none, or running it raises.
    """
    if source.endswith(".py"):
        module = run_file(folder / source)
        vars(module)[WRITTEN] = source
        return module
    if source.startswith("."):
        raise FileError(f"{source!r} is not the name of a module")
    try:
        return importlib.import_module(source)
    except ModuleNotFoundError as cause:
        if cause.name is None or not f"{source}.".startswith(f"{cause.name}."):
            raise FileError(f"importing {source} failed: {cause}") from cause
        file = Path(*source.split(".")).with_suffix(".py")
        hint = f"; for the file in the current folder, write '{file}:Class'" if file.exists() else _nearest_to(source)
        raise FileError(f"there is no module {cause.name!r} to import{hint}") from cause
    except (RlsuiteError, Warning):
        raise
    except Exception as cause:  # whatever the module raises as it is imported
        raise FileError(f"importing {source} raised {type(cause).__name__}: {cause}") from cause


def _nearest_to(source: str) -> str:
    """Half a sentence about the submodule of the package that was meant; empty if there is none."""
    parent, _, name = source.rpartition(".")
    found = [one.name for one in pkgutil.iter_modules(getattr(sys.modules.get(parent), "__path__", []))]
    near = nearest(name, [one for one in found if not one.startswith("_")])
    return f"; did you mean '{parent}.{near[0]}'?" if near else ""


def files_run() -> dict[str, tuple[str, str]]:
    """Name of the module of each file that `run_file` has run -> its path, and the checksum of what it held."""
    return {
        name: (str(module.__file__), checksum_of(vars(module)[CONTENT]))
        for name, module in list(sys.modules.items())
        if CONTENT in getattr(module, "__dict__", {})
    }


def checksum_of(content: bytes) -> str:
    """The checksum of a file, SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def check_content(file: Path, checksum: str) -> None:
    """Make sure that a file is the one that a run began with.

    Raises
    ------
    FileError
        If it is missing, or differs.
    """
    try:
        same = checksum_of(file.read_bytes()) == checksum
    except OSError as cause:
        raise FileError(f"cannot read {file}: {cause.strerror}; every process and machine needs this file") from cause
    if not same:
        raise FileError(
            f"{file} is not what it was when this run began: it has been edited since, or is another version on this "
            "machine; put it back, or run it again"
        )


class _Source(SourceFileLoader):
    """Runs what the file says, and not a compiled copy that is taken for it by its date and size."""

    def path_stats(self, path: str | os.PathLike[str]) -> Any:
        """Tell neither date nor size, so that no copy is looked for."""
        raise OSError


def run_file(file: Path) -> ModuleType:
    """Return the module in a file, executed once per state of the file.

    Its name is the same in every process, so that machine code that is kept for its classes is found again.

    Raises
    ------
    FileError
        If there is no such file, it is not a Python file, or running it raises.
    """
    if not file.is_file():
        raise FileError(f"there is no file {str(file)!r}")
    resolved = file.resolve()
    try:
        content = resolved.read_bytes()
    except OSError as cause:
        raise FileError(f"cannot read {file}: {cause.strerror}") from cause
    # The class must stay importable under its module's name, for pickle and dataclasses among others; the
    # checksum keeps files of the same name in different folders apart.
    name = f"{resolved.stem}_{zlib.crc32(str(resolved).encode()):08x}"
    module = sys.modules.get(name)
    if module is not None and vars(module).get(CONTENT) == content:
        return module
    found = importlib.util.spec_from_file_location(name, resolved, loader=_Source(name, str(resolved)))
    if found is None or found.loader is None:
        raise FileError(f"{str(file)!r} is not a Python file")
    module = importlib.util.module_from_spec(found)
    vars(module)[CONTENT] = content
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except Exception as cause:  # whatever the user's file raises
        del sys.modules[name]
        raise FileError(f"running the file raised {type(cause).__name__}: {cause}") from cause
    return module
