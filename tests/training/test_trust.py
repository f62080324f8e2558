"""A table that disagrees with `step` is detected, named, and not used."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text import FrozenLakeEnv

import rlsuite as rl
import rlsuite_envs  # noqa: F401
from rlsuite.environments.facts import facts_of
from rlsuite.environments.forms.stepwise import NOT_ASKED_FOR
from rlsuite.environments.forms.table import trusted_model
from rlsuite.errors import ParameterError, StepwiseWarning, UnsuitableEnvironment, UntrustedTable


def liars(environments):
    edited = gymnasium.make("FrozenLake-v1")
    edited.unwrapped.P[0][1] = [(1.0, 4, 0.0, False)]  # the edit is in the table, so `step` obeys it: no liar
    bonus = environments["Bonus"]()
    return {
        "Taxi-v4: at reset it draws other random numbers": gymnasium.make("Taxi-v4", fickle_passenger=True),
        "Tired: its step changes `energy`": environments["Tired"](),
        "at state 14, action 2 its table says reward": bonus,
        "FrozenLake-v1 is wrapped in Double": environments["Double"](gymnasium.make("FrozenLake-v1")),
    }, edited


@pytest.mark.parametrize("index", range(4))
def test_a_short_run_warns_and_steps(index, environments, q_learning):
    (sentence, env), edited = list(liars(environments)[0].items())[index], None
    with pytest.warns(StepwiseWarning) as caught:
        q_learning.learn(env, steps=500, seed=0)
    assert sentence in str(caught[0].message)
    assert caught[0].filename == __file__
    assert q_learning.record_.loop == "stepwise"
    assert q_learning.visits_.sum() == 500
    assert edited is None
    assert sentence in q_learning.record_.loop_reason


@pytest.mark.slow
@pytest.mark.parametrize("index", range(3))
def test_compiled_asks_what_step_does(index, environments, q_learning, same_agents):
    """The table is not used, but one that is made by asking: the bytes are those of `step`."""
    stepwise, compiled = dataclasses.replace(q_learning), dataclasses.replace(q_learning)
    stepwise.learn(list(liars(environments)[0].values())[index], steps=20_000, seed=0, loop="stepwise")
    compiled.learn(list(liars(environments)[0].values())[index], steps=20_000, seed=0, loop="compiled")
    assert compiled.record_.loop == "compiled"
    assert "tabulated" in compiled.record_.loop_reason
    same_agents(compiled, stepwise)


def test_a_wrapper_that_changes_rewards_is_asked_by_compiled(environments, q_learning, same_agents):
    """The environment's own table does not know the wrapper."""
    stepwise = dataclasses.replace(q_learning)
    for agent, loop in ((q_learning, "compiled"), (stepwise, "stepwise")):
        agent.learn(environments["Double"](gymnasium.make("FrozenLake-v1")), steps=500, seed=0, loop=loop)
    assert "tabulated" in q_learning.record_.loop_reason
    same_agents(q_learning, stepwise)


def test_a_wrapper_is_obeyed_in_the_stepwise_loop(environments, q_learning):
    env = environments["Double"](gymnasium.make("FrozenLake-v1", is_slippery=False))
    q_learning.exploration = rl.EpsilonGreedy(1.0)
    q_learning.learn(env, episodes=300, seed=0, loop="stepwise")
    assert set(q_learning.episodes_["return"]) == {0.0, 2.0}


def test_an_edited_table_that_step_obeys_is_trusted(environments, q_learning):
    edited = liars(environments)[1]
    assert q_learning.learn(edited, steps=500, seed=0).record_.loop == "compiled"


def test_a_patched_step_is_found_out(q_learning):
    env = FrozenLakeEnv()
    true_step = env.step

    def step(action):
        observation, reward, terminated, truncated, info = true_step(action)
        return observation, reward - 1, terminated, truncated, info

    env.step = step
    with pytest.warns(
        StepwiseWarning, match="FrozenLakeEnv: at state 0, action . its table says reward 0.0, but its st"
    ):
        q_learning.learn(env, steps=10, seed=0, loop="compiled")
    assert q_learning.record_.loop == "stepwise"
    with pytest.raises(UntrustedTable, match="FrozenLakeEnv: its step has been replaced"):
        trusted_model(facts_of(env), 0.9)


