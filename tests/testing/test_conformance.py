"""Every agent there is passes the kit; agents that break a promise are found out."""

import dataclasses
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import rlsuite as rl
from rlsuite.agents import end_step, locate, locate_next, update, value
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.storage import learned_arrays
from rlsuite.approximation import Standardization
from rlsuite.errors import ConformanceError, LearningError, ParameterError, UnsuitableEnvironment
from rlsuite.registry import agent_classes
from rlsuite.testing import agent_checks, check_agent

LOOPS = ("compiled", "stepwise")
OURS = sorted(name for name, kind in agent_classes().items() if getattr(rl, name, None) is kind)


@pytest.mark.cases("QLearning")
@pytest.mark.parametrize("name", OURS)
def test_every_agent_of_ours_conforms(name):
    check_agent(agent_classes()[name]())


def test_a_reward_that_is_none_may_be_met_while_features_fit_themselves():
    agent_checks()["nonsense_is_refused"](rl.Sarsa(features=Standardization()))


TABLES = ("CliffWalking-v1", "FrozenLake-v1", "Taxi-v4")
TOO_LARGE = {("PosteriorSampling", "Taxi-v4")}
"""Worlds of 500 x 6 x 501 probabilities are drawn and solved again and again: an hour, for nothing new."""


@pytest.mark.cases("QLearning-.*")
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")  # most of these are costs
@pytest.mark.parametrize(
    ("name", "env"), [(name, env) for name in OURS for env in TABLES if (name, env) not in TOO_LARGE]
)
def test_both_loops_agree_on_the_tables_of_gymnasium(name, env):
    compiled, stepwise = (agent_classes()[name]().learn(env, steps=400, seed=5, loop=loop) for loop in LOOPS)
    assert (compiled.record_.loop, stepwise.record_.loop) == LOOPS
    one, other = learned_arrays(compiled.memory_), learned_arrays(stepwise.memory_)
    assert one.keys() == other.keys()
    for field, values in one.items():
        assert values.tobytes() == other[field].tobytes(), field
    assert compiled.episodes_.tobytes() == stepwise.episodes_.tobytes()
    assert compiled.record_.cumulative_reward.tobytes() == stepwise.record_.cumulative_reward.tobytes()


class Faulty(gymnasium.Env):
    """Three states at random, episodes of seven steps, and one answer that cannot be true."""

    FAULT_AT = 60  # in the middle of an episode: some agents learn when the next one begins

    def __init__(self, answer, observations=None, actions=None):
        self.observation_space = observations or spaces.Discrete(3)
        self.action_space = actions or spaces.Discrete(2)
        self.answer = answer
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.FAULT_AT:
            return self.answer
        return int(self.np_random.integers(3)), 1.0, self.steps % 7 == 0, False, {}


FAULTS = {
    "the reward nan": (1, float("nan"), False, False, {}),
    "the reward -inf": (1, -np.inf, False, False, {}),
    r"observation 3, which is not in Discrete\(3\)": (3, 0.0, False, False, {}),
    "observation -1, which": (-1, 0.0, False, False, {}),
    "observation 1.5, which": (1.5, 0.0, False, False, {}),
    "observation None, which": (None, 0.0, False, False, {}),
    "the reward None": (1, None, False, False, {}),
}


@pytest.mark.cases("QLearning|TD|UCB1|NStepSarsa")
@pytest.mark.parametrize("name", OURS)
def test_an_impossible_answer_ends_learning_and_keeps_what_was_learned(name):
    new = agent_classes()[name]
    healthy = new().learn(Faulty((0, 1.0, False, False, {})), steps=Faulty.FAULT_AT - 1, seed=5)
    for found, answer in FAULTS.items():
        agent = new()
        with pytest.raises(LearningError, match=rf"^Faulty, step 60: .*{found}"):
            agent.learn(Faulty(answer), steps=200, seed=5)
        one, other = learned_arrays(healthy.memory_), learned_arrays(agent.memory_)
        assert {field: values.tobytes() for field, values in one.items()} == {
            field: values.tobytes() for field, values in other.items()
        }
        assert agent.episodes_.tobytes() == healthy.episodes_.tobytes()
        assert len(agent.episodes_) == 8
    for spaces_of in ({"observations": spaces.Box(0, 1)}, {"actions": spaces.MultiDiscrete([2, 2])}):
        with pytest.raises(UnsuitableEnvironment, match=f"need a Discrete {next(iter(spaces_of))[:-1]} space"):
            new().learn(Faulty(None, **spaces_of), steps=10, seed=5)


EXPLORATIONS = [
    rl.EpsilonGreedy(rl.Linear(1.0, 0.1, over=20, per="visits")),
    rl.Softmax(temperature=rl.Exponential(2.0, decay=0.9, end=0.1, per="episodes")),
    rl.MaxBoltzmann(0.3, temperature=rl.Polynomial(5.0, power=0.6)),
    rl.UpperConfidence(1.5),
    rl.CountBonus(3.0),
    rl.RandomActions(),
]


