"""Movies of learning, of value iteration, of a belief over time and of a policy that walks."""

import itertools
import re

import gymnasium
import numpy as np
import pytest
from PIL import Image

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import NotLearned, ParameterError, UnsuitableEnvironment
from rlsuite.planning import simulate_beliefs
from rlsuite.plotting import belief_movie, learning_movie, planning_movie, walk_movie


def test_one_file_with_a_slider_that_loads_nothing(tmp_path, movie_of):
    agent = rl.QLearning(gamma=0.9)
    path = learning_movie(tmp_path / "lake.html", agent, "FrozenLake-v1", steps=500, frames=2, seed=1)
    page, (texts, pictures) = path.read_text(encoding="utf-8"), movie_of(path)
    assert [text.partition(";")[0] for text in texts] == ["after 250 steps", "after 500 steps"]
    assert (pictures[0] != pictures[1]).any()
    assert not re.findall(r"https?:|src=|href=|@import", page)
    assert '"sliders":[{"name":"frame","texts":["1 of 2","2 of 2"]}],"at":[1],"pause":400' in page
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


class Bare(gymnasium.Env):
    """Nothing to see."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)


def test_a_belief_is_told_as_it_was_simulated(tmp_path, tiger, movie_of):
    model = tiger()
    plan = rl.solve(model)
    texts, pictures = movie_of(belief_movie(tmp_path / "tiger.html", plan, model, steps=3, seed=3))
    played = simulate_beliefs(model, plan, steps=3, seed=3, keep_beliefs=True)
    assert len(texts) == len(pictures) == 4
    assert texts[0] == "at the start; belief: tiger left 0.500, tiger right 0.500; next: listen"
    assert texts[1].startswith("step 1: listen, reward -1, observed hear ")
    for text, belief in zip(texts, played.beliefs[0], strict=True):
        assert f"tiger left {belief[0]:.3f}" in text
    assert "next" not in texts[-1]
    assert all((one != other).any() for one, other in itertools.pairwise(pictures))


def test_the_future_is_hidden(tmp_path, tiger, movie_of):
    """The same start, whatever comes later."""
    listen = lambda belief: 0  # noqa: E731 - a policy
    firsts = [
        movie_of(belief_movie(tmp_path / f"{seed}.html", listen, tiger(), steps=2, seed=seed))[1][0] for seed in (1, 2)
    ]
    differs = (np.abs(firsts[0][:250].astype(int) - firsts[1][:250]) > 8).any(axis=2)  # above the rows of marks
    assert not differs[:, differs.shape[1] // 2 :].any()


@pytest.mark.slow
def test_beliefs_over_three_states_and_as_a_gif(tmp_path, doors):
    plan = rl.solve(doors, "incremental_pruning", horizon=2)
    with Image.open(belief_movie(tmp_path / "doors.gif", plan, doors, seed=1)) as gif:
        assert gif.n_frames == 3  # as many steps as the plan has
    with pytest.raises(ParameterError, match="steps=0"):
        belief_movie(tmp_path / "doors.html", plan, doors, steps=0)
    with pytest.raises(ParameterError, match=r"pomdp is 'rlsuite/Tiger-v0', not a POMDP; write POMDP\.from_env"):
        belief_movie(tmp_path / "doors.html", plan, "rlsuite/Tiger-v0")


def test_a_walk_over_the_values_of_a_solution(tmp_path, movie_of):
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    best = rl.solve(rl.MDP.from_env(env, gamma=0.9))
    texts, pictures = movie_of(walk_movie(tmp_path / "lake.html", best, env, seed=1))
    assert len(texts) == len(pictures) == 7
    assert texts[0] == "at the start: observation 0"
    assert texts[-1] == "step 6: right, reward 1, return 1, observation 15; the end"
    steps = itertools.pairwise(pictures)
    moved = {tuple(np.argwhere((one != other).any(axis=2)).min(axis=0) // 50) for one, other in steps}
    assert len(moved) > 2
    plain = movie_of(walk_movie(tmp_path / "plain.html", [1, 3] * 8, "FrozenLake-v1", steps=3, seed=1))
    assert plain[0][-1].startswith("step 3: ")
    assert plain[0][-1].endswith("; cut off here")


def test_an_agent_and_a_gif(tmp_path):
    agent = rl.QLearning(gamma=0.9).learn("CliffWalking-v1", steps=300, seed=1)
    path = walk_movie(tmp_path / "cliff.gif", agent, "CliffWalking-v1", steps=4, seed=1)
    with Image.open(path) as gif:
        assert 1 < gif.n_frames <= 5


def test_taxi_is_drawn_from_its_map(tmp_path, movie_of):
    texts, pictures = movie_of(walk_movie(tmp_path / "taxi.html", lambda x: 0, "Taxi-v4", steps=3, seed=1))
    assert texts[1].startswith("step 1: action 0, reward -1, return -1, observation ")
    assert (pictures[0] != pictures[1]).any()


def test_environments_without_a_grid_draw_themselves(tmp_path, movie_of):
    texts, pictures = movie_of(walk_movie(tmp_path / "a.html", lambda x: 0, "rlsuite/RiverSwim-v0", steps=2, seed=1))
    assert texts[1].startswith("step 1: action 0, reward ")
    assert pictures[0].shape[2] == 3
    for env, said in (
        (gymnasium.make("rlsuite/RiverSwim-v0"), 'make it with render_mode="rgb_array"'),
        (Bare(), "neither a grid nor pictures"),
    ):
        with pytest.raises(UnsuitableEnvironment, match=said):
            walk_movie(tmp_path / "b.html", lambda x: 0, env)
    with pytest.raises(ParameterError, match="ends in none of"):
        walk_movie(tmp_path / "b.avi", lambda x: 0, "FrozenLake-v1")
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
