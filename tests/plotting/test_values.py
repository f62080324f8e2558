import gymnasium
import numpy as np
import pytest
from matplotlib import pyplot as plt

import rlsuite as rl
from rlsuite.errors import EnvironmentNotFound, NotLearned, ParameterError, UnsuitableEnvironment
from rlsuite.plotting import q_map, value_map, value_maps
from rlsuite.rendering import GridDrawing, GridLayout, scene
from rlsuite.rendering.colours import PAPER, UNKNOWN, VIRIDIS, WALL
from rlsuite.rendering.scene import GOAL, PIT


@pytest.fixture
def grid_goal():
    cells = [(1, 0), (1, 1), (1, 2), (0, 0), (0, 1), (0, 2)]
    return GridLayout(2, 3, cells, marks={(1, 0): "S", (0, 2): "G"}, arrows=[(0, -1), (0, 1), (-1, 0), (1, 0)])


def drawn(ax, name):
    """The shapes of a name, as corners and middles."""
    [shapes] = [artist for artist in ax.collections if artist.get_label() == f"_{name}"] or [None]
    return [] if shapes is None else [path.vertices[:-1] for path in shapes.get_paths()]


def arrows_of(ax):
    """(square, direction) of every arrow."""
    found = set()
    for corners in drawn(ax, "arrows"):
        tail, tip = (corners[0] + corners[6]) / 2, corners[3]
        column, row = np.rint((tail + tip) / 2).astype(int).tolist()
        across, down = np.sign(np.round(tip - tail, 9)).astype(int).tolist()
        found.add((row, column, down, across))
    return found


def numbers_of(ax):
    return {
        (round(text.get_position()[1]), text.get_position()[0]): text.get_text()
        for text in ax.texts
        if text.get_text()[-1].isdigit()
    }


def test_numbers_colours_and_marks(grid_goal, caption_of):
    ax = value_map(grid_goal, [81, 90, 100, 90, 100, 0])
    pixels = ax.images[0].get_array()
    assert tuple(pixels[0, 2]) == tuple(VIRIDIS[0])
    assert tuple(pixels[1, 2]) == tuple(VIRIDIS[-1])
    assert numbers_of(ax) == {(1, 0): "81", (1, 1): "90", (1, 2): "100", (0, 0): "90", (0, 1): "100", (0, 2): "0"}
    assert [text.get_text() for text in ax.texts if text.get_text() in "SG"] == ["S", "G"]
    assert caption_of(ax) == "Colour: value of the state."
    assert caption_of(value_map(grid_goal, [1, 2, 3, 2, 3, 0], of="distance")) == "Colour: distance."


def test_all_tied_actions_have_an_arrow(grid_goal, caption_of):
    no = -np.inf
    q = [[no, 81, 81, no], [72.9, 90, 90, no], [81, no, 100, no], [no, 90, no, 72.9], [81, 100, no, 81], [no] * 4]
    ax = value_map(grid_goal, q=q)
    right, up = (0, 1), (-1, 0)
    assert arrows_of(ax) == {
        (1, 0, *right), (1, 0, *up), (1, 1, *right), (1, 1, *up), (1, 2, *up), (0, 0, *right), (0, 1, *right),
    }  # fmt: skip
    # Without a value of its own, each square shows its best action value; the goal, which has none, stays empty.
    assert numbers_of(ax) == {(1, 0): "81", (1, 1): "90", (1, 2): "100", (0, 0): "90", (0, 1): "100"}
    assert tuple(ax.images[0].get_array()[0, 2]) == UNKNOWN
    assert caption_of(ax) == "Colour: value of the state. Arrows: all best actions."


def hatched(ax):
    """Row and column of the squares without a value that have a texture or a symbol."""
    return set().union(*(squares_of(ax, text.get_text()) for text in legend_of(ax)))


def legend_of(ax):
    return ax.get_legend().get_texts() if ax.get_legend() else []


def squares_of(ax, kind):
    """Row and column of the squares of a kind, such as "goal"."""
    middles = [np.rint(corners.mean(axis=0) - 1e-9).astype(int).tolist() for corners in drawn(ax, kind)]
    return {(row, column) for column, row in middles}


