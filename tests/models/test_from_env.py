"""Gymnasium's own tables are read back exactly, with every one of their traps; malformed ones are named."""

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from rlsuite.agents import QLearning
from rlsuite.environments.tabulated_model import tabulate
from rlsuite.errors import CallError, EnvironmentNotFound, ModelError, ParameterError, UnsuitableEnvironment
from rlsuite.models import MDP, POMDP

TOY_TEXT = [
    ("FrozenLake-v1", {}),
    ("FrozenLake-v1", {"is_slippery": False}),
    ("FrozenLake8x8-v1", {}),
    ("CliffWalking-v1", {}),
    ("CliffWalkingSlippery-v1", {}),
    ("Taxi-v4", {}),
    ("Taxi-v4", {"is_rainy": True}),
]


@pytest.mark.parametrize(("env_id", "kwargs"), TOY_TEXT, ids=[f"{i} {k}" for i, k in TOY_TEXT])
def test_toy_text_is_read_back_bit_for_bit(env_id, kwargs):
    env = gymnasium.make(env_id, **kwargs)
    table, start = env.unwrapped.P, env.unwrapped.initial_state_distrib
    mdp = MDP.from_env(env, gamma=0.99)
    assert (mdp.n_states, mdp.n_actions) == (env.observation_space.n, env.action_space.n)
    assert mdp.legal.all()
    assert mdp.start.tobytes() == np.asarray(start, dtype=np.float64).tobytes()
    for s in range(mdp.n_states):
        for a in range(mdp.n_actions):
            expected = [(float(p), int(ahead), float(r), bool(done)) for p, ahead, r, done in table[s][a]]
            assert mdp.P[s][a] == expected
            row = slice(*mdp.indptr[s * mdp.n_actions + a :][:2])
            assert mdp.probability[row].tobytes() == np.array([p for p, *_ in table[s][a]], dtype=float).tobytes()


@pytest.mark.parametrize(
    ("env_id", "kwargs", "pairs"),
    [("FrozenLake-v1", {}, 4), ("CliffWalkingSlippery-v1", {}, 48), ("Taxi-v4", {"is_rainy": True}, 700)],
)
def test_repeated_successors_are_kept_apart_and_add_up(env_id, kwargs, pairs):
    mdp = MDP.from_env(env_id, gamma=0.99, **kwargs)
    lists = [mdp.P[s][a] for s in mdp.P for a in mdp.P[s]]
    repeated = [one for one in lists if len({ahead for _, ahead, *_ in one}) < len(one)]
    assert len(repeated) == pairs
    np.testing.assert_allclose(mdp.dense()[0].sum(axis=2), 1.0)


def test_termination_belongs_to_the_transition_in_taxi():
    mdp = MDP.from_env("Taxi-v4", gamma=0.99)
    ending = set(mdp.next_state[mdp.terminated].tolist())
    going_on = set(mdp.next_state[~mdp.terminated].tolist())
    assert len(ending) == len(ending & going_on) == 4


def test_terminal_states_need_not_be_absorbing():
    cliff = MDP.from_env("CliffWalking-v1", gamma=0.99)
    (goal,) = set(cliff.next_state[cliff.terminated].tolist())
    assert {ahead for a in cliff.P[goal] for _, ahead, *_ in cliff.P[goal][a]} != {goal}


def test_all_forms_of_naming_agree(same, tmp_path):
    expected = MDP.from_env("FrozenLake-v1", gamma=0.9, is_slippery=False)
    same(MDP.from_env(gymnasium.make("FrozenLake-v1", is_slippery=False), gamma=0.9), expected)
    same(MDP.from_env("gymnasium.envs.toy_text:FrozenLake-v1", gamma=0.9, is_slippery=False), expected)
    file = tmp_path / "lake.py"
    file.write_text(
        "from gymnasium.envs.toy_text import FrozenLakeEnv\n"
        "class Lake(FrozenLakeEnv):\n"
        "    def __init__(self, slippery=True):\n"
        "        super().__init__(is_slippery=slippery)\n"
    )
    same(MDP.from_env(f"{file}:Lake", gamma=0.9, slippery=False), expected)


def test_a_model_of_ours_is_taken_as_it_is(same):
    mdp = MDP.from_successors([[1, None], [{0: 0.25, 1: 0.75}, 0]], [1, 2], gamma=0.9, reward_std=[[1, 0], [0, 2]])
    read = MDP.from_env(mdp.to_env(), gamma=0.5)
    same(read, mdp, but=["gamma"])
    assert (read.gamma, MDP.from_env(mdp.to_env()).gamma) == (0.5, 0.9)
    assert POMDP.from_env("rlsuite_envs:rlsuite/Tiger-v0").gamma == 0.95
    with pytest.raises(ParameterError, match="FrozenLake-v1 does not say how its rewards are discounted: write gamma="):
        MDP.from_env("FrozenLake-v1")


