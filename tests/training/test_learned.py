"""What is learned stays finite, or is put back: tables and weights, in both loops, for one seed and for many."""

import json
from typing import Annotated, NamedTuple

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.errors import FailedRunsWarning, LearningError
from rlsuite.registry import agent_classes
from rlsuite.training.engines import CHUNK
from rlsuite.training.kernels import ALL_STEPS, new_run_state
from rlsuite.training.learned import Lookout, learned_arrays

LOOPS = ("compiled", "stepwise")
TABLES = sorted(name for name, kind in agent_classes().items() if kind.__module__.startswith("rlsuite.agents."))
OVERFLOW = ("Sarsa", "QLearning", "ExpectedSarsa", "DoubleQLearning", "SarsaLambda", "TrueOnlineSarsaLambda", "TD")
OVERFLOW += ("NStepSarsa", "SpeedyQLearning", "ActorCritic", "TDLambda", "WatkinsQLambda", "DifferentialSarsa")
"""Some agents whose errors are differences of two values: of 1e308 and -1e308 they overflow."""

POSITIVE = ("ThompsonBernoulli",)
"""Agents that read no negative parameters of a distribution."""


def damaged(name, path, where=slice(None)):
    """An agent from a file in which its numbers are 1e308 and -1e308 in turn."""
    agent_classes()[name]().learn("FrozenLake-v1", steps=40, seed=1).save(path)
    with np.load(path) as file:
        content = dict(file)
    header = json.loads(str(content["header"]))
    del header["run"]
    content = {key: array for key, array in content.items() if not key.startswith("run.")}
    for key, array in content.items():
        if array.dtype.kind == "f" and key not in ("behaviour", "target"):
            least = -1e308 if key in ("q", "value", "preference") or name not in POSITIVE else 1e-3
            array.flat[where] = np.where(np.arange(array.size) % 3 == 0, least, 1e308)[where]
    np.savez(path, **content | {"header": np.array(json.dumps(header))})
    return rl.load(path)


def arrays_of(agent):
    return {name: array.tobytes() for name, array in learned_arrays(agent.memory_).items()}


@pytest.mark.cases("QLearning-.*", "TD-stepwise")
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")
@pytest.mark.parametrize(("name", "loop"), [(name, loop) for name in TABLES for loop in LOOPS])
def test_a_table_that_overflows_is_an_error_and_is_put_back(name, loop, tmp_path):
    agent = damaged(name, tmp_path / "agent.npz")
    before = arrays_of(agent)
    error = None
    try:
        agent.learn("FrozenLake-v1", steps=1_000, seed=2, loop=loop)
    except LearningError as raised:
        error = str(raised)
    if error is None:
        assert name not in OVERFLOW
    else:
        assert error.startswith(f"{name} has diverged: what it has learned is no longer finite. What it had learned")
        assert arrays_of(agent) == before
    for array in learned_arrays(agent.memory_).values():
        assert array.dtype.kind != "f" or np.isfinite(array).all()


def growing():
    """Sarsa(lambda) whose traces add up where it stays, so that steps become ever larger; and where it does so."""
    stays = rl.MDP.from_arrays([[[0.5, 0.5]], [[0.5, 0.5]]], [[0.0], [1.0]], order="sas", gamma=0.99)
    return rl.SarsaLambda(gamma=0.99, lambda_=1.0, traces="accumulating", learning_rate=1.0), stays


class Stranger(TabularEnv):
    """A class that nobody knows: its first 1,000 steps are taken in the environment, and compared with the table."""

    def step(self, action):
        return super().step(action)


