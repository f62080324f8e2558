"""A batch keeps what happened, number for number, whichever way it came in; and nothing wrong gets past its door."""

import sys
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from rlsuite.approximation.batch import Batch
from rlsuite.errors import FileError, LearningError, MissingPackage, ParameterError, UnsuitableEnvironment
from rlsuite.models import MDP

pytestmark = pytest.mark.arithmetic

FIELDS = ("observation", "action", "reward", "next_observation", "terminated", "first", "weight")


def same(one, other):
    assert (one.n_actions, one.first_action) == (other.n_actions, other.first_action)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name, strict=True)


@pytest.fixture(scope="module")
def cart():
    return Batch.collect("CartPole-v1", episodes=5, seed=3)


# ------------------------------------------------------------------------------------------------- collecting


def test_collected_transitions_can_be_replayed(cart):
    env = gymnasium.make("CartPole-v1")
    env_seed = np.random.SeedSequence(3).spawn(2)[0].generate_state(1)[0]
    observation, _ = env.reset(seed=int(env_seed))
    for i in range(len(cart)):
        np.testing.assert_array_equal(cart.observation[i], observation)
        observation, reward, terminated, truncated, _ = env.step(int(cart.action[i]))
        np.testing.assert_array_equal(cart.next_observation[i], observation)
        assert (cart.reward[i], cart.terminated[i]) == (reward, terminated)
        if terminated or truncated:
            assert i + 1 == len(cart) or cart.first[i + 1]
            observation, _ = env.reset()
    assert cart.first.sum() == 5
    assert cart.terminated.sum() == 5
    assert cart.observation.dtype == np.float64
    assert cart.n_actions == 2


def test_the_seed_decides(cart):
    same(cart, Batch.collect("CartPole-v1", episodes=5, seed=3))
    assert not np.array_equal(Batch.collect("CartPole-v1", steps=9, seed=4).observation, cart.observation[:9])


def test_steps_cut_the_last_episode_off(cart):
    some = Batch.collect("CartPole-v1", steps=30, seed=3)
    same(some, cart.take(np.arange(30)))


def test_a_policy_is_followed():
    batch = Batch.collect("CartPole-v1", steps=50, seed=1, policy=lambda seen: int(seen[2] > 0))
    np.testing.assert_array_equal(batch.action, batch.observation[:, 2] > 0)


def test_observations_of_many_kinds():
    blackjack = Batch.collect("Blackjack-v1", episodes=3, seed=1)
    assert blackjack.observation.shape[1] == 3
    assert blackjack.observation_space is not None
    ids = Batch.collect("FrozenLake-v1", steps=5, seed=1)
    assert ids.observation.shape == (5, 1)


class Shifted(gymnasium.Env):
    """Actions 5 and 6; pays the action, and the third reward is what it is told."""

    def __init__(self, third=0.0, mask=None):
        self.observation_space = spaces.Box(-1.0, 1.0, (1, 2))
        self.action_space = spaces.Discrete(2, start=5)
        self.third, self.mask, self.steps = third, mask, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros((1, 2), dtype=np.float32), {} if self.mask is None else {"action_mask": np.array(self.mask)}

    def step(self, action):
        self.steps += 1
        reward = self.third if self.steps == 3 else float(action)
        return np.zeros((1, 2), dtype=np.float32), reward, False, self.steps % 4 == 0, {}


def test_actions_are_counted_from_where_the_space_starts():
    batch = Batch.collect(Shifted(), steps=12, seed=1)
    np.testing.assert_array_equal(np.delete(batch.reward, 2), np.delete(batch.action + 5, 2))
    assert (batch.first_action, batch.n_actions) == (5, 2)
    np.testing.assert_array_equal(np.flatnonzero(batch.first), [0, 4, 8])
    assert not batch.terminated.any()
    only_six = Batch.collect(Shifted(), steps=4, seed=1, policy=lambda seen: 6)
    assert set(only_six.action) == {1}


