"""Gymnasium's grids, drawn from their maps: what is drawn is what their transitions say."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv, generate_random_map

from rlsuite.rendering import drawing_of
from rlsuite.rendering.colours import GREEN, INK, ORANGE, PURPLE, VERMILLION, WALL, tint
from rlsuite.rendering.painting import MARGIN
from rlsuite.rendering.toy_text import TAXI_ACTIONS

SIDE = 96  # of a square of a small grid, in pixels


def pixel(picture, row, column, across=0.5, down=0.5):
    """Colour of the pixel at a fraction of a square."""
    return tuple(picture[round(MARGIN + (row + down) * SIDE), round(MARGIN + (column + across) * SIDE)].tolist())


@pytest.fixture
def taxi():
    env = gymnasium.make("Taxi-v4")
    return env.unwrapped, drawing_of(env)


def test_walls_are_where_the_taxi_cannot_pass(taxi):
    env, drawing = taxi
    picture = drawing.rgb(env.encode(2, 2, 0, 1))
    for row in range(5):
        for column in range(4):
            ((_, after, _, _),) = env.P[env.encode(row, column, 0, 1)][TAXI_ACTIONS.index("east")]
            blocked = env.decode(after)[:2] == (row, column)
            assert (pixel(picture, row, column, across=1.0) == WALL) == blocked, (row, column)


def test_the_taxi_the_passenger_and_the_destination_are_where_the_state_says(taxi):
    env, drawing = taxi
    for state in range(0, 500, 7):
        row, column, passenger, destination = env.decode(state)
        picture = drawing.rgb(state)
        assert picture.shape == drawing.rgb(0).shape
        assert pixel(picture, row, column, across=0.3) == ORANGE
        assert pixel(picture, row, column) == (PURPLE if passenger == 4 else ORANGE)
        for place, (place_row, place_column) in enumerate(env.locs):
            waits = pixel(picture, place_row, place_column, across=0.78, down=0.22) == PURPLE
            assert waits == (place == passenger), state
            framed = pixel(picture, place_row, place_column, down=0.08) == PURPLE
            assert framed == (place == destination), state


def test_the_beak_points_where_the_taxi_went(taxi):
    env, drawing = taxi
    state, ahead = (
        env.encode(2, 2, 0, 1),
        {(1, 0): (0.5, 0.82), (-1, 0): (0.5, 0.18), (0, 1): (0.82, 0.5), (0, -1): (0.18, 0.5)},
    )
    for action in range(4):
        ((_, after, _, _),) = env.P[state][action]
        moved = tuple(np.subtract(env.decode(after)[:2], (2, 2)).tolist())
        picture = drawing.rgb(after, action, -1.0)
        shown = [
            move
            for move, (across, down) in ahead.items()
            if pixel(picture, *env.decode(after)[:2], across, down) == INK
        ]
        assert shown == [moved], TAXI_ACTIONS[action]
    for action in (4, 5):  # stays
        assert INK not in {pixel(drawing.rgb(state, action, -10.0), 2, 2, *place) for place in ahead.values()}


def test_the_words_below_a_picture(taxi):
    env, drawing = taxi
    assert drawing.ansi(env.encode(0, 0, 4, 3), 2, -1.0).splitlines() == [
        "+---------+",
        "|r  |    G|",
        "|   |     |",
        "|         |",
        "| |   |   |",
        "|Y|   |B  |",
        "+---------+",
        "east, reward -1 | passenger in the taxi, to B",
    ]
    assert drawing.ansi(env.encode(2, 1, 0, 3)).endswith("\nstart | passenger at R, to B\n")
    assert drawing.ansi(env.encode(2, 1, 0, 3)).splitlines()[3] == "|  T      |"
    assert drawing.ansi(env.encode(4, 3, 3, 3), 5, 20.0, "end").endswith(
        "dropoff, reward 20 | passenger at B, arrived; end\n"
    )


def test_lakes_of_any_map_and_cliffs():
    for env in (
        gymnasium.make("FrozenLake-v1", desc=generate_random_map(size=5, seed=3)),
        gymnasium.make("CliffWalking-v1"),
    ):
        inner, drawing = env.unwrapped, drawing_of(env)
        desc = getattr(inner, "desc", None)
        cliff = getattr(inner, "_cliff", None)
        n_columns = desc.shape[1] if cliff is None else cliff.shape[1]
        size = drawing._painting.side
        ends = {after for rows in inner.P.values() for row in rows.values() for _, after, _, end in row if end}
        for state in range(inner.observation_space.n):
            row, column = divmod(state, n_columns)
            others = drawing.rgb((state + 1) % inner.observation_space.n)
            here = others[MARGIN + row * size + 4, MARGIN + (column + 1) * size - 4].tolist()
            bad = desc[row, column] == b"H" if cliff is None else bool(cliff[row, column])
            assert (tuple(here) == tint(VERMILLION, 0.45)) == bad, state
            assert (tuple(here) == tint(GREEN, 0.40)) == (state in ends and not bad), state


def test_others_draw_themselves():
    class Mine(FrozenLakeEnv):
        def render(self):
            return np.zeros((2, 2, 3), dtype=np.uint8)

    class Quiet(FrozenLakeEnv):
        pass

    assert drawing_of(Mine()) is None
    assert drawing_of(gymnasium.make("Blackjack-v1")) is None
    assert drawing_of(Quiet()) is not None
