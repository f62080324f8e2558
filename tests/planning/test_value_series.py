"""The series of a policy's value in single precision: one row at a time, matrices, blocks, many terms in one call."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.core.compilation import interpreted
from rlsuite.models import MDP
from rlsuite.planning import Lookahead
from rlsuite.planning import value_series as module
from rlsuite.planning.kernels import LONG, expected
from rlsuite.planning.mdp import modified_policy_iteration
from rlsuite.planning.value_series import ValueSeries
from rlsuite.planning.watch import Watch

GAMMA = 0.9


def model_of(lengths, seed, ends=0.1):
    """Return a model of two actions whose rows have the lengths (S, 2), and end the episode with a probability."""
    rng = np.random.default_rng(seed)
    states = len(lengths)
    flat = np.ravel(lengths)
    p = np.concatenate([rng.dirichlet(np.ones(n)) for n in flat])
    to = np.concatenate([np.sort(rng.integers(states, size=n)) for n in flat])
    terminated = rng.random(p.size) < ends
    indptr = np.concatenate([[0], np.cumsum(flat)])
    return MDP.from_rows(indptr, to, p, rng.normal(size=flat.size), terminated=terminated, n_actions=2, gamma=GAMMA)


def one_row_at_a_time(lookahead, action, change):
    """Return gamma C_pi `change` in single precision."""
    rows, successor, out = lookahead.rows, lookahead.successor.view(np.uint32), np.zeros_like(change)
    for s in np.flatnonzero(action >= 0):
        first, last = (int(i) for i in rows.indptr[2 * s + action[s] : 2 * s + action[s] + 2])
        weight = (rows.gamma * rows.weight[first:last]).astype(np.float32)
        n = np.uint64(last - first)
        out[s] = expected.__wrapped__(
            np.uint64(0), n, np.uint64(0), rows.ordered, successor[first:last], weight, change
        )
    return out


lengths = st.lists(
    st.tuples(*2 * [st.sampled_from([1, 2, 3, 3, 3, 4, 9, int(LONG) - 1, int(LONG), 50])]), min_size=1, max_size=14
)


@settings(deadline=None)
@given(lengths, st.integers(0, 2**16), st.sampled_from([0.0, 0.2]))
def test_terms_have_the_bytes_of_one_row_at_a_time(lengths, seed, ends):
    lookahead = Lookahead(model_of(lengths, seed, ends))
    rng, series = np.random.default_rng(seed), ValueSeries(lookahead)
    for _ in range(2):
        policy = np.where(lookahead.terminal, -1, rng.integers(2, size=lookahead.n_states)).astype(np.int32)
        before = np.where(lookahead.terminal, 0.0, rng.normal(size=lookahead.n_states))
        after = np.where(lookahead.terminal, 0.0, rng.normal(size=lookahead.n_states))
        scale = float(np.abs(after - before).max())
        if scale == 0.0:  # all states are terminal
            return
        series.begin(policy, before, after, scale)
        term, total = ((after - before) / scale).astype(np.float32), np.zeros(before.size, np.float32)
        for some in (1, 2, 3):
            series.add_terms(some)
            for _ in range(some):
                term = one_row_at_a_time(lookahead, policy, term)
                total = total + term
            assert np.array_equal(series._change, term)
            assert np.array_equal(series._total, total)


def test_the_sum_is_the_value_of_the_policy():
    rng = np.random.default_rng(3)
    lookahead = Lookahead(model_of(rng.integers(1, 6, size=(50, 2)), 3))
    policy = np.where(lookahead.terminal, -1, rng.integers(2, size=50)).astype(np.int32)
    rows = (2 * np.arange(50) + policy)[~lookahead.terminal]
    open_ = ~lookahead.terminal
    chain = GAMMA * lookahead.continuation.toarray()[rows][:, open_]
    expected_value = np.zeros(50)
    expected_value[open_] = np.linalg.solve(np.eye(rows.size) - chain, lookahead.reward[rows])
    before, value, series = np.zeros(50), np.zeros(50), ValueSeries(lookahead)
    value[open_] = lookahead.reward[rows]
    series.begin(policy, before, value, float(np.abs(value).max()))
    width = series.add_terms(1)
    while not series.exhausted:
        assert series.add_terms(module.AT_ONCE) < width
    series.settle(value)
    np.testing.assert_allclose(value, expected_value, atol=1e-5)


@pytest.mark.parametrize("cuts", [[0, 64], [0, 31, 64], [0, 1, 2, 3, 62, 64]])
def test_blocks_and_parts_have_the_same_bytes(cuts):
    """Wherever states are cut, also within a group of four; and however many terms are asked for at a time."""
    rng = np.random.default_rng(0)
    lengths = rng.choice([1, 2, 3, 3, 40], size=(64, 2))
    lookahead = Lookahead(model_of(lengths, 0))
    lookahead.policy_blocks = list(pairwise(cuts))
    policy = np.where(lookahead.terminal, -1, rng.integers(2, size=64)).astype(np.int32)
    after = np.where(lookahead.terminal, 0.0, rng.normal(size=64))
    found = []
    for parts in ((4, 4), (1, 1, 2, 4), 8 * (1,)):
        series, value = ValueSeries(lookahead), after.copy()
        assert series.begin(policy, np.zeros(64), after, 3.0)
        widths = [series.add_terms(some) for some in parts]
        series.settle(value)
        assert not series.begin(policy, np.zeros(64), after, 3.0)
        found.append((value.tobytes(), widths[-1]))
    assert len(set(found)) == 1
    whole = Lookahead(lookahead.mdp)
    series, value = ValueSeries(whole), after.copy()
    series.begin(policy, np.zeros(64), after, 3.0)
    width = series.add_terms(8)
    series.settle(value)
    assert (value.tobytes(), width) == found[0]


def test_rows_of_unlike_lengths_are_not_filled_up():
    """Four rows of 3 are one group of 12 entries; 1, 1, 1 and 9 stay as they are, and so does a long row."""
    lengths = [(3, 3)] * 4 + [(1, 1)] * 3 + [(9, 9)] + [(40, 40)] + [(2, 2)] * 4
    lookahead = Lookahead(model_of(lengths, 0, ends=0.0))
    series = ValueSeries(lookahead)
    series.begin(np.zeros(13, np.int32), np.zeros(13), np.ones(13), 1.0)
    assert series._groups.state.tolist() == [0, 4, 5, 6, 7, 8, 9, 13]
    assert np.diff(series._groups.entry).tolist() == [12, 1, 1, 1, 9, 40, 8]


@pytest.mark.parametrize("size", [1e-50, 1e-3, 1e40])
def test_python_does_the_same_as_machine_code(size, monkeypatch):
    rng = np.random.default_rng(5)
    lookahead = Lookahead(model_of(rng.integers(1, 6, size=(40, 2)), 5))
    policy = np.where(lookahead.terminal, -1, rng.integers(2, size=40)).astype(np.int32)
    after = np.where(lookahead.terminal, 0.0, size * rng.normal(size=40))

    def settled():
        series, value = ValueSeries(lookahead), after.copy()
        series.begin(policy, np.zeros(40), after, 1.5 * size)
        width = series.add_terms(7)
        series.settle(value)
        return value, width

    value, width = settled()
    for name in ("group", "gather", "propagate", "term_range", "begin_series", "end_series"):
        monkeypatch.setattr(module, name, interpreted(getattr(module, name)))
    in_python, same = settled()
    assert np.isfinite(value).all()
    assert (value.tobytes(), width) == (in_python.tobytes(), same)


def test_what_is_missing_is_added_in_every_state():
    """All states earn 1 and none ends: after one term the bounds meet, and what follows is the same for all."""
    lookahead = Lookahead(model_of([(3, 3)] * 8, 0, ends=0.0))
    series, value = ValueSeries(lookahead), np.ones(8)
    series.begin(np.zeros(8, np.int32), np.zeros(8), value, 1.0)
    assert series.add_terms(1) < 1e-5
    series.settle(value)
    np.testing.assert_allclose(value, 1.0 / (1.0 - GAMMA), rtol=1e-6)


def test_a_policy_is_left_once_rounding_keeps_the_bounds_apart(monkeypatch):
    """The chain mixes in a few steps, and what is left after them is rounding in single precision."""
    rng = np.random.default_rng(0)
    P, R = rng.dirichlet(np.ones(50), size=(50, 2)), rng.normal(size=(50, 2))
    lookahead = Lookahead(MDP.from_arrays(P, R, gamma=0.9999))
    value = lookahead.reward.reshape(50, 2)[:, 0].copy()
    terms = []
    for stalled in (modified_policy_iteration.STALLED, np.inf):
        monkeypatch.setattr(modified_policy_iteration, "STALLED", stalled)
        series = ValueSeries(lookahead)
        series.begin(np.zeros(50, np.int32), np.zeros(50), value, float(np.abs(value).max()))
        watch = Watch("test", tol=1e-9, max_iterations=1)
        terms.append(modified_policy_iteration.add_terms(series, value.copy(), 0.0, watch, 400)[0])
    assert 5 < terms[0] < 40
    assert terms[1] == 400
