from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.plotting import Palette, alpha_vectors

THRESHOLD = 0.0396544425
"""KLC98: below this probability that the tiger is behind it, a door is opened (gamma 0.95, no end)."""


@pytest.fixture(scope="module")
def for_ever(tiger):
    return rl.solve(tiger(), "incremental_pruning", tol=1e-9)


@pytest.fixture(scope="module")
def two_steps(tiger):
    return rl.solve(tiger(1.0), "incremental_pruning", horizon=2)


def thresholds(ax, labelled):
    return [line.get_xdata()[0] for line in labelled(ax.get_lines(), "_threshold")]


def test_thresholds_of_the_tiger(for_ever, labelled, caption_of):
    ax = alpha_vectors(for_ever)
    assert thresholds(ax, labelled) == pytest.approx([THRESHOLD, 1.0 - THRESHOLD], abs=1e-9)
    assert [text.get_text() for text in ax.texts[:2]] == ["0.0397", "0.9603"]
    assert "where the action changes: 0.0396544, 0.960346." in caption_of(ax)


def test_with_one_step_to_go_the_loss_of_a_hundred_needs_nine_tenths(two_steps, labelled):
    ax = alpha_vectors(two_steps, steps_left=1)
    assert thresholds(ax, labelled) == pytest.approx([0.1, 0.9])
    assert len(labelled(ax.get_lines(), "_vector")) == 3
    assert ax.get_title(loc="left") == "2 states, 3 actions, gamma 1, 1 step to go"


def test_the_vectors_are_lines_over_the_first_state(for_ever, labelled):
    lines = labelled(alpha_vectors(for_ever).get_lines(), "_vector")
    drawn = [line.get_ydata()[::-1].tolist() for line in lines]
    assert sorted(drawn) == sorted(for_ever.alpha_vectors.tolist())
    assert {tuple(line.get_xdata()) for line in lines} == {(0.0, 1.0)}


def test_the_thick_line_is_the_value_in_the_colour_of_the_action(for_ever, labelled):
    ax = alpha_vectors(for_ever)
    looks = Palette(["listen", "open left", "open right"])
    pieces = labelled(ax.get_lines(), "_envelope")
    assert [piece.get_color() for piece in pieces] == [
        looks[action].colour for action in ("open left", "listen", "open right")
    ]
    for piece in pieces:
        x, y = piece.get_xdata(), piece.get_ydata()
        assert y == pytest.approx([for_ever.value([p, 1.0 - p]) for p in x])
        between = 0.5 * (x[1:] + x[:-1])
        assert np.interp(between, x, y) == pytest.approx([for_ever.value([p, 1.0 - p]) for p in between])
    ends = [(piece.get_xdata()[0], piece.get_xdata()[-1]) for piece in pieces]
    assert ends[0][0] == 0.0
    assert ends[-1][1] == 1.0
    assert all(one[1] == pytest.approx(other[0], abs=1e-12) for one, other in pairwise(ends))


def test_the_start_belief_is_marked_at_its_value(for_ever, labelled):
    [dot] = labelled(alpha_vectors(for_ever).get_lines(), "start belief")
    assert dot.get_xdata()[0] == 0.5
    assert dot.get_ydata()[0] == pytest.approx(4063900 / 209789)


def test_the_legend_names_actions_and_the_axis_the_state(for_ever):
    ax = alpha_vectors(for_ever)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "open left",
        "listen",
        "open right",
        "start belief",
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("probability of tiger left", "value")
    assert ax.get_xlim() == (0.0, 1.0)


def test_all_of_the_best_values_can_be_seen_and_little_else(for_ever):
    low, high = alpha_vectors(for_ever).get_ylim()
    best = [for_ever.value([p, 1.0 - p]) for p in np.linspace(0.0, 1.0, 101)]
    assert low < min(best) < max(best) < high
    assert high - low < 2.0 * np.ptp(best)  # the worst vector is 110 below


def test_an_upper_bound_is_called_one(tiger):
    assert alpha_vectors(rl.solve(tiger(), "qmdp")).get_ylabel() == "upper bound on the value"


def test_one_action_needs_no_threshold(labelled, caption_of):
    ears = rl.POMDP.from_arrays([np.eye(2)], [[-1, -1]], [[0.85, 0.15], [0.15, 0.85]], order="ass", gamma=0.95)
    ax = alpha_vectors(rl.solve(ears, "incremental_pruning"))
    assert thresholds(ax, labelled) == []
    assert "Dotted" not in caption_of(ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["action 0", "start belief"]


def test_axes_of_ones_own(for_ever):
    left, _ = Figure().subplots(1, 2)
    assert alpha_vectors(for_ever, ax=left) is left


def test_nothing_overlaps(for_ever):
    ax = alpha_vectors(for_ever)
    ax.figure.draw_without_rendering()
    boxes = [artist.get_window_extent() for artist in (ax.get_legend(), ax._left_title, ax.xaxis.label, *ax.texts)]
    assert not any(one.overlaps(other) for n, one in enumerate(boxes) for other in boxes[:n])


def test_other_numbers_of_states_have_other_figures(doors):
    with pytest.raises(ParameterError, match="2 states, and this model has 3: use belief_simplex"):
        alpha_vectors(rl.solve(doors, "incremental_pruning", horizon=1))
    four = rl.POMDP.from_arrays([np.eye(4)], np.zeros((1, 4)), np.ones((1, 4, 1)), order="ass", gamma=0.5)
    with pytest.raises(ParameterError, match="use policy_graph, gap or belief_trace"):
        alpha_vectors(rl.solve(four, "incremental_pruning", horizon=1))


@pytest.mark.parametrize(
    ("steps", "complaint"), [(3, "more than the 2 steps"), (0, "less than 1"), (1.5, "not a whole number")]
)
def test_steps_that_are_not_in_the_plan(two_steps, steps, complaint):
    with pytest.raises(ParameterError, match=complaint):
        alpha_vectors(two_steps, steps_left=steps)


def test_plans_of_another_kind_are_refused(tiger, for_ever):
    with pytest.raises(ParameterError, match="BeliefSolution has none: solve with incremental_pruning or sarsop"):
        alpha_vectors(rl.solve(tiger(), "reachable_beliefs", horizon=2))
    with pytest.raises(ParameterError, match="no horizon"):
        alpha_vectors(for_ever, steps_left=1)
