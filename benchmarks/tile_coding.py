"""What tile coding costs, beside a plain Python tile coder: ``python benchmarks/tile_coding.py``.

Both compute the same tiles, which is checked first. Prints a table of ratios with their targets; ends with status 1 if
one is missed. Takes a few seconds. Every figure is the median of several rounds in which the two sides are run in turn
(see measuring.py); times are processor time.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from measuring import Line, Target, in_turn, print_heading, print_line, seconds
from tiles_in_python import PlainTileCoder

from rlsuite.core.compilation import compiled
from rlsuite.features import TileCoding

N_TILINGS, BINS = 8, 8
FEW, MANY = 10_000, 1_000_000
SEED = 7


@compiled(in_place=True)
def code_all(rule: Any, observations: Any, n: int, indices: Any, values: Any) -> int:
    """Code n observations, over and over the same (m, d); the sum of the places, so that none is left out."""
    total, row = 0, 0
    for _ in range(n):
        for k in range(rule.active(rule.data, observations[row], indices, values)):
            total += indices[k]
        row = row + 1 if row + 1 < observations.shape[0] else 0
    return total


def tile_coding(n_dimensions: int) -> Iterator[Line]:
    """The cost of one observation: in a compiled loop, and of `transform` of many; both beside plain Python."""
    observations = np.random.default_rng(SEED).random((FEW, n_dimensions))
    tiles = TileCoding(N_TILINGS, BINS, low=0.0, high=1.0).fit(observations)
    plain = PlainTileCoder([0.0] * n_dimensions, [1.0] * n_dimensions, N_TILINGS, BINS)
    as_lists = observations.tolist()
    found = tiles.transform(observations).indices.reshape(FEW, N_TILINGS)
    if found.tolist() != [plain(observation) for observation in as_lists]:
        raise SystemExit("the two tile coders disagree")
    room = np.zeros(N_TILINGS, dtype=np.int64), np.zeros(N_TILINGS)
    code_all(tiles.rule, observations, 1, *room)  # compiles

    def in_a_loop() -> float:
        return seconds(lambda: code_all(tiles.rule, observations, MANY, *room)) / MANY

    def at_once() -> float:
        return seconds(lambda: tiles.transform(observations)) / FEW

    def in_python() -> float:
        return seconds(lambda: [plain(observation) for observation in as_lists]) / FEW

    setting = f"{N_TILINGS} tilings in {n_dimensions} dimensions"
    for what, ours in (("in a compiled loop", in_a_loop), ("transform", at_once)):
        one, other, ratio = in_turn(ours, in_python)
        detail = f"{one * 1e9:.0f} ns an observation against {other * 1e9:.0f} ns"
        yield Line(f"Tile coding, {setting}, {what}: times plain Python", ratio, "x", Target(">=", 50), detail)


def main() -> int:
    """Print the table."""
    print_heading("Tile coding")
    missed = 0
    for n_dimensions in (2, 4):
        for line in tile_coding(n_dimensions):
            print_line(line)
            missed += line.target is not None and not line.target.met(line.measured)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