def test_ends_and_what_was_not_learned_say_nothing(caption_of):
    """The cliff and the goal were painted in the best colour, and an end had four arrows."""
    env = gymnasium.make("CliffWalking-v1")
    q = np.zeros((48, 4))
    q[36], q[24:30] = [-3.0, -4.0, -4.0, -4.0], [-4.0, -1.5, -2.0, -5.0]
    ax = value_map(env, q=q)
    learned = {(3, 0), *((2, column) for column in range(6))}
    assert hatched(ax) == {(row, column) for row in range(4) for column in range(12)} - learned
    assert arrows_of(ax) == {(3, 0, -1, 0), *((2, column, 0, 1) for column in range(6))}
    assert set(numbers_of(ax)) == learned
    looks = {tuple(ax.images[0].get_array()[square]) for square in ((3, 11), (3, 5), (0, 0))}
    assert looks == {GOAL.colour, PIT.colour, UNKNOWN}
    assert squares_of(ax, "goal") == {(3, 11)}
    assert squares_of(ax, "pit") == {(3, column) for column in range(1, 11)}
    assert not {text.get_text() for text in ax.texts} & {"G", "X"}
    assert tuple(ax.images[0].get_array()[2, 0]) == tuple(VIRIDIS[-1])  # -1.5 is the best that is shown
    assert [text.get_text() for text in legend_of(ax)] == ["goal", "pit", "nothing learned"]
    assert caption_of(ax) == "Colour: value of the state. Arrows: all best actions."


def test_initial_values_are_not_learned_values(caption_of):
    agent = rl.QLearning(gamma=0.9, initial_value=7.0).learn("rlsuite_envs:rlsuite/GridGoal-v0", steps=2, seed=1)
    ax = value_map("rlsuite_envs:rlsuite/GridGoal-v0", q=agent.q_)
    assert hatched(ax) == {(0, 1), (0, 2), (1, 2), (1, 1), (0, 0)} - set(numbers_of(ax))
    assert len(numbers_of(ax)) <= 2


def test_what_no_episode_reaches_is_not_drawn(caption_of):
    env = gymnasium.make("FrozenLake-v1", desc=["SFGH", "HHHF"], is_slippery=False)
    solution = rl.solve(rl.MDP.from_env(env, gamma=0.9))
    for ax in (value_map(env, solution), value_map(env, q=solution.q)):
        assert hatched(ax) == {(0, 2), (0, 3), (1, 1), (1, 2), (1, 0), (1, 3)}
        assert squares_of(ax, "out of reach") == {(0, 2), (1, 3)} - squares_of(ax, "pit") - squares_of(ax, "goal")
        assert squares_of(ax, "goal") == {(0, 2)}


def test_ends_and_what_no_episode_reaches_say_nothing_in_values_of_ones_own_either(caption_of):
    """A plain array of the optimal values painted the cliff, where nobody ever is, like the squares beside it."""
    assert hatched(value_map("FrozenLake-v1", np.arange(16.0))) == {(1, 1), (1, 3), (2, 3), (3, 0), (3, 3)}
    solution = rl.solve(rl.MDP.from_env("CliffWalking-v1", gamma=0.9))
    ax = value_map("CliffWalking-v1", solution.value, solution.policy)
    assert hatched(ax) == hatched(value_map("CliffWalking-v1", solution)) == {(3, column) for column in range(1, 12)}
    assert set(numbers_of(ax)).isdisjoint(hatched(ax))
    assert len(arrows_of(ax)) == 37


def test_a_layout_alone_knows_of_no_ends():
    assert hatched(value_map(GridLayout.row_major(1, 3), [0.0, 1.0, 0.0])) == set()


def test_the_goal_of_every_grid_of_ours_says_nothing():
    for env_id in ("rlsuite/GridGoal-v0", "rlsuite/NondeterministicGridGoal-v0", "rlsuite/CliffWalk-v0"):
        env = gymnasium.make(f"rlsuite_envs:{env_id}")
        solution = rl.solve(rl.MDP.from_env(env, gamma=0.9))
        layout = GridLayout.from_env(env)
        goals = {square for square, mark in layout.marks.items() if mark == "G"}
        assert goals <= hatched(value_map(env, q=np.where(np.isfinite(solution.q), solution.q, 0.0)))


