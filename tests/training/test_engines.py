"""Same seed, same bytes: the compiled loop repeats the stepwise loop bit for bit, everywhere."""

import threading
import time

import gymnasium
import numba
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

import rlsuite as rl
import rlsuite_envs
from rlsuite.approximation import TileCoding
from rlsuite.core.compiling_clock import CompilingTime, preparing
from rlsuite.errors import StepwiseWarning
from rlsuite.training.engines import CompiledEngine

gymnasium.register_envs(rlsuite_envs)

AGENTS = {
    "deterministic": lambda: rl.DeterministicQLearning(gamma=0.9, exploration=rl.EpsilonGreedy(0.3)),
    "q-learning": lambda: rl.QLearning(
        gamma=0.95, learning_rate=rl.Inverse(1.0, per="visits"), exploration=rl.Softmax(base=1.5)
    ),
    "sarsa": lambda: rl.Sarsa(
        gamma=0.9, learning_rate=0.3, exploration=rl.EpsilonGreedy(rl.Linear(1.0, 0.1, over=10, per="episodes"))
    ),
    "sample average": lambda: rl.SampleAverage(
        exploration=rl.Softmax(temperature=rl.Exponential(2.0, decay=0.99, end=0.1))
    ),
}
ENVIRONMENTS = {
    "FrozenLake-v1": {},
    "FrozenLake-v1 dry": {"is_slippery": False},
    "FrozenLake8x8-v1": {},
    "FrozenLake8x8-v1 dry": {"is_slippery": False},
    "CliffWalking-v1": {},
    "CliffWalkingSlippery-v1": {},
    "Taxi-v4": {},
    "Taxi-v4 rain": {"is_rainy": True},
    **{f"rlsuite/{name}": {} for name in sorted(rlsuite_envs.TIME_LIMITS)},
}


def make(name):
    return gymnasium.make(name.split()[0], **ENVIRONMENTS[name])


def learn(agent, name, loop, seed, *, steps=1_500, **options):
    return AGENTS[agent]().learn(make(name), steps=steps, seed=seed, loop=loop, **options)


@pytest.mark.cases("q-learning-(FrozenLake-v1|rlsuite/GridGoal.*)-0")
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("agent", AGENTS)
def test_compiled_equals_stepwise(agent, name, seed, same_agents):
    compiled, stepwise = (learn(agent, name, loop, seed) for loop in ("compiled", "stepwise"))
    assert compiled.record_.loop == "compiled"
    assert stepwise.record_.loop == "stepwise"
    same_agents(compiled, stepwise)
    assert compiled.visits_.sum() == 1_500


@pytest.mark.cases(".*(q-learning|sarsa).*")
@pytest.mark.parametrize("agent", AGENTS)
def test_truncation_is_the_same_in_both_loops(agent, same_agents):
    pair = [
        AGENTS[agent]().learn(gymnasium.make("FrozenLake-v1", max_episode_steps=8), steps=1_500, seed=3, loop=loop)
        for loop in ("compiled", "stepwise")
    ]
    same_agents(*pair)
    lengths = pair[0].episodes_["length"]
    assert (lengths == 8).any()
    assert (lengths < 8).any()


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
@pytest.mark.parametrize("name", ["FrozenLake8x8-v1", "Taxi-v4 rain", "rlsuite/Tiger-v0", "rlsuite/Bandit-v0"])
@pytest.mark.parametrize("agent", AGENTS)
def test_two_halves_make_the_whole(agent, name, loop):
    whole = learn(agent, name, loop, 5, steps=1_000)
    env = make(name)
    halves = AGENTS[agent]().learn(env, steps=333, seed=5, loop=loop).learn(env, steps=667, loop=loop)
    for field in ("q", "visits", "clock"):
        assert getattr(whole.memory_, field).tobytes() == getattr(halves.memory_, field).tobytes()
    assert whole.episodes_.tobytes() == halves.episodes_.tobytes()


@pytest.mark.parametrize("name", ["FrozenLake8x8-v1", "Taxi-v4", "rlsuite/Tiger-v0"])
def test_the_loops_may_change_in_the_middle(name):
    """The compiled loop leaves the environment where the stepwise loop would have left it."""
    whole = learn("sarsa", name, "stepwise", 5, steps=1_000)
    env = make(name)
    parts = AGENTS["sarsa"]().learn(env, steps=333, seed=5, loop="compiled")
    parts.learn(env, steps=333, loop="stepwise").learn(env, steps=334, loop="compiled")
    assert whole.q_.tobytes() == parts.q_.tobytes()
    assert whole.episodes_.tobytes() == parts.episodes_.tobytes()


@pytest.mark.parametrize("name", ["FrozenLake-v1", "rlsuite/GridGoal-v0", "rlsuite/Tiger-v0"])
def test_evaluations_and_regret_are_the_same_in_both_loops(name, same_agents):
    pair = [
        learn("q-learning", name, loop, 2, steps=600, evaluate_every=100, record_every=70, regret=True)
        for loop in ("compiled", "stepwise")
    ]
    same_agents(*pair)
    assert pair[0].record_.evaluation.size == 6
    assert pair[0].record_.time.tolist() == [70, 140, 210, 280, 350, 420, 490, 560, 600]


