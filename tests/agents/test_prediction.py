"""Predictors against their equations, written down again in plain Python, and against each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.errors import LearningError, ParameterError
from rlsuite.training.legality import every_action

N = 5  # states of the random episodes: few, so that they come again
seeds = st.integers(0, 2**31)
gammas = st.sampled_from([0.0, 0.5, 0.9, 1.0])
lambdas = st.sampled_from([0.0, 0.3, 0.9, 1.0])


def random_episodes(seed, count=3, cut=True):
    """Steps (state, reward, next state, terminated, truncated); some episodes end, some are cut off."""
    rng = np.random.default_rng(seed)
    episodes = []
    for _ in range(count):
        length = int(rng.integers(1, 15))
        states = rng.integers(0, N, length + 1).tolist()
        rewards = rng.standard_normal(length).tolist()
        terminated = not cut or rng.random() < 0.7
        last = length - 1
        episodes.append(
            [
                (states[t], rewards[t], states[t + 1], t == last and terminated, t == last and not terminated)
                for t in range(length)
            ]
        )
    return episodes


def memory_of(agent, seed=0):
    """A memory whose values are not all the same."""
    memory = agent.init_memory(np.ones((N, 1), dtype=bool), every_action)
    memory.value[:] = np.random.default_rng(seed).standard_normal(N)
    return memory


def walk(agent, memory, episode):
    """Put the agent's rule through an episode; the values after each step."""
    rng = np.random.default_rng(0)
    type(agent).begin(memory, episode[0][0], rng)
    values = []
    for state, reward, next_state, terminated, truncated in episode:
        t = rl.Transition(state, 0, reward, next_state, terminated, truncated)
        type(agent).step(memory, t, rng)
        values.append(memory.value.copy())
    return values


def replay(agent, episodes, seed=0):
    """The values after each episode, those at the beginning included."""
    memory = memory_of(agent, seed)
    return [memory.value.copy(), *(walk(agent, memory, episode)[-1] for episode in episodes)]


def future(episode, value):
    """What lies behind the last step."""
    _, _, next_state, terminated, _ = episode[-1]
    return 0.0 if terminated else value[next_state]


def n_step_return(episode, t, n, gamma, look_up):
    """G_t:t+n (S&B2 eq. 7.1); ``look_up(k)`` is the estimate of what comes after k steps of the episode."""
    end = min(t + n, len(episode))
    total = sum(gamma ** (k - t) * episode[k][1] for k in range(t, end))
    return total + gamma ** (end - t) * look_up(end)


def value_at(episode, value):
    def look_up(k):
        return future(episode, value) if k == len(episode) else value[episode[k][0]]

    return look_up


