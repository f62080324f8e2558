"""Published values of the shipped maps, and what every keyword does."""

import time
import tracemalloc

import gymnasium
import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite_envs.gridworld import GridWorldEnv, grid_world

EXAMPLE_3_5_RANDOM = [
    [3.3090, 8.7893, 4.4276, 5.3224, 1.4922],
    [1.5216, 2.9923, 2.2501, 1.9076, 0.5474],
    [0.0508, 0.7382, 0.6731, 0.3582, -0.4031],
    [-0.9736, -0.4355, -0.3549, -0.5856, -1.1831],
    [-1.8577, -1.3452, -1.2293, -1.4229, -1.9752],
]
EXAMPLE_3_5_OPTIMAL = [
    [21.9775, 24.4194, 21.9775, 19.4194, 17.4775],
    [19.7797, 21.9775, 19.7797, 17.8018, 16.0216],
    [17.8018, 19.7797, 17.8018, 16.0216, 14.4194],
    [16.0216, 17.8018, 16.0216, 14.4194, 12.9775],
    [14.4194, 16.0216, 14.4194, 12.9775, 11.6797],
]
EXAMPLE_4_1_RANDOM = [[0, -14, -20, -22], [-14, -18, -20, -20], [-20, -20, -18, -14], [-22, -20, -14, 0]]


def test_example_3_5(evaluate, optimum):
    model, layout = grid_world("Example3.5")
    assert layout.states.tolist() == np.arange(25).reshape(5, 5).tolist()
    np.testing.assert_allclose(evaluate(model).reshape(5, 5), EXAMPLE_3_5_RANDOM, atol=5.1e-5)
    np.testing.assert_allclose(optimum(model)[0].reshape(5, 5), EXAMPLE_3_5_OPTIMAL, atol=5.1e-5)
    for action in range(4):
        assert model.P[1][action] == [(1.0, 21, 10.0, False)]
        assert model.P[3][action] == [(1.0, 13, 5.0, False)]


def test_example_4_1(evaluate):
    model, _ = grid_world("Example4.1")
    np.testing.assert_allclose(evaluate(model).reshape(4, 4), EXAMPLE_4_1_RANDOM, atol=1e-9)
    assert model.gamma == 1.0
    assert model.start[[0, 15]].tolist() == [0, 0]


def test_the_four_by_three_world(optimum, at):
    # Utilities printed in Russell & Norvig, Fig. 17.3.
    model, layout = grid_world("AIMA4x3")
    printed = {
        (0, 0): 0.812, (0, 1): 0.868, (0, 2): 0.918,
        (1, 0): 0.762, (1, 2): 0.660,
        (2, 0): 0.705, (2, 1): 0.655, (2, 2): 0.611, (2, 3): 0.388,
    }  # fmt: skip
    value, _ = optimum(model)
    for square, wanted in printed.items():
        assert value[at(layout, *square)] == pytest.approx(wanted, abs=5.1e-4)
    assert model.start[at(layout, 2, 0)] == 1.0


def test_the_maze_of_dyna(optimum):
    model, _ = grid_world("DynaMaze", gamma=0.5)
    assert model.n_states == 47
    # 14 steps, the last of which pays 1.
    assert optimum(model)[0] @ model.start == pytest.approx(0.5**13)


def test_four_rooms(at):
    model, layout = grid_world("FourRooms")
    assert model.n_states == 104
    row = model.P[at(layout, 3, 3)][1]
    assert [ahead for _, ahead, *_ in row] == [at(layout, *s) for s in ((3, 4), (3, 2), (2, 3), (4, 3))]
    assert [p for p, *_ in row] == pytest.approx([2 / 3, 1 / 9, 1 / 9, 1 / 9])
    assert [gap for gap in ((3, 6), (6, 2), (7, 9), (10, 6)) if layout.walls[gap]] == []
    assert layout.walls[:, 6].sum() == 11
    assert grid_world("FourRooms", slip=0).model.kind == "deterministic"


def test_dynamics_agree_with_frozen_lake(optimum):
    # A second builder of the same problem: Gymnasium's own.
    lake = gymnasium.make("FrozenLake-v1", map_name="8x8", success_rate=0.8)
    rows = ["".join(letter.decode() for letter in row) for row in lake.unwrapped.desc]
    model, layout = grid_world(
        [row.replace("F", ".") for row in rows], slip=0.2, legend={"H": "pit"}, rewards={"H": 0}, gamma=0.97
    )
    assert layout.marks[0, 0] == "S"
    assert set(layout.marks.values()) == {"S", "G", "X"}
    theirs = np.zeros((64, 4, 64))
    reward = np.zeros((64, 4))
    # Their actions are left, down, right, up.
    for s in range(64):
        for mine, other in enumerate((0, 2, 3, 1)):
            for p, ahead, r, _ in lake.unwrapped.P[s][other]:
                theirs[s, mine, ahead] += p
                reward[s, mine] += p * r
    np.testing.assert_allclose(model.dense()[0], theirs)
    np.testing.assert_allclose(model.expected_reward(), reward)


