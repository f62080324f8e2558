import gymnasium
import numpy as np
import pytest
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure

from rlsuite.errors import EnvironmentNotFound, ParameterError, UnsuitableEnvironment
from rlsuite.plotting import value_surface
from rlsuite.rendering.colours import UNKNOWN, VIRIDIS

SQUARE = ([0.0, 0.0], [2.0, 1.0])


def saddle(observations):
    return observations[:, 0] - 3.0 * observations[:, 1]


def contours_of(ax):
    return [artist for artist in ax.collections if isinstance(artist, ContourSet)]


def test_every_pixel_is_centred_at_the_observation_it_shows():
    [image] = value_surface(SQUARE, saddle, resolution=3).images
    assert image.get_array().tolist() == [[0, 1, 2], [-1.5, -0.5, 0.5], [-3, -2, -1]]
    assert image.origin == "lower"
    assert image.get_extent() == [-0.5, 2.5, -0.25, 1.25]


def test_the_other_dimensions_are_held(caption_of):
    asked = []

    def value(observations):
        asked.append(observations)
        return observations[:, 2]

    ax = value_surface(([0, 0, 0], [1, 1, 1]), value, dimensions=(2, 0), at=[9, 5, 9], resolution=2)
    assert asked[0].tolist() == [[0, 5, 0], [0, 5, 1], [1, 5, 0], [1, 5, 1]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("observation[2]", "observation[0]")
    assert "Slice at observation[1] = 5." in caption_of(ax)


def test_dimensions_are_held_in_the_middle_or_at_zero():
    asked = []
    value_surface("CartPole-v1", lambda x: asked.append(x) or x[:, 2], dimensions=(2, 0), resolution=2)
    assert np.unique(asked[0][:, 1]).tolist() == np.unique(asked[0][:, 3]).tolist() == [0.0]
    value_surface(([0, 0, 4], [1, 1, 6]), lambda x: asked.append(x) or x[:, 2], resolution=2)
    assert np.unique(asked[1][:, 2]).tolist() == [5.0]


def test_lines_of_equal_value_lie_where_the_value_is():
    [lines] = contours_of(value_surface(SQUARE, saddle))
    assert len(lines.levels) >= 4
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        assert saddle(path.vertices) == pytest.approx(level, abs=1e-9)


def test_unknown_values_are_grey():
    ax = value_surface(SQUARE, lambda x: np.where(x[:, 0] < 0.5, np.nan, x[:, 0]), resolution=5)
    [image] = ax.images
    pixels = image.to_rgba(image.get_array(), bytes=True)[..., :3]
    assert (pixels[:, 0] == UNKNOWN).all()
    assert (pixels[:, 1] == VIRIDIS[0]).all()
    assert (pixels[:, -1] == VIRIDIS[-1]).all()


def test_a_constant_value_has_no_lines(caption_of):
    ax = value_surface(SQUARE, lambda x: np.full(len(x), 7.0))
    assert contours_of(ax) == []
    assert caption_of(ax) == "The value is 7 everywhere."


def test_an_episode_is_drawn_on_it(labelled, caption_of):
    path = np.array([[0.0, 0.5], [1.0, 0.25], [2.0, 1.0]])
    ax = value_surface(SQUARE, saddle, trace=path)
    [line] = labelled(ax.lines, "_trace")
    assert np.column_stack(line.get_data()).tolist() == path.tolist()
    assert "Line: 3 observations, from the ring to the cross." in caption_of(ax)


def test_an_environment_gives_bounds_and_a_title():
    env = gymnasium.make("MountainCar-v0")
    ax = value_surface(env, saddle, labels=["position", "velocity"])
    assert ax.get_title(loc="left") == "MountainCar-v0"
    assert ax.images[0].get_extent() == pytest.approx([-1.2075, 0.6075, -0.07058333, 0.07058333])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("position", "velocity")


def test_it_fits_among_others():
    left, right = Figure(layout="constrained").subplots(1, 2)
    assert value_surface(SQUARE, saddle, ax=right) is right
    assert not left.images


@pytest.mark.parametrize(
    ("where", "arguments", "complaint"),
    [
        (SQUARE, {"value": lambda x: x}, r"shape \(14641, 2\).*q\(x\).max\(axis=1\)"),
        (SQUARE, {"value": 3.0}, "value is 3.0, not a function"),
        (SQUARE, {"value": lambda x: x[:, 0] * np.nan}, "finite nowhere"),
        (SQUARE, {"dimensions": (0, 0)}, "give two different ones"),
        (SQUARE, {"dimensions": (0, 2)}, r"dimensions names dimension 2; an observation has dimensions 0..1"),
        (SQUARE, {"at": [0.0]}, "needed 2 finite numbers"),
        (SQUARE, {"labels": ["x"]}, "1 labels for observations of 2 numbers"),
        (SQUARE, {"limits": {0: (1.0, 0.0)}}, "dimension 0: its lower bound 1 is not below its upper bound 0"),
        (SQUARE, {"trace": [[1.0, 2.0, 3.0]]}, r"trace has shape \(1, 3\), needed \(n, 2\)"),
        (SQUARE, {"resolution": 1}, "resolution=1 is less than 2"),
        (([0.0], [1.0]), {}, r"low has shape \(1,\)"),
        (([0.0, 1.0],), {}, r"pair \(low, high\), got 1"),
        ("CartPole-v1", {}, r"dimension 1 has no bounds.*limits=\{1: \(-3.0, 3.0\)\}"),
    ],
)
def test_wrong_arguments_are_refused(where, arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        value_surface(where, **({"value": saddle} | arguments))


def test_an_environment_without_a_plane_is_refused():
    with pytest.raises(UnsuitableEnvironment, match=r"FrozenLake-v1 has observations Discrete\(16\)"):
        value_surface("FrozenLake-v1", saddle)
    with pytest.raises(EnvironmentNotFound, match="MountainCar-v0"):
        value_surface("MountainCra-v0", saddle)
