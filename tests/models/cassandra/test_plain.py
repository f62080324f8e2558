"""Files written out, a statement in a line."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from rlsuite.models import MDP, POMDP
from rlsuite.models.cassandra.plain import plain_lines
from rlsuite.planning.proof import readable

PROBLEMS = Path(__file__).parents[2] / "problems"

ALL_FORMS = """\
discount: 0.95 values: cost   # two statements in a line
states: l m r
actions: stay go jump
observations: left right
start include: l m
T: stay identity
T: go
0.333 0.333 0.333
0 0.5 0.5
uniform
T: jump reset
T: jump : r : * 0.0
T: jump : r : m 1
O: * uniform
O: go : m
0.25 0.75
R: * : * : * : * 1
R: go : l : r : right -2.5
R: go : m
1 2
3 4
5 0
R: stay : * : r : * 0
"""


def test_every_form_reads_back_as_the_same_model(tmp_path):
    (tmp_path / "all.pomdp").write_text(ALL_FORMS.replace("0 0.5 0.5\nuniform\n", "0 0.5 0.5\n0.4 0.3 0.3\n"))
    text = plain_lines(tmp_path / "all.pomdp")
    assert text is not None
    (tmp_path / "plain.pomdp").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a row of thirds
        given, plain = POMDP.read(tmp_path / "all.pomdp"), POMDP.read(tmp_path / "plain.pomdp")
    assert "T: go : l : m 0.333\n" in text  # not rescaled
    assert "R: go : l : r : right 2.5\n" in text  # a cost of -2.5
    assert (given.state_labels, given.action_labels, given.gamma) == (plain.state_labels, plain.action_labels, 0.95)
    assert given.start.tolist() == plain.start.tolist()
    assert given.mdp.next_state.tolist() == plain.mdp.next_state.tolist()
    assert given.mdp.probability.tolist() == plain.mdp.probability.tolist()
    np.testing.assert_allclose(given.mdp.expected_reward(), plain.mdp.expected_reward(), rtol=1e-15)
    assert given.observation.tolist() == plain.observation.tolist()
    assert readable(text)


def test_the_files_of_the_tests_read_back(tmp_path):
    for path in sorted(PROBLEMS.glob("*.pomdp")):
        text = plain_lines(path)
        assert text is not None
        assert readable(text), path
        (tmp_path / "plain.pomdp").write_text(text)
        given, plain = POMDP.read(path), POMDP.read(tmp_path / "plain.pomdp")
        assert given.mdp.probability.tolist() == plain.mdp.probability.tolist()
        np.testing.assert_allclose(given.mdp.expected_reward(), plain.mdp.expected_reward(), rtol=1e-12, atol=1e-12)


def test_states_that_are_observed(tmp_path):
    text = "discount: 0.5\nstates: 2\nactions: a b\nT: a identity\nT: b uniform\nR: a : 1\n3 4\nR: b : * : 0 7\n"
    (tmp_path / "two.mdp").write_text(text)
    plain = plain_lines(tmp_path / "two.mdp")
    assert plain is not None
    (tmp_path / "plain.mdp").write_text(plain)
    assert MDP.read(tmp_path / "two.mdp").P == MDP.read(tmp_path / "plain.mdp").P
    assert readable(plain)
    assert not readable(text)


@pytest.mark.parametrize("text", ["states: 2\nactions: 1\nT: 0 uniform\n", "discount: 0.5\nstates: 2\nactions: 1\n"])
def test_without_a_discount_or_transitions_there_is_none(tmp_path, text):
    (tmp_path / "none.mdp").write_text(text)
    assert plain_lines(tmp_path / "none.mdp") is None
