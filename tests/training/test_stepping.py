"""The stepwise loop on environments that nobody told us about, good and bad."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.approximation import SemiGradientSarsa
from rlsuite.errors import LearningError, ParameterError, RlsuiteWarning, UnsuitableEnvironment


def test_spaces_that_do_not_start_at_zero(environments):
    agent = rl.DeterministicQLearning(gamma=1.0, exploration=rl.EpsilonGreedy(0.3))
    agent.learn(environments["Corridor"](), episodes=100, seed=0)
    assert agent.q_.max(axis=1).tolist() == [-4.0, -3.0, -2.0, -1.0, 0.0]
    assert [agent.act(observation) for observation in (10, 11, 12, 13)] == [4, 4, 4, 4]
    with pytest.raises(ParameterError, match=r"observation 9 is not in 10\.\.14"):
        agent.act(9)


def test_masks_in_the_info_are_obeyed(environments):
    agent = rl.QLearning(gamma=1.0, learning_rate=0.5, exploration=rl.EpsilonGreedy(1.0))
    agent.learn(environments["MaskedCorridor"](), episodes=50, seed=0)  # its step asserts that the wall is not hit
    assert agent.visits_[0, 0] == 0
    assert agent.policy()[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("place", ["method", "observation"])
def test_masks_elsewhere_are_not_used_and_one_warning_says_so(place):
    class Elsewhere(Answering):
        def __init__(self):
            super().__init__((1, 1.0, False, False))
            if place == "method":
                self.action_masks = lambda: [True, False]
            else:
                spaces = {"action_mask": gymnasium.spaces.MultiBinary(2), "cell": gymnasium.spaces.Discrete(4)}
                self.observation_space = gymnasium.spaces.Dict(spaces)

        def seen(self, answer):
            seen = answer[0] if place == "method" else {"action_mask": np.array([1, 0], np.int8), "cell": answer[0]}
            return seen, *answer[1:]

        def reset(self, *, seed=None, options=None):
            return self.seen(super().reset(seed=seed))

        def step(self, action):
            return self.seen(super().step(action))

    with pytest.warns(RlsuiteWarning, match=r"action_mask.* nobody looks there.*\['action_mask'\] = ...") as caught:
        rl.QLearning().learn(Elsewhere(), steps=30, seed=0)
    assert len(caught) == 1


class Answering(gymnasium.Env):
    """Returns the given answer at the third step."""

    def __init__(self, answer):
        self.observation_space = gymnasium.spaces.Discrete(4)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.answer = answer
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        self.steps += 1
        return (*(self.answer if self.steps == 3 else (1, 1.0, False, False)), {})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((1, float("nan"), False, False), "Answering, step 3: the environment returned the reward nan; rewards must"),
        ((1, float("inf"), False, False), "Answering, step 3: the environment returned the reward inf; rewards must"),
        ((4, 1.0, False, False), "step 3: the environment returned observation 4, which is not in Discrete(4)"),
        ((-1, 1.0, False, False), "step 3: the environment returned observation -1, which is not in Discrete(4)"),
        ((1.5, 1.0, False, False), "step 3: the environment returned observation 1.5, which is not in Discrete(4)"),
        ((1, None, False, False), "step 3: the environment returned the reward None; rewards must be finite numbers"),
        ((1, 1.0, None, False), "step 3: the environment returned terminated=None, which is not true or false: return"),
        ((1, 1.0, False, np.array([True])), "step 3: the environment returned truncated=array([ True]), which is not"),
        ((None, 1.0, False, False), "step 3: the environment returned observation None, which is not in Discrete(4)"),
        (
            (3.0, 1.0, False, False),
            "step 3: the environment returned observation 3.0, which is not in Discrete(4): its",
        ),
        (
            (np.array([3]), 1.0, False, False),
            "observation array([3]), which is not in Discrete(4): its elements are int",
        ),
        (
            (1, 1.0, False),
            "step 3: step returned (1, 1.0, False, {}), which is not (observation, reward, terminated",
        ),
        ((1, 1.0, False, False, 0), "is not (observation, reward, terminated, truncated, info); old Gym"),
    ],
)
def test_bad_answers_stop_the_run_and_keep_what_was_learned(answer, message, q_learning):
    with pytest.raises(LearningError) as caught:
        q_learning.learn(Answering(answer), steps=10, seed=0)
    assert message in str(caught.value)
    assert q_learning.visits_.sum() == 2
    assert (q_learning.q_ > 0).any()


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.array])
def test_integers_of_numpy_are_ids(kind, q_learning):
    q_learning.learn(Answering((kind(3), 1.0, False, False)), steps=10, seed=0)
    assert q_learning.visits_[3].sum() > 0


def test_a_reset_without_seed_is_told_what_to_write(q_learning):
    class Old(Answering):
        def reset(self):
            return 0, {}

    with pytest.raises(LearningError, match=r"^Old: reset does not take a seed .*; write def reset\(self, \*, seed"):
        q_learning.learn(Old((1, 1.0, False, False)), steps=10, seed=0)


def test_a_type_error_inside_reset_is_that_of_the_environment(q_learning):
    class Broken(Answering):
        def reset(self, *, seed=None, options=None):
            return len(None), {}

    with pytest.raises(TypeError, match="NoneType"):
        q_learning.learn(Broken((1, 1.0, False, False)), steps=10, seed=0)


@pytest.mark.slow
def test_a_model_of_another_kind_is_not_a_table(q_learning):
    env = Answering((1, 1.0, False, False))
    env.model = object()
    q_learning.learn(env, steps=2, seed=0)  # no warning
    assert q_learning.record_.loop_reason.startswith("it has no transition table")
    with pytest.raises(UnsuitableEnvironment, match="Answering has no transition table"):
        q_learning.learn(env, steps=2, seed=0, loop="compiled", tabulate=False)


def test_a_bad_first_observation_is_named(q_learning):
    env = Answering(())
    env.reset = lambda seed=None, options=None: (7, {})
    with pytest.raises(LearningError) as caught:
        q_learning.learn(env, steps=10, seed=0)
    assert str(caught.value) == "Answering: reset returned observation 7, which is not in Discrete(4)"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [rl.QLearning, SemiGradientSarsa])
def test_masks_come_with_every_info_but_the_last(kind, environments):
    class Forgetful(environments["MaskedCorridor"]):
        forgets_at = 0

        def step(self, action):
            *answer, info = super().step(action)
            if answer[2] or self.forgets_at == 1:
                info = {}
            self.forgets_at -= 1
            return *answer, info

    agent, env = kind(exploration=rl.EpsilonGreedy(1.0)), Forgetful()
    agent.learn(env, episodes=3, seed=0)
    env.forgets_at = 2
    with pytest.raises(LearningError, match=r"info has no action_mask, but that of the first reset had one"):
        agent.learn(env, episodes=30)


def test_a_reset_that_returns_no_info_is_named(q_learning):
    env = Answering(())
    env.reset = lambda seed=None, options=None: 0
    with pytest.raises(
        LearningError, match=r"^Answering: reset returned 0, which is not \(observation, info\); write return obs"
    ):
        q_learning.learn(env, steps=10, seed=0)


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_errors_of_an_environment_are_its_own(error, q_learning):
    class Broken(Answering):
        def step(self, action):
            raise error("of the environment")

    with pytest.raises(error, match=r"^of the environment$"):
        q_learning.learn(Broken(()), steps=10, seed=0)


@pytest.mark.parametrize(("kind", "name"), [(rl.QLearning, "FrozenLake-v1"), (SemiGradientSarsa, "MountainCar-v0")])
def test_it_makes_no_difference_that_wrappers_are_gone_round(kind, name):
    """One more wrapper, which might do anything, keeps the loop from the environment's own step."""
    short, long = gymnasium.make(name, max_episode_steps=37), gymnasium.make(name, max_episode_steps=37)
    agents = [kind().learn(env, steps=500, seed=3, loop="stepwise") for env in (short, gymnasium.Wrapper(long))]
    assert agents[0].episodes_.tolist() == agents[1].episodes_.tolist()
    assert agents[0].episodes_["length"].max() <= 37
    learned = [agent.q_ if isinstance(agent, rl.QLearning) else agent.weights_ for agent in agents]
    assert learned[0].tobytes() == learned[1].tobytes()
    assert short._elapsed_steps == long._elapsed_steps == 500 - agents[0].episodes_["length"].sum()


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0"])
def test_other_spaces_are_refused_with_the_remedy(name, q_learning):
    with pytest.raises(UnsuitableEnvironment, match=r"tabular agents need a Discrete observation space, .*Wrap"):
        q_learning.learn(name, steps=10)


