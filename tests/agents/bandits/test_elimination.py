"""Explore-then-commit and successive elimination against plain Python."""

import math

import numpy as np

import rlsuite as rl
from rlsuite_envs.bandits import bandit

STATES, ARMS, STEPS, SEED = 3, 4, 400, 5


def test_what_was_committed_to_is_pulled_for_ever_even_if_others_are_as_good():
    agent = rl.ExploreThenCommit(m=3).learn(bandit([1.0] * 4, kind="deterministic").to_env(), steps=1_000, seed=6)
    assert sorted(agent.visits_[0].tolist()) == [3, 3, 3, 991]
    assert agent.visits_[0, agent.committed_[0]] == 991
    probabilities = np.empty(4)
    rl.action_probabilities(agent.memory_, 0, probabilities)
    assert probabilities.tolist() == (np.arange(4) == agent.committed_[0]).tolist()


def test_explore_then_commit(live):
    agent, story, _ = live(rl.ExploreThenCommit(m=7))
    pulled = [[[] for _ in range(ARMS)] for _ in range(STATES)]
    for state, action, reward in story:
        if min(map(len, pulled[state])) < 7:
            assert len(pulled[state][action]) < 7
        else:
            assert action == np.argmax([np.mean(seen[:7]) for seen in pulled[state]])
        pulled[state][action].append(reward)
    np.testing.assert_allclose(agent.q_, [[np.mean(seen[:7]) for seen in row] for row in pulled], atol=1e-12)


def test_successive_elimination(live):
    agent, story, _ = live(rl.SuccessiveElimination(delta=0.3, c=0.5), "bernoulli", steps=1_500)
    pulled = [[[] for _ in range(ARMS)] for _ in range(STATES)]
    remaining = [set(range(ARMS)) for _ in range(STATES)]
    for state, action, reward in story:
        assert action in remaining[state]
        assert len(pulled[state][action]) == min(len(pulled[state][arm]) for arm in remaining[state])
        pulled[state][action].append(reward)
        rounds = {len(pulled[state][arm]) for arm in remaining[state]}
        if len(rounds) == 1:
            (t,) = rounds
            width = 0.5 * math.sqrt(math.log(4 * ARMS * t**2 / 0.3) / (2 * t))
            best = max(np.mean(pulled[state][arm]) for arm in remaining[state])
            remaining[state] -= {arm for arm in remaining[state] if best - np.mean(pulled[state][arm]) >= 2 * width}
    assert [set(np.flatnonzero(~row).tolist()) for row in agent.eliminated_] == remaining
    assert 0 < agent.eliminated_.sum() < STATES * ARMS