def test_what_cannot_be_collected_is_named():
    with pytest.raises(UnsuitableEnvironment, match=r"Discrete.*DiscreteActions"):
        Batch.collect("Pendulum-v1", steps=5)
    with pytest.raises(LearningError, match=r"step 3: .* nan"):
        Batch.collect(Shifted(third=float("nan")), steps=5)
    with pytest.raises(ParameterError, match="either steps or episodes"):
        Batch.collect("CartPole-v1")
    for mask, message in (
        ([1, 1], "Shifted, step 1: info has no action_mask, but that of the first reset had one"),
        ([0, 0], "Shifted, reset: info['action_mask']=array([0, 0]) leaves no action"),
        ([0.5, 1.0], "Shifted, reset: info['action_mask']=array([0.5, 1. ]) is not an array of 0 and 1"),
        (["1", "1"], "is not an array of 0 and 1"),
        ([1, 1, 1], "Shifted, reset: info['action_mask'] has shape (3,); for 2 actions it must have (2,)"),
    ):
        with pytest.raises(LearningError) as caught:
            Batch.collect(Shifted(mask=mask), steps=2, seed=1)
        assert message in str(caught.value)


# ------------------------------------------------------------------------------------------------------ doors


def arrays(**changes):
    good = {
        "observation": [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]],
        "action": [0, 1, 1],
        "reward": [1.0, 2.0, 3.0],
        "next_observation": [[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]],
        "terminated": [False, False, True],
    }
    return {**good, **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"terminated": None}, "a batch needs terminated"),
        ({"terminated": [0, 1, 2]}, r"terminated\[2\] is 2; it must be False or True"),
        ({"terminated": ["no"] * 3}, "terminated has dtype <U2; it must hold False and True"),
        ({"terminated": [False, True]}, r"terminated has shape \(2,\); it must have \(3,\)"),
        ({"reward": [1.0, np.nan, 3.0]}, r"reward\[1\] is nan"),
        ({"observation": [[0.0, 1.0], [2.0, np.inf], [4.0, 5.0]]}, r"observation\[1, 1\] is inf"),
        ({"observation": [["a", "b"]] * 3}, "observation is not an array of numbers"),
        ({"observation": 1j * np.ones((3, 2))}, "observation is not an array of numbers: its numbers are complex"),
        ({"observation": np.zeros((0, 2))}, r"observation has shape \(0, 2\)"),
        (
            {"next_observation": [[2.0], [4.0], [6.0]]},
            r"next_observation has shape \(3, 1\); it must have that of observation, \(3, 2\)",
        ),
        ({"action": [0, 0.37, 1]}, r"action\[1\] is 0.37, not a whole number; .* discrete actions"),
        ({"action": ["left"] * 3}, "action has dtype <U4"),
        ({"action": [[0], [1], [1]]}, r"action has shape \(3, 1\)"),
        ({"action": [0, -1, 1]}, r"action\[1\] is -1, and the actions are 0..1"),
        ({"n_actions": 1}, r"action\[1\] is 1, and the actions are 0..0"),
        ({"first": [False, True, True]}, r"first\[0\] is False"),
        ({"weight": [1.0, -1.0, 0.0]}, r"weight\[1\] is -1"),
        ({"weight": [0.0, 0.0, 0.0]}, "all weights are 0"),
    ],
)
def test_wrong_arrays_are_named(changes, message):
    with pytest.raises(ParameterError, match=message):
        Batch.from_arrays(**arrays(**changes))


def test_episodes_begin_where_they_must():
    batch = Batch.from_arrays(**arrays(terminated=[True, False, False]))
    assert batch.first.tolist() == [True, True, False]
    jump = Batch.from_arrays(**arrays(next_observation=[[2.0, 3.0], [9.0, 9.0], [6.0, 7.0]]))
    assert jump.first.tolist() == [True, False, True]
    assert jump.episode.tolist() == [0, 0, 1]


