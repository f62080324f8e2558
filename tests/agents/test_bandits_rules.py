"""Bandits against plain Python, written from the equations and run on the bandits' own pulls and rewards."""

import math

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.agents.bandits.kl_ucb import bernoulli_bound, negative_entropy
from rlsuite.errors import ParameterError, RewardWarning
from rlsuite.registry import agent_classes
from rlsuite.training.legality import every_action
from rlsuite_envs.bandits import bandit, contextual_bandit

STATES, ARMS, STEPS, SEED = 3, 4, 400, 5
MEANS = np.array([[0.1, 0.8, 0.3, 0.6], [0.5, 0.5, 0.2, 0.9], [0.7, 0.1, 0.4, 0.3]])


class Recorder(gymnasium.Env):
    """Three states that follow one another at random, four arms, and a list of all that happened."""

    def __init__(self, kind="normal"):
        self.observation_space = gymnasium.spaces.Discrete(STATES)
        self.action_space = gymnasium.spaces.Discrete(ARMS)
        self.kind = kind
        self.story = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return 0, {}

    def step(self, action):
        mean = MEANS[self.state, action]
        noise = self.np_random.standard_normal()
        rewards = {"normal": mean + noise, "bernoulli": float(self.np_random.random() < mean), "bounded": mean}
        reward = rewards[self.kind]
        self.story.append((self.state, int(action), reward))
        self.state = int(self.np_random.integers(STATES))
        return self.state, reward, False, len(self.story) % 50 == 0, {}


def live(agent, kind="normal", steps=STEPS):
    """The agent after some steps, what happened, and a generator as the agent's was at the beginning."""
    env = Recorder(kind)
    agent.learn(env, steps=steps, seed=SEED)
    return agent, env.story, np.random.default_rng(np.random.SeedSequence(SEED).spawn(3)[0])


def follow(agent, story, index):
    """Every arm pulled had the largest index, or was one that was never pulled before; the means at the end."""
    rewards = [[[] for _ in range(ARMS)] for _ in range(STATES)]
    for state, action, reward in story:
        seen = rewards[state]
        t = sum(map(len, seen))
        indices = [index(state, arm, seen[arm], t) if seen[arm] else math.inf for arm in range(ARMS)]
        assert indices[action] >= max(indices) - 1e-12
        seen[action].append(reward)
    means = [[np.mean(arm) if arm else 0.0 for arm in seen] for seen in rewards]
    np.testing.assert_allclose(agent.q_, means, atol=1e-12)
    assert agent.visits_.tolist() == [[len(arm) for arm in seen] for seen in rewards]


def test_ucb1():
    def index(state, arm, seen, t):
        return np.mean(seen) + 1.5 * math.sqrt(2 * math.log(t) / len(seen))

    follow(*live(rl.UCB1(c=1.5))[:2], index)


def test_ucbv():
    def index(state, arm, seen, t):
        e = 0.7 * math.log(t)
        return np.mean(seen) + math.sqrt(2 * np.var(seen) * e / len(seen)) + 3 * 0.25 * e / len(seen)

    agent, story, _ = live(rl.UCBV(c=0.25, zeta=0.7))
    follow(agent, story, index)
    for state in range(STATES):
        for arm in range(ARMS):
            seen = [r for s, a, r in story if (s, a) == (state, arm)]
            assert agent.squares_[state, arm] == pytest.approx(np.var(seen) * len(seen), abs=1e-11)


def test_moss():
    def index(state, arm, seen, t):
        return np.mean(seen) + 2.0 * math.sqrt(max(math.log(150 / (ARMS * len(seen))), 0) / len(seen))

    follow(*live(rl.MOSS(horizon=150, c=2.0))[:2], index)


def divergence(p, q):
    """d(p, q) of two Bernoulli distributions, in nats."""
    first = p * math.log(p / q) if p else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def bisection(p, level):
    """The largest q in [p, 1] with d(p, q) <= level."""
    low, high = p, 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle < 1.0 and divergence(p, middle) <= level else (low, middle)
    return low


