"""A run on a declared table calls the environment for its own steps only, and finds out by these what is untrue."""

import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text import FrozenLakeEnv

import rlsuite as rl
from rlsuite.environments.facts import facts_of
from rlsuite.environments.forms.known_kinds import is_known_kind
from rlsuite.errors import StepwiseWarning
from rlsuite.training.kernels import ALL_STEPS
from rlsuite.training.verification import FEW, FIRST, STRETCH, VerifiedEngine
from rlsuite_envs.bandits import BanditEnv


class Lake(FrozenLakeEnv):
    """Does what its table says, and counts."""

    def __init__(self):
        super().__init__()
        self.taxi_orientation = 0  # the attribute of that name is believed to be for rendering only

    def step(self, a):
        self.taxi_orientation += 1
        return self.answer(a, *super().step(a))

    def answer(self, a, *answer):
        return answer


class Generous(Lake):
    """Pays more from some step on: its own step, whose number is known to nobody else."""

    begins = 1_030

    def answer(self, a, observation, reward, *others):
        return observation, reward + float(self.taxi_orientation > self.begins), *others


class Broken(Lake):
    """Raises from some step on."""

    def answer(self, a, *answer):
        if self.taxi_orientation > 1_030:
            raise RuntimeError("out of order")
        return answer


class Elsewhere(Lake):
    """Comes, by one action in one state that is reached late, to another state than its table says."""

    def __init__(self):
        super().__init__()
        self.P = {s: dict(row) for s, row in self.P.items()}
        self.P[14] = {**self.P[14], 2: [(1.0, 15, 1.0, True)]}

    def step(self, a):
        if self.s == 14 and a == 2:
            self.taxi_orientation += 1
            self.np_random.random()
            self.s = 0
            return 0, 0.0, False, False, {}
        return super().step(a)


class Counting:
    def __init__(self, env):
        self.env, self.steps, self.resets = env, 0, 0
        step, reset = type(env).step, type(env).reset

        class Counted(type(env)):
            def step(one, a):
                self.steps += 1
                return step(one, a)

            def reset(one, **options):
                self.resets += 1
                return reset(one, **options)

        Counted.step.__module__ = Counted.reset.__module__ = "typing"  # into which nobody looks
        env.__class__ = Counted


def agent(**options):
    return rl.QLearning(gamma=0.9, exploration=rl.EpsilonGreedy(0.3), **options)


def learned_stepwise(env, steps, **options):
    return agent().learn(env, steps=steps, seed=1, loop="stepwise", **options)


def same_records(one, other):
    for name in ("episode_return", "episode_length", "time", "cumulative_reward"):
        np.testing.assert_array_equal(getattr(one.record_, name), getattr(other.record_, name))
    assert one.q_.tobytes() == other.q_.tobytes()
    assert one.visits_.tobytes() == other.visits_.tobytes()


@pytest.mark.parametrize("loop", ["auto", "stepwise"])
def test_a_short_run_makes_its_own_calls_and_no_others(loop, tmp_path):
    counting = Counting(Lake())
    learned = agent().learn(counting.env, steps=300, seed=1, loop=loop)
    assert counting.steps == 300
    assert counting.resets == 1 + len(learned.episodes_)
    learned.save(tmp_path / "agent.npz")
    assert counting.steps == 300


@pytest.mark.slow
def test_a_long_run_takes_few_of_its_steps_in_the_environment():
    env = Lake()
    learned = agent().learn(env, steps=100_000, seed=1)
    same_records(learned, learned_stepwise(Lake(), 100_000))
    assert learned.record_.loop == "compiled"
    assert 1_000 < env.taxi_orientation < 2_500