@pytest.mark.slow
@pytest.mark.parametrize("exploration", EXPLORATIONS, ids=lambda one: type(one).__name__)
def test_every_exploration_conforms(exploration):
    check_agent(rl.QLearning(exploration=exploration, learning_rate=rl.Polynomial(1.0, per="visits"), initial_value=5))


# ------------------------------------------------------------------------------------------ promises that are broken


@rl.compiled
def not_counting(memory, t, rng):
    memory.q[t.state, t.action] = t.reward
    return rl.choose(memory, t.next_state, rng)


@rl.compiled
def learning_nan(memory, t, rng):
    memory.q[t.state, t.action] = np.inf - np.inf
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated else rl.uniform(memory, t.next_state, rng)


@rl.compiled
def breaking_the_law(memory, t, rng):
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return 0


@rl.compiled
def asking_the_others(memory, t, rng):
    memory.learned.everybody[0] += 1.0
    memory.q[t.state, t.action] = memory.learned.everybody[0]
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else rl.choose(memory, t.next_state, rng)


class NotCounting(rl.QLearning):
    step = not_counting


class LearningNaN(rl.QLearning):
    step = learning_nan


class BreakingTheLaw(rl.QLearning):
    step = breaking_the_law


@rl.compiled
def reading_old_values(memory, t, rng):
    s, next_s, target = locate(memory, t.state), -1, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target += memory.gamma * rl.max_value(memory, next_s)
    update(memory, s, t.action, rl.step_size(memory, s, t.action) * (target - value(memory, s, t.action)))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else rl.greedy(memory, next_s, rng)


class ReadingOldValues(rl.ActionValueAgent):
    step, renews = reading_old_values, True


@rl.compiled
def only_in_a_table(memory, t, rng):
    memory.q[t.state, t.action] += 0.1 * (t.reward - memory.q[t.state, t.action])
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else rl.choose(memory, t.next_state, rng)


class OnlyInATable(rl.QLearning):
    step = only_in_a_table


EVERYBODY = rl.agents.memory.NamedTuple("Everybody", [("everybody", np.ndarray)])(np.zeros(1))


class AskingTheOthers(rl.QLearning):
    step = asking_the_others

    def tables(self, n_states, n_actions):
        return EVERYBODY


class Latest(NamedTuple):
    latest: np.ndarray


class Undeclared(rl.QLearning):
    def tables(self, n_states, n_actions):
        return Latest(np.zeros(n_states, dtype=np.int64))


class Negative(rl.QLearning):
    def policy(self):
        return -super().policy()


class Unnormalised(rl.QLearning):
    def policy(self):
        return 2.0 * super().policy()


class Misshapen(rl.QLearning):
    def policy(self):
        return super().policy()[:, :1]


class Unruly(rl.QLearning):
    def policy(self):
        return np.full_like(super().policy(), 0.5)


class Contrary(rl.QLearning):
    def best_actions(self, state):
        return np.flatnonzero(self.memory_.legal[state])


@dataclasses.dataclass(eq=False, kw_only=True)
class Forgetful(rl.QLearning):
    def init_memory(self, legal, legality):
        self.gamma = 0.5
        return super().init_memory(legal, legality)


BROKEN = {
    NotCounting: ("every_step_is_counted_once", "counted 0|it counted"),
    LearningNaN: ("what_is_learned_is_finite", "q_ is no longer finite"),
    BreakingTheLaw: ("both_loops_give_the_same_bytes", "cannot learn the problem 'corridor': .* chose action 0"),
    AskingTheOthers: ("the_same_seed_gives_the_same_bytes", "two runs with the same seed differ, in q"),
    ReadingOldValues: ("features_give_what_a_table_gives", "other values than in a table; .* has to call renew"),
    OnlyInATable: ("features_give_what_a_table_gives", "not with features .* derive it from rlsuite.TabularAgent"),
    Undeclared: (
        "whole_numbers_say_what_they_may_be",
        r"learned\.latest is an array of .* rl\.Array\(at_least=0",
    ),
    Negative: ("the_policy_is_one", "negative probabilities"),
    Unnormalised: ("the_policy_is_one", r"sum to \[2.0"),
    Misshapen: ("the_policy_is_one", r"has shape \(5, 1\), not \(5, 2\)"),
    Unruly: ("the_policy_is_one", "takes illegal actions"),
    Contrary: ("the_policy_is_one", "which has probability 0 in policy"),
    Forgetful: ("it_stays_as_it_is_given", "learning changed its parameters"),
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_broken_promise_is_found_out(kind):
    check, message = BROKEN[kind]
    with pytest.raises(ConformanceError, match=message):
        agent_checks()[check](kind(exploration=rl.EpsilonGreedy(0.5)))


def test_there_is_a_check_for_each_promise():
    assert {check for check, _ in BROKEN.values()} < set(agent_checks())
    assert len(agent_checks()) == 15


def test_what_is_no_agent_is_refused():
    with pytest.raises(
        ParameterError, match=r"^check_agent takes an agent, .* is not one: write check_agent\(QLearning\(\)\)$"
    ):
        rl.testing.check_agent(rl.QLearning)
    with pytest.raises(ParameterError, match=r"^check_agent takes an agent, and 'q-learning' is not one$"):
        rl.testing.check_agent("q-learning")