@pytest.mark.parametrize("kind", ["bernoulli", "bounded"])
def test_kl_ucb(kind):
    def index(state, arm, seen, t):
        level = math.log(t) + 3 * math.log(max(math.log(t), 1))
        return bisection(np.mean(seen), level / len(seen))

    follow(*live(rl.KLUCB(c=3.0), kind)[:2], index)


def test_kl_ucb_on_another_interval():
    """Between -1 and 3 the index is that of the rewards scaled to [0, 1], scaled back."""

    def index(state, arm, seen, t):
        return 4 * bisection((np.mean(seen) + 1) / 4, math.log(t) / len(seen)) - 1

    follow(*live(rl.KLUCB(low=-1.0, high=3.0), "bounded")[:2], index)


@given(st.floats(0, 1), st.floats(1e-6, 50))
def test_the_kl_bound_solves_its_equation(p, level):
    q = kl_bound(p, level)
    assert p <= q <= 1.0
    assert q <= p + math.sqrt(level / 2) + 1e-12  # Pinsker: half the width of UCB1, whose level is the same
    assert q == pytest.approx(bisection(p, level), abs=1e-9)
    if q < 1.0 - 1e-6 and p < 1.0:
        assert divergence(p, q) == pytest.approx(level, abs=1e-9 * max(1.0, level))


def kl_bound(p, level):
    return bernoulli_bound(p, negative_entropy(p), level)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=2, max_size=6), st.integers(0, 99))
def test_kl_ucb_spares_no_arm_that_might_be_the_best(arms, seed):
    """Arms with so many pulls, and so many rewards of 1 among them: the choice is the largest index, computed for all.

    Few different numbers, so that arms tie often; each of those is then chosen with the same probability.
    """
    agent = rl.KLUCB(c=3.0)
    memory = agent.init_memory(np.ones((1, len(arms)), dtype=bool), every_action)
    rng = np.random.default_rng(seed)
    for arm, (pulls, ones) in enumerate(arms):
        for pull in range(pulls):
            type(agent).step(memory, rl.Transition(0, arm, float(pull < ones), 0, True, False), rng)
    level = memory.learned.level(memory, 0)
    indices = np.array([memory.learned.score(memory, 0, arm, level) for arm in range(len(arms))])
    best = np.flatnonzero(indices == indices.max())
    chosen = [rl.choose(memory, 0, rng) for _ in range(20 * len(best))]
    assert set(chosen) <= set(best.tolist())
    assert len(set(chosen)) >= min(2, len(best))  # one of two or more twenty times as often: never, 2^-39


def test_kl_bounds_by_hand():
    assert kl_bound(0.0, math.log(2)) == pytest.approx(0.5, abs=1e-15)  # -ln(1 - q) = ln 2
    assert kl_bound(0.5, 0.5 * math.log(4 / 3)) == pytest.approx(0.75, abs=1e-15)  # -ln(4 q (1 - q)) / 2
    assert kl_bound(1.0, 3.0) == 1.0
    assert kl_bound(0.3, 0.0) == 0.3
    assert kl_bound(0.5, 1e4) == 1.0
    assert kl_bound(1.2, 1.0) == 1.0


def test_normal_kl_ucb_is_ucb1_with_the_standard_deviation():
    def index(state, arm, seen, t):
        return np.mean(seen) + 0.5 * math.sqrt(2 * math.log(t) / len(seen))

    follow(*live(rl.KLUCBNormal(std=0.5))[:2], index)


def softmax(preferences):
    weights = np.exp(np.array(preferences) - np.max(preferences))
    return weights / weights.sum()


def check_frequencies(draws):
    """Arms drawn against their probabilities: within five standard errors of the sum."""
    surplus, variance = np.zeros(ARMS), np.zeros(ARMS)
    for action, p in draws:
        surplus += (np.arange(ARMS) == action) - p
        variance += p * (1 - p)
    assert (np.abs(surplus) < 5 * np.sqrt(variance)).all()


