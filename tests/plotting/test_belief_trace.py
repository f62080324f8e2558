import numpy as np
import pytest
from matplotlib.colors import to_rgb

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.planning import simulate_beliefs
from rlsuite.plotting import Palette, belief_trace
from rlsuite.plotting.time_rows import MOST_STATES, OTHERS


@pytest.fixture(scope="module")
def pomdp(tiger):
    return tiger()


@pytest.fixture(scope="module")
def lived(pomdp):
    """Two episodes of one who opens a door when the belief leaves (0.1, 0.9)."""

    def policy(belief):
        return 1 if belief[0] < 0.1 else 2 if belief[0] > 0.9 else 0

    return simulate_beliefs(pomdp, policy, episodes=2, steps=30, seed=7, keep_beliefs=True)


def areas(ax):
    return [patch for patch in ax.patches if patch.get_fill()]


@pytest.mark.parametrize("episode", [0, 1])
def test_areas_are_the_beliefs_and_add_up_to_one(pomdp, lived, episode):
    ax = belief_trace(pomdp, lived, episode=episode)
    below = np.zeros(31)
    for state, (area, name) in enumerate(zip(areas(ax), pomdp.state_labels, strict=True)):
        top, edges, bottom = area.get_data()
        assert area.get_label() == name
        assert edges.tolist() == (np.arange(32) - 0.5).tolist()
        np.testing.assert_allclose(top - bottom, lived.beliefs[episode, :, state], atol=1e-15)
        np.testing.assert_array_equal(bottom, below)
        below = top
    np.testing.assert_allclose(below, 1.0)


def test_known_beliefs_of_the_tiger(pomdp, lived):
    tops = areas(belief_trace(pomdp, lived))[0].get_data()[0]
    assert {round(top, 10) for top in tops} <= {round(p, 10) for p in (1 / 2, 17 / 20, 3 / 20, 289 / 298, 9 / 298)}


def test_actions_stand_at_their_belief_and_observations_before_it(pomdp, lived, labelled):
    lines = belief_trace(pomdp, lived).get_lines()
    for number, name in enumerate(pomdp.action_labels):
        marks = labelled(lines, f"_{name}")
        assert [line.get_xdata().tolist() for line in marks] == [np.flatnonzero(lived.actions[0] == number).tolist()]
    for number, name in enumerate(pomdp.observation_labels):
        [marks] = labelled(lines, f"_{name}")
        assert marks.get_xdata().tolist() == (np.flatnonzero(lived.observations[0] == number) + 1).tolist()


def test_rows_are_named_below_the_probabilities(pomdp, lived):
    ax = belief_trace(pomdp, lived)
    ticks = dict(zip((text.get_text() for text in ax.get_yticklabels()), ax.get_yticks(), strict=True))
    rows = ["hidden state", *pomdp.observation_labels, *pomdp.action_labels]
    assert list(ticks) == ["0", "0.5", "1", *rows]
    heights = [ticks[row] for row in rows]
    assert heights == sorted(heights, reverse=True)
    assert ax.get_ylim()[0] < heights[-1] < heights[0] < 0.0


def test_the_hidden_state_is_shown_in_its_colour(pomdp, lived, labelled):
    [cells] = labelled(belief_trace(pomdp, lived).collections, "_hidden state")
    looks = Palette(pomdp.state_labels)
    shown = []
    for path, colour in zip(cells.get_paths(), cells.get_facecolors(), strict=True):
        begin, end = path.vertices[:, 0].min(), path.vertices[:, 0].max()
        state = [to_rgb(looks[name].colour) for name in pomdp.state_labels].index(tuple(colour[:3]))
        shown += [state] * round(end - begin)
    assert shown == lived.states[0].tolist()


def test_what_the_caption_tells(pomdp, lived, caption_of):
    said = caption_of(belief_trace(pomdp, lived, episode=1))
    assert (
        f"Episode 1: 30 steps, then it was cut off; return {lived.returns[1]:.6g}".replace("-", "\N{MINUS SIGN}")
        in said
    )


def test_an_episode_that_ended_has_no_last_belief(caption_of):
    look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    cups = rl.POMDP.from_arrays(
        [look, guess, guess],
        [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]],
        [[1, 0], [0, 1], [0.5, 0.5]],
        order="ass",
        gamma=0.9,
        start=[0.5, 0.5, 0],
        terminated=[False, False, True],
    )
    lived = simulate_beliefs(
        cups, lambda b: 0 if b.max() < 1.0 else 1 + int(b[1] == 1.0), steps=9, seed=1, keep_beliefs=True
    )
    ax = belief_trace(cups, lived)
    assert "2 steps, then it ended; return 8" in caption_of(ax)
    assert areas(ax)[-1].get_data()[0].tolist() == [1.0, 1.0]


def test_of_many_states_the_likely_ones_have_an_area(labelled):
    n = 2 * MOST_STATES
    ring = rl.POMDP.from_arrays(
        [0.5 * np.eye(n) + 0.5 * np.roll(np.eye(n), 1, axis=1)], np.zeros((1, n)), np.ones((1, n, 1)), order="ass",
        gamma=0.9, start=0,
    )  # fmt: skip
    lived = simulate_beliefs(ring, lambda b: 0, steps=5, seed=1, keep_beliefs=True)
    found = areas(belief_trace(ring, lived))
    assert [area.get_label() for area in found] == [
        *(f"state {k}" for k in range(MOST_STATES - 1)),
        f"{n - MOST_STATES + 1} other states",
    ]
    assert found[-1].get_facecolor()[:3] == to_rgb(OTHERS)
    np.testing.assert_allclose(found[-1].get_data()[0], 1.0)


def test_axes_of_ones_own(pomdp, lived):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert belief_trace(pomdp, lived, ax=axes) is axes


def test_wrong_arguments_are_refused(pomdp, doors, lived):
    with pytest.raises(ParameterError, match="keep_beliefs=True"):
        belief_trace(pomdp, simulate_beliefs(pomdp, lambda b: 0, steps=2, seed=1))
    with pytest.raises(ParameterError, match="over 2 states, and the model has 3"):
        belief_trace(doors, lived)
    with pytest.raises(ParameterError, match=r"not one of 0\.\.1"):
        belief_trace(pomdp, lived, episode=2)
    with pytest.raises(ParameterError, match="less than 0"):
        belief_trace(pomdp, lived, episode=-1)
