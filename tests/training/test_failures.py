"""What a failure says."""

import pickle

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import LearningError, ParameterError
from rlsuite.training.failures import FailedRun, Failure, ends_all, failure_table, where_raised


class Unsendable(Exception):
    def __init__(self, one, other):
        super().__init__(one)
        self.lock = other


def raised_in(step):
    class Env(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return 0, {}

    Env.step = step
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever it is
        rl.QLearning().learn(Env(), steps=10, seed=1)
    return caught.value


def test_the_line_is_that_of_the_environment():
    def step(self, action):
        return len(self.nothing)

    line = step.__code__.co_firstlineno + 1
    assert where_raised(raised_in(step)) == f"{__file__}, line {line}"


def test_an_error_that_rlsuite_finds_has_no_line_elsewhere():
    error = raised_in(lambda self, action: (0, float("nan"), False, False, {}))
    assert isinstance(error, LearningError)
    assert where_raised(error) == ""


def test_what_cannot_be_sent_is_replaced_by_its_words():
    failed = FailedRun.of(Unsendable("no way", object), 3)
    assert isinstance(failed.error, LearningError)
    assert "Unsendable: no way" in str(failed.error)
    assert pickle.loads(pickle.dumps(failed)).step == 3


def test_which_failures_are_those_of_all_runs():
    assert ends_all(FailedRun.of(ParameterError("gamma"), None))
    assert not ends_all(FailedRun.of(LearningError("nan"), None))
    assert not ends_all(FailedRun.of(KeyError("x"), None))


def test_long_tables_are_cut():
    lines = failure_table([Failure("A", "E", seed, None, "KeyError: 3", "") for seed in range(1_030)]).splitlines()
    assert lines[0] == "1030 runs failed:"
    assert lines[20] == "  A in E, seed 19: KeyError: 3"
    assert lines[21:] == ["  and 1,010 more"]


def test_a_run_that_fails_for_its_first_seed_is_one_of_those_that_failed():
    class Env(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Discrete(2)
        failing = int(np.random.SeedSequence(0).spawn(3)[1].generate_state(1)[0])

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            if seed == self.failing:
                raise RuntimeError("no level")
            return 0, {}

        def step(self, action):
            return 0, 1.0, False, False, {}

    with pytest.warns(rl.errors.FailedRunsWarning, match="seed 0, step 1: RuntimeError: no level"):
        results = rl.train(rl.QLearning(), Env(), steps=10, seeds=3)
    assert [record.seed for record in results.records] == [1, 2]
