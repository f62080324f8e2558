"""Control methods that are equal where theory says so, and what all of them refuse."""

from itertools import product

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import LearningError, ParameterError
from rlsuite.training.legality import listed_actions

LEGAL = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1]], dtype=bool)
GAMMA = 0.9


def masked():
    """A problem of chance with illegal actions, of five states of which the last is the end; cut after 12 steps."""
    rng = np.random.default_rng(4)
    legal = np.vstack([LEGAL, np.zeros(3, dtype=bool)])
    P = rng.dirichlet(np.ones(5), size=(5, 3)) * legal[:, :, None]
    model = rl.MDP.from_arrays(P, rng.normal(size=(5, 3)), gamma=GAMMA, legal=legal, start=0)
    return gymnasium.wrappers.TimeLimit(model.to_env(), 12)


def same_tables(one, other):
    assert one.q_.tobytes() == other.q_.tobytes()
    assert one.episodes_.tobytes() == other.episodes_.tobytes()
    assert one.record_.cumulative_reward.tobytes() == other.record_.cumulative_reward.tobytes()


COMMON = {
    "gamma": GAMMA,
    "learning_rate": rl.Polynomial(1.0, power=0.7, per="visits"),  # 1 at the first visit
    "exploration": rl.EpsilonGreedy(0.3),
}
ALWAYS = {sigma: rl.Linear(sigma, sigma, over=1) for sigma in (0.0, 0.4, 1.0)}
"""Constants, of the type for which the rule has been compiled already."""


@pytest.mark.slow
def test_one_step_of_sarsa_is_sarsa_bit_for_bit():
    pair = (rl.Sarsa(**COMMON), rl.NStepSarsa(n=1, **COMMON))
    same_tables(*(agent.learn(masked(), steps=3_000, seed=5) for agent in pair))


@pytest.mark.slow
def test_one_step_of_expected_sarsa_is_expected_sarsa_bit_for_bit():
    pair = (rl.ExpectedSarsa(**COMMON), rl.NStepExpectedSarsa(n=1, **COMMON))
    same_tables(*(agent.learn(masked(), steps=3_000, seed=5) for agent in pair))


def drive(agent, transitions, legal=LEGAL, prepare=lambda memory: None):
    """Tables after each of the given transitions; whatever the rule would choose, something else is done."""
    memory = agent.init_memory(legal.copy(), listed_actions)
    rng = np.random.default_rng(0)
    type(agent).begin(memory, 0, rng)
    tables = []
    for s, a, r, s2, terminated, truncated in transitions:
        prepare(memory)
        type(agent).step(memory, rl.Transition(s, a, r, s2, terminated, truncated), rng)
        tables.append(memory.q.copy())
        if terminated or truncated:
            type(agent).begin(memory, 0, rng)
    return np.array(tables)


@pytest.fixture(scope="module")
def transitions():
    rng = np.random.default_rng(1)
    pairs = np.argwhere(LEGAL)
    ends = rng.random((400, 2)) < [0.1, 0.1]
    return [
        (*pairs[rng.integers(len(pairs))].tolist(), float(rng.normal()), int(rng.integers(4)), *map(bool, end))
        for end in ends
    ]


def close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_methods_with_a_greedy_target_are_q_learning(transitions):
    """Expected Sarsa of a greedy policy, one step of tree backup, and one step of Q(sigma) with any sigma."""
    wanted = drive(rl.QLearning(**COMMON), transitions)
    greedy = {**COMMON, "exploration": rl.EpsilonGreedy(0.0)}
    close(drive(rl.ExpectedSarsa(**greedy), transitions), wanted)
    close(drive(rl.NStepTreeBackup(n=1, **COMMON), transitions), wanted)
    for sigma in ALWAYS.values():
        close(drive(rl.NStepQSigma(n=1, sigma=sigma, target_policy="greedy", **COMMON), transitions), wanted)


def test_methods_with_the_behaviour_as_target_are_expected_sarsa(transitions):
    wanted = drive(rl.ExpectedSarsa(**COMMON), transitions)
    close(drive(rl.NStepTreeBackup(n=1, target_policy="behaviour", **COMMON), transitions), wanted)
    close(drive(rl.NStepQSigma(n=1, sigma=ALWAYS[0.4], **COMMON), transitions), wanted)


