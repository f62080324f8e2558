"""Figures of comparisons show the numbers of the comparison."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite import plotting
from rlsuite.errors import ParameterError
from rlsuite.training.results import Bounds

KNOWN = Bounds(50.0, 81.0, 50.0)


@pytest.fixture
def runs_of(results_of):
    """Runs of a control agent, whose state values have no error."""
    return lambda agent: results_of(agent, value_bounds=KNOWN, value_error=np.zeros(0))


def points_of(ax):
    return {line.get_ydata()[0]: line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"}


def test_values_of_one_environment_with_their_intervals(runs_of):
    comparison = rl.compare({"lake": [runs_of("a"), runs_of("b")]})
    ax = plotting.final_values(comparison)
    assert points_of(ax) == {0: comparison[0].mean, 1: comparison[1].mean}
    ends = [path.vertices[:, 0].tolist() for lines in ax.collections for path in lines.get_paths()]
    assert ends == [[row.low, row.high] for row in comparison]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]
    assert ax.get_legend_handles_labels()[1] == ["optimum"]


def test_scores_of_several_environments(runs_of):
    runs = [runs_of("a"), runs_of("b")]
    comparison = rl.compare({"lake": runs, "maze": runs})
    expected = comparison.aggregate("iqm")
    assert points_of(plotting.final_values(comparison)) == {0: expected["a"].value, 1: expected["b"].value}


def test_a_profile_is_the_share_of_runs_that_reach_a_score(runs_of):
    comparison = rl.compare({"lake": [runs_of("a")]})
    (line,) = plotting.performance_profile(comparison).lines
    scores = comparison.scores["a"][0]
    assert np.array_equal(line.get_ydata(), [(scores >= level).mean() for level in line.get_xdata()])


def test_what_is_no_comparison_is_named(results_of):
    for draw in (plotting.final_values, plotting.performance_profile):
        with pytest.raises(ParameterError, match=r"draws what rl\.compare\(\.\.\.\) returned, not Results"):
            draw(results_of())
