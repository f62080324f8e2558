"""The generators of many seeds at once, held against NumPy's own."""

import numpy as np
import pytest

from rlsuite.core.seeding import pcg64_states, seed_words

SEEDS = [*range(3_000), *(2**32 - 2 + k for k in range(5)), 2**64 - 1, 2**64, 2**96 + 5, 2**128 - 1, 2**128, 3**200]
SEEDS += [int(seed) for seed in np.random.default_rng(5).integers(0, 2**63, 7_000)]


@pytest.mark.parametrize("child", [None, 0, 1, 2])
def test_words_are_those_of_numpy(child):
    words = seed_words(SEEDS, 10, child)
    for seed, found in zip(SEEDS, words, strict=True):
        sequence = np.random.SeedSequence(seed)
        expected = sequence if child is None else sequence.spawn(3)[child]
        assert found.tobytes() == expected.generate_state(10).tobytes()


@pytest.mark.parametrize("child", [None, 0])
def test_states_are_those_of_numpy(child):
    for seed, state in zip(SEEDS[::10], pcg64_states(SEEDS[::10], child), strict=True):
        sequence = np.random.SeedSequence(seed)
        generator = np.random.PCG64(sequence if child is None else sequence.spawn(1)[0])
        assert generator.state == state