def same_values(ours, theirs, tolerance=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


# -------------------------------------------------------------------------------------------------------- Monte Carlo


def returns_of(episode, gamma, value):
    return [n_step_return(episode, t, len(episode), gamma, value_at(episode, value)) for t in range(len(episode))]


@settings(max_examples=25)
@given(seeds, gammas)
def test_first_visit_is_the_mean_of_first_returns(seed, gamma):
    agent = rl.FirstVisitMonteCarlo(gamma=gamma)
    episodes = random_episodes(seed, count=5)
    memory = memory_of(agent)
    known = [[] for _ in range(N)]
    value = memory.value.copy()
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
def test_every_visit_is_the_mean_of_all_returns(seed, gamma):
    agent = rl.EveryVisitMonteCarlo(gamma=gamma)
    memory = memory_of(agent)
    known = [[] for _ in range(N)]
    value = memory.value.copy()
    for episode in random_episodes(seed, count=5):
        for (state, *_), total in zip(episode, returns_of(episode, gamma, value), strict=True):
            known[state].append(total)
        value = np.array([np.mean(known[s]) if known[s] else value[s] for s in range(N)])
        same_values(walk(agent, memory, episode)[-1], value)
    assert memory.learned.returns.tolist() == memory.visits.tolist() == [len(returns) for returns in known]


@settings(max_examples=25)
@given(seeds, gammas)
def test_constant_step_sizes_of_monte_carlo(seed, gamma):
    episodes = random_episodes(seed)
    every, first = (kind(gamma=gamma, learning_rate=0.3) for kind in (rl.EveryVisitMonteCarlo, rl.FirstVisitMonteCarlo))
    for agent, only_first in ((every, False), (first, True)):
        value = memory_of(agent).value.copy()
        curve = [value.copy()]
        for episode in episodes:
            seen = set()
            for (state, *_), total in zip(episode, returns_of(episode, gamma, value.copy()), strict=True):
                if not (only_first and state in seen):
                    value[state] += 0.3 * (total - value[state])
                seen.add(state)
            curve.append(value.copy())
        same_values(replay(agent, episodes), curve)


def test_returns_by_hand():
    """0 -1-> 1 -2-> 0 -4-> end, gamma 1/2: G = 3, 4, 4; 0 was visited twice."""
    episode = [(0, 1.0, 1, False, False), (1, 2.0, 0, False, False), (0, 4.0, 2, True, False)]
    for agent, value in ((rl.EveryVisitMonteCarlo(gamma=0.5), 3.5), (rl.FirstVisitMonteCarlo(gamma=0.5), 3.0)):
        memory = agent.init_memory(np.ones((N, 1), dtype=bool), every_action)
        assert walk(agent, memory, episode)[-1].tolist() == [value, 4.0, 0.0, 0.0, 0.0]


# ------------------------------------------------------------------------------------------------------------ n steps


@settings(max_examples=25)
@given(seeds, gammas, st.integers(1, 16))
def test_n_step_by_the_book(seed, gamma, n):
    """The box of S&B2 section 7.1: at time t the state of t - n + 1 learns, at the end those that are left."""
    episodes = random_episodes(seed)
    value = memory_of(rl.NStepTD()).value.copy()
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


# ------------------------------------------------------------------------------------------------------------- lambda


TRACES = {
    "accumulating": lambda trace, alpha: trace + alpha,
    "replacing": lambda trace, alpha: alpha,
    "dutch": lambda trace, alpha: (1 - alpha) * trace + alpha,
}


@settings(max_examples=20)
@given(seeds, gammas, lambdas, st.sampled_from([0.3, 1.0, rl.Inverse(1.0, per="visits"), rl.Inverse(0.9, per="steps")]))
@pytest.mark.parametrize("traces", TRACES)
def test_td_lambda_with_a_trace_for_every_state(traces, seed, gamma, lambda_, rate):
    agent = rl.TDLambda(gamma=gamma, lambda_=lambda_, traces=traces, learning_rate=rate)
    memory = memory_of(agent)
    value = memory.value.copy()
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
    assert memory.visits.tolist() == visits.tolist()


def value_then(episode, online):
    """What comes after k steps, as it was estimated by V_k-1."""
    return lambda k: value_at(episode, online[k - 1])(k)


@settings(max_examples=25)
@given(seeds, gammas, lambdas, st.sampled_from([0.3, 1.0, rl.Inverse(1.0, per="visits")]))
def test_true_online_is_the_online_lambda_return(seed, gamma, lambda_, rate):
    """S&B2 section 12.4: after h steps, begin the episode anew with the lambda-returns that end at h (eq. 12.9)."""
    agent = rl.TrueOnlineTDLambda(gamma=gamma, lambda_=lambda_, learning_rate=rate)
    memory = memory_of(agent)
    visits = np.zeros(N, dtype=int)
    for episode in random_episodes(seed):
        alphas = []
        online = [memory.value.copy()]  # V_t: what is known at time t
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


def lambda_returns(episode, gamma, lambda_, value):
    """S&B2 eq. 12.3: the weighted mean of all n-step returns."""
    look_up = value_at(episode, value)
    targets = []
    for t in range(len(episode)):
        left = len(episode) - t
        returns = [n_step_return(episode, t, n, gamma, look_up) for n in range(1, left + 1)]
        weights = [(1 - lambda_) * lambda_**k for k in range(left - 1)] + [lambda_ ** (left - 1)]
        targets.append(float(np.dot(weights, returns)))
    return targets


@settings(max_examples=25)
@given(seeds, gammas, lambdas)
def test_off_line_lambda_return_by_the_book(seed, gamma, lambda_):
    episodes = random_episodes(seed)
    value = memory_of(rl.OfflineLambdaReturn()).value.copy()
    curve = [value.copy()]
    for episode in episodes:
        for (state, *_), target in zip(episode, lambda_returns(episode, gamma, lambda_, value.copy()), strict=True):
            value[state] += 0.4 * (target - value[state])
        curve.append(value.copy())
    same_values(replay(rl.OfflineLambdaReturn(gamma=gamma, lambda_=lambda_, learning_rate=0.4), episodes), curve)


@settings(max_examples=25)
@given(seeds, gammas, lambdas)
def test_off_line_forward_and_backward_views_agree(seed, gamma, lambda_):
    """What all errors add, if values stay as they are until the end of the episode, is the same in both views."""
    agent = rl.OfflineLambdaReturn(gamma=gamma, lambda_=lambda_, learning_rate=0.4)
    memory = memory_of(agent)
    for episode in random_episodes(seed):
        value = memory.value.copy()
        walk(agent, memory, episode)
        targets = memory.scratch.buffer.note[: len(episode)]
        forward, backward, trace = np.zeros(N), np.zeros(N), np.zeros(N)
        for (state, reward, next_state, terminated, _), target in zip(episode, targets, strict=True):
            forward[state] += 0.4 * (target - value[state])
            trace[state] += 1
            backward += 0.4 * (reward + gamma * (not terminated) * value[next_state] - value[state]) * trace
            trace *= gamma * lambda_
        same_values(forward, backward, 1e-10)


@settings(max_examples=10)
@given(seeds, gammas, lambdas)
def test_states_that_never_come_again_learn_the_same_in_all_views(seed, gamma, lambda_):
    """Then the off-line returns, their backward view and true online TD(lambda) need not be told apart at the end."""
    order = np.random.default_rng(seed).permutation(N).tolist()
    episode = [(order[t], float(seed % (t + 2)), order[t + 1], t == N - 2, False) for t in range(N - 1)]
    options = {"gamma": gamma, "lambda_": lambda_, "learning_rate": 0.3}
    offline = replay(rl.OfflineLambdaReturn(**options), [episode])[-1]
    for traces in TRACES:
        same_values(replay(rl.TDLambda(traces=traces, **options), [episode])[-1], offline)
    same_values(replay(rl.TrueOnlineTDLambda(**options), [episode])[-1], offline)


# ------------------------------------------------------------------------------------------------------ special cases


@settings(max_examples=20)
@given(seeds, gammas)
def test_ends_of_the_spectrum(seed, gamma):
    episodes = random_episodes(seed)
    constant = {"gamma": gamma, "learning_rate": 0.3}
    td = replay(rl.TD(**constant), episodes)
    for same in (
        rl.NStepTD(n=1, **constant),
        *(rl.TDLambda(lambda_=0.0, traces=traces, **constant) for traces in TRACES),
    ):
        assert np.array_equal(replay(same, episodes), td)
    same_values(replay(rl.TrueOnlineTDLambda(lambda_=0.0, **constant), episodes), td, 1e-14)
    for options in (constant, {"gamma": gamma, "learning_rate": rl.Inverse(1.0, per="visits")}):
        monte_carlo = replay(rl.EveryVisitMonteCarlo(**options), episodes)
        for same in (rl.NStepTD(n=15, **options), rl.OfflineLambdaReturn(lambda_=1.0, **options)):
            assert np.array_equal(replay(same, episodes), monte_carlo)
    ending = random_episodes(seed, cut=False)
    monte_carlo = replay(rl.EveryVisitMonteCarlo(**constant), ending)
    same_values(replay(rl.TrueOnlineTDLambda(lambda_=1.0, **constant), ending), monte_carlo)


AGENTS = {
    "every visit": rl.EveryVisitMonteCarlo(learning_rate=0.3),
    "first visit": rl.FirstVisitMonteCarlo(learning_rate=0.3),
    "n steps": rl.NStepTD(n=3),
    "TD(lambda)": rl.TDLambda(),
    "true online": rl.TrueOnlineTDLambda(),
    "lambda-return": rl.OfflineLambdaReturn(),
    "batch Monte Carlo": rl.BatchMonteCarlo(),
}


@pytest.mark.parametrize("name", AGENTS)
def test_an_abandoned_episode_leaves_nothing_behind(name):
    agent = AGENTS[name]
    first, second = [(0, 1.0, 1, False, False), (1, 2.0, 2, False, False)], random_episodes(3)[0]
    memory = memory_of(agent)
    walk(agent, memory, first)
    fresh = memory_of(agent)
    fresh.value[:] = memory.value
    assert np.array_equal(walk(agent, memory, second), walk(agent, fresh, second))


@pytest.mark.parametrize("name", ["every visit", "lambda-return", "first visit", "batch Monte Carlo"])
def test_episodes_may_be_too_long_to_remember(name):
    """A way of four steps fits into a buffer of four, and not into one of three."""
    way = rl.MDP.from_successors([[1], [2], [3], [4], [4]], [1.0] * 5, gamma=1.0, start=0, terminated=[0, 0, 0, 0, 1])
    kind = type(AGENTS[name])
    long_enough = kind(gamma=1.0, longest_episode=4).learn(way.to_env(), episodes=2, seed=0)
    if name in ("first visit", "batch Monte Carlo"):
        assert long_enough.value_.tolist() == [4.0, 3.0, 2.0, 1.0, 0.0]
    for loop in ("compiled", "stepwise"):
        with pytest.raises(LearningError, match="longer than the agent can store; give the agent a larger longest_ep"):
            kind(gamma=1.0, longest_episode=3).learn(way.to_env(), episodes=2, seed=0, loop=loop)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.NStepTD(n=0), "n=0 is less than 1"),
        (lambda: rl.NStepTD(n=2.0), "n=2.0 is not a whole number"),
        (lambda: rl.NStepTD(n=10**15), "n=1000000000000000 needs 24,000,000 GB"),
        (lambda: rl.TDLambda(lambda_=1.5), "lambda_=1.5 is not in [0, 1]"),
        (lambda: rl.TDLambda(traces="acumulating"), "did you mean 'accumulating'"),
        (lambda: rl.TrueOnlineTDLambda(lambda_=-0.1), "lambda_=-0.1 is not in [0, 1]"),
        (lambda: rl.OfflineLambdaReturn(lambda_="1"), "lambda_='1' is not a finite number"),
        (lambda: rl.OfflineLambdaReturn(longest_episode=0), "longest_episode=0 is less than 1"),
        (lambda: rl.EveryVisitMonteCarlo(longest_episode=1.5), "longest_episode=1.5 is not a whole number"),
        (lambda: rl.FirstVisitMonteCarlo(learning_rate=2.0), "learning_rate=2.0 lies outside [0, 1]"),
        (lambda: rl.BatchMonteCarlo(longest_episode=0), "longest_episode=0 is less than 1"),
        (lambda: rl.BatchTD(gamma=2.0), "gamma=2 is not in [0, 1]"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(ParameterError) as info:
        make()
    assert message in str(info.value)


def test_batch_learning_needs_memory_for_all_pairs_of_states():
    with pytest.raises(ParameterError, match="batch learning of 10000000 states needs 1,600,000 GB"):
        rl.BatchTD().tables(10**7)
