"""KLC98, section 2.3; exact values of the beliefs."""

from fractions import Fraction

import gymnasium
import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite.models import POMDP
from rlsuite_envs.tiger import tiger

LISTEN, OPEN_LEFT, OPEN_RIGHT = 0, 1, 2
HEAR_LEFT, HEAR_RIGHT, NOTHING = 0, 1, 2


def test_the_numbers_of_the_paper():
    problem = tiger()
    assert problem.mdp.expected_reward().tolist() == [[-1, -100, 10], [-1, 10, -100]]
    P, _ = problem.mdp.dense()
    assert P[:, LISTEN].tolist() == [[1, 0], [0, 1]]
    assert (P[:, [OPEN_LEFT, OPEN_RIGHT]] == 0.5).all()
    np.testing.assert_allclose(problem.observation[LISTEN], [[0.85, 0.15], [0.15, 0.85]])
    assert (problem.observation[[OPEN_LEFT, OPEN_RIGHT]] == 0.5).all()
    assert problem.start.tolist() == [0.5, 0.5]
    assert not problem.mdp.terminated.any()


def test_beliefs_after_hearing_the_tiger_on_the_left():
    problem = tiger()
    belief = problem.start
    for wanted in (Fraction(17, 20), Fraction(289, 298), Fraction(4913, 4940), Fraction(83521, 83602)):
        belief = problem.update_belief(belief, LISTEN, HEAR_LEFT)
        assert belief[0] == pytest.approx(float(wanted), abs=1e-14)
    np.testing.assert_allclose(problem.update_belief(belief, OPEN_LEFT, HEAR_RIGHT), [0.5, 0.5])


def test_the_second_sound_equals_the_first_with_the_probability_of_the_paper():
    problem = tiger()
    heard = problem.update_belief(problem.start, LISTEN, HEAR_LEFT)
    assert problem.predict(heard, LISTEN)[HEAR_LEFT] == pytest.approx(0.745)


def test_what_is_heard_has_the_probabilities_of_the_model():
    env = gymnasium.make("rlsuite/Tiger-v0", max_episode_steps=-1).unwrapped
    assert env.reset(seed=1)[0] == NOTHING
    counts = np.zeros((3, 2, 2))
    placed = np.zeros(2)
    for step in range(30_000):
        action = (LISTEN, LISTEN, LISTEN, OPEN_LEFT, LISTEN, OPEN_RIGHT)[step % 6]
        before = env.s
        observation, reward, terminated, *_ = env.step(action)
        assert not terminated
        assert reward == [[-1, -100, 10], [-1, 10, -100]][before][action]
        counts[action, env.s, observation] += 1
        placed[env.s] += action != LISTEN
        assert action != LISTEN or env.s == before
    found = counts / counts.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(found, env.model.observation, atol=0.02)
    assert placed[0] / placed.sum() == pytest.approx(0.5, abs=0.02)


def test_two_sounds_agree_as_often_as_the_paper_says():
    envs = gymnasium.make_vec("rlsuite/Tiger-v0", num_envs=20_000)
    envs.reset(seed=3)
    first = envs.step(np.zeros(20_000, dtype=int))[0]
    second = envs.step(np.zeros(20_000, dtype=int))[0]
    assert (first == second).mean() == pytest.approx(0.745, abs=0.0125)


def test_keywords():
    problem = tiger(accuracy=0.7, listen_cost=2, right_reward=5, tiger_cost=50, gamma=0.75)
    np.testing.assert_allclose(problem.observation[LISTEN], [[0.7, 0.3], [0.3, 0.7]])
    assert problem.mdp.expected_reward()[0].tolist() == [-2, -50, 5]
    assert problem.gamma == 0.75


def test_opening_may_end_the_episode():
    env = gymnasium.make("rlsuite/Tiger-v0", opening="end")
    env.reset(seed=1)
    assert env.step(LISTEN)[2] is False
    assert env.step(OPEN_LEFT)[2] is True


def test_the_horizon_is_the_time_limit():
    env = gymnasium.make("rlsuite/Tiger-v0", max_episode_steps=3)
    env.reset(seed=1)
    assert [env.step(LISTEN)[3] for _ in range(3)] == [False, False, True]


def test_a_window_shows_the_last_pairs():
    env = gymnasium.make("rlsuite/Tiger-v0", window=2)
    model = env.unwrapped.model
    assert isinstance(model, POMDP)
    # The empty window, 6 pairs, 36 pairs of pairs; "nothing yet" comes on top.
    assert model.n_observations == 43
    assert env.observation_space.n == 44
    assert env.reset(seed=4)[0] == 43
    heard = []
    for _ in range(5):
        observation = env.step(LISTEN)[0]
        label = model.observation_labels[observation]
        heard.append(label.split(" listen:")[-1].removeprefix("listen:"))
        assert label == " ".join(f"listen:{one}" for one in heard[-2:])


def test_rendering_never_shows_the_tiger():
    frames = set()
    for seed in range(20):
        env = gymnasium.make("rlsuite/Tiger-v0", render_mode="ansi")
        env.reset(seed=seed)
        frames.add((env.render(), env.unwrapped.s))
    assert {frame for frame, _ in frames} == {" left   right\nstart\n"}
    assert {state for _, state in frames} == {0, 1}
    env.step(OPEN_RIGHT)
    assert env.render().startswith(" left  [right]\nopen right, reward ")


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"accuracy": 1.2}, r"accuracy=1.2 is not a number in \[0, 1\]"),
        ({"listen_cost": "1"}, "listen_cost='1'"),
        ({"right_reward": None}, "right_reward=None"),
        ({"tiger_cost": float("inf")}, "tiger_cost=inf"),
        ({"opening": "stop"}, "unknown opening 'stop'"),
        ({"window": 0}, "window=0"),
        ({"gamma": -1}, "gamma=-1"),
    ],
)
def test_bad_keywords_are_named(kwargs, words):
    with pytest.raises(ParameterError, match=words):
        tiger(**kwargs)
