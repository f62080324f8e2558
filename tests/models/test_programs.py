"""Programs of PRISM, JANI models and Storm's explicit files: built by Storm, and Storm's answers are ours."""

import sys
from pathlib import Path

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.models import MDP, POMDP, MarkovChain

stormpy = pytest.importorskip("stormpy")

PROGRAMS = Path(__file__).parent.parent / "problems" / "prism"


def file(name):
    return PROGRAMS / f"{name}.prism"


def test_programs_become_chains_mdps_and_pomdps():
    die = MarkovChain.read(file("knuth_yao"))
    assert (die.n_states, {label: int(mask.sum()) for label, mask in die.labels.items()}) == (
        13,
        {"done": 6, "init": 1, "six": 1},
    )
    np.testing.assert_allclose(die.absorption_probabilities()[die.labels["init"]], np.full((1, 6), 1 / 6), rtol=1e-14)
    assert die.reward.tolist() == (~die.labels["done"]).astype(float).tolist()
    assert die.state_labels[0] == "place=0 shown=0"

    robot = MDP.read(file("robot"), constants={"SIZE": np.int64(3)}, reward="charge", end="home")
    assert robot.action_labels == ("east", "west", "north", "south", "rest")
    assert robot.gamma == 1.0
    assert robot.state_labels[int(robot.start.argmax())] == "x=0 y=0"
    home, middle = robot.labels["home"], robot.labels["middle"]
    assert [robot.state_labels[int(mask.argmax())] for mask in (home, middle)] == ["x=2 y=2", "x=1 y=1"]
    assert not robot.legal[home].any()
    assert robot.expected_reward()[middle].tolist() == [[5, 5, 5, 5, 0]]
    east = {robot.state_labels[s]: p for p, s, _, _ in robot.P[0][0]}
    assert east == pytest.approx({"x=1 y=0": 0.8, "x=0 y=1": 0.2})
    both = MDP.read(file("robot"), constants="SIZE=3", reward=["charge", "moves"], gamma=0.5)
    assert both.expected_reward()[middle, 0].tolist() == [6]
    assert MDP.read(file("robot"), constants="SIZE = 3", reward=[]).reward.any() == False  # noqa: E712

    maze = POMDP.read(file("maze"), constants="N=4", gamma=0.9)
    assert (maze.n_states, maze.n_observations, maze.name) == (7, 5, "maze")
    put = maze.action_labels.index("put")
    belief = maze.update_belief(maze.start, put, int(maze.observation_rows.observation[maze.mdp.index_of(MIDDLE)]))
    assert belief[maze.mdp.index_of(MIDDLE)] == 1.0
    assert maze.labels["out"].sum() == 1


MIDDLE = "started !left place=2"


# ---------------------------------------------------------------------------------------------- Storm's answers


def storm_says(name, constants, formula):
    """Return Storm's value of the first state, by its sound engine, from the program itself."""
    program = stormpy.parse_prism_program(str(file(name)))
    (asked,) = stormpy.parse_properties(formula, program)
    if constants:
        program, (asked,) = stormpy.instantiate_constants(program, constants, [asked])
    model = stormpy.build_model(program, asked)
    found = stormpy.model_checking(model, asked, environment=stormpy.environments.sound())
    return float(found.get_value(model.initial_states[0]))


def ending(chain, goal, reward):
    """The chain as an MDP with one action that ends where a label holds."""
    ends = chain.labels[goal]
    matrix = chain.transition
    kept = ~np.repeat(ends, np.diff(matrix.indptr))
    indptr = np.append(0, np.cumsum(np.where(ends, 0, np.diff(matrix.indptr))))
    begins = chain.labels["init"] / chain.labels["init"].sum()
    return MDP.from_rows(
        indptr,
        matrix.indices[kept],
        matrix.data[kept],
        np.where(ends, 0.0, reward)[:, np.newaxis],
        n_actions=1,
        gamma=1.0,
        start=begins,
    )


