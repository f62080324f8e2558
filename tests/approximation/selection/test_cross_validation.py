from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import LeaveOneOut, RepeatedKFold
from sklearn.tree import DecisionTreeRegressor

from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.batch.fitted_iteration import FittedQ
from rlsuite.approximation.batch.lspi import LSTD
from rlsuite.approximation.selection.cross_validation import cross_validate
from rlsuite.approximation.selection.paired_tests import five_by_two_f
from rlsuite.errors import LearningError, ParameterError, RlsuiteWarning
from rlsuite.features.identity import OneHot

pytestmark = pytest.mark.arithmetic


@dataclass
class MeanReward:
    """Every observation is worth the mean reward of all transitions that it has learned from."""

    gamma: float = 0.0
    seen: list = field(default_factory=list, init=False)

    def learn(self, batch):
        self.seen.extend(batch.reward.tolist())
        return self

    def value(self, observations):
        return np.full(len(observations), np.mean(self.seen))

    def q(self, observations):
        return self.value(observations)[:, None]


@pytest.fixture(scope="module")
def rewards():
    return np.random.default_rng(7).normal(size=12)


@pytest.fixture(scope="module")
def single(rewards):
    """Twelve episodes of one step."""
    zeros = np.zeros(12)
    return Batch.from_arrays(zeros, zeros, rewards, zeros, np.ones(12, dtype=bool))


@pytest.fixture(scope="module")
def episodes():
    """Six episodes of two to seven steps; an observation says which episode it is of."""
    number = np.repeat(np.arange(6), np.arange(2, 8))
    last = np.append(np.diff(number), 1) > 0
    return Batch.from_arrays(number, np.zeros(27), number, number, last)


@pytest.mark.parametrize("score", ["control", "evaluation", "returns"])
def test_leaving_one_out_in_closed_form(single, rewards, score):
    """A mean that leaves out y_i misses it by n / (n - 1) times the distance of y_i from the mean of all."""
    found = cross_validate(MeanReward(), single, cv=LeaveOneOut(), score=score)
    assert found.errors == pytest.approx((12 / 11 * (rewards - rewards.mean())) ** 2)
    assert found.test_to_train == pytest.approx(1 / 11)
    assert found.mean == pytest.approx(found.errors.mean())
    spread = ((found.errors - found.mean) ** 2).sum()
    assert found.standard_error == pytest.approx(np.sqrt(spread / (12 * 11)))


def test_least_squares_are_cross_validated_too(single, rewards):
    """With one feature that is always 1, LSTD(1) finds the mean."""
    found = cross_validate(LSTD(OneHot(1), gamma=0.9, lambda_=1.0), single, cv=LeaveOneOut(), score="returns")
    assert found.errors == pytest.approx((12 / 11 * (rewards - rewards.mean())) ** 2)


def test_an_episode_is_held_out_as_a_whole(episodes):
    held = []

    def score(learner, batch):
        out = set(batch.observation[:, 0].tolist())
        assert not out & set(learner.seen)
        held.append((out, len(batch)))
        return 0.0

    cross_validate(MeanReward(), episodes, cv=3, score=score, seed=7)
    assert sorted(number for out, _ in held for number in out) == [0, 1, 2, 3, 4, 5]
    assert sum(length for _, length in held) == 27


def test_single_transitions_can_be_held_out(episodes):
    sizes = []
    cross_validate(
        MeanReward(), episodes, cv=9, unit="transitions", score=lambda _, batch: sizes.append(len(batch)) or 0
    )
    assert sizes == [3] * 9


def test_the_same_seed_gives_all_learners_the_same_parts(single):
    first, again, other = (cross_validate(MeanReward(), single, cv=4, seed=seed).errors for seed in (7, 7, 8))
    assert (first == again).all()
    assert (first != other).any()


def test_what_was_learned_before_is_forgotten(single):
    knowing = MeanReward().learn(single)
    found = cross_validate(knowing, single, cv=4, seed=7)
    assert (found.errors == cross_validate(MeanReward(), single, cv=4, seed=7).errors).all()
    assert len(knowing.seen) == 12


