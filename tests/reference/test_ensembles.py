"""Plain boosting against scikit-learn's, with the same weak learner."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier

from rlsuite import reference


class OurStump(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, sample_weight):
        self.classes_ = np.unique(y)
        self.stump_ = reference.decision_stump(X, y, sample_weight)
        return self

    def predict(self, X):
        return self.stump_(X)


@pytest.mark.parametrize("seed", range(3))
def test_stumps_and_votes_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    t = np.where(X[:, 0] ** 2 + X[:, 1] > 0.7, 1.0, -1.0)
    stumps, alpha = reference.ada_boost(X, t, rounds=12)
    theirs = AdaBoostClassifier(OurStump(), n_estimators=12).fit(X, t)
    assert stumps == [one.stump_ for one in theirs.estimators_]
    np.testing.assert_allclose(alpha, theirs.estimator_weights_, rtol=1e-9)
    votes = sum(a * stump(X) for a, stump in zip(alpha, stumps, strict=True))
    assert (np.sign(votes) == theirs.predict(X)).all()
    assert (np.sign(votes) == t).mean() > (stumps[0](X) == t).mean()


def test_a_stump_without_errors_needs_no_others():
    stumps, alpha = reference.ada_boost(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), rounds=5)
    assert len(stumps) == 1
    assert alpha.tolist() == [1.0]