def test_a_solution_is_drawn_with_all_optimal_actions(caption_of):
    env = gymnasium.make("rlsuite_envs:rlsuite/GridGoal-v0")
    solution = rl.solve(rl.MDP.from_env(env, gamma=0.9))
    ax = value_map(env, solution)
    right, up = (0, 1), (-1, 0)
    assert arrows_of(ax) == {
        (1, 0, *right), (1, 0, *up), (1, 1, *right), (1, 1, *up), (1, 2, *up), (0, 0, *right), (0, 1, *right),
    }  # fmt: skip
    assert numbers_of(ax) == {(1, 0): "81", (1, 1): "90", (1, 2): "100", (0, 0): "90", (0, 1): "100"}  # no end
    said = f"Colour: value of the state, within {solution.error_bound:.2g}. Arrows: all optimal actions."
    assert caption_of(ax) == said
    with pytest.raises(ParameterError, match="give a solution alone"):
        value_map(env, solution, q=solution.q)


def test_actions_that_are_no_directions_have_no_arrows(caption_of):
    solution = rl.solve(rl.MDP.from_env("FrozenLake-v1", gamma=0.9))
    ax = value_map(GridLayout.row_major(4, 4), solution)
    assert not drawn(ax, "arrows")
    assert "Arrows" not in caption_of(ax)


@pytest.mark.slow
def test_a_million_squares_are_drawn_as_colours(caption_of):
    size = 1000
    state = np.arange(size * size)
    successors = np.minimum(state + 1, size * size - 1)
    ends = state == size * size - 1
    indptr = np.arange(size * size + 1)
    rewards = np.where(successors == size * size - 1, 1.0, 0.0)
    mdp = rl.MDP.from_rows(indptr, successors, np.ones(size * size), rewards, n_actions=1, gamma=0.5, terminated=ends)
    ax = value_map(GridLayout.row_major(size, size, actions=["right"]), rl.solve(mdp))
    assert ax.images[0].get_array().shape == (size, size, 3)
    assert len(ax.collections) == 0
    assert "Arrows" not in caption_of(ax)


def test_probabilities_are_lengths(grid_goal):
    policy = np.zeros((6, 4))
    policy[4] = [0.2, 0.8, 0.0, 0.0]
    tips = [corners[3, 0] - 1.0 for corners in drawn(value_map(grid_goal, np.zeros(6), policy), "arrows")]
    assert sorted(tips) == pytest.approx([-0.3 * (0.4 + 0.6 * 0.25), 0.3])


@pytest.mark.parametrize(("env_id", "n_arrows"), [("FrozenLake-v1", 11), ("CliffWalking-v1", 37)])
def test_gymnasiums_grids_have_no_arrows_where_nobody_acts(env_id, n_arrows):
    env = gymnasium.make(env_id)
    n_states = env.observation_space.n
    ax = value_map(env, np.arange(n_states), np.ones(n_states, dtype=int))
    assert len(arrows_of(ax)) == n_arrows
    assert ax.get_title(loc="left") == env_id


def test_walls_holes_new_marks_marks_without_a_state_and_missing_values(monkeypatch):
    layout = GridLayout(1, 4, [(0, 0), (0, 2), (-1, -1)], walls=[[False, True, False, False]])
    ax = value_map(layout, [1.0, np.nan, 5.0])
    assert [tuple(colour) for colour in ax.images[0].get_array()[0, 1:]] == [WALL, UNKNOWN, PAPER]
    ax = value_map(GridLayout(1, 2, [(0, 0)], marks={(0, 1): "X"}), [1.0])
    assert tuple(ax.images[0].get_array()[0, 1]) == PIT.colour
    monkeypatch.setitem(scene.MARKS, "K", scene.Kind("key", (1, 2, 3), symbol="square", ink=(4, 5, 6)))
    layout = GridLayout(1, 2, [(0, 0), (0, 1)], marks={(0, 1): "K"}, idle=[False, True])
    ax = value_map(layout, [1.0, 2.0])
    assert tuple(ax.images[0].get_array()[0, 1]) == (1, 2, 3)
    assert squares_of(ax, "key") == {(0, 1)}
    assert [text.get_text() for text in legend_of(ax)] == ["key"]
    assert [1, 2, 3] in GridDrawing(layout).rgb(0).reshape(-1, 3).tolist()


def test_an_environment_may_be_named():
    ax = value_map("FrozenLake-v1", np.zeros(16))
    assert ax.get_title(loc="left") == "FrozenLake-v1"
    with pytest.raises(EnvironmentNotFound, match="FrozenLak-v1"):
        value_map("FrozenLak-v1", np.zeros(16))


