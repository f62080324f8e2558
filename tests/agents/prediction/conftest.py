"""Random episodes, predictors that are put through them, and the returns that they should learn."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.training.legality import every_action

N = 5  # states of the random episodes: few, so that they come again


def random_episodes(seed, count=3, cut=True):
    """Steps (state, reward, next state, terminated, truncated); some episodes end, some are cut off."""
    rng = np.random.default_rng(seed)
    episodes = []
    for _ in range(count):
        length = int(rng.integers(1, 15))
        states = rng.integers(0, N, length + 1).tolist()
        rewards = rng.standard_normal(length).tolist()
        terminated = not cut or rng.random() < 0.7
        last = length - 1
        episodes.append(
            [
                (states[t], rewards[t], states[t + 1], t == last and terminated, t == last and not terminated)
                for t in range(length)
            ]
        )
    return episodes


@pytest.fixture(scope="session", name="random_episodes")
def random_episodes_():
    return random_episodes


def memory_of(agent, seed=0):
    """A memory whose values are not all the same."""
    memory = agent.init_memory(np.ones((N, 1), dtype=bool), every_action)
    memory.q[:, 0] = np.random.default_rng(seed).standard_normal(N)
    return memory


@pytest.fixture(scope="session", name="memory_of")
def memory_of_():
    return memory_of


def walk(agent, memory, episode):
    """Put the agent's rule through an episode; the values after each step."""
    rng = np.random.default_rng(0)
    type(agent).begin(memory, episode[0][0], rng)
    values = []
    for state, reward, next_state, terminated, truncated in episode:
        t = rl.Transition(state, 0, reward, next_state, terminated, truncated)
        type(agent).step(memory, t, rng)
        values.append(memory.q[:, 0].copy())
    return values


@pytest.fixture(scope="session", name="walk")
def walk_():
    return walk


def replay(agent, episodes, seed=0):
    """The values after each episode, those at the beginning included."""
    memory = memory_of(agent, seed)
    return [memory.q[:, 0].copy(), *(walk(agent, memory, episode)[-1] for episode in episodes)]


@pytest.fixture(scope="session", name="replay")
def replay_():
    return replay


def future(episode, value):
    """What lies behind the last step."""
    _, _, next_state, terminated, _ = episode[-1]
    return 0.0 if terminated else value[next_state]


def n_step_return(episode, t, n, gamma, look_up):
    """G_t:t+n (S&B2 eq. 7.1); ``look_up(k)`` is the estimate of what comes after k steps of the episode."""
    end = min(t + n, len(episode))
    total = sum(gamma ** (k - t) * episode[k][1] for k in range(t, end))
    return total + gamma ** (end - t) * look_up(end)


@pytest.fixture(scope="session", name="n_step_return")
def n_step_return_():
    return n_step_return


def value_at(episode, value):
    def look_up(k):
        return future(episode, value) if k == len(episode) else value[episode[k][0]]

    return look_up


@pytest.fixture(scope="session", name="value_at")
def value_at_():
    return value_at


def returns_of(episode, gamma, value):
    return [n_step_return(episode, t, len(episode), gamma, value_at(episode, value)) for t in range(len(episode))]


@pytest.fixture(scope="session", name="returns_of")
def returns_of_():
    return returns_of


def value_then(episode, online):
    """What comes after k steps, as it was estimated by V_k-1."""
    return lambda k: value_at(episode, online[k - 1])(k)


@pytest.fixture(scope="session", name="value_then")
def value_then_():
    return value_then


def lambda_returns(episode, gamma, lambda_, value):
    """S&B2 eq. 12.3: the weighted mean of all n-step returns."""
    look_up = value_at(episode, value)
    targets = []
    for t in range(len(episode)):
        left = len(episode) - t
        returns = [n_step_return(episode, t, n, gamma, look_up) for n in range(1, left + 1)]
        weights = [(1 - lambda_) * lambda_**k for k in range(left - 1)] + [lambda_ ** (left - 1)]
        targets.append(float(np.dot(weights, returns)))
    return targets


@pytest.fixture(scope="session", name="lambda_returns")
def lambda_returns_():
    return lambda_returns