@pytest.mark.parametrize("target_policy", ["greedy", "behaviour"])
def test_q_sigma_without_sampling_is_tree_backup(transitions, target_policy):
    tree = drive(rl.NStepTreeBackup(n=4, target_policy=target_policy, **COMMON), transitions)
    sampled = drive(rl.NStepQSigma(n=4, sigma=ALWAYS[0.0], target_policy=target_policy, **COMMON), transitions)
    close(tree, sampled)


def test_n_step_methods_that_wait_for_the_end_are_monte_carlo_bit_for_bit():
    """Four rows of states, from each to the next: no pair comes twice, so that every visit is the first."""
    rng = np.random.default_rng(2)
    rows = [[4 * row + k for k in range(4)] for row in range(4)]
    successors = [
        [{ahead: 0.25 for ahead in rows[row + 1]} if row < 3 else {16: 1.0} for _ in range(3)]
        for row in range(4)
        for _ in range(4)
    ]
    model = rl.MDP.from_successors(
        [*successors, [None] * 3],
        lambda s, a, ahead: 0.0,
        gamma=GAMMA,
        start=[0.25] * 4 + [0.0] * 13,
        reward_std=rng.random((17, 3)) * (np.arange(17) < 16)[:, None],
    )
    common = {**COMMON, "learning_rate": rl.Inverse(1.0, scale=3.0, per="visits")}
    pair = [
        agent.learn(model.to_env(), episodes=500, seed=3)
        for agent in (rl.MonteCarloControl(**common), rl.NStepSarsa(n=4, **common))
    ]
    same_tables(*pair)
    assert np.abs(pair[0].q_).max() > 0.1


def targets(agent, q, paths, *, ratio=None):
    """Target of the first pair of each path: what it has learned after n steps, as its first step size is 1."""
    found = []
    for path in paths:
        memory = agent.init_memory(np.ones(q.shape, dtype=bool), listed_actions)
        memory.q[...] = q
        rng = np.random.default_rng(0)
        type(agent).begin(memory, path[0][0], rng)
        for s, a, r, s2 in path:
            if ratio is not None:
                memory.scratch.latest[1] = ratio[s, a]  # of the action of the path, not of the one it would choose
            type(agent).step(memory, rl.Transition(s, a, r, s2, False, False), rng)
        found.append(memory.q[path[0][:2]])
    return np.array(found)


def paths_of(n):
    """All paths of n steps from state 0 and action 0, and how probable their transitions are."""
    for states in product(range(2), repeat=n):
        for actions in product(range(2), repeat=n - 1):
            path, chance = [], 1.0
            for s, a, s2 in zip((0, *states[:-1]), (0, *actions), states, strict=True):
                chance *= P[s, a, s2]
                path.append((s, a, R[s, a], s2))
            yield path, chance


P = np.random.default_rng(8).dirichlet(np.ones(2), size=(2, 2))
R = np.random.default_rng(9).normal(size=(2, 2))
Q = np.random.default_rng(10).normal(size=(2, 2))


def looks_ahead(pi, n):
    """E_pi[R_1 + gamma R_2 + ... + gamma^n Q(S_n, A_n)] from state 0 and action 0, by dynamic programming."""
    value = Q
    for _ in range(n):
        value = R + GAMMA * P @ (pi * value).sum(axis=1)
    return value[0, 0]


@pytest.mark.parametrize("target_policy", ["greedy", "behaviour"])
def test_sampled_q_sigma_is_right_on_average(target_policy):
    """Sigma = 1: the mean over all paths of the behaviour is the n-step value of the target policy, off policy too."""
    behaviour = np.where(Q.max(axis=1, keepdims=True) == Q, 0.8, 0.2)  # epsilon-greedy, epsilon = 0.4
    pi = behaviour if target_policy == "behaviour" else np.round(behaviour)
    common = {**COMMON, "n": 3, "exploration": rl.EpsilonGreedy(0.4)}
    agent = rl.NStepQSigma(sigma=ALWAYS[1.0], target_policy=target_policy, **common)
    paths, weights = [], []
    for path, chance in paths_of(3):
        paths.append(path)
        weights.append(chance * np.prod([behaviour[s, a] for s, a, _, _ in path[1:]]))
    assert sum(weights) == pytest.approx(1.0)
    found = targets(agent, Q, paths, ratio=pi / behaviour)
    assert np.dot(weights, found) == pytest.approx(looks_ahead(pi, 3), rel=1e-12)
    assert np.ptp(found) > 0.1


