"""Agents that count: their plans against planners and plain Python, their posteriors against closed forms."""

import math

import gymnasium
import numpy as np
import pytest
from scipy.optimize import linprog

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents.model_based.counted import new_counts, observe
from rlsuite.agents.model_based.posterior_sampling import draw_chances, draw_reward
from rlsuite.agents.model_based.ucrl2 import best_mean, best_reward
from rlsuite.errors import ParameterError, RewardWarning
from rlsuite.testing.problems import corridor, gamble, ring
from rlsuite.training.legality import every_action, listed_actions
from rlsuite_envs.chains import chain, river_swim

AGENTS = {
    "RMax": lambda: rl.RMax(m=5, r_max=3.0, gamma=0.9),
    "PosteriorSampling": lambda: rl.PosteriorSampling(gamma=0.9),
    "UCRL2": lambda: rl.UCRL2(r_min=-1.0, r_max=1.0),
}


def world_of(chance, reward, gamma, legal):
    """The MDP with these probabilities (n_states, n_actions, n_states + 1) of the states and the end."""
    n_states, n_actions = legal.shape
    transitions = np.zeros((n_states + 1, n_actions, n_states + 1))
    transitions[:-1] = chance
    allowed = np.vstack([legal, np.zeros((1, n_actions), dtype=bool)])
    rewards = np.vstack([reward, np.zeros((1, n_actions))])
    return rl.MDP.from_arrays(transitions, rewards, gamma=gamma, legal=allowed, start=0)


