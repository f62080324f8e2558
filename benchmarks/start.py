"""What starting rlsuite costs: ``python benchmarks/start.py``.

Measures ``rlsuite --help`` and ``import rlsuite`` beside the start of a bare Python, as wall-clock time of whole
processes in turn, and lists which third-party packages are loaded by what.
"""

import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from measuring import Line, Target, in_turn, print_heading, print_line, seconds

HEAVY = ("numpy", "scipy", "numba", "gymnasium", "matplotlib", "PIL", "tqdm")
LOADED = f"; import sys; print(*(name for name in {HEAVY!r} if name in sys.modules))"


def run(*command: str) -> str:
    """Run a process to its end and return what it printed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wall(*command: str) -> float:
    """Seconds from the start of a process to its end."""
    return seconds(partial(run, *command), time.perf_counter)


def main() -> int:
    """Print the tables; status 1 if the target is missed."""
    python = sys.executable
    commands = {
        "rlsuite --help": (shutil.which("rlsuite", path=Path(python).parent) or "rlsuite", "--help"),
        "import rlsuite": (python, "-c", "import rlsuite"),
        "import rlsuite; rlsuite.MDP": (python, "-c", "import rlsuite; rlsuite.MDP"),
        "import rlsuite; rlsuite.train": (python, "-c", "import rlsuite; rlsuite.train"),
    }
    missed = 0
    print_heading("Seconds beyond the start of a bare Python")
    for name, command in commands.items():
        run(*command)  # brings the files into the disk's cache
        bare, whole, _ = in_turn(partial(wall, python, "-c", "pass"), partial(wall, *command), rounds=11)
        line = Line(name, whole - bare, "s", Target("<=", 0.15) if name == "rlsuite --help" else None)
        print_line(line)
        missed += line.target is not None and not line.target.met(line.measured)
    print_heading("Third-party packages loaded")
    for code in (
        "import rlsuite",
        "import rlsuite.cli",
        "import rlsuite; rlsuite.MDP",
        "import rlsuite; rlsuite.train",
    ):
        print(f"{code:<40}{run(python, '-c', code + LOADED).strip() or 'none'}")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