@rl.compiled
def always_three(memory, state, rng):
    return 3


class Reckless(rl.TabularAgent):
    begin = always_three


@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
def test_an_illegal_action_of_a_rule_is_named(loop):
    model = rl.MDP.from_successors([[1, None, 0, None], [0, 1, 1, 1]], [0.0, 0.0], gamma=0.9)
    Reckless.step = rl.QLearning.step
    with pytest.raises(LearningError) as caught:
        Reckless().learn(model.to_env(), steps=10, seed=0, loop=loop)
    assert str(caught.value) == (
        "TabularEnv, step 1: the agent chose action 3 in state 0, where the legal actions are [0, 2]; "
        "a rule should choose with rlsuite.choose or rlsuite.greedy, which respect memory.legal"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either steps= or episodes=, got steps=None and episodes=None"),
        ({"steps": 1, "episodes": 1}, "give either steps= or episodes=, got steps=1 and episodes=1"),
        ({"steps": 0}, "steps=0 is less than 1"),
        ({"episodes": 2.5}, "episodes=2.5 is not a whole number"),
        ({"steps": "100"}, "steps='100' is not a whole number: write 100"),
        ({"steps": 10, "seed": "3"}, "seed='3' is not a whole number: write 3"),
        ({"steps": 10, "evaluate_every": 0}, "evaluate_every=0 is less than 1"),
        ({"steps": 10, "loop": "fast"}, "unknown loop 'fast' (choices: auto, compiled, stepwise)"),
        ({"steps": 10, "seed": -1}, "seed=-1 is less than 0"),
    ],
)
def test_bad_arguments_are_named(options, message, q_learning):
    with pytest.raises(ParameterError) as caught:
        q_learning.learn("FrozenLake-v1", **options)
    assert str(caught.value) == message


