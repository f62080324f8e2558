"""Autoregressive emissions: the sum over all paths, least squares, and what learning finds in what was drawn."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

import rlsuite as rl
from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference import AutoregressiveGaussian, lagged


def two_regimes():
    emission = AutoregressiveGaussian([0.0, 1.0], [[0.9, 0.0], [-0.5, 0.3]], [1.0, 0.25])
    return rl.HMM([0.5, 0.5], [[0.98, 0.02], [0.03, 0.97]], emission)


def test_likelihood_and_posterior_are_sums_over_all_paths():
    hmm = two_regimes()
    emission = hmm.emission
    for seed in range(5):
        z = np.random.default_rng(seed).normal(size=7)
        gone = {3} if seed == 4 else set()  # with nothing after it that depends on it
        rows = lagged(z, 2)
        rows[list(gone), 0] = np.nan
        joint = {}
        for path in itertools.product(range(2), repeat=5):
            p = hmm.start[path[0]] * np.prod([hmm.transition[i, j] for i, j in itertools.pairwise(path)])
            for t, k in enumerate(path):
                if t not in gone:
                    mean = emission.intercept[k] + emission.coefficient[k] @ [z[t + 1], z[t]]
                    p *= norm.pdf(z[t + 2], mean, np.sqrt(emission.variance[k]))
            joint[path] = p
        total = sum(joint.values())
        assert hmm.score(rows) == pytest.approx(np.log(total), abs=1e-12)
        for t in range(5):
            right = sum(p for path, p in joint.items() if path[t] == 1) / total
            assert hmm.smooth(rows)[t, 1] == pytest.approx(right, abs=1e-12)
        assert tuple(hmm.decode(rows)) == max(joint, key=joint.get)


def test_learning_files_and_bad_input(tmp_path):
    hmm = two_regimes()
    rows, states = hmm.sample(4000, seed=3)
    # One state is least squares.
    one = rl.HMM([1.0], [[1.0]], AutoregressiveGaussian([0.0], [[0.0, 0.0]], [1.0])).fit(rows).emission
    design = np.column_stack([np.ones(len(rows)), rows[:, 1:]])
    right, residual, *_ = np.linalg.lstsq(design, rows[:, 0], rcond=None)
    assert [*one.intercept, *one.coefficient[0]] == pytest.approx(right, abs=1e-10)
    assert one.variance[0] == pytest.approx(residual[0] / len(rows), rel=1e-10)
    # Two are found again, and the unit of the numbers changes nothing but the unit.
    first = AutoregressiveGaussian.from_data(rows, 2, np.random.default_rng(0))
    found = rl.HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], first).fit(rows, restarts=3, tol=1e-9)
    assert found.score(rows) >= hmm.score(rows)
    assert (np.diff(found.log_likelihoods_) >= -1e-8).all()
    order = np.argsort(found.emission.intercept)
    assert found.emission.coefficient[order] == pytest.approx(hmm.emission.coefficient, abs=0.06)
    assert found.emission.variance[order] == pytest.approx([1.0, 0.25], rel=0.1)
    assert ((found.decode(rows) == order[states]).mean()) > 0.9
    small = hmm.replace(emission=AutoregressiveGaussian([0.0, 1e-7], hmm.emission.coefficient, [1e-14, 2.5e-15]))
    again, there = small.fit(rows * 1e-7, max_iterations=5, tol=0), hmm.fit(rows, max_iterations=5, tol=0)
    assert again.score(rows * 1e-7) + len(rows) * np.log(1e-7) == pytest.approx(there.score(rows), rel=1e-9)
    # What is frozen stays, while the rest is learned.
    for frozen in ("intercept", "coefficient", "variance"):
        kept = hmm.fit(rows, frozen=["start", "transition", frozen], tol=0, max_iterations=50)
        assert np.array_equal(getattr(kept.emission, frozen), getattr(hmm.emission, frozen))
        assert kept.score(rows) > hmm.score(rows)
        assert (np.diff(kept.log_likelihoods_) >= -1e-8).all()
    # Files, gaps and bad input.
    hmm = two_regimes()
    rows, _ = hmm.sample(50, seed=0)
    hmm.write(tmp_path / "model.npz")
    assert rl.HMM.read(tmp_path / "model.npz").score(rows) == hmm.score(rows)
    parts = lagged([rows[:20, 0], rows[20:, 0]], 2)
    assert [part.shape for part in parts] == [(18, 3), (28, 3)]
    assert hmm.score(parts) == pytest.approx(sum(hmm.score(part) for part in parts), abs=1e-10)
    flat = hmm.fit(np.full((30, 3), 2.0), max_iterations=3)
    assert np.isfinite(flat.emission.coefficient).all()
    gap = rows[:, 0].copy()
    gap[10] = np.nan
    for call, error, words in (
        (lambda: hmm.score(lagged(gap, 2)), ModelError, r"z\[t=9, 1\] is missing"),
        (lambda: hmm.score(rows[:, 0]), ModelError, r"lagged\(z, order=2\) makes rows"),
        (lambda: lagged([1.0, 2.0], 2), ModelError, "has 2 numbers; for order=2 it needs 3"),
        (lambda: lagged([1.0, 2.0], 0), ParameterError, "order"),
        (lambda: AutoregressiveGaussian([0.0], [[0.5]], [0.0]), ModelError, r"variance\[k=0\] is 0"),
        (lambda: AutoregressiveGaussian([0.0, 1.0], [[0.5]], [1.0]), ModelError, "intercept has shape"),
        (lambda: AutoregressiveGaussian([0.0], [0.5], [1.0]), ModelError, r"not \(K, p\)"),
        (lambda: AutoregressiveGaussian.from_data([1.0, 2.0], 2, None), ModelError, r"not \(T, 1 \+ p\)"),
    ):
        with pytest.raises(error, match=words):
            call()