@pytest.mark.parametrize("baseline", ["average", "none"])
def test_gradient_bandit(baseline):
    agent, story, _ = live(rl.GradientBandit(learning_rate=0.3, baseline=baseline))
    preferences = np.zeros((STATES, ARMS))
    seen = [[] for _ in range(STATES)]
    draws = []
    for state, action, reward in story:
        pi = softmax(preferences[state])
        draws.append((action, pi))
        base = (np.mean(seen[state]) if seen[state] else reward) if baseline == "average" else 0.0
        preferences[state] += 0.3 * (reward - base) * ((np.arange(ARMS) == action) - pi)
        seen[state].append(reward)
    np.testing.assert_allclose(agent.q_, preferences, atol=1e-12)
    np.testing.assert_allclose(agent.mean_reward_, [np.mean(rewards) for rewards in seen], atol=1e-12)
    np.testing.assert_allclose(agent.policy(), [softmax(row) for row in preferences], atol=1e-12)
    check_frequencies(draws)


def test_a_baseline_makes_the_gradient_bandit_blind_to_a_shift():
    """All rewards 100 higher: the same preferences with a baseline, and others without."""
    for baseline, same in (("average", True), ("none", False)):
        near, far = (
            rl.GradientBandit(baseline=baseline).learn(bandit([m, m + 1.0]).to_env(), steps=200, seed=1)
            for m in (0.0, 100.0)
        )
        assert np.allclose(near.q_, far.q_, atol=1e-9) == same


def test_exp3():
    agent, story, _ = live(rl.EXP3(epsilon=0.2), "bernoulli")
    logs = np.zeros((STATES, ARMS))
    draws = []
    for state, action, reward in story:
        p = 0.8 * softmax(logs[state]) + 0.2 / ARMS
        draws.append((action, p))
        logs[state, action] += 0.2 * (reward / p[action]) / ARMS
    np.testing.assert_allclose(agent.q_, logs, atol=1e-12)
    np.testing.assert_allclose(agent.policy(), [0.8 * softmax(row) + 0.2 / ARMS for row in logs], atol=1e-12)
    check_frequencies(draws)


def test_what_was_committed_to_is_pulled_for_ever_even_if_others_are_as_good():
    agent = rl.ExploreThenCommit(m=3).learn(bandit([1.0] * 4, kind="deterministic").to_env(), steps=1_000, seed=6)
    assert sorted(agent.visits_[0].tolist()) == [3, 3, 3, 991]
    assert agent.visits_[0, agent.committed_[0]] == 991
    chances = np.empty(4)
    rl.chances(agent.memory_, 0, chances)
    assert chances.tolist() == (np.arange(4) == agent.committed_[0]).tolist()


def test_exp3_neither_overflows_nor_loses_probability():
    """1e5 rounds of rewards of 1: the weights themselves would be beyond the largest number long before."""
    agent = rl.EXP3(epsilon=0.5).learn(bandit([1.0, 0.0, 1.0], kind="deterministic").to_env(), steps=100_000, seed=2)
    assert agent.q_.max() > 710.0  # exp(710) overflows
    assert np.isfinite(agent.q_).all()
    assert agent.policy().sum() == pytest.approx(1.0, abs=1e-12)
    assert agent.policy().min() >= 0.5 / 3


def test_thompson_bernoulli():
    """The same draws from the same generator: the same arms, and Beta(alpha + successes, beta + failures)."""
    agent, story, rng = live(rl.ThompsonBernoulli(alpha=2.0, beta=0.5), "bernoulli")
    alpha, beta = np.full((STATES, ARMS), 2.0), np.full((STATES, ARMS), 0.5)
    for state, action, reward in story:
        assert np.argmax([rng.beta(alpha[state, arm], beta[state, arm]) for arm in range(ARMS)]) == action
        alpha[state, action] += reward
        beta[state, action] += 1 - reward
    assert agent.alpha_.tolist() == alpha.tolist()
    assert agent.beta_.tolist() == beta.tolist()
    np.testing.assert_allclose(agent.q_, alpha / (alpha + beta), atol=1e-15)


def test_a_reward_between_0_and_1_is_a_success_as_often_as_it_says():
    agent = rl.ThompsonBernoulli().learn(bandit([0.3], kind="deterministic").to_env(), steps=20_000, seed=3)
    successes, failures = agent.alpha_[0, 0] - 1, agent.beta_[0, 0] - 1
    assert successes + failures == 20_000
    assert abs(successes - 6_000) < 5 * math.sqrt(20_000 * 0.3 * 0.7)
    outside = rl.ThompsonBernoulli()
    with pytest.warns(RewardWarning, match="the rewards -2 and 7"):
        outside.learn(bandit([-2.0, 7.0], kind="deterministic").to_env(), steps=100, seed=3)
    assert outside.alpha_[0, 0] == outside.beta_[0, 1] == 1.0


