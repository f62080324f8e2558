import subprocess
import sys

import numpy as np
import pytest

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP

UP, DOWN, LEFT, RIGHT = (0, 1), (0, -1), (-1, 0), (1, 0)


def test_a_grid_agrees_with_its_arrays(same):
    """The 2 x 3 grid of the lecture notes, Fig. 9.6: as a function of squares, and as a dense array."""

    def move(square, step):
        x, y = square[0] + step[0], square[1] + step[1]
        return (x, y) if 0 <= x < 3 and 0 <= y < 2 else None

    mdp = MDP.from_function(
        move,
        (0, 0),
        actions=[LEFT, RIGHT, UP, DOWN],
        gamma=0.9,
        reward=lambda s, a, s2: 100 if s2 == (2, 1) else 0,
        terminal=lambda s: s == (2, 1),
    )
    found = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (2, 1)]  # breadth first
    assert mdp.state_labels == tuple(map(repr, found))
    assert mdp.action_labels == ("(-1, 0)", "(1, 0)", "(0, 1)", "(0, -1)")
    P = np.zeros((6, 4, 6))
    for s, square in enumerate(found[:-1]):
        for a, step in enumerate([LEFT, RIGHT, UP, DOWN]):
            ahead = (square[0] + step[0], square[1] + step[1])
            if ahead in found:
                P[s, a, found.index(ahead)] = 1.0
    R = np.zeros((6, 4, 6))
    R[:, :, 5] = 100.0
    expected = MDP.from_arrays(
        P, R, gamma=0.9, start=0, legal=P.any(axis=2), state_labels=mdp.state_labels, action_labels=mdp.action_labels
    )
    same(mdp, expected)
    assert mdp.n_transitions == 12


def test_the_forms_a_function_may_return():
    def transitions(state, action):
        return {
            ("a", 0): "b",
            ("a", 1): {"c", "b", "a"},
            ("a", 2): {"c": 0.25, "a": 0.75, "b": 0},
            ("b", 0): None,
            ("b", 1): frozenset({"a"}),
            ("b", 2): [(0.5, "a", 1.0, False), (0.25, "a", 2, True), (0.25, "d", 3.0, True)],
        }.get((state, action))

    mdp = MDP.from_function(transitions, "a", actions=3, gamma=0.9, reward=lambda s, a, s2: ord(s2) - ord(s))
    assert mdp.state_labels == ("a", "b", "c", "d")
    assert mdp.action_labels is None
    assert mdp.P[0][0] == [(1.0, 1, 1.0, False)]
    third = 1 / 3
    assert mdp.P[0][1] == [(third, 0, 0.0, False), (third, 1, 1.0, False), (third, 2, 2.0, True)]
    assert mdp.P[0][2] == [(0.25, 2, 2.0, True), (0.75, 0, 0.0, False)]  # what cannot happen is left out
    assert mdp.P[1][0] == []
    assert mdp.P[1][1] == [(1.0, 0, -1.0, False)]
    assert mdp.P[1][2] == [(0.5, 0, 1.0, False), (0.25, 0, 2.0, True), (0.25, 3, 3.0, True)]
    assert mdp.legal.tolist() == [[True] * 3, [False, True, True], [False] * 3, [False] * 3]


@pytest.mark.parametrize(
    ("start", "expected"), [(2, [0, 0, 1]), ({2, 0}, [0.5, 0, 0.5]), ({1: 0.25, 2: 0.75}, [0, 0.25, 0.75])]
)
def test_start(start, expected):
    mdp = MDP.from_function(lambda s, a: (s + 1) % 3, start, actions=1, gamma=0.9, reward=lambda s, a, s2: 0)
    by_label = dict(zip(mdp.state_labels, mdp.start, strict=True))
    assert [by_label[label] for label in "012"] == expected


def test_a_state_entered_only_at_the_end_is_not_explored():
    def once(state, action):
        assert state != "gone"
        return [(0.5, "here", 0, False), (0.5, "gone", 1, True)]

    mdp = MDP.from_function(once, "here", actions=1, gamma=0.9)
    assert mdp.legal.tolist() == [[True], [False]]


def test_a_state_entered_in_both_ways_is_explored():
    def taxi(state, action):
        return [(0.5, "stand", 0, False), (0.5, "stand", 1, True)] if state == "road" else [(1, "road", 0, False)]

    mdp = MDP.from_function(taxi, "road", actions=1, gamma=0.9)
    assert mdp.P[0][0] == [(0.5, 1, 0.0, False), (0.5, 1, 1.0, True)]
    assert mdp.P[1][0] == [(1.0, 0, 0.0, False)]


def test_terminal_holds_for_listed_outcomes_too():
    mdp = MDP.from_function(lambda s, a: [(1.0, s + 1, 0.0, False)], 0, actions=1, gamma=0.9, terminal=lambda s: s == 2)
    assert mdp.terminated.tolist() == [False, True]


def test_what_cannot_happen_leads_to_no_state():
    def chances(s, a):
        return [(1.0, s, 1.0, False), (0.0, s - 1, 5.0, False)]

    mdp = MDP.from_function(chances, 0, actions=1, gamma=0.5, max_states=3)
    assert (mdp.n_states, mdp.n_transitions) == (1, 1)


