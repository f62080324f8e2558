import itertools

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from rlsuite.core import threads
from rlsuite.models import MDP
from rlsuite.planning import blocks, iterative_policy_evaluation
from rlsuite.planning.mdp.gauss_seidel import gauss_seidel
from rlsuite.planning.mdp.modified_policy_iteration import modified_policy_iteration
from rlsuite.planning.mdp.value_iteration import value_iteration

pytestmark = pytest.mark.arithmetic


def model(n=70_000):
    """A noisy ring that is large enough to be cut into blocks."""
    rng = np.random.default_rng(1)
    here = np.repeat(np.arange(n), 2)
    ahead = np.stack([(here + 1) % n, rng.integers(n, size=2 * n)], axis=1)
    probability = rng.uniform(0.1, 0.9, size=2 * n)
    reward = np.repeat(rng.normal(size=2 * n), 2)
    rows = (
        np.arange(2 * n + 1) * 2,
        ahead.reshape(-1),
        np.stack([probability, 1 - probability], axis=1).reshape(-1),
        reward,
    )
    return MDP.from_rows(*rows, n_actions=2, gamma=0.9, terminated=rng.random(4 * n) < 0.05)


@pytest.mark.parametrize("n", [1, 5, 1 << 15, 1_000_003])
def test_blocks_cover_all_states_once(n):
    one_action, two_actions = 3 * np.arange(n + 1), 3 * np.arange(2 * n + 1)
    for found in (blocks.cut(one_action, 1), blocks.cut(two_actions, 2), blocks.fixed_blocks(n)):
        assert found[0][0] == 0
        assert found[-1][1] == n
        assert all(one[1] == other[0] for one, other in itertools.pairwise(found))


@pytest.mark.parametrize("few_and_long", [[1_000] * 600, [0] * 50 + [400_000, 3, 3, 200_000, 0], [2_000_000]])
def test_blocks_have_as_many_transitions(few_and_long, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    monkeypatch.setattr(blocks, "TRANSITIONS_PER_THREAD", 1)
    lengths = np.repeat(few_and_long, 2)  # two actions
    found = blocks.cut(np.concatenate([[0], np.cumsum(lengths)]), 2)
    assert found[0][0] == 0
    assert found[-1][1] == len(few_and_long)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(found))
    assert all(begin < end for begin, end in found)
    sizes = [2 * sum(few_and_long[begin:end]) for begin, end in found]
    assert max(sizes) <= lengths.sum() / 16 + 2 * max(few_and_long)


@pytest.mark.slow
def test_same_bytes_for_any_number_of_threads(monkeypatch):
    mdp = model()
    policy = np.full((mdp.n_states, 2), 0.5)
    solutions, values = [], []
    for number in (1, 3, 16):
        monkeypatch.setattr(threads, "n_threads", lambda number=number: number)
        monkeypatch.setattr(blocks, "TRANSITIONS_PER_THREAD", 1 << 13)
        monkeypatch.setattr(threads, "_pool", None)
        solutions.append([method(mdp) for method in (value_iteration, gauss_seidel, modified_policy_iteration)])
        values.append(iterative_policy_evaluation(mdp, policy))
    assert len(solutions[0][0].lookahead.blocks) == 1 < len(solutions[1][0].lookahead.blocks)
    for other in solutions[1:]:
        for one, same in zip(solutions[0], other, strict=True):
            assert one.value.tobytes() == same.value.tobytes()
            assert one.policy.tobytes() == same.policy.tobytes()
            assert one.error_bound == same.error_bound
    assert len({value.value.tobytes() for value in values}) == 1


def test_results_are_those_of_the_blocks_in_their_order():
    assert blocks.on_blocks(lambda begin, end, more: end - begin + more, [(0, 2), (2, 5)], 1) == [3, 4]


def test_a_product_has_the_same_bytes_on_any_number_of_cores(monkeypatch):
    rng = np.random.default_rng(3)
    for shape in ((1, 1), (63, 5), (300, 8_000), (4_001, 700), (90, 20_001)):
        table, x, found = rng.standard_normal(shape), rng.standard_normal(shape[1]), []
        for cores in (1, 2, 5):
            monkeypatch.setattr(threads, "n_threads", lambda cores=cores: cores)
            monkeypatch.setattr(threads, "_pool", None)
            out = np.full(shape[0], np.nan)
            with threadpool_limits(cores, "blas"):
                blocks.multiply(table, x, out)
            found.append(out.tobytes())
            np.testing.assert_allclose(out, table @ x, rtol=0, atol=1e-11)
        assert found[0] == found[1] == found[2]