def test_a_million_steps_have_the_stretches_that_are_promised(monkeypatch):
    """The first thousand, 50 after half as many steps as were taken until then, and the last 50; all are compared."""
    taken, ends = [], []
    in_environment, end = VerifiedEngine._in_environment, VerifiedEngine._end

    def noted(engine, clock, times, most):
        few, position = engine._few, engine.learner.run_state.position
        before = int(position[ALL_STEPS])
        outcome = in_environment(engine, clock, times, most)
        after = int(position[ALL_STEPS])
        if not few and taken and taken[-1][1] == before:
            taken[-1] = taken[-1][0], after
        elif not few:
            taken.append((before, after))
        return outcome

    monkeypatch.setattr(VerifiedEngine, "_in_environment", noted)
    monkeypatch.setattr(VerifiedEngine, "_end", lambda engine: ends.append(0) or end(engine))
    env = Lake()
    assert agent().learn(env, steps=1_000_000, seed=1).record_.loop == "compiled"
    assert taken[0] == (0, FIRST)
    assert taken[-1] == (1_000_000 - STRETCH, 1_000_000)
    for (_, done), (begin, after) in itertools.pairwise(taken[:-1]):
        assert 0.9 * (done + FIRST) / 2 <= begin - done <= 1.1 * (done + FIRST) / 2
        assert after - begin == STRETCH
    assert len(taken) == len(ends) == 17
    assert FIRST + 16 * STRETCH <= env.taxi_orientation <= FIRST + 16 * STRETCH + 16 * 4 * 3 * FEW


@pytest.mark.parametrize(
    "name", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4", "rlsuite/GridGoal-v0", "rlsuite/Bandit-v0"]
)
def test_classes_that_are_known_are_not_verified(name):
    assert is_known_kind(facts_of(gymnasium.make(name)))


def test_a_class_is_known_by_its_source(monkeypatch):
    """Also if it is edited before anything of rlsuite has looked at it."""
    env, step = gymnasium.make("FrozenLake-v1"), FrozenLakeEnv.step
    monkeypatch.setattr(FrozenLakeEnv, "step", lambda self, a: step(self, 0))
    assert not is_known_kind(facts_of(env))
    with pytest.warns(StepwiseWarning, match="its table says"):
        agent().learn(env, steps=200, seed=1)


@pytest.mark.parametrize("name", ["step", "reset", "draw_reward", "default_drawing"])
def test_a_bandit_with_a_method_of_its_own_is_not_known(name, monkeypatch):
    method = getattr(BanditEnv, name)
    own = type("Own", (BanditEnv,), {name: lambda self, *args, **options: method(self, *args, **options)})
    draws = name != "default_drawing"  # which no step calls
    assert is_known_kind(facts_of(own())) != draws
    if draws:
        monkeypatch.setattr(BanditEnv, name, vars(own)[name])
        assert not is_known_kind(facts_of(type("Other", (BanditEnv,), {})()))


@pytest.mark.parametrize("name", ["decode", "step", "action_mask"])
def test_a_taxi_with_a_method_of_its_own_is_not_known(name):
    env = gymnasium.make("Taxi-v4")
    setattr(env.unwrapped, name, getattr(env.unwrapped, name))
    assert not is_known_kind(facts_of(env))
    own = type("Own", (type(env.unwrapped),), {name: getattr(type(env.unwrapped), name)})
    assert not is_known_kind(facts_of(own()))
    assert not is_known_kind(facts_of(gymnasium.make("Taxi-v4", fickle_passenger=True)))


@pytest.mark.slow
@pytest.mark.parametrize("steps", [2_000, 50_000])
def test_a_difference_found_late_goes_back_and_on_with_the_bytes_of_the_stepwise_loop(steps):
    sentence = r"Generous: at state .* its table says reward .*again from step 1,000, up to which they agree"
    with pytest.warns(StepwiseWarning, match=sentence) as caught:
        learned = agent().learn(Generous(), steps=steps, seed=1)
    assert caught[0].filename == __file__
    assert learned.record_.loop == "stepwise"
    same_records(learned, learned_stepwise(Generous(), steps))


def test_the_last_steps_of_a_run_are_compared():
    """1,000 steps and some 50 before the end: the counter comes to 1,030 just then."""
    with pytest.warns(StepwiseWarning, match="again from step 1,000"):
        agent().learn(Generous(), steps=1_300, seed=1)


def test_evaluations_on_a_wrong_table_are_void():
    with pytest.warns(StepwiseWarning):
        learned = agent().learn(Generous(), steps=5_000, seed=1, evaluate_every=500, regret=True)
    record = learned.record_
    assert record.regret.size == 0
    assert record.evaluation_time.tolist() == list(range(1_500, 5_001, 500))
    assert np.isfinite(record.evaluation).all()
    assert "no table" in record.optimum_unknown or "table" in record.optimum_unknown


