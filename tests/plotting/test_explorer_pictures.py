"""What is drawn of an answer, against the answer."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import ParameterError
from rlsuite.plotting import explorer_pictures
from rlsuite.plotting.explorer_pictures import SIDE, _envelope, look, picture_of_answer
from rlsuite.rendering.colours import VIRIDIS, WALL, hexadecimal
from rlsuite.rendering.scene import GOAL


def test_a_grid_shows_values_best_actions_walls_and_marks():
    mdp = rl.MDP.from_env("rlsuite/GridWorld-v0", gamma=0.9)
    solution = rl.solve(mdp)
    picture = picture_of_answer(solution)
    groups = {}
    for group in ElementTree.fromstring(picture["svg"]):
        groups.setdefault(group.get("class"), []).extend((group.get("fill"), part) for part in group)

    def square_of(x, y):
        return int(y) // SIDE, int(x) // SIDE

    fills, said = {}, {}
    for _, cell in groups["cells"]:
        square = square_of(*re.match(r"M(\d+) (\d+)h40v40h-40z$", cell.get("d")).groups())
        fills[square], said[square] = cell.get("fill"), cell.findtext("title")
    assert set(fills) == set(np.ndindex(mdp.layout.walls.shape))
    walls = {square for square, fill in fills.items() if fill == hexadecimal(WALL)}
    assert walls == set(map(tuple, np.argwhere(mdp.layout.walls).tolist()))
    numbers = {square_of(int(text.get("x")) / 10, int(text.get("y")) / 10): text.text for _, text in groups["numbers"]}
    arrows = set()
    for _, path in groups["arrows"]:
        for x, y, steps in re.findall(r"M(\d+) (\d+)l([-\d ]+)z", path.get("d")):
            corners = np.cumsum([(int(x), int(y)), *np.array(steps.split(), dtype=int).reshape(-1, 2)], axis=0)
            column, row = corners.mean(axis=0) / (10 * SIDE)
            right, down = np.sign(np.rint((corners[3] - (corners[0] + corners[6]) / 2) / 10)).astype(int).tolist()
            arrows.add((int(row), int(column), down, right))
    best = set()
    for state, cell in enumerate(map(tuple, mdp.layout.cells.tolist())):
        if mdp.layout.idle[state]:
            assert fills[cell] == hexadecimal(GOAL.colour)
            assert cell not in numbers
            continue
        assert float(numbers[cell]) == pytest.approx(solution.value[state], abs=0.0051)
        best |= {(*cell, *mdp.layout.arrows[a].tolist()) for a in np.flatnonzero(solution.optimal_actions[state])}
        assert said[cell].endswith(mdp.action_labels[solution.policy[state]])
    assert arrows == best
    assert len(groups["goal"]) == 1
    assert {hexadecimal(tuple(map(int, VIRIDIS[end]))) for end in (0, -1)} <= set(fills.values())
    assert f"{solution.value_at_start:.6g}, error at most" in picture["text"]
    json.dumps([picture, look()], allow_nan=False)


def test_without_a_grid_values_are_bars_and_large_models_words(monkeypatch):
    solution = rl.solve(rl.MDP.from_env("rlsuite/RiverSwim-v0", gamma=0.9))
    picture = picture_of_answer(solution)
    assert picture["kind"] == "bars"
    assert picture["values"] == solution.value.tolist()
    assert picture["below"][5] == ["state 5", "Right"]
    monkeypatch.setattr(explorer_pictures, "MOST_STATES", 5)
    assert picture_of_answer(solution) == {"kind": "words", "text": picture["text"]}
    assert picture_of_answer(rl.MDP.from_env("FrozenLake-v1", gamma=0.9))["text"].startswith("MDP FrozenLake")


@given(st.lists(st.tuples(*[st.integers(-5, 5)] * 2), min_size=1, max_size=8))
def test_the_envelope_is_the_highest_line_everywhere(lines):
    ends = np.array(lines, dtype=float)
    parts = _envelope(ends)
    assert [start for start, _, _ in parts] == [0.0, *(end for _, end, _ in parts[:-1])]
    assert parts[-1][1] == 1.0
    for start, end, k in parts:
        for belief in (start, (start + end) / 2, end):
            heights = (1 - belief) * ends[:, 0] + belief * ends[:, 1]
            assert heights[k] == pytest.approx(heights.max(), abs=1e-12)


def test_a_plan_for_two_hidden_states_is_lines():
    tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
    picture = picture_of_answer(rl.solve(tiger))
    assert [picture["actions"][action] for *_, action, _ in picture["best"]][::4] == ["open right", "open left"]
    assert {picture["actions"][action] for *_, action, _ in picture["best"][1:4]} == {"listen"}
    start, end, low, high, *_ = picture["best"][2]
    assert start < 0.5 < end
    assert low == pytest.approx(high) == pytest.approx(19.3714, abs=1e-3)  # from the middle, as published
    shuttle = rl.POMDP.from_env("rlsuite/Shuttle-v0", gamma=0.5)
    assert picture_of_answer(rl.solve(shuttle, gap=0.1))["kind"] == "words"


def test_probabilities_over_time_are_a_trellis():
    posterior = np.array([[0.9, 0.1], [0.25, 0.75]])
    picture = picture_of_answer(posterior)
    assert (picture["path"], picture["said"][1][1]) == ([0, 1], "time 1, state 1: 0.75")
    assert picture["colours"] == [[round(0.9 * 63), round(0.1 * 63)], [round(0.25 * 63), round(0.75 * 63)]]
    with pytest.raises(ParameterError, match=r"shape \(2, 2\): an array is drawn if its rows"):
        picture_of_answer(posterior + 1)
    with pytest.raises(ParameterError, match="3,000 times, and at most 2,000 are drawn"):
        picture_of_answer(np.ones((3_000, 1)))