CHAINS = {
    # file, constants, reward structure, goal of it, its expected value in closed form
    ("knuth_yao", None, "tosses", "done"): 11 / 3,
    ("gambler", "GOAL=10,START=4,win=0.5", "rounds", "over"): 24.0,
    ("gambler", "GOAL=30,START=20,win=0.45", "rounds", "over"): None,
    ("zeroconf", "N=4,LOSS=0.1", "questions", "done"): None,
    ("retransmission", "N=16,MAX=2", "sent", "over"): None,
    ("crowds", "SIZE=10,BAD=2", "hops", "over"): None,
    ("leader", "K=2", "rounds", "elected"): 1 / (1 - 1 / 4),
    ("leader", "K=3", "rounds", "elected"): 1 / (1 - 1 / 9),
    ("herman", None, "steps", "stable"): 4 / 3,
    ("coupons", "N=6", "packets", "full"): 6 * (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5 + 1 / 6),
}


@pytest.mark.slow
def test_expected_rewards_of_chains():
    for (name, constants, structure, goal), exact in CHAINS.items():
        chain = MarkovChain.read(file(name), constants=constants)
        found = rl.solve(ending(chain, goal, chain.reward), tol=1e-9).value_at_start
        said = storm_says(name, constants, f'R{{"{structure}"}}=? [F "{goal}"]')
        assert found == pytest.approx(said, rel=2e-6), name
        if exact is not None:
            assert found == pytest.approx(exact, rel=1e-9), name


@pytest.mark.slow
def test_probabilities_of_chains():
    """Paid on entering a goal and never again, the total reward is the probability of reaching it."""
    asked = {
        ("knuth_yao", None, "six", "done"): 1 / 6,
        ("gambler", "GOAL=10,START=4,win=0.4", "rich", "over"): (1.5**4 - 1) / (1.5**10 - 1),
        # Of the addresses that are picked, one is used although it is taken, with chance t l^N.
        ("zeroconf", "N=3,LOSS=0.2", "clash", "done"): 0.3 * 0.2**3 / (0.3 * 0.2**3 + 0.7),
        ("retransmission", "N=16,MAX=2", "lost", "over"): None,
        ("crowds", "SIZE=10,BAD=2", "seen", "over"): None,
    }
    for (name, constants, goal, over), exact in asked.items():
        chain = MarkovChain.read(file(name), constants=constants)
        entering = chain.transition @ chain.labels[goal].astype(float)
        found = rl.solve(ending(chain, over, entering), tol=1e-10).value_at_start
        assert found == pytest.approx(storm_says(name, constants, f'P=? [F "{goal}"]'), rel=2e-6), name
        if exact is not None:
            assert found == pytest.approx(exact, rel=1e-8), name


@pytest.mark.slow
def test_expected_rewards_of_mdps():
    asked = [
        ("consensus", "K=2", "moves", "done", ("max", "min")),
        ("consensus", "K=4", "moves", "done", ("max", "min")),
        ("backoff", "MOST=2", "steps", "done", ("min",)),
        ("robot", "SIZE=6", "moves", "home", ("min",)),
        ("robot", "SIZE=7", "charge", "home", ("min",)),
        ("bold_play", "GOAL=50,win=0.4", "goal", "over", ("max", "min")),
    ]
    for name, constants, structure, goal, directions in asked:
        mdp = MDP.read(file(name), constants=constants, reward=structure, end=goal)
        for direction in directions:
            sign = 1.0 if direction == "max" else -1.0
            found = sign * rl.solve(mdp.replace(reward=sign * mdp.reward), tol=1e-9).value_at_start
            said = storm_says(name, constants, f'R{{"{structure}"}}{direction}=? [F "{goal}"]')
            assert found == pytest.approx(said, rel=2e-6, abs=1e-9), (name, direction)
    bold = rl.solve(MDP.read(file("bold_play"), constants="GOAL=64,win=0.4", reward="goal", end="over"), tol=1e-10)
    assert bold.value_at_start == pytest.approx(0.4)  # half of the goal: bet all of it (S&B2, example 4.3)
    assert bold.value_at_start == pytest.approx(
        storm_says("bold_play", "GOAL=64,win=0.4", 'Pmax=? [F "rich"]'), rel=2e-6
    )


