"""Confusion matrix, precision, recall and F of hidden states: the lecture notes' numbers, and counts by hand."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference import state_scores


def test_accuracy_hides_a_state_that_is_never_found():
    """General notes, section 12.2: nine of ten are right, and the rare event is missed."""
    scores = state_scores([0] * 9 + [1], [0] * 10)
    assert scores.confusion.tolist() == [[9, 0], [1, 0]]
    assert (scores.accuracy, scores.recall[1], scores.precision[1], scores.f_score[1]) == (0.9, 0.0, 0.0, 0.0)


def test_a_single_state_is_recognised():
    scores = state_scores([0, 0], [0, 0])
    assert (scores.confusion.tolist(), scores.accuracy, scores.f_score.tolist()) == ([[2]], 1.0, [1.0])


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_scores_of_a_table_by_hand(beta):
    table = np.array([[5, 1, 0], [2, 3, 1], [0, 0, 4]])
    rows, columns = np.repeat(np.indices(table.shape).reshape(2, -1), table.ravel(), axis=1)
    scores = state_scores(rows, columns, beta=beta)
    assert scores.confusion.tolist() == table.tolist()
    assert scores.accuracy == 12 / 16
    precision, recall = np.array([5 / 7, 3 / 4, 4 / 5]), np.array([5 / 6, 3 / 6, 4 / 4])
    assert scores.precision == pytest.approx(precision, rel=1e-14)
    assert scores.recall == pytest.approx(recall, rel=1e-14)
    f = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    assert scores.f_score == pytest.approx(f, rel=1e-14)


def test_states_without_names_are_matched():
    true = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    scores = state_scores(true, np.array([2, 0, 1])[true], match=True)
    assert scores.accuracy == 1.0
    assert scores.named.tolist() == [1, 2, 0]
    assert (scores.f_score == 1.0).all()


def test_a_learned_model_recognises_the_states_under_other_numbers():
    hmm = rl.HMM([0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]], rl.inference.Gaussian([-2.0, 2.0], [1.0, 1.0]))
    z, states = hmm.sample(500, seed=3)
    swapped = rl.HMM([0.5, 0.5], hmm.transition, rl.inference.Gaussian([2.0, -2.0], [1.0, 1.0]))
    assert state_scores(states, swapped.decode(z)).accuracy < 0.1
    assert state_scores(states, swapped.decode(z), match=True).accuracy > 0.95


@pytest.mark.parametrize(
    ("true", "decoded", "words"),
    [
        ([0, 1], [0], "true has 2 states and decoded 1"),
        ([], [], "at least one"),
        ([0, -1], [0, 0], "true must be a sequence"),
        ([0.5, 1.0], [0, 0], "true"),
    ],
)
def test_what_is_no_sequence_of_states_is_refused(true, decoded, words):
    with pytest.raises(ModelError, match=words):
        state_scores(true, decoded)


def test_beta_is_positive():
    with pytest.raises(ParameterError, match="beta"):
        state_scores([0], [0], beta=0.0)
