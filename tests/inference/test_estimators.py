"""Estimators of hidden Markov models: scikit-learn's checks, its tools, and the numbers of HMM and of hmmlearn."""

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal, poisson
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import rlsuite as rl
from rlsuite.errors import CallError, CollapseWarning, ModelError, ParameterError
from rlsuite.inference import from_states
from rlsuite.inference.emissions import Gaussian, MultivariateGaussian
from rlsuite.inference.sequences import sequences

ALL = (rl.CategoricalHMM, rl.GaussianHMM, rl.MixtureHMM, rl.PoissonHMM)

pytestmark = pytest.mark.filterwarnings("ignore::rlsuite.errors.ConvergenceWarning")


def two_levels(n=300, seed=0, apart=6.0, width=2):
    """Return vectors around two centres, which change every 20 to 40 steps, and the states."""
    rng = np.random.default_rng(seed)
    states = np.repeat(np.arange(n) % 2, rng.integers(20, 41, size=n))[:n]
    return apart * states[:, None] + rng.normal(size=(n, width)), states


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn():
    for estimator in (kind() for kind in ALL):
        results = check_estimator(estimator, on_fail=None)
        failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
        assert failed == {}, estimator
        assert sum(result["status"] == "passed" for result in results) > 35, estimator


def test_tools_of_scikit_learn():
    X, states = two_levels()
    pipeline = make_pipeline(StandardScaler(), rl.GaussianHMM(2, random_state=0))
    found = pipeline.fit(X).predict(X)
    assert (found == states).mean() in (0.0, 1.0)
    folds = KFold(3)
    scores = cross_val_score(rl.GaussianHMM(2, random_state=0), X, cv=folds)
    assert scores.shape == (3,)
    for (train, test), score in zip(folds.split(X), scores, strict=True):
        assert rl.GaussianHMM(2, random_state=0).fit(X[train]).score(X[test]) == score
    search = GridSearchCV(rl.GaussianHMM(random_state=0), {"n_states": [1, 2]}, cv=folds).fit(X)
    assert search.best_params_ == {"n_states": 2}
    copy = clone(rl.MixtureHMM(3, n_components=4, covariance_type="tied"))
    assert copy.get_params()["n_components"] == 4
    assert copy.set_params(n_states=5).n_states == 5


def test_it_is_the_hmm_that_was_learned():
    X, states = two_levels()
    found = rl.GaussianHMM(2, covariance_type="full", random_state=3).fit(X)
    z = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    lengths = [100, 150, 50]
    model = found.hmm_
    assert found.predict(z, lengths).tolist() == model.decode(z, lengths).tolist()
    assert np.array_equal(found.predict_proba(z, lengths), model.smooth(z, lengths))
    assert found.score(z, lengths=lengths) == model.score(z, lengths) / 300
    assert found.score_samples(z, lengths).sum() == pytest.approx(model.score(z, lengths), abs=1e-9)
    assert found.bic(X) == pytest.approx(model.learning.bic, abs=1e-9)
    assert found.aic(X) == pytest.approx(model.learning.aic, abs=1e-9)
    assert found.start_.shape == (2,)
    assert found.transition_.sum(axis=1) == pytest.approx([1, 1])
    drawn, hidden = found.sample(7, random_state=0)
    assert (drawn.shape, hidden.shape) == ((7, 2), (7,))
    # Known states alone are the estimate from complete data.
    known = rl.GaussianHMM(2, random_state=0).fit(X, states=states, lengths=lengths)
    counted = from_states(X, states, lengths, emission="gaussian")
    assert known.transition_ == pytest.approx(counted.transition, abs=1e-9)
    assert known.means_ == pytest.approx(counted.emission.mean, abs=1e-9)
    partly = np.where(np.arange(300) % 10 == 0, states, -1)
    assert (rl.GaussianHMM(2, random_state=0).fit(X, states=partly).predict(X) == states).all()


