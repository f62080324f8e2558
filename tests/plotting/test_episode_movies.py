"""Movies of a belief over time and of a policy that walks."""

import itertools

import gymnasium
import numpy as np
import pytest
from PIL import Image

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.planning import simulate_beliefs
from rlsuite.plotting import belief_movie, walk_movie


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
