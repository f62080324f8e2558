"""Seeds: lecture notes, Figs. 9.6-9.8 and 9.10."""

import gymnasium
import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite_envs.notes_grids import ACTIONS, STATES, grid_goal, nondeterministic_grid_goal

NO = np.nan

Q_MASKED = [
    [NO, 81, 81, NO],
    [72.9, 90, 90, NO],
    [81, NO, 100, NO],
    [NO, 90, NO, 72.9],
    [81, 100, NO, 81],
    [NO, NO, NO, NO],
]
Q_AT_WALLS = {("S0", "L"): 72.9, ("S0", "D"): 72.9, ("S1", "D"): 81, ("S2", "R"): 90, ("S2", "D"): 90,
              ("S3", "L"): 81, ("S3", "U"): 81, ("S4", "U"): 90}  # fmt: skip


def test_states_actions_and_places_are_those_of_the_figure():
    model, layout = grid_goal()
    assert model.state_labels == STATES == ("S0", "S1", "S2", "S3", "S4", "G")
    assert model.action_labels == ACTIONS == ("L", "R", "U", "D")
    assert layout.states.tolist() == [[3, 4, 5], [0, 1, 2]]
    assert layout.marks == {(1, 0): "S", (0, 2): "G"}
    assert layout.arrows.tolist() == [[0, -1], [0, 1], [-1, 0], [1, 0]]
    assert model.start.tolist() == [1, 0, 0, 0, 0, 0]
    assert model.kind == "deterministic"
    assert model.gamma == 0.9


def test_the_printed_optimum_and_the_whole_q_table(optimum):
    value, q = optimum(grid_goal().model)
    np.testing.assert_allclose(value, [81, 90, 100, 90, 100, 0])
    np.testing.assert_allclose(q, Q_MASKED)


def test_at_walls_that_stop_the_other_entries_appear(optimum):
    value, q = optimum(grid_goal(walls="stay").model)
    np.testing.assert_allclose(value, [81, 90, 100, 90, 100, 0])
    masked = ~np.isnan(Q_MASKED)
    np.testing.assert_allclose(q[masked], np.array(Q_MASKED)[masked])
    for (state, action), wanted in Q_AT_WALLS.items():
        assert q[STATES.index(state), ACTIONS.index(action)] == pytest.approx(wanted)


@pytest.mark.parametrize("gamma", [0.5, 0.8, 0.99])
def test_other_discounts_scale_the_distance(optimum, gamma):
    value, _ = optimum(grid_goal(gamma=gamma).model)
    np.testing.assert_allclose(value, [100 * gamma**2, 100 * gamma, 100, 100 * gamma, 100, 0])


def test_the_uniformly_random_policy(evaluate):
    np.testing.assert_allclose(
        evaluate(grid_goal().model), [49.096786, 57.281379, 75.776621, 51.822589, 66.064524, 0], atol=5e-7
    )
    np.testing.assert_allclose(
        evaluate(grid_goal(walls="stay").model), [32.831066, 44.094746, 63.493305, 36.158971, 55.557531, 0], atol=5e-7
    )


def test_only_moves_inside_the_grid_exist():
    env = gymnasium.make("rlsuite/GridGoal-v0")
    _, info = env.reset(seed=1)
    assert info["action_mask"].tolist() == [0, 1, 1, 0]
    assert env.step(0)[0] == 0
    assert env.step(1)[4]["action_mask"].tolist() == [1, 1, 1, 0]
    env.step(1)
    observation, reward, terminated, truncated, info = env.step(2)
    assert (observation, reward, terminated, truncated) == (5, 100.0, True, False)
    assert info["action_mask"].tolist() == [0, 0, 0, 0]


def test_walls_that_stop_leave_all_actions_legal_but_in_g():
    legal = grid_goal(walls="stay").model.legal
    assert legal[:5].all()
    assert not legal[5].any()


def test_the_goal_reward_is_a_keyword(optimum):
    np.testing.assert_allclose(optimum(grid_goal(goal_reward=1).model)[0], [0.81, 0.9, 1, 0.9, 1, 0])


READINGS = {
    "A": [85.5, 90, 100, 95, 100, 0],
    "B": [90, 90, 100, 100, 100, 0],
    "D": [900 / 11, 900 / 11, 100, 1000 / 11, 1000 / 11, 0],
}


@pytest.mark.parametrize("walls", ["mask", "stay"])
@pytest.mark.parametrize("reading", READINGS)
def test_the_optimum_of_each_reading_of_the_nondeterministic_grid(optimum, reading, walls):
    model, _ = nondeterministic_grid_goal(reading=reading, walls=walls)
    np.testing.assert_allclose(optimum(model)[0], READINGS[reading])
    assert model.kind == ("deterministic" if reading == "B" else "nondeterministic")
    assert model.n_actions == (5 if reading == "B" else 4)


def test_the_whole_q_table_of_reading_a(optimum):
    _, q = optimum(nondeterministic_grid_goal().model)
    table = [
        [NO, 85.5, 85.5, NO],
        [76.95, 90, 90, NO],
        [81, NO, 100, NO],
        [NO, 95, NO, 76.95],
        [85.5, 100, NO, 81],
        [NO, NO, NO, NO],
    ]
    np.testing.assert_allclose(q, table)


def test_reading_a_moves_one_or_two_squares_with_one_half_each():
    model, _ = nondeterministic_grid_goal()
    assert model.P[0][1] == [(0.5, 1, 0.0, False), (0.5, 2, 0.0, False)]
    assert model.P[3][1] == [(0.5, 4, 0.0, False), (0.5, 5, 100.0, True)]
    assert model.P[1][1] == [(1.0, 2, 0.0, False)]
    assert model.P[4][1] == [(1.0, 5, 100.0, True)]


def test_reading_d_stays_where_two_squares_are_too_many():
    model, _ = nondeterministic_grid_goal(reading="D")
    assert sorted(model.P[4][1]) == [(0.5, 4, 0.0, False), (0.5, 5, 100.0, True)]


@pytest.mark.parametrize(
    ("build", "kwargs", "words"),
    [
        (grid_goal, {"walls": "mark"}, "unknown walls 'mark'; did you mean 'mask'"),
        (grid_goal, {"gamma": 1.2}, "gamma=1.2 is not in"),
        (grid_goal, {"goal_reward": "much"}, "goal_reward='much' is not a finite number"),
        (nondeterministic_grid_goal, {"reading": "C"}, r"unknown reading 'C'.*choices: A, B, D"),
        (nondeterministic_grid_goal, {"walls": None}, "unknown walls None"),
    ],
)
def test_bad_keywords_are_named(build, kwargs, words):
    with pytest.raises(ParameterError, match=words):
        build(**kwargs)
