import gymnasium
import numpy as np
import pytest

from rlsuite.errors import FileError, ModelError, ParameterError
from rlsuite_envs.gridworld import GridWorldEnv, grid_world
from rlsuite_envs.maps import read_map, shipped_maps


def test_all_shipped_maps_can_be_walked():
    assert len(shipped_maps()) >= 5
    for name in shipped_maps():
        env = GridWorldEnv(map=name)
        env.reset(seed=1)
        assert {"title", "source"} <= set(read_map(name).settings)
        for action in range(4):
            env.step(action)


def test_a_map_may_be_a_name_a_file_or_rows(tmp_path):
    file = tmp_path / "my map.txt"
    file.write_text("S.G\n.#X\n", encoding="utf-8")
    rows = ["S.G", ".#X"]
    wanted = grid_world(rows).model.rows
    for source in (str(file), file, tuple(rows), np.array(rows)):
        found = grid_world(source).model.rows
        assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("text", ["S.G\r\n.#X\r\n", "\ufeffS.G\n.#X", "S.G\n.#X\n\n  \n"])
def test_line_ends_byte_order_marks_and_trailing_lines_do_not_matter(tmp_path, text):
    file = tmp_path / "map.txt"
    file.write_bytes(text.encode("utf-8"))
    assert read_map(file).symbols.tolist() == [["S", ".", "G"], [".", "#", "X"]]


def test_the_header_sets_defaults_and_keywords_win(tmp_path):
    file = tmp_path / "map.txt"
    file.write_text(
        '+++\ntitle = "mine"\nslip = 0.5\nstep_cost = 2\ngamma = 0.7\nlegend = { m = "free" }\n'
        "rewards = { m = -3.0, G = 9 }\n+++\nSmG\n",
        encoding="utf-8",
    )
    model = grid_world(file).model
    assert model.gamma == 0.7
    assert model.P[0][1] == [(0.5, 1, -5.0, False), (0.25, 0, -2.0, False), (0.25, 0, -2.0, False)]
    model = grid_world(file, slip=0, step_cost=0, gamma=1, rewards={"G": 5}).model
    assert model.gamma == 1.0
    assert model.P[0][1] == [(1.0, 1, -3.0, False)]
    assert model.P[1][1] == [(1.0, 2, 5.0, True)]


BAD_MAPS = [
    ([], "map is empty"),
    ([""], "map is empty"),
    (["S.G", ".."], r"map row 1 has 2 squares and row 0 has 3 \(rows are counted from 0\)"),
    (["S.G", "...."], "map row 1 has 4 squares"),
    (["S.G", 5], "map row 1 is 5, not a string"),
    (["S.G", ".?."], r"unknown symbol '\?' at row 1, column 1 \(counted from 0\); known symbols: '#' wall.*legend="),
    (["S G"], "unknown symbol ' ' at row 0, column 1"),
    (["..G"], "map has no start: mark a square with 'S', or pass start='anywhere'"),
    (["S#G"], "no goal can be reached from the start at row 0, column 0"),
    (["##", "##"], "map has no start"),
]


@pytest.mark.parametrize(("rows", "words"), BAD_MAPS)
def test_a_malformed_map_is_explained(rows, words):
    with pytest.raises(ModelError, match=words):
        grid_world(rows)


def test_a_goal_behind_a_teleport_is_reached():
    assert grid_world(["SA#aG"], legend={"A": "teleport a"}).model.n_states == 4
    with pytest.raises(ModelError, match="no goal can be reached"):
        grid_world(["SA#aG"], legend={"A": "free", "a": "free"})


def reaches(model, goal):
    """Whether some start leads to the goal, by a search along the transitions."""
    found = set(np.flatnonzero(model.start).tolist())
    waiting = list(found)
    while waiting:
        state = waiting.pop()
        ahead = {s for row in model.P[state].values() for _, s, _, _ in row} - found
        found |= ahead
        waiting.extend(ahead)
    return goal in found


