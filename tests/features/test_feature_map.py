"""What all feature maps promise: scikit-learn's ways, named errors, and places within the vector, whatever is seen."""

import dataclasses
import importlib.util
import io

import numpy as np
import pytest
import sklearn.base
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import rlsuite.features as package
from rlsuite.approximation.deep import AutoencoderFeatures
from rlsuite.core.described import describe
from rlsuite.errors import NotLearned, ParameterError
from rlsuite.features import (
    Chain,
    Clusters,
    FeatureMap,
    FourierBasis,
    Identity,
    MixtureResponsibilities,
    Nystroem,
    OneHot,
    Polynomial,
    PrincipalComponents,
    RadialBasis,
    RandomFourier,
    Scaling,
    Standardization,
    StateAggregation,
    TileCoding,
)

MAPS = [
    Identity(),
    OneHot(4),
    TileCoding(4, (3, 2)),
    TileCoding(4, (3, 2), hash_size=20),
    StateAggregation((3, 2)),
    Clusters(3, seed=0),
    RadialBasis((3, 2)),
    FourierBasis(2),
    Polynomial(3),
    Scaling(),
    Standardization(),
    PrincipalComponents(2),
    MixtureResponsibilities(2, seed=0),
    Nystroem(n_components=5, seed=0),
    RandomFourier(7, seed=0),
    Chain([Scaling(), StateAggregation((3, 2)), Polynomial(1)]),
]
if importlib.util.find_spec("torch"):
    MAPS.append(AutoencoderFeatures(3, hidden=(4,), epochs=2, seed=0))
every_map = pytest.mark.parametrize("feature_map", MAPS, ids=[type(each).__name__ for each in MAPS])


@pytest.fixture(scope="module")
def seen():
    """(40, 2) float64: observations to fit to; in the first column, small ids."""
    rng = np.random.default_rng(7)
    return np.stack([rng.integers(4, size=40), rng.normal(5.0, 2.0, size=40)], axis=1)


def observations_for(feature_map, observations):
    """What the map can be shown: `OneHot` takes ids only."""
    return observations[:, :1] if isinstance(feature_map, OneHot) else observations


def dense(features):
    return features.toarray() if hasattr(features, "toarray") else features


def test_all_maps_are_tested_here():
    public = {name for name in package.__all__ if isinstance(getattr(package, name), type)}
    bases = {"BoundedMap", "FeatureMap", "FeatureRule"}
    assert {type(each).__name__ for each in MAPS} - {"AutoencoderFeatures"} == public - bases


@every_map
def test_clones_learn_the_same(feature_map, seen):
    observations = observations_for(feature_map, seen)
    one, other = (sklearn.base.clone(feature_map).fit(observations) for _ in range(2))
    assert not feature_map.is_fitted, "a clone has fitted its original"
    check_is_fitted(one)
    found = one.transform(observations)
    assert found.shape == (40, one.n_features_out_) == (40, len(one.get_feature_names_out()))
    assert found.dtype == np.float64
    assert hasattr(found, "toarray") == feature_map.sparse
    assert dense(found).tobytes() == dense(other.transform(observations)).tobytes()
    assert dense(found).any(axis=0).all() or isinstance(feature_map, TileCoding | StateAggregation | OneHot)


@every_map
def test_a_map_is_kept_as_plain_arrays(feature_map, seen):
    observations = observations_for(feature_map, seen)
    fitted = sklearn.base.clone(feature_map).fit(observations)
    file = io.BytesIO()
    np.savez(file, **fitted.fitted_)
    file.seek(0)
    with np.load(file, allow_pickle=False) as kept:
        restored = sklearn.base.clone(feature_map).restore(dict(kept))
    assert restored.is_fitted
    assert dense(restored.transform(observations)).tobytes() == dense(fitted.transform(observations)).tobytes()


@every_map
def test_parameters_are_plain_data(feature_map):
    described = describe(feature_map)
    assert described["name"] == type(feature_map).__name__
    assert set(feature_map.get_params(deep=False)) == {field.name for field in dataclasses.fields(feature_map)}


@every_map
def test_bad_observations_are_named(feature_map, seen):
    name = type(feature_map).__name__
    with pytest.raises(NotLearned, match=f"this {name} is not fitted yet; call fit"):
        feature_map.transform(seen)
    observations = observations_for(feature_map, seen)
    fitted, width = sklearn.base.clone(feature_map).fit(observations), observations.shape[1]
    bad = observations.copy()
    bad[3, 0] = np.nan
    for ask in (fitted.fit, fitted.transform):
        with pytest.raises(ParameterError, match=r"observation\[3, 0\]=nan is not a finite number"):
            ask(bad)
        with pytest.raises(ParameterError, match=r"shape \(2,\); give \(n, d\)"):
            ask([1.0, 2.0])
        for strange in ([["a"]], [[1j]]):
            with pytest.raises(ParameterError, match=r"an array \(n, d\) of numbers"):
                ask(strange)
    with pytest.raises(ParameterError, match=f"fitted to observations of {width} numbers, and these have 5"):
        fitted.transform(np.zeros((1, 5)))
    with pytest.raises(ParameterError, match=r"cannot be fitted to observations of shape \(0, 2\)"):
        fitted.fit(np.zeros((0, 2)))
    assert fitted.transform(np.zeros((0, width))).shape == (0, fitted.n_features_out_)


