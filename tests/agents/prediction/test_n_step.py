"""n-step TD against the equation of the book, written down again in plain Python."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl

seeds = st.integers(0, 2**31)
gammas = st.sampled_from([0.0, 0.5, 0.9, 1.0])


def same_values(ours, theirs, tolerance=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@settings(max_examples=25)
@given(seeds, gammas, st.integers(1, 16))
def test_n_step_by_the_book(memory_of, n_step_return, random_episodes, replay, value_at, seed, gamma, n):
    """The box of S&B2 section 7.1: at time t the state of t - n + 1 learns, at the end those that are left."""
    episodes = random_episodes(seed)
    value = memory_of(rl.NStepTD()).q[:, 0].copy()
    curve = [value.copy()]
    for episode in episodes:
        for t in range(len(episode)):
            over = t + 1 == len(episode)
            look_up = value_at(episode, value.copy())
            for tau in range(max(0, t - n + 1), t + 1 if over else t - n + 2):
                target = n_step_return(episode, tau, n, gamma, look_up)
                value[episode[tau][0]] += 0.4 * (target - value[episode[tau][0]])
        curve.append(value.copy())
    same_values(replay(rl.NStepTD(gamma=gamma, n=n, learning_rate=0.4), episodes), curve)
