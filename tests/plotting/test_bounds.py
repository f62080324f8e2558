from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

import rlsuite as rl
from rlsuite import plotting
from rlsuite.errors import ParameterError
from rlsuite.planning import Solution
from rlsuite.planning.watch import Trace
from rlsuite.plotting import convergence
from rlsuite.plotting.bounds import MOST_POINTS


@pytest.fixture(scope="module")
def lake():
    return rl.MDP.from_env("FrozenLake-v1", gamma=0.95)


@pytest.fixture(scope="module")
def solutions(lake):
    return [rl.solve(lake, method) for method in ("value_iteration", "gauss_seidel", "policy_iteration")]


@pytest.fixture
def solution_of(lake):
    """Make a solution with a trace by hand."""

    def make(error_bound, method="by_hand", seconds=None):
        n = len(error_bound)
        return Solution(
            value=np.zeros(16),
            policy=np.zeros(16, dtype=np.int64),
            converged=True,
            error_bound=error_bound[-1],
            iterations=n,
            seconds=1.0,
            method=method,
            trace=Trace(
                np.arange(n), np.arange(n) / 10 if seconds is None else np.array(seconds), np.array(error_bound)
            ),
            lookahead=rl.solve(lake).lookahead,
        )

    return make


def curve(ax, label):
    [line] = [line for line in ax.get_lines() if line.get_label() == label]
    return list(line.get_xdata()), list(line.get_ydata())


@pytest.mark.parametrize("against", ["iterations", "seconds"])
def test_a_curve_is_the_trace_where_it_is_finite(solutions, against):
    ax = convergence(solutions, against=against)
    assert ax.get_yscale() == "log"
    for solution in solutions:
        finite = np.isfinite(solution.trace.error_bound)
        x, y = curve(ax, solution.method)
        assert x == getattr(solution.trace, against)[finite].tolist()
        assert y == solution.trace.error_bound[finite].tolist()
        assert y[-1] == solution.error_bound


def test_what_is_infinite_or_zero_is_left_out(solution_of):
    ax = convergence(solution_of([np.inf, np.inf, 3.0, 0.0, 0.5]))
    assert curve(ax, "by_hand") == ([2.0, 4.0], [3.0, 0.5])


def test_what_was_never_certified_is_said(solution_of, caption_of):
    one, other = solution_of([np.inf, 1.0], "one"), solution_of([np.inf, np.inf], "other")
    ax = convergence([one, other])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one"]
    assert caption_of(ax).endswith("Never certified: other.")
    with pytest.raises(ParameterError, match="nothing to draw: other never had a finite error bound"):
        convergence(other)


def test_methods_that_converge_alike_are_named(solution_of, caption_of):
    same = [solution_of([1.0, 0.1, 0.01], method) for method in "ab"]
    assert "Identical: a, b." in caption_of(convergence([*same, solution_of([2.0, 0.5, 0.02], "c")]))


def test_long_traces_keep_their_ends(solution_of):
    bounds = np.geomspace(1e3, 1e-9, 50_000)
    x, y = curve(convergence(solution_of(bounds)), "by_hand")
    assert len(x) == MOST_POINTS
    assert (x[0], x[-1]) == (0, 49_999)
    assert y[-1] == bounds[-1]


def test_labels_of_ones_own(solutions, lake):
    slow, fast = rl.solve(lake, "value_iteration", tol=1e-9), solutions[0]
    ax = convergence({"strict": slow, "lax": fast})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["strict", "lax"]
    with pytest.raises(ParameterError, match="two solutions are by value_iteration: pass a dict"):
        convergence([slow, fast])


def test_the_tolerance_is_a_line(solutions):
    ax = convergence(solutions[0], tol=1e-6)
    assert curve(ax, "tolerance")[1] == [1e-6, 1e-6]
    assert "tolerance" not in [line.get_label() for line in convergence(solutions[0]).get_lines()]


def test_the_title_is_the_name_of_the_model_they_share(solutions):
    assert convergence(solutions).get_title(loc="left") == "FrozenLake-v1, gamma 0.95"
    other = rl.solve(rl.MDP.from_env("FrozenLake-v1", gamma=0.5))
    assert convergence({"a": solutions[0], "b": other}).get_title(loc="left") == ""


def test_time_is_written_in_what_suits_it(solution_of):
    short = convergence(solution_of([3.0, 2.0, 1.0], seconds=[0.0, 0.001, 0.002]), against="seconds")
    short.figure.draw_without_rendering()
    assert "0.00100" in [tick.get_text() for tick in short.get_xticklabels()]
    long = convergence(solution_of([3.0, 2.0, 1.0]), against="seconds")
    assert long.get_xlabel() == "seconds"


def test_one_look_for_a_method_in_all_figures(solutions):
    palette = plotting.Palette(["value_iteration", "gauss_seidel", "policy_iteration", "others"])
    [line, *_] = convergence(solutions[1], palette=palette).get_lines()
    assert line.get_color() == palette["gauss_seidel"].colour


def test_axes_of_ones_own(solutions):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert convergence(solutions, ax=left) is left
    assert convergence(solutions, against="seconds", ax=right).figure is figure


def test_nothing_overlaps_and_nothing_is_cut_off(solutions):
    ax = convergence(solutions, tol=1e-6)
    ax.figure.draw_without_rendering()
    whole = ax.figure.bbox
    boxes = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label, ax.get_legend(), ax.texts[0]]
    for artist in boxes:
        box = artist.get_window_extent()
        assert box.width == 0 or (box.x0 >= whole.x0 and box.x1 <= whole.x1 and box.y0 >= whole.y0)
    assert not ax.get_legend().get_window_extent().overlaps(ax._left_title.get_window_extent())
    ticks = [tick.get_window_extent() for tick in ax.get_yticklabels() if tick.get_text()]
    assert not any(one.overlaps(other) for one, other in pairwise(ticks))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"solutions": []}, "no solutions to draw"),
        ({"against": "sweeps"}, "unknown axis to draw against 'sweeps'"),
        ({"tol": 0.0}, "tol=0.0"),
    ],
)
def test_wrong_arguments_are_refused(solutions, arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        convergence(**({"solutions": solutions} | arguments))


def test_figures_of_solutions_are_found():
    found = plotting.solution_figures()
    assert {name: figure.on_grid for name, figure in found.items()} == {
        "convergence": False,
        "diagram": False,
        "q_map": True,
        "state_values": False,
        "value_map": True,
    }
    assert all(getattr(plotting, name) is figure.draw for name, figure in found.items())