@pytest.mark.parametrize("name", ["corridor", "FrozenLake-v1"])
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")  # rewards beyond the range widen it
@pytest.mark.parametrize("agent", AGENTS)
def test_both_loops_give_the_same_bytes(agent, name):
    pair = [
        AGENTS[agent]().learn(corridor().to_env() if name == "corridor" else name, steps=1_000, seed=4, loop=loop)
        for loop in ("compiled", "stepwise")
    ]
    for one, other in zip(pair[0].memory_.learned, pair[1].memory_.learned, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    assert pair[0].q_.tobytes() == pair[1].q_.tobytes()
    assert pair[0].episodes_.tobytes() == pair[1].episodes_.tobytes()
    assert pair[0].record_.loop != pair[1].record_.loop


@pytest.mark.parametrize("problem", [corridor, gamble, ring])
def test_what_is_counted_is_what_happened(problem):
    """Outcomes add up to visits; only possible ones occur, about as often as the model says (5 standard errors)."""
    model = problem()
    agent = rl.PosteriorSampling(gamma=0.9).learn(model.to_env(), steps=3_000, seed=1)
    outcomes = agent.outcomes_.reshape(model.n_states, model.n_actions, -1)
    assert (outcomes.sum(axis=2) == agent.visits_).all()
    assert (agent.n_successors_ == (agent.outcomes_ > 0).sum(axis=1)).all()
    for pair, known in enumerate(agent.n_successors_):
        assert set(agent.successors_[pair, :known]) == set(np.flatnonzero(agent.outcomes_[pair]))
    possible = np.zeros(outcomes.shape)
    for state in range(model.n_states):
        for action, row in model.P[state].items():
            for probability, ahead, _, terminated in row:
                possible[state, action, model.n_states if terminated else ahead] += probability
    expected = possible * agent.visits_[:, :, None]
    assert (np.abs(outcomes - expected) <= 5 * np.sqrt(expected * (1 - possible)) + 1e-9).all()
    assert outcomes.sum() == 3_000


# ------------------------------------------------------------------------------------------------------------ R-max


def counted_world(agent, model, gamma, m):
    """What R-max plans for: known pairs lead where they led m times, all others to a state that pays r_max for ever."""
    n_states, n_actions = model.legal.shape
    known = agent.visits_ >= m
    chance = np.zeros((n_states + 1, n_actions, n_states + 2))
    reward = np.full((n_states + 1, n_actions), agent.largest_reward_[0])
    chance[:, :, n_states] = 1.0  # the optimistic state is the one after the last
    counted = agent.outcomes_.reshape(n_states, n_actions, -1) / m
    chance[:-1][known] = np.insert(counted[known], n_states, 0.0, axis=1)
    reward[:-1][known] = agent.mean_reward_[known]
    return world_of(chance, reward, gamma, np.vstack([model.legal, np.ones((1, n_actions), dtype=bool)]))


@pytest.mark.parametrize(("problem", "steps"), [(gamble, 30), (gamble, 300), (ring, 80), (ring, 400)])
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")  # the rewards of the gamble are normal
def test_r_max_plans_for_the_world_it_has_counted(problem, steps):
    model, m, gamma, tol = problem(), 10, 0.9, 1e-5
    agent = rl.RMax(m=m, r_max=3.0, gamma=gamma, tol=tol).learn(model.to_env(), steps=steps, seed=2)
    optimum = rl.solve(counted_world(agent, model, gamma, m), tol=1e-10).q[: model.n_states]
    assert agent.error_bound_[0] <= tol
    assert np.abs(agent.q_ - optimum)[model.legal].max() <= tol
    unknown = (agent.visits_ < m)[model.legal]
    assert unknown.any() == (steps < 300)  # both cases are there


def test_r_max_counts_m_outcomes_and_no_more():
    agent = rl.RMax(m=7, gamma=0.9, r_max=3.0)
    with pytest.warns(RewardWarning, match="normally distributed"):
        agent.learn(gamble().to_env(), steps=2_000, seed=0)
    assert (agent.outcomes_.sum(axis=1) == np.minimum(agent.visits_, 7).ravel()).all()


def test_r_max_learns_a_deterministic_world_exactly():
    """m = 1: every state that matters is explored, and the values on the best way are those of the planner."""
    model = corridor()
    optimum = rl.solve(model, tol=1e-12)
    agent = rl.RMax(m=1, r_max=10.0, gamma=0.9, tol=1e-9).learn(model.to_env(), steps=60, seed=0)
    np.testing.assert_allclose(agent.q_[model.legal], optimum.q[model.legal], atol=1e-8)


def test_a_reward_above_r_max_raises_all_hopes():
    agent = rl.RMax(m=1, r_max=1.0, gamma=0.5)
    memory = agent.init_memory(np.ones((3, 2), dtype=bool), every_action)
    assert (memory.q == 2.0).all()
    rng = np.random.default_rng(0)
    rl.RMax.step(memory, rl.Transition(0, 0, 0.0, 1, False, False), rng)
    assert memory.q[0].tolist() == [0.5 * 2.0, 2.0]
    rl.RMax.step(memory, rl.Transition(1, 0, 8.0, 0, False, False), rng)
    assert memory.learned.largest_reward[0] == 8.0
    np.testing.assert_allclose(memory.q, [[0.5 * 16, 16], [8 + 0.5 * 16, 16], [16, 16]], atol=1e-4)


def test_costs_alone_do_not_make_an_end_look_better_than_the_optimistic_value():
    """With r_max = -1 for ever, all that is unknown would be worth less than 0, which is what an end is worth."""
    agent = rl.RMax(m=1, r_max=-1.0, gamma=0.9).learn("CliffWalking-v1", steps=3_000, seed=0)
    assert agent.episodes_["return"].max() == -13.0
    assert agent.episodes_["return"][-1] == -13.0


def test_a_plan_that_was_cut_short_says_so():
    """The bound is larger than what was asked for, and it holds."""
    model = ring()
    for n in (1, 3, 30):
        agent = rl.RMax(m=2, r_max=3.0, gamma=0.95, max_iterations=n).learn(model.to_env(), steps=200, seed=0)
        optimum = rl.solve(counted_world(agent, model, 0.95, 2), tol=1e-9).q[: model.n_states]
        assert agent.iterations_[0] == n
        assert agent.error_bound_[0] > 1e-4
        assert 1e-4 < np.abs(agent.q_ - optimum)[model.legal].max() <= agent.error_bound_[0] + 1e-9


# ------------------------------------------------------------------------------------------------ posterior sampling


def seen(rewards, outcomes, agent, n_states=3):
    """The memory of an agent whose pair (0, 0) has had these rewards and outcomes (n_states: an end)."""
    memory = agent.init_memory(np.ones((n_states, 1), dtype=bool), every_action)
    rng = np.random.default_rng(0)
    for reward, outcome in zip(rewards, outcomes, strict=True):
        ended = outcome == n_states
        rl.PosteriorSampling.step(memory, rl.Transition(0, 0, reward, 0 if ended else outcome, ended, False), rng)
    return memory


def test_the_posterior_of_the_rewards_is_normal_gamma():
    """Murphy 2007, eqs. 85 to 89, from the raw rewards; the same random numbers in numpy give the same draws."""
    rewards = np.array([1.5, -2.0, 0.25, 4.0, 1.0, 1.0])
    prior = (0.5, 2.0, 3.0, 1.5)
    memory = seen(rewards, [0, 1, 2, 3, 0, 1], rl.PosteriorSampling(gamma=0.9, reward_prior=prior))
    mean, weight, shape, rate = prior
    n = rewards.size
    weight_n, shape_n = weight + n, shape + n / 2
    mean_n = (weight * mean + rewards.sum()) / weight_n
    rate_n = rate + 0.5 * (np.square(rewards).sum() + weight * mean**2 - weight_n * mean_n**2)
    rng, twin = np.random.default_rng(3), np.random.default_rng(3)
    draws = np.array([draw_reward(memory, 0, 0, rng) for _ in range(4_000)])
    for draw in draws[:50]:
        precision = twin.gamma(shape_n, 1.0) / rate_n
        assert draw == pytest.approx(mean_n + twin.standard_normal() / math.sqrt(weight_n * precision), rel=1e-12)
    # the mean reward is a Student variable: 2 shape_n degrees of freedom, variance rate_n / (weight_n (shape_n - 1))
    variance = rate_n / (weight_n * (shape_n - 1))
    assert abs(draws.mean() - mean_n) < 5 * math.sqrt(variance / draws.size)
    assert draws.var() == pytest.approx(variance, rel=0.2)


def test_the_posterior_of_the_outcomes_is_dirichlet():
    """Means and variances of 4000 draws within 5 standard errors: one of eight fails by chance once in 200,000."""
    outcomes = [0] * 6 + [1] * 3 + [3]
    memory = seen(np.zeros(10), outcomes, rl.PosteriorSampling(gamma=0.9, outcome_weight=2.0))
    parameters = np.bincount(outcomes, minlength=4) + 2.0 / 4
    total = parameters.sum()
    rng = np.random.default_rng(5)
    draws = np.empty((4_000, 4))
    for draw in draws:
        draw_chances(memory, 0, rng)
        draw[:] = memory.scratch.chance[0]
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-12)
    mean = parameters / total
    variance = mean * (1 - mean) / (total + 1)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * np.sqrt(variance / len(draws))).all()
    squares = np.square(draws - mean)
    assert (np.abs(squares.mean(axis=0) - variance) < 5 * squares.std(axis=0) / np.sqrt(len(draws))).all()
    rng, twin = np.random.default_rng(6), np.random.default_rng(6)
    draw_chances(memory, 0, rng)
    gammas = np.array([twin.gamma(parameter, 1.0) for parameter in parameters])
    np.testing.assert_allclose(memory.scratch.chance[0], gammas / gammas.sum(), rtol=1e-12)