@pytest.mark.slow
def test_discounting_is_ending_at_random(tmp_path):
    """With chance 1 - gamma a step is the last one: Storm's total reward then is our discounted value."""
    program = (PROGRAMS / "robot.prism").read_text().replace("const int SIZE;", "const int SIZE = 5;")
    program = program.replace("mdp", "mdp\nconst double g = 0.9;\nglobal over : bool init false;", 1)
    lines = []
    for line in program.splitlines():
        if "->" in line:
            head, _, rest = line.rpartition("->")
            line = f"{head.replace('[rest] home', '[rest] home & !over').replace('] !home', '] !home & !over')}-> "
            parts = [part.strip() for part in rest.rstrip(";").split(" + ")]
            parts = ["1 : true" if part == "true" else part for part in parts]
            weighted = [f"g * ({part.partition(' : ')[0]}) : {part.partition(' : ')[2]}" for part in split(parts)]
            line += " + ".join([*weighted, "1 - g : (over' = true)"]) + ";"
        lines.append(line)
    text = "\n".join(lines).replace("!home : 1", "!home & !over : 1")
    (tmp_path / "robot.prism").write_text(text)
    parsed = stormpy.parse_prism_program(str(tmp_path / "robot.prism"))
    (asked,) = stormpy.parse_properties('R{"moves"}min=? [F over]', parsed)
    model = stormpy.build_model(parsed, asked)
    said = stormpy.model_checking(model, asked, environment=stormpy.environments.sound())
    mdp = MDP.read(file("robot"), constants="SIZE=5", reward="moves", gamma=0.9)
    found = -rl.solve(mdp.replace(reward=-mdp.reward), tol=1e-10).value_at_start
    assert found == pytest.approx(float(said.get_value(model.initial_states[0])), rel=2e-6)


def split(parts):
    """Join what was cut within brackets."""
    found = []
    for part in parts:
        if found and found[-1].count("(") != found[-1].count(")"):
            found[-1] += f" + {part}"
        else:
            found.append(part)
    return found


# ------------------------------------------------------------------------------------------ other files and errors


@pytest.mark.slow
def test_jani_and_drn(tmp_path):
    from importlib.resources import files

    examples = Path(str(files("stormpy") / "examples" / "files"))
    die = MarkovChain.read(examples / "dtmc" / "die.jani")
    np.testing.assert_allclose(die.absorption_probabilities()[die.labels["init"]], np.full((1, 6), 1 / 6), rtol=1e-14)
    maze = POMDP.read(examples / "pomdp" / "maze.drn")
    assert maze.n_observations == 8
    small = stormpy.instantiate_constants(stormpy.parse_prism_program(str(file("maze"))), "N=6")[0]
    model = stormpy.build_model(small, options=stormpy.BuilderOptions(build_full=True))
    stormpy.io.export_to_drn(model, str(tmp_path / "maze.drn"))
    one, other = POMDP.read(tmp_path / "maze.drn"), POMDP.read(file("maze"), constants="N=6")
    seen = [pomdp.observation_rows.observation[: pomdp.n_states].tolist() for pomdp in (one, other)]
    assert len({*zip(*seen, strict=True)}) == len({*seen[0]}) == len({*seen[1]})  # the same, under other numbers
    np.testing.assert_allclose(one.mdp.dense(), other.mdp.dense(), atol=1e-15)
    assert one.action_labels == other.action_labels
    robot = stormpy.instantiate_constants(stormpy.parse_prism_program(str(file("robot"))), "SIZE=4")[0]
    model = stormpy.build_model(robot, options=stormpy.BuilderOptions(build_full=True))
    stormpy.io.export_to_drn(model, str(tmp_path / "robot.drn"))
    one = MDP.read(tmp_path / "robot.drn", reward="moves")
    other = MDP.read(file("robot"), constants="SIZE=4", reward="moves")
    assert one.action_labels == other.action_labels
    np.testing.assert_allclose(one.dense(), other.dense(), atol=1e-15)  # in the file, 1 - 0.2 is written as 0.8
    assert one.labels.keys() == other.labels.keys()
    with pytest.raises(ParameterError, match="lists its states, and has no constants"):
        MDP.read(tmp_path / "robot.drn", constants="SIZE=4")


