"""Eligibility traces in control, against dense tables, the forward view and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.training.legality import listed_actions

N_STATES, N_ACTIONS = 6, 3
LEGAL = np.array([[(s, a) not in [(2, 0), (4, 1)] for a in range(N_ACTIONS)] for s in range(N_STATES)])
BY_VISITS = rl.Inverse(0.9, scale=3.0, per="visits")


def best(q, state):
    return q[state, LEGAL[state]].max()


def visit(kind, e, pair, alpha):
    before = e[pair]
    if kind == "clearing":
        e[pair[0]] = 0.0
    new = {"accumulating": before + alpha, "dutch": (1 - alpha) * before + alpha}
    e[pair] = new.get(kind, alpha)


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
        visit(agent.traces, e, pair, alpha)
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
        visit(agent.traces, e, pair, alpha)
        q += error * e
        e *= agent.gamma * agent.lambda_

    return learn


def q_lambda(agent, cut):
    def learn(q, e, step, alpha):
        pair = step.state, step.action
        ahead = 0.0 if step.terminated else best(q, step.next_state)
        error = step.reward + agent.gamma * ahead - q[pair]
        visit(agent.traces, e, pair, alpha)
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
    "sarsa, clearing": (
        rl.SarsaLambda(**COMMON, lambda_=0.9, learning_rate=BY_VISITS, traces="clearing"),
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
def test_sparse_traces_learn_what_dense_traces_learn(wander, case):
    agent, equation = CASES[case]
    for seed in (0, 1):
        first, episodes = wander(agent, seed, n_episodes=10)
        for step, q, e in dense(first, episodes, agent, equation(agent)):
            np.testing.assert_allclose(step.q, q, rtol=0, atol=1e-12)
            np.testing.assert_allclose(step.trace, e, rtol=0, atol=1e-12)
        assert any(step.truncated for episode in episodes for step in episode)
        assert any(step.terminated for episode in episodes for step in episode)


def test_replacing_traces_stay_below_one_step_size_and_accumulating_ones_do_not(wander):
    highest = {}
    for kind in ("accumulating", "replacing"):
        agent = rl.SarsaLambda(**COMMON, lambda_=1.0, learning_rate=0.1, traces=kind)
        _, episodes = wander(agent, seed=0)
        highest[kind] = max(step.trace.max() for episode in episodes for step in episode)
    assert highest["replacing"] <= 0.1 < highest["accumulating"]


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.sampled_from(["accumulating", "replacing", "dutch", "clearing"]), st.floats(0.0, 1.0))
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
