"""The n best paths and random paths of hidden states, against the list of all paths."""

import itertools

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference import Gaussian, best_paths, decode, path_log_probability, sample_paths

from .conftest import joint_of_paths


def test_the_best_paths_are_those_of_the_list_of_all(new_hmm):
    possible = 0
    for seed, states, zeros in itertools.product(range(8), (1, 2, 3), (0.0, 0.5)):
        hmm = new_hmm(states, 3, seed, zeros)
        z = np.random.default_rng(seed).integers(-1, 3, size=5)
        every = {path: p for path, p in joint_of_paths(hmm, z).items() if p > 0.0}
        if not every:
            with pytest.raises(ModelError, match="impossible after what was seen"):
                best_paths(hmm, z, 2)
            continue
        possible += 1
        right = np.sort(list(every.values()))[::-1]
        for n in (1, 4, 1000):
            found = best_paths(hmm, z, n)
            paths = [tuple(path) for path in found.states.tolist()]
            assert len(paths) == len(set(paths)) == min(n, len(right))
            assert np.exp(found.log_probability) == pytest.approx(right[:n], rel=1e-12)
            assert [every[path] for path in paths] == pytest.approx(right[:n], rel=1e-12)
    assert possible > 30
    # Of a long sequence of numbers, with some missing: the first is the path of `decode`, and none is less probable
    # than said.
    hmm = rl.HMM([0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], Gaussian([0.0, 2.0], [1.0, 1.0]))
    z, _ = hmm.sample(3000, seed=1)
    z[::7] = np.nan
    found = hmm.best_paths(z, 20)
    assert found.states[0].tolist() == decode(hmm, z).tolist()
    said = [float(path_log_probability(hmm, z, path)[0]) for path in found.states]
    assert found.log_probability == pytest.approx(said, abs=1e-8)
    assert (np.diff(found.log_probability) <= 1e-9).all()
    assert len({path.tobytes() for path in found.states}) == 20
    for n, words in ((0, "n"), (1.5, "n"), (10**9, "n is at most 357913 here")):
        with pytest.raises(ParameterError, match=words):
            best_paths(hmm, z, n)
    with pytest.raises(ModelError, match="2 sequences, and best_paths takes one"):
        best_paths(hmm, [z, z], 2)


def test_random_paths_are_drawn_as_often_as_they_are_probable(new_hmm):
    n = 20_000
    for seed, zeros in ((0, 0.0), (1, 0.0), (2, 0.4), (3, 0.4)):
        hmm = new_hmm(3, 3, seed, zeros)
        z = np.where(np.arange(4) == 2, -1, hmm.sample(4, seed=seed)[0])
        every = joint_of_paths(hmm, z)
        total = sum(every.values())
        drawn = sample_paths(hmm, z, n, seed=seed)
        assert drawn.tobytes() == hmm.sample_paths(z, n, seed=seed).tobytes()
        number = dict.fromkeys(every, 0)
        for path in drawn.tolist():
            number[tuple(path)] += 1
        for path, p in every.items():
            right = p / total
            assert abs(number[path] / n - right) <= 5.0 * np.sqrt(right * (1.0 - right) / n), path
    # Several sequences are independent of each other, and each is drawn as if it were alone.
    umbrella = rl.HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    z = [0, 0, 1, 1, 0]
    joined = sample_paths(umbrella, z, n, [2, 3], seed=0)
    parts = sample_paths(umbrella, [np.array(z[:2]), np.array(z[2:])], n, seed=0)
    assert np.array_equal(joined, np.concatenate(parts, axis=1))
    assert joined.mean(axis=0) == pytest.approx(umbrella.smooth(z, [2, 3])[:, 1], abs=0.02)
    assert np.corrcoef(joined[:, 1], joined[:, 2])[0, 1] == pytest.approx(0.0, abs=0.03)
    with pytest.raises(ParameterError, match="n"):
        sample_paths(umbrella, z, 0)
    # The first state is decided by the last observation, against odds of some 1e400: more than floats have.
    stay = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    table = np.array([[1.0, 0.0, 0.0], [1e-100, 1.0 - 1e-100, 0.0], [1e-100, 0.0, 1.0 - 1e-100]])
    tail = np.array([[1.0, 0.0], [0.75, 0.25], [0.25, 0.75]])
    hmm = rl.HMM(np.full(3, 1 / 3), stay, rl.inference.Product([rl.inference.Categorical(e) for e in (table, tail)]))
    z = np.array([[0, -1]] * 4 + [[-1, 1]])
    drawn = sample_paths(hmm, z, 4000, seed=0)
    assert (drawn == drawn[:, :1]).all()
    assert [(drawn[:, 0] == k).mean() for k in range(3)] == pytest.approx([0.0, 0.25, 0.75], abs=0.03)
