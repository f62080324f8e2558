import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import rlsuite as rl
from rlsuite import errors
from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.policies.cloning import ClassifierPolicy
from rlsuite.training.episodes import returns_of

pytestmark = pytest.mark.arithmetic


def lean(observation):
    """Push the cart of CartPole to where the pole falls."""
    return int(observation[2] + 0.2 * observation[3] > 0)


@pytest.fixture(scope="module")
def lessons():
    return Batch.collect("CartPole-v1", episodes=5, policy=lean, seed=1)


@pytest.fixture(scope="module")
def unseen():
    return Batch.collect("CartPole-v1", episodes=5, policy=lean, seed=2)


@pytest.mark.parametrize(
    ("classifier", "share"),
    [
        (GaussianNB(), 0.76),
        (LinearDiscriminantAnalysis(), 0.91),  # Fisher's
        (RidgeClassifier(), 0.95),  # least squares
        (LogisticRegression(C=1e4), 1.00),
        (make_pipeline(StandardScaler(), Perceptron()), 0.95),
        (SVC(C=100.0), 0.99),
        (DecisionTreeClassifier(), 0.98),
        (KNeighborsClassifier(5), 0.86),
        (AdaBoostClassifier(n_estimators=30), 0.98),
    ],
    ids=str,
)
def test_every_classifier_of_the_notes_clones(lessons, unseen, classifier, share):
    """Share of the teacher's actions in 2,500 steps that were not learned from, as it was first found."""
    policy = ClassifierPolicy(classifier, seed=0).learn(lessons)
    assert policy.score(unseen.observation, unseen.action) == pytest.approx(share, abs=0.02)


@pytest.mark.slow
def test_a_linear_teacher_is_found_again(lessons):
    """The boundary of logistic regression is the teacher's, and the clone keeps the pole up as long."""
    policy = ClassifierPolicy(LogisticRegression(C=1e6, max_iter=1_000)).learn(lessons)
    found = policy.classifier_.coef_[0]
    teacher = np.array([0.0, 0.0, 1.0, 0.2])
    scale = lessons.observation.std(axis=0)  # numbers that hardly vary say little about their weight
    assert (found * scale) @ (teacher * scale) > 0.99 * np.linalg.norm(found * scale) * np.linalg.norm(teacher * scale)
    earned = [returns_of("CartPole-v1", act, episodes=10, seed=5).mean() for act in (policy.act, lean)]
    assert earned[0] == pytest.approx(earned[1], rel=0.1)


@pytest.mark.parametrize("classifier", [DecisionTreeClassifier(), KNeighborsClassifier(1)], ids=["tree", "neighbour"])
def test_a_solved_model_is_cloned_exactly(classifier):
    """Who can tell all states apart loses nothing: the clone's value is that of the planner in every state."""
    model = rl.MDP.from_env("CliffWalking-v1", gamma=0.9)
    solution = rl.solve(model)
    coordinates = np.stack(np.divmod(np.arange(48), 12), axis=1)
    policy = ClassifierPolicy(classifier, seed=0).imitate(solution, coordinates)
    chosen = np.where(solution.policy >= 0, policy.predict(coordinates), -1)
    np.testing.assert_array_equal(chosen, solution.policy)
    np.testing.assert_allclose(rl.evaluate_policy(model, chosen), solution.value, atol=1e-9)
    by_number = ClassifierPolicy(classifier, seed=0).imitate(solution)
    assert [by_number.act(state) for state in range(36)] == solution.policy[:36].tolist()


def test_actions_keep_the_names_that_the_environment_has_for_them():
    batch = Batch.from_arrays([0, 1, 2], [4, 3, 3], [0.0] * 3, [1, 2, 3], [False, False, True], first_action=3)
    policy = ClassifierPolicy(KNeighborsClassifier(1)).learn(batch)
    assert [policy.act(one) for one in (0, 1, 2)] == [4, 3, 3]


def test_a_teacher_with_one_action_is_no_problem():
    policy = ClassifierPolicy(LogisticRegression()).fit([[0.0], [1.0]], [2, 2])
    assert policy.act([5.0]) == 2
    assert policy.actions_.tolist() == [2]
    assert policy.classifier_ is None


def test_the_seed_is_all_there_is_to_chance():
    rng = np.random.default_rng(0)
    seen, done, asked = rng.normal(size=(60, 2)), rng.integers(3, size=60), rng.normal(size=(200, 2))
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3))
    state = np.random.get_state()[1].tobytes()  # noqa: NPY002 - the generator that is to be left alone
    answers = [ClassifierPolicy(forest, seed=seed).fit(seen, done).predict(asked).tobytes() for seed in (1, 1, 2)]
    assert answers[0] == answers[1] != answers[2]
    assert np.random.get_state()[1].tobytes() == state  # noqa: NPY002
    assert not hasattr(forest, "classes_")  # it was copied


def test_a_refused_lesson_leaves_the_last_one():
    policy = ClassifierPolicy(KNeighborsClassifier(2)).fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
    broken = ClassifierPolicy(LogisticRegression(C=-1.0))
    with pytest.raises(errors.LearningError, match=r"LogisticRegression cannot learn from these \d+ examples: .*C"):
        broken.fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(errors.NotLearned, match="call learn"):
        broken.act([0.0])
    with pytest.raises(errors.ParameterError, match="observation"):
        policy.fit([[np.nan], [1.0]], [0, 1])
    assert policy.act([1.05]) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClassifierPolicy(GaussianNB), "must be an instance of a classifier"),
        (lambda: ClassifierPolicy("tree"), "classifier='tree' must be an instance of a classifier"),
        (lambda: ClassifierPolicy(LinearRegression()), "predicts numbers, but actions are classes"),
        (lambda: ClassifierPolicy(GaussianNB()).fit([[0.0], [1.0]], [0.2, 1.7]), "0.2; actions must be whole numbers"),
        (lambda: ClassifierPolicy(GaussianNB()).fit([[0.0], [1.0]], [0]), "one for each of the 2 observations"),
        (lambda: ClassifierPolicy(GaussianNB()).fit([[0.0], [1.0]], [0, 1]).act([1.0, 2.0]), "1 numbers"),
        (lambda: ClassifierPolicy(GaussianNB()).fit([[0.0], [1.0]], [0, 1]).score([[1.0]], [0, 1]), "of the 1 obs"),
        (
            lambda: ClassifierPolicy(GaussianNB()).learn("CartPole-v1"),
            "ClassifierPolicy.learn takes a Batch, not a str",
        ),
        (lambda: ClassifierPolicy(GaussianNB(), seed=-1), "seed=-1 is less than 0"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(errors.ParameterError, match=message):
        make()
