"""Runs that begin in Python have the bytes of machine code, wherever they change over."""

import subprocess
import sys

import gymnasium
import pytest

import rlsuite as rl
import rlsuite_envs
from rlsuite.agents.storage import learned_arrays
from rlsuite.approximation import TileCoding
from rlsuite.registry import agent_classes
from rlsuite.testing import problems
from rlsuite.training import first_steps
from rlsuite.training.first_steps import Pace

gymnasium.register_envs(rlsuite_envs)

OURS = sorted(name for name, kind in agent_classes().items() if getattr(rl, name, None) is kind)

COMPILED_AT_ONCE = {"ThompsonBernoulli"}
"""Its rule draws from a beta distribution: Python's result differs in the last bit."""


@pytest.fixture(autouse=True)
def a_new_process(monkeypatch):
    """What other tests have interpreted does not count; and machine code is never worth its price."""
    monkeypatch.setattr(first_steps, "_seconds", {})
    monkeypatch.setattr(first_steps, "_loading", {})
    monkeypatch.setattr(Pace, "price", lambda pace: 1e9)


PRICE = Pace.price


def in_machine_code(agent):
    engine = agent._run.engine
    return (engine.run if engine.loop == "compiled" else engine.session) is not None


def assert_same(one, other):
    first, second = learned_arrays(one.memory_), learned_arrays(other.memory_)
    assert first.keys() == second.keys()
    for name in first:
        assert first[name].tobytes() == second[name].tobytes(), name
    learners = one._run.learner, other._run.learner
    assert learners[0].rng.bit_generator.state == learners[1].rng.bit_generator.state
    assert (
        one._run.env.unwrapped.np_random.bit_generator.state == other._run.env.unwrapped.np_random.bit_generator.state
    )
    for name in ("episode_return", "episode_length", "time", "cumulative_reward"):
        assert getattr(one.record_, name).tobytes() == getattr(other.record_, name).tobytes(), name
    position = [learner.run_state.position.tolist() for learner in learners]
    assert position[0] == position[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")
@pytest.mark.parametrize("problem", ["gamble", "ring"])  # random rewards, and a time limit; both with a mask
@pytest.mark.parametrize("name", OURS)
def test_every_agent(name, problem):
    kind = agent_classes()[name]
    expected = kind().learn(problems.environments()[problem], steps=700, seed=3, loop="compiled")
    assert in_machine_code(expected)
    agent = kind().learn(problems.environments()[problem], steps=700, seed=3)
    assert in_machine_code(agent) == (name in COMPILED_AT_ONCE)
    assert agent.record_.loop == "compiled"
    assert_same(agent, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")
@pytest.mark.parametrize("name", OURS)
def test_every_agent_stepwise(name):
    kind = agent_classes()[name]
    expected = kind().learn("FrozenLake-v1", steps=700, seed=3, loop="compiled")
    agent = kind().learn("FrozenLake-v1", steps=700, seed=3, loop="stepwise")
    assert in_machine_code(agent) == (name in COMPILED_AT_ONCE)
    assert_same(agent, expected)


EXPLORATIONS = {
    "softmax": rl.Softmax(temperature=0.7),
    "base": rl.Softmax(base=2.0),
    "max-boltzmann": rl.MaxBoltzmann(),
    "linear": rl.EpsilonGreedy(rl.Linear(1.0, 0.1, 300)),
    "inverse": rl.EpsilonGreedy(rl.Inverse(0.9)),
    "optimism": rl.UpperConfidence(),
    "bonus": rl.CountBonus(),
    "exponential": rl.EpsilonGreedy(rl.Exponential(1.0, 0.1, 0.99)),
    "polynomial": rl.EpsilonGreedy(rl.Polynomial(1.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["auto", "stepwise"])
@pytest.mark.parametrize("name", EXPLORATIONS)
def test_explorations(name, loop):
    exploration = EXPLORATIONS[name]
    expected = rl.Sarsa(exploration=exploration).learn("CliffWalking-v1", steps=600, seed=1, loop="compiled")
    agent = rl.Sarsa(exploration=exploration).learn("CliffWalking-v1", steps=600, seed=1, loop=loop)
    assert not in_machine_code(agent)
    assert_same(agent, expected)


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["auto", "stepwise"])
@pytest.mark.parametrize(
    ("env", "low", "high"),
    [("CartPole-v1", [-2.4, -3.0, -0.2, -3.0], [2.4, 3.0, 0.2, 3.0]), ("MountainCar-v0", None, None)],
)
def test_features(env, low, high, loop):
    def agent():
        return rl.SarsaLambda(lambda_=0.8, learning_rate=0.02, features=TileCoding(4, 4, low=low, high=high))

    expected = agent().learn(env, steps=600, seed=1, loop="compiled")
    assert_same(agent().learn(env, steps=600, seed=1, loop=loop), expected)


@pytest.mark.parametrize("unit", ["steps", "episodes"])
@pytest.mark.parametrize("loop", ["auto", "stepwise"])
@pytest.mark.parametrize("in_python", [1, 2, 13, 100])
def test_it_changes_over_between_any_two_steps(in_python, loop, unit, monkeypatch):
    env = gymnasium.make("CliffWalking-v1", max_episode_steps=30)
    length = {"steps": 400} if unit == "steps" else {"episodes": 9}
    expected = rl.QLearning().learn(env, seed=1, loop="compiled", **length)
    left = [in_python]

    def steps(pace, _):
        return left.pop() if left else 0

    monkeypatch.setattr(Pace, "steps", steps)
    agent = rl.QLearning().learn(gymnasium.make("CliffWalking-v1", max_episode_steps=30), seed=1, loop=loop, **length)
    assert not left
    assert in_machine_code(agent)
    assert_same(agent, expected)


@rl.compiled
def divide(memory, t, rng):
    """In Python, a quotient of two numbers of Python's own fails at the hundredth step."""
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    steps = int(memory.clock[0])
    memory.q[t.state, t.action] += 5.0 if 1.0 / (100 - steps) > 1e9 else -0.1
    return rl.choose(memory, t.next_state, rng)


class Divide(rl.TabularAgent):
    step = divide


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["auto", "stepwise"])
def test_where_python_fails_machine_code_decides(loop):
    expected = Divide().learn("FrozenLake-v1", steps=300, seed=2, loop="compiled")
    agent = Divide().learn("FrozenLake-v1", steps=300, seed=2, loop=loop)
    assert in_machine_code(agent)
    assert_same(agent, expected)
    assert agent.q_.sum() == pytest.approx(5.0 - 0.1 * 299)


@pytest.mark.slow
def test_where_python_fails_soon_after_a_load_machine_code_takes_the_steps_again(tmp_path):
    """The action that had been chosen is served by the first of these steps, and not before."""
    env = gymnasium.make("CliffWalking-v1", max_episode_steps=110)
    expected = Divide().learn(env, episodes=1, seed=2, loop="compiled")
    Divide().learn(env, steps=99, seed=2).save(tmp_path / "first.npz")
    agent = rl.load(tmp_path / "first.npz").learn(env, episodes=1, loop="stepwise")
    assert in_machine_code(agent)
    assert agent.steps_ == expected.steps_ == 110
    assert agent.q_.tobytes() == expected.q_.tobytes()


@pytest.mark.cases("Sarsa")
@pytest.mark.parametrize("name", ["Sarsa", *sorted(COMPILED_AT_ONCE)])
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")
def test_a_loaded_run_goes_on_with_the_action_that_was_chosen(name, tmp_path):
    kind = agent_classes()[name]
    expected = kind().learn("FrozenLake-v1", steps=160, seed=2, loop="compiled")
    kind().learn("FrozenLake-v1", steps=60, seed=2).save(tmp_path / "first.npz")
    agent = rl.load(tmp_path / "first.npz").learn("FrozenLake-v1", steps=100, loop="stepwise")
    assert agent.steps_ == 160
    assert agent.q_.tobytes() == expected.q_.tobytes()


@pytest.mark.parametrize("loop", ["auto", "stepwise"])
def test_what_was_learned_before_is_not_taken_back(loop, tmp_path):
    """Neither the run of a file, nor what a user writes between two calls."""
    expected = Divide().learn("FrozenLake-v1", steps=60, seed=2, loop="compiled")
    expected.q_[3] = 0.25
    expected.learn("FrozenLake-v1", steps=100, loop="compiled")
    first = Divide().learn("FrozenLake-v1", steps=60, seed=2, loop=loop)
    first.save(tmp_path / "first.npz")
    for agent in (first, rl.load(tmp_path / "first.npz")):
        agent.q_[3] = 0.25
        agent.learn("FrozenLake-v1", steps=100, loop=loop)
        assert in_machine_code(agent)
        assert agent.q_.tobytes() == expected.q_.tobytes()


def test_the_pace_by_hand(monkeypatch):
    """What is left in units of time, and the clock in steps: 25 episodes of 10 steps took 0.25 seconds."""
    monkeypatch.setattr(Pace, "price", lambda pace: 1.0)
    pace, first = Pace(("loop",)), first_steps.AT_FIRST
    assert pace.steps(10**9) == first
    pace.record(first, 25, 0.05)  # to warm up
    assert pace.steps(10**6) == first
    pace.record(first, 25, 0.25)
    assert pace.steps(100) == 50  # a second is left, which is the price; and 50 steps take 0.05 seconds
    assert pace.steps(101) == 0
    pace.record(1, 1, 1.0)
    assert pace.steps(1) == 1  # at least one; now 1.3 seconds have been interpreted, in one call
    assert pace.steps(1) == 0  # another call, as no less is left: nobody knows which is the last
    pace.stay_interpreted()
    assert pace.steps(10**9) == first
    pace.stop()
    assert pace.steps(1) == 0


def test_the_price_before_anything_was_loaded(monkeypatch):
    monkeypatch.setattr(Pace, "price", PRICE)
    monkeypatch.setitem(sys.modules, "numba", None)
    assert Pace(("loop",)).price() == first_steps.LOADING
    monkeypatch.delitem(sys.modules, "numba")
    assert Pace(("loop",)).price() == first_steps.LOADING + first_steps.IMPORTING


def test_many_short_runs_are_a_long_one(monkeypatch):
    monkeypatch.setattr(Pace, "price", lambda pace: 0.0)
    first = rl.QLearning().learn("CliffWalking-v1", steps=first_steps.AT_FIRST, seed=1)
    assert not in_machine_code(first)
    assert in_machine_code(rl.QLearning().learn("CliffWalking-v1", steps=1, seed=2))
    assert not in_machine_code(rl.Sarsa().learn("CliffWalking-v1", steps=1, seed=2))


@pytest.mark.parametrize("loop", ["auto", "stepwise"])
def test_machine_code_that_has_been_loaded_costs_nothing(loop, monkeypatch):
    monkeypatch.setattr(Pace, "price", PRICE)
    monkeypatch.setattr(first_steps, "LOADING", 1e9)
    assert not in_machine_code(rl.QLearning().learn("CliffWalking-v1", steps=1, seed=1, loop=loop))
    monkeypatch.setattr(first_steps, "LOADING", -1.0)
    assert in_machine_code(rl.QLearning().learn("CliffWalking-v1", steps=1, seed=1, loop=loop))
    (seconds,) = first_steps._loading.values()
    monkeypatch.setattr(first_steps, "LOADING", 1e9)
    assert in_machine_code(rl.QLearning().learn("CliffWalking-v1", steps=1, seed=1, loop=loop))
    assert Pace(("other",)).price() == seconds / 10  # what was measured counts more than the rough figures
    first_steps._loading.update({("second",): 0.3, ("third",): 0.2})
    assert Pace(("other",)).price() == 0.2


def test_a_long_run_changes_over_at_the_second_look_at_the_clock(monkeypatch):
    monkeypatch.setattr(Pace, "price", lambda pace: 0.5)
    taken = []
    note = Pace.record
    monkeypatch.setattr(Pace, "record", lambda pace, *what: taken.append(what[0]) or note(pace, *what))
    rl.QLearning().learn("CliffWalking-v1", steps=2_000_000, seed=1)
    assert taken == [first_steps.AT_FIRST, first_steps.AT_FIRST]


class Interrupt(BaseException):
    """As Ctrl-C, but at a known moment."""


def test_ctrl_c_amid_a_step_takes_the_last_steps_back(monkeypatch):
    agent = rl.QLearning().learn("CliffWalking-v1", steps=500, seed=1)
    before = agent.q_.copy()
    engine = agent._run.engine
    form = engine.at_first._form

    def interrupted(*arguments):
        form(*arguments)
        raise Interrupt

    engine.at_first._form = interrupted
    with pytest.raises(Interrupt):
        agent.learn("CliffWalking-v1", steps=500)
    assert agent.q_.tobytes() == before.tobytes()
    engine.at_first._form = form
    expected = rl.QLearning().learn("CliffWalking-v1", steps=1_000, seed=1, loop="compiled")
    assert agent.learn("CliffWalking-v1", steps=500).q_.tobytes() == expected.q_.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "rl.QLearning().learn('CliffWalking-v1', steps=1_000, seed=1)",
        "rl.Sarsa(exploration=rl.Softmax(temperature=1.0)).learn('FrozenLake-v1', steps=1_000, seed=1)",
        "rl.UCB1().learn('rlsuite/Bandit-v0', steps=1_000, seed=1)",
        "rl.SarsaLambda().learn('Taxi-v4', episodes=3, seed=1, loop='stepwise')",
        "rl.QLearning().learn('CliffWalking-v1', steps=100, seed=1).save('a.npz'); rl.load('a.npz').act(36)",
        "rl.QLearning().learn('CliffWalking-v1', steps=500, seed=1).episodes_",
    ],
)
def test_short_runs_do_without_numba(code, tmp_path):
    script = f"import rlsuite as rl, rlsuite_envs, sys; {code}; assert 'numba' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
