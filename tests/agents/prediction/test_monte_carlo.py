"""Monte Carlo prediction: means of first and of all returns."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl

N = 5  # states of the random episodes: few, so that they come again
seeds = st.integers(0, 2**31)
gammas = st.sampled_from([0.0, 0.5, 0.9, 1.0])


def same_values(ours, theirs, tolerance=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@settings(max_examples=25)
@given(seeds, gammas)
def test_first_visit_is_the_mean_of_first_returns(memory_of, random_episodes, returns_of, walk, seed, gamma):
    agent = rl.FirstVisitMonteCarlo(gamma=gamma)
    episodes = random_episodes(seed, count=5)
    memory = memory_of(agent)
    known = [[] for _ in range(N)]
    value = memory.q[:, 0].copy()
    for episode in episodes:
        returns = returns_of(episode, gamma, value)
        states = [step[0] for step in episode]
        for state in set(states):
            known[state].append(returns[states.index(state)])
        value = np.array([np.mean(known[s]) if known[s] else value[s] for s in range(N)])
        same_values(walk(agent, memory, episode)[-1], value)
    assert memory.learned.returns.tolist() == [len(returns) for returns in known]
    assert memory.visits.sum() == sum(map(len, episodes))


@settings(max_examples=25)
@given(seeds, gammas)
def test_every_visit_is_the_mean_of_all_returns(memory_of, random_episodes, returns_of, walk, seed, gamma):
    agent = rl.EveryVisitMonteCarlo(gamma=gamma)
    memory = memory_of(agent)
    known = [[] for _ in range(N)]
    value = memory.q[:, 0].copy()
    for episode in random_episodes(seed, count=5):
        for (state, *_), total in zip(episode, returns_of(episode, gamma, value), strict=True):
            known[state].append(total)
        value = np.array([np.mean(known[s]) if known[s] else value[s] for s in range(N)])
        same_values(walk(agent, memory, episode)[-1], value)
    assert memory.learned.returns.tolist() == memory.visits[:, 0].tolist() == [len(returns) for returns in known]


@settings(max_examples=25)
@given(seeds, gammas)
def test_constant_step_sizes_of_monte_carlo(memory_of, random_episodes, replay, returns_of, seed, gamma):
    episodes = random_episodes(seed)
    every, first = (kind(gamma=gamma, learning_rate=0.3) for kind in (rl.EveryVisitMonteCarlo, rl.FirstVisitMonteCarlo))
    for agent, only_first in ((every, False), (first, True)):
        value = memory_of(agent).q[:, 0].copy()
        curve = [value.copy()]
        for episode in episodes:
            seen = set()
            for (state, *_), total in zip(episode, returns_of(episode, gamma, value.copy()), strict=True):
                if not (only_first and state in seen):
                    value[state] += 0.3 * (total - value[state])
                seen.add(state)
            curve.append(value.copy())
        same_values(replay(agent, episodes), curve)
