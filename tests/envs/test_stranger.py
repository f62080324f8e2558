"""A package outside the tree, which knows nothing of ours but the public names."""

import sys
import textwrap

import gymnasium
import numpy as np
import pytest

import rlsuite as rl

INIT = """
    import gymnasium

    gymnasium.register(
        id="elsewhere/Pig-v0",
        entry_point="strangers_envs.games:PigEnv",
        vector_entry_point="strangers_envs.games:many_pigs",
        max_episode_steps=100,
    )
    gymnasium.register(id="elsewhere/Elevator-v0", entry_point="strangers_envs.plain:Elevator", max_episode_steps=50)
"""

GAMES = '''
    import rlsuite


    def pig(sides):
        def transitions(points, action):
            if action == "stop":
                return [(1.0, "over", float(points), True)]
            rolled = [(1 / sides, min(points + die, 25), 0.0, False) for die in range(2, sides + 1)]
            return [(1 / sides, "over", 0.0, True), *rolled]

        return rlsuite.MDP.from_function(transitions, start=0, actions=["stop", "roll"], gamma=1.0)


    class PigEnv(rlsuite.TabularEnv):
        """One turn of Pig."""

        def __init__(self, sides=6, render_mode=None):
            super().__init__(pig(sides), render_mode=render_mode)


    def many_pigs(num_envs, max_episode_steps=None, sides=6):
        return rlsuite.TabularVectorEnv(pig(sides), num_envs, max_episode_steps=max_episode_steps)
'''

PLAIN = '''
    import gymnasium


    class Elevator(gymnasium.Env):
        """Five floors; somebody waits on one of them, and only the direction of the call is shown."""

        observation_space = gymnasium.spaces.Discrete(3, start=-1)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.floor, self.call = 2, int(self.np_random.choice([0, 1, 3, 4]))
            return self._look(), {}

        def _look(self):
            return (self.call > self.floor) - (self.call < self.floor)

        def step(self, action):
            self.floor = min(max(self.floor + 2 * action - 1, 0), 4)
            arrived = self.floor == self.call
            return self._look(), -1.0 + 5.0 * arrived, arrived, False, {}
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "strangers_envs"
    folder.mkdir()
    for name, code in (("__init__", INIT), ("games", GAMES), ("plain", PLAIN)):
        (folder / f"{name}.py").write_text(textwrap.dedent(code), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield "strangers_envs"
    for name in [name for name in sys.modules if name.partition(".")[0] == "strangers_envs"]:
        del sys.modules[name]
    for name in [name for name in gymnasium.registry if name.startswith("elsewhere/")]:
        del gymnasium.registry[name]


def test_its_tabular_environment_has_everything(package):
    name = f"{package}:elsewhere/Pig-v0"
    mdp = rl.MDP.from_env(name, gamma=0.999)
    start = mdp.index_of("0")
    assert rl.solve(mdp).value[start] == pytest.approx(8.098527)
    runs = {
        loop: rl.QLearning(gamma=1.0, exploration=rl.EpsilonGreedy(0.2)).learn(name, episodes=300, seed=3, loop=loop)
        for loop in ("compiled", "stepwise")
    }
    assert np.array_equal(runs["compiled"].q_, runs["stepwise"].q_)
    envs = gymnasium.make_vec(name, num_envs=5, sides=10)
    assert isinstance(envs, rl.TabularVectorEnv)
    assert envs.reset(seed=1)[0].tolist() == [start] * 5
    assert rl.TabularVectorEnv.from_env(name, num_envs=3, sides=10).model.n_transitions == envs.model.n_transitions
    env = gymnasium.make(name, render_mode="ansi")
    env.reset(seed=1)
    assert "[0]" in env.render()


def test_its_plain_environment_is_learned_step_by_step(package):
    agent = rl.QLearning(gamma=0.9, exploration=rl.EpsilonGreedy(0.1))
    agent.learn(f"{package}:elsewhere/Elevator-v0", episodes=300, seed=3)
    assert [agent.act(call) for call in (-1, 1)] == [0, 1]


def test_an_unknown_id_of_it_is_told_apart(package):
    with pytest.raises(rl.errors.EnvironmentNotFound, match="Did you mean 'elsewhere/Pig-v0'"):
        rl.find_env(f"{package}:elsewhere/Pg-v0")
