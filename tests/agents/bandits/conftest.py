"""What bandits have lived through, and an index in plain Python to compare them with."""

import math

import gymnasium
import numpy as np
import pytest

STATES, ARMS, STEPS, SEED = 3, 4, 400, 5
MEANS = np.array([[0.1, 0.8, 0.3, 0.6], [0.5, 0.5, 0.2, 0.9], [0.7, 0.1, 0.4, 0.3]])


class Recorder(gymnasium.Env):
    """Three states that follow one another at random, four arms, and a list of all that happened."""

    def __init__(self, kind="normal"):
        self.observation_space = gymnasium.spaces.Discrete(STATES)
        self.action_space = gymnasium.spaces.Discrete(ARMS)
        self.kind = kind
        self.story = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return 0, {}

    def step(self, action):
        mean = MEANS[self.state, action]
        noise = self.np_random.standard_normal()
        rewards = {"normal": mean + noise, "bernoulli": float(self.np_random.random() < mean), "bounded": mean}
        reward = rewards[self.kind]
        self.story.append((self.state, int(action), reward))
        self.state = int(self.np_random.integers(STATES))
        return self.state, reward, False, len(self.story) % 50 == 0, {}


def live(agent, kind="normal", steps=STEPS):
    """The agent after some steps, what happened, and a generator as the agent's was at the beginning."""
    env = Recorder(kind)
    agent.learn(env, steps=steps, seed=SEED)
    return agent, env.story, np.random.default_rng(np.random.SeedSequence(SEED).spawn(3)[0])


@pytest.fixture(scope="session", name="live")
def live_():
    return live


def follow(agent, story, index):
    """Every arm pulled had the largest index, or was one that was never pulled before; the means at the end."""
    rewards = [[[] for _ in range(ARMS)] for _ in range(STATES)]
    for state, action, reward in story:
        seen = rewards[state]
        t = sum(map(len, seen))
        indices = [index(state, arm, seen[arm], t) if seen[arm] else math.inf for arm in range(ARMS)]
        assert indices[action] >= max(indices) - 1e-12
        seen[action].append(reward)
    means = [[np.mean(arm) if arm else 0.0 for arm in seen] for seen in rewards]
    np.testing.assert_allclose(agent.q_, means, atol=1e-12)
    assert agent.visits_.tolist() == [[len(arm) for arm in seen] for seen in rewards]


@pytest.fixture(scope="session", name="follow")
def follow_():
    return follow