def test_a_tiny_prior_is_drawn_as_what_it_is():
    """Weights of 1e-6 underflow all together: one outcome takes all, each equally often."""
    agent = rl.PosteriorSampling(gamma=0.9, outcome_weight=1e-6)
    memory = agent.init_memory(np.ones((3, 1), dtype=bool), every_action)
    rng = np.random.default_rng(0)
    firsts = 0
    for _ in range(400):
        draw_chances(memory, 1, rng)
        assert sorted(memory.scratch.chance[1]) == [0.0, 0.0, 0.0, 1.0]
        firsts += memory.scratch.chance[1, 0] == 1.0
    assert abs(firsts - 100) < 5 * math.sqrt(400 * 0.25 * 0.75)


@pytest.mark.parametrize("problem", [gamble, ring])
def test_the_world_that_was_drawn_is_solved(problem):
    model, tol = problem(), 1e-6
    agent = rl.PosteriorSampling(gamma=0.9, tol=tol).learn(model.to_env(), steps=200, seed=0)
    world = agent.memory_.scratch
    chance = world.chance.reshape(*model.legal.shape, -1)
    solution = rl.solve(world_of(chance, world.reward, 0.9, model.legal), tol=1e-9)
    assert np.abs(agent.q_ - solution.q[:-1])[model.legal].max() <= tol


