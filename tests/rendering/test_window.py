"""The window of ``render_mode="human"``: what it shows, where there is none, and that it goes away."""

import copy
import pickle
import sys
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import ParameterError, RlsuiteWarning
from rlsuite.rendering.window import Window

FRAMES = [np.full((20, 30, 3), shade, dtype=np.uint8) for shade in (0, 100, 200)]


@pytest.fixture
def display(monkeypatch):
    """Pretend that matplotlib has a display; the pictures that it was to show, and for how long."""
    shown = []

    def wait(canvas, seconds):
        (axes,) = canvas.figure.axes
        shown.append((np.asarray(axes.images[0].get_array()), seconds))

    pyplot.close(pyplot.figure())  # which backend it has is known from now on
    monkeypatch.setattr(FigureCanvasAgg, "required_interactive_framework", "tk")
    monkeypatch.setattr(FigureCanvasAgg, "start_event_loop", wait)
    monkeypatch.setattr(FigureManagerBase, "show", lambda manager: None)
    yield shown
    pyplot.close("all")


def test_pictures_follow_each_other_in_one_window_until_it_is_closed(display):
    window = Window("three shades", fps=4)
    for frame in FRAMES:
        window.show(frame)
    assert pyplot.get_figlabels() == ["three shades"]
    width, height = pyplot.figure("three shades").get_size_inches() * 100
    assert (width, height) == (30, 20)
    assert all(np.array_equal(picture, frame) for (picture, _), frame in zip(display, FRAMES, strict=True))
    assert {seconds for _, seconds in display} == {0.25}
    window.close()
    window.close()
    assert pyplot.get_fignums() == []
    window.show(FRAMES[0])
    assert len(pyplot.get_fignums()) == 1


def test_what_comes_after_somebody_has_closed_it_is_not_shown(display):
    window = Window("closed", fps=4)
    window.show(FRAMES[0])
    pyplot.close("closed")
    window.show(FRAMES[1])
    assert (len(display), pyplot.get_fignums()) == (1, [])


def test_copies_are_closed(display):
    window = Window("one", fps=4)
    window.show(FRAMES[0])
    for other in (copy.deepcopy(window), pickle.loads(pickle.dumps(window))):
        other.close()
        assert (other.title, other.fps) == ("one", 4)
    assert len(pyplot.get_fignums()) == 1


def test_environments_show_themselves(display):
    """Made as anybody would make them: a warning of Gymnasium's would be an error here."""
    for env_id in ("rlsuite/GridGoal-v0", "rlsuite/Tiger-v0", "rlsuite/Bandit-v0"):
        env, twin = (gymnasium.make(env_id, render_mode=mode) for mode in ("human", "rgb_array"))
        env.reset(seed=1)
        twin.reset(seed=1)
        pictures = [twin.render()]
        for action in (1, 0, 1):
            env.step(action)
            twin.step(action)
            pictures.append(twin.render())
        assert env.render() is None
        assert pyplot.get_figlabels() == [env_id]
        assert len(display) == len(pictures)
        for (shown, _), picture in zip(display, pictures, strict=True):
            assert np.array_equal(shown, picture), env_id
        env.close()
        assert pyplot.get_fignums() == []
        display.clear()


def test_without_a_display_one_warning_says_what_to_do():
    env = gymnasium.make("rlsuite/GridGoal-v0", render_mode="human")
    with pytest.warns(RlsuiteWarning, match=r"a display \(matplotlib finds none.* and write a gif with"):
        env.reset(seed=1)
    env.step(0)  # says it no more
    env.close()
    assert pyplot.get_fignums() == []


def test_a_toolkit_that_fails_is_named(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("couldn't connect to display")

    monkeypatch.setattr(pyplot, "figure", fail)
    with pytest.warns(RlsuiteWarning, match=r"a display \(couldn't connect to display\): make the environment"):
        Window("none", fps=4).show(FRAMES[0])


def test_in_a_notebook_the_cell_is_the_window(monkeypatch):
    shown = []

    def display(image, display_id):
        shown.append(np.asarray(image))
        return SimpleNamespace(update=lambda image: shown.append(np.asarray(image)))

    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    window = Window("cell", fps=50)
    for frame in FRAMES:
        window.show(frame)
    window.close()
    assert all(np.array_equal(picture, frame) for picture, frame in zip(shown, FRAMES, strict=True))
    assert pyplot.get_fignums() == []


def test_several_copies_of_an_environment_have_no_window():
    with pytest.raises(ParameterError, match="shows a single environment"):
        gymnasium.make_vec(
            "rlsuite/GridGoal-v0", num_envs=2, render_mode="human", vectorization_mode="vector_entry_point"
        )
