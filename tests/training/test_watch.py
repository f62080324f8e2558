"""What is done to an environment between two calls of `learn` counts in the second, in both loops alike."""

import copy
from contextlib import nullcontext

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text import FrozenLakeEnv

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation import Identity, SemiGradientSarsa, TileCoding
from rlsuite.errors import ModelError, StepwiseWarning


class Own(gymnasium.Env):
    """Gymnasium's rule over a table that is its own."""

    def __init__(self):
        lake = FrozenLakeEnv()
        self.P, self.initial_state_distrib = lake.P, lake.initial_state_distrib
        self.observation_space, self.action_space = lake.observation_space, lake.action_space
        self.bonus = 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.np_random.random()
        self.s = 0
        return 0, {}

    def step(self, action):
        row = self.P[self.s][action]
        reached = np.cumsum([entry[0] for entry in row])
        _, self.s, reward, terminated = row[int(np.argmax(reached > self.np_random.random()))]
        return self.s, reward + self.bonus, terminated, False, {}


def lower_rewards(env):
    for by_action in env.unwrapped.P.values():
        for action in by_action:
            by_action[action] = [(p, s, r - 1.0, done) for p, s, r, done in by_action[action]]


def close_an_action(env):
    for by_action in env.unwrapped.P.values():
        by_action[3] = []


def other_starts(env):
    env.unwrapped.initial_state_distrib = np.eye(16)[4]


def begin_anew(env):
    env.reset(seed=99)


def move(env):
    env.unwrapped.s = 8


def two_calls(env, edit, loop, agent=None, steps=3_000):
    agent = agent or rl.QLearning(gamma=0.9)
    agent.learn(env, steps=steps, seed=3, loop=loop)
    edit(env)
    return agent.learn(env, steps=steps, loop=loop, regret=True)


def same(one, other):
    assert one.q_.tobytes() == other.q_.tobytes()
    assert one.episodes_.tobytes() == other.episodes_.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("edit", [lower_rewards, begin_anew, move])
@pytest.mark.parametrize("make", [lambda: gymnasium.make("FrozenLake-v1"), Own, FrozenLakeEnv])
def test_an_edit_between_two_calls_counts_in_both_loops(make, edit):
    compiled, stepwise = (two_calls(make(), edit, loop) for loop in ("auto", "stepwise"))
    assert (compiled.record_.loop, stepwise.record_.loop) == ("compiled", "stepwise")
    same(compiled, stepwise)


def one_entry(env):
    env.unwrapped.P[0][0][1] = (1.0 / 3.0, 0, -1.0, False)


def one_more_entry(env):
    env.unwrapped.P[0][0].append((0.0, 0, 0.0, False))


def equal_table(env):
    env.unwrapped.P = copy.deepcopy(env.unwrapped.P)


def an_array_for_a_number(env):
    env.unwrapped.P[0][0][0] = (np.array(1.0 / 3.0), 0, np.zeros(1), False)


@pytest.mark.parametrize("edit", [lower_rewards, one_entry, one_more_entry, equal_table, other_starts])
def test_an_edit_before_the_third_call_counts(edit):
    learned = []
    for loop in ("auto", "stepwise"):
        env = FrozenLakeEnv()
        agent = rl.QLearning(gamma=0.9, learning_rate=0.5)
        agent.learn(env, steps=300, seed=3, loop=loop).learn(env, steps=300, loop=loop)
        edit(env)
        learned.append(agent.learn(env, steps=300, loop=loop))
    assert learned[0].record_.loop == "compiled"
    same(*learned)


def test_a_table_that_cannot_be_read_any_more_is_an_error():
    env = FrozenLakeEnv()
    agent = rl.QLearning().learn(env, steps=10, seed=3).learn(env, steps=10)
    an_array_for_a_number(env)
    with pytest.raises(ModelError, match=r"P\[0\]\[0\]\[0\]"):
        agent.learn(env, steps=10)


def test_mutable_entries_are_compared_in_full():
    env = FrozenLakeEnv()
    for row in env.P.values():
        for listed in row.values():
            listed[:] = map(list, listed)
    agent = rl.QLearning(gamma=0.9).learn(env, steps=10, seed=3).learn(env, steps=10)
    env.P[0][0][1][2] = -1.0
    agent.learn(env, steps=300)
    assert agent.q_[0, 0] < 0.0


def test_other_starts_count():
    compiled, stepwise = (two_calls(FrozenLakeEnv(), other_starts, loop) for loop in ("auto", "stepwise"))
    same(compiled, stepwise)


