"""The map of a sweep shows the numbers of its settings, and which is the best."""

from dataclasses import replace

import numpy as np
import pytest

from rlsuite import plotting
from rlsuite.errors import ParameterError
from rlsuite.experiments import Sweep
from rlsuite.plotting.parameters import slices


@pytest.fixture
def runs(results_of):
    grid = [(n, rate, epsilon) for n in (1, 4) for rate in (1.0, 0.01, 0.1) for epsilon in (0.1, 0.3)]
    made = [results_of(f"Q ({one})", value_error=np.zeros(0)) for one in grid]
    names = ("n", "learning_rate", "exploration.epsilon")
    return [replace(run, setting=dict(zip(names, one, strict=True))) for run, one in zip(made, grid, strict=True)]


def test_a_map_is_a_slice_of_the_sweep(runs):
    sweep = Sweep(runs)
    assert slices(sweep) == [{"exploration.epsilon": 0.1}, {"exploration.epsilon": 0.3}]
    parameters = ("learning_rate", "exploration.epsilon")
    ax = plotting.parameter_map(sweep, parameters=parameters, at={"n": 4})
    (mesh,) = ax.collections
    means = {tuple(run.setting.values()): row.mean for run, row in zip(runs, sweep.rows, strict=True)}
    expected = [[means[4, rate, epsilon] for rate in (0.01, 0.1, 1.0)] for epsilon in (0.1, 0.3)]
    assert mesh.get_array().tolist() == expected
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.01", "0.1", "1"]
    (frame,) = ax.patches
    row, column = np.unravel_index(np.argmax(expected), (2, 3))
    assert frame.get_xy() == (column, row)
    assert "at n 4." in ax.texts[-1].get_text().replace("\n", " ")
    assert (mesh.norm.vmin, mesh.norm.vmax) == (min(means.values()), max(means.values()))
    assert slices(Sweep([replace(run, setting={"n": run.setting["n"]}) for run in runs])) == []


def test_mistakes(runs):
    for given, message in (
        ({"parameters": ("n", "rate")}, "unknown parameter of this sweep 'rate'"),
        ({"at": {"n": 3}}, "no setting of this sweep has n 3"),
    ):
        with pytest.raises(ParameterError, match=message):
            plotting.parameter_map(runs, **{"parameters": ("learning_rate", "exploration.epsilon"), **given})
    with pytest.raises(ParameterError, match="parameter_study draws it"):
        plotting.parameter_map([replace(run, setting={"n": 1}) for run in runs])
    with pytest.raises(ParameterError, match="parameter_map draws a sweep"):
        plotting.parameter_map([replace(run, setting={}) for run in runs])


def test_no_legend_has_more_than_twelve_names(runs, results_of):
    many = [results_of(f"agent {number}", value_error=np.zeros(0)) for number in range(30)]
    axes = [plotting.figures()[name](many) for name in ("regret", "evaluation", "cumulative_reward")]
    swept = [replace(run, setting={"n": n, "c": c}) for c, run in enumerate(many) for n in (1, 2)]
    axes.append(plotting.parameter_study(swept, parameter="n"))
    for ax in axes:
        names = ax.texts if ax.get_legend() is None else ax.get_legend().get_texts()
        assert len([text for text in names if text.get_gid() != "caption"]) <= 12
        assert len(ax.lines) >= 30
        caption = ax.texts[-1].get_text().replace("\n", " ")
        assert "best have names," in caption
        assert "others are grey" in caption
