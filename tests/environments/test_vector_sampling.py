import numpy as np
import pytest
from gymnasium.envs.toy_text.utils import categorical_sample
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.environments.vector_sampling import SHORT, RowSampler


class Fixed:
    def __init__(self, u):
        self.u = u

    def random(self):
        return self.u


@given(
    rows=st.lists(
        st.tuples(
            st.lists(st.integers(0, 5), max_size=6).filter(lambda w: not w or any(w)), st.sampled_from([1.0, 1 - 5e-9])
        ),
        min_size=1,
        max_size=8,
    ),
    longest=st.sampled_from([1, SHORT, SHORT + 1, 40]),
    seed=st.integers(0, 10_000),
)
def test_every_choice_is_the_one_of_gymnasiums_rule(rows, longest, seed):
    rng = np.random.default_rng(seed)
    probabilities = [np.array(weights) * total / sum(weights) if weights else np.zeros(0) for weights, total in rows]
    probabilities.append(np.full(longest, 1 / longest))
    indptr = np.concatenate([[0], np.cumsum([row.size for row in probabilities])])
    sampler = RowSampler(indptr, np.concatenate(probabilities))
    filled = [number for number, row in enumerate(probabilities) if row.size]
    chosen = rng.choice(filled, 60)
    uniform = rng.random(60)
    # Exactly a running sum, the least and the greatest number: where a wrong inequality would show.
    uniform[:20] = [rng.choice(np.append(np.cumsum(probabilities[row]), 0.0)) for row in chosen[:20]]
    uniform[20:30] = 1 - 2**-53
    uniform = np.minimum(uniform, 1 - 2**-53)
    found = sampler.draw(chosen, uniform) - indptr[chosen]
    wanted = [int(categorical_sample(probabilities[row], Fixed(u))) for row, u in zip(chosen, uniform, strict=True)]
    assert found.tolist() == wanted


@pytest.mark.parametrize("length", [7, 1000])
def test_sums_are_added_from_the_left_within_each_row(length):
    # A running sum over all rows, or one that pairs its terms, rounds differently.
    rng = np.random.default_rng(0)
    rows = rng.random((20, length))
    rows /= rows.sum(axis=1, keepdims=True)
    sampler = RowSampler(np.arange(21) * length, rows.ravel())
    for number, row in enumerate(rows):
        sums = np.cumsum(row)[:-1]
        at, below = np.full(sums.size, number), np.nextafter(sums, 0)
        assert (sampler.draw(at, sums) - number * length).tolist() == list(range(1, length))
        assert (sampler.draw(at, below) - number * length).tolist() == list(range(length - 1))