def test_when_worlds_are_drawn():
    """In a task without episodes: once, or each time the count of a pair has doubled."""
    once = rl.PosteriorSampling(gamma=0.9, redraw="episode").learn(ring().to_env(), steps=500, seed=0)
    often = rl.PosteriorSampling(gamma=0.9, redraw="doubling").learn(ring().to_env(), steps=500, seed=0)
    assert once.planned_at_.sum() == 0
    assert often.planned_at_.sum() > 100
    since = often.visits_ - often.planned_at_
    assert (since <= np.maximum(often.planned_at_, 1)).all()


# ------------------------------------------------------------------------------------------------------------ UCRL2


def test_the_best_mean_is_the_solution_of_a_linear_program():
    """max p u over the probabilities within an L1 distance of the frequencies: HiGHS finds the same."""
    rng = np.random.default_rng(0)
    agent = rl.UCRL2()
    for distance in (0.01, 0.2, 0.7, 1.5, 2.5):
        memory = agent.init_memory(np.ones((5, 1), dtype=bool), every_action)
        for outcome in rng.choice(6, 12, p=[0.3, 0.3, 0.2, 0.1, 0.1, 0.0]):
            observe(memory, 0, 0, 0.0, int(outcome), outcome == 5, 0)
        model = memory.learned
        model.value[:] = rng.integers(0, 4, 6)  # with ties
        model.ranking[:] = np.argsort(-model.value, kind="stable")
        frequencies = model.outcomes[0] / 12
        # p = frequencies + more - less
        split = np.hstack([np.eye(6), -np.eye(6), np.eye(6)])
        answer = linprog(
            np.concatenate([-model.value, np.zeros(12)]),
            A_ub=[np.concatenate([np.zeros(6), np.ones(12)])],
            b_ub=[distance],
            A_eq=np.vstack([split, np.concatenate([np.ones(6), np.zeros(12)])]),
            b_eq=np.concatenate([frequencies, [1.0]]),
        )
        assert best_mean(model, 0, 12, distance) == pytest.approx(-answer.fun, abs=1e-9)
    assert best_mean(model, 1, 0, 0.3) == model.value.max()


def test_the_best_reward_is_a_share_of_the_range():
    model = rl.UCRL2(r_min=-10.0, r_max=30.0).tables(2, 2)
    assert best_reward(model, 0.0, 4, 0.125) == 0.375
    assert best_reward(model, 20.0, 4, 0.5) == 1.0
    assert best_reward(model, 0.0, 0, 0.0) == 1.0