def test_thompson_normal():
    """The posterior of the lecture notes, corrected: precision 1/s0^2 + n/s^2, mean weighted by these terms."""
    agent, story, rng = live(rl.ThompsonNormal(initial_value=0.5, prior_std=2.0, std=1.5))
    rewards = [[[] for _ in range(ARMS)] for _ in range(STATES)]

    def posterior(state, arm):
        n, total = len(rewards[state][arm]), sum(rewards[state][arm])
        precision = 1 / 2.0**2 + n / 1.5**2
        return (0.5 / 2.0**2 + total / 1.5**2) / precision, precision

    for state, action, reward in story:
        beliefs = [posterior(state, arm) for arm in range(ARMS)]
        assert np.argmax([rng.normal(mean, precision**-0.5) for mean, precision in beliefs]) == action
        rewards[state][action].append(reward)
    beliefs = np.array([[posterior(state, arm) for arm in range(ARMS)] for state in range(STATES)])
    np.testing.assert_allclose(agent.q_, beliefs[:, :, 0], atol=1e-12)
    np.testing.assert_allclose(agent.precision_, beliefs[:, :, 1], atol=1e-11)


def test_thompson_normal_gamma():
    """The posterior after n rewards with mean x and sum of squares S about it (Murphy 2007, eqs. 85-89)."""
    mu0, kappa0, alpha0, beta0 = 0.5, 2.0, 1.5, 0.7
    agent, story, rng = live(rl.ThompsonNormalGamma(initial_value=mu0, kappa=kappa0, alpha=alpha0, beta=beta0))
    rewards = [[[] for _ in range(ARMS)] for _ in range(STATES)]

    def posterior(state, arm):
        seen = rewards[state][arm]
        n, x = len(seen), np.mean(seen) if seen else 0.0
        squares = sum((r - x) ** 2 for r in seen)
        kappa, alpha = kappa0 + n, alpha0 + n / 2
        beta = beta0 + squares / 2 + kappa0 * n * (x - mu0) ** 2 / (2 * kappa)
        return (kappa0 * mu0 + n * x) / kappa, kappa, alpha, beta

    for state, action, reward in story:
        drawn = []
        for arm in range(ARMS):
            mu, kappa, alpha, beta = posterior(state, arm)
            drawn.append(rng.normal(mu, 1 / math.sqrt(kappa * rng.gamma(alpha, 1 / beta))))
        assert np.argmax(drawn) == action
        rewards[state][action].append(reward)
    beliefs = np.array([[posterior(state, arm) for arm in range(ARMS)] for state in range(STATES)])
    for name, column in (("q_", 0), ("kappa_", 1), ("alpha_", 2), ("beta_", 3)):
        np.testing.assert_allclose(getattr(agent, name), beliefs[:, :, column], rtol=1e-12)


def test_explore_then_commit():
    agent, story, _ = live(rl.ExploreThenCommit(m=7))
    pulled = [[[] for _ in range(ARMS)] for _ in range(STATES)]
    for state, action, reward in story:
        if min(map(len, pulled[state])) < 7:
            assert len(pulled[state][action]) < 7
        else:
            assert action == np.argmax([np.mean(seen[:7]) for seen in pulled[state]])
        pulled[state][action].append(reward)
    np.testing.assert_allclose(agent.q_, [[np.mean(seen[:7]) for seen in row] for row in pulled], atol=1e-12)


def test_successive_elimination():
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


