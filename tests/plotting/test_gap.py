from dataclasses import replace

import numpy as np
import pytest

import rlsuite as rl
from rlsuite import plotting
from rlsuite.errors import ParameterError
from rlsuite.planning import BoundsTrace
from rlsuite.plotting import Palette, gap


@pytest.fixture(scope="module")
def plan(tiger):
    return rl.solve(tiger(), "incremental_pruning", tol=1e-6)


@pytest.fixture
def plan_of(plan):
    """Make a plan with a trace by hand: (seconds, lower bound, upper bound)."""

    def make(*records, method="by_hand"):
        trace = BoundsTrace.of([(n, *record) for n, record in enumerate(records)])
        seconds, lower, upper = records[-1]
        return replace(plan, trace=trace, seconds=seconds, lower_bound=lower, upper_bound=upper, method=method)

    return make


def bounds(ax, label):
    """The times, the lower and the upper bound that are drawn."""
    [lower] = [line for line in ax.get_lines() if line.get_label() == label]
    [upper] = [line for line in ax.get_lines() if line.get_label() == f"_{label}"]
    assert lower.get_xdata().tolist() == upper.get_xdata().tolist()
    return lower.get_xdata().tolist(), lower.get_ydata().tolist(), upper.get_ydata().tolist()


def test_both_bounds_are_those_of_the_trace_and_the_answer_comes_last(plan):
    x, lower, upper = bounds(gap(plan), "incremental_pruning")
    trace = plan.trace
    assert x == pytest.approx([*np.maximum(trace.seconds, 1e-4), plan.seconds])
    assert lower == [*trace.lower_bound, plan.lower_bound]
    assert upper == [*trace.upper_bound, plan.upper_bound]
    assert all(low <= high for low, high in zip(lower, upper, strict=True))
    assert lower[-1] <= 4063900 / 209789 <= upper[-1]


def test_against_iterations(plan):
    ax = gap(plan, against="iterations")
    assert bounds(ax, "incremental_pruning")[0] == plan.trace.iterations.tolist()
    assert ax.get_xlabel() == "iterations"
    assert ax.get_xscale() == "linear"


def test_a_bound_holds_until_the_next_one(plan_of):
    ax = gap(plan_of((1.0, 0.0, 9.0), (2.0, 3.0, 5.0)))
    assert {line.get_drawstyle() for line in ax.get_lines()} == {"steps-post"}
    [band] = ax.collections
    assert (band.get_datalim(ax.transData).intervaly == [0.0, 9.0]).all()


def test_what_happened_early_can_be_seen(plan_of):
    ax = gap(plan_of((0.0, 0.0, 9.0), (0.01, 3.0, 5.0), (10.0, 4.0, 4.5)))
    assert ax.get_xscale() == "log"
    assert bounds(ax, "by_hand")[0] == [1e-4, 0.01, 10.0, 10.0]
    ax.figure.draw_without_rendering()
    assert "0.01" in [text.get_text() for text in ax.get_xticklabels()]
    assert gap(plan_of((1.0, 0.0, 9.0), (9.0, 3.0, 5.0))).get_xscale() == "linear"


def test_infinite_bounds_are_left_out(plan_of):
    ax = gap(plan_of((1.0, -np.inf, np.inf), (2.0, -np.inf, 7.0), (3.0, 1.0, 7.0)))
    assert bounds(ax, "by_hand") == ([3.0, 3.0], [1.0, 1.0], [7.0, 7.0])
    with pytest.raises(ParameterError, match="by_hand never had two finite bounds"):
        gap(plan_of((1.0, -np.inf, 3.0)))


def test_several_planners_by_their_names(plan, plan_of, caption_of):
    never = plan_of((1.0, -np.inf, 3.0), method="never")
    ax = gap({"one": plan, "other": plan_of((1.0, 0.0, 9.0), (2.0, 3.0, 5.0)), "never": never})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "other"]
    assert "other 2" in caption_of(ax)
    assert caption_of(ax).endswith("Never bounded: never.")
    assert ax.get_title(loc="left") == "2 states, 3 actions, gamma 0.95"


def test_a_plan_without_a_trace_is_one_mark(tiger):
    plan = rl.solve(tiger(), "reachable_beliefs", horizon=3)
    assert bounds(gap(plan), plan.method) == ([plan.seconds], [plan.lower_bound], [plan.upper_bound])
    assert gap(plan).get_title(loc="left") == "2 states, 3 actions, gamma 0.95"


def test_bounds_that_never_moved_are_a_bar(plan_of, caption_of):
    ax = gap(plan_of((1.0, -20.0, 190.0)))
    bar = ax.collections[-1].get_segments()
    assert [segment.tolist() for segment in bar] == [[[1.0, -20.0], [1.0, 190.0]]]
    assert caption_of(ax).endswith("Gap at the end: by_hand 210.")


def test_point_based_planners_keep_a_trace(tiger):
    plan = rl.solve(tiger(), "sarsop", gap=1e-3)
    x, lower, upper = bounds(gap(plan), "sarsop")
    assert len(x) > 2
    assert upper[-1] - lower[-1] <= 1e-3 < upper[0] - lower[0]


def test_one_look_for_a_planner_in_all_figures(plan):
    palette = Palette(["incremental_pruning", "sarsop", "pbvi"])
    colours = {line.get_color() for line in gap(plan, palette=palette).get_lines()}
    assert colours == {palette["incremental_pruning"].colour}


def test_axes_of_ones_own(plan):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert gap(plan, ax=axes) is axes


def test_wrong_arguments_are_refused(plan):
    with pytest.raises(ParameterError, match="no solutions to draw"):
        gap([])
    with pytest.raises(ParameterError, match="unknown axis to draw against 'sweeps'"):
        gap(plan, against="sweeps")
    with pytest.raises(ParameterError, match="two solutions are by incremental_pruning"):
        gap([plan, plan])


def test_figures_of_plans_are_found():
    found = plotting.plan_figures()
    assert {name: figure.n_states for name, figure in found.items()} == {
        "alpha_vectors": 2,
        "belief_simplex": 3,
        "gap": None,
        "policy_graph": None,
    }
    assert all(getattr(plotting, name) is figure.draw for name, figure in found.items())


def test_the_title_has_the_name_of_the_problem():
    plan = rl.solve(rl.POMDP.from_env("rlsuite_envs:rlsuite/Tiger-v0", gamma=0.95), method="sarsop", tol=1.0)
    assert gap(plan).get_title(loc="left") == "rlsuite/Tiger-v0, gamma 0.95"
