"""Sarsa(lambda) at lambda = 1 is Monte Carlo."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.training.legality import listed_actions

N_STATES, N_ACTIONS = 6, 3
EXPLORING = rl.EpsilonGreedy(0.4)
COMMON = {"gamma": 0.9, "exploration": EXPLORING}


@pytest.mark.parametrize("traces", ["accumulating", "replacing"])
def test_sarsa_lambda_at_one_is_monte_carlo_offline(wander, traces):
    """gamma = lambda = 1: the errors of the rest of an episode add up to return minus value (S&B2 eq. 6.6)."""
    q, episodes = wander(rl.PengQLambda(**COMMON, lambda_=0.8, learning_rate=0.3), seed=8, n_episodes=12)
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
