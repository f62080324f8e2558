from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from rlsuite.plotting import Palette

AGENTS = ["QLearning", "Sarsa", "ExpectedSarsa", "DoubleQLearning", "SarsaLambda", "DeterministicQLearning"]
AGENTS += ["SampleAverage", "DynaQ", "TD"]


def test_our_agents_keep_their_looks_in_any_company():
    everybody = Palette(AGENTS)
    for agent in AGENTS:
        assert Palette([agent])[agent] == everybody[agent]


def test_order_does_not_matter():
    labels = ["a", "b", "c", "d", "e"]
    looks = {tuple(Palette(order)[label] for label in labels) for order in permutations(labels)}
    assert len(looks) == 1


@given(st.sets(st.text(max_size=8), min_size=1, max_size=72))
def test_up_to_72_agents_are_told_apart(labels):
    palette = Palette(labels)
    assert len({palette[label] for label in labels}) == len(labels)


@given(st.sets(st.text(max_size=8), min_size=1, max_size=12))
def test_up_to_twelve_agents_differ_in_colour_and_in_line_style_or_grey(labels):
    looks = [Palette(labels)[label] for label in labels]
    assert len({look.colour for look in looks}) == len(labels)
    grey = {look: np.array(to_rgb(look.colour)) @ [0.299, 0.587, 0.114] for look in looks}
    for one, other in combinations(looks, 2):
        assert one.line != other.line or abs(grey[one] - grey[other]) > 0.2


def test_colours_differ_for_the_colour_blind():
    # Machado, Oliveira & Fernandes (2009), severity 1: what protanopes, deuteranopes and tritanopes see.
    matrices = [
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ]
    labels = [str(number) for number in range(12)]
    colours = np.array([to_rgb(Palette(labels)[label].colour) for label in labels])
    for matrix in matrices:
        seen = np.clip(colours @ np.array(matrix).T, 0, 1)
        for first in range(12):
            for second in range(first):
                assert np.abs(seen[first] - seen[second]).max() > 0.1


def test_an_empty_palette_knows_nobody():
    with pytest.raises(ValueError, match="unknown agent"):
        Palette([])["QLearning"]
