"""Cassandra's text format: what each form means, that written models read back, and where errors are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.errors import FileError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.models.cassandra.entries import Entries
from rlsuite.models.cassandra.grammar import Parsed
from rlsuite.models.cassandra.text import Text

PREAMBLE = """\
discount: 0.95
values: reward
states: left middle right
actions: stay go
"""
STAY = "T: stay identity\n"
GO = "T: go uniform\n"


@pytest.fixture
def read(tmp_path):
    """Read a model from its text."""

    def from_text(text, **kwargs):
        path = tmp_path / "model.mdp"
        path.write_text(text, encoding="utf-8")
        return MDP.read(path, **kwargs)

    return from_text


@pytest.fixture
def fault(read, tmp_path):
    """What is wrong with a text, without the folder."""

    def of_text(text, **kwargs):
        with pytest.raises(FileError) as caught:
            read(text, **kwargs)
        return str(caught.value).replace(f"{tmp_path}/", "")

    return of_text


def transitions(mdp, action):
    return mdp.transition_matrix(action).toarray().tolist()


# --------------------------------------------------------------------------------------------------- preamble


def test_a_file_with_a_bit_of_everything(read):
    mdp = read(
        "\ufeff# a comment: with a colon\r\n"
        "values :cost # costs\r\n"
        "discount : .5\r\n"
        "actions:\r\n\tstay\r\n\tgo-2nd\r\n"
        "states: T 2nd-floor\r\n"
        "start:\r\n.25 7.5e-1\r\n"
        "T:stay\r\nidentity\r\n"
        "T: go-2nd : * : 2nd-floor\r\n 1.\r\n"
        "R: * : T : * +2\r\n"
        "R: 1 : 0 : 1 -.5\r\n"
    )
    assert mdp.gamma == 0.5
    assert mdp.state_labels == ("T", "2nd-floor")
    assert mdp.action_labels == ("stay", "go-2nd")
    assert mdp.start.tolist() == [0.25, 0.75]
    assert mdp.to_table() == {
        0: {0: [(1.0, 0, -2.0, False)], 1: [(1.0, 1, 0.5, False)]},
        1: {0: [(1.0, 1, 0.0, False)], 1: [(1.0, 1, 0.0, False)]},
    }


def test_numbers_in_place_of_names(read):
    mdp = read("discount: 1\nvalues: reward\nstates: 3\nactions: 1\nT: 0 : 0 : 01 1\nT: 0 : 1 : 2 1\nT: 0 : 2 : 0 1\n")
    assert (mdp.n_states, mdp.n_actions, mdp.state_labels, mdp.action_labels) == (3, 1, None, None)
    assert mdp.next_state.tolist() == [1, 2, 0]
    named = read(PREAMBLE + "T: 0 identity\nT: 1 : 0 uniform T: go : 1 : right 1 T: 1 : right : 0 1.0")
    assert transitions(named, 1) == [[1 / 3] * 3, [0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("", [1 / 3] * 3),
        ("start: uniform", [1 / 3] * 3),
        ("start: 0.5 0.25 0.25", [0.5, 0.25, 0.25]),
        ("start: 0 1 0", [0, 1, 0]),
        ("start: right", [0, 0, 1]),
        ("start: 1", [0, 1, 0]),
        ("start: left right", [0.5, 0, 0.5]),
        ("start include: middle", [0, 1, 0]),
        ("start include : middle 2", [0, 0.5, 0.5]),
        ("start exclude: 0", [0, 0.5, 0.5]),
        ("start exclude: left right", [0, 1, 0]),
        ("start: 0.333333 0.333333 0.333333", [1 / 3] * 3),
    ],
)
def test_start(read, start, expected):
    np.testing.assert_allclose(read(f"{PREAMBLE}{start}\n{STAY}{GO}").start, expected, rtol=1e-15)


@pytest.mark.parametrize("start", ["start: 0", "start: 1", "start: 1.0", "start include: 0"])
def test_one_state(read, start):
    mdp = read(f"discount: 0.5\nstates: 1\nactions: 1\n{start}\nT: 0\n1\nR: 0 : 0 : 0 3")
    assert mdp.to_table() == {0: {0: [(1.0, 0, 3.0, False)]}}


# ---------------------------------------------------------------------------------------------------- entries


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("T: go\n.5 .5 0\n0 1 0\n0 0 1", [[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]]),
        ("T: go identity T: go : left : left 0 T: go : left : right 1", [[0, 0, 1], [0, 1, 0], [0, 0, 1]]),
        ("T: go uniform T: go : middle\n 0 1.0e-0 0", [[1 / 3] * 3, [0, 1, 0], [1 / 3] * 3]),
        ("T: go : * : right 1", [[0, 0, 1]] * 3),
        ("T: go : * : right 1 T: go : right reset", [[0, 0, 1], [0, 0, 1], [0.75, 0.25, 0]]),
        ("T: * reset", [[0.75, 0.25, 0]] * 3),
        (
            "T: * : left : * 0.25 T: go : * : left 0.5 T: * : middle uniform T: * : right : right 0.5 T: stay identity",
            None,
        ),
    ],
)
def test_transitions(read, lines, expected):
    mdp = read(PREAMBLE + "start: 0.75 0.25 0\n" + STAY + lines)
    assert transitions(mdp, 1) == (expected or [[0.5, 0.25, 0.25], [1 / 3] * 3, [0.5, 0, 0.5]])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", [[0] * 3] * 3),
        ("R: * : * : * 1", [[1] * 3] * 3),
        ("R: go : * : right 5", [[0, 0, 5]] * 3),
        ("R: go : left : right 5 R: * : left : * 1", [[1] * 3, [0] * 3, [0] * 3]),
        ("R: * : left : * 1 R: go : left : right -5e-1", [[1, 1, -0.5], [0] * 3, [0] * 3]),
        ("R: go : middle 1 2 +3 R: stay : * : * 9", [[0] * 3, [1, 2, 3], [0] * 3]),
        ("R: *\n1 2 3\n4 5 6\n7 8 9\nR: 1 : * : 1 0", [[1, 0, 3], [4, 0, 6], [7, 0, 9]]),
        ("R: go : * : right : * 5", [[0, 0, 5]] * 3),
    ],
)
def test_rewards(read, lines, expected):
    mdp = read(PREAMBLE + STAY + GO + lines)
    np.testing.assert_allclose(mdp.dense()[1][:, 1], expected, rtol=1e-15)


@given(data=st.data())
def test_the_last_line_counts(data):
    dims = data.draw(st.tuples(*[st.integers(1, 3)] * 3))
    entries, table = Entries(dims), np.zeros(dims)
    for _ in range(data.draw(st.integers(0, 8))):
        slots = [data.draw(st.integers(-1, size - 1)) for size in dims]
        value = data.draw(st.integers(0, 3))
        entries.add(slots, value)
        table[tuple(slice(None) if k < 0 else k for k in slots)] = value
    assert entries.values_at(np.arange(table.size)).tolist() == table.reshape(-1).tolist()
    cells = entries.support()
    assert cells.tolist() == sorted(set(cells.tolist()))
    assert set(np.flatnonzero(table)) <= set(cells.tolist())
    assert cells.size <= entries.cells_covered()


def test_probabilities_rounded_to_a_few_decimals_are_rescaled(read):
    mdp = read(PREAMBLE + STAY + "T: go\n0.333333 0.333333 0.333333\n0.5 0.5 0\n0 1 0")
    np.testing.assert_allclose(mdp.probability.reshape(-1)[mdp.pairs() == 1], 1 / 3, rtol=1e-15)
    assert transitions(mdp, 1)[1:] == [[0.5, 0.5, 0], [0, 1, 0]]


def test_runs_are_read_as_their_lines_would_be_one_by_one(read, same):
    generator = np.random.default_rng(0)
    lines = [f"T: {a} : s{s} : {s * s % 5000} 1" for s in range(5000) for a in "ab"]
    lines += [f"R: {a} : {s} : {t} {r!r}" for s, t, r in generator.integers(0, 5000, (3000, 3)).tolist() for a in "a*"]
    names = " ".join(f"s{s}" for s in range(5000))
    preamble = f"discount: 0.5\nstates: {names}\nactions: a b\n"
    broken = [line.replace(" 1", " 01", 1) if k % 1000 == 0 else line for k, line in enumerate(lines)]
    fast = read(preamble + "\n".join(lines))
    assert fast.next_state.tolist() == [s * s % 5000 for s in range(5000) for _ in "ab"]
    same(fast, read(preamble + "\n".join(broken)))


def test_numbers_and_values_in_runs_are_as_strict_as_elsewhere(fault):
    for slot in ("-1", "1*", "1.", "٣", "3", ""):
        text = f"discount: 0.5\nstates: 3\nactions: 1\nT: 0 : {slot} : 1 1\n"
        assert fault(text).startswith("model.mdp:4:"), slot
    for number in ("1-1", "1e", "+-1", "1_0", "0x1", "nan", "1e999"):
        text = f"discount: 0.5\nstates: 2\nactions: 1\nR: 0 : 1 : 1 2\nR: 0 : 1 : 1 {number}\nR: * : 1 : * 2\n"
        assert fault(text).startswith("model.mdp:5:14: "), number


def test_the_discount_can_be_replaced_or_supplied(read, fault):
    assert read(PREAMBLE + STAY + GO, gamma=0.5).gamma == 0.5
    without = PREAMBLE.replace("discount: 0.95\n", "") + STAY + GO
    assert read(without, gamma=0.5).gamma == 0.5
    assert fault(without) == "model.mdp has no 'discount:': pass gamma="
    with pytest.raises(ParameterError, match=r"gamma=2 is not in \[0, 1\]"):
        read(without, gamma=2)


@pytest.mark.parametrize("word", ["reward", "rewards", "cost", "costs"])
def test_rewards_and_costs_in_the_plural(read, word):
    mdp = read(f"discount: 0.5\nvalues: {word}\nstates: 1\nactions: 1\nT: 0 identity\nR: 0 : 0 : 0 3")
    assert mdp.expected_reward().tolist() == [[3.0 if word.startswith("reward") else -3.0]]


@pytest.mark.parametrize("paid", ["R: go : a : b : 7", "R: go : a : b : * 7", "R: go : a : b : * : 7", "R:go:a:b:7"])
def test_a_colon_before_the_number(read, same, paid):
    """POMDPFiles.jl writes one."""
    preamble = "discount: 0.5\nstates: a b\nactions: go\n"
    expected = read(preamble + "T: go : a : b 1\nT: go : b : a 0.25\nT: go : b : b 0.75\nR: go : a : b 7")
    same(read(preamble + "T: go : a : b : 1\nT: go : b : a : 0.25\nT: go : b : b 0.75\n" + paid), expected)


@pytest.mark.parametrize("comment", ["caf\xe9 \xa9 1994", "\xff\xfe", "\x81"])
def test_comments_in_other_encodings(tmp_path, same, comment):
    text = "# {}\ndiscount: 0.5 #{}\nstates: \u00e4 b\nactions: 1\nT: 0 uniform\n# {}"
    (tmp_path / "plain.mdp").write_text(text.format("", "", ""), encoding="utf-8")
    old = [part.encode("utf-8") for part in text.split("{}")]
    (tmp_path / "old.mdp").write_bytes(comment.encode("latin-1").join(old))
    same(MDP.read(tmp_path / "old.mdp"), MDP.read(tmp_path / "plain.mdp"))


def test_other_encodings_beside_comments(tmp_path):
    text = "# caf\xe9\ndiscount: 0.5\nstates: left  r\xe9ght\nactions: 1\nT: 0 uniform\n"
    (tmp_path / "old.mdp").write_bytes(text.encode("latin-1"))
    with pytest.raises(FileError, match=r"old\.mdp:3:16: the byte 0xe9 is not UTF-8 text; only comments may have such"):
        MDP.read(tmp_path / "old.mdp")


def test_names_in_quotes(read, same):
    quoted = 'discount: 0.5\nstates: "left" right\nactions: "go"\nT: "go" identity\nR: go : "left" : left 1'
    plain = quoted.replace('"', "")
    same(read(quoted), read(plain))
    assert read(quoted).state_labels == ("left", "right")


def test_states_and_actions_may_be_named_like_keywords(read):
    mdp = read("discount: 0.5\nstates:\nT start\nvalues\nactions: O R\nstart: T start\nT: O identity\nT: R uniform")
    assert (mdp.state_labels, mdp.action_labels) == (("T", "start", "values"), ("O", "R"))


# ----------------------------------------------------------------------------------------------------- errors

FAULTS = {
    "6:16: unknown state 'lft'; did you mean 'left'?": STAY + "T: go : left : lft 1",
    "6:16: unknown state 'xyz'; the first of the 3 states is 'left'": STAY + "T: go : left : xyz 1",
    "6:16: unknown state '3'; the states are 0..2": STAY + "T: go : left : 3 1",
    "5:4: unknown action 'goo'; did you mean 'go'?": "T: goo identity",
    "5:4: expected an action, found ':'": "T: : left",
    "5:8: expected a state, found the end of the file": "T: go :",
    "5:1: unknown statement 'Q' (choices: O, R, T, actions": "Q: 1",
    "6:3: expected ':' after 'T', found 'go'": STAY + "T go uniform",
    "5:23: a probability is 1.5, not in [0, 1]": "T: go : left : left   1.5",
    "5:21: a probability is -1, not in [0, 1]": "T: go : left : left -1",
    "5:17: expected a probability, found 'x'": "T:go:left:left  x",
    "5:21: a probability is 1e999, too large for a float": "T: go : left : left 1e999",
    "6:5: expected probability 6 of 9, found 'T'": "T: go 1 0 0\n0 1 T: stay identity",
    "5:21: expected probability 3 of 3, found the end of the file": "T: go : left 0.5 0.5",
    "6:7: probability 6 of 9 is 2, not in [0, 1]": "T: go 1 0 0\n0 1   2\n 0 0 1",
    "5:23: expected a statement such as 'T:', found one number too many: 7": "T: go : left 0.5 .5 0 7",
    "5:23: expected a statement such as 'T:', found one number too many: 0.5": "T: go : left : left 1 0.5",
    "5:14: 'identity' cannot stand for a row of T: write the numbers": "T: go : left identity",
    "5:7: 'reset' cannot stand for a matrix of R: write the numbers": "R: go reset",
    "5:14: 'uniform' cannot stand for a row of R: write the numbers": "R: go : left uniform",
    "5:24: expected '*', as there are no observations; found 'seen'": "R: go : left : right : seen 1",
    "5:1: there are no observations: 'O:' needs 'observations:' before it": "O: * uniform",
    "5:1: 'discount' is given twice": "discount: 0.5",
    "5:8: unknown state 'midle'; did you mean 'middle'?": "start: midle",
    "5:16: expected a state, found '*'": "start include: *",
    "5:8: unknown state '3'; the states are 0..2": "start: 3",
    "5:15: expected probability 3 of 3, found the end of the file": "start: 0.5 0.5",
    "5:12: probability 2 of 3 is 1.5, not in [0, 1]": "start: 0.5 1.5 0",
    "5:8: the start distribution sums to 0.9, not 1": "start: 0.5 0.4 0",
    "5:1: 'start exclude' leaves no state to start in": "start exclude: left 1 right",
    "6:1: expected states or probabilities, found 'T'": "start:\nT: go uniform",
    "6:1: 'start' must come before the first 'reset', which refers to it": "T: go reset\nstart: left",
    "5:15: expected ':' after 'start include', found 'left'": "start include left",
    "6:5: expected ':' after 'T', found 'go'": "start: 0.5 0.5 0\n  T go identity\nT: stay identity",
    "7:5: expected ':' after 'R', found '*'": "start: left\n\n  R * : * : * 1",
    "5:27: expected ':' after 'values', found 'cost'": "start include: 0 1 values cost",
}


@pytest.mark.parametrize(("message", "lines"), FAULTS.items(), ids=list(FAULTS))
def test_faults_are_found_where_they_are(fault, message, lines):
    assert fault(PREAMBLE + lines).startswith(f"model.mdp:{message}")


PREAMBLE_FAULTS = {
    "1:11: the discount is 1.5, not in [0, 1]": "discount: 1.5",
    "1:11: expected the discount, found 'none'": "discount: none",
    "1:9: expected 'reward' or 'cost', found 'money'": "values: money",
    "1:9: the number of states is 0, not in 1..16777216": "states: 0",
    "1:13: the state 'a' is declared twice": "states: a b a",
    "1:9: names of states stand one after the other, without commas": "states: good, worn, broken",
    "1:13: the state '\"a\"' is declared twice": 'states: a b "a"',
    "1:9: '\"upper' cannot be the name of a state: a name in quotes must be one word": 'states: "upper left" lower',
    "1:9: '-3' is not a number of states: a whole number is needed": "states: -3\nactions: 2",
    "2:10: '2.5' is not a number of actions: a whole number is needed": "states: 2\nactions: 2.5",
    "2:9: expected ':' after 'actions', found 'go'": "states: a b\nactions go stay\nT: go identity",
    "1:8: expected ':' after 'states', found 'a'": "states a b\nactions: go stay\nT: go identity",
    "3:3: expected ':' after 'T', found 'go'": "actions: go stay\nstates: a b\nT go : a : b 1\nT: stay identity",
    "1:11: '1' cannot be the name of a state: give one number, or names only": "states: a 1 b",
    "2:1: expected the number of states or their names, found 'actions'": "states:\nactions: 2",
    "1:1: 'start' must come after 'states:'": "start: 0\nstates: 2",
    "2:1: 'actions:' must come before the first T:": "states: 2\nT: 0 identity",
    "1:1: 'states:' must come before the first R:": "R: * : * : * 1",
    "1:10: the file ends without 'actions:'": "states: 2",
    "1:1: the file ends without 'states:'": "# nothing",
    "3:1: a file with observations holds a POMDP: name it .pomdp and use POMDP.read": (
        "states: 1\nactions: 1\nobservations: 2\nT: * identity\nO: * uniform"
    ),
    "3:1: 'observations' must come before the first T:, O: or R:": (
        "states: 1\nactions: 1 T: * identity\nobservations: 2"
    ),
}


@pytest.mark.parametrize(("message", "text"), PREAMBLE_FAULTS.items(), ids=list(PREAMBLE_FAULTS))
def test_faults_of_the_preamble(fault, message, text):
    assert fault(text) == f"model.mdp:{message}"


MODEL_FAULTS = {
    ":6:23: no probability above 0 is given for 'T: go : left'": STAY + "T: go : middle uniform",
    ":7:1: 'T: go : middle' sums to 0.9, not 1 (missing 0.1)": STAY + GO + "T: go : middle 0.5 0.4 0",
    ":7:1: 'T: go : left' sums to 1.0001, not 1 (0.0001 too much)": STAY + GO + "T: go : left 0.5 0.5001 0",
    ":6:1: 'T: go : right' sums to 0.75, not 1 (missing 0.25)": STAY + "T: go : * : * .25 T: go : left uniform "
    "T: go : middle uniform",
    " has no transitions: no 'T:' in it": "R: * : * : * 1",
}


@pytest.mark.parametrize(("message", "lines"), MODEL_FAULTS.items(), ids=list(MODEL_FAULTS))
def test_faults_of_the_model(fault, message, lines):
    assert fault(PREAMBLE + lines) == f"model.mdp{message}"


def test_a_fault_within_a_run_is_found_where_it_is(fault):
    lines = [f"T: {a} : {s} : {s} 1\n" for s in range(500) for a in (0, 1)] * 10
    lines[7000] = "T: 0 : 1 : 1 1.25\n"
    preamble = "discount: 0.5\nstates: 500\nactions: 2\n"
    assert fault(preamble + "".join(lines)) == "model.mdp:7004:14: a probability is 1.25, not in [0, 1]"
    lines[7000] = "T: 0 : 501 : 1 1\n"
    assert fault(preamble + "".join(lines)) == "model.mdp:7004:8: unknown state '501'; the states are 0..499"


def test_wildcards_that_stand_for_too_much(fault):
    message = fault("discount: 0.5\nstates: 1000000\nactions: 1\nT: 0 uniform")
    assert message.startswith("model.mdp:4:1: this and the other lines of T with wildcards, ")
    assert message.endswith(" stand for 1000000000000 transitions; at most 33554432 can be read")


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(FileError, match=r"there is no file .*none\.mdp"):
        MDP.read(tmp_path / "none.mdp")
    (tmp_path / "folder.mdp").mkdir()
    with pytest.raises(FileError, match=r"folder\.mdp cannot be read: Is a directory"):
        MDP.read(tmp_path / "folder.mdp")
    (tmp_path / "foreign.mdp").write_bytes(b"\x80\x81\xfe\xff")
    with pytest.raises(FileError, match=r"foreign\.mdp:1:1: the byte 0x80 is not UTF-8 text; only comments may"):
        MDP.read(tmp_path / "foreign.mdp")


# ---------------------------------------------------------------------------------------------------- writing


@pytest.mark.slow
@given(data=st.data())
def test_written_models_read_back(data, mdps, same, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.mdp"
    mdp = data.draw(mdps(noise=False)).with_all_legal()
    mdp.write(path)
    again, closed = MDP.read(path), mdp.without_termination()
    assert again.dense()[0].tolist() == closed.dense()[0].tolist()
    np.testing.assert_allclose(again.dense()[1], closed.dense()[1], atol=1e-15)
    assert again.start.tolist() == closed.start.tolist()
    assert again.gamma == closed.gamma
    assert again.state_labels == closed.state_labels
    again.write(path)
    same(again, MDP.read(path))


@given(data=st.data())
def test_models_without_repetitions_read_back_bit_for_bit(data, mdps, same, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.mdp"
    mdp = data.draw(mdps(duplicates=False, noise=False, masks=False, termination=False))
    scale = data.draw(st.floats(1e-300, 1e300))
    mdp = mdp.replace(reward=mdp.reward * scale, gamma=data.draw(st.floats(0, 1)))
    mdp.write(path)
    same(mdp, MDP.read(path))


def test_what_is_written(tmp_path):
    mdp = MDP.from_successors(
        [[1, 0], [{0: 0.25, 1: 0.75}, 1]],
        [[[0, 1e-20], [0, 0]], [[2, 3], [0, -1]]],
        gamma=0.9,
        start=0,
        state_labels=["a", "b-2"],
        action_labels=["go", "stay!"],
    )
    mdp.write(tmp_path / "model.mdp")
    assert (tmp_path / "model.mdp").read_text() == (
        '# labels: {"actions": ["go", "stay!"]}\n'
        "discount: 0.9\nvalues: reward\nstates: a b-2\nactions: go stay-\nstart: 1.0 0.0\n"
        "T: go : a : b-2 1.0\nT: stay- : a : a 1.0\nT: go : b-2 : a 0.25\nT: go : b-2 : b-2 0.75\n"
        "T: stay- : b-2 : b-2 1.0\n"
        "R: go : a : * 1.0e-20\nR: stay- : b-2 : * -1.0\nR: go : b-2 : a 2.0\nR: go : b-2 : b-2 3.0\n"
    )
    assert [one.name for one in tmp_path.iterdir()] == ["model.mdp"]


@pytest.mark.parametrize("label", ["", "2nd", "a b", "a:b", "#", "ä", "T", "start", "uniform"])
def test_labels_that_are_no_names_come_back(tmp_path, label):
    mdp = MDP.from_successors([[1], [0]], [1, 0], gamma=0.9, state_labels=["a", label], action_labels=["a b"])
    mdp.write(tmp_path / "model.mdp")
    again = MDP.read(tmp_path / "model.mdp")
    assert (again.state_labels, again.action_labels) == (("a", label), ("a b",))
    # Who changes the names has the last word.
    text = (tmp_path / "model.mdp").read_text().replace("actions: a-b", "actions: go").replace(": a-b :", ": go :")
    (tmp_path / "model.mdp").write_text(text)
    assert MDP.read(tmp_path / "model.mdp").action_labels == ("go",)
    pomdp = POMDP.from_arrays([[[1.0]]], [[0.0]], [[[0.5, 0.5]]], gamma=0.9, observation_labels=["a-b", "a b"])
    pomdp.write(tmp_path / "model.pomdp")
    assert "observations: a-b a-b-2" in (tmp_path / "model.pomdp").read_text()
    assert POMDP.read(tmp_path / "model.pomdp").observation_labels == ("a-b", "a b")


def test_what_cannot_be_written(tmp_path):
    masked = MDP.from_successors([[0, None]], [0], gamma=0.9)
    with pytest.raises(
        FileError, match=r"cannot write .*model\.mdp: action 1 is illegal in state 0, which the \.mdp f"
    ):
        masked.write(tmp_path / "model.mdp")
    noisy = MDP.from_successors([[0]], [0], gamma=0.9, reward_std=[1])
    with pytest.raises(FileError, match=r"some rewards are random, .* replace\(reward_std=None, bernoulli=None\)"):
        noisy.write(tmp_path / "model.mdp")
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------------------------- files with observations


def test_observations_are_a_slot_of_rewards():
    text = "states: 2 actions: 1 observations: 3\nR: 0 : 1 1 2 3 4 5 6\nR: 0 : 0 : 1 7 8 9 R: * : * : * : 2 -1\n"
    parsed = Parsed(Text("model.pomdp", text + "O: 0 : 1 uniform O: 0 : 0 : 2 1\n")).parse()
    assert parsed.entries["R"].values_at(np.arange(12)).tolist() == [0, 0, -1, 7, 8, -1, 1, 2, -1, 4, 5, -1]
    assert parsed.entries["O"].values_at(np.arange(6)).tolist() == [0, 0, 1, *[1 / 3] * 3]
    with pytest.raises(FileError, match=r"model\.pomdp:2:6: expected ':' and state, found '1'"):
        Parsed(Text("model.pomdp", "states: 2 actions: 1 observations: 3\nR: 0 1 2")).parse()