@pytest.mark.slow
def test_what_is_written_for_storm_is_read_by_it(tmp_path):
    mdp = MDP.from_table(
        {
            0: {0: [(0.25, 1, 1.5, True), (0.75, 0, 0.0, False)], 1: [(1.0, 2, -2.5, True)]},
            1: {0: [], 1: [(1.0, 0, 3.0, False)]},
            2: {0: [], 1: []},
        },
        gamma=0.9,
        start=0,
        action_labels=["go", "jump"],
    ).replace(labels={"high": [0, 1]})
    mdp.write(tmp_path / "m.drn")
    again = MDP.read(tmp_path / "m.drn", gamma=0.9, end="end")
    assert again.action_labels == ("go", "jump")
    assert {label: mask.nonzero()[0].tolist() for label, mask in again.labels.items()} == {
        "end": [2, 3],
        "high": [0, 1],
    }
    closed = mdp.without_termination()
    np.testing.assert_allclose(again.expected_reward()[:2], closed.expected_reward()[:2], rtol=1e-15)
    assert again.P[0][0][0][:2] == (0.75, 0)
    assert rl.solve(again, tol=1e-9).value[:2] == pytest.approx(rl.solve(mdp, tol=1e-9).value[:2])
    model = stormpy.build_model_from_drn(str(tmp_path / "m.drn"))
    (asked,) = stormpy.parse_properties('R{"reward"}max=? [F "end"]')
    said = stormpy.model_checking(model, asked, environment=stormpy.environments.sound())
    assert float(said.get_value(0)) == pytest.approx(rl.solve(mdp.replace(gamma=1.0), tol=1e-9).value[0], rel=2e-6)
    odd = mdp.replace(action_labels=["a b", "[c]"], reward=np.abs(mdp.reward))
    odd.write(tmp_path / "n.drn")
    assert MDP.read(tmp_path / "n.drn").action_labels is None
    with pytest.raises(FileError, match=r"the label 'a b' cannot be written: .* of the \.drn format"):
        mdp.replace(labels={"a b": [0]}).write(tmp_path / "m.drn")

    chain = MarkovChain([[0.5, 0.5], [0.25, 0.75]], [-1, 2], labels={"init": [0, 1], "goal": [1]})
    chain.write(tmp_path / "c.drn")
    again = MarkovChain.read(tmp_path / "c.drn")
    assert again.transition.toarray().tolist() == chain.transition.toarray().tolist()
    assert again.reward.tolist() == [-1, 2]
    assert {label: mask.tolist() for label, mask in again.labels.items()} == {
        "goal": [False, True],
        "init": [True, True],
    }
    with pytest.raises(FileError, match=r"the \.drn format says where runs begin, and the chain does not"):
        MarkovChain([[1.0]]).write(tmp_path / "c.drn")


