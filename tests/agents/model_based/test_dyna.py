"""Dyna and prioritized sweeping against plain Python written from the book's boxes, planners, and published figures."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import ParameterError
from rlsuite.testing.problems import corridor, gamble
from rlsuite.training.legality import listed_actions
from rlsuite_envs.changing_maze import changing_maze
from rlsuite_envs.gridworld import grid_world

N_STATES, N_ACTIONS = 7, 3


def experience(seed, steps=400):
    """A walk through a random world, where some actions do not exist and some steps end or cut the episode."""
    rng = np.random.default_rng(seed)
    legal = rng.random((N_STATES, N_ACTIONS)) < 0.7
    legal[np.arange(N_STATES), rng.integers(0, N_ACTIONS, N_STATES)] = True
    walk, state = [], 0
    for _ in range(steps):
        action = int(rng.choice(np.flatnonzero(legal[state])))
        next_state = int(rng.integers(N_STATES))
        terminated, truncated = bool(rng.random() < 0.1), bool(rng.random() < 0.1)
        walk.append((state, action, float(rng.standard_normal()), next_state, terminated, truncated))
        state = 0 if terminated or truncated else next_state
    return legal, walk


class Plain:
    """What the agents share, in plain Python: epsilon-greedy choice, maximum and step size 1 / (1 + visits) ** 0.6."""

    def __init__(self, legal, gamma, epsilon, seed):
        self.actions = [np.flatnonzero(row).tolist() for row in legal]
        self.q = {(s, a): 0.0 for s in range(N_STATES) for a in range(N_ACTIONS)}
        self.visits = dict.fromkeys(self.q, 0)
        self.gamma, self.epsilon, self.rng = gamma, epsilon, np.random.default_rng(seed)
        self.model, self.time = {}, 0

    def best(self, state):
        return max(self.q[state, a] for a in self.actions[state])

    def rate(self, pair):
        return 1.0 / (1.0 + self.visits[pair]) ** 0.6

    def error(self, pair, reward, next_state):
        return reward + (0.0 if next_state is None else self.gamma * self.best(next_state)) - self.q[pair]

    def update(self, pair, reward, next_state):
        self.q[pair] += self.rate(pair) * self.error(pair, reward, next_state)

    def choose(self, state):
        actions = self.actions[state]
        if self.rng.random() >= self.epsilon:
            actions = [a for a in actions if self.q[state, a] == self.best(state)]
            if len(actions) == 1:
                return actions[0]
        return actions[int(self.rng.random() * len(actions))]


class PlainDyna(Plain):
    def step(self, state, action, reward, next_state, over, n, kappa=None):
        pair = (state, action)
        self.update(pair, reward, next_state)
        if kappa is not None:
            for a in self.actions[state]:
                self.model.setdefault((state, a), (0.0, state, 0))
        self.visits[pair] += 1
        self.time += 1
        self.model[pair] = (reward, next_state, self.time)
        known = list(self.model)  # in the order in which they became known
        for _ in range(n):
            drawn = known[int(self.rng.random() * len(known))]
            reward_then, next_then, tried = self.model[drawn]
            bonus = 0.0 if kappa is None else kappa * (self.time - tried) ** 0.5
            self.update(drawn, reward_then + bonus, next_then)
        return None if over else self.choose(next_state)


class PlainSweeping(Plain):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.queue = {}

    def consider(self, pair, theta):
        priority = abs(self.error(pair, *self.model[pair]))
        if priority > theta:
            self.queue[pair] = max(priority, self.queue.get(pair, 0.0))

    def step(self, state, action, reward, next_state, over, n, theta):
        self.model[state, action] = (reward, next_state)
        self.visits[state, action] += 1
        self.consider((state, action), theta)
        for _ in range(n):
            if not self.queue:
                break
            urgent = min(self.queue, key=lambda pair: (-self.queue[pair], pair))
            del self.queue[urgent]
            self.update(urgent, *self.model[urgent])
            for pair, (_, successor) in self.model.items():
                if successor == urgent[0]:
                    self.consider(pair, theta)
        return None if over else self.choose(next_state)


RATE = rl.Polynomial(1.0, power=0.6, per="visits")
COMMON = {"gamma": 0.9, "learning_rate": RATE, "exploration": rl.EpsilonGreedy(0.3)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("agent", "plain", "parameters"),
    [
        (rl.DynaQ(n=7, **COMMON), PlainDyna, (7,)),
        (rl.DynaQPlus(n=7, kappa=0.05, **COMMON), PlainDyna, (7, 0.05)),
        (rl.PrioritizedSweeping(n=4, theta=0.02, **COMMON), PlainSweeping, (4, 0.02)),
    ],
    ids=["DynaQ", "DynaQPlus", "PrioritizedSweeping"],
)
def test_the_rule_is_that_of_the_book(agent, plain, parameters, seed):
    legal, walk = experience(seed)
    memory = agent.init_memory(legal, listed_actions)
    rng = np.random.default_rng(seed)
    twin = plain(legal, 0.9, 0.3, seed)
    for state, action, reward, next_state, terminated, truncated in walk:
        over = terminated or truncated
        t = rl.Transition(state, action, reward, next_state, terminated, truncated)
        chosen = type(agent).step(memory, t, rng)
        expected = twin.step(state, action, reward, None if terminated else next_state, over, *parameters)
        # where a step is terminated and not cut, the next state is only known to the caller
        assert over or chosen == expected
        np.testing.assert_allclose(memory.q, np.reshape(list(twin.q.values()), memory.q.shape), rtol=0, atol=1e-12)
    if plain is PlainSweeping:
        waiting = {divmod(int(pair), N_ACTIONS) for pair in memory.learned.heap[: memory.learned.n_waiting[0]]}
        assert waiting == set(twin.queue)
        for pair, priority in twin.queue.items():
            assert memory.learned.priority[pair[0] * N_ACTIONS + pair[1]] == pytest.approx(priority, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", "gamble"])
def test_dyna_q_without_planning_is_q_learning_bit_for_bit(name, loop):
    common = {"gamma": 0.9, "learning_rate": 0.3, "exploration": rl.EpsilonGreedy(0.2)}
    with_model, without = (
        agent.learn(gamble().to_env() if name == "gamble" else name, steps=1_000, seed=3, loop=loop)
        for agent in (rl.DynaQ(n=0, **common), rl.QLearning(**common))
    )
    assert with_model.q_.tobytes() == without.q_.tobytes()
    assert with_model.episodes_.tobytes() == without.episodes_.tobytes()
    known = with_model.pairs_[: with_model.n_pairs_[0]]
    assert sorted(known) == np.flatnonzero(with_model.visits_).tolist()


AGENTS = {
    "DynaQ": lambda: rl.DynaQ(n=5, gamma=0.9, learning_rate=0.5),
    "DynaQPlus": lambda: rl.DynaQPlus(n=5, kappa=1e-5, gamma=0.9, learning_rate=0.5),
    "PrioritizedSweeping": lambda: rl.PrioritizedSweeping(n=5, gamma=0.9),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["corridor", "CliffWalking-v1", "FrozenLake-v1"])
@pytest.mark.parametrize("agent", AGENTS)
def test_both_loops_give_the_same_bytes(agent, name):
    pair = [
        AGENTS[agent]().learn(corridor().to_env() if name == "corridor" else name, steps=1_500, seed=4, loop=loop)
        for loop in ("compiled", "stepwise")
    ]
    for one, other in zip(pair[0].memory_.learned, pair[1].memory_.learned, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    assert pair[0].q_.tobytes() == pair[1].q_.tobytes()
    assert pair[0].episodes_.tobytes() == pair[1].episodes_.tobytes()
    assert pair[0].record_.loop != pair[1].record_.loop


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_the_shortest_way_through_the_maze_is_found(agent):
    """14 steps (S&B2 Fig. 8.2), by all of them; the planner agrees about every value on it."""
    model = grid_world("DynaMaze", gamma=0.9).model
    optimum = rl.solve(model, tol=1e-9).value
    learner = AGENTS[agent]().learn(model.to_env(), steps=20_000, seed=0)
    state, values, ended = int(np.flatnonzero(model.start)[0]), [], False
    while not ended and len(values) < 100:
        values.append((learner.q_[state].max(), optimum[state]))
        _, state, _, ended = model.P[state][int(learner.q_[state].argmax())][0]
    assert len(values) == 14
    if agent != "DynaQPlus":  # whose values contain bonuses
        found, wanted = np.transpose(values)
        np.testing.assert_allclose(found, wanted, rtol=1e-3)


def test_dyna_q_plus_thinks_of_what_was_never_tried_and_of_nothing_that_does_not_exist():
    agent = rl.DynaQPlus(n=50, kappa=1.0, gamma=0.5, learning_rate=0.5)
    legal = np.array([[True, True, False], [True, False, False]])
    memory = agent.init_memory(legal, listed_actions)
    rng = np.random.default_rng(0)
    for _ in range(20):
        rl.DynaQPlus.step(memory, rl.Transition(0, 0, 0.0, 0, False, False), rng)
    model = memory.learned
    assert sorted(model.pairs[: model.n_pairs[0]].tolist()) == [0, 1]  # state 1 was never left
    assert model.last_next[0].tolist() == [0, 0, -1]
    assert model.last_tried.tolist() == [[20, 0, 0], [0, 0, 0]]
    assert memory.q[0, 1] > memory.q[0, 0] > 0.0  # sqrt(20) beside sqrt(0)
    assert memory.q[0, 2] == memory.q[1].max() == 0.0


def lengths(n, seeds):
    maze = gymnasium.make("rlsuite/GridWorld-v0", map="DynaMaze", max_episode_steps=1_000_000)
    agent = rl.DynaQ(n=n, gamma=0.95, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.1))
    results = rl.train(agent, maze, episodes=50, seeds=seeds, workers=2, regret=False)
    return np.stack([record.episode_length for record in results.records]).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "published"), [(0, (705.0, 134.8, 17.9)), (5, (155.0, 17.0, 16.8)), (50, (39.8, 16.9, 16.7))]
)
def test_figure_8_2(n, published):
    """Steps of episodes 2, 10 and 50 in the Dyna maze: within 5 standard errors (of these 60 seeds)."""
    taken = lengths(n, 60)
    for episode, expected in zip((2, 10, 50), published, strict=True):
        sample = taken[:, episode - 1]
        assert abs(sample.mean() - expected) < 5 * sample.std(ddof=1) / np.sqrt(sample.size), (n, episode)


def rewards(agent, name, first, second, seeds):
    """Cumulative reward at the end of both phases, (seeds, 2)."""
    before, after = (
        gymnasium.make("rlsuite/ChangingMaze-v0", map=name, changed=changed, max_episode_steps=1_000_000)
        for changed in (False, True)
    )
    collected = []
    for seed in range(seeds):
        learner = agent().learn(before, steps=first, seed=seed)
        early = learner.record_.cumulative_reward[-1]
        learner.learn(after, steps=second, seed=1_000 + seed)
        collected.append((early, learner.record_.cumulative_reward[-1]))
    return np.array(collected)


CHANGING = {"gamma": 0.95, "exploration": rl.EpsilonGreedy(0.1)}


@pytest.mark.slow
def test_figure_8_4_the_blocking_maze():
    """After the way is blocked, Dyna-Q+ finds the other one sooner: more reward in the 2000 steps that follow.

    Twenty pairs of runs; the mean difference was 7 of its standard errors, and 3 have to be seen.
    """
    phases = ("BlockingMaze", 1_000, 2_000, 20)
    plain = rewards(lambda: rl.DynaQ(n=50, learning_rate=0.5, **CHANGING), *phases)
    curious = rewards(lambda: rl.DynaQPlus(n=50, kappa=3e-4, learning_rate=0.5, **CHANGING), *phases)
    difference = (curious - plain)[:, 1]
    assert difference.mean() > 3 * difference.std(ddof=1) / np.sqrt(difference.size)
    assert curious[:, 1].min() > 60  # all of them find it: 2000 steps are 125 of the longer ways


@pytest.mark.slow
def test_figure_8_5_the_shortcut_maze():
    """Dyna-Q never notices the shortcut; Dyna-Q+ does."""
    phases = ("ShortcutMaze", 3_000, 3_000, 10)
    plain = rewards(lambda: rl.DynaQ(n=50, learning_rate=1.0, **CHANGING), *phases)
    curious = rewards(lambda: rl.DynaQPlus(n=50, kappa=1e-3, learning_rate=1.0, **CHANGING), *phases)
    # 3000 steps are 187 long ways or 300 short ones, less what exploring costs
    assert plain[:, 1].max() < 187
    assert curious[:, 1].mean() > 187


def test_the_states_of_a_changing_maze_stay_the_same():
    for name, ways in (("BlockingMaze", (10, 16)), ("ShortcutMaze", (16, 10))):
        problems = [changing_maze(name, changed=changed, gamma=0.5) for changed in (False, True)]
        for (model, layout), way in zip(problems, ways, strict=True):
            start = int(np.flatnonzero(model.start)[0])
            assert rl.solve(model, tol=1e-12).value[start] == pytest.approx(0.5 ** (way - 1), rel=1e-6)
            assert model.n_states == problems[0].model.n_states == 47
            assert layout.has_state.sum() + layout.walls.sum() == 54
        assert (problems[0].model.start == problems[1].model.start).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.DynaQ(n=-1), "n=-1 is less than 0"),
        (lambda: rl.DynaQ(n=2.5), "n=2.5 is not a whole number"),
        (lambda: rl.DynaQPlus(kappa=-0.1), "kappa=-0.1 is less than 0"),
        (lambda: rl.PrioritizedSweeping(n=0), "n=0 is less than 1"),
        (lambda: rl.PrioritizedSweeping(theta=-1.0), "theta=-1 is less than 0"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == message
