import numpy as np
import pytest
from matplotlib.colors import to_rgb

from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference import HMM, Gaussian, MultivariateGaussian
from rlsuite.plotting import Palette, state_posteriors
from rlsuite.plotting.time_rows import MOST_TIMES

THROWS = [int(face) - 1 for face in "3151166661"]


@pytest.fixture
def weather():
    """Three states, seen through numbers."""
    return HMM([1 / 3] * 3, 0.1 + 0.7 * np.eye(3), Gaussian([-2.0, 0.0, 2.0], [1.0, 1.0, 1.0]))


def areas(ax):
    return [patch for patch in ax.patches if patch.get_fill()]


def borders(ax):
    return [patch.get_data().values for patch in ax.patches if patch.get_label() == "_border"]


def test_printed_posteriors_of_the_casino(casino):
    ax = state_posteriors(casino, THROWS)
    smoothed = areas(ax)[0].get_data().values
    np.testing.assert_allclose(smoothed[[0, 4]], [0.6757593131, 0.4715476428], atol=5e-11)
    [filtered] = borders(ax)
    np.testing.assert_allclose(filtered[[4, 9]], [0.8948689009, 0.2905161498], atol=5e-11)


def test_areas_add_up_to_one(weather):
    z, _ = weather.sample(40, seed=3)
    ax = state_posteriors(weather, z)
    smoothed, filtered = weather.smooth(z), weather.filter(z)
    for state, area in enumerate(areas(ax)):
        top, edges, bottom = area.get_data()
        np.testing.assert_allclose(top - bottom, smoothed[:, state], atol=1e-14)
        assert edges.tolist() == (np.arange(41) - 0.5).tolist()
    np.testing.assert_allclose(areas(ax)[-1].get_data().values, 1.0)
    np.testing.assert_allclose(borders(ax), np.cumsum(filtered, axis=1)[:, :2].T, atol=1e-14)


def test_symbols_have_rows(casino, labelled):
    ax = state_posteriors(casino, THROWS, observation_labels=list("123456"))
    for symbol in range(6):
        [row] = labelled(ax.get_lines(), f"_{symbol + 1}")
        assert row.get_xdata().tolist() == [t for t, z in enumerate(THROWS) if z == symbol]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "0.5", "1", *"123456"]


def test_numbers_have_a_row_from_the_smallest_to_the_largest(weather, labelled):
    z = np.array([-2.5, np.nan, 0.25, 1.5])
    ax = state_posteriors(weather, z)
    [row] = labelled(ax.get_lines(), "_observation")
    x, y = row.get_data()
    ticks = dict(zip((text.get_text() for text in ax.get_yticklabels()), ax.get_yticks(), strict=True))
    assert y[[0, 3]].tolist() == pytest.approx([ticks["\N{MINUS SIGN}2.5"], ticks["1.5"]])
    assert np.isnan(y[1])
    assert (y[2] - y[0]) / (y[3] - y[0]) == pytest.approx(2.75 / 4.0)
    assert x.tolist() == [0, 1, 2, 3]


def test_missing_observations_are_told(casino, caption_of, labelled):
    ax = state_posteriors(casino, [5, -1, 5])
    assert caption_of(ax).endswith("Missing observations: 1.")
    assert [row.get_xdata().tolist() for row in labelled(ax.get_lines(), "_symbol 5")] == [[0.0, 2.0]]


def test_some_channels_of_many(caption_of, labelled):
    hmm = HMM([0.5, 0.5], np.full((2, 2), 0.5), MultivariateGaussian(np.zeros((2, 6)), np.stack([np.eye(6)] * 2)))
    ax = state_posteriors(hmm, np.random.default_rng(0).normal(size=(9, 6)))
    assert len(labelled(ax.get_lines(), "_channel 3")) == 1
    assert labelled(ax.get_lines(), "_channel 4") == []
    assert "Observations: 4 of 6 channels." in caption_of(ax)


def test_true_states_are_shown_in_their_colours(casino, labelled):
    ax = state_posteriors(casino, THROWS, states=[0] * 6 + [1] * 4)
    [cells] = labelled(ax.collections, "_true state")
    looks = Palette(["fair", "loaded"])
    assert [tuple(colour[:3]) for colour in cells.get_facecolors()] == [
        to_rgb(looks[name].colour) for name in ("fair", "loaded")
    ]
    ends = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in cells.get_paths()]
    assert ends == [(-0.5, 5.5), (5.5, 9.5)]


def test_a_part_of_the_time_is_drawn_of_posteriors_given_all(casino, caption_of, labelled):
    z, states = casino.sample(100, seed=1)
    ax = state_posteriors(casino, z, states=states, between=(20, 30))
    top, edges, _ = areas(ax)[0].get_data()
    np.testing.assert_allclose(top, casino.smooth(z)[20:30, 0])
    assert (edges[0], edges[-1]) == (19.5, 29.5) == ax.get_xlim()
    assert "Drawn: 10 of 100 times." in caption_of(ax)
    marks = np.concatenate([line.get_xdata() for k in range(6) for line in labelled(ax.get_lines(), f"_symbol {k}")])
    assert sorted(marks) == list(range(20, 30))


def test_nothing_overlaps(casino):
    ax = state_posteriors(casino, THROWS, states=[0] * 10)
    ax.figure.draw_without_rendering()
    boxes = [ax.get_legend(), ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.get_yticklabels(), *ax.texts]
    extents = [box.get_window_extent() for box in boxes]
    assert not any(one.overlaps(other) for n, one in enumerate(extents) for other in extents[:n])


def test_axes_of_ones_own(casino):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert state_posteriors(casino, THROWS, ax=axes) is axes


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"states": [0] * 9}, r"states has shape \(9,\), not \(10,\)"),
        ({"states": [0] * 9 + [2]}, r"states\[9\] is 2; the states are 0..1"),
        ({"states": [0.5] * 10}, "integers are needed"),
        ({"between": (5, 5)}, r"is not \(begin, end\) with 0 <= begin < end <= 10"),
        ({"between": (0, 11)}, r"is not \(begin, end\) with 0 <= begin < end <= 10"),
        ({"between": (-1, 3)}, "less than 0"),
        ({"observation_labels": ["heads", "tails"]}, "has 2 names, and there are 6 symbols"),
    ],
)
def test_wrong_arguments_are_refused(casino, arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        state_posteriors(casino, THROWS, **arguments)


def test_sequences_that_cannot_be_drawn(casino, weather):
    with pytest.raises(ParameterError, match="draws one sequence"):
        state_posteriors(casino, [[0, 1], [2]])
    with pytest.raises(ParameterError, match=r"choose some, as with between=\(0, 2000\)"):
        state_posteriors(casino, np.zeros(MOST_TIMES + 1, dtype=np.int64))
    with pytest.raises(ParameterError, match="the observations are not symbols"):
        state_posteriors(weather, [0.5], observation_labels=["x"])
    with pytest.raises(ModelError):
        state_posteriors(casino, [6])