@pytest.mark.slow
def test_what_is_wrong_is_named(tmp_path):
    bad = tmp_path / "bad.prism"
    bad.write_text("mdp\nmodule m\n  x : [0..1] init 0\n  [] x = 0 -> (x' = 1);\nendmodule\n")
    (tmp_path / "timed.prism").write_text("ctmc\nmodule m\n x : [0..1] init 0;\n [] x=0 -> 2 : (x'=1);\nendmodule\n")
    (tmp_path / "endless.prism").write_text("dtmc\nmodule m\n x : int init 0;\n [] true -> (x'=x+1);\nendmodule\n")
    (tmp_path / "model.jani").write_text("{}")
    (tmp_path / "model.drn").write_text("@type: MDP\n@model\nstate x\n")
    one = "mdp\nconst int n;\nmodule m\n x : [0..1] init 0;\n [] true -> 1 / n : true;\nendmodule\n"
    (tmp_path / "divided.prism").write_text(one)
    (tmp_path / "outside.prism").write_text(one.replace("const int n;\n", "").replace("1 / n : true", "(x' = 7)"))
    (tmp_path / "half.prism").write_text(one.replace("const int n;\n", "").replace("1 / n", "1 / 2"))
    robot, gambler, sized = file("robot"), file("gambler"), {"constants": "SIZE=3"}
    faults = [
        (MDP, gambler, {}, "gambler.prism holds a model of the type dtmc, not mdp: read it with rl.MarkovChain.read"),
        (MarkovChain, robot, {}, "holds a model of the type mdp, not dtmc: read it with rl.MDP.read"),
        (MDP, file("maze"), {}, "holds a model of the type pomdp, not mdp: read it with rl.POMDP.read"),
        (MDP, tmp_path / "timed.prism", {}, "of the type ctmc; models in discrete time can be read: dtmc, mdp, pomdp"),
        (MDP, bad, {}, 'bad.prism:4:3: Storm cannot read it: expecting ";"'),
        (MDP, tmp_path / "none.prism", {}, "there is no file"),
        (MDP, tmp_path / "model.jani", {}, "model.jani: Storm cannot read it: "),
        (MDP, tmp_path / "model.drn", {}, "model.drn is malformed: its head needs @type, @nr_states and @model"),
        (MDP, robot, {}, "leaves the constant SIZE open: give values, such as constants='SIZE=2'"),
        (MarkovChain, gambler, {"constants": "GOAL=3"}, "constants START, win open: give values"),
        (MDP, robot, {"constants": "SIZ=3"}, "leaves the constant SIZE open"),
        (MDP, robot, {"constants": "SIZE=3,SIZ=3"}, "unknown undefined constant 'SIZ'"),
        (MDP, robot, {"constants": "SIZE=3,slip=0.1"}, "'slip'"),
        (MDP, robot, {"constants": "SIZE=0.5", "reward": []}, "Illegal value for integer constant: 0.5"),
        (MDP, robot, {"constants": "SIZE"}, "leaves the constant SIZE open"),
        (MDP, robot, {"constants": "SIZE=x"}, "robot.prism: Storm cannot read it: "),
        (MDP, robot, {"constants": {"SIZE": "3"}}, "'SIZE': '3' is not the name of a constant and its value"),
        (MDP, robot, {"constants": 3}, "constants=3 is neither text such as"),
        (MDP, robot, sized, "2 reward structures, 'charge', 'moves': choose with reward='charge'"),
        (MDP, robot, sized | {"reward": "move"}, "unknown reward structure 'move'; did you mean 'moves'?"),
        (MDP, robot, sized | {"reward": ["moves", "moves"]}, "it is named twice"),
        (MDP, robot, sized | {"reward": 1}, "reward=1 is not the name of a reward structure"),
        (MDP, robot, sized | {"reward": "moves", "end": "hom"}, "unknown label 'hom'; did you mean 'home'?"),
        (
            MDP,
            robot,
            {"constants": "SIZE=9", "reward": [], "max_states": 80},
            "has more than 80 states: choose smaller",
        ),
        (MarkovChain, tmp_path / "endless.prism", {"max_states": 1000}, "has more than 1,000 states"),
        (
            MDP,
            tmp_path / "divided.prism",
            {"constants": "n=0"},
            "divided.prism: Storm ended while it read the file, with",
        ),
        (
            MDP,
            tmp_path / "outside.prism",
            {},
            "outside.prism: a variable leaves its range in a step from the state 'x=0'",
        ),
        (MDP, tmp_path / "half.prism", {}, "the row of state 0 and action 0 sums to 0.5, not 1"),
        (POMDP, "cups.pomdp", {"constants": "N=1"}, "constants='N=1' applies only to .prism, .pm, .nm, .jani, .drn"),
    ]
    for model, path, keywords, message in faults:
        with pytest.raises((FileError, ParameterError)) as caught:
            model.read(path, **keywords)
        assert message in str(caught.value), str(caught.value)
    assert MDP.read(robot, constants="SIZE=9", reward=[], max_states=81).n_states == 81


@pytest.mark.slow
def test_storm_prints_nothing(tmp_path, capfd):
    (tmp_path / "bad.prism").write_text("mdp\nmodule\n")
    with pytest.raises(FileError):
        MDP.read(tmp_path / "bad.prism")
    MarkovChain.read(file("knuth_yao"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_without_stormpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "stormpy", None)
    with pytest.raises(MissingPackage, match=r'which is not installed: pip install "rlsuite\[storm\]"'):
        MarkovChain.read(file("knuth_yao"))