def test_an_environment_that_breaks_raises_its_own_error_where_it_does_step_by_step():
    with pytest.warns(StepwiseWarning, match="its step raised RuntimeError: out of order.*again from step 1,000"):  # noqa: SIM117
        with pytest.raises(RuntimeError, match="out of order"):
            (broken := agent()).learn(Broken(), steps=10_000, seed=1)
    assert broken.record_.cumulative_reward.size
    with pytest.raises(RuntimeError, match="out of order"):
        (stepwise := agent()).learn(Broken(), steps=10_000, seed=1, loop="stepwise")
    assert broken.q_.tobytes() == stepwise.q_.tobytes()


def test_what_is_done_for_the_first_time_is_done_in_the_environment():
    with pytest.warns(
        StepwiseWarning, match="at state 14, action 2 its table says observation 15, but its step returns 0"
    ):
        learned = agent().learn(Elsewhere(), steps=20_000, seed=1)
    same_records(learned, learned_stepwise(Elsewhere(), 20_000))


def test_each_call_of_learn_begins_in_the_environment():
    env = Lake()
    learned = agent().learn(env, steps=20_000, seed=1)
    Lake.answer, honest = lambda self, a, o, r, *others: (o, r - 1.0, *others), Lake.answer
    try:
        with pytest.warns(StepwiseWarning, match="its table says reward"):
            learned.learn(env, steps=2_000)
    finally:
        Lake.answer = honest
    assert learned.record_.cumulative_reward[-1] < -1_500


def test_an_environment_that_cannot_be_copied_is_stepped():
    class Held(Lake):
        def __init__(self):
            super().__init__()
            self.held = (one for one in ())

    with pytest.warns(StepwiseWarning, match="cannot be copied"):
        learned = agent().learn(Held(), steps=3_000, seed=1)
    same_records(learned, learned_stepwise(Held(), 3_000))


def test_two_halves_are_the_whole(tmp_path):
    whole = agent().learn(Lake(), steps=6_000, seed=1)
    half = agent().learn(env := Lake(), steps=2_345, seed=1)
    half.learn(env, steps=3_655)
    assert half.q_.tobytes() == whole.q_.tobytes()
    saved = agent().learn(Lake(), steps=2_345, seed=1)
    saved.save(tmp_path / "half.npz")
    loaded = rl.load(tmp_path / "half.npz").learn(Lake(), steps=3_655)
    assert loaded.q_.tobytes() == whole.q_.tobytes()


class OtherState(gymnasium.Env):
    """Has a table, and its state in another attribute, or in another form."""

    observation_space, action_space = gymnasium.spaces.Discrete(6), gymnasium.spaces.Discrete(2)

    def __init__(self, name, form):
        self.P = {
            s: {0: [(1.0, max(s - 1, 0), 0.0, False)], 1: [(1.0, min(s + 1, 5), float(s == 4), s == 4)]}
            for s in range(6)
        }
        self.P[0][0] = []  # is no action
        self.initial_state_distrib = np.eye(6)[0]
        self.name, self.form = name, form

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.np_random.random()
        self.number = 0
        setattr(self, self.name, self.form(0))
        return 0, {}

    def step(self, a):
        self.np_random.random()
        _, self.number, reward, over = self.P[self.number][int(a)][0]
        setattr(self, self.name, self.form(self.number))
        return self.number, reward, over, False, {}


@pytest.mark.parametrize(("name", "form"), [("state", int), ("s", lambda s: (s,)), ("s", str), ("s", float)])
def test_a_table_whose_state_is_elsewhere_is_read_and_the_environment_stepped(name, form, tmp_path):
    with pytest.warns(StepwiseWarning, match="does not keep the number of its state in the attribute `s`"):
        learned = agent().learn(OtherState(name, form), steps=2_000, seed=1)
    assert learned.record_.loop == "stepwise"
    assert not learned.legal_[0, 0]  # which the table says
    same_records(learned, learned_stepwise(OtherState(name, form), 2_000))
    with pytest.warns(rl.errors.NewRunWarning, match="not the run"):
        learned.save(tmp_path / "agent.npz")


def test_what_cannot_be_compared_is_a_difference_and_no_error(monkeypatch):
    def fails(*_):
        raise ValueError("cannot be compared")

    monkeypatch.setattr("rlsuite.environments.followers.TableFollower.step", fails)
    with pytest.warns(StepwiseWarning, match=r"cannot be compared with what it declares \(ValueError: cannot"):
        learned = agent().learn(Lake(), steps=300, seed=1)
    monkeypatch.undo()
    same_records(learned, learned_stepwise(Lake(), 300))
