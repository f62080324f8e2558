"""Control rules against plain Python written from the books' pseudo-code, on the steps that the rules have lived."""

from typing import NamedTuple

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.training.legality import listed_actions

LEGAL = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0]], dtype=bool)
GAMMA = 0.9
EPSILON = 0.3
EXPLORATION = rl.EpsilonGreedy(EPSILON)
FADING = rl.Polynomial(0.8, power=0.6, per="visits")
CUT = 9


class Lived(NamedTuple):
    """One step: what happened, the action chosen next, and the memory's arrays after it."""

    state: int
    action: int
    reward: float
    next_state: int
    terminated: bool
    truncated: bool
    next_action: int
    after: dict[str, np.ndarray]

    @property
    def over(self):
        return self.terminated or self.truncated


def snapshot(memory):
    learned = memory.learned._asdict() if memory.learned else {}
    return {name: value.copy() for name, value in {"q": memory.q, **learned}.items() if isinstance(value, np.ndarray)}


def live(agent, steps=300, seed=0):
    """Live through transitions that have no rhyme or reason; return the first tables and the steps."""
    rng = np.random.default_rng(seed)
    memory = agent.init_memory(LEGAL.copy(), listed_actions)
    memory.q[...] = rng.normal(size=LEGAL.shape)  # continuous values: no ties
    for name in ("tables", "present", "before"):
        if name in getattr(memory.learned, "_fields", ()):
            getattr(memory.learned, name)[...] = memory.q
    first = snapshot(memory)
    lived = []
    state, length = 0, 0
    action = type(agent).begin(memory, state, rng)
    while len(lived) < steps:
        length += 1
        next_state, reward = int(rng.integers(len(LEGAL))), float(rng.normal())
        terminated, truncated = bool(rng.random() < 0.12), length == CUT
        t = rl.Transition(state, action, reward, next_state, terminated, truncated)
        chosen = type(agent).step(memory, t, rng)
        lived.append(Lived(*t, int(chosen), snapshot(memory)))
        state, action = next_state, chosen
        if terminated or truncated:
            state, length = int(rng.integers(len(LEGAL))), 0
            action = type(agent).begin(memory, state, rng)
    assert any(each.truncated and not each.terminated for each in lived)
    assert any(each.terminated for each in lived)
    return first, lived


def followed(q, state, epsilon=EPSILON):
    """Probabilities of the epsilon-greedy policy; greedy if epsilon is 0."""
    legal = LEGAL[state]
    best = np.flatnonzero(legal & (q[state] == q[state][legal].max()))
    chances = epsilon * legal / legal.sum()
    chances[best] += (1 - epsilon) / len(best)
    return chances


def check(lived, tables):
    assert len(lived) == len(tables)
    for each, table in zip(lived, tables, strict=True):
        np.testing.assert_allclose(each.after["q"], table, rtol=1e-12, atol=1e-12)


def test_expected_sarsa():
    first, lived = live(rl.ExpectedSarsa(gamma=GAMMA, learning_rate=FADING, exploration=EXPLORATION))
    q, visits, tables = first["q"].copy(), np.zeros(LEGAL.shape), []
    for s, a, r, s2, terminated, *_ in lived:
        target = r if terminated else r + GAMMA * followed(q, s2) @ q[s2]
        q[s, a] += 0.8 / (1 + visits[s, a]) ** 0.6 * (target - q[s, a])
        visits[s, a] += 1
        tables.append(q.copy())
    check(lived, tables)


