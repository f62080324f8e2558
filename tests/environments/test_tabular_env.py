import copy
import pickle
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.utils import categorical_sample
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.environments import tabular_env
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP

TABLES = [
    ("FrozenLake-v1", {}),
    ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False}),
    ("FrozenLake-v1", {"success_rate": 0.7}),
    ("CliffWalking-v1", {}),
    ("CliffWalking-v1", {"is_slippery": True}),
    ("Taxi-v4", {}),
    ("Taxi-v4", {"is_rainy": True}),
]


@pytest.mark.parametrize(("name", "kwargs"), TABLES)
def test_it_lives_through_the_same_episodes_as_the_environment_its_table_came_from(name, kwargs):
    theirs = gymnasium.make(name, **kwargs).unwrapped
    ours = TabularEnv(MDP.from_env(theirs, gamma=0.9))
    actions = np.random.default_rng(1).integers(0, theirs.action_space.n, 3000).tolist()
    assert ours.reset(seed=11)[0] == theirs.reset(seed=11)[0]
    for action in actions:
        expected = theirs.step(action)
        found = ours.step(action)
        assert found[:4] == expected[:4]
        assert found[4]["prob"] == expected[4]["prob"]
        if found[2]:
            assert ours.reset()[0] == theirs.reset()[0]
    assert ours.np_random.bit_generator.state == theirs.np_random.bit_generator.state


@given(
    weights=st.lists(st.integers(0, 4), min_size=1, max_size=30).filter(any),
    shortfall=st.sampled_from([0.0, 5e-9]),
    u=st.one_of(st.floats(0, 1, exclude_max=True), st.sampled_from([0.0, 0.5, 1 - 2**-53])),
)
def test_the_successor_and_the_start_are_chosen_by_gymnasiums_rule(weights, shortfall, u):
    probability = np.array(weights, dtype=np.float64)
    probability *= (1.0 - shortfall) / probability.sum()

    class Fixed:
        def random(self):
            return u

    chosen = int(categorical_sample(probability, Fixed()))
    n = len(weights)
    row = np.arange(n + 1) * n
    model = MDP.from_rows(
        row, np.tile(np.arange(n), n), np.tile(probability, n), np.zeros(n * n), n_actions=1, gamma=0.9
    )
    env = TabularEnv(model.replace(start=probability))
    env.np_random = Fixed()
    assert env.reset()[0] == chosen
    env.s = 0
    assert env.step(0)[0] == chosen


def test_random_numbers_are_drawn_successor_first_then_reward_then_observation(noisy, hidden, dice):
    env = TabularEnv(noisy)
    env.s, env.np_random = 0, dice(0.0, 1.5)
    assert env.step(1)[:2] == (0, 2.0 + 0.5 * 1.5)
    env.s, env.np_random = 0, dice(0.9, 0.2)
    assert env.step(2)[:2] == (1, 1.0)
    env.s, env.np_random = 1, dice(0.9, 0.5)
    assert env.step(2)[:2] == (1, 0.0)
    env.s, env.np_random = 0, dice(0.9)
    assert env.step(0)[:2] == (1, 1.0)
    assert env.np_random.numbers == []

    env = TabularEnv(hidden)
    env.np_random = dice(0.7)
    assert env.reset() == (4, {"prob": 0.5})
    assert env.s == 1
    env.np_random = dice(0.1, -1.0, 0.0)
    observation, reward, *_ = env.step(1)
    # The first observation cannot be made in state 0, so a u of 0 picks the second.
    assert (env.s, reward, observation) == (0, -1.0 - 2.0, 1)
    assert env.np_random.numbers == []


def test_observations_depend_on_action_and_state_reached(hidden):
    env = TabularEnv(hidden)
    env.reset(seed=6)
    rng = copy.deepcopy(env.np_random)
    seen = set()
    for action in np.random.default_rng(1).integers(0, 3, 1000).tolist():
        pair = env.s * 3 + action
        observation = env.step(action)[0]
        rng.random()
        if hidden.mdp.reward_std[pair]:
            rng.standard_normal()
        elif hidden.mdp.bernoulli[pair]:
            rng.random()
        assert observation == categorical_sample(hidden.observation[action, env.s], rng)
        seen.add((action, env.s, observation))
    assert len(seen) > 15


def test_an_observation_that_rounding_leaves_over_is_the_first(noisy, dice):
    observation = np.zeros((3, 2, 3))
    observation[:, :, 1:] = [0.5, 0.5 - 5e-9]
    env = TabularEnv(POMDP(noisy, observation))
    env.np_random = dice(0.5, 1 - 2**-53)
    env.s = 0
    assert env.step(0)[0] == 0