class PlainUCRL2:
    """The algorithm of the paper in plain Python, without what makes it fast."""

    def __init__(self, legal, delta):
        self.legal, self.delta = legal, delta
        n_states, n_actions = legal.shape
        self.outcomes = np.zeros((n_states, n_actions, n_states + 1))
        self.rewards = np.zeros((n_states, n_actions))
        self.starts, self.u = np.zeros(n_states), np.zeros(n_states)
        self.planned_at = np.zeros((n_states, n_actions))

    def best(self, row, distance, u):
        """Fig. 2 of the paper."""
        order = np.argsort(-u, kind="stable")
        p = row / max(row.sum(), 1)
        p[order[0]] = min(1.0, p[order[0]] + distance / 2)
        for worst in order[::-1]:
            if p.sum() > 1.0:
                p[worst] = max(0.0, 1.0 - (p.sum() - p[worst]))
        return p @ u

    def plan(self, steps):
        n_states, n_actions = self.legal.shape
        tried = self.outcomes.sum(axis=2)
        self.planned_at = tried.copy()
        many = np.maximum(tried, 1)
        close = np.sqrt(7 * np.log(2 * n_states * n_actions * steps / self.delta) / (2 * many))
        near = np.sqrt(14 * n_states * np.log(2 * n_actions * steps / self.delta) / many)
        optimistic = np.where(tried > 0, np.minimum(self.rewards / many + close, 1.0), 1.0)
        for sweep in range(1, 10_000):
            u = np.append(self.u, self.starts @ self.u / self.starts.sum())
            q = np.full(self.legal.shape, -np.inf)
            for s, a in np.argwhere(self.legal):
                q[s, a] = optimistic[s, a] + self.best(self.outcomes[s, a], near[s, a], u)
            gains = q.max(axis=1) - self.u
            self.u = q.max(axis=1) - gains.min()
            if np.ptp(gains) < 1 / math.sqrt(steps):
                return q - gains.min(), (gains.max() + gains.min()) / 2, sweep
        raise AssertionError("no end")


def test_ucrl2_is_the_algorithm_of_the_paper():
    """On a recorded walk with ends and cuts; actions are those of the walk, plans are made when the rule makes them."""
    rng = np.random.default_rng(1)
    legal = np.array([[True, True], [True, False], [True, True]])
    agent = rl.UCRL2(delta=0.1)
    memory = agent.init_memory(legal, listed_actions)
    twin = PlainUCRL2(legal, 0.1)
    q, plans, state = np.zeros(legal.shape), 0, 0
    rl.UCRL2.begin(memory, state, rng)
    twin.starts[state] += 1
    for step in range(1, 1_500):
        action = int(rng.choice(np.flatnonzero(legal[state])))
        next_state, reward = int(rng.choice(3, p=[0.6, 0.3, 0.1])), float(rng.random() < 0.3)
        terminated, truncated = bool(rng.random() < 0.05), bool(rng.random() < 0.05)
        next_state = 0 if terminated else next_state  # the start, which is never an end for good
        twin.outcomes[state, action, 3 if terminated else next_state] += 1
        twin.rewards[state, action] += reward
        before = memory.learned.planned_at.copy()
        rl.UCRL2.step(memory, rl.Transition(state, action, reward, next_state, terminated, truncated), rng)
        state = next_state
        if terminated or truncated:
            state = int(rng.integers(3))
            twin.starts[state] += 1
            rl.UCRL2.begin(memory, state, rng)
        if (memory.learned.planned_at != before).any():
            plans += 1
            q, gain, sweeps = twin.plan(step)
            assert memory.learned.iterations[0] == sweeps
            assert memory.learned.gain[0] == pytest.approx(gain, abs=1e-9)
        assert (memory.learned.planned_at == twin.planned_at).all()
        np.testing.assert_allclose(memory.q[legal], q[legal], rtol=0, atol=1e-9)
    assert plans > 10


# -------------------------------------------------------------------------------------------------- deep exploration


def river():
    """The river with the rewards scaled to [0, 1]; nothing else ever ends or cuts it."""
    return gymnasium.make("rlsuite/RiverSwim-v0", left_reward=0.005, right_reward=1.0, max_episode_steps=10**9)


