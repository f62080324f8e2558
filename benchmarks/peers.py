"""The libraries that rlsuite is measured against: each in a virtual environment of its own, made on first use.

They want versions of NumPy and others that exclude each other, and rlsuite; so nothing is installed beside it. The
environments lie in ``benchmarks/.peers``, or in the folder that the variable RLSUITE_PEERS names, and may be deleted at
any time. All versions are pinned, as far as a benchmark depends on them.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PINS = {
    # The environments of Gym come with it as an extra, at exactly this version.
    "mushroom": ("mushroom-rl==1.10.2", "gym==0.24.1"),
    # Its Q-learning has been a package of its own since 0.7.
    "rlberry": ("rlberry==0.7.3", "rlberry-scool==0.7.3"),
    # The last version with bandits, which does not know how to talk to Gymnasium 1.
    "rlberry_bandits": ("rlberry==0.6.0", "gymnasium==0.29.1"),
    "jax": ("jax[cpu]==0.10.2",),
    # The last SciPy in which it finds all that it imports. (No numba that it can use runs on this Python.)
    "smpybandits": ("SMPyBandits==0.9.7", "scipy==1.13.1", "numpy==1.26.4"),
}
DONE = "pins.txt"  # written when all is installed, so that an installation that broke off is made anew


def python_of(peer: str) -> Path:
    """Return the Python of a virtual environment that has the peer; make it if there is none.

    Raises
    ------
    SystemExit
        If it cannot be installed, for lack of a network for example.
    """
    folder = Path(os.environ.get("RLSUITE_PEERS") or Path(__file__).with_name(".peers")) / peer
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = "\n".join(PINS[peer])
    if not (folder / DONE).exists() or (folder / DONE).read_text().strip() != wanted:
        print(f"Installing {', '.join(PINS[peer])} into {folder} ...", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        _call(peer, sys.executable, "-m", "venv", folder)
        _call(peer, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINS[peer])
        (folder / DONE).write_text(wanted + "\n")
    return python


def _call(peer: str, *command: object) -> None:
    """Run a command; what it prints is not part of the table, and goes to stderr."""
    if subprocess.run(list(map(str, command)), stdout=sys.stderr).returncode:
        raise SystemExit(f"{peer}: this failed: {' '.join(map(str, command))}")


if __name__ == "__main__":  # make some of them, or all, before anything is measured
    for name in sys.argv[1:] or PINS:
        print(python_of(name))