@every_map
def test_what_a_loop_may_see_stays_within_the_vector(feature_map, seen, monkeypatch):
    """A loop checks nothing; a place outside the vector would be somebody else's memory."""
    observations = observations_for(feature_map, seen)
    fitted = sklearn.base.clone(feature_map).fit(observations)
    inner = [*getattr(fitted, "maps_", []), fitted]
    for each in inner:
        monkeypatch.setattr(each, "check", lambda X: np.array(X))
    wild = np.array([[np.nan, 0.0], [0.0, np.nan], [np.inf, -np.inf], [-1e308, 1e308], [2.0**63, -(2.0**63)], [-1, 99]])
    with np.errstate(all="ignore"):
        found = fitted.transform(np.ascontiguousarray(observations_for(feature_map, wild)))
    assert found.shape == (6, fitted.n_features_out_)
    if feature_map.sparse:
        assert found.indices.min(initial=0) >= 0
        assert found.indices.max(initial=0) < fitted.n_features_out_


BOUNDED = [Identity(), TileCoding(4, 3), StateAggregation(3), RadialBasis(3), FourierBasis(2), Polynomial(2)]


@pytest.mark.parametrize("feature_map", BOUNDED, ids=lambda each: type(each).__name__)
def test_bounds_do_where_observations_do_not_matter(feature_map, seen):
    low, high = seen.min(axis=0), seen.max(axis=0)
    one, other = sklearn.base.clone(feature_map).fit(seen), sklearn.base.clone(feature_map).fit_bounds(low, high)
    assert dense(one.transform(seen)).tobytes() == dense(other.transform(seen)).tobytes()


def test_infinite_bounds_are_named():
    """As of CartPole, whose velocities have no bounds."""
    low, high = np.array([-4.8, -np.inf]), np.array([4.8, np.inf])
    with pytest.raises(ParameterError, match="dimension 1 reaches from -inf to inf; give TileCoding a finite low="):
        TileCoding().fit_bounds(low, high)
    assert TileCoding(low=-1.0, high=[4.8, 3.0]).fit_bounds(low, high).high_.tolist() == [4.8, 3.0]
    with pytest.raises(NotLearned, match="Clusters learns its features from observations; call its fit"):
        package.Clusters().fit_bounds(low, high)


def test_ids_are_checked():
    ids = OneHot().fit([[2], [0]])
    assert ids.n_features_out_ == 3
    with pytest.raises(ParameterError, match=r"observation\[1, 0\] is 3, which is not an id; the ids are 0..2"):
        ids.transform([[0], [3]])
    with pytest.raises(ParameterError, match=r"observation\[0, 0\] is 0.5, which is not an id"):
        ids.transform([[0.5]])
    with pytest.raises(ParameterError, match=r"OneHot: n=3 is less than the 5 ids 0..4"):
        OneHot(3).fit_bounds(np.array([0.0]), np.array([4.0]))
    with pytest.raises(ParameterError, match=r"OneHot: n has shape \(3,\) but observations have 2 numbers"):
        OneHot((2, 2, 2)).fit([[0, 1]])
    with pytest.raises(ParameterError, match=r"Negative values in data passed to OneHot\.fit: ids begin with 0"):
        ids.fit([[-1]])
    with pytest.raises(ParameterError, match=r"observations from 0 to 1\.5 are not ids; for numbers use TileCoding"):
        ids.fit([[0.5], [1.5]])
    assert OneHot().fit_bounds(np.array([5.0]), np.array([7.0])).transform([[6]]).toarray().tolist() == [[0, 1, 0]]


def test_a_grid_search_finds_the_number_of_tiles():
    """y is constant in 4 boxes: of 1, 4 and 40 bins, 4 predict unseen points best, with an error of 0.1 by noise."""
    rng = np.random.default_rng(0)
    x = rng.random((200, 1))
    y = np.array([3.0, -1.0, 2.0, 0.0])[(4 * x[:, 0]).astype(int)] + 0.1 * rng.normal(size=200)
    pipeline = make_pipeline(StateAggregation(low=0.0, high=1.0), Ridge(1e-6))
    search = GridSearchCV(pipeline, {"stateaggregation__bins": [1, 4, 40]}, scoring="neg_root_mean_squared_error")
    search.fit(x, y)
    assert search.best_params_ == {"stateaggregation__bins": 4}
    assert 0.08 < -search.best_score_ < 0.12


def test_a_classifier_learns_from_tiles():
    """One that takes sparse places of 32 bits only."""
    x = np.random.default_rng(0).random((200, 2))
    inside = ((x - 0.5) ** 2).sum(axis=1) < 0.1
    pipeline = make_pipeline(TileCoding(4, 5), LogisticRegression(solver="liblinear", C=10.0)).fit(x, inside)
    assert pipeline.score(x, inside) > 0.95


def test_a_map_of_your_own_says_what_it_lacks():
    class Mine(FeatureMap):
        pass

    with pytest.raises(NotImplementedError):
        Mine().fit([[0.0]])


@pytest.mark.parametrize("broken", [np.zeros((2, 2)), np.ones((2, 2))], ids=["zero", "singular"])
def test_a_mixture_with_a_singular_matrix_is_not_taken_back(broken):
    fitted = MixtureResponsibilities(2, seed=0).fit(np.random.default_rng(0).normal(size=(20, 2)))
    arrays = fitted.fitted_
    assert np.isfinite(MixtureResponsibilities(2).restore(arrays).transform([[0.0, 0.0]])).all()
    arrays["whitening_"] = np.stack([arrays["whitening_"][0], broken])
    with pytest.raises(ValueError, match="whitening_ has a singular matrix"):
        MixtureResponsibilities(2).restore(arrays)
