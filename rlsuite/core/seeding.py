"""The generators of many seeds at once, in NumPy's own arithmetic.

``np.random.default_rng(SeedSequence(seed, spawn_key=(k,)))`` costs some 15 microseconds, most of them in making
objects. Here the hash of `SeedSequence` is computed for all seeds together, and the first state of `PCG64` from it;
the results are those of NumPy, bit for bit, whose documentation promises that they stay the same.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

N_POOL = 4

_INIT_A, _MULTIPLY_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULTIPLY_B = 0x8B51F9DD, 0x58F38DED
_LEFT, _RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_HALF = np.uint32(16)
_PCG, _ALL_BITS = 0x2360ED051FC65DA44385DF649FCCF645, 2**128 - 1


class _Hash:
    """The hash of `SeedSequence`, whose constant changes with each word; all words of one place at once."""

    def __init__(self, constant: int, multiplier: int):
        self.constant, self.multiplier = constant, multiplier

    def __call__(self, words: Words) -> Words:
        """Hash one word of each seed."""
        before = self.constant
        self.constant = before * self.multiplier & 0xFFFFFFFF
        hashed = (words ^ np.uint32(before)) * np.uint32(self.constant)
        return hashed ^ (hashed >> _HALF)


def _mixed(x: Words, y: Words) -> Words:
    mixed = _LEFT * x - _RIGHT * y
    return mixed ^ (mixed >> _HALF)


def seed_words(seeds: Sequence[int], n_words: int, child: int | None = None) -> Words:
    """Return ``SeedSequence(seed).generate_state(n_words)`` of each seed, or that of the child of this number.

    Parameters
    ----------
    seeds : sequence of int
        At least 0.
    n_words : int
        Number of words of each.
    child : int, optional
        Which of ``SeedSequence(seed).spawn(n)``.

    Returns
    -------
    ndarray of uint32, shape (n_seeds, n_words)

    Examples
    --------
    >>> seed_words([7, 8], 2, child=1).tolist() == [
    ...     np.random.SeedSequence(seed).spawn(2)[1].generate_state(2).tolist() for seed in (7, 8)
    ... ]
    True
    """
    first = _Hash(_INIT_A, _MULTIPLY_A)
    pool = [first(np.array([seed >> 32 * k & 0xFFFFFFFF for seed in seeds], dtype=np.uint32)) for k in range(N_POOL)]
    for source in range(N_POOL):
        for target in range(N_POOL):
            if target != source:
                pool[target] = _mixed(pool[target], first(pool[source]))
    if child is not None:
        key = np.full(len(seeds), child, dtype=np.uint32)
        pool = [_mixed(word, first(key)) for word in pool]
    last = _Hash(_INIT_B, _MULTIPLY_B)
    words = np.stack([last(pool[k % N_POOL]) for k in range(n_words)], axis=1)
    for row, seed in enumerate(seeds):
        if seed >> 32 * N_POOL:  # the pool takes in further words in another way
            sequence = np.random.SeedSequence(seed, spawn_key=() if child is None else (child,))
            words[row] = sequence.generate_state(n_words)
    return words


def pcg64_states(seeds: Sequence[int], child: int | None = None) -> list[dict[str, Any]]:
    """Return the state of ``PCG64(SeedSequence(seed))`` of each seed, or that of the child of this number.

    Parameters
    ----------
    seeds : sequence of int
        At least 0.
    child : int, optional
        Which of ``SeedSequence(seed).spawn(n)``.

    Returns
    -------
    list of dict
        What `PCG64.state` takes.

    Examples
    --------
    >>> pcg64_states([7]) == [np.random.PCG64(7).state]
    True
    """
    return [_first_state(*words) for words in seed_words(seeds, 8, child).tolist()]


def _first_state(*words: int) -> dict[str, Any]:
    """The state of PCG64 from eight words: two numbers of 128 bits, in each the words of its upper half first."""
    begin, sequence = (b << 96 | a << 64 | d << 32 | c for a, b, c, d in (words[:4], words[4:]))
    increment = (sequence << 1 | 1) & _ALL_BITS
    state = ((increment + begin) * _PCG + increment) & _ALL_BITS
    return {"bit_generator": "PCG64", "state": {"state": state, "inc": increment}, "has_uint32": 0, "uinteger": 0}