def test_a_learner_may_be_an_estimator(single):
    class Estimator(BaseEstimator):
        def __init__(self, gamma=0.0):
            self.gamma = gamma

        def learn(self, batch):
            assert not hasattr(self, "mean_")
            self.mean_ = batch.reward.mean()

        def q(self, observations):
            return np.full((len(observations), 1), self.mean_)

    found = cross_validate(Estimator(), single, cv=4, seed=7)
    assert found.errors == pytest.approx(cross_validate(MeanReward(), single, cv=4, seed=7).errors)


def test_learners_that_take_a_seed_get_one_per_part(single):
    seeds = []

    @dataclass
    class Seeded(MeanReward):
        def learn(self, batch, *, seed=None):
            seeds.append(seed)
            return super().learn(batch)

    cross_validate(Seeded(), single, cv=3, seed=7)
    cross_validate(Seeded(), single, cv=3, seed=7)
    assert seeds[:3] == seeds[3:]
    assert len(set(seeds)) == 3


def test_a_learner_that_fails_has_an_infinite_error(single):
    @dataclass
    class Diverging(MeanReward):
        def learn(self, batch):
            raise LearningError("values diverge")

    found = cross_validate(Diverging(), single, cv=3)
    assert found.errors.tolist() == [np.inf] * 3
    assert found.mean == found.standard_error == np.inf


def test_an_error_of_an_estimator_is_told_and_not_taken_for_divergence(single):
    class Broken(DecisionTreeRegressor):
        def fit(self, X, y):
            raise KeyError("column")

    with pytest.warns(RlsuiteWarning, match="Broken cannot learn from these .* samples: KeyError: 'column'"):
        found = cross_validate(FittedQ(Broken()), single, cv=3)
    assert found.errors.tolist() == [np.inf] * 3


def test_five_halvings(single):
    halvings = RepeatedKFold(n_splits=2, n_repeats=5, random_state=7)
    a, b = (cross_validate(MeanReward(gamma), single, cv=halvings).errors.reshape(5, 2) for gamma in (0.0, 0.5))
    assert (a == b).all()  # nothing follows in these episodes
    assert five_by_two_f(a, b).p_value == 1.0


def test_a_tree_knows_what_a_stump_does_not():
    """In a corridor of ten squares with 1 at its end, held-out values of a tree are exact, as all squares are seen."""
    square = np.tile(np.arange(10), 12)
    ends = square == 9
    batch = Batch.from_arrays(square, np.zeros(120), ends, square + 1, ends)
    tree, stump = (
        cross_validate(
            FittedQ(DecisionTreeRegressor(max_depth=depth), gamma=0.9, iterations=20),
            batch,
            cv=4,
            score="returns",
            seed=7,
        )
        for depth in (None, 1)
    )
    assert tree.errors == pytest.approx(0.0, abs=1e-20)
    assert (stump.errors > 0.01).all()


@pytest.mark.parametrize(
    ("learner", "arguments", "complaint"),
    [
        (
            MeanReward(),
            {"cv": 13},
            "cv=13 is more than the 12 episodes of the batch; give fewer folds, or give unit='transitions'",
        ),
        (
            MeanReward(),
            {"cv": 13, "unit": "transitions"},
            "cv=13 is more than the 12 transitions of the batch; give fewer folds$",
        ),
        (MeanReward(), {"cv": 1}, "cv=1 is less than 2"),
        (MeanReward(), {"unit": "episode"}, "did you mean 'episodes'"),
        (MeanReward(), {"score": "return"}, "did you mean 'returns'"),
        (MeanReward(), {"score": lambda *_: np.nan}, "is NaN"),
        (MeanReward(), {"seed": -1}, "seed=-1 is less than 0"),
        (DecisionTreeRegressor(), {}, r"no method learn\(batch\).*FittedQ\(regressor\)"),
        (LSTD(), {}, "needs the method q, which LSTD does not have; try 'evaluation' or 'returns'"),
        (type("Odd", (), {"learn": print})(), {}, "Odd cannot be copied without what it has learned"),
    ],
)
def test_wrong_arguments_are_refused(single, learner, arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        cross_validate(learner, single, **arguments)


def test_what_is_no_batch_is_named():
    with pytest.raises(ParameterError, match="cross_validate takes a Batch, not a str"):
        cross_validate(MeanReward(), "CartPole-v1")