def test_the_replay_leaves_the_environment_alone():
    env = gymnasium.make("FrozenLake-v1")
    env.reset(seed=3)
    before = env.unwrapped.np_random.bit_generator.state
    trusted_model(facts_of(env), 0.9)
    assert env.unwrapped.np_random.bit_generator.state == before
    assert env.unwrapped.s == 0


ANYWHERE_ELSE = """
import gymnasium

class AnywhereElse(gymnasium.Env):
    # six cells; each step leads to another one, which is drawn until it is another

    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(2)
    calls = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.draws = [self.np_random]  # the generator under a second name
        self.cell, self.time = 0, 0
        return self.cell, {}

    def step(self, action):
        AnywhereElse.calls += 1
        self.time += 1
        while True:
            cell = int(self.draws[0].integers(6))
            if cell != self.cell:
                break
        self.cell = cell
        reward = float(cell == action) + (100.0 if AnywhereElse.calls == 19_000 else 0.0)
        return cell, reward, self.time == 30, False, {}
"""


def test_without_a_table_nothing_is_asked(q_learning, same_agents, tmp_path):
    """`step` is called as often as there are steps: here a call too many would change what is learned."""
    (tmp_path / "anywhere.py").write_text(ANYWHERE_ELSE, encoding="utf-8")
    agents = {}
    for loop in ("stepwise", "auto"):
        env = rl.find_env(f"{tmp_path}/anywhere.py:AnywhereElse")
        type(env.unwrapped).calls = 0
        agents[loop] = dataclasses.replace(q_learning).learn(env, steps=20_000, seed=0, loop=loop)
        assert type(env.unwrapped).calls == 20_000
        assert agents[loop].record_.loop == "stepwise"
    same_agents(agents["auto"], agents["stepwise"])
    assert agents["auto"].record_.cumulative_reward[-1] > 100.0
    assert agents["auto"].record_.loop_reason == NOT_ASKED_FOR
    assert agents["stepwise"].record_.loop_reason == ""


def test_a_long_run_says_how_fast_it_was(environments, q_learning, monkeypatch):
    monkeypatch.setattr("rlsuite.training.run.LONG", 0.0)
    with pytest.warns(StepwiseWarning, match=r"^Corridor was stepped, [\d,]+ steps per second: .*; tabulate=True may"):
        q_learning.learn(environments["Corridor"](), steps=500, seed=0)
    q_learning.learn(environments["Corridor"](), steps=500, seed=0, loop="stepwise")
    q_learning.learn(environments["Corridor"](), steps=500, seed=0, tabulate=True)


def test_compiled_says_why_an_environment_cannot_be_tabulated(q_learning):
    with pytest.raises(UnsuitableEnvironment) as caught:
        q_learning.learn(Noisy(), steps=500, seed=0, loop="compiled")
    assert str(caught.value) == (
        "Noisy has no transition table (env.unwrapped.P or .model), which loop='compiled' and tabulate=True need, and "
        "cannot be tabulated: its generator draws by normal(), whose outcomes cannot be listed; use loop='stepwise'"
    )


