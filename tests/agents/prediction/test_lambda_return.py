"""Forward and backward views of TD(lambda), off line."""

import numpy as np
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


@settings(max_examples=25)
@given(seeds, gammas, lambdas)
def test_off_line_lambda_return_by_the_book(lambda_returns, memory_of, random_episodes, replay, seed, gamma, lambda_):
    episodes = random_episodes(seed)
    value = memory_of(rl.OfflineLambdaReturn()).q[:, 0].copy()
    curve = [value.copy()]
    for episode in episodes:
        for (state, *_), target in zip(episode, lambda_returns(episode, gamma, lambda_, value.copy()), strict=True):
            value[state] += 0.4 * (target - value[state])
        curve.append(value.copy())
    same_values(replay(rl.OfflineLambdaReturn(gamma=gamma, lambda_=lambda_, learning_rate=0.4), episodes), curve)


@settings(max_examples=25)
@given(seeds, gammas, lambdas)
def test_off_line_forward_and_backward_views_agree(memory_of, random_episodes, walk, seed, gamma, lambda_):
    """What all errors add, if values stay as they are until the end of the episode, is the same in both views."""
    agent = rl.OfflineLambdaReturn(gamma=gamma, lambda_=lambda_, learning_rate=0.4)
    memory = memory_of(agent)
    for episode in random_episodes(seed):
        value = memory.q[:, 0].copy()
        walk(agent, memory, episode)
        targets = memory.scratch.buffer.extra[: len(episode)]
        forward, backward, trace = np.zeros(N), np.zeros(N), np.zeros(N)
        for (state, reward, next_state, terminated, _), target in zip(episode, targets, strict=True):
            forward[state] += 0.4 * (target - value[state])
            trace[state] += 1
            backward += 0.4 * (reward + gamma * (not terminated) * value[next_state] - value[state]) * trace
            trace *= gamma * lambda_
        same_values(forward, backward, 1e-10)


@settings(max_examples=10)
@given(seeds, gammas, lambdas)
def test_states_that_never_come_again_learn_the_same_in_all_views(replay, seed, gamma, lambda_):
    """Then the off-line returns, their backward view and true online TD(lambda) need not be told apart at the end."""
    order = np.random.default_rng(seed).permutation(N).tolist()
    episode = [(order[t], float(seed % (t + 2)), order[t + 1], t == N - 2, False) for t in range(N - 1)]
    options = {"gamma": gamma, "lambda_": lambda_, "learning_rate": 0.3}
    offline = replay(rl.OfflineLambdaReturn(**options), [episode])[-1]
    for traces in TRACES:
        same_values(replay(rl.TDLambda(traces=traces, **options), [episode])[-1], offline)
    same_values(replay(rl.TrueOnlineTDLambda(**options), [episode])[-1], offline)
