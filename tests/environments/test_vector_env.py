import copy
import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit, TransformReward

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.environments.vector_env import TabularVectorEnv
from rlsuite.errors import ParameterError, UnsuitableEnvironment, UntrustedTable
from rlsuite.models import MDP, POMDP

MODES = list(AutoresetMode)


# ------------------------------------------------------------------- one step at a time, in plain Python


def pick(probabilities, u):
    """Gymnasium's rule, spelled out."""
    total = 0.0
    for k, p in enumerate(probabilities):
        total += p
        if total > u:
            return k
    return 0


class PlainCopies:
    """The copies of a vector environment, simulated one by one from the documented order of draws."""

    def __init__(self, model, num_envs, mode, limit):
        self.model, self.n, self.mode, self.limit = model, num_envs, mode, limit
        self.mdp = model.mdp if isinstance(model, POMDP) else model

    def start(self, i, u):
        self.s[i] = pick(self.mdp.start, u)
        self.seen[i] = self.model.n_observations if isinstance(self.model, POMDP) else self.s[i]
        self.age[i] = 0

    def reset(self, seed):
        self.rng = np.random.default_rng(seed)
        self.s, self.seen, self.age, self.over = ([0] * self.n for _ in range(4))
        for i, u in enumerate(self.rng.random(self.n)):
            self.start(i, u)
        return list(self.seen)

    def restart(self, copies):
        for i, u in zip(copies, self.rng.random(len(copies)), strict=True):
            self.start(i, u)
            self.over[i] = False
        return list(self.seen)

    def step(self, actions):
        mdp, n_actions = self.mdp, self.mdp.n_actions
        u = self.rng.random(self.n)
        z = self.rng.standard_normal(self.n) if mdp.reward_std is not None else None
        v = self.rng.random(self.n) if mdp.bernoulli is not None else None
        w = self.rng.random(self.n) if isinstance(self.model, POMDP) else None
        out = []
        for i, action in enumerate(actions):
            if self.over[i] and self.mode is AutoresetMode.NEXT_STEP:
                self.start(i, u[i])
                self.over[i] = False
                out.append((self.seen[i], 0.0, False, False, None))
                continue
            row = mdp.P[self.s[i]][action]
            self.age[i] += 1
            reward, terminated = 0.0, not mdp.legal[self.s[i]].any()
            if row:
                pair = self.s[i] * n_actions + action
                _, self.s[i], reward, terminated = row[pick([p for p, *_ in row], u[i])]
                if mdp.bernoulli is not None and mdp.bernoulli[pair]:
                    reward = float(v[i] < reward)
                elif mdp.reward_std is not None and mdp.reward_std[pair]:
                    reward += mdp.reward_std[pair] * z[i]
                self.seen[i] = self.s[i]
                if w is not None:
                    self.seen[i] = pick(self.model.observation[action, self.s[i]], w[i])
            truncated = self.limit is not None and self.age[i] >= self.limit
            self.over[i] = terminated or truncated
            out.append([self.seen[i], reward, terminated, truncated, None])
        if self.mode is AutoresetMode.SAME_STEP:
            ended = [i for i in range(self.n) if self.over[i]]
            for i in ended:
                out[i][4] = out[i][0]
            for i, seen in enumerate(self.restart(ended)):
                out[i][0] = seen
        return out


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [None, 4])
@pytest.mark.parametrize("name", ["noisy", "masked", "hidden", "lake"])
def test_it_does_what_one_copy_after_the_other_would_do(models, name, limit, mode):
    model = getattr(models, name)
    n = 7
    fast = TabularVectorEnv(model, n, max_episode_steps=limit, autoreset_mode=mode)
    plain = PlainCopies(model, n, mode, limit)
    assert fast.reset(seed=21)[0].tolist() == plain.reset(21)
    choose = np.random.default_rng(4)
    ends = 0
    for _ in range(200):
        actions = choose.integers(0, model.n_actions, n)
        observations, rewards, terminations, truncations, infos = fast.step(actions)
        wanted = plain.step(actions.tolist())
        assert observations.tolist() == [one[0] for one in wanted]
        assert rewards.tolist() == [one[1] for one in wanted]
        assert terminations.tolist() == [one[2] for one in wanted]
        assert truncations.tolist() == [one[3] for one in wanted]
        over = terminations | truncations
        ends += over.sum()
        if mode is AutoresetMode.SAME_STEP and over.any():
            assert infos["final_obs"].tolist() == [one[4] for one in wanted]
        if mode is AutoresetMode.DISABLED and over.any():
            found = fast.reset(options={"reset_mask": over})[0]
            assert found.tolist() == plain.restart(np.flatnonzero(over).tolist())
    assert fast.np_random.bit_generator.state == plain.rng.bit_generator.state
    assert ends > 0 or (limit is None and name in ("noisy", "hidden"))


