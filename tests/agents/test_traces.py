"""Eligibility traces in control, against dense tables, the forward view and closed forms."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.training.legality import listed_actions

N_STATES, N_ACTIONS = 6, 3
LEGAL = np.ones((N_STATES, N_ACTIONS), dtype=bool)
LEGAL[2, 0] = LEGAL[4, 1] = False
BY_VISITS = rl.Inverse(0.9, scale=3.0, per="visits")


class Step(NamedTuple):
    """A transition, the action that the rule chose after it, and what the rule had learned by then."""

    state: int
    action: int
    reward: float
    next_state: int
    terminated: bool
    truncated: bool
    next_action: int
    q: np.ndarray
    trace: np.ndarray


def wander(agent, seed, n_episodes=4, longest=14):
    """Let the rule act in a world of chance; return the first values and the episodes."""
    world, choices = np.random.default_rng(seed).spawn(2)
    memory = agent.init_memory(LEGAL.copy(), listed_actions)
    memory.q[:] = world.normal(size=memory.q.shape)
    first = memory.q.copy()
    episodes = []
    for _ in range(n_episodes):
        state = int(world.integers(N_STATES))
        action = type(agent).begin(memory, state, choices)
        episodes.append([])
        for t in range(longest):
            terminated = bool(world.random() < 0.1)
            truncated = t == longest - 1
            reward, next_state = float(world.normal()), int(world.integers(N_STATES))
            given = rl.Transition(state, action, reward, next_state, terminated, truncated)
            next_action = type(agent).step(memory, given, choices)
            trace = memory.scratch.traces.trace.reshape(LEGAL.shape).copy()
            episodes[-1].append(Step(*given, next_action, memory.q.copy(), trace))
            state, action = next_state, next_action
            if terminated or truncated:
                break
    return first, episodes


def best(q, state):
    return q[state, LEGAL[state]].max()


def visited(kind, e, alpha):
    return {"accumulating": e + alpha, "replacing": alpha, "dutch": (1 - alpha) * e + alpha}[kind]


def dense(first, episodes, agent, learn):
    """The values after each step by `learn(q, e, step, alpha)`, with a trace for every pair; counts the visits."""
    q, visits = first.copy(), np.zeros(first.shape, dtype=int)
    rate = agent.learning_rate
    for episode in episodes:
        e = np.zeros_like(q)
        for step in episode:
            alpha = rate if isinstance(rate, float) else rate.at(visits[step.state, step.action])
            learn(q, e, step, alpha)
            visits[step.state, step.action] += 1
            yield step, q, e


def sarsa_lambda(agent):
    def learn(q, e, step, alpha):
        pair = step.state, step.action
        ahead = 0.0 if step.terminated else q[step.next_state, step.next_action]
        error = step.reward + agent.gamma * ahead - q[pair]
        e[pair] = visited(agent.traces, e[pair], alpha)
        q += error * e
        e *= agent.gamma * agent.lambda_

    return learn


def expected_sarsa_lambda(agent):
    def learn(q, e, step, alpha):
        pair = step.state, step.action
        ahead = 0.0
        if not step.terminated:
            values = q[step.next_state, LEGAL[step.next_state]]
            epsilon = agent.exploration.epsilon
            ahead = epsilon * values.mean() + (1.0 - epsilon) * values.max()
        error = step.reward + agent.gamma * ahead - q[pair]
        e[pair] = visited(agent.traces, e[pair], alpha)
        q += error * e
        e *= agent.gamma * agent.lambda_

    return learn


def q_lambda(agent, cut):
    def learn(q, e, step, alpha):
        pair = step.state, step.action
        ahead = 0.0 if step.terminated else best(q, step.next_state)
        error = step.reward + agent.gamma * ahead - q[pair]
        e[pair] = visited(agent.traces, e[pair], alpha)
        q += error * e
        e *= agent.gamma * agent.lambda_
        over = step.terminated or step.truncated
        if cut and not over and q[step.next_state, step.next_action] < best(q, step.next_state):
            e[:] = 0.0

    return learn


def peng(agent):
    def learn(q, e, step, alpha):
        pair = step.state, step.action
        ahead = 0.0 if step.terminated else best(q, step.next_state)
        of_action = step.reward + agent.gamma * ahead - q[pair]
        of_state = step.reward + agent.gamma * ahead - best(q, step.state)
        e *= agent.gamma * agent.lambda_
        q += of_state * e
        q[pair] += alpha * of_action
        e[pair] += alpha

    return learn


EXPLORING = rl.EpsilonGreedy(0.4)
COMMON = {"gamma": 0.9, "exploration": EXPLORING}
CASES = {
    "sarsa, accumulating": (rl.SarsaLambda(**COMMON, lambda_=0.8, learning_rate=0.2), sarsa_lambda),
    "sarsa, replacing": (
        rl.SarsaLambda(**COMMON, lambda_=0.9, learning_rate=BY_VISITS, traces="replacing"),
        sarsa_lambda,
    ),
    "sarsa, dutch": (rl.SarsaLambda(**COMMON, lambda_=1.0, learning_rate=0.5, traces="dutch"), sarsa_lambda),
    "expected sarsa": (
        rl.ExpectedSarsaLambda(**COMMON, lambda_=0.8, learning_rate=BY_VISITS),
        expected_sarsa_lambda,
    ),
    "watkins": (
        rl.WatkinsQLambda(**COMMON, lambda_=0.8, learning_rate=BY_VISITS),
        lambda agent: q_lambda(agent, cut=True),
    ),
    "naive": (
        rl.NaiveQLambda(**COMMON, lambda_=0.7, learning_rate=0.3, traces="replacing"),
        lambda agent: q_lambda(agent, cut=False),
    ),
    "peng": (rl.PengQLambda(**COMMON, lambda_=0.8, learning_rate=0.3), peng),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_sparse_traces_learn_what_dense_traces_learn(case, seed):
    agent, equation = CASES[case]
    first, episodes = wander(agent, seed, n_episodes=10)
    for step, q, e in dense(first, episodes, agent, equation(agent)):
        np.testing.assert_allclose(step.q, q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(step.trace, e, rtol=0, atol=1e-12)
    assert any(step.truncated for episode in episodes for step in episode)
    assert any(step.terminated for episode in episodes for step in episode)


def test_replacing_traces_stay_below_one_step_size_and_accumulating_ones_do_not():
    highest = {}
    for kind in ("accumulating", "replacing"):
        agent = rl.SarsaLambda(**COMMON, lambda_=1.0, learning_rate=0.1, traces=kind)
        _, episodes = wander(agent, seed=0)
        highest[kind] = max(step.trace.max() for episode in episodes for step in episode)
    assert highest["replacing"] <= 0.1 < highest["accumulating"]


def test_watkins_traces_are_empty_after_an_action_that_is_not_greedy():
    agent = CASES["watkins"][0]
    _, episodes = wander(agent, seed=0, n_episodes=10)
    steps = [step for episode in episodes for step in episode if not (step.terminated or step.truncated)]
    greedy = [step.q[step.next_state, step.next_action] == best(step.q, step.next_state) for step in steps]
    assert 0.1 < np.mean(greedy) < 0.9
    for step, is_greedy in zip(steps, greedy, strict=True):
        assert (step.trace[step.state, step.action] > 0) == is_greedy
        assert is_greedy or not step.trace.any()


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.sampled_from(["accumulating", "replacing", "dutch"]), st.floats(0.0, 1.0))
def test_the_list_of_eligible_pairs_holds_each_once_and_no_other(seed, kind, lambda_):
    agent = rl.SarsaLambda(**COMMON, lambda_=lambda_, learning_rate=0.1, traces=kind)
    rng = np.random.default_rng(seed)
    memory = agent.init_memory(LEGAL.copy(), listed_actions)
    traces = memory.scratch.traces
    for _ in range(60):
        state, next_state = rng.integers(N_STATES, size=2)
        action = rng.choice(np.flatnonzero(LEGAL[state]))
        if rng.random() < 0.05:
            rl.SarsaLambda.begin(memory, int(state), rng)
            assert not traces.trace.any()
        rl.SarsaLambda.step(memory, rl.Transition(int(state), int(action), 1.0, int(next_state), False, False), rng)
        listed = traces.listed[: traces.n_listed[0]]
        assert sorted(listed.tolist()) == np.flatnonzero(traces.trace).tolist()


def test_a_faded_trace_is_dropped():
    """0.1 * 0.9 ** 328 < 1e-16: no more than 328 pairs are eligible, however many there are."""
    way = rl.MDP.from_successors([[s + 1] for s in range(2_000)] + [[None]], np.zeros((2_001, 1)), gamma=0.9, start=0)
    agent = rl.SarsaLambda(gamma=0.9, lambda_=1.0).learn(way.to_env(), steps=1_999, seed=0)
    assert 320 < agent.memory_.scratch.traces.n_listed[0] <= 328


def online_lambda_return(first, episode, gamma, lambda_, alphas):
    """S&B2 section 12.4: after each step, all of the episode anew, with the lambda-returns of what is known by then."""
    q_of = [first]  # the values after t steps
    for horizon in range(1, len(episode) + 1):
        q = first.copy()
        for t in range(horizon):
            # G_t:t+n = R_t+1 + ... + gamma^(n-1) R_t+n + gamma^n Q_t+n-1(S_t+n, A_t+n)
            returns, reward = [], 0.0
            for n in range(1, horizon - t + 1):
                last = episode[t + n - 1]
                reward += gamma ** (n - 1) * last.reward
                tail = 0.0 if last.terminated else q_of[t + n - 1][last.next_state, last.next_action]
                returns.append(reward + gamma**n * tail)
            weights = [(1 - lambda_) * lambda_**n for n in range(len(returns) - 1)] + [lambda_ ** (len(returns) - 1)]
            target = np.dot(weights, returns)
            pair = episode[t].state, episode[t].action
            q[pair] += alphas[t] * (target - q[pair])
        q_of.append(q)
    return q_of[1:]


@pytest.mark.parametrize("lambda_", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("rate", [0.6, BY_VISITS])
def test_true_online_sarsa_is_the_online_lambda_return(lambda_, rate):
    agent = rl.TrueOnlineSarsaLambda(**COMMON, lambda_=lambda_, learning_rate=rate)
    q, episodes = wander(agent, seed=3)
    visits = np.zeros(LEGAL.shape, dtype=int)
    for episode in episodes:
        alphas = []
        for step in episode:
            alphas.append(rate if isinstance(rate, float) else rate.at(visits[step.state, step.action]))
            visits[step.state, step.action] += 1
        for step, wanted in zip(episode, online_lambda_return(q, episode, agent.gamma, lambda_, alphas), strict=True):
            np.testing.assert_allclose(step.q, wanted, rtol=0, atol=1e-12)
        q = episode[-1].q


def test_true_online_sarsa_at_one_is_monte_carlo():
    """lambda = 1, gamma = 1: when an episode has ended, each visit has learned from the return that followed it."""
    agent = rl.TrueOnlineSarsaLambda(gamma=1.0, exploration=EXPLORING, lambda_=1.0, learning_rate=0.3)
    q, episodes = wander(agent, seed=5, n_episodes=12)
    ended = [episode for episode in episodes if episode[-1].terminated]
    assert len(ended) > 5
    for episode in episodes:
        if episode in ended:
            for t, step in enumerate(episode):
                target = sum(later.reward for later in episode[t:])
                q[step.state, step.action] += 0.3 * (target - q[step.state, step.action])
            np.testing.assert_allclose(episode[-1].q, q, rtol=0, atol=1e-12)
        q = episode[-1].q.copy()


def unrolled(agent, q, episode):
    """What a rule adds to each visit of an episode while the values are held fixed, shape (length,).

    Every moment becomes a state of its own, with the values of the state that it was: what is learned at one moment
    then cannot be seen at another, and the sum over the visits of a pair is the offline update.
    """
    moments = np.array([step.state for step in episode] + [episode[-1].next_state])
    memory = agent.init_memory(LEGAL[moments], listed_actions)
    memory.q[:] = q[moments]
    rng = np.random.default_rng(0)
    for t, step in enumerate(episode):
        given = (t, step.action, step.reward, t + 1, step.terminated, step.truncated)
        type(agent).step(memory, rl.Transition(*given), rng)
    return np.array([memory.q[t, step.action] - q[step.state, step.action] for t, step in enumerate(episode)])


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_pengs_traces_are_the_lambda_return_of_the_notes(seed, gamma, lambda_):
    """Q^lambda(t) = r_t + gamma [(1 - lambda) max_a Q(x_t+1, a) + lambda Q^lambda(t + 1)] with Q held fixed."""
    q, episodes = wander(CASES["peng"][0], seed, n_episodes=2)
    agent = rl.PengQLambda(gamma=gamma, lambda_=lambda_, learning_rate=0.5, exploration=EXPLORING)
    for episode in episodes:
        forward, target = [], None
        for step in reversed(episode):
            ahead = 0.0 if step.terminated else best(q, step.next_state)
            beyond = ahead if target is None else target
            target = step.reward + gamma * ((1 - lambda_) * ahead + lambda_ * beyond)
            forward.append(0.5 * (target - q[step.state, step.action]))
        np.testing.assert_allclose(unrolled(agent, q, episode), forward[::-1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("traces", ["accumulating", "replacing"])
def test_sarsa_lambda_at_one_is_monte_carlo_offline(traces):
    """gamma = lambda = 1: the errors of the rest of an episode add up to return minus value (S&B2 eq. 6.6)."""
    q, episodes = wander(CASES["peng"][0], seed=8, n_episodes=12)
    agent = rl.SarsaLambda(gamma=1.0, lambda_=1.0, learning_rate=0.5, traces=traces, exploration=rl.EpsilonGreedy(0.0))
    ended = [episode for episode in episodes if episode[-1].terminated]
    assert len(ended) > 5
    for episode in ended:
        # the rule chooses the next action itself; give it no choice but the one that was taken
        moments = np.array([step.state for step in episode] + [episode[-1].next_state])
        memory = agent.init_memory(np.zeros((len(moments), N_ACTIONS), dtype=bool), listed_actions)
        memory.q[:] = q[moments]
        memory.legal[range(len(episode)), [step.action for step in episode]] = True
        rng = np.random.default_rng(0)
        for t, step in enumerate(episode):
            chosen = rl.SarsaLambda.step(
                memory, rl.Transition(t, step.action, step.reward, t + 1, step.terminated, False), rng
            )
            assert step.terminated or chosen == episode[t + 1].action
        for t, step in enumerate(episode):
            value = q[step.state, step.action]
            target = value + 0.5 * (sum(later.reward for later in episode[t:]) - value)
            assert memory.q[t, step.action] == pytest.approx(target, abs=1e-12)


def test_the_targets_of_the_notes_grid():
    """S0 R S1 R S2 U G with lambda = 1/2, Q = 0: Q^lambda = 20.25, 45, 100; lambda = 1 and gamma = 1: 100 each."""
    right, up = 1, 2
    for gamma, lambda_, wanted in ((0.9, 0.5, [20.25, 45.0, 100.0]), (1.0, 1.0, [100.0] * 3)):
        agent = rl.PengQLambda(gamma=gamma, learning_rate=1.0, lambda_=lambda_, exploration=EXPLORING)
        memory = agent.init_memory(LEGAL.copy(), listed_actions)
        path = [(0, right, 0.0, 1), (1, right, 0.0, 2), (2, up, 100.0, 5)]
        for step in path:
            rl.PengQLambda.step(memory, rl.Transition(*step, step[3] == 5, False), np.random.default_rng(0))
        assert [memory.q[state, action] for state, action, _, _ in path] == wanted


@pytest.mark.parametrize("name", ["lambda_", "traces"])
def test_bad_parameters_are_named(name):
    bad = {"lambda_": (1.5, "lambda_=1.5 is not in [0, 1]"), "traces": ("dutsch", "traces: unknown kind of trace")}
    value, message = bad[name]
    with pytest.raises(ParameterError) as caught:
        rl.SarsaLambda(**{name: value})
    assert str(caught.value).startswith(message)
    if name == "traces":
        assert "did you mean 'dutch'" in str(caught.value)
    with pytest.raises((ParameterError, TypeError)):
        rl.TrueOnlineSarsaLambda(**{name: value})
