"""Cassandra's format with observations: every form of every entry, against a dense table that is filled by hand."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rlsuite.errors import FileError, ParameterError, RlsuiteError, RoundingWarning
from rlsuite.models import MDP, POMDP
from rlsuite.models.cassandra import grammar, reading

PROBLEMS = Path(__file__).parents[1] / "problems"
CLASSICS = Path(__file__).parents[3] / "shared" / "pomdp"
"""Problem files of the literature, where they lie beside the checkout."""

PREAMBLE = """\
discount: 0.95
values: reward
states: left middle right
actions: stay go
observations: dark light
"""
T = "T: stay identity\nT: go uniform\n"
O = "O: * uniform\n"  # noqa: E741 - the field's own name


@pytest.fixture
def read(tmp_path):
    """Read a model from its text."""

    def from_text(text, **kwargs):
        path = tmp_path / "model.pomdp"
        path.write_text(text, encoding="utf-8")
        return POMDP.read(path, **kwargs)

    return from_text


@pytest.fixture
def fault(read, tmp_path):
    """What is wrong with a text, without the folder."""

    def of_text(text, **kwargs):
        with pytest.raises(FileError) as caught:
            read(text, **kwargs)
        return str(caught.value).replace(f"{tmp_path}/", "")

    return of_text


def test_the_tiger_as_it_is_written_by_hand(read, tiger):
    model = read(
        "# The tiger\r\n"
        "discount : 0.95\r\n"
        "values:reward\r\n"
        "states: tiger-left tiger-right\r\n"
        "actions: listen open-left open-right\r\n"
        "observations: 2\r\n"
        "start: uniform\r\n"
        "T:listen\r\nidentity\r\n"
        "T:open-left\r\nuniform\r\n"
        "T:open-right uniform\r\n"
        "O:listen\r\n0.85 0.15\r\n0.15 0.85\r\n"
        "O:open-left uniform\r\n"
        "O:open-right\r\nuniform\r\n"
        "R:listen : * : * : * -1\r\n"
        "R:open-left : tiger-left : * : * -100\r\n"
        "R:open-left : tiger-right : * : * 10\r\n"
        "R:open-right : 0 : * : * 10\r\n"
        "R:2 : 1 : * : * -100"
    )
    assert model.observation.tolist() == tiger.observation.tolist()
    assert model.mdp.expected_reward().tolist() == tiger.mdp.expected_reward().tolist()
    for action in range(3):
        assert (model.mdp.transition_matrix(action) != tiger.mdp.transition_matrix(action)).nnz == 0
    assert model.start.tolist() == [0.5, 0.5]
    assert (model.action_labels, model.observation_labels) == (("listen", "open-left", "open-right"), None)


# ------------------------------------------------------------------------------------------- forms of entries

SIZES = {"T": "ass", "O": "asz", "R": "assz"}


class Dense:
    """A file as it grows, and what it says by the plain meaning of each line."""

    def __init__(self, draw):
        self.draw = draw
        self.size = {kind: draw(st.integers(1, 3)) for kind in "asz"}
        self.named = {kind: draw(st.booleans()) for kind in "asz"}
        self.table = {key: np.zeros([self.size[kind] for kind in kinds]) for key, kinds in SIZES.items()}
        self.start = np.full(self.size["s"], 1 / self.size["s"])
        self.lines = []

    def names(self, kind):
        if not self.named[kind]:
            return str(self.size[kind])
        return " ".join(f"{kind}-{k}" for k in range(self.size[kind]))

    def slot(self, kind):
        k = self.draw(st.integers(-1, self.size[kind] - 1))
        if k < 0:
            return "*", slice(None)
        return (f"{kind}-{k}" if self.named[kind] and self.draw(st.booleans()) else str(k)), k

    def number(self, key):
        if key == "R":
            return self.draw(st.sampled_from(["-1", "+2.5", "3e-1", ".5", "4.", "0"]))
        return self.draw(st.sampled_from(["1", "0.5", ".25", "0", "1.0E-1"]))

    def entry(self, key, told=None):
        kinds = SIZES[key]
        told = told or self.draw(st.integers(max(1, len(kinds) - 2), len(kinds)))
        slots = [self.slot(kind) for kind in kinds[:told]]
        colon = self.draw(st.sampled_from([" : ", ":", "\n:\t"]))
        head = colon.join([key, *[text for text, _ in slots]])
        head += colon if told == len(kinds) and self.draw(st.booleans()) else ""
        index = tuple(k for _, k in slots)
        free = [self.size[kind] for kind in kinds[told:]]
        choices = ["numbers"]
        if free and key != "R":
            choices += ["uniform"]
        if free and key == "T":
            choices += ["reset"]
        if len(free) == 2 and free[0] == free[1] and key != "R":
            choices += ["identity"]
        form = self.draw(st.sampled_from(choices))
        if form == "numbers":
            words = [self.number(key) for _ in range(int(np.prod(free)))]
            values = np.array(words, dtype=float).reshape(free)
            form = self.draw(st.sampled_from([" ", "\n", "  \n\t"])).join(words)
        elif form == "uniform":
            values = np.full(free, 1 / free[-1])
        elif form == "reset":
            values = np.broadcast_to(self.start, free)
        else:
            values = np.eye(free[0])
        self.table[key][index] = values
        self.lines.append(f"{head} {form}{self.draw(st.sampled_from(['', ' # why', '  ']))}")


@st.composite
def files(draw):
    """A text and the tables it stands for."""
    dense = Dense(draw)
    lines = [f"states: {dense.names('s')}", f"actions: {dense.names('a')}", f"observations: {dense.names('z')}"]
    lines += ["discount: 0.5"] + (["values: cost"] if (cost := draw(st.booleans())) else [])
    lines = draw(st.permutations(lines))
    if draw(st.booleans()):
        first = draw(st.integers(0, dense.size["s"] - 1))
        dense.start[:] = np.eye(dense.size["s"])[first]
        lines.append(f"start: {first}" if draw(st.booleans()) else f"start include: {first}")
    for _ in range(draw(st.integers(0, 8))):
        dense.entry(draw(st.sampled_from("TOR")))
    # Rows that would not be distributions are given last, and whole.
    for key in "TO":
        for a, s in np.argwhere(np.abs(dense.table[key].sum(axis=2) - 1) > 1e-9):
            size = dense.table[key].shape[2]
            row = np.eye(size)[draw(st.integers(0, size - 1))]
            dense.table[key][a, s] = row
            dense.lines.append(f"{key}: {a} : {s} " + " ".join(map(str, row)))
    return "\n".join(lines + dense.lines) + "\n", dense, -1 if cost else 1


@pytest.mark.slow
@given(drawn=files())
def test_every_form_means_what_it_says(drawn, tmp_path_factory):
    text, dense, sign = drawn
    path = tmp_path_factory.mktemp("models") / "model.pomdp"
    path.write_text(text)
    model = POMDP.read(path)
    P, R = model.mdp.dense()
    np.testing.assert_allclose(P, dense.table["T"].transpose(1, 0, 2), atol=1e-15)
    np.testing.assert_allclose(model.observation, dense.table["O"], atol=1e-15)
    mean = sign * np.einsum("atz,astz->sat", dense.table["O"], dense.table["R"])
    np.testing.assert_allclose(R, np.where(P > 0, mean, 0), atol=1e-14)
    np.testing.assert_allclose(model.start, dense.start, atol=1e-15)
    assert model.observation_labels == (tuple(dense.names("z").split()) if dense.named["z"] else None)


@pytest.mark.slow
@given(drawn=files(), batch=st.integers(1, 3), lookups=st.integers(1, 3))
def test_batches_of_any_size_say_the_same(drawn, batch, lookups, tmp_path_factory):
    text, _, _ = drawn
    path = tmp_path_factory.mktemp("models") / "model.pomdp"
    path.write_text(text)
    whole = POMDP.read(path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grammar, "BATCH", batch)
        patched.setattr(grammar, "WORDS", lookups)
        patched.setattr(reading, "BLOCK", lookups)
        parts = POMDP.read(path)
    # An odd blank among the names makes the reader go entry by entry.
    path.write_text(text.replace("discount: ", "discount:\u2003"), encoding="utf-8")
    slow = POMDP.read(path)
    for other in (parts, slow):
        assert other.mdp.probability.tolist() == whole.mdp.probability.tolist()
        assert other.mdp.reward.tolist() == whole.mdp.reward.tolist()
        assert other.observation.tolist() == whole.observation.tolist()


def test_rewards_of_observations_are_folded(read):
    model = read(
        f"{PREAMBLE}{T}O: * : * : dark 0.25 O: * : * : light 0.75\nR: go : * : * : light 8\nR: stay : 0 : 0 1 2"
    )
    assert model.mdp.expected_reward().tolist() == [[1.75, 6.0], [0.0, 6.0], [0.0, 6.0]]
    later = read(PREAMBLE + T + O + "R: go : * : * : light 8\nR: go : left : * : * 1")
    np.testing.assert_allclose(later.mdp.expected_reward()[:, 1], [1, 4, 4], rtol=1e-15)


def test_observations_may_be_many(read):
    model = read("discount: 1\nstates: 3\nactions: 1\nobservations: 1000000\nT: 0 identity\nO: 0 : * : 999999 1\n")
    assert model.n_observations == 10**6
    assert model.observation_rows.observation.tolist() == [999999] * 3
    assert model.update_belief([0.5, 0.5, 0], 0, 999999).tolist() == [0.5, 0.5, 0]


def test_the_discount_can_be_replaced_or_supplied(read, fault):
    assert read(PREAMBLE + T + O, gamma=0.5).gamma == 0.5
    without = PREAMBLE.replace("discount: 0.95\n", "") + T + O
    assert read(without, gamma=0.5).gamma == 0.5
    assert fault(without) == "model.pomdp has no 'discount:': pass gamma="
    with pytest.raises(ParameterError, match=r"gamma=2 is not in \[0, 1\]"):
        read(without, gamma=2)


def test_rounded_rows_are_rescaled(read):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = read(PREAMBLE + "start: .333333 .333333 .333333\n" + T + "O: *\n.500004 .5\n.1 .9\n.1 .9")
    assert exact.start.tolist() == [1 / 3] * 3
    np.testing.assert_allclose(exact.observation.sum(axis=2), 1, rtol=1e-15)
    with pytest.warns(RoundingWarning, match=r"model\.pomdp:8:1: 'O: stay : left' sums to 0\.999, not 1 \(missing"):
        read(PREAMBLE + T + "O: *\n.333 .666\n.1 .9\n.1 .9")
    with pytest.warns(RoundingWarning, match=r"model\.pomdp: the start distribution sums to 0\.999, not 1"):
        read(PREAMBLE + "start: .333 .333 .333\n" + T + O)


# ----------------------------------------------------------------------------------------------------- errors

FAULTS = {
    "8:19: unknown observation 'lit'; did you mean 'light'?": T + "O: stay : middle: lit 1",
    "8:17: expected an observation, found ':'": T + "O: stay : left :: 1",
    "8:11: unknown state 'up'; the first of the 3 states is 'left'": T + "O: stay : up : dark 1",
    "8:24: a probability is 1.5, not in [0, 1]": T + "O: stay : left : light 1.5",
    "8:1: 'O: stay : left' sums to 0.5, not 1 (missing 0.5)": T + "O: * : * : dark 0.5",
    "9:1: 'O: go : right' sums to 0.75, not 1 (missing 0.25)": T + O + "O: go : right : dark 0.25",
    "9:1: 'T: go : right' sums to 0.6666666667, not 1 (missing 0.3333333333)": T + O + "T: go : right : left 0",
    "8:15: no probability above 0 is given for 'O: stay : middle'": T + "O: * : 0 : 0 1",
    "8:6: 'reset' cannot stand for a matrix of O: write the numbers": T + "O: * reset",
    "8:6: 'identity' cannot stand for a matrix of O: write the numbers": T + "O: * identity",
    "9:21: expected ':' and state, found '1'": T + O + "R: stay             1 2",
    "9:33: expected reward 3 of 6, found the end of the file": T + O + "R: stay : left               1 2",
    "9:28: a reward is 1e400, too large for a float": T + O + "R: stay : left : right : * 1e400",
}


@pytest.mark.parametrize(("message", "lines"), FAULTS.items(), ids=list(FAULTS))
def test_faults_are_found_where_they_are(fault, message, lines):
    assert fault(PREAMBLE + lines) == f"model.pomdp:{message}"


PREAMBLE_FAULTS = {
    ":4:3: expected ':' after 'T', found 'go'": (
        "states: 2\nactions: go\nobservations: x y\nT go identity\nO: * uniform"
    ),
    ":4:7: expected ':' after 'start', found '0.5'": (
        "states: a b\nactions: go\nobservations: x y\nstart 0.5 0.5\nT: * identity\nO: * uniform"
    ),
    ":2:10: expected ':' after 'discount', found '0.9'": (
        "states: a b\ndiscount 0.9\nactions: go\nobservations: x y\nT: * identity\nO: * uniform"
    ),
    ":3:14: expected ':' after 'observations', found 'x'": (
        "states: a b\nactions: go stay\nobservations x y\nT: * identity\nO: * uniform"
    ),
    ":4:15: the file ends without 'observations:'; if states are observed, name it .mdp and use MDP.read": (
        "states: 1\nactions: 1\ndiscount: 1\nT: 0 : 0 : 0 1"
    ),
    " has no observations: no 'O:' in it": PREAMBLE + T,
    " has no transitions: no 'T:' in it": PREAMBLE + O,
    ":1:9: the number of states is 99999999999999999999, not in 1..16777216": "states: 99999999999999999999",
    ": 16777216 states and 3 actions need 50331648 rows of transitions; at most 33554432 can be read": (
        "discount: 1 states: 16777216 actions: 3 observations: 1 T: * : * : 0 1 O: * uniform"
    ),
    ":1:64: R has 4 x 16777216 x 16777216 x 16777216 cells; fewer than 2**62 can be numbered": (
        "discount: 1 states: 16777216 actions: 4 observations: 16777216 R: * : * : * : * 1"
    ),
}


@pytest.mark.parametrize(("message", "text"), PREAMBLE_FAULTS.items(), ids=list(PREAMBLE_FAULTS))
def test_faults_of_the_preamble(fault, message, text):
    assert fault(text) == f"model.pomdp{message}"


def test_too_many_rewards_to_look_up(fault, monkeypatch):
    monkeypatch.setattr(reading, "MAX_LOOKUPS", 7999)
    text = "discount: 1\nstates: 20\nactions: 1\nobservations: 20\nT: * uniform\nO: * uniform\nR: * : * : * : 0 1\n"
    assert fault(text) == (
        "model.pomdp: rewards that depend on the observation need 8000 look-ups; at most 7999 are allowed"
    )


def test_too_many_matrices_in_a_word(fault, monkeypatch):
    monkeypatch.setattr(grammar, "MAX_FILLED", 8)
    assert fault(PREAMBLE + "T: * identity\n" * 3 + O) == (
        "model.pomdp:8:6: up to here, 'identity' and 'reset' stand for more than 8 numbers; no more can be read"
    )


def test_suffixes_in_capitals(tmp_path):
    path = tmp_path / "MODEL.POMDP"
    path.write_text(PREAMBLE + T + O)
    assert POMDP.read(path).n_states == 3


def test_long_words_are_not_repeated_in_full(fault):
    for text in ("states: " + "9" * 10_000, PREAMBLE + "T: " + "x" * 10_000, "y" * 10_000):
        assert len(fault(text)) < 300


def test_foreign_suffixes(tiger, tmp_path):
    with pytest.raises(FileError, match=r"tiger\.mdp: a \.mdp file holds an MDP; use MDP\.read and"):
        tiger.write(tmp_path / "tiger.mdp")
    for method in (POMDP.read, MDP.read, tiger.write):
        with pytest.raises(FileError, match=r"tiger\.pomdpy: unknown suffix '\.pomdpy' \(choices: \.\w+, \.\w+"):
            method(tmp_path / "tiger.pomdpy")
    with pytest.raises(FileError, match=r"tiger\.pomdp: a \.pomdp file holds a POMDP; use POMDP\.read and"):
        MDP.read(tmp_path / "tiger.pomdp")
    with pytest.raises(FileError, match=r"there is no file .*tiger\.pomdp"):
        POMDP.read(tmp_path / "tiger.pomdp")


# ------------------------------------------------------------------------------------------------------- fuzz

WORDS = [
    *("T", "O", "R", ":", "*", "states", "actions", "observations", "discount", "values", "start", "include", "cost"),
    *("exclude", "uniform", "identity", "reset", "left", "go", "dark", "0", "1", "2", "99999999", "0.5", "-1", "1e999"),
    *("x" * 300, "nan", "1_0", "٣", "\u2003", "\x00", "\n", "#", "é", "-", "1e", "16777216", "9" * 5000),
]


def harmless(path, text):
    """Read a text; it may be refused, but in no other way than by a named error."""
    path.write_text(text, encoding="utf-8", errors="replace")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundingWarning)
        try:
            POMDP.read(path)
        except RlsuiteError as error:
            said = str(error)
        else:
            return True
    assert len(said) < 2000
    return False


@pytest.mark.slow
@pytest.mark.parametrize("rest", [" ", "\n", "# ", ":", "9", "T: ", "R: * : * : * : * 1\n"])
def test_long_files_are_not_read_again_and_again(rest, tmp_path):
    """With a step for each pair of characters this would take hours."""
    harmless(tmp_path / "model.pomdp", PREAMBLE + "T: * uniform\nO: * uniform\n" + rest * 300_000)
    harmless(tmp_path / "model.pomdp", PREAMBLE + "#" + rest * 300_000)


@given(words=st.lists(st.sampled_from(WORDS), max_size=40), preamble=st.booleans())
@settings(max_examples=200)
@example(words=["T", ":", "*", "uniform", "O", ":", "*", "uniform"], preamble=True)
def test_any_words_are_read_or_refused(words, preamble, tmp_path_factory):
    harmless(tmp_path_factory.mktemp("models") / "model.pomdp", (PREAMBLE if preamble else "") + " ".join(words))


@pytest.mark.slow
@given(drawn=files(), data=st.data())
def test_damaged_files_are_read_or_refused(drawn, data, tmp_path_factory):
    text = drawn[0]
    path = tmp_path_factory.mktemp("models") / "model.pomdp"
    assert harmless(path, text)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 4))
        text = text[:at] + data.draw(st.sampled_from(WORDS) | st.text(max_size=3)) + text[at + length :]
    harmless(path, text)
    harmless(path, text[: data.draw(st.integers(0, len(text)))])


# ---------------------------------------------------------------------------------------------------- writing


@pytest.mark.slow
@given(data=st.data())
def test_written_models_read_back(data, pomdps, tmp_path_factory):
    pomdp = data.draw(pomdps())
    pomdp = pomdp.replace(mdp=pomdp.mdp.replace(reward_std=None, bernoulli=None).with_all_legal())
    path = tmp_path_factory.mktemp("models") / "model.pomdp"
    pomdp.write(path)
    again, closed = POMDP.read(path), pomdp.mdp.without_termination()
    assert again.mdp.dense()[0].tolist() == closed.dense()[0].tolist()
    np.testing.assert_allclose(again.mdp.dense()[1], closed.dense()[1], atol=1e-15)
    assert again.start.tolist() == closed.start.tolist()
    ends = again.n_observations > pomdp.n_observations
    absorbing = again.observation[0, :, -1] == 1 if ends else np.zeros(again.n_states, dtype=bool)
    kept = np.flatnonzero(~absorbing)
    assert again.observation[:, kept, : pomdp.n_observations].tolist() == pomdp.observation[:, kept].tolist()
    again.write(path)
    assert POMDP.read(path).mdp.probability.tolist() == again.mdp.probability.tolist()


@pytest.mark.slow
@given(data=st.data())
def test_the_end_of_an_episode_changes_no_value(data, pomdps, tmp_path_factory):
    from rlsuite.planning import reachable_beliefs

    pomdp = data.draw(pomdps())
    pomdp = pomdp.replace(mdp=pomdp.mdp.replace(reward_std=None, bernoulli=None).with_all_legal())
    path = tmp_path_factory.mktemp("models") / "model.pomdp"
    pomdp.write(path)
    one, other = (reachable_beliefs(model, horizon=3, tol=1e-3) for model in (pomdp, POMDP.read(path)))
    assert one.lower_bound <= other.upper_bound
    assert other.lower_bound <= one.upper_bound


def test_what_is_written(tiger, tmp_path):
    short = tiger.replace(action_labels=("listen", "open-left", "open-right"), observation_labels=("l", "r"))
    short.write(tmp_path / "tiger.pomdp")
    lines = (tmp_path / "tiger.pomdp").read_text().splitlines()
    assert lines[:7] == [
        '# labels: {"states": ["tiger left", "tiger right"]}',
        "discount: 0.95",
        "values: reward",
        "states: tiger-left tiger-right",
        "actions: listen open-left open-right",
        "observations: l r",
        "start: 0.5 0.5",
    ]
    assert "T: listen : tiger-left : tiger-left 1.0" in lines
    assert "O: listen : tiger-left : l 0.85" in lines
    assert "R: open-left : tiger-left : * : * -100.0" in lines
    assert POMDP.read(tmp_path / "tiger.pomdp").observation.tolist() == tiger.observation.tolist()


def test_observations_that_do_not_depend_on_the_action_are_written_once(tmp_path):
    pomdp = POMDP.from_arrays(np.full((2, 3, 2), 0.5), [0, 0], [[0.75, 0.25], [0, 1]], gamma=0.9)
    pomdp.write(tmp_path / "model.pomdp")
    lines = (tmp_path / "model.pomdp").read_text().splitlines()
    assert [line for line in lines if line[0] == "O"] == ["O: * : 0 : 0 0.75", "O: * : 0 : 1 0.25", "O: * : 1 : 1 1.0"]
    assert POMDP.read(tmp_path / "model.pomdp").observation.tolist() == pomdp.observation.tolist()


def test_what_cannot_be_written(tmp_path):
    masked = POMDP.from_arrays([[[1], [0]]], [0], [[1.0]], gamma=0.9, legal=[[True, False]])
    with pytest.raises(FileError, match=r"cannot write .*: action 1 is illegal in state 0, which the \.pomdp format c"):
        masked.write(tmp_path / "model.pomdp")
    noisy = POMDP.from_arrays([[[1]]], [0], [[1.0]], gamma=0.9, reward_std=[[1]])
    with pytest.raises(FileError, match=r"some rewards are random"):
        noisy.write(tmp_path / "model.pomdp")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------- whole files

SHAPES = {
    "chase": (6, 3, 3, 0.9),
    "corridor": (5, 2, 3, 0.95),
    "cups": (3, 4, 4, 0.8),
    "ferry": (8, 3, 5, 0.95),
    "machine": (3, 3, 2, 0.9),
    "mouse": (11, 4, 7, 0.95),
    "two-doors": (2, 3, 2, 0.95),
}
CLASSIC_SHAPES = {
    "1d": (4, 2, 2, 0.75),
    "4x3.95": (11, 4, 6, 0.95),
    "cheese.95": (11, 4, 7, 0.95),
    "hallway": (60, 5, 21, 0.95),
    "network": (7, 4, 2, 0.95),
    "query.s2": (9, 2, 3, 0.99),
    "shuttle.95": (8, 3, 5, 0.95),
    "tag-avoid": (870, 5, 30, 0.95),
    "tiger-grid": (36, 5, 17, 0.95),
    "tiger.95": (2, 3, 2, 0.95),
    "tiger.aaai": (2, 3, 2, 0.75),
    "web-ad": (4, 3, 5, 0.95),
}


FILES = {PROBLEMS / f"{name}.pomdp": shape for name, shape in SHAPES.items()}
FILES |= {file: shape for name, shape in CLASSIC_SHAPES.items() if (file := CLASSICS / f"{name}.pomdp").is_file()}


@pytest.mark.parametrize(("path", "shape"), FILES.items(), ids=lambda each: each.stem if isinstance(each, Path) else "")
def test_a_file_is_read_and_written(path, shape, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = POMDP.read(path)
    assert (model.n_states, model.n_actions, model.n_observations, model.gamma) == shape
    model.write(tmp_path / "again.pomdp")
    again = POMDP.read(tmp_path / "again.pomdp")
    assert again.observation.tolist() == model.observation.tolist()
    assert again.mdp.probability.tolist() == model.mdp.probability.tolist()
    assert again.mdp.reward.tolist() == model.mdp.reward.tolist()
    assert again.start.tolist() == model.start.tolist()


def test_every_problem_is_looked_at():
    assert {file.stem for file in PROBLEMS.glob("*.pomdp")} == set(SHAPES)


def assert_is(model, transition, reward, observation, start):
    """Compare with dense tables: (A, S, S), (S, A), (A, S, Z) or (S, Z), (S,)."""
    found = np.stack([model.mdp.transition_matrix(a).toarray() for a in range(model.n_actions)])
    np.testing.assert_allclose(found, transition, atol=1e-15)
    np.testing.assert_allclose(model.mdp.expected_reward(), reward, atol=1e-15)
    np.testing.assert_allclose(model.observation, np.broadcast_to(observation, model.observation.shape), atol=1e-15)
    np.testing.assert_allclose(model.start, start, atol=1e-15)


def test_the_machine_number_by_number():
    wears = [[0.8, 0.15, 0.05], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]]
    told = [[0.9, 0.1], [0.6, 0.4], [0.1, 0.9]]
    assert_is(
        POMDP.read(PROBLEMS / "machine.pomdp"),
        [wears, np.eye(3), [[1.0, 0.0, 0.0]] * 3],
        [[4.0, -0.5, -3.0], [2.0, -0.5, -3.0], [-1.0, -0.5, -3.0]],
        [told, [[1.0, 0.0], [0.6, 0.4], [0.0, 1.0]], told],
        [1.0, 0.0, 0.0],
    )


def test_the_cups_number_by_number():
    path = PROBLEMS / "cups.pomdp"
    assert path.read_bytes().count(b"\r\n") > 30
    seen = np.hstack([0.55 * np.eye(3) + 0.15, np.zeros((3, 1))])
    guessed = np.tile([0.0, 0.0, 0.0, 1.0], (3, 1))
    assert_is(
        POMDP.read(path),
        [np.eye(3), *[np.full((3, 3), 1.0 / 3.0)] * 3],
        np.hstack([-np.ones((3, 1)), 16.0 * np.eye(3) - 6.0]),  # prices are rewards with the other sign
        [seen, guessed, guessed, guessed],
        np.full(3, 1.0 / 3.0),
    )


def test_the_corridor_number_by_number():
    law = np.zeros((2, 5, 5))
    for action, step in enumerate((-1, 1)):
        for square in (0, 1, 2, 4):
            law[action, square, square] += 0.2
            law[action, square, min(max(square + step, 0), 4)] += 0.8
    law[:, 3, :3] = 1.0 / 3.0
    seen = np.eye(3)[[1, 0, 0, 2, 1]]
    start = [0.25, 0.25, 0.25, 0.0, 0.25]
    assert_is(POMDP.read(PROBLEMS / "corridor.pomdp"), law, law[:, :, 3].T, seen, start)


def test_the_chase_number_by_number():
    law = np.zeros((3, 6, 6))
    for ahead in range(5):
        law[0, ahead, [(ahead - 1) % 5, ahead]] = 0.25, 0.75
        law[1, ahead, [(ahead + 1) % 5, (ahead + 2) % 5]] = 0.5
        law[2, ahead, ahead if ahead else 5] = 1.0
    law[:, 5, 5] = 1.0
    reward = [[-1.0, -1.0, 10.0], *[[-1.0, -1.0, -5.0]] * 4, [0.0, 0.0, 0.0]]
    seen = np.eye(3)[[1, 0, 0, 0, 0, 2]]
    assert_is(POMDP.read(PROBLEMS / "chase.pomdp"), law, reward, seen, [0.0, 0.25, 0.25, 0.25, 0.25, 0.0])