# ----------------------------------------------------------------------- against Gymnasium's own vectoriser


@pytest.fixture
def certain():
    """A deterministic problem with illegal actions and an end, so that random numbers make no difference."""
    return MDP.from_successors(
        [[1, 0, None], [2, None, 0], [3, 1, 2], [None, None, None]], [[1, 2, 0], [3, 0, 4], [5, 6, 7], [0, 0, 0]],
        gamma=0.9, start=0,
    )  # fmt: skip


def sorted_info(infos):
    return {key: sorted_info(infos[key]) if isinstance(infos[key], dict) else infos[key] for key in sorted(infos)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [None, 1, 5])
@pytest.mark.parametrize("observed", [False, True])
def test_every_mode_gives_what_gymnasiums_sync_vector_env_gives(certain, limit, mode, observed):
    model = POMDP(certain, np.tile(np.eye(4)[[1, 0, 3, 2]], (3, 1, 1))) if observed else certain

    def make_one():
        env = TabularEnv(model)
        return env if limit is None else TimeLimit(env, limit)

    n = 5
    theirs = SyncVectorEnv([make_one] * n, autoreset_mode=mode)
    ours = TabularVectorEnv(model, n, max_episode_steps=limit, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"] is mode
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert data_equivalence(
        (ours.reset(seed=1)[0], sorted_info(ours.reset(seed=1)[1])),
        (theirs.reset(seed=1)[0], sorted_info(theirs.reset(seed=1)[1])),
        exact=True,
    )
    choose = np.random.default_rng(8)
    for _ in range(150):
        actions = choose.integers(0, 3, n)
        *found, our_infos = ours.step(actions)
        *wanted, their_infos = theirs.step(actions)
        assert data_equivalence(tuple(found), tuple(wanted), exact=True)
        assert data_equivalence(sorted_info(our_infos), sorted_info(their_infos), exact=True)
        over = found[2] | found[3]
        if mode is AutoresetMode.DISABLED and over.any():
            mine, my_infos = ours.reset(options={"reset_mask": over})
            other, other_infos = theirs.reset(options={"reset_mask": over.copy()})
            assert mine.tolist() == other.tolist()
            assert data_equivalence(sorted_info(my_infos), sorted_info(other_infos), exact=True)


def test_transitions_have_the_frequencies_of_the_table():
    model = MDP.from_env("FrozenLake-v1", gamma=0.9)
    envs = TabularVectorEnv(model, 20_000, max_episode_steps=20)
    states, _ = envs.reset(seed=5)
    counts = np.zeros((16, 4, 16))
    choose = np.random.default_rng(6)
    for _ in range(60):
        actions = choose.integers(0, 4, 20_000)
        acting = ~envs.waiting
        ahead = envs.step(actions)[0]
        np.add.at(counts, (states[acting], actions[acting], ahead[acting]), 1)
        states = ahead
    probability, _ = model.dense()
    visits = counts.sum(axis=2, keepdims=True)
    tried = np.broadcast_to(visits > 1000, counts.shape)
    assert tried.sum() > 16 * 4 * 10
    assert not counts[tried & (probability == 0.0)].any()
    spread = np.sqrt(probability * (1 - probability) * visits)
    # Five standard deviations over some hundred frequencies: one run in ten thousand would fail by chance.
    assert (np.abs(counts - probability * visits)[tried] <= 5 * spread[tried]).all()


# ---------------------------------------------------------------------------------------------- the contract


def test_what_rounding_leaves_over_is_the_first_entry(models):
    class Greatest:
        def random(self, n):
            return np.full(n, 1 - 2**-53)

    mdp = MDP.from_arrays([[[0, 1 - 5e-9]], [[0, 1]]], [0, 0], gamma=0.9, start=[0, 1 - 5e-9])
    observation = np.array([[[0, 1, 0], [0, 0.5, 0.5 - 5e-9]]])
    envs = TabularVectorEnv(POMDP(mdp, observation), 2)
    envs.np_random = Greatest()
    envs.reset()
    assert envs.states.tolist() == [0, 0]
    # The row of state 0 has one entry, which leads to state 1; there observation 0 is impossible but for rounding.
    assert envs.step([0, 0])[0].tolist() == [0, 0]
    assert envs.states.tolist() == [1, 1]


def test_illegal_actions_are_certain_to_do_nothing(models):
    envs = TabularVectorEnv(models.masked, 3)
    envs.reset(seed=1)
    envs.states[:] = [0, 1, 2]
    observations, rewards, terminations, _, infos = envs.step([1, 1, 0])
    assert observations[[0, 2]].tolist() == [0, 2]
    assert rewards.tolist() == [0.0, 2.0, 0.0]
    assert terminations.tolist() == [False, False, True]
    assert infos["prob"].tolist() == [1.0, 0.5, 1.0]
    assert infos["illegal_action"].tolist() == [True, False, True]


def test_seeds(models):
    envs = TabularVectorEnv(models.lake, 50)

    def episode(**kwargs):
        envs.reset(**kwargs)
        return [envs.step(np.full(50, 2))[0].tolist() for _ in range(10)]

    assert episode(seed=3) == episode(seed=3)
    assert envs.np_random_seed == 3
    assert episode(seed=3) != episode(seed=4)
    several = list(range(50))
    assert episode(seed=several) == episode(seed=several)
    assert envs.np_random_seed == -1
    assert episode(seed=several) != episode(seed=several[::-1])
    generator = envs.np_random
    envs.reset(seed=[None] * 50)
    assert envs.np_random is generator


def test_a_reset_mask_leaves_the_others_alone(models):
    envs = TabularVectorEnv(models.noisy, 4, max_episode_steps=3)
    envs.reset(seed=3)
    before = envs.step(np.ones(4, dtype=int))[0]
    mask = np.array([True, False, False, True])
    observations, infos = envs.reset(options={"reset_mask": mask})
    assert observations[1:3].tolist() == before[1:3].tolist()
    assert infos["_prob"].tolist() == mask.tolist()
    assert infos["prob"].tolist() == [0.5, 0.0, 0.0, 0.5]
    assert envs.step(np.ones(4, dtype=int))[3].tolist() == [False] * 4
    assert envs.step(np.ones(4, dtype=int))[3].tolist() == [False, True, True, False]


def parts(info):
    """The arrays of numbers in an info, which may hold others."""
    for value in info.values():
        if isinstance(value, dict):
            yield from parts(value)
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            yield value


@pytest.mark.parametrize("mode", MODES)
def test_nothing_that_was_returned_changes_later(models, mode):
    envs = TabularVectorEnv(models.masked, 6, max_episode_steps=2, autoreset_mode=mode)
    returned = [envs.reset(seed=1)]
    at_once = []
    for _ in range(6):
        at_once.append(copy.deepcopy(returned[-1]))
        returned.append(envs.step(np.zeros(6, dtype=int)))
        over = returned[-1][2] | returned[-1][3]
        if mode is AutoresetMode.DISABLED and over.any():
            at_once.append(copy.deepcopy(returned[-1]))
            returned.append(envs.reset(options={"reset_mask": over}))
    assert data_equivalence(tuple(returned[: len(at_once)]), tuple(at_once), exact=True)
    for i, one in enumerate(returned):
        for other in returned[:i]:
            assert not np.shares_memory(one[0], other[0])
            assert not any(np.shares_memory(*pair) for pair in itertools.product(parts(one[-1]), parts(other[-1])))
    rewards = returned[-1][1] if len(returned[-1]) == 5 else returned[-2][1]
    rewards[:] = 99.0
    assert not (envs._rewards == 99.0).any()


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"num_envs": 0}, "num_envs=0 is less than 1"),
        ({"num_envs": 2.5}, "num_envs=2.5"),
        ({"max_episode_steps": 0}, "max_episode_steps=0"),
        ({"autoreset_mode": "NextStp"}, "unknown autoreset_mode 'NextStp'; did you mean 'NextStep'"),
        ({"render_mode": "human"}, "render_mode='human'"),
    ],
)
def test_bad_keywords_are_named(models, kwargs, words):
    with pytest.raises(ParameterError, match=words):
        TabularVectorEnv(models.lake, **kwargs)


