"""The first time of each outcome is a step of the environment itself, however improbable it is."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.environments.observation_view import NONE
from rlsuite.errors import StepwiseWarning
from rlsuite.training.seen import SeenOutcomes, is_seen, memory_of
from rlsuite.training.verification import FEW, FIRST, STRETCH
from rlsuite_envs.bandits import BanditEnv


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.PCG64DXSM])
def test_a_generator_is_put_back_between_any_two_draws(kind):
    rng = np.random.Generator(kind(3))
    state, half = memory_of(rng)
    for draw in (rng.random, lambda: rng.integers(5), lambda: rng.integers(5, dtype=np.int32), rng.normal) * 20:
        before = state.copy(), half.copy()
        first, after = draw(), rng.bit_generator.state
        state[:], half[:] = before
        assert draw() == first
        assert rng.bit_generator.state == after


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_the_memory_of_other_generators_is_not_known(kind):
    assert memory_of(np.random.Generator(kind(3))) is None


def test_what_was_added_is_seen_and_nothing_else():
    outcomes = SeenOutcomes((3, 2))
    added = [
        (s, a, t, float(r), end)
        for s in range(3)
        for a in range(2)
        for t in (NONE, 0, 2)
        for r in (0, 1, 2)
        for end in (False, True)
    ][::2]
    rng = np.random.default_rng(0)
    for outcome in (*added, *added):
        outcomes.add(*outcome)
    seen = outcomes.of(rng)
    assert int((seen.then != NONE).sum()) == len(added) - 6  # each once, in six lists
    for s, a, *rest in [
        (s, a, t, r, end)
        for s in range(3)
        for a in range(2)
        for t in (NONE, 0, 1, 2)
        for r in (0.0, 1.0, 2.0, 3.0)
        for end in (False, True)
    ]:
        assert is_seen(seen, (s, a), *rest) == ((s, a, *rest) in added)
    outcomes.forget()
    assert not any(is_seen(outcomes.of(rng), (s, a), *rest) for s, a, *rest in added)


def test_rewards_from_a_continuum_are_one_outcome():
    outcomes = SeenOutcomes((3, 2), any_reward=True)
    for reward in np.random.default_rng(0).normal(size=100):
        outcomes.add(1, 0, 2, float(reward), False)
    seen = outcomes.of(np.random.default_rng(0))
    assert (seen.observation == 2).sum() == 1
    assert is_seen(seen, (1, 0), 2, 0.123, False)
    assert not any(is_seen(seen, *other) for other in [((1, 0), 1, 0.5, False), ((1, 0), 2, 0.5, True)])


def test_a_run_does_not_stop_for_rewards_that_it_draws(monkeypatch):
    stops = []
    add = SeenOutcomes.add
    monkeypatch.setattr(SeenOutcomes, "add", lambda self, *outcome: stops.append(outcome) or add(self, *outcome))

    class Own(BanditEnv):
        """Of which nothing is known."""

        def step(self, action):
            return super().step(action)

    rl.SampleAverage().learn(Own(), steps=5_000, seed=1)
    # the first thousand, the stretches, and one for each of ten arms
    assert len(stops) <= FIRST + 8 * STRETCH + 10 * FEW


class Jackpot(gymnasium.Env):
    """A table whose rare outcome is not what happens: another state, another reward, another end."""

    observation_space, action_space = gymnasium.spaces.Discrete(3), gymnasium.spaces.Discrete(2)
    initial_state_distrib = np.array([1.0, 0.0, 0.0])

    def __init__(self, happens, says, rare=2e-4):
        self.happens, self.calls = happens, 0
        self.P = {s: {a: [(rare, *says), (1 - rare, (s + a) % 3, 0.5, False)] for a in (0, 1)} for s in range(3)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = int(np.argmax(np.cumsum(self.initial_state_distrib) > self.np_random.random()))
        return self.s, {}

    def step(self, action):
        rows = self.P[self.s][action]
        i = int(np.argmax(np.cumsum([row[0] for row in rows]) > self.np_random.random()))
        self.s, reward, terminated = rows[i][1:] if i else self.happens
        return self.s, reward, terminated, False, {}


@pytest.mark.slow
@pytest.mark.parametrize("happens", [(2, 9.0, False), (1, 5.0, False), (1, 9.0, True)])
def test_a_rare_outcome_that_differs_from_the_table_is_met_in_the_environment(happens):
    says = (1, 9.0, False)
    with pytest.warns(StepwiseWarning, match="at state 0, action 0 its table says"):
        agent = rl.QLearning().learn(Jackpot(happens, says), steps=40_000, seed=1)
    stepwise = rl.QLearning().learn(Jackpot(happens, says), steps=40_000, seed=1, loop="stepwise")
    assert agent.record_.loop == "stepwise"
    assert agent.q_.tobytes() == stepwise.q_.tobytes()
    assert agent.record_.cumulative_reward.tobytes() == stepwise.record_.cumulative_reward.tobytes()


@pytest.mark.slow
def test_a_rare_outcome_as_the_table_says_changes_nothing():
    says = (1, 9.0, False)
    found = [
        rl.QLearning().learn(Jackpot(says, says), steps=40_000, seed=1, loop=loop) for loop in ("auto", "stepwise")
    ]
    assert [one.record_.loop for one in found] == ["compiled", "stepwise"]
    assert found[0].q_.tobytes() == found[1].q_.tobytes()


class Twister(Jackpot):
    """Draws from a generator of another kind."""

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.np_random = np.random.Generator(np.random.MT19937(seed))
        return super().reset()


def test_a_generator_that_cannot_be_put_back_is_stepped():
    says = (1, 9.0, False)
    with pytest.warns(StepwiseWarning, match="it draws from a MT19937, which the loop cannot put back"):
        found = rl.QLearning().learn(Twister(says, says), steps=3_000, seed=1)
    stepwise = rl.QLearning().learn(Twister(says, says), steps=3_000, seed=1, loop="stepwise")
    assert found.q_.tobytes() == stepwise.q_.tobytes()