def test_seeds_restarts_and_families():
    X, _ = two_levels(apart=1.5, n=200)
    counts = np.floor(np.abs(3 * X))
    for kind, data in (
        (rl.GaussianHMM, X),
        (rl.MixtureHMM, X),
        (rl.PoissonHMM, counts),
        (rl.CategoricalHMM, np.minimum(counts, 4)),
    ):
        one, again = (kind(3, random_state=5, max_iter=30).fit(data) for _ in range(2))
        assert one.transition_.tobytes() == again.transition_.tobytes(), kind
        many = kind(3, random_state=5, n_init=4, max_iter=30).fit(data)
        assert many.score(data) >= one.score(data) - 1e-12, kind
        assert (np.diff(many.hmm_.learning.log_likelihoods_) >= -1e-9).all(), kind
        gaps = data.astype(float)
        gaps[::7, 0] = np.nan
        missing = kind(2, random_state=0, max_iter=20).fit(gaps)
        assert np.isfinite(missing.score(gaps)), kind
    tables = rl.CategoricalHMM(2, random_state=0, n_symbols=6, max_iter=5).fit(np.minimum(counts, 4)).probabilities_
    assert [table.shape for table in tables] == [(2, 6), (2, 6)]
    assert rl.PoissonHMM(2, random_state=0).fit(counts).rates_.shape == (2, 2)
    mixture = rl.MixtureHMM(2, n_components=3, covariance_type="full", random_state=0, max_iter=10).fit(X)
    assert (mixture.weights_.shape, mixture.means_.shape, mixture.covariances_.shape) == (
        (2, 3),
        (2, 3, 2),
        (2, 3, 2, 2),
    )


def test_shared_covariances(tmp_path):
    """Their maximum of likelihood is that of a numerical search, learning climbs to it, and files keep them."""
    X, _ = two_levels(n=240, apart=3.0)
    X = X * [1.0, 3.0]
    n_covariances = {"spherical": 2, "diag": 4, "tied": 3, "full": 6}
    scores = {}
    for kind, number in n_covariances.items():
        found = rl.GaussianHMM(2, covariance_type=kind, random_state=0, tol=0.0).fit(X)
        assert found.hmm_.learning.n_parameters == 1 + 2 + 4 + number
        assert (np.diff(found.hmm_.learning.log_likelihoods_) >= -1e-8).all()
        scores[kind] = found.score(X)
        matrices = found.covariances_
        if kind == "tied":
            assert np.array_equal(matrices[0], matrices[1])
        if kind == "spherical":
            assert np.array_equal(matrices[:, 0, 0], matrices[:, 1, 1])
        emission, model = found.hmm_.emission, found.hmm_
        model.write(tmp_path / "model.npz")
        again = rl.HMM.read(tmp_path / "model.npz")
        assert again.score(X) == model.score(X)
        assert again.emission.n_parameters == emission.n_parameters
        # No other covariances of the kind are more likely.
        for scale in (0.97, 1.03):
            if isinstance(emission, Gaussian):
                other = Gaussian(emission.mean, emission.variance * scale, spherical=emission.spherical)
            else:
                other = MultivariateGaussian(emission.mean, emission.covariance * scale, tied=emission.tied)
            assert model.replace(emission=other).score(X) < model.score(X)
    assert scores["spherical"] <= scores["diag"] <= scores["full"]
    assert scores["tied"] <= scores["full"]
    with pytest.raises(ModelError, match="spherical=True"):
        Gaussian([[0, 0]], [[1, 2]], spherical=True)
    with pytest.raises(ModelError, match="tied=True"):
        MultivariateGaussian([[0], [0]], [[[1]], [[2]]], tied=True)


def test_missing_numbers_are_integrated_out():
    """The likelihood is the sum over all paths of densities of what is there, and learning climbs it."""
    for seed, kind in itertools.product(range(2), ("diag", "full", "spherical", "tied")):
        X, _ = two_levels(n=120, apart=3.0, width=3, seed=seed)
        X = X @ [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]]
        X[np.random.default_rng(seed).random(X.shape) < 0.3] = np.nan
        for estimator in (rl.GaussianHMM, rl.MixtureHMM):
            found = estimator(2, covariance_type=kind, random_state=0, tol=0.0, max_iter=30).fit(X)
            assert (np.diff(found.hmm_.learning.log_likelihoods_) >= -1e-9).all(), (kind, estimator)
        found = rl.GaussianHMM(2, covariance_type=kind, random_state=0, max_iter=20).fit(X)
        z, total = X[18:24], 0.0
        for path in itertools.product(range(2), repeat=len(z)):
            p = found.start_[path[0]] * np.prod([found.transition_[i, j] for i, j in itertools.pairwise(path)])
            for row, k in zip(z, path, strict=True):
                there = ~np.isnan(row)
                if there.any():
                    p *= multivariate_normal.pdf(
                        row[there], found.means_[k][there], found.covariances_[k][np.ix_(there, there)]
                    )
            total += p
        assert found.score(z) * len(z) == pytest.approx(np.log(total), abs=1e-10), kind


