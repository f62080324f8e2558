"""The problems that learning from batches was shown on: chains, a heavy pole, a car on a hill."""

import math
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy.integrate import solve_ivp

from rlsuite.environments.facts import facts_of
from rlsuite.environments.forms.dynamics import trusted_dynamics
from rlsuite.errors import ParameterError
from rlsuite_envs.classic_control.car_on_the_hill import CarOnTheHillEnv
from rlsuite_envs.classic_control.inverted_pendulum import InvertedPendulumEnv
from rlsuite_envs.two_way_chain import two_way_chain

# --------------------------------------------------------------------------------------------------------- chains


@pytest.mark.parametrize(
    ("n", "rewarded", "published"),
    [
        (4, [1, 2], "RRLL"),
        (20, None, "L" * 10 + "R" * 10),
        # "right in states 1-9 and 26-41, left in states 10-25 and 42-50"; in 10 and 41 themselves both are as good,
        # because the chain goes on to both sides, and farther than a discount of 0.9 lets one see
        (50, [9, 40], "R" * 9 + "=" + "L" * 15 + "R" * 15 + "=" + "L" * 9),
    ],
)
def test_the_published_optimal_policies_of_the_chains(optimum, n, rewarded, published):
    _, q = optimum(two_way_chain(n=n, rewarded=rewarded))
    found = ["=" if abs(left - right) < 1e-6 else "LR"[int(right > left)] for left, right in q]
    assert "".join(found) == published


def test_a_chain_slips_to_the_other_side_and_stays_at_its_ends():
    model = two_way_chain(n=3, rewarded=[2], slip=0.25)
    assert model.P[0][0] == [(0.75, 0, 0.0, False), (0.25, 1, 0.0, False)]
    assert model.P[1][1] == [(0.75, 2, 0.0, False), (0.25, 0, 0.0, False)]
    assert model.P[2][1] == [(0.75, 2, 1.0, False), (0.25, 1, 1.0, False)]
    assert model.start.tolist() == [1 / 3] * 3


@pytest.mark.parametrize(
    "keywords", [{"n": 1}, {"slip": 1.5}, {"rewarded": [20]}, {"rewarded": [0.5]}, {"rewarded": []}]
)
def test_bad_keywords_of_a_chain_are_named(keywords):
    with pytest.raises(ParameterError, match=next(iter(keywords))):
        two_way_chain(**keywords)


# ----------------------------------------------------------------------------------------------- the heavy pole


def moved(env, state, action):
    env.reset(seed=1)
    env.state = state
    env.step(action)
    return np.array(env.state)


@pytest.fixture(scope="module")
def quiet_pole():
    return InvertedPendulumEnv(noise=0.0)


def test_a_pole_moves_as_the_equation_says(quiet_pole):
    """Against SciPy's integrator, with the equation of the paper written once more."""

    def slope(t, state, force):
        angle, velocity = state
        m, length, alpha = 2.0, 0.5, 1 / 10.0
        above = (
            9.8 * np.sin(angle)
            - alpha * m * length * velocity**2 * np.sin(2 * angle) / 2
            - alpha * np.cos(angle) * force
        )
        return velocity, above / (4 * length / 3 - alpha * m * length * np.cos(angle) ** 2)

    for state in ((0.3, 0.5), (-1.0, 2.0), (0.0, -3.0)):
        for action, force in enumerate((-50.0, 0.0, 50.0)):
            solved = solve_ivp(slope, (0.0, 0.1), state, args=(force,), rtol=1e-10, atol=1e-12).y[:, -1]
            np.testing.assert_allclose(moved(quiet_pole, state, action), solved, atol=1e-6)


def test_near_upright_a_pole_falls_like_a_hyperbolic_cosine(quiet_pole):
    rate = math.sqrt(9.8 / (4 * 0.5 / 3 - 0.1 * 2.0 * 0.5))
    found = moved(quiet_pole, (1e-6, 0.0), 1)
    np.testing.assert_allclose(found, [1e-6 * math.cosh(rate / 10), 1e-6 * rate * math.sinh(rate / 10)], rtol=1e-5)


def test_the_noise_is_uniform_and_drawn_once_a_step():
    env, quiet = InvertedPendulumEnv(), InvertedPendulumEnv(noise=0.0, force=1.0)
    env.reset(seed=3)
    twin = np.random.default_rng()
    twin.bit_generator.state = env.np_random.bit_generator.state
    for _ in range(20):
        env.state = (0.0, 0.0)
        env.step(2)
        pushed = InvertedPendulumEnv(noise=0.0, force=50.0 + twin.uniform(-10, 10))
        assert env.state == tuple(moved(pushed, (0.0, 0.0), 2))
    # a cart that is pushed to one side leaves its pole behind
    assert moved(quiet, (0.0, 0.0), 2)[0] < 0 < moved(quiet, (0.0, 0.0), 0)[0]


