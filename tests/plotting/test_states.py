import numpy as np
import pytest

import rlsuite as rl
from rlsuite.plotting import state_values
from rlsuite.plotting.bounds import MOST_STATES


def points(ax):
    return {
        line.get_label(): list(zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True))
        for line in ax.get_lines()
    }


def test_one_mark_per_state_in_the_look_of_its_action(caption_of):
    mdp = rl.MDP.from_successors(
        [[0, 1], [2, 0], [None, None]], [[1, 0], [9, 0], [0, 0]], gamma=0.5, action_labels=["stay", "go"]
    )
    ax = state_values(rl.solve(mdp))  # 0.5 * 9 = 4.5 from the first state, 9 from the second; the third is the end
    assert points(ax) == {"stay": [(1.0, pytest.approx(9.0))], "go": [(0.0, pytest.approx(4.5))]}
    assert caption_of(ax).startswith("Marks: an optimal action. Value: within ")


def test_labels_that_are_numbers_say_where():
    mdp = rl.MDP.from_function(
        lambda s, a: s + a, 3, actions=[-1, 1], gamma=0.5, reward=lambda s, a, t: t, terminal=lambda s: s in (0, 6)
    )
    [places, *_] = [sorted(x for marks in points(state_values(rl.solve(mdp))).values() for x, _ in marks)]
    assert places == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_names_of_states_stand_along_the_axis():
    mdp = rl.MDP.from_successors([[1], [0]], [[1], [0]], gamma=0.5, state_labels=["left", "right"])
    ax = state_values(rl.solve(mdp))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["left", "right"]


def test_many_actions_share_a_mark(caption_of):
    n = 9
    mdp = rl.MDP.from_successors([[s] * n for s in range(n)], np.eye(n), gamma=0.5)
    ax = state_values(rl.solve(mdp))
    [marks] = points(ax).values()
    assert marks == [(float(state), pytest.approx(2.0)) for state in range(n)]
    assert ax.get_legend() is None
    assert "Marks" not in caption_of(ax)


def test_of_many_states_some_are_drawn(caption_of):
    n = 3 * MOST_STATES
    mdp = rl.MDP.from_successors([[s] for s in range(n)], np.arange(float(n)), gamma=0.5)
    ax = state_values(rl.solve(mdp))
    [marks] = points(ax).values()
    assert len(marks) == MOST_STATES
    assert (marks[0][0], marks[-1][0]) == (0.0, n - 1.0)
    assert f"Drawn: {MOST_STATES:,} of {n:,} states" in caption_of(ax)


def test_relative_values_have_no_error_bound(caption_of):
    mdp = rl.MDP.from_env("rlsuite_envs:rlsuite/RiverSwim-v0", gamma=0.9)
    ax = state_values(rl.solve(mdp, "relative_value_iteration"))
    assert ax.get_ylabel() == "relative value"
    assert "within" not in caption_of(ax)
