"""POMDPX: tables and diagrams that mean the same, round trips, and where errors are found."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import FileError, RoundingWarning
from rlsuite.models import MDP, POMDP

PROBLEMS = Path(__file__).parent.parent / "problems"

TABLES = (PROBLEMS / "rover.pomdpx").read_text()
DIAGRAMS = (PROBLEMS / "rover-diagrams.pomdpx").read_text()
SLIP = ((0.1, 0.9, 0.0), (0.0, 0.1, 0.9), (0.0, 0.0, 1.0))


def rover():
    """The same model from Python functions."""

    def go(state, action):
        place, rock = state
        ahead = {place: 1.0}
        if action == "west" and place == 1:
            ahead = {0: 0.9, 1: 0.1}
        if action == "east":
            ahead = {s: p for s, p in enumerate(SLIP[place]) if p}
        return {(s, "bad" if action == "take" and s == 0 else rock): p for s, p in ahead.items()}

    def see(action, state):
        place, rock = state
        shiny = 0.5
        if action == "look" and place < 2:
            right = (1.0, 0.8)[place]
            shiny = right if rock == "good" else 1 - right
        return {("shiny", place): shiny, ("dull", place): 1 - shiny}

    def pay(state, action, after, seen):
        place, rock = state
        value = {("take", 0): 10 if rock == "good" else -10, ("take", 1): -100, ("east", 1): 10}.get((action, place), 0)
        return value + (0 if seen[0] == "dull" else (-1, -2, -5)[after[0]])

    return POMDP.from_function(
        go,
        see,
        {(1, "good"): 0.5, (1, "bad"): 0.5},
        actions=["west", "east", "look", "take"],
        observations=[(seen, place) for seen in ("shiny", "dull") for place in range(3)],
        observed_reward=pay,
        gamma=0.95,
    )


@pytest.fixture
def read(tmp_path):
    def from_text(text, suffix=".pomdpx", model=POMDP, **keywords):
        (tmp_path / f"rover{suffix}").write_text(text, encoding="latin-1")
        return model.read(tmp_path / f"rover{suffix}", **keywords)

    return from_text


def test_tables_and_diagrams_and_functions_are_the_same_model(read, same):
    read_ones = [read(text) for text in (TABLES, DIAGRAMS)]
    expected = rover()
    for pomdp in read_ones:
        assert pomdp.state_labels == ("s0 good", "s0 bad", "s1 good", "s1 bad", "s2 good", "s2 bad")
        assert pomdp.observation_labels[:2] == ("shiny s0", "shiny s1")
        assert pomdp.action_labels == expected.action_labels
        order = [expected.mdp.index_of(repr((int(name[1]), name[3:]))) for name in pomdp.state_labels]
        P, R = pomdp.mdp.dense()
        P2, R2 = expected.mdp.dense()
        np.testing.assert_allclose(P, P2[order][:, :, order], atol=1e-15)
        np.testing.assert_allclose(R, R2[order][:, :, order], atol=1e-13)
        np.testing.assert_allclose(pomdp.start, expected.start[order], atol=1e-15)
        # Of states that an action does not lead to, the function does not say what is seen.
        led = (P > 0).any(axis=0)
        np.testing.assert_allclose(pomdp.observation[led], expected.observation[:, order][led], atol=1e-15)
    same(read_ones[0].mdp, read_ones[1].mdp, but=["probability", "reward"])


def equal(one, other, labels=True):
    """Assert that two POMDPs agree in every bit."""
    pairs = [(one.mdp.rows[k], other.mdp.rows[k]) for k in range(5)]
    pairs += [(one.start, other.start), *zip(one.observation_rows, other.observation_rows, strict=True)]
    for left, right in pairs:
        np.testing.assert_array_equal(left, right)
    if labels:
        assert (one.state_labels, one.action_labels) == (other.state_labels, other.action_labels)
        assert one.observation_labels == other.observation_labels
    assert one.gamma == other.gamma


@pytest.mark.slow
def test_written_files_are_those_of_cassandras_format(tmp_path):
    """What is read back from both formats is the same, bit for bit."""
    shared = sorted((Path(__file__).parents[3] / "shared" / "pomdp").glob("*.pomdp"))
    for file in [*sorted(PROBLEMS.glob("*.pomdp")), *shared]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RoundingWarning)
            pomdp = POMDP.read(file, gamma=0.9)
        pomdp.write(tmp_path / "one.pomdpx")
        pomdp.write(tmp_path / "one.pomdp")
        equal(POMDP.read(tmp_path / "one.pomdpx"), POMDP.read(tmp_path / "one.pomdp"), labels=False)


@pytest.mark.slow
def test_ends_and_labels(tmp_path):
    pomdp = POMDP.read(PROBLEMS / "two-doors.pomdp")
    named = pomdp.replace(state_labels=["left", "right"], observation_labels=["s 0", "o"], name="")
    named.write(tmp_path / "tiger.pomdpx")
    again = POMDP.read(tmp_path / "tiger.pomdpx")
    assert again.state_labels == ("left", "right")
    assert again.observation_labels is None
    cups = POMDP.from_function(
        lambda cup, action: (
            [(1.0, cup, -1.0, False)] if action == "look" else [(1.0, cup, 10.0 * (action == cup), True)]
        ),
        lambda action, cup: cup,
        {"left": 0.5, "right": 0.5},
        actions=["look", "left", "right"],
        gamma=0.9,
    )
    cups.write(tmp_path / "cups.pomdpx")
    again = POMDP.read(tmp_path / "cups.pomdpx")
    assert again.n_states == 3
    assert again.observation_labels == ("left", "right", "end")
    assert rl.solve(again, tol=1e-6).value(again.start) == pytest.approx(rl.solve(cups, tol=1e-6).value(cups.start))
    with pytest.raises(FileError, match=r"cannot write .*\.pomdpx.*with_all_legal\(\)"):
        POMDP.from_arrays([[[1.0]], [[0.0]]], [0], [[1.0]], order="ass", legal=[[True, False]], gamma=0.9).write(
            tmp_path / "x.pomdpx"
        )


@pytest.mark.slow
def test_observed_states_make_an_mdp(read):
    text = TABLES.replace('vnameCurr="rock_1"', 'vnameCurr="rock_1" fullyObs="true"')
    mdp = read(text, model=MDP)
    assert (mdp.n_states, mdp.gamma, mdp.start.tolist()) == (6, 0.95, [0, 0, 0.5, 0.5, 0, 0])
    pomdp = read(TABLES)
    np.testing.assert_array_equal(mdp.dense()[1], pomdp.mdp.dense()[1])
    with pytest.raises(FileError, match=r"rock_0 is fully observable and its first value is random"):
        read(text)
    with pytest.raises(FileError, match=r"holds a POMDP: rock_0 is not fully observable; read it with rl\.POMDP\.read"):
        read(TABLES, model=MDP)
    with pytest.raises(FileError, match=r"a \.pomdpx file holds a POMDP; use POMDP\.read"):
        mdp.write("x.pomdpx")


def changed(text, **changes):
    """Text with some parts replaced; each must occur."""
    for one, other in changes.values():
        assert one in text, one
        text = text.replace(one, other)
    return text


def tables(one, other):
    return changed(TABLES, change=(one, other))


def diagrams(one, other):
    return changed(DIAGRAMS, change=(one, other))


MANY = "".join(
    f'<StateVar vnamePrev="x{k}_0" vnameCurr="x{k}_1"><NumValues>2</NumValues></StateVar>' for k in range(40)
)
PLACE = TABLES[TABLES.index("  <CondProb><Var>place_0") : TABLES.index("  <CondProb><Var>rock_0")]
FAULTS = {
    "rover.pomdpx:3:13: this is not XML: not well-formed": tables("<Description>A", "<Description<"),
    ":2: a document type declaration (<!DOCTYPE ...>) may define entities, and is not read: delete it": tables(
        "<pomdpx ", '<!DOCTYPE pomdpx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><pomdpx '
    ),
    ":2: a document type": tables("<pomdpx ", '<!DOCTYPE pomdpx SYSTEM "/etc/passwd"><pomdpx '),
    "this is not XML: undefined entity": tables("A rover", "A &rover;"),
    ":1: its encoding cannot be read": tables("ISO-8859-1", "no-such-encoding"),
    ":2: the file holds <pomdp>, not <pomdpx>": tables("pomdpx", "pomdp"),
    "elements are within each other more than 200 deep": tables("<Description>", "<Description>" + "<a>" * 300),
    ":4: <Discount> is '2', not a number in [0, 1]": tables(" 0.95 ", "2"),
    ":2: there is no <Discount>: pass gamma=": tables("<Discount> 0.95 </Discount>", ""),
    ":5: <Variable> has no <RewardVar>": changed(
        TABLES, one=('<RewardVar vname="value"/>', ""), two=('<RewardVar vname="wear"/>', "")
    ),
    ":9: <Action> in <Variable> is not read; there may be <StateVar>": tables("ActionVar", "Action"),
    ":6: <NumValues> is '0', not a number from 1 to": tables(">3</Num", ">0</Num"),
    ":6: <NumValues> is '999999999999', not a number": tables(">3</Num", ">999999999999</Num"),
    ":6: <StateVar> needs <ValueEnum> with the values, or <NumValues>": tables("NumValues", "Numbers"),
    ":7: <ValueEnum> names 'good' twice": tables("good bad", "good good"),
    ":7: <ValueEnum> is empty": tables("good bad", ""),
    ":7: <ValueEnum> names '-', which stands for all values": tables("good bad", "good -"),
    ":5: the values of 42 variables make": tables("<ObsVar", MANY + "<ObsVar"),
    ":5: two variables have the name 'place_0'": tables('vname="sensor"', 'vname="place_0"'),
    ":6: fullyObs='yes' is neither 'true' nor 'false'": tables('"true"', '"yes"'),
    "<Terminals> in <pomdpx> is not read; there may be <Description>": tables("</pomdpx>", "<Terminals/></pomdpx>"),
    ":37: <Entri> in <Parameter> is not read; there may be <Entry>": tables(
        "<Entry><Instance>take s0 -</Instance><ValueTable>10 -10</ValueTable></Entry>",
        "<Entri><Instance>take s0 -</Instance><ValueTable>10 -10</ValueTable></Entri>",
    ),
    "<ProbTable> in <Entry> is not read; there may be <Instance>, <ValueTable>": tables(
        "<ValueTable>10 -10</ValueTable>", "<ProbTable>10 -10</ProbTable>"
    ),
    ":13: <InitialStateBelief> has no <CondProb> of place_0": tables(PLACE, ""),
    ":16: <InitialStateBelief> has two <CondProb> of place_0": tables("<Var>rock_0", "<Var>place_0"),
    "unknown variable 'rock_3'; did you mean 'rock_1'?": tables("place_0 rock_0</Parent>", "place_0 rock_3</Parent>"),
    ":22: unknown value of action 'tack'; did you mean 'take'?": tables("take s0 * -", "tack s0 * -"),
    ":22: <Instance> has 3 values, not 4: action place_1 rock_0 rock_1": tables("take s0 * -", "take s0 -"),
    ":22: <ProbTable> has 1 numbers; the values of <Instance> need 2": tables("0.0 1.0", "1.0"),
    ":22: '1,0' is not a finite number": tables("0.0 1.0", "0.0 1,0"),
    "'1e999' is not a finite number": tables("10 -10", "10 1e999"),
    "'identity' needs - for rock_1 and for one other": tables("* * - -", "* * * -"),
    "'uniform' needs - for sensor": tables("* * * -<", "* * * *<"),
    ":20: a probability of rock_1 is -1, which is negative": tables("0.0 1.0", "2 -1"),
    ":23: the distribution of place_1 given 'west s1' sums to 0.95, not 1": tables("0.9 0.1 0<", "0.9 0.05 0<"),
    ":23: no probability above 0 is given for the distribution of place_1 given 'west s0'": tables(
        "Instance>* - -<", "Instance>take - -<"
    ),
    "place_1, rock_1 depend on each other in a circle": changed(
        TABLES,
        one=("<Var>place_1</Var><Parent>action place_0", "<Var>place_1</Var><Parent>rock_1 place_0"),
        two=("east - -", "good - -"),
        three=("west s1", "bad s1"),
    ),
    "'cost' is not a reward variable: value, wear": tables("<Var>wear", "<Var>cost"),
    "type='ADD' is neither 'TBL' nor 'DD'": tables('"TBL"', '"ADD"'),
    ":2: <pomdpx> has no <ObsFunction>": tables(TABLES[TABLES.index("<ObsFunction>") : TABLES.index("<RewardF")], ""),
    "there is no edge for the value 's2' of place_0": diagrams(
        '<Edge val="s2"><SubDAG type="persistent" var="place_1" /></Edge>', ""
    ),
    "there are two edges for 'take'": diagrams('<Edge val="look">', '<Edge val="take">'),
    "there is no <SubDAGTemplate> with the id 'noisy'": diagrams('id="noisy"', 'id="calm"'),
    "the template 'noisy' leads to itself": diagrams(
        '<SubDAGTemplate id="noisy">',
        '<SubDAGTemplate id="noisy"><SubDAG type="template" idref="noisy"/></SubDAGTemplate><SubDAGTemplate id="calm">',
    ),
    "var='rock_0' is not a variable of this function": diagrams('<Node var="rock_1">', '<Node var="rock_0">'),
    "'persistent' needs a state variable after the step": diagrams(
        'type="uniform" var="sensor"', 'type="persistent" var="sensor"'
    ),
    "type='unifrom' is not one of": diagrams('"uniform"', '"unifrom"'),
    "<Terminal> must hold one number": diagrams("> 0.8 <", "> 0.8 0.1 <"),
    "the value of place_0 was chosen before on this way": diagrams('<Node var="place_1">', '<Node var="place_0">'),
}


@pytest.mark.slow
def test_faults(read):
    for message, text in FAULTS.items():
        with pytest.raises(FileError) as caught:
            read(text)
        assert message in str(caught.value), (message, str(caught.value))
    with pytest.raises(FileError, match=r"there is no file none\.pomdpx"):
        POMDP.read("none.pomdpx")


@pytest.mark.slow
def test_a_small_file_cannot_stand_for_much(read):
    """No time and no memory for what is too large: wildcards, products, templates of templates."""
    seen = "".join(f'<ObsVar vname="y{k}"><NumValues>10</NumValues></ObsVar>' for k in range(9))
    # Each template leads to the next one twice: 2^18 ways with those of the actions, from a file of some kilobytes.
    templates = ""
    for k in range(16):
        edges = "".join(f'<Edge val="s{v}"><SubDAG type="template" idref="t{k + 1}"/></Edge>' for v in (0, 1))
        templates += f'<SubDAGTemplate id="t{k}"><Node var="x{k}_0">{edges}</Node></SubDAGTemplate>'
    templates += '<SubDAGTemplate id="t16"><Node var="action">'
    for action in ("west", "east", "look", "take"):
        templates += f'<Edge val="{action}"><SubDAG type="uniform" var="x0_1"/></Edge>'
    templates += "</Node></SubDAGTemplate>"
    diagram = (
        f"<CondProb><Var>x0_1</Var><Parent>{' '.join(f'x{k}_0' for k in range(16))} action</Parent><Parameter "
        f"type='DD'> <DAG><SubDAG type='template' idref='t0'/></DAG>{templates}</Parameter></CondProb>"
    )
    doubled = MANY[: MANY.index('<StateVar vnamePrev="x16_0"')]
    large = {
        r"make \d+ observations; at most": tables("<ObsVar", seen + "<ObsVar"),
        "are too many; at most": tables(">3</Num", ">8000000</Num"),
        "possible transitions|combinations of its parents": changed(
            TABLES,
            one=(">3</Num", ">10000</Num"),
            two=("0.1 0.9 0 0 0.1 0.9 0 0 1", "uniform"),
            three=(">0 1 0", ">uniform"),
            four=("0.9 0.1 0<", "uniform<"),
            five=("-1 -2 -0.5e1", "-1"),
            six=("shiny -", "shiny *"),
        ),
        "ways to a number": changed(
            TABLES,
            one=("<ObsVar", doubled + "<ObsVar"),
            two=("<StateTransitionFunction>", f"<StateTransitionFunction>{diagram}"),
        ),
    }
    for message, text in large.items():
        with pytest.raises(FileError, match=message):
            read(text)
