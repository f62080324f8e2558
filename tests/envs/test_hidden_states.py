"""The partially observed problems: against the files of the literature where they are at hand, and by their stories."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite.models import POMDP
from rlsuite.planning import solve
from rlsuite_envs.cheese_maze import cheese_maze
from rlsuite_envs.hallway import hallway
from rlsuite_envs.light_dark import light_dark
from rlsuite_envs.rock_sample import EAST, SAMPLE, WEST, rock_positions, rock_sample
from rlsuite_envs.shuttle import shuttle
from rlsuite_envs.tag import CATCH, CELLS, tag
from rlsuite_envs.tiger import tiger

PROBLEMS = Path(__file__).parents[1] / "problems"
FILES = Path(__file__).parents[3] / "shared" / "pomdp"
"""Those of the literature, where they lie beside the checkout."""


def matrices(model):
    transition = np.stack([model.mdp.transition_matrix(a).toarray() for a in range(model.n_actions)])
    return transition, model.observation, model.mdp.expected_reward(), model.start


# ------------------------------------------------------------------- against files, and against stories told again

WRITTEN = {
    PROBLEMS / "two-doors.pomdp": tiger,
    PROBLEMS / "mouse.pomdp": lambda: cheese_maze().model,
    PROBLEMS / "ferry.pomdp": shuttle,
}
PUBLISHED = {
    FILES / "shuttle.95.pomdp": shuttle,
    FILES / "cheese.95.pomdp": lambda: cheese_maze().model,
    FILES / "hallway.pomdp": lambda: hallway().model,
    FILES / "tiger.95.pomdp": tiger,
}


@pytest.mark.parametrize(
    ("file", "build"),
    [*WRITTEN.items(), *((file, build) for file, build in PUBLISHED.items() if file.is_file())],
    ids=lambda each: each.stem if isinstance(each, Path) else "",
)
def test_it_is_the_model_of_the_file(file, build):
    theirs, ours = POMDP.read(file), build()
    assert ours.gamma == theirs.gamma
    for mine, other in zip(matrices(ours), matrices(theirs), strict=True):
        np.testing.assert_allclose(mine, other, atol=2e-5)


NORTH, EAST_OF, SOUTH, WEST_OF = -1, 1j, 1, -1j
"""Displacements as complex numbers: a quarter turn to the right is a product with -1j."""


def test_the_hallway_told_again():
    """Every number of the model: places are row + 1j column, headings displacements."""
    squares = [1j * column for column in range(11)] + [1 + 1j * column for column in (2, 4, 6, 8)]
    goal = 1 + 8j
    poses = [(square, heading) for square in squares for heading in (NORTH, EAST_OF, SOUTH, WEST_OF)]
    model, _ = hallway()
    law = [model.mdp.transition_matrix(a).toarray() for a in range(5)]
    reward = model.mdp.expected_reward()
    anywhere = np.array([0.0 if square == goal else 1.0 / 56.0 for square, _ in poses])
    np.testing.assert_allclose(model.start, anywhere)
    for number, (square, heading) in enumerate(poses):
        right, back, left = heading * -1j, -heading, heading * 1j
        landmarks = [2j, 4j, 6j, 8j]
        readings = np.zeros(21)
        if square == goal:
            readings[20] = 1.0
        elif square in landmarks and heading == SOUTH:
            readings[16 + landmarks.index(square)] = 1.0
        else:
            wall = [square + side not in squares for side in (heading, right, back, left)]
            for code in range(16):
                felt = [bool(code >> bit & 1) for bit in (3, 2, 1, 0)]
                sure = [0.9 if there else 0.05 for there in wall]
                readings[code] = np.prod([p if hit else 1.0 - p for p, hit in zip(sure, felt, strict=True)])
        np.testing.assert_allclose(model.observation[:, number], np.tile(readings, (5, 1)), atol=1e-12)
        np.testing.assert_allclose(reward[number], [each[number, 56:].sum() for each in law], atol=1e-12)
        if square == goal:
            for each in law:
                np.testing.assert_allclose(each[number], anywhere)
            continue
        outcomes = [
            [(square, heading, 1.0)],
            [
                (square, heading, 0.05),
                *(
                    (square + way, turned, chance) if square + way in squares else (square, heading, chance)
                    for way, turned, chance in (
                        (heading, heading, 0.8),
                        (right, right, 0.05),
                        (left, left, 0.05),
                        (back, heading, 0.025),
                        (back, back, 0.025),
                    )
                ),
            ],
            [(square, heading, 0.1), (square, right, 0.7), (square, back, 0.1), (square, left, 0.1)],
            [(square, heading, 0.1), (square, right, 0.15), (square, back, 0.6), (square, left, 0.15)],
            [(square, heading, 0.1), (square, right, 0.1), (square, back, 0.1), (square, left, 0.7)],
        ]
        for each, expected in zip(law, outcomes, strict=True):
            row = np.zeros(60)
            for there, towards, chance in expected:
                row[poses.index((there, towards))] += chance
            np.testing.assert_allclose(each[number], row, atol=1e-12)


def test_the_chase_of_tag_told_again():
    """Every number of the model: places are row + 1j column, from the lower left."""
    squares = [row + 1j * column for row in (4, 3) for column in range(10)]
    squares += [row + 1j * column for row in (2, 1, 0) for column in (5, 6, 7)]
    where = {square: number for number, square in enumerate(squares)}
    model, _ = tag()

    def after(square, step):
        return square + step if square + step in where else square

    for robot in squares:
        for other in squares:
            state = where[robot] * 29 + where[other]
            assert model.observation[0, state, 29 if robot == other else where[robot]] == 1.0
            away = other - robot
            flight = dict.fromkeys(squares, 0.0)
            flight[other] += 0.2
            for steps in (
                (NORTH, SOUTH) if away.real == 0 else (np.sign(away.real),),
                (WEST_OF, EAST_OF) if away.imag == 0 else (1j * np.sign(away.imag),),
            ):
                for step in steps:
                    flight[after(other, step)] += 0.4 / len(steps)
            for action, step in enumerate((NORTH, SOUTH, EAST_OF, WEST_OF)):
                row = {s: p for p, s, r, end in model.mdp.P[state][action] if r == -1.0 and not end}
                expected = {where[after(robot, step)] * 29 + where[s]: p for s, p in flight.items() if p}
                assert row == pytest.approx(expected)
            last = (1.0, 841, 10.0, True) if robot == other else (1.0, state, -10.0, False)
            assert model.mdp.P[state][CATCH] == [last]
    np.testing.assert_allclose(model.start, [1.0 / 841.0] * 841 + [0.0])


if (FILES / "tag-avoid.pomdp").is_file():

    def test_tag_is_the_model_of_the_file_but_for_its_slips():
        theirs, ours = POMDP.read(FILES / "tag-avoid.pomdp"), tag().model
        n = len(CELLS)
        # The file keeps the robot's place when the opponent is caught; ours has one end.
        merge = np.zeros((n * (n + 1), n * n + 1))
        for place in range(n * (n + 1)):
            robot, opponent = divmod(place, n + 1)
            merge[place, n * n if opponent == n else robot * n + opponent] = 1.0
        going = [place for place in range(n * (n + 1)) if place % (n + 1) != n]
        (T, O, R, b), (P, Q, reward, start) = matrices(ours), matrices(theirs)  # noqa: E741
        np.testing.assert_allclose(start @ merge, b, atol=1e-6)
        np.testing.assert_allclose(reward[going], R[:-1], atol=1e-9)
        differs = np.abs(P[:, going] @ merge - T[:, :-1]).max(axis=2) > 1e-9
        # In four places the file departs from its own rule; once the opponent jumps over a square.
        assert differs.sum(axis=1).tolist() == [4, 4, 4, 4, 0]
        for a in range(5):
            possible = np.flatnonzero(T[a, :-1, :-1].any(axis=0))
            seen = Q[a][going]
            # After a catch that missed, the file sees the robot's place even where the opponent is: it cannot be there.
            np.testing.assert_allclose(seen[possible], O[a][:-1][possible], atol=1e-9)


# -------------------------------------------------------------------------------------------------------- RockSample


def test_rock_sample_by_hand():
    model, layout = rock_sample(n=2, k=1, rocks=[(0, 0)], half_efficiency=1.0)
    squares = ("r0c0", "r0c1", "r1c0", "r1c1")
    assert model.state_labels == (*(f"{square}-{kind}" for square in squares for kind in "bg"), "left")
    assert model.start.tolist() == [0, 0, 0, 0, 0.5, 0.5, 0, 0, 0]
    assert model.mdp.P[5][0] == [(1.0, 1, 0.0, False)]  # north
    assert model.mdp.P[1][SAMPLE] == [(1.0, 0, 10.0, False)]
    assert model.mdp.P[0][SAMPLE] == [(1.0, 0, -10.0, False)]
    assert model.mdp.P[5][SAMPLE] == [(1.0, 5, 0.0, False)]  # no rock here
    assert model.mdp.P[5][WEST] == [(1.0, 5, 0.0, False)]
    assert model.mdp.P[7][EAST] == [(1.0, 8, 10.0, True)]
    assert not model.mdp.legal[8].any()
    assert model.observation[EAST, 0].tolist() == [1.0, 0.0, 0.0]
    assert model.observation[5, 1].tolist() == [0.0, 1.0, 0.0]  # a check from the rock itself
    assert model.observation[5, 5].tolist() == pytest.approx([0.0, 0.75, 0.25])  # from one square away
    assert model.observation[5, 4].tolist() == pytest.approx([0.0, 0.25, 0.75])
    assert layout.marks == {(0, 0): "0"}


def test_the_value_of_a_small_rock_sample():
    model, _ = rock_sample(n=1, k=1, rocks=[(0, 0)])
    plan = solve(model, "reachable_beliefs", tol=1e-6)
    # Check from the spot (certain), then take the good rock and leave, or leave.
    assert plan.lower_bound == pytest.approx(0.95 * (0.5 * (10 + 0.95 * 10) + 0.5 * 10), abs=1e-5)


def test_rock_sample_masks_what_is_illegal():
    model, _ = rock_sample(illegal="mask")
    env = gymnasium.make("rlsuite/RockSample-v0", illegal="mask")
    _, info = env.reset(seed=1)
    assert info["action_mask"].tolist() == [1, 1, 1, 0, 0, 1, 1, 1, 1]
    legal = rock_sample(illegal="stay").model
    assert legal.mdp.legal[:-1].all()
    both = model.mdp.legal
    assert model.mdp.expected_reward()[both].tolist() == legal.mdp.expected_reward()[both].tolist()


def test_rock_sample_of_the_literature():
    """Sizes as in Smith & Simmons (2004); positions of RockSample(7,8) as everywhere, and the start in the middle."""
    model, layout = rock_sample(n=7, k=8)
    assert (model.n_states, model.n_actions) == (12_545, 13)
    assert sorted(layout.marks) == sorted(rock_positions(7, 8))
    assert set(np.flatnonzero(model.start) // 256) == {3 * 7}
    assert len(set(rock_positions(6, 9))) == 9
    assert rock_positions(6, 9) == rock_positions(6, 9, layout_seed=0) != rock_positions(6, 9, layout_seed=1)


def test_rock_sample_4_4_is_solved():
    """Its value by best-first search, which closes the gap."""
    plan = solve(rock_sample().model, "aems2", max_iterations=40_000, tol=1e-4)
    assert plan.converged
    assert plan.lower_bound == pytest.approx(19.00998, abs=2e-4)
    assert plan.decision.action == EAST


def test_a_random_episode_of_rock_sample_ends_on_the_right():
    env = gymnasium.make("rlsuite/RockSample-v0")
    env.reset(seed=1)
    rewards = [env.step(EAST)[1:3] for _ in range(4)]
    assert rewards == [(0.0, False)] * 3 + [(10.0, True)]


# --------------------------------------------------------------------------------------------------------------- Tag


def test_the_opponent_of_tag_flees_and_is_caught():
    model, layout = tag()
    index = {place: i for i, place in enumerate(CELLS)}

    def state(robot, opponent):
        return index[robot] * 29 + index[opponent]

    # The robot in the lower left corner, the opponent in the middle of the lower row: away is to the right.
    row = {model.mdp.P[state((4, 0), (4, 5))][0][i][1]: model.mdp.P[state((4, 0), (4, 5))][0][i][0] for i in range(3)}
    assert row == pytest.approx({state((3, 0), (4, 5)): 0.4, state((3, 0), (4, 6)): 0.4, state((3, 0), (3, 5)): 0.2})
    assert model.mdp.P[state((3, 3), (3, 3))][CATCH] == [(1.0, 841, 10.0, True)]
    assert model.mdp.P[state((3, 3), (3, 4))][CATCH] == [(1.0, state((3, 3), (3, 4)), -10.0, False)]
    assert layout.n_states == 842


# -------------------------------------------------------------------------------------------------- hallway, mazes


@pytest.mark.parametrize("build", [cheese_maze, hallway])
def test_the_goal_may_be_the_end(build):
    for goal in ("continue", "end"):
        model = build(after_goal=goal).model
        entered = model.mdp.expected_reward() > 0
        assert entered.any()
        assert model.mdp.terminated.any() == (goal == "end")


def test_a_perfect_robot_sees_where_it_is_up_to_symmetry():
    model, _ = hallway(success=1.0, wall_seen=1.0, false_wall=0.0)
    assert set(np.unique(model.observation)) == {0.0, 1.0}
    west_end_facing_north = 0
    assert model.observation[0, west_end_facing_north, 0b1011] == 1.0
    P = model.mdp.transition_matrix(1).toarray()
    assert P[1, 5] == 1.0  # facing east: forward
    assert P[0, 0] == 1.0  # facing the wall


def test_light_and_dark():
    model, _ = light_dark(rows=1, columns=4, light=3, target=(0, 0), noise=1.0, sharpest=0.1)
    table = model.observation[0]
    assert table[3, 3] == pytest.approx(1.0)
    assert table[:3].max() < 0.5
    weights = np.exp(-0.5 * (np.arange(4) / 3.1) ** 2)
    np.testing.assert_allclose(table[0], weights / weights.sum())
    assert model.mdp.P[0][4] == [(1.0, 4, 20.0, True)]
    assert model.mdp.P[2][4] == [(1.0, 4, -20.0, True)]
    assert model.mdp.P[0][3] == [(1.0, 0, -1.0, False)]


def test_the_light_is_worth_something():
    """On one row: where nothing can be seen, the best is to walk into a corner and count."""
    corridor = {"rows": 1, "columns": 5, "light": 4, "target": (0, 1)}
    bright = solve(light_dark(**corridor, noise=1.0).model, "aems2", max_iterations=4_000)
    dark = solve(light_dark(**corridor, noise=0.0, sharpest=50.0).model, "aems2", max_iterations=4_000)
    assert dark.upper_bound < bright.lower_bound


# ------------------------------------------------------------------------------------------------- the tiger's doors


def test_three_doors():
    model = tiger(doors=3, accuracy=0.8)
    assert (model.n_states, model.n_actions, model.n_observations) == (3, 4, 3)
    assert model.start.tolist() == [1 / 3] * 3
    np.testing.assert_allclose(model.observation[0], [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    np.testing.assert_allclose(
        model.mdp.expected_reward(), [[-1, -100, 10, 10], [-1, 10, -100, 10], [-1, 10, 10, -100]]
    )
    assert model.update_belief(model.start, 0, 1) == pytest.approx([0.1, 0.8, 0.1])
    assert model.action_labels == ("listen", "open 1", "open 2", "open 3")
    env = gymnasium.make("rlsuite/Tiger-v0", doors=3, render_mode="ansi")
    env.reset(seed=1)
    env.step(3)
    assert env.render().startswith(" 1   2  [3]\nopen 3, reward ")


@pytest.mark.parametrize(
    ("build", "kwargs", "words"),
    [
        (tiger, {"doors": 1}, "doors=1 is not a whole number of at least 2"),
        (rock_sample, {"n": 0}, "n=0"),
        (rock_sample, {"k": 30}, "at most 4194304 are allowed"),
        (rock_sample, {"k": 2, "rocks": [(0, 0)]}, "are not k=2 different squares"),
        (rock_sample, {"k": 2, "rocks": [(0, 0), (0, 0)]}, "are not k=2 different squares"),
        (rock_sample, {"k": 1, "rocks": [(0, 9)]}, r"rocks\[0\]=\(0, 9\) is not a square of the grid of 4 x 4"),
        (rock_sample, {"n": 1, "k": 2}, "do not fit on 1 x 1"),
        (rock_sample, {"illegal": "no"}, "unknown illegal 'no'"),
        (rock_sample, {"half_efficiency": 0}, "half_efficiency=0"),
        (tag, {"flee": 1.1}, "flee=1.1"),
        (cheese_maze, {"after_goal": "stop"}, "unknown after_goal 'stop'"),
        (hallway, {"success": -0.1}, "success=-0.1"),
        (shuttle, {"sight": 2}, "sight=2"),
        (light_dark, {"light": 9}, r"light=9 is not one of the columns 0\.\.8"),
        (light_dark, {"target": (5, 0)}, "target=.5, 0. is not a square"),
        (light_dark, {"sharpest": 0}, "sharpest=0"),
        (light_dark, {"target": 3}, "target=3 is not a sequence"),
        (light_dark, {"target": (1, 2, 3)}, r"target=\(1, 2, 3\) is not a pair of whole numbers"),
    ],
)
def test_bad_keywords_are_named(build, kwargs, words):
    with pytest.raises(ParameterError, match=words):
        build(**kwargs)
