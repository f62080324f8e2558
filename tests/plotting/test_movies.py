"""Movies of learning and of value iteration."""

import re

import gymnasium
import pytest
from PIL import Image

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import NotLearned, ParameterError, UnsuitableEnvironment
from rlsuite.plotting import learning_movie, planning_movie


def test_one_file_with_a_slider_that_loads_nothing(tmp_path, movie_of):
    agent = rl.QLearning(gamma=0.9)
    path = learning_movie(tmp_path / "lake.html", agent, "FrozenLake-v1", steps=500, frames=2, seed=1)
    page, (texts, pictures) = path.read_text(encoding="utf-8"), movie_of(path)
    assert [text.partition(";")[0] for text in texts] == ["after 250 steps", "after 500 steps"]
    assert (pictures[0] != pictures[1]).any()
    assert not re.findall(r"https?:|src=|href=|@import", page)
    assert '<input id="time" type="range" min="0" max="1" value="1" aria-label="frame" autofocus>' in page
    whole = rl.QLearning(gamma=0.9).learn("FrozenLake-v1", steps=500, seed=1)
    assert agent.q_.tobytes() == whole.q_.tobytes()


def test_value_iteration_as_a_gif(tmp_path):
    path = planning_movie(tmp_path / "lake.gif", "FrozenLake-v1", gamma=0.5, frames=3)
    with Image.open(path) as gif:
        assert gif.n_frames == 3


@pytest.mark.filterwarnings("ignore::rlsuite.errors.StepwiseWarning")
def test_an_environment_without_a_table_shows_what_is_learned_alone(tmp_path, movie_of):
    env = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda reward: 2 * reward)
    path = learning_movie(tmp_path / "lake.html", rl.QLearning(), env, steps=100, frames=1, seed=1)
    assert movie_of(path)[0] == ["after 100 steps"]


@pytest.mark.slow
def test_a_page_of_the_usual_size_has_less_than_a_megabyte(tmp_path):
    rooms, agent = {"map": "FourRooms"}, rl.QLearning(gamma=0.95, learning_rate=0.5)
    path = learning_movie(tmp_path / "rooms.html", agent, "rlsuite/GridWorld-v0", steps=50_000, seed=1, **rooms)
    assert path.stat().st_size < 1_000_000  # 4.3 MB with whole pictures


def test_what_cannot_be_shown_is_refused_before_anything_is_learned(tmp_path):
    agent = rl.QLearning()
    for path, env, given, error, said in (
        ("lake.png", "FrozenLake-v1", {}, ParameterError, "ends in none of .html"),
        ("lake.gif", "FrozenLake-v1", {"frames": 11}, ParameterError, "frames=11 is more than steps=10"),
        ("taxi.gif", "Taxi-v4", {}, UnsuitableEnvironment, "Taxi-v4"),
    ):
        with pytest.raises(error, match=said):
            learning_movie(tmp_path / path, agent, env, **{"steps": 10, "frames": 1, **given})
    with pytest.raises(NotLearned):
        print(agent.q_)
    with pytest.raises(NotLearned, match="TD has no table of action values"):
        learning_movie(tmp_path / "lake.gif", rl.TD(), "FrozenLake-v1", steps=10, frames=1)
    assert not list(tmp_path.iterdir())