def test_costs_and_rewards_add_up():
    model, _ = grid_world(["S.G", "..X"], step_cost=0.1, bump_cost=1.0)
    assert model.P[0][0] == [(1.0, 0, -1.1, False)]
    assert model.P[0][1] == [(1.0, 1, -0.1, False)]
    assert model.P[1][1] == [(1.0, 2, 0.9, True)]
    assert model.P[4][1] == [(1.0, 5, -1.1, True)]


def test_goals_and_pits_lead_to_themselves():
    model, layout = grid_world(["SGX"], slip=0.4, step_cost=1)
    for state in (1, 2):
        for action in range(4):
            assert model.P[state][action] == [(1.0, state, 0.0, True)]
    assert layout.idle.tolist() == [False, True, True]
    assert model.legal.all()


@pytest.mark.parametrize(
    ("slip_to", "wanted"),
    [("sides", [(0.7, 5), (0.15, 1), (0.15, 7)]), ("others", [(0.7, 5), (0.1, 3), (0.1, 1), (0.1, 7)])],
)
def test_a_slip_goes_to_the_sides_or_anywhere(slip_to, wanted):
    model, _ = grid_world(["S..", "...", "..."], slip=0.3, slip_to=slip_to)
    row = [(round(p, 12), ahead) for p, ahead, *_ in model.P[4][1]]
    assert row == wanted


def test_starts_are_marked_or_anywhere_but_at_ends():
    assert grid_world(["SS.G"]).model.start.tolist() == [0.5, 0.5, 0, 0]
    assert grid_world(["S.X", "A.G"], legend={"A": "goal"}, start="anywhere").model.start.tolist() == [
        pytest.approx(x) for x in (1 / 3, 1 / 3, 0, 0, 1 / 3, 0)
    ]


def test_a_teleport_that_lands_on_a_goal_ends_the_episode():
    model, _ = grid_world(["SA.G"], legend={"A": "teleport G"}, rewards={"A": 7}, step_cost=1)
    assert model.P[1][0] == [(1.0, 3, 6.0, True)]
    assert model.P[0][1] == [(1.0, 1, -1.0, False)]


def test_any_symbol_can_mean_anything():
    model, layout = grid_world(["a☃b"], legend={"a": "start", "☃": "free", "b": "goal", ".": "wall"}, rewards={"b": 2})
    assert model.P[1][1] == [(1.0, 2, 2.0, True)]
    assert layout.marks == {(0, 0): "S", (0, 1): "☃", (0, 2): "G"}


def test_an_open_grid_of_any_size(optimum):
    model, layout = grid_world(size=(3, 5))
    assert (layout.n_rows, layout.n_columns) == (3, 5)
    assert optimum(model)[0][0] == pytest.approx(0.9**5)
    assert grid_world(size=4).layout.walls.shape == (4, 4)


@pytest.mark.parametrize("size", [0, 1, (1, 1), (0, 3), (2, 2, 2), "3x3", 2.5])
def test_sizes_that_are_none(size):
    with pytest.raises(ParameterError, match="size="):
        grid_world(size=size)


def test_map_and_size_exclude_each_other():
    with pytest.raises(ParameterError, match="map and size are both given"):
        grid_world(["S.G"], size=3)


@pytest.mark.slow
@pytest.mark.parametrize("slip", [0.0, 0.2])
def test_a_million_squares(slip):
    rng = np.random.default_rng(0)
    free = rng.random((1000, 1000)) >= 0.1
    free[0] = free[:, -1] = True
    rows = ["".join(row) for row in np.where(free, ".", "#")]
    rows[0], rows[-1] = "S" + rows[0][1:], rows[-1][:-1] + "G"
    begin = time.perf_counter()
    env = GridWorldEnv(rows, slip=slip)
    env.reset(seed=1)
    for action in (1, 3, 1, 3):
        env.step(action)
    assert time.perf_counter() - begin < 10
    assert env.model.n_states == int(free.sum())


@pytest.mark.slow
def test_a_million_squares_stay_below_one_and_a_half_gigabytes():
    tracemalloc.start()
    try:
        env = GridWorldEnv(size=1000)
        env.reset(seed=1)
        env.step(1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert env.model.n_transitions == 4_000_000
    # What the interpreter and the libraries themselves take is some hundred megabytes more.
    assert peak < 1.3e9


def test_building_takes_little_more_memory_than_what_is_built():
    grid_world(size=5, slip=0.2)  # imports
    tracemalloc.start()
    try:
        model, layout = grid_world(size=500, slip=0.2, step_cost=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    arrays = [*model.rows, model.start, layout.cells, layout.walls, layout.idle]
    assert all(array.flags.owndata and not array.flags.writeable for array in arrays)
    assert peak < 1.35 * sum(array.nbytes for array in arrays)


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        (1, "size=1 leaves no room for a start and a goal; at least two squares are needed"),
        (100_000, "size=100000 is a grid of 10,000,000,000 squares; at most 2,147,483,647 are allowed"),
    ],
)
def test_sizes_that_no_grid_can_have(size, sentence):
    with pytest.raises(ParameterError, match=f"^{sentence}$"):
        grid_world(size=size)