def test_sliding_window_ucb():
    agent, story, _ = live(rl.SlidingWindowUCB(window=25, c=0.8))
    recent = [[] for _ in range(STATES)]
    for state, action, reward in story:
        seen = [[r for a, r in recent[state] if a == arm] for arm in range(ARMS)]
        width = 0.8 * math.sqrt(math.log(max(len(recent[state]), 1)))
        indices = [np.mean(arm) + width / math.sqrt(len(arm)) if arm else math.inf for arm in seen]
        assert indices[action] >= max(indices) - 1e-12
        recent[state] = [*recent[state], (action, reward)][-25:]
    for state in range(STATES):
        seen = [[r for a, r in recent[state] if a == arm] for arm in range(ARMS)]
        assert agent.weight_[state].tolist() == [len(arm) for arm in seen]
        for arm in range(ARMS):
            if seen[arm]:
                assert agent.q_[state, arm] == pytest.approx(np.mean(seen[arm]), abs=1e-12)


def test_the_sums_of_a_window_do_not_drift():
    """A reward of 1e9 that has left the window leaves nothing behind; it would, where sums are only kept up."""
    agent = rl.SlidingWindowUCB(window=30)
    memory = agent.init_memory(np.ones((1, 1), dtype=bool), every_action)
    for reward in [1e9] + 100 * [0.1]:
        rl.SlidingWindowUCB.step(memory, rl.Transition(0, 0, reward, 0, True, False), np.random.default_rng(0))
    assert memory.q[0, 0] == pytest.approx(0.1, abs=1e-12)


def test_discounted_ucb():
    agent, story, _ = live(rl.DiscountedUCB(discount=0.9, c=0.7))
    weight, total = np.zeros((STATES, ARMS)), np.zeros((STATES, ARMS))
    for state, action, reward in story:
        n = weight[state]
        with np.errstate(divide="ignore", invalid="ignore"):
            bonus = 0.7 * np.sqrt(np.log(max(n.sum(), 1)) / n)
            indices = np.where(n > 0, total[state] / n + bonus, math.inf)
        assert indices[action] >= indices.max() - 1e-9
        weight[state] *= 0.9
        total[state] *= 0.9
        weight[state, action] += 1
        total[state, action] += reward
    np.testing.assert_allclose(agent.weight_, weight, atol=1e-12)
    np.testing.assert_allclose(agent.q_, total / weight, atol=1e-9)


def test_a_few_indices_by_hand():
    """Rewards 1, 0, 1 of the first arm and 0.5 of the second, after which t = 4."""
    ln4 = math.log(4)
    for agent, expected in [
        (rl.UCB1(), (2 / 3 + math.sqrt(2 * ln4 / 3), 0.5 + math.sqrt(2 * ln4))),
        (rl.UCBV(zeta=1.0), (2 / 3 + math.sqrt(2 * (2 / 9) * ln4 / 3) + ln4, 0.5 + 3 * ln4)),
        (rl.MOSS(horizon=12), (2 / 3 + math.sqrt(math.log(2) / 3), 0.5 + math.sqrt(math.log(6)))),
        (rl.KLUCB(c=3.0), (bisection(2 / 3, (ln4 + 3 * math.log(ln4)) / 3), bisection(0.5, ln4 + 3 * math.log(ln4)))),
        (rl.KLUCBNormal(std=2.0), (2 / 3 + 2 * math.sqrt(2 * ln4 / 3), 0.5 + 2 * math.sqrt(2 * ln4))),
    ]:
        memory = agent.init_memory(np.ones((1, 2), dtype=bool), every_action)
        for arm, reward in [(0, 1.0), (0, 0.0), (1, 0.5), (0, 1.0)]:
            type(agent).step(memory, rl.Transition(0, arm, reward, 0, True, False), np.random.default_rng(0))
        level = memory.learned.level(memory, 0)
        assert [memory.learned.score(memory, 0, arm, level) for arm in (0, 1)] == pytest.approx(expected, rel=1e-14)


def test_contextual_bandit():
    means = [[0.1, 0.9], [0.7, 0.3], [0.5, 0.5]]
    one = contextual_bandit(means, kind="bernoulli")
    np.testing.assert_allclose(one.expected_reward(), means, rtol=1e-15)
    assert one.start.tolist() == pytest.approx([1 / 3] * 3)
    assert one.gamma == 0.0
    assert sorted(set(one.probability.tolist())) == [1 / 3]
    assert one.next_state.tolist() == [0, 1, 2] * 6
    turns = contextual_bandit(means, std=0.5, order="in turn")
    assert turns.start.tolist() == [1.0, 0.0, 0.0]
    env = turns.to_env()
    assert env.reset(seed=1)[0] == 0
    assert [env.step(0)[0] for _ in range(5)] == [1, 2, 0, 1, 2]
    assert turns.reward_std.tolist() == [0.5] * 6
    with pytest.raises(ParameterError, match="unknown order 'shuffled'"):
        contextual_bandit(means, order="shuffled")
    with pytest.raises(ParameterError, match=r"means have the shape \(0,\)|\(1, 0\)"):
        contextual_bandit([])
    with pytest.raises(ParameterError, match="is not a number in"):
        contextual_bandit([[0.5, 1.5]], kind="bernoulli")


