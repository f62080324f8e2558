"""Learned gains against hand-computed steps, fixed points, one long task, and exact gains."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.training.legality import every_action
from rlsuite_envs.chains import chain, river_swim

KINDS = [rl.DifferentialSarsa, rl.RLearning]
SLOW, SLOWER = (rl.Polynomial(start, power=0.7, per="visits") for start in (1.0, 0.1))


def started(agent, q, gain):
    """A memory of two states and two actions with these values."""
    memory = agent.init_memory(np.ones((2, 2), dtype=bool), every_action)
    memory.q[:] = q
    memory.learned.gain[0] = gain
    return memory


def test_steps_of_differential_sarsa_by_hand():
    agent = rl.DifferentialSarsa(learning_rate=0.5, beta=0.25, exploration=rl.EpsilonGreedy(0.0))
    memory = started(agent, [[1.0, 2.0], [4.0, 3.0]], 0.5)
    # delta = 3 - 0.5 + 4 - 2 = 4.5
    assert rl.DifferentialSarsa.step(memory, rl.Transition(0, 1, 3.0, 1, False, False), np.random.default_rng(0)) == 0
    assert memory.q.tolist() == [[1.0, 4.25], [4.0, 3.0]]
    assert memory.learned.gain[0] == 1.625
    # cut off: the same; delta = 0 - 1.625 + 4.25 - 3 = -0.375
    rl.DifferentialSarsa.step(memory, rl.Transition(1, 1, 0.0, 0, False, True), np.random.default_rng(0))
    assert memory.q.tolist() == [[1.0, 4.25], [4.0, 2.8125]]
    assert memory.learned.gain[0] == 1.625 - 0.25 * 0.375
    assert memory.clock.tolist() == [2, 1]


def test_steps_of_r_learning_by_hand():
    agent = rl.RLearning(learning_rate=0.5, beta=0.25, exploration=rl.EpsilonGreedy(0.0))
    memory = started(agent, [[1.0, 2.0], [4.0, 3.0]], 0.5)
    # Q = 2 + (3 - 0.5 + 4 - 2) / 2 = 4.25 is greedy: gain = 0.5 + (3 - 0.5 + 4 - 4.25) / 4
    rl.RLearning.step(memory, rl.Transition(0, 1, 3.0, 1, False, False), np.random.default_rng(0))
    assert memory.q.tolist() == [[1.0, 4.25], [4.0, 3.0]]
    assert memory.learned.gain[0] == 1.0625
    # not greedy, before and after: Q = 1 + (-1 - 1.0625 + 4 - 1) / 2, and the gain stays
    rl.RLearning.step(memory, rl.Transition(0, 0, -1.0, 1, False, False), np.random.default_rng(0))
    assert memory.q.tolist() == [[1.46875, 4.25], [4.0, 3.0]]
    assert memory.learned.gain[0] == 1.0625


@pytest.mark.parametrize("kind", KINDS)
def test_an_end_waits_for_the_next_start(kind):
    agent = kind(learning_rate=rl.Inverse(1.0, per="visits"), beta=0.25, exploration=rl.EpsilonGreedy(0.0))
    memory = started(agent, [[1.0, 2.0], [4.0, 3.0]], 0.5)
    before = memory.q.copy()
    kind.step(memory, rl.Transition(0, 1, 3.0, 0, True, False), np.random.default_rng(0))
    assert memory.q.tolist() == before.tolist()
    assert memory.clock.tolist() == [1, 1]
    assert kind.begin(memory, 1, np.random.default_rng(0)) == 0
    assert memory.q.tolist() == [[1.0, 6.5], [4.0, 3.0]]  # by the step size of the first visit, 1
    assert memory.learned.gain[0] == (0.5 + 0.25 * 4.5 if kind is rl.DifferentialSarsa else 0.5)
    known = memory.q.copy()
    kind.begin(memory, 1, np.random.default_rng(0))  # nothing waits any more
    assert memory.q.tolist() == known.tolist()


def dead_end(restart):
    """Three cells in a row, with a reward for the last step, which leads to an end, or back to the start."""
    successors = [[1, 0], [2, 0], [0 if restart else 3, 1], [None, None]]
    return rl.MDP.from_successors(successors, [[0, 0], [0, 0], [5, 0], [0, 0]], gamma=0.9, start=0)


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_are_one_long_task(kind):
    """Bit for bit, and the gain is 5 / 3."""
    envs = [dead_end(restart).to_env() for restart in (False, True)]
    common = {"learning_rate": 0.2, "beta": 0.05, "exploration": rl.EpsilonGreedy(0.0)}
    episodic, continuing = (kind(**common).learn(env, steps=10_000, seed=3) for env in envs)
    if episodic.memory_.scratch.pair[0] >= 0:  # the last step waits
        for agent, env in zip((episodic, continuing), envs, strict=True):
            agent.learn(env, steps=1)
    assert episodic.episodes_.size > 100
    assert continuing.episodes_.size == 0
    assert episodic.q_.tobytes() == continuing.q_.tobytes()
    assert episodic.gain_ == continuing.gain_ == pytest.approx(5 / 3, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [chain(), river_swim()], ids=["chain", "river"])
def test_at_the_optimum_nothing_changes_in_the_mean(kind, model):
    """The exact gain and values are the fixed point: r - gain + max Q(x') - Q(x, a) is 0 in the mean, for all pairs."""
    solution = rl.solve(model, method="average_reward_policy_iteration")
    P, R, _ = dense(model)
    q = R - solution.gain[:, None] + P @ solution.value
    scale = np.abs(q).max()
    agent = kind(learning_rate=1e-3, beta=1e-3, exploration=rl.EpsilonGreedy(0.0))
    rng = np.random.default_rng(0)
    for state in range(model.n_states):
        for action in range(model.n_actions):
            moved_q = moved_gain = 0.0
            for ahead in np.flatnonzero(P[state, action]):
                memory = agent.init_memory(np.ones(q.shape, dtype=bool), every_action)
                memory.q[:] = q
                memory.learned.gain[0] = solution.gain[0]
                reward = rewards(model, state, action, ahead)
                kind.step(memory, rl.Transition(state, action, reward, int(ahead), False, False), rng)
                moved_q += P[state, action, ahead] * (memory.q[state, action] - q[state, action])
                if kind is rl.DifferentialSarsa:  # R-learning compares with the values that have moved already
                    moved_gain += P[state, action, ahead] * (memory.learned.gain[0] - solution.gain[0])
            assert abs(moved_q) < 1e-12 * scale
            assert abs(moved_gain) < 1e-12 * scale


def dense(model):
    """P (S, A, S), R (S, A) and the rewards (S, A, S) of a model."""
    shape = (model.n_states, model.n_actions, model.n_states)
    P, reward = np.zeros(shape), np.zeros(shape)
    for pair in range(model.n_states * model.n_actions):
        at = slice(model.indptr[pair], model.indptr[pair + 1])
        state, action = divmod(pair, model.n_actions)
        P[state, action, model.next_state[at]] = model.probability[at]
        reward[state, action, model.next_state[at]] = model.reward[at]
    return P, (P * reward).sum(axis=2), reward


def rewards(model, state, action, ahead):
    return float(dense(model)[2][state, action, ahead])


CASES = {
    # relative bias and standard deviation over 8 other seeds; allowed: |bias| + 5 standard errors of 4 seeds, or more
    "chain, R-learning": (chain(), rl.RLearning, rl.EpsilonGreedy(0.3), 0.03),  # 0.001, 0.012
    "ring, R-learning": (rl.testing.problems.ring(), rl.RLearning, rl.RandomActions(), 0.01),  # 0.002, 0.002
    "chain, Sarsa": (chain(), rl.DifferentialSarsa, None, 0.03),  # 0.002, 0.010
    "river, Sarsa": (river_swim(), rl.DifferentialSarsa, None, 0.05),  # -0.015, 0.012
    "ring, Sarsa": (rl.testing.problems.ring(), rl.DifferentialSarsa, None, 0.01),  # 0.000, 0.001
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_gain_is_learned(case):
    """The mean of four seeds is within the relative error given; the policy of differential Sarsa is a best one."""
    model, kind, exploration, error = CASES[case]
    exact = rl.solve(model, method="average_reward_policy_iteration").gain[0]
    fading = rl.EpsilonGreedy(rl.Linear(1.0, 0.0, over=500_000))
    learned = [
        kind(learning_rate=SLOW, beta=SLOWER, exploration=exploration or fading).learn(
            model.to_env(), steps=1_000_000, seed=seed
        )
        for seed in range(100, 104)
    ]
    assert np.mean([agent.gain_ for agent in learned]) == pytest.approx(exact, rel=error)
    if kind is rl.DifferentialSarsa:  # R-learning is still exploring, and its values are still moving
        P, R, _ = dense(model)
        for agent in learned:
            policy, states = agent.policy().argmax(axis=1), np.arange(model.n_states)
            long_run = rl.planning.gain_and_bias(rl.MarkovChain(P[states, policy], reward=R[states, policy]))
            np.testing.assert_allclose(long_run.gain, exact, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["corridor", "FrozenLake-v1"])
def test_both_loops_learn_the_same(kind, name):
    agents = []
    for loop in ("compiled", "stepwise"):
        env = rl.testing.problems.corridor().to_env() if name == "corridor" else name
        agent = kind(learning_rate=0.3, exploration=rl.EpsilonGreedy(0.3))
        agents.append(agent.learn(env, steps=700, seed=7, loop=loop).learn(env, steps=300, loop=loop))
    one, other = agents
    assert one.q_.tobytes() == other.q_.tobytes()
    assert one.gain_ == other.gain_ != 0.0
    assert one.episodes_.size > 20


def test_the_gain_is_saved(tmp_path):
    agent = rl.RLearning().learn(dead_end(restart=True).to_env(), steps=1_000, seed=1)
    agent.save(tmp_path / "agent.npz")
    twin = rl.load(tmp_path / "agent.npz")
    assert twin.gain_ == agent.gain_ > 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_bad_parameters_are_named(kind):
    with pytest.raises(ParameterError, match=r"beta=1.5 lies outside \[0, 1\]"):
        kind(beta=1.5)
    with pytest.raises(TypeError, match="gamma"):
        kind(gamma=0.9)
