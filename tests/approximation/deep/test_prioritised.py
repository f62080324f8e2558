import numpy as np
import pytest

from rlsuite import reference
from rlsuite.approximation.deep.replay import PrioritisedReplay, empty_tree, find_rows, put_priorities


def filled(n, capacity=5, exponent=0.5):
    replay = PrioritisedReplay(capacity, (1,), np.dtype(np.float32), n_actions=2, exponent=exponent)
    for t in range(n):
        replay.add([t], 0, 1.0, [t + 1], 0.9, [True, True])
    return replay


def found_in(tree, shares):
    rows = np.zeros(shares.size, dtype=np.int64)
    find_rows(tree, shares, rows)
    return rows


@pytest.mark.parametrize("capacity", [1, 2, 5, 64, 1000])
def test_the_tree_draws_what_a_sum_over_all_draws(capacity):
    rng = np.random.default_rng(capacity)
    priority, tree = np.zeros(capacity), empty_tree(capacity)
    for _ in range(20):  # whole numbers: their sums are exact, in whatever order
        rows = rng.integers(capacity, size=7)
        new = rng.integers(1, 9, size=capacity).astype(float)
        priority[rows] = new[rows]
        put_priorities(tree, rows, new[rows])
        shares = rng.random(50)
        np.testing.assert_array_equal(found_in(tree, shares), reference.prioritised_draw(priority, shares))
    assert tree[1] == priority.sum()


def test_rounding_never_leads_to_a_row_without_priority():
    tree, priority = empty_tree(6), np.array([0.1, 0.2, 0.3])
    put_priorities(tree, np.arange(3), priority)
    assert found_in(tree, np.array([0.0, 1.0 - 2**-53])).tolist() == [0, 2]


def test_new_ones_have_the_largest_priority_and_known_ones_that_of_their_error():
    replay = filled(3, exponent=0.5)
    replay.sample(3, np.random.default_rng(1))
    assert replay.drawn.tolist() == [0, 1, 2]
    replay.learned(np.array([-4.0, 9.0, 0.0], dtype=np.float32))
    leaves = replay.tree[replay.tree.size // 2 :]
    np.testing.assert_allclose(leaves[:5], [2, 3, 1e-3, 0, 0], rtol=1e-6)
    replay.add([3.0], 0, 1.0, [4.0], 0.9, [True, True])
    assert leaves[3] == leaves[1]
    for t in range(4, 6):  # the sixth takes the place of the first
        replay.add([t], 0, 1.0, [t + 1.0], 0.9, [True, True])
    assert leaves[0] == leaves[4] == leaves[1]
    assert replay.kept.observation[0, 0] == 5


def test_what_is_drawn_more_often_counts_less():
    replay = filled(4, exponent=1.0)
    replay.sample(4, np.random.default_rng(1))
    replay.learned(np.array([1.0, 2.0, 3.0, 4.0]))
    replay.sample(400, np.random.default_rng(2))
    share = np.array([0.1, 0.2, 0.3, 0.4])
    counts = np.bincount(replay.drawn, minlength=4)
    assert abs(counts - 400 * share).max() <= 1  # one from each of 400 equal parts
    for beta in (0.0, 0.4, 1.0):
        wanted = reference.importance_weights(share[replay.drawn], 4, beta)
        np.testing.assert_allclose(replay.weights(beta), wanted, rtol=1e-5)