@pytest.mark.parametrize("kind", [rl.DoubleQLearning, rl.DoubleExpectedSarsa])
def test_double_learning(kind):
    first, lived = live(kind(gamma=GAMMA, learning_rate=FADING, exploration=EXPLORATION), steps=600)
    both, means, learners, updates = first["tables"].copy(), [], [], np.zeros((2, *LEGAL.shape))
    for s, a, r, s2, terminated, _, _, after in lived:
        i = int(after["updates"][1].sum() > updates[1].sum())  # which coin fell
        if kind is rl.DoubleQLearning:
            ahead = both[1 - i, s2, np.argmax(np.where(LEGAL[s2], both[i, s2], -np.inf))]
        else:
            ahead = followed(both.mean(axis=0), s2) @ both[1 - i, s2]
        target = r if terminated else r + GAMMA * ahead
        both[i, s, a] += 0.8 / (1 + updates[i, s, a]) ** 0.6 * (target - both[i, s, a])
        updates[i, s, a] += 1
        np.testing.assert_allclose(after["tables"], both, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(after["updates"], updates)
        means.append(both.mean(axis=0))
        learners.append(i)
    check(lived, means)
    assert abs(sum(learners) - 300) < 5 * np.sqrt(600 / 4)  # a fair coin, five standard deviations


def episodes_of(lived):
    begin = 0
    for t, each in enumerate(lived):
        if each.over:
            yield lived[begin : t + 1]
            begin = t + 1


def test_monte_carlo_averages_first_visits():
    """S&B2 p. 101, word by word: a list of returns for each pair."""
    first, lived = live(rl.MonteCarloControl(gamma=GAMMA, exploration=EXPLORATION), steps=600)
    q, returns, tables = first["q"].copy(), {}, []
    repeated = 0
    for episode in episodes_of(lived):
        tables += [q.copy()] * (len(episode) - 1)
        last = episode[-1]
        total = 0.0 if last.terminated else q[last.next_state, last.next_action]
        pairs = [(each.state, each.action) for each in episode]
        for t in range(len(episode) - 1, -1, -1):
            total = episode[t].reward + GAMMA * total
            if pairs[t] in pairs[:t]:
                repeated += 1
                continue
            returns.setdefault(pairs[t], []).append(total)
            q[pairs[t]] = np.mean(returns[pairs[t]])
        tables.append(q.copy())
    check(lived[: len(tables)], tables)
    assert repeated > 50
    counts = lived[len(tables) - 1].after["returns"]
    assert {pair: len(listed) for pair, listed in returns.items()} == {pair: counts[pair] for pair in returns}


def test_off_policy_monte_carlo():
    """S&B2 p. 111, word by word."""
    first, lived = live(rl.OffPolicyMonteCarlo(gamma=GAMMA, exploration=EXPLORATION), steps=900)
    q, c, tables = first["q"].copy(), np.zeros(LEGAL.shape), []
    furthest = 0
    for episode in episodes_of(lived):
        tables += [q.copy()] * (len(episode) - 1)
        behaviour = [followed(q, each.state)[each.action] for each in episode]
        last = episode[-1]
        total = 0.0 if last.terminated else q[last.next_state][LEGAL[last.next_state]].max()
        weight = 1.0
        for t in range(len(episode) - 1, -1, -1):
            s, a = episode[t].state, episode[t].action
            total = episode[t].reward + GAMMA * total
            c[s, a] += weight
            q[s, a] += weight / c[s, a] * (total - q[s, a])
            furthest = max(furthest, len(episode) - t)
            if a != np.argmax(np.where(LEGAL[s], q[s], -np.inf)):
                break
            weight /= behaviour[t]
        tables.append(q.copy())
    check(lived[: len(tables)], tables)
    np.testing.assert_allclose(lived[len(tables) - 1].after["weights"], c, rtol=1e-12)
    assert furthest >= 5


class Episode(NamedTuple):
    """The book's S_0 .. S_T, A_0 .. A_T, R_1 .. R_T (R[0] is not used), whether S_T is an end, and Q before an update.

    Where an episode is cut, all remaining pairs learn from the value that S_T has before any of them learns.
    """

    S: list[int]
    A: list[int]
    R: list[float]
    ended: bool
    sigma: list[float]
    rho: list[float]
    before: np.ndarray


def n_step(lived, first, n, target, *, sigma=lambda done: 0.0, pi=followed):
    """Replay the loop of S&B2 p. 147: the pair of time tau learns at tau + n, the last ones at the end."""
    q, visits, tables = first["q"].copy(), np.zeros(LEGAL.shape), []
    begin = True
    for done, each in enumerate(lived):
        if begin:
            S, A, R, alphas, sigmas, rhos = [each.state], [each.action], [0.0], [], [], []
            sigmas.append(sigma(done))
            rhos.append(pi(q, each.state)[each.action] / followed(q, each.state)[each.action])
        t = len(S) - 1
        assert (S[t], A[t]) == (each.state, each.action)
        alphas.append(0.8 / (1 + visits[each.state, each.action]) ** 0.6)
        S.append(each.next_state)
        A.append(each.next_action)
        R.append(each.reward)
        episode = Episode(S, A, R, each.terminated, sigmas, rhos, q.copy())
        for tau in range(max(t - n + 1, 0), t + 1 if each.over else t - n + 2):
            q[S[tau], A[tau]] += alphas[tau] * (target(q, episode, tau, t + 1) - q[S[tau], A[tau]])
        visits[each.state, each.action] += 1
        tables.append(q.copy())
        begin = each.over
        if not begin:
            sigmas.append(sigma(done + 1))
            rhos.append(pi(q, each.next_state)[each.next_action] / followed(q, each.next_state)[each.next_action])
    return tables


@pytest.mark.parametrize("n", [1, 2, 4, 1_000])
def test_n_step_sarsa(n):
    """With n = 1,000 no pair learns before the end: every-visit Monte Carlo control, in the order of time."""

    def target(q, e, tau, h):
        total = sum(GAMMA ** (i - tau - 1) * e.R[i] for i in range(tau + 1, h + 1))
        return total if e.ended else total + GAMMA ** (h - tau) * e.before[e.S[h], e.A[h]]

    agent = rl.NStepSarsa(n=n, gamma=GAMMA, learning_rate=FADING, exploration=EXPLORATION)
    first, lived = live(agent)
    check(lived, n_step(lived, first, n, target))


@pytest.mark.parametrize("n", [1, 3])
def test_n_step_expected_sarsa(n):
    def target(q, e, tau, h):
        total = sum(GAMMA ** (i - tau - 1) * e.R[i] for i in range(tau + 1, h + 1))
        return total if e.ended else total + GAMMA ** (h - tau) * followed(e.before, e.S[h]) @ e.before[e.S[h]]

    agent = rl.NStepExpectedSarsa(n=n, gamma=GAMMA, learning_rate=FADING, exploration=EXPLORATION)
    first, lived = live(agent)
    check(lived, n_step(lived, first, n, target))


def greedy(q, state):
    return followed(q, state, epsilon=0.0)


TARGETS = {"greedy": greedy, "behaviour": followed}


@pytest.mark.parametrize("target_policy", TARGETS)
@pytest.mark.parametrize("n", [1, 3])
def test_tree_backup(n, target_policy):
    """S&B2 eq. 7.16, as the recursion that it is."""
    pi = TARGETS[target_policy]

    def target(q, e, t, h):
        if t + 1 == h:
            return e.R[h] if e.ended else e.R[h] + GAMMA * pi(e.before, e.S[h]) @ e.before[e.S[h]]
        chances = pi(q, e.S[t + 1])
        others = sum(chances[a] * q[e.S[t + 1], a] for a in range(3) if a != e.A[t + 1])
        return e.R[t + 1] + GAMMA * (others + chances[e.A[t + 1]] * target(q, e, t + 1, h))

    agent = rl.NStepTreeBackup(
        n=n, gamma=GAMMA, learning_rate=FADING, exploration=EXPLORATION, target_policy=target_policy
    )
    first, lived = live(agent)
    check(lived, n_step(lived, first, n, target))


@pytest.mark.parametrize("target_policy", TARGETS)
@pytest.mark.parametrize("n", [1, 3])
def test_q_sigma(n, target_policy):
    """S&B2 eq. 7.17, as the recursion that it is, with a sigma that falls from 1 to 0."""
    pi = TARGETS[target_policy]

    def target(q, e, t, h):
        if t + 1 == h:
            return e.R[h] if e.ended else e.R[h] + GAMMA * pi(e.before, e.S[h]) @ e.before[e.S[h]]
        s, a, chances = e.S[t + 1], e.A[t + 1], pi(q, e.S[t + 1])
        sampled = e.sigma[t + 1] * e.rho[t + 1] + (1 - e.sigma[t + 1]) * chances[a]
        return e.R[t + 1] + GAMMA * sampled * (target(q, e, t + 1, h) - q[s, a]) + GAMMA * chances @ q[s]

    agent = rl.NStepQSigma(
        n=n,
        sigma=rl.Linear(1.0, 0.0, over=250),
        gamma=GAMMA,
        learning_rate=FADING,
        exploration=EXPLORATION,
        target_policy=target_policy,
    )
    first, lived = live(agent)
    tables = n_step(lived, first, n, target, sigma=lambda done: max(0.0, 1 - done / 250), pi=pi)
    check(lived, tables)


def best(table, state):
    return table[state][LEGAL[state]].max()


def test_speedy_q_learning():
    """Rounds as the module describes them, with lists of samples in place of running means."""
    first, lived = live(rl.SpeedyQLearning(gamma=GAMMA, exploration=rl.EpsilonGreedy(1.0)), steps=1_000)
    making, present, before, tables = (first["q"].copy() for _ in range(4))
    tables, k, samples, ever = [], {}, {}, set()
    for s, a, r, s2, terminated, *_ in lived:
        ever.add((s, a))
        samples.setdefault((s, a), []).append(
            [r, r] if terminated else [r + GAMMA * best(present, s2), r + GAMMA * best(before, s2)]
        )
        of_present, of_before = np.mean(samples[s, a], axis=0)
        alpha = 1 / (k.get((s, a), 0) + 1)
        making[s, a] = present[s, a] + alpha * (of_before - present[s, a]) + (1 - alpha) * (of_present - of_before)
        if samples.keys() == ever:
            before, present = present, making.copy()
            k |= {pair: k.get(pair, 0) + 1 for pair in samples}
            samples = {}
        tables.append(making.copy())
    check(lived, tables)
    assert min(k.values()) > 10
    assert {pair: int(lived[-1].after["rounds"][pair]) for pair in k} == k


def test_speedy_q_learning_in_sweeps_is_the_synchronous_form():
    """Azar et al. 2011, the algorithm itself, where each pair has one sample a round."""
    rng = np.random.default_rng(3)
    agent = rl.SpeedyQLearning(gamma=GAMMA)
    memory = agent.init_memory(np.ones((4, 2), dtype=bool), listed_actions)
    reward, ahead = rng.normal(size=(4, 2)), rng.integers(4, size=(20, 4, 2))
    for s in range(4):  # all pairs must be known before the first round that counts
        for a in range(2):
            rl.SpeedyQLearning.step(memory, rl.Transition(s, a, 0.0, 0, True, False), rng)
    memory.learned.rounds[...] = memory.learned.samples[...] = 0  # now forget what has been learned from them
    memory.learned.pairs[1] = 0
    memory.q[...] = memory.learned.present[...] = memory.learned.before[...] = 0.0
    present, before = np.zeros((4, 2)), np.zeros((4, 2))
    for k in range(20):
        alpha = 1 / (k + 1)
        of_present = reward + GAMMA * present.max(axis=1)[ahead[k]]
        of_before = reward + GAMMA * before.max(axis=1)[ahead[k]]
        new = present + alpha * (of_before - present) + (1 - alpha) * (of_present - of_before)
        for s in range(4):
            for a in range(2):
                rl.SpeedyQLearning.step(
                    memory, rl.Transition(s, a, reward[s, a], int(ahead[k, s, a]), False, False), rng
                )
        before, present = present, new
        np.testing.assert_allclose(memory.q, present, rtol=1e-12)


def test_delayed_q_learning():
    """Strehl et al. 2006, Algorithm 1, word by word."""
    m, epsilon1 = 3, 0.05
    agent = rl.DelayedQLearning(gamma=GAMMA, m=m, epsilon1=epsilon1, largest_reward=0.5)
    first, lived = live(agent, steps=2_000)
    q = first["q"].copy()
    total, heard, attempt = np.zeros(LEGAL.shape), np.zeros(LEGAL.shape, dtype=int), np.zeros(LEGAL.shape, dtype=int)
    learn, changed, tables, changes = np.ones(LEGAL.shape, dtype=bool), 0, [], 0
    for t, (s, a, r, s2, terminated, *_) in enumerate(lived, start=1):
        if learn[s, a]:
            total[s, a] += r if terminated else r + GAMMA * best(q, s2)
            heard[s, a] += 1
            if heard[s, a] == m:
                if q[s, a] - total[s, a] / m >= 2 * epsilon1:
                    q[s, a] = total[s, a] / m + epsilon1
                    changed = t
                    changes += 1
                elif attempt[s, a] >= changed:
                    learn[s, a] = False
                attempt[s, a] = t
                total[s, a], heard[s, a] = 0.0, 0
        elif attempt[s, a] < changed:
            learn[s, a] = True
        tables.append(q.copy())
    check(lived, tables)
    assert changes > 10
    np.testing.assert_array_equal(lived[-1].after["resting"], ~learn)