def test_bad_calls_are_named(models):
    envs = TabularVectorEnv(models.lake, 3, autoreset_mode="Disabled", max_episode_steps=1)
    envs.reset(seed=1)
    with pytest.raises(ParameterError, match=r"actions\[1\]=4 is not an action; the actions are 0..3"):
        envs.step([0, 4, 0])
    with pytest.raises(ParameterError, match=r"actions\[2\]=-1"):
        envs.step([0, 0, -1])
    with pytest.raises(ParameterError, match=r"shape \(2,\); integers of shape \(3,\)"):
        envs.step([0, 0])
    with pytest.raises(ParameterError, match="dtype float64"):
        envs.step([0.0, 0.0, 0.0])
    with pytest.raises(ParameterError, match="2 seeds for num_envs=3"):
        envs.reset(seed=[1, 2])
    with pytest.raises(ParameterError, match="give all seeds or none"):
        envs.reset(seed=[1, None, 2])
    for mask in (np.array([True, False]), np.zeros(3, dtype=bool), np.array([1, 0, 0])):
        with pytest.raises(ParameterError, match=r"reset_mask.*at least one True"):
            envs.reset(options={"reset_mask": mask})
    envs.step([0, 0, 0])
    with pytest.raises(ParameterError, match=r"copies 0, 1, 2 are over.*reset_mask"):
        envs.step([0, 0, 0])


