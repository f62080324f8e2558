import numpy as np
import pytest

from rlsuite import plotting
from rlsuite.plotting.figure import tick_text


@pytest.mark.parametrize(
    ("ticks", "texts"),
    [
        ([0, 250, 500], ["0", "250", "500"]),
        ([0, 5_000, 10_000], ["0", "5 k", "10 k"]),
        ([0, 500_000, 1_000_000, 1_500_000], ["0", "0.5 M", "1.0 M", "1.5 M"]),
        ([-2_000_000, -1_000_000, 0], ["-2 M", "-1 M", "0"]),
        ([0, 2e9], ["0", "2 G"]),
        ([0.0, 0.25, 0.5], ["0.00", "0.25", "0.50"]),
        ([1_000_000.0, 1_000_000.5], ["1.0000000 M", "1.0000005 M"]),
        ([1e-9, 2e-9], ["1e-09", "2e-09"]),
    ],
)
def test_ticks_in_one_unit(ticks, texts):
    assert [tick_text(tick, ticks) for tick in ticks] == texts


def test_learning_curves_have_no_factor_in_a_corner(results_of):
    ax = plotting.cumulative_reward(
        results_of(cumulative_reward=np.linspace(0.0, 4e6, 50), time=np.arange(50) * 50_000)
    )
    ax.figure.draw_without_rendering()
    assert ax.yaxis.get_offset_text().get_text() == ax.xaxis.get_offset_text().get_text() == ""
    assert "3.0 M" in [tick.get_text() for tick in ax.get_yticklabels()]
    assert "1.5 M" in [tick.get_text() for tick in ax.get_xticklabels()]
