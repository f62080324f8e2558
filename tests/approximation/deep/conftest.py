import gymnasium
import numpy as np
import pytest


class Corridor(gymnasium.Env):
    """Five cells in a row, seen as an image of one plane; right of the last one is the goal, which pays 1."""

    def __init__(self, answer=None, masked=False):
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (1, 3, 5), dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(2, start=3)
        self.answer, self.masked = answer, masked

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.age = int(self.np_random.integers(5)), 0
        return self.image(), self.info()

    def step(self, action):
        assert action in (3, 4)
        assert not (self.masked and action == 3), "an action that is masked"
        self.cell, self.age = max(0, self.cell + (1 if action == 4 else -1)), self.age + 1
        if self.answer is not None and self.age == 3:
            return self.answer[0], self.answer[1], False, False, self.info()
        ended = self.cell == 5
        return self.image(), float(ended), ended, self.age >= 20, self.info()

    def image(self, cell=None):
        found = np.zeros((1, 3, 5), dtype=np.float32)
        found[0, 1, min(4, self.cell if cell is None else cell)] = 1.0
        return found

    def info(self):
        return {"action_mask": np.array([0, 1], dtype=np.int8)} if self.masked else {}


@pytest.fixture
def corridor():
    return Corridor