@pytest.mark.parametrize("steps", [1_000, 10 * CHUNK], ids=["in the environment", "on the table"])
def test_a_run_that_is_verified_diverges_like_any_other(steps):
    """It is no difference between table and environment, which would be a warning."""
    agent, stays = growing()
    env = Stranger(stays)
    agent.learn(env, steps=100, seed=0)
    if steps == 1_000:
        agent.q_[...] = [[1e308], [-1e308]]
    before = arrays_of(agent)
    with pytest.raises(
        LearningError, match=r"^SarsaLambda has diverged: .* \(Stranger, step \d+: q_ is no longer finite\)$"
    ):
        agent.learn(env, steps=steps)
    assert arrays_of(agent) == before
    assert (agent.steps_ > 1_100) == (steps > 1_000)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_run_that_diverges_ends_soon_and_leaves_an_agent_that_can_learn(loop):
    agent, stays = growing()
    env = stays.to_env()
    agent.learn(env, steps=20, seed=0, loop=loop)
    before, steps = arrays_of(agent), 10 * CHUNK
    with pytest.raises(
        LearningError, match=r"^SarsaLambda has diverged: .* \(TabularEnv, step [\d,]+: q_ is no longer finite\)$"
    ):
        agent.learn(env, steps=steps, loop=loop)
    assert arrays_of(agent) == before
    assert agent.steps_ <= (CHUNK + 20 if loop == "compiled" else steps // 200 + 20)
    agent.learn(env, steps=20, loop=loop)  # with new traces: those that there were are not finite
    assert np.isfinite(agent.q_).all()
    again, _ = growing()
    again.learn(env, steps=20, seed=0, loop=loop)
    with pytest.raises(LearningError, match="has diverged"):
        again.learn(env, steps=steps, evaluate_every=1_000, loop=loop)
    assert again.steps_ == 2_020  # at an evaluation


def test_a_run_whose_engines_come_and_go_is_looked_at_as_a_whole(monkeypatch):
    """An engine that begins with numbers that are lost does not look at them; the agent does."""
    monkeypatch.setattr("rlsuite.training.learned.Lookout.error", lambda *_: None)
    agent, stays = growing()
    agent.learn(stays.to_env(), steps=20, seed=0)
    before = arrays_of(agent)
    with pytest.raises(LearningError, match=r"^SarsaLambda has diverged: what it has learned is no longer finite\. "):
        agent.learn(stays.to_env(), steps=3_000)
    assert arrays_of(agent) == before


def test_nothing_learned_is_what_is_put_back_in_a_first_call():
    agent, stays = growing()
    with pytest.raises(LearningError, match="SarsaLambda has diverged"):
        agent.learn(stays.to_env(), steps=5_000, seed=0)
    assert not any(array.any() for name, array in learned_arrays(agent.memory_).items() if name != "legal")


def test_of_many_seeds_only_those_that_diverge_fail():
    """From -1.5e308 a reward of 1e308 is too far; whether it comes in the only episode is chance."""
    chance = rl.MDP.from_rows(
        [0, 2, 2], [1, 1], [0.5, 0.5], [0.0, 1e308], n_actions=1, gamma=1.0, terminated=[True] * 2
    )
    agent, seeds = rl.QLearning(gamma=1.0, initial_value=-1.5e308), range(20)
    expected = []
    for seed in seeds:
        try:
            rl.QLearning(gamma=1.0, initial_value=-1.5e308).learn(chance.to_env(), episodes=1, seed=seed)
        except LearningError:
            expected.append(seed)
    assert 4 < len(expected) < 16
    for loop in LOOPS:
        with pytest.warns(FailedRunsWarning, match="QLearning has diverged"):
            results = rl.train(agent, chance.to_env(), episodes=1, seeds=seeds, loop=loop, regret=False)
        assert [failure.seed for failure in results.failures] == expected
        assert [record.seed for record in results.records] == sorted(set(seeds) - set(expected))


def test_numbers_that_may_be_infinite_are_not_looked_at():
    run_state, table = new_run_state(), rl.QLearning().learn("FrozenLake-v1", steps=10, seed=0).memory_
    hopes = table._replace(learned=Hopes(np.zeros(2), np.array([0.0, np.inf]), np.zeros(2)))
    lookout = Lookout(hopes)
    hopes.learned.declared[0] = np.inf
    assert lookout.lost() == ""
    hopes.learned.declared[0] = np.nan
    assert lookout.lost() == "learned.declared"
    hopes.learned.declared[0], hopes.learned.plain[1] = 0.0, -np.inf
    assert lookout.lost() == "learned.plain"
    hopes.learned.plain[1] = 0.0
    table.q[3, 2] = 1e200  # its square is not finite
    assert lookout.error(None, run_state, at_end=True) is None


def test_a_large_table_is_looked_at_after_as_many_steps_as_it_has_numbers():
    run_state, table = new_run_state(), rl.QLearning().learn("FrozenLake-v1", steps=10, seed=0).memory_
    lookout, env = Lookout(table), rl.MDP.from_arrays(np.ones((1, 1, 1)), np.ones((1, 1)), gamma=0.9).to_env()
    assert lookout.error(env, run_state, at_end=False) is None
    table.q[0, 0] = np.nan
    for steps, found in ((1, False), (table.q.size - 1, False), (table.q.size, True)):
        run_state.position[ALL_STEPS] = steps
        assert (lookout.error(env, run_state, at_end=False) is not None) == found
    run_state.position[ALL_STEPS] += 1
    assert lookout.error(env, run_state, at_end=False) is None
    assert str(lookout.error(env, run_state, at_end=True)) == f"TabularEnv, step {steps + 1}: q_ is no longer finite"


class Hopes(NamedTuple):
    plain: np.ndarray
    infinite: np.ndarray
    declared: Annotated[np.ndarray, rl.Array(finite=False)]