def test_sampled_q_sigma_of_a_deterministic_policy_is_n_step_sarsa():
    common = {**COMMON, "n": 3, "exploration": rl.EpsilonGreedy(0.0)}
    paths = [path for path, _ in paths_of(3) if all(a == Q[s].argmax() for s, a, _, _ in path[1:])]
    assert len(paths) == 8
    close(targets(rl.NStepQSigma(sigma=ALWAYS[1.0], **common), Q, paths), targets(rl.NStepSarsa(**common), Q, paths))


AGENTS = {
    "expected sarsa": lambda: rl.ExpectedSarsa(**COMMON),
    "double q": lambda: rl.DoubleQLearning(**COMMON),
    "double expected sarsa": lambda: rl.DoubleExpectedSarsa(**COMMON),
    "n-step sarsa": lambda: rl.NStepSarsa(n=3, **COMMON),
    "n-step expected sarsa": lambda: rl.NStepExpectedSarsa(n=3, **COMMON),
    "tree backup": lambda: rl.NStepTreeBackup(n=3, **COMMON),
    "q(sigma)": lambda: rl.NStepQSigma(n=3, sigma=ALWAYS[0.4], target_policy="greedy", **COMMON),
    "monte carlo": lambda: rl.MonteCarloControl(gamma=GAMMA),
    "exploring starts": lambda: rl.MonteCarloExploringStarts(gamma=GAMMA),
    "off-policy monte carlo": lambda: rl.OffPolicyMonteCarlo(gamma=GAMMA),
    "speedy q": lambda: rl.SpeedyQLearning(gamma=GAMMA),
    "delayed q": lambda: rl.DelayedQLearning(gamma=GAMMA, m=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", AGENTS)
def test_both_loops_live_the_same_life(name):
    """On illegal actions and cut episodes; the conformance kit asks more."""
    compiled, stepwise = (
        AGENTS[name]().learn(masked(), steps=1_000, seed=7, loop=loop) for loop in ("compiled", "stepwise")
    )
    same_tables(compiled, stepwise)
    assert compiled.visits_.sum() == 1_000
    assert not compiled.visits_[:4][~LEGAL].any()
    assert np.isfinite(compiled.q_).all()
    assert (compiled.q_[:4][LEGAL] != compiled.initial_value).sum() > 5


@pytest.mark.parametrize("kind", [rl.MonteCarloControl, rl.OffPolicyMonteCarlo])
def test_episodes_that_are_too_long_stop_learning(kind):
    agent = kind(gamma=GAMMA, exploration=rl.RandomActions(), longest_episode=5)
    with pytest.raises(LearningError, match="larger longest_episode="):
        agent.learn(masked(), steps=1_000, seed=0)
    assert max(agent.episodes_["length"], default=0) <= 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.NStepSarsa(n=0), "n=0 is less than 1"),
        (lambda: rl.NStepSarsa(n=10**13), "n=10000000000000 needs 320,000 GB"),
        (lambda: rl.NStepTreeBackup(n=10**13), "n=10000000000000 needs 320,000 GB"),
        (lambda: rl.NStepTreeBackup(n=2.0), "n=2.0 is not a whole number"),
        (lambda: rl.NStepTreeBackup(target_policy="gredy"), "target_policy: "),
        (lambda: rl.NStepQSigma(sigma=1.5), "sigma=1.5 lies outside [0, 1]"),
        (lambda: rl.NStepQSigma(target_policy=None), "target_policy: "),
        (lambda: rl.MonteCarloControl(longest_episode=0), "longest_episode=0 is less than 1"),
        (lambda: rl.DelayedQLearning(gamma=1.0), "gamma=1 is not in [0, 1)"),
        (lambda: rl.DelayedQLearning(gamma=0.5, epsilon1=0.0), "epsilon1=0.0 is not a positive number"),
        (lambda: rl.DelayedQLearning(gamma=0.5, m=0), "m=0 is less than 1"),
        (lambda: rl.DelayedQLearning(gamma=0.5, largest_reward=np.inf), "largest_reward=inf is not a finite number"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value).startswith(message)