def test_a_refused_reset_changes_nothing(models):
    envs = TabularVectorEnv(models.noisy, 3)
    envs.reset(seed=1)
    state = envs.np_random.bit_generator.state
    with pytest.raises(ParameterError):
        envs.reset(seed=5, options={"reset_mask": np.zeros(3, dtype=bool)})
    assert envs.np_random.bit_generator.state == state


def test_minus_one_means_no_limit_as_in_gymnasium(models):
    envs = TabularVectorEnv(models.noisy, 2, max_episode_steps=-1)
    envs.reset(seed=1)
    assert not any(envs.step([0, 0])[3].any() for _ in range(50))


def test_render_draws_every_copy(models):
    envs = TabularVectorEnv(models.noisy, 3, render_mode="ansi")
    states, _ = envs.reset(seed=1)
    frames = envs.render()
    assert [frame.splitlines()[1] for frame in frames] == ["start"] * 3
    ahead = envs.step([0, 0, 0])[0]
    boxes, rewards = ["[0]  1", " 0  [1]"], [1, 3]
    assert [frame.splitlines() for frame in envs.render()] == [
        [boxes[after], f"action 0, reward {rewards[before]}"] for before, after in zip(states, ahead, strict=True)
    ]
    envs.reset(options={"reset_mask": np.array([True, False, True])})
    assert ["start" in frame for frame in envs.render()] == [True, False, True]
    assert TabularVectorEnv(models.noisy, 3).render() is None
    pixels = TabularVectorEnv(models.noisy, 2, render_mode="rgb_array")
    pixels.reset(seed=1)
    assert [frame.dtype for frame in pixels.render()] == [np.uint8] * 2


# ------------------------------------------------------------------------------------------- from environments


@pytest.mark.parametrize(
    ("name", "kwargs", "limit"),
    [
        ("FrozenLake-v1", {"map_name": "8x8"}, 100),
        ("CliffWalking-v1", {"is_slippery": True}, None),
        ("Taxi-v4", {"is_rainy": True}, 200),
    ],
)
def test_gymnasiums_tables_become_vector_environments(name, kwargs, limit):
    envs = TabularVectorEnv.from_env(name, num_envs=8, **kwargs)
    wanted = MDP.from_env(name, gamma=1.0, **kwargs)
    assert envs.model.n_transitions == wanted.n_transitions
    envs.reset(seed=2)
    truncations = np.array([envs.step(np.zeros(8, dtype=int))[3] for _ in range(limit or 300)])
    # Nobody falls or arrives by pushing against one wall all the time, and slipping copies may.
    assert truncations[:-1].sum() == 0
    assert truncations[-1].any() == (limit is not None)


def test_an_instance_is_left_untouched():
    env = gymnasium.make("FrozenLake-v1")
    env.reset(seed=4)
    before = (env.unwrapped.s, env.unwrapped.np_random.bit_generator.state)
    TabularVectorEnv.from_env(env, 4)
    assert (env.unwrapped.s, env.unwrapped.np_random.bit_generator.state) == before


class Drifting(TabularEnv):
    """Its step does more than its model says."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, reward + 0.5, *rest


def test_a_table_that_is_not_the_whole_truth_is_refused(models):
    with pytest.raises(UntrustedTable, match="Taxi-v4: at reset it draws other random numbers"):
        TabularVectorEnv.from_env("Taxi-v4", fickle_passenger=True)
    with pytest.raises(UntrustedTable, match=r"Drifting: at state ., action . its table says reward"):
        TabularVectorEnv.from_env(Drifting(models.noisy))
    doubled = TransformReward(gymnasium.make("FrozenLake-v1"), lambda r: 2 * r)
    with pytest.raises(UntrustedTable, match="FrozenLake-v1 is wrapped in TransformReward"):
        TabularVectorEnv.from_env(doubled)
    with pytest.raises(UnsuitableEnvironment, match="no transition table"):
        TabularVectorEnv.from_env("Blackjack-v1")


def test_an_environment_that_draws_itself_draws_its_copies(models):
    class Drawing:
        def ansi(self, state, action=None, reward=None, caption=""):
            return f"<{state}>"

    env = TabularEnv(models.noisy, drawing=Drawing())
    envs = TabularVectorEnv.from_env(env, 2, render_mode="ansi")
    states, _ = envs.reset(seed=1)
    assert envs.render() == tuple(f"<{state}>" for state in states)