def test_taking_and_joining(cart):
    same(cart.take(np.arange(len(cart))), cart)
    same(cart.take(np.ones(len(cart), dtype=bool)), cart)
    halves = [cart.take(cart.episode < 2), cart.take(cart.episode >= 2)]
    same(Batch.join(halves), cart)
    # out of the middle of an episode: the rest is another one
    assert cart.take([0, 1, 3, 4]).first.tolist() == [True, False, True, False]
    assert cart.take([4, 3]).first.tolist() == [True, True]
    for rows, message in (
        ([], "rows selects no transition"),
        ([len(cart)], "rows has numbers"),
        ([True], "the mask has shape"),
    ):
        with pytest.raises(ParameterError, match=message):
            cart.take(rows)
    with pytest.raises(ParameterError, match="different environments"):
        Batch.join([cart, Batch.from_arrays(**arrays())])
    with pytest.raises(ParameterError, match="batches is empty"):
        Batch.join([])


# ------------------------------------------------------------------------------------------------------ files


def test_a_table_gives_back_every_number(cart, tmp_path):
    cart.to_csv(tmp_path / "cart.csv")
    same(Batch.from_csv(tmp_path / "cart.csv", n_actions=2), cart)
    shifted = Batch.collect(Shifted(), steps=9, seed=1)
    shifted.to_csv(tmp_path / "shifted.csv")
    same(Batch.from_csv(tmp_path / "shifted.csv", n_actions=2, first_action=5), shifted)


def test_a_table_of_somebody_else(tmp_path):
    file = tmp_path / "their.csv"
    file.write_text(
        "reward, who, action,observation,next_observation,terminated\n1.5,me,0,3,4,False\n-1,me,2,4,5,TRUE\n",
        encoding="utf-8",
    )
    batch = Batch.from_csv(file)
    same(batch, Batch.from_arrays([3, 4], [0, 2], [1.5, -1], [4, 5], [False, True]))
    assert batch.n_actions == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 lines"),
        ("observation,next_observation,action,reward\n1,2,0,1\n", "no column 'terminated'"),
        ("observation,next_observation,acton,reward,terminated\n1,2,0,1,0\n", "did you mean 'acton'"),
        ("observation_0,observation_2,next_observation,action,reward,terminated\n1,2,2,0,1,0\n", "with gaps"),
        ("next_observation,action,reward,terminated\n1,2,2,0\n", "needs the columns observation_0.*none of them"),
        ("observation,next_observation,action,reward,terminated\n1,2,0,one,0\n", "line 2: reward is 'one'"),
        (
            "observation,next_observation,action,reward,terminated\n1,2,0,1,maybe\n",
            "line 2: terminated is 'maybe'; it must be false, true, 0 or 1",
        ),
        ("observation,next_observation,action,reward,terminated\n1,2,0,1,0\n1,2\n", "line 3: 2 entries"),
    ],
)
def test_a_wrong_table_is_named(tmp_path, text, message):
    file = tmp_path / "wrong.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=message):
        Batch.from_csv(file)


def test_missing_files_and_folders(tmp_path, cart):
    with pytest.raises(FileError, match="cannot read"):
        Batch.from_csv(tmp_path / "none.csv")
    with pytest.raises(FileError, match="cannot write"):
        cart.to_csv(tmp_path / "none" / "cart.csv")


# ----------------------------------------------------------------------------------------------------- Minari


def dataset(action_space=None):
    """What Minari hands out, as far as a batch looks: two episodes, the second of which was cut off."""
    episodes = [
        SimpleNamespace(
            id=0,
            observations={"b": np.array([[0.5], [1.5], [2.5]]), "a": np.array([3, 4, 5])},
            actions=np.array([0, 1]),
            rewards=np.array([1.0, 2.0], dtype=np.float32),
            terminations=np.array([False, True]),
            truncations=np.array([False, False]),
        ),
        SimpleNamespace(
            id=1,
            observations={"b": np.array([[7.5], [8.5]]), "a": np.array([1, 2])},
            actions=np.array([1]),
            rewards=np.array([3.0]),
            terminations=np.array([False]),
            truncations=np.array([True]),
        ),
    ]
    return SimpleNamespace(
        action_space=action_space or spaces.Discrete(3),
        observation_space=spaces.Dict({"a": spaces.Discrete(9), "b": spaces.Box(0.0, 9.0, (1,))}),
        iterate_episodes=lambda: iter(episodes),
    )


