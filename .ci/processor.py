"""Fail unless the environment variable that stands for another processor has an effect here.

A name that OpenBLAS, numba or the C library does not know is passed over without a word, and the tests would run on the
processor at hand once more.
"""

import hashlib
import math
import os
import struct
import subprocess
import sys

CORES = {"Haswell": {"Haswell"}, "Zen": {"Zen", "Haswell"}, "Nehalem": {"Nehalem"}, "SkylakeX": {"SkylakeX"}}
"""What OpenBLAS may answer: some builds have no code of their own for Zen, and take Haswell's."""


def blas(core: str) -> str:
    """Return what is wrong with the BLAS libraries of NumPy and SciPy, or nothing."""
    import scipy.linalg  # noqa: F401  loads its own copy
    import threadpoolctl

    used = {each["architecture"] for each in threadpoolctl.threadpool_info() if each["internal_api"] == "openblas"}
    return "" if used and used <= CORES.get(core, {core}) else f"the BLAS libraries use {sorted(used)}"


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
    else:
        main()