def test_a_table_is_made_or_not_as_the_user_says(environments, q_learning, same_agents):
    stepwise = dataclasses.replace(q_learning)
    stepwise.learn(environments["Corridor"](), steps=500, seed=0, loop="stepwise")
    env = environments["Corridor"]()
    q_learning.learn(env, steps=200, seed=0)
    assert q_learning.record_.loop == "stepwise"
    q_learning.learn(env, steps=300, tabulate=True)  # also in the middle of a run
    assert q_learning.record_.loop == "compiled"
    assert np.array_equal(q_learning.q_, stepwise.q_)
    asked = dataclasses.replace(q_learning).learn(environments["Corridor"](), steps=500, seed=0, tabulate=True)
    assert asked.record_.loop_reason.startswith("it has been tabulated, ")
    same_agents(asked, stepwise)
    never = dataclasses.replace(q_learning).learn(environments["Corridor"](), steps=20_000, seed=0, tabulate=False)
    assert (never.record_.loop, never.record_.loop_reason) == ("stepwise", NOT_ASKED_FOR)
    own = dataclasses.replace(q_learning).learn("FrozenLake-v1", steps=500, seed=0, tabulate=False)
    assert own.record_.loop == "compiled"


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"tabulate": True}, UnsuitableEnvironment, "tabulate=True need, and cannot be tabulated: its generator draws"),
        ({"tabulate": False, "loop": "compiled"}, UnsuitableEnvironment, "tabulate=True need; use loop='stepwise'"),
        ({"tabulate": True, "loop": "stepwise"}, ParameterError, "leave out loop='stepwise'"),
        ({"tabulate": "yes"}, ParameterError, "tabulate='yes' is not one of True "),
        ({"tabulate": 1}, ParameterError, "tabulate=1 is not one of True "),
    ],
)
def test_a_table_that_cannot_be_made_is_an_error(options, error, sentence, q_learning):
    with pytest.raises(error) as caught:
        q_learning.learn(Noisy(), steps=500, seed=0, **options)
    assert sentence in str(caught.value)


class Noisy(gymnasium.Env):
    """One state, and normal rewards."""

    observation_space = gymnasium.spaces.Discrete(1)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, self.np_random.normal(), False, False, {}


def test_a_table_of_random_rewards_and_observations_is_replayed():
    model = rl.MDP.from_successors(
        [[0, 1], [{0, 1}, 1]],
        [[0.5, 1.0], [0.25, 2.0]],
        gamma=0.9,
        bernoulli=[[True, False], [True, False]],
        reward_std=[[0.0, 1.0], [0.0, 0.0]],
    )
    env = model.to_env()
    env.reset(seed=0)
    trusted = trusted_model(facts_of(env), 0.5)
    assert trusted.gamma == 0.5
    assert np.array_equal(trusted.reward, model.reward)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [np.random.Philox, np.random.MT19937, np.random.SFC64])
def test_an_environment_may_have_a_generator_of_another_kind(q_learning, bits, same_agents):
    """The states of these generators hold arrays, which cannot be compared by ==; no loop can put them back."""

    class Lake(FrozenLakeEnv):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed, options=options)
            if seed is not None:
                self.np_random = np.random.Generator(bits(seed))
                self.s = 0
            return int(self.s), {"prob": 1}

    other = dataclasses.replace(q_learning)
    with pytest.warns(StepwiseWarning, match=f"it draws from a {bits.__name__}, which the loop cannot put back"):
        learned = q_learning.learn(Lake(), steps=3_000, seed=1, loop="compiled")
    same_agents(learned, other.learn(Lake(), steps=3_000, seed=1, loop="stepwise"))


def test_a_table_without_a_start_distribution_is_not_enough(q_learning):
    class Walks(gymnasium.Env):
        observation_space, action_space = gymnasium.spaces.Discrete(5), gymnasium.spaces.Discrete(2)

        def __init__(self):
            moves = [(max(0, s - 1), min(4, s + 1)) for s in range(5)]
            self.P = {s: {a: [(1.0, moves[s][a], 0.0, False)] for a in range(2)} for s in range(5)}

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.s = 2
            return 2, {}

        def step(self, action):
            self.s = min(4, max(0, self.s + (1 if action else -1)))
            return self.s, float(self.s), False, False, {}

    with pytest.warns(StepwiseWarning, match=r"no start distribution \(env.unwrapped.initial_state_distrib\)"):
        q_learning.learn(Walks(), steps=200, seed=1)
    assert q_learning.record_.loop == "stepwise"
    assert q_learning.learn(Walks(), steps=200, seed=1, loop="compiled").record_.loop == "compiled"