def test_an_action_that_is_closed_is_not_taken_any_more():
    agent = two_calls(FrozenLakeEnv(), close_an_action, "auto")
    assert not agent.legal_[:, 3].any()
    visits = agent.visits_[:, 3].copy()
    agent.learn(agent._asked_for, steps=1_000)
    assert agent.record_.loop == "compiled"
    assert (agent.visits_[:, 3] == visits).all()


@pytest.mark.slow
def test_an_attribute_that_makes_the_table_untrue_is_found_out():
    def add_bonus(env):
        env.unwrapped.bonus = 1.0

    with pytest.warns(StepwiseWarning, match="its table says reward 0.0, but its step returns 1.0"):
        compiled = two_calls(Own(), add_bonus, "auto")
    assert compiled.record_.loop == "stepwise"
    same(compiled, two_calls(Own(), add_bonus, "stepwise"))
    asked = two_calls(Own(), add_bonus, "compiled")
    assert "tabulated" in asked.record_.loop_reason
    same(asked, compiled)


def test_another_model_and_another_time_limit_count():
    def other_model(env):
        model = env.unwrapped.model
        env.unwrapped.model = rl.MDP.from_rows(
            model.indptr, model.next_state, model.probability, model.reward - 1.0,
            terminated=model.terminated, n_actions=model.n_actions, gamma=model.gamma, start=model.start,
        )  # fmt: skip

    def shorter(env):
        (limit,) = (layer for layer in (env, env.env, env.env.env) if isinstance(layer, gymnasium.wrappers.TimeLimit))
        limit._max_episode_steps = 3

    for edit in (other_model, shorter):
        one, other = (two_calls(gymnasium.make("rlsuite/GridGoal-v0"), edit, loop) for loop in ("auto", "stepwise"))
        assert one.record_.loop == "compiled"
        same(one, other)
    assert one.episodes_["length"].max() > one.episodes_["length"][-1] == 3


def test_regret_and_evaluation_are_those_of_the_edited_table():
    env = gymnasium.make("FrozenLake-v1")
    agent = rl.QLearning(gamma=0.9).learn(env, steps=500, seed=3, regret=True, evaluate_every=500)
    before = agent.record_.optimal_value
    lower_rewards(env)
    agent.learn(env, steps=500, evaluate_every=500)
    assert agent.record_.optimal_value < -1.0 < before
    model = rl.MDP.from_env(env, gamma=0.9)
    assert agent.record_.optimal_value == pytest.approx(model.start @ rl.solve(model).value)
    assert agent.record_.evaluation[-1] < 0.0


@pytest.mark.slow
def test_compiled_dynamics_whose_constants_have_changed_are_made_again():
    def heavier(env):
        env.unwrapped.gravity = 0.004

    def agent():
        return SemiGradientSarsa(features=TileCoding(n_tilings=2, bins=4), gamma=1.0)

    learned = [
        two_calls(gymnasium.make("MountainCar-v0"), heavier, loop, agent(), steps=900) for loop in ("auto", "stepwise")
    ]
    unedited = two_calls(gymnasium.make("MountainCar-v0"), lambda env: None, "auto", agent(), steps=900)
    assert learned[0].record_.loop == "compiled"
    np.testing.assert_allclose(learned[0].weights_, learned[1].weights_, rtol=1e-9)
    assert not np.array_equal(learned[0].weights_, unedited.weights_)


@pytest.mark.slow
def test_the_proof_of_one_table_does_not_hold_for_another():
    gymnasium.register("test/Own-v0", entry_point=Own)
    try:
        honest, edited = gymnasium.make("test/Own-v0"), gymnasium.make("test/Own-v0")
        rl.QLearning().learn(honest, steps=10, seed=0, loop="compiled")
        edited.unwrapped.P = {s: dict(row) for s, row in edited.unwrapped.P.items()}
        edited.unwrapped.P[14][2] = [(1.0, 15, 5.0, True)]
        table = edited.unwrapped.P
        type(edited.unwrapped).step, true_step = _step_by(honest.unwrapped.P), Own.step
        try:
            assert table[14][2][0][2] == 5.0
            asked = rl.QLearning().learn(edited, steps=2_000, seed=0, loop="compiled")
            assert "tabulated" in asked.record_.loop_reason
            same(asked, rl.QLearning().learn(edited, steps=2_000, seed=0, loop="stepwise"))
        finally:
            Own.step = true_step
    finally:
        del gymnasium.registry["test/Own-v0"]