def density(found, k, row):
    """Return the density of what is there of a row, by SciPy."""
    there = np.flatnonzero(~np.isnan(row))
    if isinstance(found, rl.PoissonHMM):
        return np.prod([poisson.pmf(row[d], found.rates_[k, d]) for d in there])
    if isinstance(found, rl.CategoricalHMM):
        return np.prod([found.probabilities_[d][k, int(row[d])] for d in there])
    components = zip(found.weights_[k], found.means_[k], found.covariances_[k], strict=True)
    if not there.size:
        return 1.0
    return sum(w * multivariate_normal.pdf(row[there], m[there], c[np.ix_(there, there)]) for w, m, c in components)


def test_gaps_and_sequences_of_any_length_are_sums_over_all_paths():
    """The first guess does not count moves between sequences."""
    rng = np.random.default_rng(0)
    X, _ = two_levels(n=150, apart=3.0)
    X[rng.random(X.shape) < 0.2] = np.nan
    counts, lengths = np.floor(np.abs(X)), [1, 60, 3, 1, 80, 5]
    for estimator, data in (
        (rl.MixtureHMM(2, random_state=0, max_iter=20), X),
        (rl.PoissonHMM(2, random_state=0, n_init=3), counts),
        (rl.CategoricalHMM(2, random_state=0, n_init=3), counts),
    ):
        found = estimator.fit(data, lengths=lengths)
        assert found.hmm_.learning.reached_.max() == found.hmm_.learning.log_posteriors_[-1]
        assert found.hmm_.learning.reached_.size == estimator.n_init
        z, parts = data[:12], [4, 1, 7]
        total = 0.0
        for part in np.split(z, np.cumsum(parts)[:-1]):
            probability = 0.0
            for path in itertools.product(range(2), repeat=len(part)):
                moved = [found.transition_[pair] for pair in itertools.pairwise(path)]
                seen = [density(found, k, row[:2]) for k, row in zip(path, part, strict=True)]
                probability += found.start_[path[0]] * np.prod(moved) * np.prod(seen)
            total += np.log(probability)
        assert found.score(z, lengths=parts) * len(z) == pytest.approx(total, abs=1e-9), estimator
    # Each sequence stays in one state, and another follows.
    first = rl.HMM([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], Gaussian([0.0, 5.0], [1.0, 1.0]))
    guess, levels = np.repeat([0, 1, 0, 1], 3), np.repeat([0.0, 5.0, 0.0, 5.0], 3)
    for sizes, moves in (([3, 3, 3, 3], [[5, 1], [1, 5]]), ([12], [[5, 3], [2, 5]]), ([6, 6], [[5, 3], [1, 5]])):
        counted = rl.GaussianHMM(2)._counted(first, sequences(first.emission, levels, sizes), guess).transition
        assert counted == pytest.approx(np.array(moves) / np.sum(moves, axis=1, keepdims=True)), sizes
    # Other units change nothing but units.
    X, _ = two_levels(apart=3.0)
    one, other = (rl.GaussianHMM(2, random_state=0).fit(unit * X) for unit in (1.0, 1e-6))
    assert (one.predict(X) == other.predict(1e-6 * X)).all()
    assert other.means_ * 1e6 == pytest.approx(one.means_, rel=1e-6)
    assert other.score(1e-6 * X) == pytest.approx(one.score(X) + 2 * np.log(1e6), abs=1e-6)


def test_against_hmmlearn():
    """From the same start, the same likelihood after the same number of iterations."""
    hmmlearn = pytest.importorskip("hmmlearn.hmm")
    X, _ = two_levels(n=200, apart=2.0)
    for kind in ("diag", "spherical", "tied", "full"):
        ours = rl.GaussianHMM(2, covariance_type=kind, random_state=0, init="random", max_iter=1).fit(X)
        theirs = hmmlearn.GaussianHMM(2, kind, n_iter=5, tol=-np.inf, covars_prior=0, covars_weight=0, init_params="")
        theirs.covars_prior, theirs.min_covar = 1e-12, 1e-12
        theirs.startprob_, theirs.transmat_, theirs.means_ = ours.start_, ours.transition_, ours.means_
        covariances = ours.covariances_
        theirs.covars_ = {
            "diag": covariances.diagonal(axis1=1, axis2=2),
            "spherical": covariances[:, 0, 0],
            "tied": covariances[0],
            "full": covariances,
        }[kind]
        assert theirs.score(X) == pytest.approx(ours.score(X) * 200, rel=1e-10)
        theirs.params, theirs.covars_prior, theirs.min_covar = "stmc", 0.0, 0.0
        later = ours.hmm_.fit(X, max_iterations=5, tol=0)
        assert later.iterations == 5
        assert theirs.fit(X).score(X) == pytest.approx(later.score(X), rel=1e-10), kind