def test_staying_is_a_dot():
    layout = GridLayout(1, 2, [(0, 0), (0, 1)], arrows=[(0, 0), (0, 1)])
    ax = value_map(layout, [0.0, 1.0], [1, 0])
    [dot] = drawn(ax, "stays")
    assert dot.mean(axis=0).tolist() == pytest.approx([1.0, -0.14])


@pytest.mark.slow
def test_large_grids_show_colours_only():
    ax = value_map(GridLayout.row_major(300, 300, actions=["left"]), np.arange(90_000.0), np.zeros(90_000, dtype=int))
    assert [text.get_gid() for text in ax.texts] == ["caption"]
    assert len(ax.collections) == 0


def test_numbers_stay_inside_their_squares():
    ax = value_map(
        GridLayout.row_major(8, 8, actions=["left"]), -np.linspace(100.0, 999.9, 64), np.zeros(64, dtype=int)
    )
    ax.figure.draw_without_rendering()
    side = ax.get_window_extent().width / 8
    widths = [text.get_window_extent().width for text in ax.texts if text.get_gid() != "caption"]
    assert len(widths) == 64
    assert max(widths) < side


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "nothing to draw"),
        ({"policy": [0] * 6, "q": np.zeros((6, 4))}, "policy= or q=, not both"),
        ({"value": [1.0]}, r"value has shape \(1,\), needed \(6,\)"),
        ({"q": np.zeros((5, 4))}, r"policy has shape|value has shape \(5,\)"),
    ],
)
def test_wrong_arguments_are_refused(grid_goal, arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        value_map(grid_goal, **arguments)


def test_an_environment_without_a_plane_is_refused():
    with pytest.raises(UnsuitableEnvironment, match="Taxi-v4"):
        value_map(gymnasium.make("Taxi-v4"), np.zeros(500))


def test_an_agent_is_drawn_as_its_table_is(caption_of):
    env = gymnasium.make("rlsuite_envs:rlsuite/GridGoal-v0")
    agent = rl.QLearning(gamma=0.9).learn(env, steps=500, seed=1)
    by_name, by_agent, by_table = value_map(env, q=agent.q_), value_map(env, agent), value_map(env, agent.q_)
    assert numbers_of(by_name) == numbers_of(by_agent) == numbers_of(by_table) != {}
    assert arrows_of(by_name) == arrows_of(by_agent) == arrows_of(by_table)
    predictor = rl.TD(gamma=0.9).learn(env, steps=500, seed=1)
    assert numbers_of(value_map(env, predictor)) == numbers_of(value_map(env, predictor.value_))


def test_what_is_meant_instead_is_said(grid_goal):
    mdp = rl.MDP.from_env("FrozenLake-v1", gamma=0.9)
    agent = rl.QLearning(gamma=0.9)
    for first in (mdp, rl.solve(mdp), agent):
        with pytest.raises(ParameterError, match=r"does not say where its states are: .* value_map\(env, .*\)"):
            value_map(first)
    with pytest.raises(ParameterError, match=r"an MDP has no values yet: value_map\(env, rl\.solve\(mdp\)\)"):
        value_map("FrozenLake-v1", mdp)
    results = rl.train(agent, "FrozenLake-v1", steps=20, seeds=2, regret=False)
    with pytest.raises(ParameterError, match=r"results of rl.train keep no values: value_map\(env, agent.learn\("):
        value_map("FrozenLake-v1", results)
    with pytest.raises(ParameterError, match=r"value has shape \(4, 4\), needed \(16,\), a number per state, as"):
        value_map("FrozenLake-v1", np.zeros((4, 4)))
    with pytest.raises(NotLearned):
        value_map("FrozenLake-v1", agent)
    with pytest.raises(ParameterError, match=r"nothing to draw: .* an agent"):
        value_map("FrozenLake-v1")
    with pytest.raises(ParameterError, match="give a solution, an agent or a table of action values alone"):
        value_map(grid_goal, np.zeros((6, 4)), q=np.zeros((6, 4)))


@pytest.mark.parametrize("q", [np.zeros((6, 4)), np.full((6, 4), 7.0)])
def test_a_constant_table_is_drawn_without_a_warning(grid_goal, q, caption_of):
    ax = value_map(grid_goal, q=q)
    assert ax.child_axes == []
    assert caption_of(ax).startswith(("No state has a value to show.", "The value is 7 everywhere."))


def test_maps_side_by_side_share_one_scale_and_one_bar():
    env = gymnasium.make("FrozenLake-v1")
    plan = rl.solve(rl.MDP.from_env(env, gamma=0.9))
    learned = rl.QLearning(gamma=0.9, exploration=rl.EpsilonGreedy(0.9)).learn(env, steps=3_000, seed=1)
    maps = value_maps(env, {"optimal": plan, "learned": learned, "half": plan.value / 2})
    assert list(maps) == ["optimal", "learned", "half"]
    assert [ax.get_title(loc="left") for ax in maps.values()] == list(maps)
    figure = maps["half"].figure
    (bar,) = set(figure.axes) - set(maps.values())
    every = [*plan.value[plan.policy >= 0], *learned.q_.max(axis=1)[plan.policy >= 0], *plan.value / 2]
    assert bar.get_ylim()[1] == pytest.approx(max(every))
    assert figure._suptitle.get_text() == "FrozenLake-v1"
    alone = value_map(env, plan.value / 2, vmin=bar.get_ylim()[0], vmax=bar.get_ylim()[1])
    np.testing.assert_array_equal(maps["half"].images[0].get_array(), alone.images[0].get_array())
    assert value_maps(env, {"a": plan}, title="A lake", vmin=0, vmax=2)["a"].figure._suptitle.get_text() == "A lake"
    for values, look, complaint in (([plan], {}, "a dict"), ({}, {}, "a dict"), ({"a": plan}, {"ax": alone}, "ax=ax")):
        with pytest.raises(ParameterError, match=complaint):
            value_maps(env, values, **look)


@pytest.mark.slow
def test_no_number_is_too_small_to_be_read():
    for side in range(4, 40):
        ax = value_map(GridLayout.row_major(side, side), np.linspace(0, 999.9, side * side), title="mine")
        assert min(text.get_fontsize() for text in ax.texts) >= 8
        plt.close()


def test_goal_pit_and_what_was_not_learned_look_different_at_half_size_and_in_grey():
    q = np.zeros((48, 4))
    q[36] = [-3.0, -4.0, -4.0, -4.0]
    ax = value_map(gymnasium.make("CliffWalking-v1"), q=q)
    figure = ax.figure
    figure.set_dpi(figure.dpi / 2)
    figure.canvas.draw()
    grey = np.asarray(figure.canvas.buffer_rgba())[::-1, :, :3] @ [0.299, 0.587, 0.114]
    looks = []
    for row, column in ((3, 11), (3, 5), (0, 0)):
        x, y = ax.transData.transform((column, row)).astype(int)
        looks.append(grey[y - 8 : y + 8, x - 8 : x + 8])
    for one in range(3):
        assert np.ptp(looks[one]) > 20.0  # its symbol or its hatch is seen
        for other in range(one):
            assert np.abs(looks[one] - looks[other]).mean() > 10.0


def test_q_map_shows_the_value_of_every_action_and_the_best_in_bold():
    plan = rl.solve(rl.MDP.from_env("FrozenLake-v1", gamma=0.9))
    axes = q_map("FrozenLake-v1", plan)
    written = [text for text in axes.texts if text.get_text().startswith("0.")]
    acting = plan.policy >= 0
    holes = [5, 7, 11, 12, 15]
    assert len(written) == 4 * (16 - len(holes))
    assert acting.any()
    by_place = {tuple(text.get_position()): text for text in written}
    # left is action 0: the first square's left triangle, and the others of the same square
    left, down, right, up = (by_place[place] for place in [(-0.32, 0.0), (0.0, 0.32), (0.32, 0.0), (0.0, -0.32)])
    assert [text.get_text() for text in (left, down, right, up)] == [f"{value:.2f}" for value in plan.q[0]]
    assert [text.get_fontweight() for text in (left, down, right, up)] == ["bold", "normal", "normal", "normal"]
    triangles = drawn(axes, "triangles")
    assert len(triangles) == len(written)
    assert np.abs(triangles[0]).max() == 0.5
    for wrong, words in [
        (plan.value, r"q_map draws action values \(S, A\), and these have shape \(16,\): value_map"),
        (plan.q[:, :3], r"policy has shape \(16, 3\)"),
        (plan.q[:15], r"value has shape \(15,\)"),
    ]:
        with pytest.raises(ParameterError, match=words):
            q_map("FrozenLake-v1", wrong)
    diagonal = GridLayout.row_major(1, 2, actions=["left", "right"])
    assert q_map(diagonal, [[1.0, 2.0], [3.0, -np.inf]]).get_title() == ""
