"""Models of environments that have no table."""

import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.toy_text import FrozenLakeEnv
from gymnasium.wrappers import TimeLimit

import rlsuite as rl
from rlsuite.errors import EnvironmentNotFound, ParameterError, UnsuitableEnvironment


class Lake(FrozenLakeEnv):
    """FrozenLake that keeps its table to itself."""

    def __init__(self, **options):
        super().__init__(**options)
        self.hidden = self.P
        del self.P

    def step(self, action):
        outcomes = self.hidden[self.s][action]
        chosen = np.argmax(np.cumsum([chance for chance, *_ in outcomes]) > self.np_random.random())
        _, self.s, reward, end = outcomes[chosen]
        return int(self.s), reward, end, False, {}


def dense(mdp):
    """Pr[s', ends | s, a] and the mean reward: what has to agree whatever the order of a row."""
    P = np.zeros((mdp.n_states, mdp.n_actions, mdp.n_states, 2))
    R = np.zeros((mdp.n_states, mdp.n_actions))
    for s in range(mdp.n_states):
        for a in range(mdp.n_actions):
            for chance, successor, reward, end in mdp.P[s][a]:
                P[s, a, successor, int(end)] += chance
                R[s, a] += chance * reward
    return P, R


@pytest.mark.parametrize("options", [{}, {"is_slippery": False}, {"map_name": "8x8"}])
def test_the_model_is_the_table_that_was_hidden(options):
    found = rl.tabulate(Lake(**options), gamma=0.9)
    known = rl.MDP.from_env(FrozenLakeEnv(**options), gamma=0.9)
    assert isinstance(found, rl.MDP)
    assert found.n_states == known.n_states
    reached = found.legal.any(axis=1)
    for ours, theirs in zip(dense(found), dense(known), strict=True):
        np.testing.assert_allclose(ours[reached], theirs[reached], rtol=0, atol=1e-15)
    assert found.start.tolist() == known.start.tolist()
    ours, theirs = rl.solve(found), rl.solve(known)
    np.testing.assert_allclose(ours.value[reached], theirs.value[reached], atol=1e-8)


class Tiger(gym.Env):
    """KLC98, section 5.1, written without a table; the growl is not heard before the first action."""

    observation_space = spaces.Discrete(3)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = bool(self.np_random.random() < 0.5)
        return 2, {}

    def step(self, action):
        if action == 0:
            truth = self.np_random.random() < 0.85
            return int(self.left != truth), -1.0, False, False, {}
        reward = -100.0 if (action == 1) == self.left else 10.0
        self.left = bool(self.np_random.random() < 0.5)
        return int(self.np_random.random() < 0.5), reward, False, False, {}


def test_hidden_states_make_a_pomdp():
    found = rl.tabulate(Tiger(), gamma=0.95)
    assert isinstance(found, rl.POMDP)
    assert found.n_states == 2
    assert found.state_labels == ("left=True", "left=False") or found.state_labels == ("left=False", "left=True")
    known = rl.POMDP.from_env("rlsuite_envs:rlsuite/Tiger-v0", gamma=0.95)
    left = found.state_labels.index("left=True")
    order = [left, 1 - left]
    np.testing.assert_allclose(found.observation[:, order][0, :, :2], known.observation[0], atol=1e-15)
    np.testing.assert_allclose(found.observation[1:, :, :2], 0.5, atol=1e-15)
    ours, theirs = (rl.solve(one, method="sarsop", gap=1e-3, deadline=30) for one in (found, known))
    assert ours.lower_bound <= theirs.upper_bound + 1e-9
    assert theirs.lower_bound <= ours.upper_bound + 1e-9


FORMS = {
    "tuple": (spaces.Tuple([spaces.Discrete(9), spaces.Discrete(2)]), lambda h, n: (h, n)),
    "dict": (spaces.Dict(hand=spaces.Discrete(9), odd=spaces.Discrete(2)), lambda h, n: {"hand": h, "odd": n}),
    "array": (spaces.MultiDiscrete([9, 2]), lambda h, n: np.array([h, n])),
    "box": (spaces.Box(0, 8, (2,), dtype=np.int8), lambda h, n: np.array([h, n], dtype=np.int8)),
    "image": (spaces.Box(0, 255, (3, 3), dtype=np.uint8), lambda h, n: np.full((3, 3), h + 10 * n, dtype=np.uint8)),
    "text": (spaces.Text(9), lambda h, n: f"{h}{'ab'[n]}"),
    "float": (spaces.Box(0.0, 1.0, (2,)), lambda h, n: np.array([h / 8, n], dtype=np.float32)),
}


class Cards(gym.Env):
    """A hand of cards of 1 to 3 points, shown in one of several forms; stop before 6."""

    action_space = spaces.Discrete(2)

    def __init__(self, form):
        self.observation_space, self.shown = FORMS[form]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.hand = 0
        return self.shown(0, 0), {}

    def step(self, action):
        if action == 0:
            return self.shown(self.hand, self.hand % 2), float(self.hand), True, False, {}
        self.hand += int(self.np_random.integers(1, 4))
        over = self.hand > 5
        return self.shown(self.hand, self.hand % 2), 0.0, over, False, {}