@pytest.mark.parametrize(("length", "published"), [(0.5, None), (0.25, 6.0)])
def test_random_actions_last_as_long_as_is_said(length, published):
    """600 episodes; the standard error of their mean length is 0.11 steps at most, so 0.45 is four of them."""
    env = InvertedPendulumEnv(length=length)
    rng = np.random.default_rng(2)
    env.reset(seed=2)
    lengths = []
    for _ in range(600):
        env.reset()
        lengths.append(1)
        while not env.step(int(rng.integers(3)))[2]:
            lengths[-1] += 1
    assert np.mean(lengths) == pytest.approx(9.0 if published is None else published, abs=0.45)


def test_a_pole_that_is_level_has_fallen(quiet_pole):
    quiet_pole.reset(seed=1)
    for angle, velocity, fallen in ((1.5, 1.0, True), (-1.5, -1.0, True), (1.3, 0.0, False)):
        quiet_pole.state = (angle, velocity)
        observation, reward, terminated, _, _ = quiet_pole.step(1)
        assert (reward, terminated) == ((-1.0, True) if fallen else (0.0, False))
        assert (abs(quiet_pole.state[0]) > math.pi / 2) is fallen
        assert bool(abs(observation[0]) == math.pi / 2) is fallen


# ------------------------------------------------------------------------------------------- the car on the hill


def hill(p):
    return p * p + p if p < 0 else p / math.sqrt(1 + 5 * p * p)


def climb(p):
    return 2 * p + 1 if p < 0 else (1 + 5 * p * p) ** -1.5


@pytest.mark.parametrize("action", [0, 1])
@pytest.mark.parametrize("start", [-0.5, -0.05, 0.4])
def test_energy_is_what_the_push_has_put_in(start, action):
    """A car that is pushed with u along the ground has gained u times the way: friction there is none."""
    push = 1.5
    env = CarOnTheHillEnv(push=push, start=start, n_substeps=100_000)
    env.reset(seed=1)
    force = push if action == 1 else -push
    kept = []
    for _ in range(5):
        position, speed = env.state
        kept.append(speed**2 * (1 + climb(position) ** 2) / 2 + 9.81 * hill(position) - force * position)
        env.step(action)
    np.testing.assert_allclose(kept, kept[0], atol=2e-4)


def test_where_and_how_a_drive_ends():
    env = CarOnTheHillEnv()
    env.reset(seed=1)
    for state, action, reward, over in (
        ((0.9, 2.0), 1, 1.0, True),
        ((0.95, 2.99), 0, 1.0, True),
        ((0.95, 2.99), 1, -1.0, True),  # over the top, and too fast
        ((-0.9, -2.0), 0, -1.0, True),
        ((-0.9, 2.9), 1, -1.0, True),
        ((-0.5, 0.0), 0, 0.0, False),
    ):
        env.state = state
        observation, paid, terminated, _, _ = env.step(action)
        assert (paid, terminated) == (reward, over), state
        assert (abs(env.state[0]) > 1 or abs(env.state[1]) > 3) is over
        assert bool(abs(observation[0]) == 1 or abs(observation[1]) == 3) is over


def test_a_car_has_to_swing_and_gets_up_in_nineteen_steps():
    """All drives that go right, then left, then right again; the best ends after 1.9 s."""
    env = CarOnTheHillEnv()
    found = []
    for first in range(8):
        for left in range(12):
            env.reset(seed=1)
            for age, action in enumerate([1] * first + [0] * left + [1] * 25):
                _, reward, over, _, _ = env.step(action)
                if over:
                    found.append((reward, -age - 1, first, left))
                    break
    assert max(found)[:2] == (1.0, -19)
    assert not [drive for drive in found if drive[0] > 0 and drive[3] == 0]


# ---------------------------------------------------------------------------------------------------- all of them


def test_gymnasium_has_nothing_to_say(moving_id):
    with warnings.catch_warnings():
        # remarks that Gymnasium's own pendulum gets, too
        warnings.filterwarnings("ignore", message=".*(symmetric and normalized|human).*")
        check_env(gymnasium.make(moving_id).unwrapped)


def test_the_compiled_functions_do_what_step_does(moving_id):
    env = gymnasium.make(moving_id)
    env.reset(seed=1)
    trusted_dynamics(facts_of(env), env.unwrapped.dynamics)


def test_two_copies_live_the_same_life_again_after_json(moving_id):
    env = gymnasium.make(moving_id)
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert env.spec.max_episode_steps == again.spec.max_episode_steps
    np.testing.assert_array_equal(env.reset(seed=3)[0], again.reset(seed=3)[0])
    for action in (0, 1, 1, 0):
        mine, theirs = env.step(action), again.step(action)
        np.testing.assert_array_equal(mine[0], theirs[0])
        assert mine[1:4] == theirs[1:4]


@pytest.mark.parametrize(
    ("kind", "keyword", "value"),
    [
        (InvertedPendulumEnv, "noise", -1.0),
        (InvertedPendulumEnv, "length", 0.0),
        (InvertedPendulumEnv, "perturbation", 2.0),
        (InvertedPendulumEnv, "n_substeps", 0),
        (CarOnTheHillEnv, "start", 1.5),
        (CarOnTheHillEnv, "push", math.nan),
        (CarOnTheHillEnv, "n_substeps", 2.5),
    ],
)
def test_bad_keywords_are_named(kind, keyword, value):
    with pytest.raises(ParameterError, match=f"{keyword}={value}"):
        kind(**{keyword: value})
