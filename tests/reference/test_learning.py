"""The plain learners against closed forms, and the agents against them: the same seed, the same episodes."""

from typing import Any, cast

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers the walks
from rlsuite import reference

ENVS = ["FrozenLake-v1", "CliffWalking-v1", "rlsuite/RandomWalk-v0", "rlsuite/WindyGrid-v0"]


class Recorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Keeps what happens: a list of (state, reward, next state, terminated) for each episode."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.episodes: list[list[tuple[int, float, int, bool]]] = []

    def reset(self, **kwargs: Any) -> Any:
        self.state, info = super().reset(**kwargs)
        self.episodes.append([])
        return self.state, info

    def step(self, action: Any) -> Any:
        found = super().step(action)
        self.episodes[-1].append((self.state, float(found[1]), int(found[0]), found[2]))
        self.state = found[0]
        return found


@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
@pytest.mark.parametrize("env", ENVS)
def test_q_learning_has_the_same_bytes(env: str, loop: Any) -> None:
    plain = reference.q_learning(gymnasium.make(env), gamma=0.95, learning_rate=0.3, epsilon=0.2, episodes=60, seed=11)
    agent = rl.QLearning(gamma=0.95, learning_rate=0.3, exploration=rl.EpsilonGreedy(0.2))
    assert agent.learn(env, episodes=60, seed=11, loop=loop).q_.tobytes() == plain.tobytes()


@pytest.mark.cases("CliffWalking-v1-0.7")
@pytest.mark.parametrize("lambda_", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("env", ENVS)
def test_sarsa_lambda_learns_what_dense_traces_learn(env: str, lambda_: float) -> None:
    plain = reference.sarsa_lambda(
        gymnasium.make(env), gamma=0.9, lambda_=lambda_, learning_rate=0.2, epsilon=0.2, episodes=30, seed=11
    )
    agent = rl.SarsaLambda(gamma=0.9, lambda_=lambda_, learning_rate=0.2, exploration=rl.EpsilonGreedy(0.2))
    np.testing.assert_allclose(agent.learn(env, episodes=30, seed=11).q_, plain, rtol=0, atol=1e-12)


def test_sarsa_lambda_without_traces_has_the_bytes_of_sarsa() -> None:
    plain = reference.sarsa_lambda(
        gymnasium.make("CliffWalking-v1"),
        gamma=1.0,
        lambda_=0.0,
        learning_rate=0.5,
        epsilon=0.1,
        episodes=60,
        seed=3,
    )
    agent = rl.Sarsa(gamma=1.0, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.1))
    assert agent.learn("CliffWalking-v1", episodes=60, seed=3).q_.tobytes() == plain.tobytes()


@pytest.mark.parametrize("lambda_", [0.0, 0.5, 0.9, 1.0])
def test_td_lambda_learns_what_dense_traces_learn(lambda_: float) -> None:
    env = Recorder(gymnasium.make("rlsuite/RandomWalk-v0", n=19))
    agent = rl.TDLambda(gamma=0.95, lambda_=lambda_, learning_rate=0.1).learn(env, episodes=40, seed=5, loop="stepwise")
    seen = [episode for episode in env.episodes if episode]
    n_states = cast("Any", env.observation_space).n
    plain = reference.td_lambda(seen, n_states, gamma=0.95, lambda_=lambda_, learning_rate=0.1)
    np.testing.assert_allclose(agent.value_, plain, rtol=0, atol=1e-12)


def walk(rng: np.random.Generator) -> list[tuple[int, float, int, bool]]:
    """S&B2 Example 6.2: from the middle of five states; the ends are states 0 and 6, and the right one pays 1."""
    state, episode = 3, []
    while 0 < state < 6:
        ahead = state + (1 if rng.random() < 0.5 else -1)
        episode.append((state, float(ahead == 6), ahead, ahead in (0, 6)))
        state = ahead
    return episode


@pytest.mark.parametrize("lambda_", [0.0, 0.8])
def test_the_random_walk_has_the_values_of_example_6_2(lambda_: float) -> None:
    """True values k / 6. With a small constant step size the mean over episodes stays close to them."""
    rng = np.random.default_rng(0)
    episodes = [walk(rng) for _ in range(4000)]
    value = reference.td_lambda(episodes, 7, gamma=1.0, lambda_=lambda_, learning_rate=0.005)
    np.testing.assert_allclose(value[1:6], np.arange(1, 6) / 6, atol=0.04)


def test_monte_carlo_is_lambda_one_without_discount() -> None:
    """S&B2 section 12.1: with lambda = 1 a state that is visited once moves towards the return."""
    episode = [(0, 1.0, 1, False), (1, 2.0, 2, False), (2, 3.0, 3, True)]
    value = reference.td_lambda([episode], 4, gamma=0.5, lambda_=1.0, learning_rate=0.1)
    np.testing.assert_allclose(value, 0.1 * np.array([1 + 0.5 * 2 + 0.25 * 3, 2 + 0.5 * 3, 3.0, 0.0]), atol=1e-15)


def test_the_cliff_is_learned() -> None:
    """S&B2 Example 6.6: the optimal path takes 13 steps along the edge."""
    q = reference.q_learning(
        gymnasium.make("CliffWalking-v1"), gamma=1.0, learning_rate=0.5, epsilon=0.1, episodes=500, seed=1
    )
    assert q[36].max() == pytest.approx(-13.0, abs=1e-6)