def test_types_are_plain_python(noisy, hidden):
    for model in (noisy, hidden):
        env = TabularEnv(model)
        observation, info = env.reset(seed=1)
        assert type(observation) is int
        assert type(info["prob"]) is float
        for action in (0, np.int64(1), np.array(2)):
            observation, reward, terminated, truncated, info = env.step(action)
            assert (type(observation), type(reward), type(terminated), truncated) == (int, float, bool, False)
            assert type(info["prob"]) is float


def test_spaces(noisy, hidden):
    assert TabularEnv(noisy).observation_space == gymnasium.spaces.Discrete(2)
    assert TabularEnv(hidden).observation_space == gymnasium.spaces.Discrete(5)
    assert TabularEnv(hidden).action_space == gymnasium.spaces.Discrete(3)


def test_an_illegal_action_changes_and_draws_nothing(masked):
    env = TabularEnv(masked)
    _, info = env.reset(seed=5)
    assert info["action_mask"].tolist() == [1, 0]
    assert info["action_mask"].dtype == np.int8
    before = copy.deepcopy(env.np_random.bit_generator.state)
    observation, reward, terminated, _, info = env.step(1)
    assert (observation, reward, terminated) == (0, 0.0, False)
    assert info["illegal_action"] is True
    assert info["action_mask"].tolist() == [1, 0]
    assert env.np_random.bit_generator.state == before
    info["action_mask"][:] = 7
    assert env.step(1)[4]["action_mask"].tolist() == [1, 0]
    assert "illegal_action" not in env.step(0)[4]


def test_where_no_action_is_legal_the_episode_stays_over(masked):
    env = TabularEnv(masked)
    env.reset(seed=5)
    env.s = 1
    assert env.step(0)[:3] == (2, 5.0, True)
    assert env.step(0)[:3] == (2, 0.0, True)


def test_an_illegal_action_shows_the_last_observation_again(masked):
    observation = np.zeros((2, 3, 3))
    observation[:, [0, 1, 2], [2, 0, 1]] = 1.0
    env = TabularEnv(POMDP(masked, observation))
    assert env.reset(seed=5)[0] == 3
    assert env.step(1)[0] == 3
    env.s = 0
    seen = env.step(0)[0]
    env.s = 0
    assert seen in (0, 2)
    assert env.step(1)[0] == seen


def test_masks_are_fresh_arrays(masked):
    env = TabularEnv(masked)
    _, info = env.reset(seed=5)
    info["action_mask"][:] = 7
    assert env.reset(seed=5)[1]["action_mask"].tolist() == [1, 0]
    assert env.step(0)[0] in (0, 1)


@pytest.mark.parametrize(("action", "words"), [(9, "actions are 0..2"), (-1, "actions are 0..2"), (0.5, "integer")])
def test_an_action_outside_the_space_is_named(noisy, action, words):
    env = TabularEnv(noisy)
    env.reset(seed=1)
    with pytest.raises(ParameterError, match=rf"action={action} .*{words}"):
        env.step(action)


def test_a_state_that_is_none_is_named(noisy):
    env = TabularEnv(noisy)
    for state in (2, -1):
        env.s = state
        with pytest.raises(ParameterError, match=rf"s={state} is not a state; the states are 0..1"):
            env.step(0)


def test_what_is_no_model_is_named():
    with pytest.raises(ParameterError, match="model is a str"):
        TabularEnv("FrozenLake-v1")


def test_toy_text_attributes(noisy):
    env = TabularEnv(noisy)
    env.reset(seed=1)
    assert env.lastaction is None
    env.s = 1
    env.step(2)
    assert env.lastaction == 2
    assert env.P[0][0] == [(0.3, 0, 1.0, False), (0.7, 1, 1.0, False)]
    assert env.initial_state_distrib.tolist() == [0.5, 0.5]


