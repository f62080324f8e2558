"""Explicit files of PRISM and Storm: what they mean, that written models read back, and where errors are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.errors import FileError, ParameterError
from rlsuite.models import MDP, MarkovChain

PRISM = "3 4 6\n0 0 1 0.5\n0 0 2 0.5\n0 1 0 1\n1 0 1 .25\n1 0 2 .75\n2 0 2 1\n"
STORM = "mdp\n" + PRISM.partition("\n")[2]
PRISM_LABELS = '0="init" 1="deadlock" 2="goal"\n0: 0\n2: 2\n'
STORM_LABELS = "#DECLARATION\ninit deadlock\ngoal\n#END\n0 init\n2 goal\n"
ROWS = [
    {0: [(0.5, 1, 0.0, False), (0.5, 2, 0.0, False)], 1: [(1.0, 0, 0.0, False)]},
    {0: [(0.25, 1, 0.0, False), (0.75, 2, 0.0, False)], 1: []},
    {0: [(1.0, 2, 0.0, False)], 1: []},
]


@pytest.fixture
def read(tmp_path):
    """Read a model from the texts of its files, by suffix."""

    def from_texts(tra, gamma=0.9, files=(), **texts):
        (tmp_path / "model.tra").write_text(tra)
        for suffix, text in texts.items():
            (tmp_path / f"model.{suffix}").write_text(text)
        return MDP.read(tmp_path / "model.tra", gamma=gamma, **dict(files))

    return from_texts


@pytest.fixture
def fault(read, tmp_path):
    """What is wrong with the files, without the folder."""

    def of_texts(*args, **kwargs):
        with pytest.raises(FileError) as caught:
            read(*args, **kwargs)
        return str(caught.value).replace(f"{tmp_path}/", "")

    return of_texts


# ------------------------------------------------------------------------------------------------ transitions


@pytest.mark.parametrize("tra", [PRISM, STORM, STORM.removeprefix("mdp\n"), f"\n{PRISM}\n\n".replace("\n", "\r\n")])
@pytest.mark.parametrize("lab", [PRISM_LABELS, STORM_LABELS, "\n" + PRISM_LABELS.replace("0: 0", "0:0")])
def test_both_dialects(read, tra, lab):
    mdp = read(tra, lab=lab)
    assert mdp.to_table() == dict(enumerate(ROWS))
    assert mdp.start.tolist() == [1, 0, 0]
    assert mdp.action_labels is None


def test_lines_in_any_order(read, same):
    header, *lines = PRISM.splitlines()
    mixed = [lines[k] for k in (5, 2, 3, 0, 4, 1)]
    same(read(PRISM), read("\n".join([header, *mixed])))


def test_without_labels_any_state_with_a_choice_may_be_the_first(read):
    assert read("mdp\n0 0 1 1\n1 0 2 1\n").start.tolist() == [0.5, 0.5, 0.0]


def test_states_without_choices_are_ends(read):
    mdp = read("4 2 2\n0 0 1 1\n1 0 2 1\n")
    assert mdp.n_states == 4
    assert mdp.terminated.tolist() == [False, True]


def test_terminal_states(read):
    mdp = read(PRISM, lab=PRISM_LABELS, srew="1 5\n2 7\n", files={"end": "goal"})
    assert mdp.legal.tolist() == [[True, True], [True, False], [False, False]]
    assert mdp.terminated.tolist() == [False, True, False, False, True]
    assert mdp.reward.tolist() == [0, 0, 0, 5, 5]


def test_several_initial_states_are_equally_likely(read):
    assert read(STORM, lab="#DECLARATION\ninit\n#END\n0 init\n2 init\n").start.tolist() == [0.5, 0, 0.5]


def test_actions_by_name(read):
    named = "2 3 3\n0 0 0 1 stay\n0 1 1 1 go\n1 0 0 1 go\n"
    mdp = read(named)
    assert mdp.action_labels == ("stay", "go")
    assert mdp.legal.tolist() == [[True, True], [False, True]]
    numbered = read(named.replace("stay", "2").replace("go", "0"))
    assert numbered.action_labels is None
    assert numbered.legal.tolist() == [[True, False, True], [True, False, False]]
    assert numbered.next_state.tolist() == [1, 0, 0]


@pytest.mark.parametrize("second", ["go", ""])
def test_names_that_do_not_tell_choices_apart_are_not_used(read, second):
    mdp = read(f"2 3 3\n0 0 0 1 go\n0 1 1 1 {second}\n1 0 0 1 go\n")
    assert mdp.action_labels is None
    assert mdp.legal.tolist() == [[True, True], [True, False]]


def test_one_choice_under_two_names_is_not_told_apart_either(read):
    assert read("2 2 3\n0 0 0 0.5 go\n0 0 1 0.5 stay\n1 0 0 1 go\n").action_labels is None


def test_rounded_probabilities_are_rescaled(read):
    third = "mdp\n0 0 0 0.333333\n0 0 1 0.333333\n0 0 2 0.333333\n1 0 1 1\n2 0 2 1\n"
    np.testing.assert_allclose(read(third).probability[:3], 1 / 3, rtol=1e-15)


# ---------------------------------------------------------------------------------------------------- rewards


@pytest.mark.parametrize(
    "rewards",
    [
        {"rew": "3 4 2\n0 0 2 1.5\n0 1 0 -2\n"},
        {"trew": "0 0 2 1.5\n0 1 0 -2e0\n"},
        {"rewt": '# Reward structure "steps"\n# Transition rewards\n3 4 2\n0 0 2 1.5\n0 1 0 -2\n'},
    ],
)
def test_rewards_of_transitions(read, rewards):
    assert read(PRISM, **rewards).reward.tolist() == [0, 1.5, -2, 0, 0, 0]


@pytest.mark.parametrize("rewards", [{"srew": "3 2\n0 1.5\n2 -2\n"}, {"rews": "0 1.5\n2 -2\n"}, {"rew": "0 1.5\n2 -2"}])
def test_rewards_of_states_are_paid_on_leaving(read, rewards):
    assert read(PRISM, **rewards).reward.tolist() == [1.5, 1.5, 1.5, 0, 0, -2]


def test_rewards_add_up(read, tmp_path):
    texts = {"srew": "3 1\n0 1\n", "trew": "3 4 1\n0 0 2 10\n"}
    assert read(PRISM, **texts).reward.tolist() == [1, 11, 1, 0, 0, 0]
    (tmp_path / "other").write_text("1 7\n")
    assert read(PRISM, files={"rewards": tmp_path / "other"}).reward.tolist() == [0, 0, 0, 7, 7, 0]
    both = [tmp_path / "other", str(tmp_path / "model.srew")]
    assert read(PRISM, files={"rewards": both}).reward.tolist() == [1, 1, 1, 7, 7, 0]
    assert read(PRISM, files={"rewards": []}).reward.tolist() == [0] * 6
    for of_choices in ("0 0 1.5\n0 1 -2\n", "3 4 2\n0 1 -2\n0 0 1.5\n"):
        (tmp_path / "other").write_text(of_choices)
        assert read(PRISM, files={"rewards": tmp_path / "other"}).reward.tolist() == [1.5, 1.5, -2, 0, 0, 0]


def test_an_empty_reward_file_pays_nothing(read):
    assert read(PRISM, rew="3 4 0\n").reward.tolist() == [0] * 6


# ----------------------------------------------------------------------------------------------------- errors

TRA_FAULTS = {
    ":3: the line has 3 words; it must read 'state choice successor probability [action]'": "mdp\n0 0 0 1\n0 1 0\n",
    ":4: the line has 6 words; it must read 'state choice successor probability [action]'": (
        "1 2 2\n0 0 0 1\n\n0 1 0 1 a b\n"
    ),
    ":3: 'x' is not a finite number": "mdp\n0 0 0 1\n0 1 x 1\n",
    ":2: 'nan' is not a finite number": "mdp\n0 0 0 nan\n",
    ":2: '0x1' is not a finite number": "mdp\n0 0 0 0x1\n",
    ":2: '1x' is not a finite number": "mdp\n0 0 0 1x\n",
    ":3: '1e999' is not a finite number": "mdp\n0 0 0 1.0e-300\n0 0 0 1e999\n",
    ":3: 2 is not a state: the states are 0..1": "2 2 2\n0 0 1 1\n1 0 2 1\n",
    ":2: -1 is not a state: a whole number of at least 0 is needed": "mdp\n-1 0 0 1\n",
    ":2: 0.5 is not a choice: a whole number of at least 0 is needed": "mdp\n0 .5 0 1\n",
    ":3: the probability is 1.5, not in [0, 1]": "mdp\n0 0 0 1\n0 1 0 1.5\n",
    ":1: '2 3' is not a header of an MDP: the first line is 'mdp' or the numbers of states, choices and transitions; "
    "this is the header of a Markov chain, which has no choices: use rl.MarkovChain.read": "2 3\n0 0 1\n",
    ":1: 'dtmc' is not a header of an MDP: the first line is 'mdp' or the numbers of states, choices and transitions; "
    "this is the header of a Markov chain, which has no choices: use rl.MarkovChain.read": "dtmc\n0 0 1\n",
    ":1: '@type: mdp' is not a header of an MDP: the first line is 'mdp' or the numbers of states, choices and "
    "transitions": "@type: mdp\n",
    ":1: '3 four 6' is not a header of an MDP: the first line is 'mdp' or the numbers of states, choices and "
    "transitions": "3 four 6\n0 0 0 1\n",
    " is empty: it has no transitions": "",
    " announces 4 choices, but holds 3: it is truncated, or its header is wrong": PRISM.removesuffix("2 0 2 1\n"),
    " announces 6 transitions, but holds 5: it is truncated, or its header is wrong": PRISM.replace("1 0 1 .25\n", ""),
    ": the row of state 0 and action 1 sums to 0.9, not 1 (missing 0.1)": "mdp\n0 0 0 1\n0 1 0 .9\n",
    ": the row of state 0 and action 'b' sums to 0.9, not 1 (missing 0.1)": "mdp\n0 0 0 1 a\n0 1 0 .9 b\n",
}


@pytest.mark.parametrize(("message", "tra"), TRA_FAULTS.items(), ids=list(TRA_FAULTS))
def test_faulty_transitions(fault, message, tra):
    assert fault(tra) == f"model.tra{message}"


OTHER_FAULTS = {
    "model.lab is empty: its first line must declare the labels": {"lab": "\n"},
    "model.lab:1: 'init' is not a label; the first line reads '0=\"init\" 1=\"deadlock\" ...'": {"lab": "init\n0: 0"},
    "model.lab:2: expected 'state: labels', found '0 0'": {"lab": '0="init"\n0 0\n'},
    "model.lab:2: '1' is not a label; the first line declares 0": {"lab": '0="init"\n0: 1\n'},
    "model.lab:2: '3' is not a state; the states are 0..2": {"lab": '0="init"\n3: 0\n'},
    "model.lab:1: #DECLARATION without #END": {"lab": "#DECLARATION\ninit\n0 init"},
    "model.lab:4: unknown label 'int'; did you mean 'init'? (choices: init)": {
        "lab": "#DECLARATION\ninit\n#END\n0 int"
    },
    "model.lab:4: 'x' is not a state; the states are 0..2": {"lab": "#DECLARATION\ninit\n#END\nx init"},
    "model.lab: unknown label 'init' (choices: goal)": {"lab": '0="goal"\n0: 0'},
    "model.lab: unknown label 'gaol'; did you mean 'goal'? (choices: deadlock, goal, init)": {
        "lab": PRISM_LABELS,
        "files": {"end": "gaol"},
    },
    "end='goal' is a label, but there is no label file model.lab: pass labels=": {"files": {"end": "goal"}},
    "model.tra holds no valid model: start[0] is 1, but state 0 has no legal action": {
        "lab": PRISM_LABELS,
        "files": {"end": "init"},
    },
    "there is no file none.lab": {"files": {"labels": "none.lab"}},
    "there is no file none.rew": {"files": {"rewards": "none.rew"}},
    "model.rew:3: choice 1 of state 1 does not lead to state 0": {"rew": "3 4 2\n0 0 1 1\n1 1 0 1\n"},
    "model.rew:3: the reward of this transition is given twice": {"rew": "0 0 1 1\n\n0 0 1 2\n"},
    "model.rew:2: the line has 3 words; it must read 'state choice successor reward' or 'state reward' or 'state "
    "choice reward'": {"rew": "0 0 1 1\n0 1 1"},
    "model.rew:2: 3 is not a state: the states are 0..2": {"rew": "# comment\n3 0 1 1\n"},
    "model.rew:1: 'a b c' is neither a reward nor the numbers of states, choices and rewards": {"rew": "a b c\n"},
    "model.rew announces 2 rewards, but holds 1: it is truncated, or its header is wrong": {"rew": "3 4 2\n0 0 1 1\n"},
    "model.srew announces 2 rewards, but holds 1: it is truncated, or its header is wrong": {"srew": "3 2\n0 1\n"},
    "model.srew:2: 3 is not a state: the states are 0..2": {"srew": "0 1\n3 1\n"},
    "model.srew:4: the reward of this state is given twice": {"srew": "3 3\n1 1\n2 1\n1 1\n"},
    "model.srew:2: 'inf' is not a finite number": {"srew": "0 1\n1 inf\n"},
}


@pytest.mark.parametrize(("message", "texts"), OTHER_FAULTS.items(), ids=list(OTHER_FAULTS))
def test_faulty_labels_and_rewards(fault, message, texts):
    assert fault(PRISM, **texts) == message


def test_the_discount_is_needed(read, tmp_path):
    with pytest.raises(ParameterError, match=r"model\.tra holds no discount: pass gamma="):
        read(PRISM, gamma=None)
    with pytest.raises(ParameterError, match=r"gamma=2 is not in \[0, 1\]"):
        read(PRISM, gamma=2)
    with pytest.raises(FileError, match=r"there is no file .*none\.tra"):
        MDP.read(tmp_path / "none.tra", gamma=0.9)
    (tmp_path / "folder.tra").mkdir()
    with pytest.raises(FileError, match=r"folder\.tra cannot be read: Is a directory"):
        MDP.read(tmp_path / "folder.tra", gamma=0.9)


# ---------------------------------------------------------------------------------------------------- writing


def without_negative_rewards(mdp, dialect):
    return mdp.replace(reward=np.abs(mdp.reward)) if dialect == "storm" else mdp


@pytest.mark.slow
@given(data=st.data(), dialect=st.sampled_from(["prism", "storm"]))
def test_written_models_read_back(data, dialect, mdps, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.tra"
    mdp = without_negative_rewards(data.draw(mdps(noise=False)), dialect)
    starts = mdp.start > 0
    mdp = mdp.replace(start=starts / np.count_nonzero(starts))
    mdp.write(path, dialect=dialect)
    again, closed = MDP.read(path, gamma=mdp.gamma), mdp.without_termination()
    assert again.n_states == closed.n_states
    legal = np.zeros(closed.legal.shape, dtype=bool)
    legal[:, : again.n_actions] = again.legal  # the last action of all may be legal nowhere
    assert legal.tolist() == closed.legal.tolist()
    narrow = closed.dense()[0][:, : again.n_actions], closed.dense()[1][:, : again.n_actions]
    assert again.dense()[0].tolist() == narrow[0].tolist()
    np.testing.assert_allclose(again.dense()[1], narrow[1], atol=1e-15)
    assert again.start.tolist() == closed.start.tolist()


@pytest.mark.slow
@given(data=st.data(), dialect=st.sampled_from(["prism", "storm"]))
def test_ends_are_made_ends_again(data, dialect, mdps, same, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.tra"
    mdp = without_negative_rewards(data.draw(mdps(duplicates=False, noise=False, termination=False)), dialect)
    dead = ~mdp.legal.any(axis=1)
    idle = np.array([all(done and r == 0 for row in of.values() for _, _, r, done in row) for of in mdp.P.values()])
    starts = (mdp.start > 0) & ~idle
    if (idle & ~dead).any() or not starts.any() or not mdp.legal[:, -1].any():
        return
    mdp = mdp.replace(start=starts / np.count_nonzero(starts), state_labels=None)
    mdp.write(path, dialect=dialect)
    again = MDP.read(path, gamma=mdp.gamma, end="end" if dead.any() else None)
    same(mdp.replace(labels={"end": dead} if dead.any() else {}), again)


@pytest.fixture
def go_or_jump():
    return MDP.from_table(
        {
            0: {0: [(0.25, 1, 1.5, True), (0.75, 0, 0.0, False)], 1: [(1.0, 2, 0.0, True)]},
            1: {0: [], 1: [(1.0, 0, 3.0, False)]},
            2: {0: [], 1: []},
        },
        gamma=0.9,
        start=0,
        action_labels=["go", "jump"],
    )


@pytest.mark.parametrize("dialect", [None, "prism"])
def test_what_is_written_for_prism(go_or_jump, dialect, tmp_path):
    go_or_jump.write(tmp_path / "model.tra", dialect=dialect)
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == {
        "model.tra": "4 7 8\n0 0 0 0.75 go\n0 0 3 0.25 go\n0 1 2 1.0 jump\n1 0 0 1.0 jump\n"
        "2 0 2 1.0 go\n2 1 2 1.0 jump\n3 0 3 1.0 go\n3 1 3 1.0 jump\n",
        "model.lab": '0="init" 1="deadlock" 2="end"\n0: 0\n2: 2\n3: 2\n',
        "model.rew": "4 7 2\n0 0 3 1.5\n1 0 0 3.0\n",
    }
    again = MDP.read(tmp_path / "model.tra", gamma=0.9, end="end")
    assert again.action_labels == ("go", "jump")
    assert again.P[0][0] == [(0.75, 0, 0.0, False), (0.25, 3, 1.5, True)]


def test_what_is_written_for_storm(go_or_jump, same, tmp_path):
    go_or_jump.write(tmp_path / "model.tra", dialect="storm")
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == {
        "model.tra": "mdp\n0 0 0 0.75 go\n0 0 3 0.25 go\n0 1 2 1.0 jump\n1 0 0 1.0 jump\n"
        "2 0 2 1.0 go\n2 1 2 1.0 jump\n3 0 3 1.0 go\n3 1 3 1.0 jump\n",
        "model.lab": "#DECLARATION\ninit end\n#END\n0 init\n2 end\n3 end\n",
        "model.rew": "0 0 3 1.5\n1 0 0 3.0\n",
    }
    again = MDP.read(tmp_path / "model.tra", gamma=0.9, end="end")
    go_or_jump.write(tmp_path / "other.tra", dialect="prism")
    same(again, MDP.read(tmp_path / "other.tra", gamma=0.9, end="end"))


def test_labels_of_states_are_kept(go_or_jump, tmp_path):
    path = tmp_path / "model.tra"
    mdp = go_or_jump.replace(labels={"high": [0, 1], "_nowhere": [], "init": 0})
    for dialect in ("prism", "storm"):
        mdp.write(path, dialect=dialect)
        kept = MDP.read(path, gamma=0.9).labels
        # The start distribution says "init"; an extra state, the last, stands for the end of episodes.
        found = {label: mask.nonzero()[0].tolist() for label, mask in kept.items()}
        assert found == {"high": [0, 1], "_nowhere": [], "end": [2, 3]}
        MDP.read(path, gamma=0.9, end="end").write(path, dialect=dialect)
        assert MDP.read(path, gamma=0.9).labels["end"].tolist() == kept["end"].tolist()
    for label, states in {"a b": 0, "2nd": 0, "init": 1, "end": [1]}.items():
        with pytest.raises(FileError, match=f"the label '{label}' .*replace\\(labels="):
            go_or_jump.replace(labels={label: states}).write(path)


def test_without_rewards_storm_gets_one_of_0(tmp_path):
    MDP.from_successors([[1], [0]], [2, 0], gamma=0.9).write(tmp_path / "model.tra", dialect="storm")
    MDP.from_successors([[1], [0]], [0, 0], gamma=0.9).write(tmp_path / "model.tra", dialect="storm")
    assert (tmp_path / "model.rew").read_text() == "0 0 1 0.0\n"


def test_storm_reads_no_negative_rewards(tmp_path):
    mdp = MDP.from_successors([[0, 1], [0, 1]], [[0, 0], [-2, 1]], gamma=0.9)
    message = r"the reward of state 1 and action 0 is -2, and Storm reads no negative .* replace\(reward=-mdp\.reward\)"
    with pytest.raises(FileError, match=message):
        mdp.write(tmp_path / "model.tra", dialect="storm")
    assert list(tmp_path.iterdir()) == []


def test_dialects_that_do_not_exist(go_or_jump, tmp_path):
    with pytest.raises(ParameterError, match="unknown dialect 'stom'; did you mean 'storm'"):
        go_or_jump.write(tmp_path / "model.tra", dialect="stom")
    with pytest.raises(
        ParameterError, match=r"dialect='storm' applies only to \.tra files, and .*model\.npz is a \.npz file"
    ):
        go_or_jump.write(tmp_path / "model.npz", dialect="storm")


def test_a_long_word_is_refused_in_one_go(fault):
    """With a step for each pair of digits this would take hours."""
    assert "is not a finite number" in fault("mdp\n0 0 0 " + "9" * 300_000 + "x\n")


@pytest.mark.parametrize("labels", [["go", "to stay"], ["0", "1"], ["", "b"], None])
def test_actions_without_usable_names_are_numbered(tmp_path, labels):
    mdp = MDP.from_successors([[None, 0], [0, 1]], [1, 0], gamma=0.9, action_labels=labels)
    mdp.write(tmp_path / "model.tra")
    again = MDP.read(tmp_path / "model.tra", gamma=0.9)
    assert again.action_labels is None
    assert again.legal.tolist() == mdp.legal.tolist()


def test_what_cannot_be_written(tmp_path):
    uneven = MDP.from_successors([[0], [1]], [0, 0], gamma=0.9, start=[0.25, 0.75])
    with pytest.raises(
        FileError, match=r"cannot write .*model\.tra: the start distribution is not uniform .* replace\(start="
    ):
        uneven.write(tmp_path / "model.tra")
    noisy = MDP.from_successors([[0]], [0], gamma=0.9, reward_std=[1])
    with pytest.raises(FileError, match=r"some rewards are random, and the \.tra format holds mean rewards only"):
        noisy.write(tmp_path / "model.tra")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileError, match=r"cannot write .*model\."):
        noisy.replace(reward_std=None).write(tmp_path / "nowhere" / "model.tra")


def test_a_failed_write_keeps_all_old_files(tmp_path, monkeypatch):
    mdp = MDP.from_successors([[0]], [1], gamma=0.9)
    mdp.write(tmp_path / "model.tra")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    (tmp_path / "model.rew").unlink()
    (tmp_path / "model.rew").mkdir()
    with pytest.raises(FileError, match=r"cannot write .*model\.rew: it is a folder"):
        mdp.replace(reward=np.array([5.0])).write(tmp_path / "model.tra")
    after = {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()}
    assert after == {name: before[name] for name in ("model.tra", "model.lab")}


# ---------------------------------------------------------------------------------------------- Markov chains

CHAIN = "3 4\n0 1 0.25\n0 2 .75\n1 0 1\n2 2 1\n"


@pytest.fixture
def read_chain(tmp_path):
    def from_texts(tra, model=MarkovChain, **texts):
        for one in tmp_path.glob("chain.*"):
            one.unlink()
        for suffix, text in {"tra": tra, **texts}.items():
            (tmp_path / f"chain.{suffix}").write_text(text)
        return model.read(tmp_path / "chain.tra")

    return from_texts


def test_chains_in_both_dialects_and_back(read_chain, tmp_path):
    storm = "dtmc\n" + CHAIN.partition("\n")[2]
    for tra in (
        CHAIN,
        storm,
        storm.removeprefix("dtmc\n"),
        "\n".join([CHAIN.split("\n")[0], *CHAIN.split("\n")[:0:-1]]),
    ):
        for lab in (PRISM_LABELS, STORM_LABELS):
            for rewards in ({"srew": "0 2\n"}, {"srew": "3 1\n0 2\n"}, {"trew": "3 1\n0 1 8\n"}, {"rew": "0 1 8"}):
                chain = read_chain(tra, lab=lab, **rewards)
                assert chain.transition.toarray().tolist() == [[0, 0.25, 0.75], [1, 0, 0], [0, 0, 1]]
                assert chain.reward.tolist() == [2, 0, 0]
                labels = {label: mask.nonzero()[0].tolist() for label, mask in chain.labels.items()}
                assert labels == {"init": [0], "goal": [2]}
    assert read_chain(CHAIN, srew="0 1\n", trew="0 1 8\n").reward.tolist() == [3, 0, 0]
    chain = MarkovChain(chain.transition, [0.1, 0, 3], ["a", "b", "c"], {"init": [0], "goal_2": [1, 2]})
    for name, dialect in (("one.npz", None), ("one.tra", None), ("one.tra", "prism"), ("two.tra", "storm")):
        chain.write(tmp_path / name, dialect=dialect)
        again = MarkovChain.read(tmp_path / name)
        assert again.transition.toarray().tolist() == chain.transition.toarray().tolist()
        assert again.reward.tolist() == chain.reward.tolist()
        assert again.state_labels == (chain.state_labels if name == "one.npz" else None)
        assert {k: v.tolist() for k, v in again.labels.items()} == {k: v.tolist() for k, v in chain.labels.items()}


@pytest.mark.slow
def test_faulty_chains(read_chain, fault, tmp_path):
    for text, message in (
        ("0 0 1\n1 1 1", "model.rew:2: state 1 has no choice 1"),
        ("0 0 1\n0 0 1", "model.rew:2: the reward of this choice is given twice"),
        ("3 4 2\n0 0 1\n", "model.rew announces 2 rewards, but holds 1: it is truncated, or its header is wrong"),
    ):
        assert fault(PRISM, rew=text) == message
    (tmp_path / "model.rew").unlink()
    faults = {
        ":2: the line has 4 words; it must read 'state successor probability', and with a choice it is an MDP: use "
        "'rl.MDP.read'": {"tra": PRISM},
        ":1: 'mdp' is not a header of a Markov chain: the first line is 'dtmc' or the numbers of states and "
        "transitions; a file with choices holds an MDP: read it with rl.MDP.read": {"tra": STORM},
        "; chains in continuous time are not read": {"tra": "ctmc\n0 0 1\n"},
        " is empty: it has no transitions": {"tra": ""},
        ":2: 3 is not a state: the states are 0..2": {"tra": "3 1\n0 3 1\n"},
        ":2: the probability is 2, not in [0, 1]": {"tra": "dtmc\n0 0 2\n"},
        " announces 5 transitions, but holds 4: it is truncated": {"tra": CHAIN.replace("3 4", "3 5")},
        ": state 1 has no transitions; if it is never left, add the line '1 1 1'": {"tra": "dtmc\n0 1 1\n"},
        ": the row of state 0 sums to 0.5, not 1 (missing 0.5)": {"tra": "dtmc\n0 0 .5\n"},
        "chain.lab:2: '7' is not a state; the states are 0..2": {"tra": CHAIN, "lab": '0="init"\n7: 0\n'},
        "chain.trew:1: state 1 does not lead to state 2": {"tra": CHAIN, "trew": "1 2 1\n"},
        "chain.trew:2: the reward of this transition is given twice": {"tra": CHAIN, "trew": "0 1 1\n0 1 1\n"},
        "chain.srew:2: the reward of this state is given twice": {"tra": CHAIN, "srew": "0 1\n0 1\n"},
        "chain.trew announces 2 rewards, but holds 1": {"tra": CHAIN, "trew": "3 2\n0 1 1\n"},
        "'a b c' is neither a reward nor the numbers of states and rewards": {"tra": CHAIN, "trew": "a b c\n0 1 1\n"},
    }
    for message, texts in faults.items():
        with pytest.raises(FileError) as caught:
            read_chain(**texts)
        assert message in str(caught.value), str(caught.value)
    with pytest.raises(FileError, match=r"which has no choices: use rl\.MarkovChain\.read"):
        read_chain(CHAIN, model=_Mdp)
    chain = MarkovChain([[0.5, 0.5], [0, 1]], [-1, 0], labels={"init": [0]})
    for path, keywords, error, message in (
        ("a.tra", {"dialect": "storm"}, FileError, "the reward of state 0 is -1, and Storm reads no negative rewards"),
        ("a.tra", {"dialect": "jani"}, ParameterError, "unknown dialect 'jani'"),
        ("a.npz", {"dialect": "storm"}, ParameterError, "applies only to .tra files"),
        ("a.prism", {}, FileError, "unknown suffix '.prism' (choices: .drn, .npz, .tra)"),
        ("none/a.tra", {}, FileError, "a.tra"),
    ):
        with pytest.raises(error) as caught:
            chain.write(tmp_path / path, **keywords)
        assert message in str(caught.value), str(caught.value)
    for labels, message in (
        ({}, r"labels=\{'init': \[0\]\}"),
        ({"init": 0, "a b": 1}, "the label 'a b' cannot be written"),
    ):
        with pytest.raises(FileError, match=message):
            MarkovChain(chain.transition, labels=labels).write(tmp_path / "a.tra")
    chain.write(tmp_path / "a.npz")
    with pytest.raises(
        FileError, match=r"holds a model of the kind MarkovChain, not MDP: read it with MarkovChain\.read"
    ):
        MDP.read(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        content = dict(arrays)
    for change, message in (
        ({"indices": np.array([0, 1, 5], dtype=np.int32)}, "are not a sparse matrix"),
        ({"indptr": np.array([0, 5, 3], dtype=np.int32)}, "are not a sparse matrix"),
        ({"data": np.array([0.5, 0.5, 0.5])}, "holds no valid chain: transition"),
        ({"reward": np.zeros(3)}, "a.npz"),
        ({"labelled": np.ones((1, 3), dtype=bool)}, "holds no valid chain: labels"),
        ({"more": np.ones(1)}, "unknown array 'more'"),
    ):
        np.savez(tmp_path / "b.npz", **content | change)
        with pytest.raises(FileError) as caught:
            MarkovChain.read(tmp_path / "b.npz")
        assert message.replace("a.npz", "b.npz") in str(caught.value), str(caught.value)


class _Mdp:
    @staticmethod
    def read(path):
        return MDP.read(path, gamma=1.0)
