from dataclasses import dataclass

import joblib
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

import rlsuite as rl
from rlsuite.approximation.batch.fitted_iteration import FittedQ
from rlsuite.approximation.selection.choice import choose_approximator
from rlsuite.approximation.selection.paired_tests import holm, paired_t
from rlsuite.errors import LearningError, ParameterError

pytestmark = pytest.mark.arithmetic

GAMMA = 0.9


def fitted(regressor):
    return FittedQ(regressor, gamma=GAMMA, iterations=15)


@dataclass
class Diverging:
    gamma: float = GAMMA

    def learn(self, batch):
        raise LearningError("values diverge")

    def q(self, observations):
        raise AssertionError("it has not learned anything")


@pytest.fixture(scope="module")
def corridor():
    """Five squares and an end, which pays 10; every other step costs 1. Left of the first square is a wall."""
    successors = [[max(square - 1, 0), square + 1] for square in range(5)]
    return rl.MDP.from_successors(
        [*successors, [None, None]], lambda s, a, t: 10.0 if t == 5 else -1.0, gamma=GAMMA, start=0
    ).to_env()


@pytest.fixture(scope="module")
def candidates():
    return {"mean": fitted(DummyRegressor()), "line": fitted(Ridge()), "tree": fitted(DecisionTreeRegressor())}


@pytest.fixture(scope="module")
def choice(candidates, corridor):
    return choose_approximator(
        candidates, corridor, episodes=20, training_seeds=range(3), report_seeds=(10, 11, 12), cv=3, report_episodes=2
    )


@pytest.mark.slow
def test_the_tree_is_chosen_where_it_is_exact(choice):
    """Nothing is random in the corridor: values that are exact have no error on held-out episodes either."""
    assert choice.best == "tree"
    assert choice.errors.shape == (3, 3, 3)
    assert choice.errors[2].max() < 1e-9 < choice.errors[:2].min()


def test_what_is_reported_is_the_return_of_the_best(choice):
    assert choice.returns == pytest.approx([6.0] * 3)  # four steps and the end


def test_p_values_are_paired_over_seeds_and_corrected_for_all_pairs(choice):
    means = choice.errors.mean(axis=2)
    pairs = [(0, 1), (0, 2), (1, 2)]
    corrected = holm([paired_t(means[a], means[b]).p_value for a, b in pairs])
    assert choice.p_values == pytest.approx({"mean": corrected[1], "line": corrected[2]})
    assert choice.tests["line"] == pytest.approx(paired_t(means[1], means[2]))


def test_with_one_seed_folds_are_the_pairs(candidates, corridor):
    one = choose_approximator(
        candidates, corridor, episodes=20, training_seeds=[0], report_seeds=[10], cv=4, report_episodes=1
    )
    ((errors_of_mean,), _, (errors_of_tree,)) = one.errors
    assert one.tests["mean"].n == 4
    plain = paired_t(errors_of_mean, errors_of_tree)
    assert 0.0 < one.tests["mean"].statistic < plain.statistic  # corrected for overlapping training sets


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(candidates, corridor, choice):
    with joblib.parallel_config("threading"):  # processes take seconds to start
        again = choose_approximator(
            candidates,
            corridor,
            episodes=20,
            training_seeds=range(3),
            report_seeds=(10, 11, 12),
            cv=3,
            report_episodes=2,
            workers=2,
        )
    assert again.errors.tobytes() == choice.errors.tobytes()
    assert again.returns.tobytes() == choice.returns.tobytes()
    assert str(again) == str(choice)


def test_the_table_says_what_was_chosen_and_why(choice):
    head, *rows, report = str(choice).splitlines()
    assert head == "held-out error, mean over 3 seeds; p: is it as good as tree?"
    order = sorted(range(3), key=lambda row: choice.errors[row].mean())
    assert [row.split()[0] for row in rows] == [choice.names[row] for row in order]
    assert rows[0].endswith("chosen")
    assert all(" p " in row for row in rows[1:])
    assert report == "return of tree on 3 new seeds: 6 [6, 6] (95 %)"


def test_who_fails_is_not_chosen(candidates, corridor):
    found = choose_approximator(
        {"diverging": Diverging(), "tree": candidates["tree"]},
        corridor,
        episodes=6,
        training_seeds=range(2),
        report_seeds=[10],
        cv=2,
        report_episodes=1,
    )
    assert found.best == "tree"
    assert found.tests == {}
    assert "failed" in str(found)
    with pytest.raises(LearningError, match="every candidate failed: a, b"):
        choose_approximator(
            {"a": Diverging(), "b": Diverging()}, corridor, episodes=6, training_seeds=[0], report_seeds=[1], cv=2
        )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"report_seeds": [3, 10, 2]}, "training_seeds and report_seeds share 2, 3:"),
        ({"report_seeds": [1]}, "training_seeds and report_seeds share 1:"),
        ({"report_seeds": []}, r"report_seeds=\[\]"),
        ({"training_seeds": [0, 0]}, r"training_seeds=\[0, 0\] must hold at least one seed, and no seed twice"),
        ({"training_seeds": [0.5]}, "training_seeds=0.5 is not a whole number"),
        ({"candidates": {"one": Diverging()}}, "candidates needs at least two entries, and has 1"),
        ({"workers": 0}, "workers=0 is less than 1"),
        ({"score": "retrun"}, "did you mean 'returns'"),
    ],
)
def test_wrong_arguments_are_refused(candidates, corridor, arguments, complaint):
    given = {"candidates": candidates, "training_seeds": range(4), "report_seeds": [10]} | arguments
    with pytest.raises(ParameterError, match=complaint):
        choose_approximator(given.pop("candidates"), corridor, episodes=6, cv=2, report_episodes=1, **given)