def test_pickle_and_copy_go_on_alike(models):
    for model in vars(models).values():
        env = TabularEnv(model)
        env.reset(seed=3)
        env.step(0)
        doubles = [env, pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
        assert [len(double._dynamics._transitions) for double in doubles] == [1, 0, 0]
        episodes = []
        for double in doubles:
            lived = []
            for _ in range(50):
                observation, reward, terminated, _, info = double.step(0)
                lived.append((observation, reward, terminated, info["prob"]))
                if terminated:
                    lived.append(double.reset()[0])
            episodes.append(lived)
        assert episodes[0] == episodes[1] == episodes[2]


def test_the_cache_is_bounded_and_changes_nothing(monkeypatch):
    model = MDP.from_env("FrozenLake-v1", gamma=0.9)

    def episode():
        env = TabularEnv(model)
        env.reset(seed=2)
        lived = []
        for action in np.random.default_rng(0).integers(0, 4, 500).tolist():
            lived.append(env.step(action)[:3])
            assert len(env._dynamics._transitions) <= tabular_env.CACHED_ROWS
            if lived[-1][2]:
                env.reset()
        return lived

    unbounded = episode()
    monkeypatch.setattr(tabular_env, "CACHED_ROWS", 3)
    assert episode() == unbounded


def test_a_million_states_are_ready_at_once():
    n = 1_000_000
    model = MDP.from_rows(
        np.arange(2 * n + 1),
        np.stack([np.maximum(np.arange(n) - 1, 0), np.minimum(np.arange(n) + 1, n - 1)], axis=1).ravel(),
        np.ones(2 * n),
        np.zeros(2 * n),
        n_actions=2,
        gamma=0.9,
        start=500_000,
    )
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        env = TabularEnv(model)
        env.reset(seed=1)
        seconds.append(time.perf_counter() - begin)
    assert env.step(1)[0] == 500_001
    assert min(seconds) < 0.5


def test_seeds(noisy):
    env = TabularEnv(noisy)
    first = [env.reset(seed=9)[0], *(env.step(0)[:2] for _ in range(20))]
    assert [env.reset(seed=9)[0], *(env.step(0)[:2] for _ in range(20))] == first


def test_another_model_of_the_same_size_can_be_put_in(noisy):
    env = TabularEnv(noisy)
    env.reset(seed=1)
    env.s = 0
    assert env.step(1)[0] == 0
    env.model = noisy.replace(next_state=1 - noisy.next_state)
    env.s = 0
    assert env.step(1)[0] == 1
    with pytest.raises(ParameterError, match="3 states, 2 actions, but the environment 2 states, 3 actions"):
        env.model = MDP.from_successors([[0, 0], [1, 1], [2, 2]], [0, 0, 0], gamma=0.9)


def test_models_make_environments(noisy, hidden):
    assert isinstance(noisy.to_env(), TabularEnv)
    assert hidden.to_env(render_mode="ansi").render_mode == "ansi"


# ------------------------------------------------------------------------------------------------- rendering


class Note:
    """A drawing that writes down what it is asked to draw."""

    def ansi(self, state, action=None, reward=None, caption=""):
        return f"{state} {action} {reward} {caption}"

    def rgb(self, state, action=None, reward=None, caption=""):
        return np.full((2, 3, 3), state, dtype=np.uint8)


def test_the_drawing_is_told_state_action_reward_and_observation(noisy, hidden):
    env = TabularEnv(noisy, drawing=Note(), render_mode="ansi")
    env.reset(seed=1)
    env.s = 0
    assert env.render() == "0 None None "
    env.step(1)
    env.s = 1
    assert env.render().startswith("1 1 ")

    env = TabularEnv(hidden.replace(observation_labels=tuple("abcd")), drawing=Note(), render_mode="ansi")
    env.reset(seed=1)
    assert env.render().endswith("None None ")
    observation = env.step(0)[0]
    assert env.render().endswith(f"observed: {'abcd'[observation]}")
    env.drawing, env.render_mode = Note(), "rgb_array"
    assert env.render().dtype == np.uint8


def test_without_a_drawing_states_or_actions_are_boxes(masked, hidden):
    env = TabularEnv(masked, render_mode="ansi")
    env.reset(seed=1)
    assert env.render() == "[0]  1   2\nstart\n"
    env = TabularEnv(hidden, render_mode="ansi")
    env.reset(seed=1)
    # The hidden state is not given away.
    assert env.render() == " action 0   action 1   action 2\nstart\n"
    env.step(2)
    assert env.render().startswith(" action 0   action 1  [action 2]\naction 2, reward ")
    env = TabularEnv(masked, render_mode="rgb_array")
    env.reset(seed=1)
    assert env.render().ndim == 3


def test_render_without_a_mode_warns_as_gymnasium_does(noisy):
    env = TabularEnv(noisy)
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None


def test_an_unknown_render_mode_is_named(noisy):
    with pytest.raises(ParameterError, match="render_mode='humn' is not one of 'human', 'ansi', 'rgb_array' and None"):
        TabularEnv(noisy, render_mode="humn")
