import colorsys
import re
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from rlsuite.plotting import Palette

AGENTS = ["QLearning", "Sarsa", "ExpectedSarsa", "DoubleQLearning", "SarsaLambda"]


def test_our_agents_keep_their_colours_in_any_company_and_spelling():
    everybody = Palette(AGENTS)
    for agent in AGENTS:
        spelled = re.sub("(?<=[a-z])(?=[A-Z])", "-", agent).lower()
        assert Palette([spelled])[spelled].colour == Palette([agent])[agent].colour == everybody[agent].colour


def test_colours_do_not_depend_on_the_order_and_line_styles_follow_it():
    labels = ["a", "b", "c", "d", "e"]
    looks = [[Palette(order)[label] for label in order] for order in permutations(labels)]
    assert (
        len(
            {
                frozenset(zip(order, (look.colour for look in found), strict=True))
                for order, found in zip(permutations(labels), looks, strict=True)
            }
        )
        == 1
    )
    assert {tuple(look.line for look in found) for found in looks} == {tuple(look.line for look in looks[0])}


@given(st.sets(st.text(max_size=8), min_size=1, max_size=72))
def test_up_to_72_agents_are_told_apart(labels):
    palette = Palette(labels)
    assert len({palette[label] for label in labels}) == len(labels)


def hue(colour):
    return 360 * colorsys.rgb_to_hsv(*to_rgb(colour))[0]


def test_two_labels_share_neither_a_colour_nor_strokes_and_a_near_hue():
    rng = np.random.default_rng(0)
    made = [f"{name}{parameter}" for name in [*AGENTS, "q-learning", "sarsa", "Q", "TD"] for parameter in ("", "(0.9)")]
    known = [*made, *(f"lambda {number / 10}" for number in range(10)), *map(str, range(40))]
    for _ in range(10_000):
        labels = rng.choice(known, size=rng.integers(2, 9), replace=False).tolist()
        palette = Palette(labels)
        for one, other in combinations([palette[label] for label in labels], 2):
            assert one.colour != other.colour
            apart = abs((hue(one.colour) - hue(other.colour) + 180) % 360 - 180)
            assert apart > 30 or one.line != other.line, labels
        if len(labels) <= 6:
            assert len({palette[label].line for label in labels}) == len(labels)


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