def _step_by(table):
    def step(self, action):
        row = table[self.s][action]
        reached = np.cumsum([entry[0] for entry in row])
        _, self.s, reward, terminated = row[int(np.argmax(reached > self.np_random.random()))]
        return self.s, reward, terminated, False, {}

    return step


class Paid(Own):
    """What a step pays besides the table is in an attribute: nothing, unless it is edited."""

    def __init__(self, form="list"):
        super().__init__()
        self.pay = {
            "list": [0.0] * 16,
            "dict": dict.fromkeys(range(16), 0.0),
            "large array": np.zeros(5_000),
            "nested": {"of": [0.0] * 16},
        }[form]
        self.log = open  # cannot be compared by its content, and stays what it is

    def step(self, action):
        left = self.s
        answer, reward, *rest = super().step(action)
        pay = self.pay["of"] if isinstance(self.pay, dict) and "of" in self.pay else self.pay
        return answer, reward + float(pay[left]), *rest


def pay_in_state_14(env):
    pay = env.unwrapped.pay
    (pay["of"] if isinstance(pay, dict) and "of" in pay else pay)[14] = 5.0


class FarAway(Paid):
    """A corridor whose last but one state is reached late."""

    def __init__(self):
        super().__init__()
        self.P = {s: {a: [(1.0, min(s + 1, 15) if a else 0, 0.0, s == 14)] for a in range(4)} for s in range(16)}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["list", "dict", "large array", "nested"])
def test_an_attribute_of_any_kind_that_a_step_reads_counts(form):
    agent = rl.QLearning().learn(env := Paid(form), steps=100, seed=3, loop="compiled")
    agent.learn(env, steps=100, loop="compiled")
    pay_in_state_14(env)
    agent.learn(env, steps=20_000, loop="compiled")
    other = rl.QLearning().learn(env := Paid(form), steps=200, seed=3, loop="stepwise")
    pay_in_state_14(env)
    same(agent, other.learn(env, steps=20_000, loop="stepwise"))
    assert agent.q_[14].max() > 1.0


def test_the_run_of_an_environment_says_nothing_of_one_with_other_attributes():
    learned = []
    for loop in ("auto", "stepwise"):
        rl.QLearning().learn(FarAway(), steps=10, seed=0)
        edited = FarAway()
        edited.pay[14] = 5.0
        with nullcontext() if loop == "stepwise" else pytest.warns(StepwiseWarning, match="state 14"):
            agent = rl.QLearning(exploration=rl.EpsilonGreedy(1.0))
            learned.append(agent.learn(edited, steps=20_000, seed=0, loop=loop))
    same(*learned)
    assert learned[0].q_[14].max() > 0.1


def pay_more(env):
    env.env = gymnasium.wrappers.TransformReward(env.env, lambda reward: reward + 1.0)


def replace_step_of_the_wrapper(env):
    true_step = env.step

    def step(action):
        answer, reward, *rest = true_step(action)
        return answer, reward + 1.0, *rest

    env.step = step


@pytest.mark.parametrize("edit", [pay_more, replace_step_of_the_wrapper])
def test_what_is_done_to_the_wrappers_counts(edit):
    stepwise = two_calls(gymnasium.make("FrozenLake-v1"), edit, "stepwise")
    with pytest.warns(StepwiseWarning, match=r"TransformReward|its table says reward"):
        same(two_calls(gymnasium.make("FrozenLake-v1"), edit, "auto"), stepwise)


@pytest.mark.slow
def test_a_wrapper_that_changes_rewards_is_asked_what_it_does():
    stepwise = two_calls(gymnasium.make("FrozenLake-v1"), pay_more, "stepwise")
    same(two_calls(gymnasium.make("FrozenLake-v1"), pay_more, "compiled"), stepwise)


def test_other_vectors_count():
    def show_others(env):
        env.vectors = env.vectors[::-1].copy()

    learned = []
    for loop in ("auto", "stepwise"):
        env = rl.VectorObservation(gymnasium.make("FrozenLake-v1"), np.eye(16))
        agent = SemiGradientSarsa(features=Identity(), gamma=0.9)
        agent.learn(env, steps=1_000, seed=3, loop=loop)
        show_others(env)
        learned.append(agent.learn(env, steps=1_000, loop=loop))
    assert learned[0].record_.loop == "compiled"
    np.testing.assert_array_equal(learned[0].weights_, learned[1].weights_)
