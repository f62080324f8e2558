"""TD(lambda) with a trace for every state, and true online TD(lambda) as the online lambda-return."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl

N = 5  # states of the random episodes: few, so that they come again
seeds = st.integers(0, 2**31)
gammas = st.sampled_from([0.0, 0.5, 0.9, 1.0])
lambdas = st.sampled_from([0.0, 0.3, 0.9, 1.0])


def same_values(ours, theirs, tolerance=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


TRACES = {
    "accumulating": lambda trace, alpha: trace + alpha,
    "replacing": lambda trace, alpha: alpha,
    "dutch": lambda trace, alpha: (1 - alpha) * trace + alpha,
}


@settings(max_examples=20)
@given(seeds, gammas, lambdas, st.sampled_from([0.3, 1.0, rl.Inverse(1.0, per="visits"), rl.Inverse(0.9, per="steps")]))
@pytest.mark.parametrize("traces", TRACES)
def test_td_lambda_with_a_trace_for_every_state(memory_of, random_episodes, walk, traces, seed, gamma, lambda_, rate):
    agent = rl.TDLambda(gamma=gamma, lambda_=lambda_, traces=traces, learning_rate=rate)
    memory = memory_of(agent)
    value = memory.q[:, 0].copy()
    visits = np.zeros(N, dtype=int)
    for episode in random_episodes(seed):
        trace = np.zeros(N)
        for (state, reward, next_state, terminated, _), ours in zip(episode, walk(agent, memory, episode), strict=True):
            alpha = rate
            if isinstance(rate, rl.Schedule):
                alpha = rate.at(int(visits[state] if rate.per == "visits" else visits.sum()))
            error = reward + gamma * (not terminated) * value[next_state] - value[state]
            trace[state] = TRACES[traces](trace[state], alpha)
            value += error * trace
            trace *= gamma * lambda_
            visits[state] += 1
            same_values(ours, value)
    assert memory.visits[:, 0].tolist() == visits.tolist()


@settings(max_examples=25)
@given(seeds, gammas, lambdas, st.sampled_from([0.3, 1.0, rl.Inverse(1.0, per="visits")]))
def test_true_online_is_the_online_lambda_return(
    memory_of, n_step_return, random_episodes, value_then, walk, seed, gamma, lambda_, rate
):
    """S&B2 section 12.4: after h steps, begin the episode anew with the lambda-returns that end at h (eq. 12.9)."""
    agent = rl.TrueOnlineTDLambda(gamma=gamma, lambda_=lambda_, learning_rate=rate)
    memory = memory_of(agent)
    visits = np.zeros(N, dtype=int)
    for episode in random_episodes(seed):
        alphas = []
        online = [memory.q[:, 0].copy()]  # V_t: what is known at time t
        for h, ours in enumerate(walk(agent, memory, episode), start=1):
            state = episode[h - 1][0]
            alphas.append(rate.at(int(visits[state])) if isinstance(rate, rl.Schedule) else rate)
            visits[state] += 1
            value = online[0].copy()
            for t in range(h):
                look_up = value_then(episode, online)
                returns = [n_step_return(episode, t, n, gamma, look_up) for n in range(1, h - t + 1)]
                weights = [(1 - lambda_) * lambda_**k for k in range(h - t - 1)] + [lambda_ ** (h - t - 1)]
                value[episode[t][0]] += alphas[t] * (np.dot(weights, returns) - value[episode[t][0]])
            online.append(value)
            same_values(ours, value)