@pytest.mark.parametrize("form", FORMS)
def test_observations_of_any_form_are_the_states(form):
    """The best hand to stop with, from the recursion v(h) = max(h, sum v(h + card) / 3)."""
    value = np.zeros(9)
    for hand in reversed(range(6)):
        value[hand] = max(hand, value[hand + 1 : hand + 4].sum() / 3)
    mdp = rl.tabulate(Cards(form), gamma=1.0)
    assert isinstance(mdp, rl.MDP)
    assert rl.solve(mdp).value[mdp.start > 0].item() == pytest.approx(value[0], abs=1e-12)
    first = {
        "tuple": "(0, 0)",
        "dict": "hand=0, odd=0",
        "array": "[0, 0]",
        "box": "[0, 0]",
        "image": "[[0, 0, 0], [0, 0, 0], [0, 0, 0]]",
        "text": "0a",
        "float": "[0.0, 0.0]",
    }
    assert mdp.state_labels[int(np.argmax(mdp.start))] == first[form]


class Echo(gym.Env):
    """What is observed is the move that was made, and so depends on where it began: it is no Pr(z | a, s')."""

    observation_space = spaces.Discrete(3)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 1
        return 1, {}

    def step(self, action):
        before = self.place
        self.place = int(self.np_random.integers(3))
        return abs(self.place - before), float(self.place), False, False, {}


def test_observations_of_transitions_are_part_of_the_hidden_state():
    pomdp = rl.tabulate(Echo(), gamma=0.5)
    assert isinstance(pomdp, rl.POMDP)
    assert sorted(pomdp.observation.sum(axis=2).ravel().tolist()) == [1.0] * (2 * pomdp.n_states)
    # 0 and 2 are reached from everywhere, over 0, 1 or 2 squares; 1 over 0 or 1, and that is where it begins
    assert pomdp.n_states == 8
    assert set(np.unique(pomdp.observation)) == {0.0, 1.0}
    for s in range(pomdp.n_states):
        row = pomdp.mdp.P[s][0]
        assert sum(chance for chance, *_ in row) == pytest.approx(1.0, abs=1e-15)
        assert sorted(reward for *_, reward, _ in row) == [0.0, 1.0, 2.0]


class Limited(Cards):
    """Cards with a limit of its own: three draws."""

    def reset(self, *, seed=None, options=None):
        self.drawn = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.drawn += action
        observation, reward, over, _, info = super().step(action)
        return observation, reward, over, self.drawn >= 3, info


def test_where_an_environment_truncates_the_model_ends():
    pomdp = rl.tabulate(Limited("tuple"), gamma=1.0)
    assert isinstance(pomdp, rl.POMDP)  # the number of draws is not shown
    last = [s for s, label in enumerate(pomdp.state_labels) if label.startswith("drawn=2") and pomdp.mdp.legal[s, 1]]
    assert last
    assert "; where it truncates an episode itself, the model ends it" in pomdp.origin
    assert all(end for s in last for *_, end in pomdp.mdp.P[s][1])
    assert not all(end for s in range(pomdp.n_states) for *_, end in pomdp.mdp.P[s][1])


def test_what_was_verified_is_said_and_kept():
    mdp = rl.tabulate(TimeLimit(Lake(), 50), gamma=0.9)
    assert mdp.origin == (
        "Lake was put into each of the 16 states that were found (s), where each action was taken for each outcome of "
        "what it draws; 2,000 steps of its own agreed in each of two processes; its time limit of 50 steps is left out"
    )
    assert mdp.replace(gamma=0.5).origin == mdp.origin
    assert pickle.loads(pickle.dumps(mdp)).origin == mdp.origin
    assert rl.MDP.from_arrays([[[1.0]]], [0.0], gamma=0.5).origin == ""
    origin = rl.tabulate(Tiger()).replace(gamma=0.5).origin
    assert origin.startswith("Tiger was put into each of the 2 states that were found (left)")
    assert "the table of FrozenLake-v1" in rl.tabulate("FrozenLake-v1").origin


@pytest.mark.slow
def test_a_table_that_does_not_know_all_is_not_used():
    pomdp = rl.tabulate("Taxi-v4", fickle_passenger=True)
    assert isinstance(pomdp, rl.POMDP)
    assert pomdp.n_states == 766
    assert all("fickle_step=" in label for label in pomdp.state_labels)


def test_the_environment_is_left_alone():
    env = Tiger()
    env.reset(seed=3)
    before = env.left, env.np_random.bit_generator.state
    rl.tabulate(env)
    assert (env.left, env.np_random.bit_generator.state) == before


@pytest.mark.parametrize(
    ("env", "options", "error", "message"),
    [
        ("CartPole-v1", {}, UnsuitableEnvironment, "CartPole-v1 cannot be tabulated: "),
        ("Pendulum-v1", {}, UnsuitableEnvironment, "Discrete"),
        ("Taxi-v44", {}, EnvironmentNotFound, "No environment"),
        ("Taxi-v4", {"gamma": 2.0}, ParameterError, "gamma"),
        ("Taxi-v4", {"deadline": 0.0}, ParameterError, "deadline"),
        ("Taxi-v4", {"max_states": 0}, ParameterError, "max_states"),
        (Lake(), {"max_states": 5}, UnsuitableEnvironment, "more states than"),
        (gym.wrappers.NormalizeReward(Lake()), {}, UnsuitableEnvironment, "NormalizeReward"),
    ],
)
def test_mistakes_are_named(env, options, error, message):
    with pytest.raises(error, match=message):
        rl.tabulate(env, **options)