def test_no_table():
    with pytest.raises(UnsuitableEnvironment) as caught:
        MDP.from_env("Blackjack-v1", gamma=0.9)
    assert str(caught.value) == (
        "Blackjack-v1 has no transition table (env.unwrapped.P). Ask for one: rl.tabulate(env, gamma=...); plan on a "
        "learned model: MDP.from_experience(transitions, ...); or use a learner: QLearning, Sarsa"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: MDP.from_experience([]),
            "from_experience() needs n_states and n_actions and gamma: write "
            "MDP.from_experience([], n_states=16, n_actions=4, gamma=0.99)",
        ),
        (
            lambda: MDP.from_arrays(np.ones((1, 1, 1)), np.zeros((1, 1))),
            "from_arrays() needs gamma: write MDP.from_arrays(array([[[1.]]]), array([[0.]]), gamma=0.99)",
        ),
        (
            lambda: MDP.from_function(len, 0, gamma=0.9),
            "from_function() needs actions: write MDP.from_function(<built-in function len>, 0, gamma=0.9, actions=4)",
        ),
    ],
)
def test_a_missing_keyword_is_answered_with_the_call(make, message):
    with pytest.raises(CallError) as caught:
        make()
    assert str(caught.value) == message


def test_bad_gamma_and_misspelt_keyword():
    with pytest.raises(ParameterError, match=r"gamma=1\.5 is not in \[0, 1\]"):
        MDP.from_env("FrozenLake-v1", gamma=1.5)
    with pytest.raises(ParameterError, match="unknown keyword 'slippery'; did you mean 'is_slippery'"):
        MDP.from_env("FrozenLake-v1", gamma=0.9, slippery=True)
    with pytest.raises(EnvironmentNotFound):
        MDP.from_env("NoLake-v1", gamma=0.9)


class Tabled(gymnasium.Env):
    """Two states, one action, and whatever else the test gives it."""

    def __init__(self, **attributes):
        self.observation_space = spaces.Discrete(2)
        self.action_space = spaces.Discrete(1)
        self.P = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, True)]}}
        self.initial_state_distrib = np.array([1.0, 0.0])
        self.closed = False
        vars(self).update(attributes)

    def close(self):
        self.closed = True


def test_an_environment_of_the_caller_stays_open():
    env = Tabled()
    MDP.from_env(env, gamma=0.9)
    assert not env.closed


def test_spaces_that_do_not_begin_at_zero(same):
    shifted = Tabled(
        observation_space=spaces.Discrete(2, start=5),
        action_space=spaces.Discrete(1, start=-1),
        P={5: {-1: [(1.0, 6, 0.0, False)]}, 6: {-1: [(1.0, 5, 0.0, True)]}},
    )
    same(MDP.from_env(shifted, gamma=0.9), MDP.from_env(Tabled(), gamma=0.9))


def test_mixed_number_types_and_lists_of_lists(same):
    mixed = Tabled(P=[[[(np.float32(1), np.int64(1), np.int32(0), np.False_)]], [[[1, 0, 0, 1]]]])
    same(MDP.from_env(mixed, gamma=0.9), MDP.from_env(Tabled(), gamma=0.9))


def test_an_empty_list_is_an_illegal_action():
    two = {0: {0: [(1.0, 1, 0.0, False)], 1: []}, 1: {0: [(1.0, 0, 0.0, True)], 1: [(1.0, 1, 0.0, False)]}}
    mdp = MDP.from_env(Tabled(P=two, action_space=spaces.Discrete(2)), gamma=0.9)
    assert mdp.legal.tolist() == [[True, False], [True, True]]


