"""The parameter study shows the numbers of the sweep."""

from dataclasses import replace

import numpy as np
import pytest

from rlsuite import plotting
from rlsuite.errors import ParameterError
from rlsuite.experiments import Sweep
from rlsuite.plotting.figure_list import figures_of


@pytest.fixture
def runs(results_of):
    grid = [(rate, epsilon) for rate in (0.01, 0.1, 1.0) for epsilon in (0.1, 0.3)]
    made = [results_of(f"Q ({rate}, {epsilon})", value_error=np.zeros(0)) for rate, epsilon in grid]
    return [
        replace(run, setting={"learning_rate": rate, "exploration.epsilon": epsilon})
        for run, (rate, epsilon) in zip(made, grid, strict=True)
    ]


def test_a_line_for_each_value_of_the_other_parameter(runs):
    ax = plotting.parameter_study(runs)
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines) == ["Q, exploration.epsilon 0.1", "Q, exploration.epsilon 0.3", "optimum"]
    means = [row.mean for row in Sweep(runs).rows]
    assert lines["Q, exploration.epsilon 0.3"].get_ydata().tolist() == means[1::2]
    assert lines["Q, exploration.epsilon 0.3"].get_xdata().tolist() == [0.01, 0.1, 1.0]
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "learning_rate")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.01", "0.1", "1"]


def test_another_parameter_and_another_measure(runs):
    ax = plotting.parameter_study(Sweep(runs, "reward"), parameter="exploration.epsilon")
    assert ax.get_ylabel() == "reward per step"
    assert ax.get_xscale() == "linear"
    assert len(ax.lines) == 3


def test_several_sweeps_share_the_axes(runs):
    ax = plotting.parameter_study([Sweep(runs[::2]), Sweep([replace(run, agent="Sarsa") for run in runs[1::2]])])
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["Q, exploration.epsilon 0.1", "Sarsa, exploration.epsilon 0.3", "optimum"]


def test_each_agent_may_have_a_parameter_of_its_own(runs):
    one = [replace(run, agent="Q (a)", setting={"c": run.setting["learning_rate"]}) for run in runs[::2]]
    other = [replace(run, agent="Sarsa (b)", setting={"lambda_": number / 2}) for number, run in enumerate(runs[1::2])]
    ax = plotting.parameter_study([*one, *other])
    assert [line.get_label() for line in ax.lines] == ["Q: c", "Sarsa: lambda_", "optimum"]
    assert ax.get_xlabel() == "value of the parameter"
    assert ax.lines[1].get_xdata().tolist() == [0.0, 0.5, 1.0]


def test_it_is_drawn_unasked_only_of_a_sweep(runs, results_of):
    others = figures_of([results_of(value_error=np.zeros(0))])
    assert "parameter_study" not in others
    assert "value_error" not in others
    assert {"parameter_map", "parameter_study", *others} == set(figures_of(runs))


def test_mistakes(runs, results_of):
    with pytest.raises(ParameterError, match="parameter_study draws a sweep"):
        plotting.parameter_study([results_of()])
    with pytest.raises(ParameterError, match="unknown parameter of this sweep 'rate'"):
        plotting.parameter_study(runs, parameter="rate")
    words = [replace(run, setting={"features": "tiles"}) for run in runs]
    with pytest.raises(ParameterError, match="'tiles', which is not a number"):
        plotting.parameter_study(words)
