"""Explicit durations beside the plain model and the augmented one: likelihood, smoothing, best path, learning.

    pip install --group bench
    python benchmarks/hsmm.py [--quick]

A hidden semi-Markov model of 8 states and durations up to 50; a plain model of the same 8 states; and the plain model
with 8 x 50 states, whose answers are those of the first, and are compared before anything is timed. The three take
turns in one process. Times are processor time, medians of the rounds; the work of a step is K (K + D) numbers with
durations and K K without. Exit status 1 if a target is missed.
"""

import argparse
import statistics
import sys
import time

import numpy as np
from measuring import Target, print_heading

import rlsuite as rl
from rlsuite.inference import HSMM

STATES, LONGEST, SYMBOLS = 8, 50, 6
STEPS, QUICK = 50_000, 5_000
ROUNDS = 5
PER_UNIT = Target("<=", 2.0)
AHEAD = Target(">=", 5.0)


def models():
    """Return the three models by name."""
    rng = np.random.default_rng(0)
    leave = rng.dirichlet(np.ones(STATES), size=STATES)
    np.fill_diagonal(leave, 0.0)
    leave /= leave.sum(axis=1, keepdims=True)
    emission = rng.dirichlet(np.ones(SYMBOLS), size=STATES)
    durations = rng.dirichlet(np.ones(LONGEST), size=STATES)
    semi = HSMM(np.full(STATES, 1 / STATES), leave, emission, durations)
    plain = rl.HMM(semi.start, 0.95 * np.eye(STATES) + 0.05 * leave, emission)
    pairs = np.zeros((STATES, LONGEST, STATES, LONGEST))
    for k in range(STATES):
        pairs[k, np.arange(1, LONGEST), k, np.arange(LONGEST - 1)] = 1.0
        pairs[k, 0] = leave[k][:, None] * durations
    size = STATES * LONGEST
    start = (semi.start[:, None] * durations).reshape(-1)
    augmented = rl.HMM(start, pairs.reshape(size, size), np.repeat(emission, LONGEST, axis=0))
    return {"durations": semi, "plain": plain, "augmented": augmented}


def main() -> int:
    """Measure, print a table, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a short sequence: whether it runs, not how fast")
    steps = QUICK if parser.parse_args().quick else STEPS
    print_heading("Explicit durations")
    found = models()
    z, _ = found["durations"].sample(steps, seed=0)
    scores = [found[name].score(z) for name in ("durations", "augmented")]
    assert abs(scores[0] - scores[1]) < 1e-9 * abs(scores[0]), "the answers differ"
    units = (STATES + LONGEST) / STATES
    print(f"{'':12}{'durations':>12}{'plain':>10}{'augmented':>12}{'per unit':>10}{'ahead':>8}")
    met = True
    for what, work in (
        ("likelihood", lambda model: model.score(z)),
        ("smoothing", lambda model: model.smooth(z)),
        ("best path", lambda model: model.decode(z)),
        ("learning", lambda model: model.fit(z, max_iterations=2, tol=0)),
    ):
        times = {name: [] for name in found}
        for model in found.values():
            work(model)
        for _ in range(ROUNDS):
            for name, model in found.items():
                begun = time.process_time()
                work(model)
                times[name].append(1e9 * (time.process_time() - begun) / steps)
        cost = {name: statistics.median(each) for name, each in times.items()}
        per_unit = cost["durations"] / cost["plain"] / units
        ahead = cost["augmented"] / cost["durations"]
        costs = f"{cost['durations']:10.0f}ns{cost['plain']:8.0f}ns{cost['augmented']:10.0f}ns"
        print(f"{what:12}{costs}{per_unit:10.2f}{ahead:8.1f}")
        met &= PER_UNIT.met(per_unit) and AHEAD.met(ahead)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
