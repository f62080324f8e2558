"""Tables for observations that consist of several integers."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import rlsuite as rl
from rlsuite.errors import FileError, LearningError, ParameterError, UnsuitableEnvironment

FORMS = {
    "tuple": (spaces.Tuple([spaces.Discrete(5), spaces.Discrete(3, start=1)]), lambda x, y: (x, y)),
    "dict": (spaces.Dict(x=spaces.Discrete(5), y=spaces.Discrete(3, start=1)), lambda x, y: {"x": x, "y": y}),
    "array": (spaces.MultiDiscrete([5, 3], start=[0, 1]), lambda x, y: np.array([x, y])),
    "box": (
        spaces.Box(np.array([0, 1], np.int8), np.array([4, 3], np.int8), dtype=np.int8),
        lambda x, y: np.array([x, y], np.int8),
    ),
}


class Harbor(gym.Env):
    """A boat on 5 x 3 squares, and wind; the same places are shown as ids or in one of several forms."""

    action_space = spaces.Discrete(4)

    def __init__(self, form=None):
        self.observation_space, self.shown = FORMS.get(form, (spaces.Discrete(15), lambda x, y: x * 3 + y - 1))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.y = 0, 1
        return self.shown(self.x, self.y), {}

    def step(self, action):
        dx, dy = ((1, 0), (-1, 0), (0, 1), (0, -1))[action]
        if self.np_random.random() < 0.2:
            dy = 1
        self.x, self.y = min(4, max(0, self.x + dx)), min(3, max(1, self.y + dy))
        end = self.x == 4 and self.y == 1
        return self.shown(self.x, self.y), 1.0 if end else -0.1, end, False, {}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
def test_the_form_of_the_observations_changes_nothing(form, loop):
    known = rl.Sarsa(gamma=0.9).learn(Harbor(), steps=3_000, seed=3, loop="stepwise")
    ids = rl.Sarsa(gamma=0.9).learn(Harbor(), steps=3_000, seed=3, loop=loop, evaluate_every=1_000)
    agent = rl.Sarsa(gamma=0.9).learn(Harbor(form), steps=3_000, seed=3, loop=loop, evaluate_every=1_000)
    assert agent.record_.loop == loop
    assert agent.q_.tobytes() == known.q_.tobytes()
    assert agent.record_.evaluation_return.tobytes() == ids.record_.evaluation_return.tobytes()
    shown = FORMS[form][1]
    for x in range(5):
        for y in (1, 2, 3):
            row = x * 3 + y - 1
            assert agent.row_of(shown(x, y)) == row
            if known.q_[row].max() > np.partition(known.q_[row], -2)[-2]:  # no tie
                assert agent.act(shown(x, y)) == known.act(row)
    several = [shown(0, 1), shown(2, 3)]
    assert agent.q(several).tolist() == known.q_[[0, 8]].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_it_is_saved_with_its_space(form, tmp_path):
    whole = rl.QLearning().learn(Harbor(form), steps=2_000, seed=3)
    half = rl.QLearning().learn(Harbor(form), steps=1_000, seed=3, tabulate=True)
    half.save(tmp_path / "harbor.npz")
    loaded = rl.load(tmp_path / "harbor.npz")
    shown = FORMS[form][1]
    assert loaded.row_of(shown(2, 3)) == 8
    assert loaded.observation_ids_.space == Harbor(form).observation_space
    assert loaded.learn(Harbor(form), steps=1_000, tabulate=True).q_.tobytes() == whole.q_.tobytes()


@pytest.mark.slow
def test_the_model_has_the_rows_of_the_table():
    """Values of the model that is made by asking, at the rows of the agent."""
    mdp = rl.tabulate(Harbor("tuple"), gamma=0.9)
    agent = rl.QLearning(gamma=0.9, learning_rate=0.01, exploration=rl.EpsilonGreedy(1.0))
    agent.learn(Harbor("tuple"), steps=1_000_000, seed=1, loop="compiled")
    start = agent.row_of((0, 1))
    assert mdp.start[start] == 1.0
    assert mdp.state_labels[start] == "(0, 1)"
    assert agent.q_[start].max() == pytest.approx(rl.solve(mdp).value[start], abs=0.02)


def test_a_prediction_may_be_asked_for_by_observation():
    agent = rl.TD(gamma=0.9).learn(Harbor("array"), steps=500, seed=0)
    assert agent.value([np.array([0, 1])]).tolist() == [agent.value()[0]]


@pytest.mark.parametrize("observation", [(5, 1), (0, 0), (0,), 3, "0", (0, 1, 1), (0.5, 1)])
def test_what_is_no_observation_is_refused(observation):
    agent = rl.QLearning().learn(Harbor("tuple"), steps=10, seed=0)
    with pytest.raises(ParameterError, match="is not in Tuple"):
        agent.act(observation)
    with pytest.raises(ParameterError, match="is not"):
        agent.q(observation)


def test_an_environment_that_leaves_its_space_is_named():
    class Lost(Harbor):
        def step(self, action):
            return (4, 4), *super().step(action)[1:]

    with pytest.raises(
        LearningError, match=r"Lost, step 1: the environment returned observation \(4, 4\), which is not"
    ):
        rl.QLearning().learn(Lost("tuple"), steps=10, seed=0)


def test_a_space_that_is_too_large_says_what_to_do():
    env = Harbor("tuple")
    env.observation_space = spaces.Box(0, 255, (5, 5), dtype=np.uint8)
    with pytest.raises(UnsuitableEnvironment, match=r"has room for 1,000,000.*TransformObservation.*features"):
        rl.QLearning().learn(env, steps=10)


@pytest.mark.filterwarnings("ignore:what was learned is saved, but not the run")
def test_a_file_with_another_space_is_refused(tmp_path, monkeypatch):
    agent = rl.QLearning().learn(Harbor("tuple"), steps=10, seed=0)
    for wrong in (
        {"discrete": [3, 0]},
        {"tuple": [[1]]},
        {"box": [[0], [300], "|u1"]},
        {"text": 3},
        7,
        {"binary": [99]},
    ):
        monkeypatch.setattr("rlsuite.agents.storage.described", lambda space, wrong=wrong: wrong)
        agent.save(tmp_path / "wrong.npz")
        with pytest.raises(FileError):
            rl.load(tmp_path / "wrong.npz")