def test_episodes_can_be_counted_instead_of_steps(same_agents):
    pair = [
        AGENTS["sarsa"]().learn("CliffWalking-v1", episodes=25, seed=1, loop=loop, evaluate_every=10)
        for loop in ("compiled", "stepwise")
    ]
    same_agents(*pair)
    assert pair[0].episodes_.size == 25
    assert pair[0].record_.evaluation_time.tolist() == [10, 20, 25]


@pytest.mark.slow
def test_workers_do_not_change_a_number(same_records):
    one, two, step = (
        rl.train(AGENTS["q-learning"](), "FrozenLake-v1", steps=2_000, seeds=6, evaluate_every=500, **options)
        for options in ({"workers": 1}, {"workers": 3}, {"workers": 2, "loop": "stepwise"})
    )
    for first, second, third in zip(one.records, two.records, step.records, strict=True):
        same_records(first, second)
        same_records(first, third)
    alone = AGENTS["q-learning"]().learn("FrozenLake-v1", steps=2_000, seed=4, evaluate_every=500, regret=True)
    same_records(one.records[4], alone.record_)


def test_different_seeds_give_different_runs():
    results = rl.train(AGENTS["sarsa"](), "FrozenLake-v1", steps=1_000, seeds=5)
    assert len({record.episode_length.tobytes() for record in results.records}) == 5


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
def test_time_of_compiling_is_not_time_of_learning(loop):
    class Watched(rl.QLearning):
        def frozen_policy(self):
            assert numba.njit(lambda x: x + 1)(0) == 1  # compiled anew, here where nobody learns
            return self.policy()

    record = Watched().learn("FrozenLake-v1", steps=500, seed=1, loop=loop, evaluate_every=100).record_
    assert 0.0 < record.seconds < record.compiling_seconds
    twin = rl.train(rl.QLearning(), "FrozenLake-v1", steps=500, seeds=[1], loop=loop).records[0]
    assert twin.compiling_seconds == 0.0 < twin.seconds


def test_time_of_loading_in_mid_run_is_not_time_of_learning(monkeypatch):
    """A run begins in Python, and loads the machine code once it has become long."""
    prepare = CompiledEngine.prepare

    def slow(self):
        with preparing():
            time.sleep(1.0)
        prepare(self)

    monkeypatch.setattr(CompiledEngine, "prepare", slow)
    began = time.perf_counter()
    record = rl.QLearning().learn("FrozenLake-v1", steps=200_000, seed=1).record_
    assert time.perf_counter() - began - record.seconds > 1.0 > record.seconds


def test_what_another_thread_compiles_is_not_counted():
    def compile_something():
        numba.njit(lambda x: x + 1)(0)

    with CompilingTime() as compiling:
        other = threading.Thread(target=compile_something)
        other.start()
        other.join()
        assert compiling.seconds == 0.0
        compile_something()
    assert compiling.seconds > 0.0


def recorded(env):
    return [*env.return_queue], [*env.length_queue], env.episode_count, env.episode_returns, env.episode_lengths


RECORDED = {
    "a table": lambda: gymnasium.make("CliffWalking-v1", max_episode_steps=60),
    "no ends": lambda: gymnasium.make("rlsuite/Bandit-v0"),
    "dynamics": lambda: gymnasium.make("MountainCar-v0"),
    "tabulated": lambda: gymnasium.make("Taxi-v4", fickle_passenger=True),
}


@pytest.mark.cases("a table", "no ends")
@pytest.mark.parametrize("name", RECORDED)
def test_statistics_of_episodes_are_those_of_the_stepwise_loop(name):
    found = []
    for loop in ("stepwise", "compiled"):
        env = RecordEpisodeStatistics(RECORDED[name](), buffer_length=7)
        agent = rl.Sarsa(features=TileCoding(4, 4)) if name == "dynamics" else rl.Sarsa()
        agent.learn(env, steps=777, seed=3, loop=loop)  # in the middle of an episode
        found.append([recorded(env)])
        for _ in range(2):  # and at the end of one
            agent.learn(env, loop=loop, **({"steps": 30} if name == "no ends" else {"episodes": 2}))
            found[-1].append(recorded(env))
        assert agent.record_.loop == loop
        assert len(env.time_queue) == len(env.return_queue)
    assert found[0] == found[1]


def test_statistics_that_miss_ends_are_left_to_the_stepwise_loop():
    env = TimeLimit(RecordEpisodeStatistics(gymnasium.make("Taxi-v4").unwrapped), 30)
    with pytest.warns(StepwiseWarning, match="RecordEpisodeStatistics is inside of TimeLimit"):
        agent = rl.Sarsa().learn(env, steps=100, seed=1)
    assert agent.record_.loop == "stepwise"