def test_a_data_set_of_minari():
    batch = Batch.from_minari(dataset())
    expected = Batch.from_arrays(
        [[3, 0.5], [4, 1.5], [1, 7.5]],
        [0, 1, 1],
        [1, 2, 3],
        [[4, 1.5], [5, 2.5], [2, 8.5]],
        [False, True, False],
        first=[True, False, True],
        n_actions=3,
    )
    same(batch, expected)


def test_data_sets_that_will_not_do(monkeypatch):
    with pytest.raises(ParameterError, match="3 is not a Minari data set; give its id"):
        Batch.from_minari(3)
    with pytest.raises(UnsuitableEnvironment, match="this data set has the action space Box"):
        Batch.from_minari(dataset(spaces.Box(-1.0, 1.0, (1,))))
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(MissingPackage, match=r"pip install 'rlsuite\[minari"):
        Batch.from_minari("D4RL/door/human-v2")


# ----------------------------------------------------------------------------------------- models and dynamics


def test_all_transitions_of_a_model(model):
    batch = Batch.from_model(model)
    pair = batch.observation[:, 0] * batch.n_actions + batch.action
    total = np.bincount(pair.astype(int), weights=batch.weight, minlength=model.n_states * model.n_actions)
    np.testing.assert_allclose(total, model.legal.reshape(-1), rtol=1e-12)
    paid = np.bincount(pair.astype(int), weights=batch.weight * batch.reward, minlength=total.size)
    np.testing.assert_allclose(paid.reshape(model.legal.shape), np.where(model.legal, model.expected_reward(), 0.0))
    np.testing.assert_array_equal(batch.masks[0], model.legal[batch.observation[:, 0].astype(int)])
    with pytest.raises(ParameterError, match="is not an MDP"):
        Batch.from_model("FrozenLake-v1")


def test_every_action_in_every_state():
    states = np.array([[-0.5, 0.0], [0.2, 0.03], [0.45, 0.07]])
    batch = Batch.from_dynamics("MountainCar-v0", states, samples=2, seed=1)
    assert (len(batch), batch.n_actions) == (18, 3)
    env = gymnasium.make("MountainCar-v0").unwrapped
    env.reset(seed=1)
    for i in range(len(batch)):
        env.state = tuple(states[i // 6])
        observation, reward, terminated, _, _ = env.step(int(batch.action[i]))
        np.testing.assert_allclose(batch.next_observation[i], observation, rtol=1e-6)
        assert (batch.reward[i], batch.terminated[i]) == (reward, terminated)
    assert batch.terminated.any()
    with pytest.raises(UnsuitableEnvironment, match="no compiled dynamics"):
        Batch.from_dynamics("Taxi-v4", states)
    with pytest.raises(ParameterError, match=r"states have 1 numbers each; a state of .* has 2"):
        Batch.from_dynamics("MountainCar-v0", states[:, :1])


def test_a_batch_says_what_it_is(cart):
    assert repr(cart) == f"Batch({len(cart)} transitions, 5 episodes, observations of 4 numbers, 2 actions)"
    assert repr(cart.take([0])) == "Batch(1 transition, 1 episode, observations of 4 numbers, 2 actions)"
    assert not cart.weighted
    assert Batch.from_model(MDP.from_env("FrozenLake-v1", gamma=0.9)).weighted


def test_hints_about_actions_forbid_none():
    batch = Batch.collect("Taxi-v4", steps=50, seed=1)
    assert batch.n_actions == 6
