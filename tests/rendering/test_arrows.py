import pytest

from rlsuite.rendering.arrows import GLYPHS, WORDS, from_labels


@pytest.mark.parametrize("names", [WORDS, GLYPHS])
def test_words_and_glyphs_lead_back_to_their_displacements(names):
    labels, moves = list(names.values()), list(names)
    assert from_labels(labels).tolist() == [list(move) for move in moves]


@pytest.mark.parametrize(
    "labels", [["Up", "Right", "Down", "Left"], ["U", "R", "D", "L"], ["N", "E", "S", "W"], ["↑", "→", "↓", "←"]]
)
def test_usual_names_are_understood(labels):
    assert from_labels(labels).tolist() == [[-1, 0], [0, 1], [1, 0], [0, -1]]


@pytest.mark.parametrize("label", ["up-left", "up_left", "Up Left", "NW"])
def test_diagonals_are_spelt_in_several_ways(label):
    assert from_labels([label]).tolist() == [[-1, -1]]