ROW = [(1.0, 0, 0.0, False)]
MALFORMED = {
    "P[1] has no action 0; the actions are 0..0 (write an empty list for an action that is illegal)": {
        0: {0: ROW},
        1: {},
    },
    "P has 1 states, but the observation space has 2": {0: {0: ROW}},
    "P has no state 1; the states are 0..1": {0: {0: ROW}, 2: {0: ROW}},
    "P[0][0] is 1.0; a list of transitions is needed": {0: {0: 1.0}, 1: {0: ROW}},
    "P[0] has no action 0; the actions are 0..0 (write an empty list for an action that is illegal)": {
        0: None,
        1: {0: ROW},
    },
    "P[1][0][0] is (1.0, 0, 0.0): (probability, next_state, reward, terminated) is needed": {
        0: {0: ROW},
        1: {0: [(1.0, 0, 0.0)]},
    },
    "P[1][0][1] is ('a', 0, 0.0, False): the probability is not a number": {
        0: {0: ROW},
        1: {0: [*ROW, ("a", 0, 0.0, False)]},
    },
    "P[0][0][0] is (1.0, 2, 0.0, False): the next state is not one of 0..1": {
        0: {0: [(1.0, 2, 0.0, False)]},
        1: {0: ROW},
    },
    "P[0][0][0] is (1.0, 0.5, 0.0, False): the next state is not one of 0..1": {
        0: {0: [(1.0, 0.5, 0.0, False)]},
        1: {0: ROW},
    },
    "P[0][0][0] is (1.0, 0, None, False): the reward is not a number": {0: {0: [(1.0, 0, None, False)]}, 1: {0: ROW}},
    "P[0][0][0] is (1.0, 0, 0.0, 'x'): terminated is not a bool": {0: {0: [(1.0, 0, 0.0, "x")]}, 1: {0: ROW}},
    "transitions[s=1, a=0] sums to 0.9, not 1 (missing 0.1). Rows: P[s, a, :].": {
        0: {0: ROW},
        1: {0: [(0.5, 0, 0.0, False), (0.4, 1, 0.0, False)]},
    },
}


@pytest.mark.parametrize(("message", "table"), MALFORMED.items(), ids=list(MALFORMED))
def test_malformed_tables(message, table):
    with pytest.raises(ModelError) as caught:
        MDP.from_env(Tabled(P=table), gamma=0.9)
    assert str(caught.value) == message


@pytest.mark.parametrize("slip", [0.8, np.zeros((2, 1, 2)), [[0.5, 0.5], [0.2, 0.8]], {"slip": 0.8}], ids=type)
def test_the_name_alone_is_no_table(slip):
    class Walk(Tabled):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.s = 0
            return 0, {}

        def step(self, action):
            self.s += 1
            return self.s % 2, 1.0, self.s == 2, False, {}

    with pytest.raises(UnsuitableEnvironment, match=r"no transition table \(env.unwrapped.P is of type"):
        MDP.from_env(Walk(P=slip), gamma=0.9)
    del (walk := Walk(P=slip)).initial_state_distrib
    assert tabulate(walk, gamma=0.5).P[0][0] == [(1.0, 1, 1.0, False)]
    with warnings.catch_warnings(action="error"):
        QLearning().learn(walk, steps=100, seed=7, loop="compiled", tabulate=True)


def test_malformed_start():
    with pytest.raises(UnsuitableEnvironment, match=r"Tabled has a transition table, but no start distribution"):
        MDP.from_env(Tabled(initial_state_distrib=None), gamma=0.9)
    with pytest.raises(ModelError, match=r"start has shape \(3,\), not \(2,\)"):
        MDP.from_env(Tabled(initial_state_distrib=[1, 0, 0]), gamma=0.9)
    with pytest.raises(ModelError, match=r"start sums to 2, not 1"):
        MDP.from_env(Tabled(initial_state_distrib=[1, 1]), gamma=0.9)


def test_spaces_that_are_not_discrete():
    with pytest.raises(UnsuitableEnvironment, match=r"Tabled: a model needs a Discrete observation space, got Box"):
        MDP.from_env(Tabled(observation_space=spaces.Box(0, 1, (2,))), gamma=0.9)
    with pytest.raises(UnsuitableEnvironment, match=r"Tabled: a model needs a Discrete action space, got MultiBinary"):
        MDP.from_env(Tabled(action_space=spaces.MultiBinary(2)), gamma=0.9)


def test_a_model_has_the_name_of_its_environment_and_of_its_map():
    taxi = MDP.from_env("Taxi-v4", gamma=0.99)
    rooms = MDP.from_env("rlsuite_envs:rlsuite/GridWorld-v0", gamma=0.9, map="FourRooms")
    names = [taxi.name, taxi.replace(gamma=0.5).name, copy.copy(taxi).name, rooms.name]
    assert names == ["Taxi-v4", "Taxi-v4", "Taxi-v4", "rlsuite/GridWorld-v0, FourRooms"]
    assert pickle.loads(pickle.dumps(rooms)).name == rooms.name
    assert rooms.replace(name="my rooms").replace(gamma=0.5).name == "my rooms"
    assert MDP.from_successors([[0]], [1], gamma=0.9).name == ""
    with pytest.raises(ParameterError, match="name=3 is not text"):
        rooms.replace(name=3)
