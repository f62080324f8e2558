"""Fail unless the environment variable that stands for another processor has an effect here.

A name that OpenBLAS, numba or the C library does not know is passed over without a word, and the tests would run on the
processor at hand once more. A name that OpenBLAS knows is obeyed even where the processor lacks the instructions, and
the interpreter is killed in the middle of a test: the exit status is then 3, and `.ci/run` goes on to the next.
"""

import hashlib
import math
import os
import signal
import struct
import subprocess
import sys

CORES = {"Haswell": {"Haswell"}, "Zen": {"Zen", "Haswell"}, "Nehalem": {"Nehalem"}, "SkylakeX": {"SkylakeX"}}
"""What OpenBLAS may answer: some builds have no code of their own for Zen, and take Haswell's."""

CANNOT = 3
"""Exit status where the processor at hand cannot run what is asked for."""


def blas(core: str) -> str:
    """Return what is wrong with the BLAS libraries of NumPy and SciPy, or nothing."""
    import scipy.linalg  # noqa: F401  loads its own copy
    import threadpoolctl

    used = {each["architecture"] for each in threadpoolctl.threadpool_info() if each["internal_api"] == "openblas"}
    return "" if used and used <= CORES.get(core, {core}) else f"the BLAS libraries use {sorted(used)}"


def sums() -> None:
    """Use the kernels of BLAS that the tests use, in both precisions and in sizes that take different ways."""
    import numpy as np
    import scipy.linalg

    for kind in (np.float64, np.float32):
        for n in (1, 7, 33, 300):
            matrix = (np.eye(n) * n + 1.0).astype(kind)
            vector = np.ones(n, dtype=kind)
            for result in (matrix @ matrix, matrix @ vector, vector @ matrix, vector @ vector):
                assert np.isfinite(result).all()
            for library in (np.linalg, scipy.linalg):
                library.solve(matrix, vector)
                library.eigh(matrix)
                library.svd(matrix)
                library.cholesky(matrix)


def can_run() -> bool:
    """Whether the processor at hand has the instructions of the BLAS that is asked for."""
    return subprocess.run([sys.executable, __file__, "sums"], check=False).returncode != -signal.SIGILL


def machine_code() -> str:
    """Return what is wrong with the machine code that numba makes, or nothing."""
    import numba
    import numpy as np

    @numba.njit(fastmath=True)
    def product(a, b):
        total = 0.0
        for i in range(a.size):
            total += a[i] * b[i]
        return total

    product(np.ones(9), np.ones(9))
    code = "".join(product.inspect_asm().values())
    found = [word for word in ("ymm", "zmm", "vfmadd") if word in code]
    return f"numba still uses {', '.join(found)}" if found else ""


def digest() -> str:
    """Return a hash of what the mathematical functions of the C library answer."""
    numbers = [0.005 * k - 50.0 for k in range(20_000)]
    answers = [f(x) for f in (math.sin, math.cos, math.exp) for x in numbers]
    return hashlib.sha256(struct.pack(f"{len(answers)}d", *answers)).hexdigest()


def library() -> str:
    """Return what is wrong with the C library, or nothing: without the variable it must give other last bits."""
    without = {name: text for name, text in os.environ.items() if name != "GLIBC_TUNABLES"}
    command = [sys.executable, __file__, "digest"]
    plain = subprocess.run(command, env=without, stdout=subprocess.PIPE, text=True, check=True).stdout
    return "" if plain.strip() != digest() else "sin, cos and exp give the same bits as without it"


def main() -> None:
    """Look at the variable that is set."""
    if core := os.environ.get("OPENBLAS_CORETYPE"):
        if not can_run():
            print(f"OPENBLAS_CORETYPE={core}: NOT TESTED, this processor lacks instructions that it needs")
            raise SystemExit(CANNOT)
        name, wrong = f"OPENBLAS_CORETYPE={core}", blas(core)
    elif cpu := os.environ.get("NUMBA_CPU_NAME"):
        name, wrong = f"NUMBA_CPU_NAME={cpu}", machine_code()
    elif tunables := os.environ.get("GLIBC_TUNABLES"):
        name, wrong = f"GLIBC_TUNABLES={tunables}", library()
    else:
        name, wrong = "no variable", "none is set"
    if wrong:
        raise SystemExit(f"{name} has no effect on this machine: {wrong}")


if __name__ == "__main__":
    if sys.argv[1:] == ["digest"]:
        print(digest())
    elif sys.argv[1:] == ["sums"]:
        sums()
    else:
        main()
