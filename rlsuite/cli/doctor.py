"""``rlsuite doctor``: what is installed, whether loops are compiled, and where machine code is kept."""

import argparse
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from rlsuite import __version__
from rlsuite.cli.options import Commands, add_command
from rlsuite.cli.output import columns, print_json

NEEDED: Final = ("numpy", "scipy", "numba", "gymnasium", "matplotlib", "scikit-learn")
OPTIONAL: Final = ("pandas", "jinja2", "torch", "optuna", "stormpy")


def add(commands: Commands) -> None:
    """Describe the command."""
    add_command(commands, "doctor", run)


def run(chosen: argparse.Namespace) -> int:
    """Say what is installed, and what is compiled.

    Say what is installed, whether loops are compiled or why not, and where machine code is kept. 'rlsuite check ENV'
    says how one environment can be run, and why it is stepped.

    Examples
    --------
    rlsuite doctor
    """
    from rlsuite.core.compilation import has_machine_code, no_machine_code
    from rlsuite.core.threads import usable_cores

    has_machine_code()  # imports numba, which may be broken
    kept = _kept_machine_code()
    facts: dict[str, object] = {
        "rlsuite": f"{__version__} in {Path(__file__).parents[1]}",
        "python": f"{platform.python_version()} in {sys.prefix}",
        "platform": platform.platform(),
        "cores": usable_cores(),
        **{name: _version(name) for name in (*NEEDED, *OPTIONAL)},
        "loops": no_machine_code() or "compiled",
        "machine code": f"{kept} functions in {os.environ.get('NUMBA_CACHE_DIR') or '__pycache__'}",
    }
    if chosen.json:
        print_json(facts)
    else:
        print(columns([(name, str(value)) for name, value in facts.items()]))
    return 0


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _kept_machine_code() -> int:
    """How many compiled functions of rlsuite numba has kept."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return sum(1 for _ in (Path(folder) if folder else Path(__file__).parents[1]).rglob("*.nbi"))