@pytest.mark.slow
@pytest.mark.parametrize("slip", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("start", ["marked", "anywhere"])
def test_a_map_is_refused_exactly_if_no_goal_is_reached(slip, start):
    rng = np.random.default_rng(5)
    legend = {"A": "teleport a", "a": "teleport b", "b": "free", "C": "teleport G"}
    answers = []
    for _ in range(150):
        n_rows = rng.integers(2, 7)
        symbols = rng.choice(list("...###XAC"), (n_rows, 6))
        symbols.flat[rng.choice(symbols.size, 4, replace=False)] = list("SGab")
        rows = ["".join(row) for row in symbols]
        keywords = {"slip": slip, "start": start}
        # The same dynamics with a pit in the goal's place have no goal to be checked.
        model, layout = grid_world(rows, legend={**legend, "G": "pit"}, **keywords)
        goal = int(layout.states[tuple(np.argwhere(symbols == "G")[0])])
        answers.append(reaches(model, goal))
        if answers[-1]:
            grid_world(rows, legend=legend, **keywords)
        else:
            with pytest.raises(ModelError, match="no goal can be reached from the start at row"):
                grid_world(rows, legend=legend, **keywords)
    assert len(set(answers)) == 2


def test_a_map_without_a_goal_goes_on_for_ever():
    assert not grid_world(["S.."]).model.terminated.any()


@pytest.mark.parametrize(
    ("legend", "rows", "words"),
    [
        ({"A": "teleport a"}, ["SA."], "teleport 'A' at row 0, column 1 leads to 'a', which is nowhere on the map"),
        ({"A": "teleport a"}, ["SA", "aa"], "leads to 'a', which is on 2 squares; exactly one"),
        ({"A": "teleport #"}, ["SA#"], "teleport 'A' leads into the wall at row 0, column 2"),
    ],
)
def test_a_teleport_needs_one_landing(legend, rows, words):
    with pytest.raises(ModelError, match=words):
        grid_world(rows, legend=legend)


def test_a_reward_needs_a_symbol():
    with pytest.raises(ModelError, match="rewards: unknown symbol 'Q'"):
        grid_world(["S.G"], rewards={"Q": 1})


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"legend": {"A": "door"}}, r"legend\['A'\]: unknown kind 'door' \(choices: free, goal, pit"),
        ({"legend": {"A": "gaol"}}, "did you mean 'goal'"),
        ({"legend": {"A": "teleport"}}, r"legend\['A'\]='teleport' is not one of"),
        ({"legend": {"A": "teleport to"}}, "is not one of"),
        ({"legend": {"A": "wall b"}}, "is not one of"),
        ({"legend": {"A": 3}}, "unknown kind 3"),
        ({"legend": {"AB": "wall"}}, "legend has the key 'AB'; one character is needed"),
        ({"legend": "wall"}, "legend='wall' is not a mapping"),
        ({"rewards": {"G": "much"}}, r"rewards\['G'\]='much' is not a finite number"),
        ({"rewards": [1]}, r"rewards=\[1\] is not a mapping"),
        ({"slip": 1.5}, r"slip=1.5 is not a number in \[0, 1\]"),
        ({"slip_to": "side"}, "unknown slip_to 'side'; did you mean 'sides'"),
        ({"start": "S"}, "unknown start 'S'"),
        ({"step_cost": float("inf")}, "step_cost=inf"),
        ({"bump_cost": "1"}, "bump_cost='1'"),
        ({"gamma": 2}, r"gamma=2 is not a number in \[0, 1\]"),
    ],
)
def test_bad_keywords_are_named(kwargs, words):
    with pytest.raises(ParameterError, match=words):
        grid_world(["S.G"], **kwargs)


def test_what_is_no_map_is_named():
    with pytest.raises(ParameterError, match="map=5 is not a sequence"):
        grid_world(5)


def test_missing_maps_are_named_with_the_nearest_one(tmp_path):
    with pytest.raises(
        FileError, match=r"unknown map 'FourRoom'; did you mean 'FourRooms'.*or the path of a text file"
    ):
        grid_world("FourRoom")
    missing = tmp_path / "maze.txt"
    with pytest.raises(FileError, match=r"there is no map file '.*maze.txt'; shipped maps: .*FourRooms"):
        grid_world(str(missing))
    with pytest.raises(FileError, match="there is no map file"):
        grid_world(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\xff\xfe\x00S", "cannot be read as UTF-8 text"),
        (b"+++\nslip = 0.1\nS.G\n", r"the header that begins with \+\+\+ is never closed"),
        (b"+++\nslip = \n+++\nS.G\n", "the header is not valid TOML"),
        (b"+++\nslipp = 0.1\n+++\nS.G\n", "unknown key in the header 'slipp'; did you mean 'slip'"),
        (b"+++\nslip = 'much'\n+++\nS.G\n", r"in the header, slip='much' is not a number in \[0, 1\]"),
        (b"+++\nlegend = { A = 'door' }\n+++\nS.G\n", r"in the header, legend\['A'\]: unknown kind 'door'"),
    ],
)
def test_a_malformed_file_is_explained_and_named(tmp_path, text, words):
    file = tmp_path / "bad.txt"
    file.write_bytes(text)
    with pytest.raises(FileError, match=f"bad.txt.*{words}"):
        grid_world(file)


@pytest.mark.parametrize("text", [b"", b"\n\n", b"+++\nslip = 0.1\n+++\n"])
def test_a_file_without_rows_is_empty(tmp_path, text):
    file = tmp_path / "bad.txt"
    file.write_bytes(text)
    with pytest.raises(ModelError, match=r"bad.txt' is empty"):
        grid_world(file)


def test_errors_pass_through_make():
    with pytest.raises(ModelError, match="unknown symbol"):
        gymnasium.make("rlsuite/GridWorld-v0", map=["S?G"])