def test_labels_of_different_states_that_look_alike_are_told_apart():
    class Blank:
        def __repr__(self):
            return "blank"

    one, other = Blank(), Blank()
    mdp = MDP.from_function(
        lambda s, a: other if s is one else one, one, actions=1, gamma=0.9, reward=lambda s, a, s2: 0
    )
    assert mdp.state_labels == ("blank", "blank #2")


def test_numbering_does_not_depend_on_the_hash_seed():
    program = (
        "from rlsuite.models import MDP\n"
        "words = {s: {s[1:] + c for c in 'abc'} for s in (x + y for x in 'abc' for y in 'abc')}\n"
        "mdp = MDP.from_function(lambda s, a: words[s], {'ab', 'cc', 'ba'}, actions=1, gamma=0.9,"
        " reward=lambda s, a, s2: 0)\n"
        "print(mdp.state_labels, mdp.next_state.tolist(), mdp.start.tolist())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().startswith("('ab', 'ba', 'cc', ")


def zero(s, a, s2):
    return 0


RETURNS = {
    "transitions('s', 0) returned 's', which has no reward: pass reward=": ("s", {"reward": None}),
    "transitions('s', 0) returned (1, 's', 2, False), which is one outcome; return a list: [(1, 's', 2, False)]": (
        (1, "s", 2, False),
        {"reward": None},
    ),
    "transitions('s', 0) returned []; return None if the action is illegal": ([], {}),
    "transitions('s', 0) returned set(); return None if the action is illegal": (set(), {}),
    "transitions('s', 0) returned {}; return None if the action is illegal": ({}, {}),
    "transitions('s', 0) sums to 0.9, not 1 (missing 0.1)": ({"s": 0.9}, {}),
    "transitions('s', 0) sums to 1.5, not 1 (0.5 too much)": ([(0.75, "s", 0, False)] * 2, {}),
    "transitions('s', 0) gives 's' the probability -1; a finite number of at least 0 is needed": ({"s": -1}, {}),
    "transitions('s', 0) gives 's' the probability '1'; a finite number of at least 0 is needed": ({"s": "1"}, {}),
    "transitions('s', 0) lists ('s',); (probability, state, reward, terminated) is needed": ([("s",)], {}),
    "transitions('s', 0) lists 's'; (probability, state, reward, terminated) is needed": (["s"], {}),
    "transitions('s', 0) lists (nan, 's', 0, False): the probability is nan; a finite number of at least 0 is needed": (
        [(float("nan"), "s", 0, False)],
        {},
    ),
    "transitions('s', 0) lists (1, 's', None, False): the reward is None; a finite number is needed": (
        [(1, "s", None, False)],
        {},
    ),
    "transitions('s', 0) lists (1, 's', 0, 'no'): terminated is 'no', not a bool": ([(1, "s", 0, "no")], {}),
    "transitions('s', 0) returned ['s'], which is not hashable: use a tuple, a string or a number": (
        [(1, ["s"], 0, False)],
        {},
    ),
    "transitions('s', 0) returned array([1]), which is not hashable: use a tuple, a string or a number": (
        np.array([1]),
        {},
    ),
    "reward('s', 0, 's') returned inf; a finite number is needed": ("s", {"reward": lambda s, a, s2: float("inf")}),
    "terminal('s') returned 0, not a bool": ("s", {"terminal": lambda s: 0}),
}


@pytest.mark.parametrize(("message", "case"), RETURNS.items(), ids=list(RETURNS))
def test_bad_returns(message, case):
    returned, keywords = case
    with pytest.raises(ModelError) as caught:
        MDP.from_function(lambda s, a: returned, "s", actions=1, gamma=0.9, **{"reward": zero, **keywords})
    assert str(caught.value) == message


def test_an_iterator_is_not_a_state():
    with pytest.raises(ModelError, match=r"transitions\('s', 0\) returned an iterator; return a list"):
        MDP.from_function(lambda s, a: iter("ab"), "s", actions=1, gamma=0.9, reward=zero)


def test_an_infinite_model_is_stopped():
    with pytest.raises(ModelError, match="more than 100 states can be reached, for instance 100: is the model inf"):
        MDP.from_function(lambda s, a: s + 1, 0, actions=1, gamma=0.9, reward=zero, max_states=100)


def test_an_error_in_the_function_says_where_it_was_called():
    with pytest.raises(ZeroDivisionError) as caught:
        MDP.from_function(lambda s, a: s // 0, 7, actions=["up"], gamma=0.9, reward=zero)
    assert caught.value.__notes__ == ["raised by transitions(7, 'up')"]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"actions": 0}, "actions=0 is less than 1"),
        ({"actions": []}, r"actions=\[\]: at least one action is needed"),
        ({"actions": 2.5}, "actions=2.5 is not a whole number"),
        ({"actions": 1, "max_states": 0}, "max_states=0 is less than 1"),
        ({"actions": 1, "start": ["s"]}, r"start=\['s'\] is not hashable; give a state, a set of states"),
        ({"actions": 1, "start": {"s": 0.5}}, r"start sums to 0\.5, not 1"),
        ({"actions": 1, "start": {"s": "1"}}, "start gives '1' as the probability of 's'; a finite number"),
    ],
)
def test_bad_arguments(keywords, message):
    with pytest.raises((ParameterError, ModelError), match=message):
        MDP.from_function(lambda s, a: s, **{"start": "s", "gamma": 0.9, "reward": zero, **keywords})