def test_bad_input_is_named():
    X, _ = two_levels(n=30)
    for call, error, words in (
        (lambda: rl.GaussianHMM(2).fit(X[:1]), ModelError, "n_samples=1"),
        (lambda: rl.GaussianHMM(0).fit(X), ParameterError, "n_states"),
        (lambda: rl.GaussianHMM(covariance_type="round").fit(X), ParameterError, "covariance_type"),
        (lambda: rl.GaussianHMM(init="k-means").fit(X), ParameterError, "init"),
        (lambda: rl.GaussianHMM(tol=-1).fit(X), ParameterError, "tol=-1 is negative"),
        (lambda: rl.GaussianHMM(random_state="x").fit(X), ParameterError, "seed"),
        (lambda: rl.GaussianHMM(2).fit(X[:, 0]), ParameterError, "Reshape your data"),
        (lambda: rl.GaussianHMM(2).fit(X[:0]), ParameterError, "0 sample"),
        (lambda: rl.GaussianHMM(2).fit(X * np.inf), ParameterError, "infinity"),
        (lambda: rl.GaussianHMM(2).fit(X, lengths=[10, 10]), ModelError, "20"),
        (lambda: rl.GaussianHMM(2).fit(X, [10, 20]), ParameterError, "y has 2 entries, and X has 30 rows.*lengths="),
        (lambda: rl.GaussianHMM(2, random_state=0).fit(X).score(X, [30]), ParameterError, "lengths="),
        (lambda: rl.GaussianHMM(2, random_state=0).fit(X).score_samples(X, "ab"), ModelError, "lengths has shape"),
        (lambda: rl.GaussianHMM(2).fit(X, lengths=[30, 0]), ModelError, "empty|0"),
        (lambda: rl.GaussianHMM(2).fit(X, states=np.zeros(3)), ModelError, "states"),
        (lambda: rl.PoissonHMM(2).fit(X - 9), ParameterError, "Negative values in data passed to PoissonHMM"),
        (lambda: rl.PoissonHMM(2).fit(np.abs(X)), ParameterError, "Fractions in data passed to PoissonHMM"),
        (
            lambda: rl.CategoricalHMM(2).fit([[0], [1], [0]]).predict([[7]]),
            ModelError,
            "is 7; the symbols are .*n_symbols=2.*NaN is",
        ),
        (lambda: rl.GaussianHMM(2).predict(X), NotFittedError, "not fitted yet"),
        (lambda: rl.GaussianHMM(2).means_, NotFittedError, "not fitted yet"),
        (lambda: rl.GaussianHMM(2).fit(X * 1e160), ParameterError, "whose square float64 cannot hold"),
        (lambda: rl.PoissonHMM(2).fit(np.arange(6).astype("M8[D]")[:, None]), TypeError, "has dates.*the days since"),
        (lambda: rl.CategoricalHMM(2).fit([["a"], ["b"], ["b"]]), ParameterError, r"of words np\.unique"),
        (lambda: rl.CategoricalHMM(2).fit([[2**62], [0], [1]]), ParameterError, "a table of 4611.* symbols needs"),
        (lambda: rl.GaussianHMM(n_components=3), CallError, "did you mean n_states=3"),
        (lambda: rl.GaussianHMM(seed=3), CallError, "did you mean random_state=3"),
        (lambda: rl.GaussianHMM(2, random_state=0).fit(X).transmat_, AttributeError, "did you mean 'transition_'"),
        (lambda: rl.GaussianHMM(2, random_state=0).fit(X).predict(X[:, :1]), ParameterError, "expecting 2 features"),
    ):
        with pytest.raises(error, match=words):
            call()
    # A constant column says nothing, and hurts nothing.
    flat = np.column_stack([X, np.full(len(X), 3.0)])
    flat[4, 2] = np.nan
    with pytest.warns(CollapseWarning, match="column 2 of the observations is missing in all rows"):
        rl.GaussianHMM(2, random_state=0).fit(np.column_stack([X, np.full(len(X), np.nan)]))
    with pytest.warns(CollapseWarning, match=f"column {X.shape[1]} of the observations is 3 in all rows"):
        assert np.isfinite(rl.GaussianHMM(2, random_state=0).fit(flat).score(flat))
    with pytest.warns(CollapseWarning, match="column 0 of the observations is 3 in all rows"):
        rl.GaussianHMM(1).fit([[3.0]])