def finds(agent, steps, seeds=5):
    """How many of so many runs end with the optimal greedy policy: up the river from everywhere."""
    best = rl.solve(river_swim(left_reward=0.005, right_reward=1.0, gamma=0.99)).policy
    learned = [agent().learn(river(), steps=steps, seed=seed) for seed in range(seeds)]
    return sum((one.q_.argmax(axis=1) == best).all() for one in learned)


def test_optimism_and_posterior_sampling_swim_up_the_river():
    """Q-learning with epsilon 0.1 drifts down for ever: to get up, it must swim five times in a row against its plan.

    Of twenty runs each, all of R-max and of posterior sampling found the way, 18 of UCRL2, which has its phases of
    exploration, and none of Q-learning. Where nine of ten find it, fewer than three of five happen once in 117.
    """
    schedule = rl.Polynomial(1.0, power=0.6, per="visits")
    assert finds(lambda: rl.QLearning(gamma=0.99, learning_rate=schedule), 100_000) == 0
    assert finds(lambda: rl.RMax(m=100, gamma=0.99), 100_000) == 5
    assert finds(lambda: rl.PosteriorSampling(gamma=0.99), 100_000) >= 4
    assert finds(lambda: rl.UCRL2(), 1_000_000) >= 3


def test_the_chain_is_walked_to_its_end():
    """Forward for ever is optimal, and a small reward tempts to go back.

    Of twenty runs of 5000 steps, 19 of R-max and all of posterior sampling found it, none of Q-learning.
    """
    env = gymnasium.make("rlsuite/Chain-v0", max_episode_steps=10**9)
    best = rl.solve(chain(gamma=0.95)).policy
    makes = {
        "r-max": lambda: rl.RMax(m=30, r_max=10.0, gamma=0.95),
        "sampling": lambda: rl.PosteriorSampling(gamma=0.95, reward_prior=(0.0, 1.0, 1.0, 25.0)),
        "greed": lambda: rl.QLearning(gamma=0.95, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.01)),
    }
    found = {
        name: sum((make().learn(env, steps=5_000, seed=s).q_.argmax(axis=1) == best).all() for s in range(10))
        for name, make in makes.items()
    }
    assert found["r-max"] >= 9
    assert found["sampling"] >= 9
    assert found["greed"] <= 5


# ------------------------------------------------------------------------------------------------------------- doors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.RMax(gamma=1.0), "gamma=1: RMax plans for discounted rewards; give a gamma below 1, such as 0.99"),
        (lambda: rl.RMax(m=0), "m=0 is less than 1"),
        (lambda: rl.RMax(r_max=math.inf), "r_max=inf is not a finite number"),
        (lambda: rl.RMax(tol=0.0), "tol=0.0 is not a positive number"),
        (lambda: rl.PosteriorSampling(gamma=1.0), "gamma=1: PosteriorSampling plans"),
        (lambda: rl.PosteriorSampling(outcome_weight=0.0), "outcome_weight=0 is not above 0"),
        (lambda: rl.PosteriorSampling(reward_prior=(0, 1, 1)), "reward_prior=(0, 1, 1) must be four numbers"),
        (lambda: rl.PosteriorSampling(reward_prior="0111"), "reward_prior='0111' must be four numbers"),
        (lambda: rl.PosteriorSampling(reward_prior=(0, 1, 0, 1)), "reward_prior[2]=0 is not above 0"),
        (lambda: rl.PosteriorSampling(redraw="epsiode"), "unknown redraw 'epsiode'; did you mean 'episode'"),
        (lambda: rl.UCRL2(delta=1.0), "delta=1 is not in (0, 1)"),
        (lambda: rl.UCRL2(r_min=2.0), "r_min=2 is larger than r_max=1"),
        (lambda: new_counts("RMax", 10**7, 4), "RMax, which counts 10,000,001 outcomes of 40,000,000 pairs of a state"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value).startswith(message)
