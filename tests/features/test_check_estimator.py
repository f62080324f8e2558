"""scikit-learn's own checks of estimators, on all of ours: a transformer or regressor that passes plugs in anywhere."""

import importlib.util
import pickle
import sys

import numpy as np
import pytest
import sklearn.base
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from rlsuite import features
from rlsuite.approximation import LinearPolicy, SemiGradientSarsa, SemiGradientTD
from rlsuite.approximation.batch import GatedExperts, LocallyWeightedRegression
from rlsuite.approximation.deep import AutoencoderFeatures
from rlsuite.core.described import kinds
from rlsuite.errors import NotLearned, ParameterError
from rlsuite.features import (
    BoundedMap,
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

# with their default parameters, but for a seed and what takes long
ESTIMATORS = [
    Identity(),
    OneHot(),
    TileCoding(),
    StateAggregation(),
    Clusters(seed=0),
    RadialBasis(),
    FourierBasis(),
    Polynomial(),
    Scaling(),
    Standardization(),
    PrincipalComponents(),
    MixtureResponsibilities(2, seed=0),
    Nystroem(seed=0),
    RandomFourier(seed=0),
    Chain([Scaling(), TileCoding(2, 2)]),
    LocallyWeightedRegression(),
    GatedExperts(n_iterations=2),
]
# all others of the package, with their default parameters
ESTIMATORS += [
    kind()
    for kind in (getattr(features, name) for name in features.__all__)
    if isinstance(kind, type) and issubclass(kind, FeatureMap) and kind not in {FeatureMap, BoundedMap}
    if kind not in {type(each) for each in ESTIMATORS}
]
if importlib.util.find_spec("torch"):
    ESTIMATORS.append(AutoencoderFeatures(2, hidden=(), epochs=1, batch_size=1000, seed=0))
# with other parameters: a grid of few places has room in 10 dimensions, and two components ask for two columns
OTHERS = [
    TileCoding(2, 1),
    TileCoding(2, 2, hash_size=16),
    StateAggregation(2),
    RadialBasis(2),
    FourierBasis(1),
    Chain([PrincipalComponents(2), RadialBasis(2)]),  # alone, the checks would ask it for one component
]


def statuses(estimator, expected):
    """What came of each check, by name."""
    found = check_estimator(estimator, expected_failed_checks=expected, on_skip=None, on_fail="raise")
    return {each["check_name"]: each["status"] for each in found}


def test_all_maps_of_the_package_are_checked():
    # an example in a docstring has the module's name, too, but its classes are not found there
    found_there = {name: getattr(sys.modules[kind.__module__], name, None) for name, kind in kinds(FeatureMap).items()}
    defined = {name for name, kind in found_there.items() if kind and kind.__module__.startswith("rlsuite.")}
    found = {type(each).__name__ for each in ESTIMATORS} - {"LocallyWeightedRegression", "GatedExperts"}
    assert found | {"AutoencoderFeatures"} == defined - {"BoundedMap"}


@pytest.mark.cases("TileCoding|FourierBasis|LocallyWeightedRegression|Clusters")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_estimators_pass_scikit_learns_checks(estimator):
    expected = getattr(type(estimator), "expected_failed_checks", {})
    tags = estimator.__sklearn_tags__()
    assert not any([tags._skip_test, tags.no_validation, tags.non_deterministic])
    assert len(expected) <= 3
    assert all(isinstance(reason, str) and reason for reason in expected.values())
    found = statuses(estimator, expected)
    assert len(found) >= 40
    assert {name for name, status in found.items() if status == "xfail"} <= set(expected)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", OTHERS, ids=lambda each: type(each).__name__)
def test_other_parameters_pass_without_exception(estimator):
    assert "xfail" not in statuses(estimator, {}).values()


@pytest.mark.parametrize("kind", [Clusters, RandomFourier, Nystroem])
def test_maps_without_a_seed_fail_what_they_say_only(kind):
    found = statuses(kind(), kind.expected_failed_checks)
    assert {name for name, status in found.items() if status == "xfail"} == {"check_fit_idempotent"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (TileCoding(0), "n_tilings=0 is less than 1"),
        (Chain([Scaling(), TileCoding(0)]), "n_tilings=0 is less than 1"),
        (FourierBasis(order=-1), "order=-1 is less than 1"),
        (OneHot(0), "n=0 is less than 1"),
    ],
)
def test_agents_check_the_parameters_of_their_map_at_once(wrong, message):
    """A constructor only keeps parameters; `fit`, and agents with the map, check them before anything is learned."""
    for owner in (SemiGradientSarsa, SemiGradientTD, LinearPolicy):
        with pytest.raises(ParameterError, match=f"features, {type(wrong).__name__}: {message}"):
            owner(features=wrong)
    with pytest.raises(ParameterError, match=message):
        wrong.fit([[0.0]])


def test_a_map_that_is_not_fitted_says_so_in_both_languages():
    for ask in (lambda: TileCoding().transform([[0.0]]), TileCoding().get_feature_names_out):
        for kind in (NotLearned, NotFittedError):
            with pytest.raises(kind, match="this TileCoding is not fitted yet"):
                ask()


def test_a_fit_that_fails_changes_nothing():
    """Tables of one fit under the width of another would be read beyond their ends."""
    tiles = TileCoding(8, 8, low=0.0, high=1.0).fit([[0.5, 0.5]])
    before = tiles.transform([[0.1, 0.9]]).indices
    with pytest.raises(ParameterError, match=r"more than 10\^8|more than 100,000,000"):
        tiles.fit(np.zeros((1, 12)))
    assert tiles.n_features_in_ == 2
    assert tiles.transform([[0.1, 0.9]]).indices.tolist() == before.tolist()


def test_names_of_columns_are_compared_and_left_out_of_files():
    """What `fit` keeps of a data frame; here without one, as no library for them is needed to run the tests."""
    scaling = Scaling().fit([[0.0], [2.0]])
    scaling.feature_names_in_ = np.array(["position"], dtype=object)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Scaling was fitted with"):
        assert scaling.transform([[1.0]]) == 0.5
    assert "feature_names_in_" not in scaling.fitted_
    assert not hasattr(scaling.fit([[0.0], [2.0]]), "feature_names_in_")


def test_one_hot_of_several_ids_is_a_table_of_all_combinations():
    pairs = np.array([[a, b] for a in range(2) for b in range(3)])
    ids = OneHot().fit(pairs)
    assert ids.transform(pairs).toarray().tolist() == np.eye(6).tolist()
    assert sklearn.base.clone(ids).restore(ids.fitted_).transform(pairs).indices.tolist() == list(range(6))
    with pytest.raises(ParameterError, match=r"observation\[0, 1\] is 3, which is not an id; the ids are 0..2"):
        ids.transform([[1, 3]])
    again = pickle.loads(pickle.dumps(ids))
    assert again.transform([[1, 2]]).indices.tolist() == [5]


def test_one_hot_of_a_blackjack_hand_is_a_table():
    """Its observations are three ids: the sum, the dealer's card, and whether there is a usable ace."""
    agent = SemiGradientSarsa(features=OneHot()).learn("Blackjack-v1", episodes=20, seed=0)
    assert agent.weights_.shape == (32 * 11 * 2, 2)
    assert np.count_nonzero(agent.features_.transform([[20, 10, 1]]).toarray()) == 1
