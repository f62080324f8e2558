"""Q(lambda) of Watkins and of Peng: when traces end, and the lambda-return of the lecture notes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.training.legality import listed_actions

N_STATES, N_ACTIONS = 6, 3
LEGAL = np.array([[(s, a) not in [(2, 0), (4, 1)] for a in range(N_ACTIONS)] for s in range(N_STATES)])
BY_VISITS = rl.Inverse(0.9, scale=3.0, per="visits")


def best(q, state):
    return q[state, LEGAL[state]].max()


EXPLORING = rl.EpsilonGreedy(0.4)
COMMON = {"gamma": 0.9, "exploration": EXPLORING}


def test_watkins_traces_are_empty_after_an_action_that_is_not_greedy(wander):
    agent = rl.WatkinsQLambda(**COMMON, lambda_=0.8, learning_rate=BY_VISITS)
    _, episodes = wander(agent, seed=0, n_episodes=10)
    steps = [step for episode in episodes for step in episode if not (step.terminated or step.truncated)]
    greedy = [step.q[step.next_state, step.next_action] == best(step.q, step.next_state) for step in steps]
    assert 0.1 < np.mean(greedy) < 0.9
    for step, is_greedy in zip(steps, greedy, strict=True):
        assert (step.trace[step.state, step.action] > 0) == is_greedy
        assert is_greedy or not step.trace.any()


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
def test_pengs_traces_are_the_lambda_return_of_the_notes(wander, seed, gamma, lambda_):
    """Q^lambda(t) = r_t + gamma [(1 - lambda) max_a Q(x_t+1, a) + lambda Q^lambda(t + 1)] with Q held fixed."""
    q, episodes = wander(rl.PengQLambda(**COMMON, lambda_=0.8, learning_rate=0.3), seed, n_episodes=2)
    agent = rl.PengQLambda(gamma=gamma, lambda_=lambda_, learning_rate=0.5, exploration=EXPLORING)
    for episode in episodes:
        forward, target = [], None
        for step in reversed(episode):
            ahead = 0.0 if step.terminated else best(q, step.next_state)
            beyond = ahead if target is None else target
            target = step.reward + gamma * ((1 - lambda_) * ahead + lambda_ * beyond)
            forward.append(0.5 * (target - q[step.state, step.action]))
        np.testing.assert_allclose(unrolled(agent, q, episode), forward[::-1], rtol=0, atol=1e-10)


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
