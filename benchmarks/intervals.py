"""How often the intervals over seeds cover the true mean: `python benchmarks/intervals.py`, a minute.

10,000 simulated experiments for each number of seeds and each distribution of a seed's result, at a nominal 95 %.
"""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rlsuite.training.statistics import mean_interval

EXPERIMENTS = 10_000
SEEDS = (2, 3, 5, 10, 20, 30, 100)

Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]

RESULTS: dict[str, tuple[float, Draw]] = {
    "normal": (0.0, lambda rng, size: rng.normal(size=size)),
    "uniform": (0.5, lambda rng, size: rng.random(size)),
    "Student t, 5 degrees of freedom": (0.0, lambda rng, size: rng.standard_t(5, size)),
    "exponential below the optimum": (-1.0, lambda rng, size: -rng.exponential(size=size)),
    "lognormal below the optimum": (-np.exp(0.5), lambda rng, size: -rng.lognormal(size=size)),
    "one in ten fails": (-22.6, lambda rng, size: rng.normal(-14.0, 1.0, size) - 86.0 * (rng.random(size) < 0.1)),
    "three in ten fail": (-39.8, lambda rng, size: rng.normal(-14.0, 1.0, size) - 86.0 * (rng.random(size) < 0.3)),
}


def main() -> None:
    """Print one line for each distribution and method, one column for each number of seeds."""
    print(f"{'share of intervals that cover the mean; seeds:':45s}" + "".join(f"{n:>8d}" for n in SEEDS))
    for name, (mean, draw) in RESULTS.items():
        for method in ("student", "bca"):
            rng = np.random.default_rng(1)
            shares: list[float] = []
            for n in SEEDS:
                _, low, high = mean_interval(draw(rng, (n, EXPERIMENTS)), method=method)
                shares.append(float(np.mean((low <= mean) & (mean <= high))))
            print(f"{name:35s} {method:9s}" + "".join(f"{100 * share:>6.1f} %" for share in shares), flush=True)


if __name__ == "__main__":
    sys.exit(main())