def test_episodes_that_cannot_end_are_refused(q_learning):
    circle = rl.MDP.from_successors([[1], [0]], [1.0, 1.0], gamma=0.9).to_env()
    with pytest.raises(ParameterError) as caught:
        q_learning.learn(circle, episodes=1, seed=0)
    assert str(caught.value) == (
        "no episode of TabularEnv can end: no transition terminates it and it has no time limit; use steps= instead of "
        "episodes="
    )


def test_another_size_needs_another_agent(q_learning):
    q_learning.learn("FrozenLake-v1", steps=10, seed=0)
    with pytest.raises(UnsuitableEnvironment, match="has learned on 16 states and 4 actions; the environment has 64"):
        q_learning.learn("FrozenLake8x8-v1", steps=10, seed=0)


def test_evaluation_by_episodes_where_there_is_no_model(environments):
    agent = rl.DeterministicQLearning(gamma=0.9, exploration=rl.EpsilonGreedy(0.3))
    agent.learn(environments["Corridor"](), episodes=100, seed=0, evaluate_every=50)
    # four steps of -1: -(1 + .9 + .81 + .729)
    assert agent.record_.evaluation[-1] == pytest.approx(-3.439, abs=1e-12)


def test_ctrl_c_keeps_what_was_learned(q_learning, environments):
    env = environments["Corridor"]()
    true_step, true_reset, calls = env.step, env.reset, []

    def step(action):
        calls.append("step")
        if calls.count("step") == 98:
            raise KeyboardInterrupt
        return true_step(action)

    def reset(**options):
        calls.append("reset")
        return true_reset(**options)

    env.step, env.reset = step, reset
    with pytest.raises(KeyboardInterrupt):
        q_learning.learn(env, steps=1_000, seed=0)
    assert q_learning.visits_.sum() == 97
    stopped = len(calls)
    q_learning.learn(env, steps=200)
    assert calls[stopped] == "reset"  # nobody knows where the environment was
    assert calls[stopped:].count("step") == 200
    assert q_learning.visits_.sum() == 297


def test_the_progress_bar_shows_what_is_going_on(q_learning, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # readline sets it, and tqdm fits the bar to it
    q_learning.learn("FrozenLake-v1", episodes=2_000, seed=0, progress=True)
    shown = capsys.readouterr().err
    assert "FrozenLake-v1" in shown
    assert "2000/2000" in shown
    assert "episodes=2000" in shown
    assert "mean return=" in shown


def test_no_global_random_state_is_touched(q_learning):
    np.random.seed(5)  # noqa: NPY002 - the state under test is the global one
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002 - the global state is what must not change
    q_learning.learn("FrozenLake-v1", steps=100, seed=0, evaluate_every=10, loop="stepwise")
    q_learning.act(0)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002 - the global state is what must not change