BANDITS = [kind for name, kind in agent_classes().items() if kind.__module__.startswith("rlsuite.agents.bandits.")]


@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")
@pytest.mark.parametrize("kind", BANDITS)
def test_both_loops_on_grids_of_gymnasium(kind):
    """Rewards far outside [0, 1], ends, and many states: whatever the rule makes of them, it is the same."""
    for name in ("CliffWalking-v1", "FrozenLake-v1"):
        compiled, stepwise = (kind().learn(name, steps=400, seed=4, loop=loop) for loop in ("compiled", "stepwise"))
        assert compiled.visits_.sum() == 400
        assert compiled.visits_.tobytes() == stepwise.visits_.tobytes()
        assert compiled.q_.tobytes() == stepwise.q_.tobytes()
        assert compiled.policy().tobytes() == stepwise.policy().tobytes()
        assert np.isfinite(compiled.q_).all()


class FickleArms(gymnasium.Env):
    """Two states, four arms of which only some exist at a time; which ones, the mask says anew after every pull."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Discrete(2)
        self.action_space = gymnasium.spaces.Discrete(4)

    def info(self):
        self.mask = self.np_random.random(4) < 0.4
        self.mask[self.np_random.integers(4)] = True
        return {"action_mask": self.mask.astype(np.int8)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, self.info()

    def step(self, action):
        assert self.mask[action]
        return int(self.np_random.integers(2)), float(self.np_random.random()), False, False, self.info()


@pytest.mark.parametrize("kind", BANDITS)
def test_arms_may_come_and_go(kind):
    agent = kind().learn(FickleArms(), steps=1_000, seed=6)
    assert agent.visits_.sum() == 1_000
    assert (agent.visits_ > 10).all()
    assert np.isfinite(agent.q_).all()
    np.testing.assert_allclose(agent.policy().sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.GradientBandit(baseline="mean"), "unknown baseline 'mean'"),
        (lambda: rl.GradientBandit(learning_rate=2.0), "learning_rate=2.0 lies outside [0, 1]"),
        (lambda: rl.UCB1(c=-1.0), "c=-1 is less than 0"),
        (lambda: rl.UCBV(zeta=math.nan), "zeta=nan is not a finite number"),
        (lambda: rl.MOSS(horizon=0), "horizon=0 is less than 1"),
        (lambda: rl.KLUCB(low=1.0), "low=1 is not below high=1"),
        (lambda: rl.KLUCBNormal(std="1"), "std='1' is not a finite number"),
        (lambda: rl.ThompsonBernoulli(beta=0.0), "beta=0 is not above 0"),
        (lambda: rl.ThompsonNormal(prior_std=-2.0), "prior_std=-2 is not above 0"),
        (lambda: rl.ThompsonNormalGamma(kappa=0), "kappa=0 is not above 0"),
        (lambda: rl.EXP3(epsilon=1.5), "epsilon=1.5 lies outside [0, 1]"),
        (lambda: rl.EXP3(epsilon=0), "epsilon=0 is not in (0, 1]: as the step size"),
        (lambda: rl.EXP3(epsilon=0.0), "epsilon=0 is not in (0, 1]: as the step size"),
        (lambda: rl.ExploreThenCommit(m=2.5), "m=2.5 is not a whole number"),
        (lambda: rl.SuccessiveElimination(delta=1.0), "delta=1 is not in (0, 1)"),
        (lambda: rl.SlidingWindowUCB(window=0), "window=0 is less than 1"),
        (lambda: rl.DiscountedUCB(discount=1.0), "discount=1 is not in (0, 1)"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value).startswith(message)
