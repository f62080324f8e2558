import gymnasium
import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite.models import MDP
from rlsuite_envs.bandits import BanditEnv, bandit


def pulls(env, actions):
    return [env.step(action) for action in actions]


def test_the_model_of_each_kind():
    assert bandit([1.0, -2.0], kind="deterministic").random_rewards is False
    normal = bandit([1.0, -2.0], std=0.5)
    assert normal.expected_reward().tolist() == [[1.0, -2.0]]
    assert normal.reward_std.tolist() == [0.5, 0.5]
    assert bandit([0.1, 0.9], kind="bernoulli").bernoulli.tolist() == [True, True]
    assert normal.n_states == 1
    assert normal.action_labels == ("arm 0", "arm 1")


@pytest.mark.parametrize("kind", ["deterministic", "normal", "bernoulli"])
def test_rewards_have_the_mean_and_the_spread_of_their_arm(kind):
    values = [0.2, 0.7]
    env = BanditEnv(values=values, kind=kind, std=0.3)
    env.reset(seed=4)
    for arm, mean in enumerate(values):
        rewards = np.array([env.step(arm)[1] for _ in range(4000)])
        std = {"deterministic": 0.0, "normal": 0.3, "bernoulli": np.sqrt(mean * (1 - mean))}[kind]
        assert abs(rewards.mean() - mean) <= 4 * std / np.sqrt(4000) + 1e-12
        assert abs(rewards.std() - std) <= 0.05 * std + 1e-12
    assert set(rewards) <= {0.0, 1.0} or kind != "bernoulli"


def test_regret_and_the_optimal_arm_are_exact():
    env = BanditEnv(values=[0.25, 1.0, 1.0, -0.5])
    assert env.reset(seed=1)[1]["optimal_action"] == 1
    infos = [env.step(arm)[4] for arm in range(4)]
    assert [info["regret"] for info in infos] == [0.75, 0.0, 0.0, 1.5]
    assert {info["optimal_action"] for info in infos} == {1}
    assert type(infos[0]["regret"]) is float
    assert type(infos[0]["optimal_action"]) is int


def test_a_seed_draws_a_new_bandit_and_a_plain_reset_keeps_it():
    env = gymnasium.make("rlsuite/Bandit-v0").unwrapped
    env.reset(seed=1)
    first = env.means
    env.reset()
    assert env.means.tolist() == first.tolist()
    env.reset(seed=2)
    assert env.means.tolist() != first.tolist()
    env.reset(seed=1)
    assert env.means.tolist() == first.tolist()


def test_the_model_holds_the_present_arms():
    env = BanditEnv(arms=4)
    for seed in (1, 2):
        env.reset(seed=seed)
        assert env.model.expected_reward()[0].tolist() == env.means.tolist()
        assert [row[0][2] for row in env.P[0].values()] == env.means.tolist()
        assert MDP.from_env(env, gamma=0.0).reward.tolist() == env.means.tolist()
    with pytest.raises(AttributeError, match="set by values="):
        env.model = bandit([0, 0, 0, 0])


def test_drawn_arms_are_those_of_the_ten_armed_testbed():
    best = []
    env = BanditEnv()
    for seed in range(2000):
        env.reset(seed=seed)
        assert env.means.shape == (10,)
        best.append(env.means.max())
    # S&B2 section 2.3: E[max of 10 standard normal numbers] = 1.538753, standard deviation about 0.587.
    assert np.mean(best) == pytest.approx(1.538753, abs=4 * 0.587 / np.sqrt(2000))


def test_drawn_bernoulli_arms_are_probabilities():
    env = BanditEnv(kind="bernoulli", arms=1000)
    env.reset(seed=1)
    assert 0 <= env.means.min() < 0.05
    assert 0.95 < env.means.max() <= 1
    assert env.means.mean() == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("kind", ["deterministic", "normal", "bernoulli"])
def test_drifting_arms_walk_and_nothing_claims_to_know_them(kind):
    env = BanditEnv(values=[0.5, 0.5], kind=kind, std=0.1, drift=0.05)
    assert not hasattr(env, "model")
    assert not hasattr(env, "P")
    assert not hasattr(env, "initial_state_distrib")
    env.reset(seed=3)
    steps = []
    for _ in range(3000):
        before = env.means
        _, reward, *_, info = env.step(1)
        assert info["regret"] == before.max() - before[1]
        assert info["optimal_action"] == before.argmax()
        assert reward == before[1] or kind != "deterministic"
        steps.append(env.means - before)
    if kind == "bernoulli":
        assert 0.0 <= env.means.min() <= env.means.max() <= 1.0
    else:
        assert np.std(steps) == pytest.approx(0.05, rel=0.05)
    env.reset(seed=3)
    assert env.means.tolist() == [0.5, 0.5]


def test_drifting_rewards_follow_the_arms_of_the_moment():
    env = BanditEnv(values=[0.0], std=0.1, drift=1.0)
    env.reset(seed=5)
    errors = []
    for _ in range(2000):
        mean = env.means[0]
        errors.append(env.step(0)[1] - mean)
    assert np.std(errors) == pytest.approx(0.1, rel=0.07)


def test_a_bandit_is_one_state_that_never_ends():
    env = gymnasium.make("rlsuite/Bandit-v0", arms=3)
    env.reset(seed=1)
    outcomes = [env.step(2) for _ in range(1000)]
    assert {(o[0], o[2]) for o in outcomes} == {(0, False)}
    assert [o[3] for o in outcomes] == [False] * 999 + [True]


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"kind": "gauss"}, "unknown kind 'gauss'"),
        ({"arms": 0}, "arms=0"),
        ({"arms": 3, "values": [1, 2]}, "arms=3, but values has 2 entries; leave arms out"),
        ({"values": []}, r"values=\[\] has 0 entries"),
        ({"values": 3}, "values=3 is not a sequence"),
        ({"values": [0.5, 1.5], "kind": "bernoulli"}, r"values\[1\]=1.5 is not a number in \[0, 1\]"),
        ({"values": [0.5, None]}, r"values\[1\]=None is not a finite number"),
        ({"std": -1}, "std=-1"),
        ({"drift": -0.1}, "drift=-0.1"),
        ({"gamma": 3}, "gamma=3"),
    ],
)
def test_bad_keywords_are_named(kwargs, words):
    with pytest.raises(ParameterError, match=words):
        BanditEnv(**kwargs)
    with pytest.raises(ParameterError, match=words):
        gymnasium.make_vec("rlsuite/Bandit-v0", num_envs=2, **kwargs)


# ------------------------------------------------------------------------------------------------- vectorised


def test_every_copy_has_arms_of_its_own():
    envs = gymnasium.make_vec("rlsuite/Bandit-v0", num_envs=500)
    _, infos = envs.reset(seed=1)
    assert envs.means.shape == (500, 10)
    assert len(np.unique(envs.means)) == 5000
    assert not hasattr(envs, "model")
    assert infos["optimal_action"].tolist() == envs.means.argmax(axis=1).tolist()
    means = envs.means
    actions = np.arange(500) % 10
    _, rewards, _, _, infos = envs.step(actions)
    pulled = means[np.arange(500), actions]
    assert infos["regret"].tolist() == (means.max(axis=1) - pulled).tolist()
    assert np.std(rewards - pulled) == pytest.approx(1.0, abs=0.15)
    assert envs.means is means
    envs.reset()
    assert envs.means is means
    envs.reset(seed=2)
    assert envs.means.tolist() != means.tolist()


def test_given_arms_are_the_same_in_every_copy():
    envs = gymnasium.make_vec("rlsuite/Bandit-v0", num_envs=3, values=[0.1, 0.9], kind="bernoulli")
    assert envs.model.expected_reward().tolist() == [[0.1, 0.9]]
    _, infos = envs.reset(seed=1)
    assert infos["optimal_action"].tolist() == [1, 1, 1]
    rewards = np.array([envs.step([1, 0, 1])[1] for _ in range(500)])
    assert set(rewards.ravel()) == {0.0, 1.0}
    assert rewards.mean(axis=0) == pytest.approx([0.9, 0.1, 0.9], abs=0.06)


@pytest.mark.parametrize("kind", ["deterministic", "normal", "bernoulli"])
def test_the_rewards_of_copies_in_plain_python(kind):
    envs = gymnasium.make_vec("rlsuite/Bandit-v0", num_envs=4, arms=3, kind=kind, std=0.5, drift=0.1)
    envs.reset(seed=6)
    rng = np.random.default_rng(6)
    rng.random(4)
    means = rng.random((4, 3)) if kind == "bernoulli" else rng.standard_normal((4, 3))
    assert envs.means.tolist() == means.tolist()
    for actions in np.random.default_rng(0).integers(0, 3, (50, 4)):
        rng.random(4)
        noise = {"deterministic": lambda: np.zeros(4), "normal": lambda: rng.standard_normal(4),
                 "bernoulli": lambda: rng.random(4)}[kind]()  # fmt: skip
        wanted = []
        for i, arm in enumerate(actions):
            mean = means[i][arm]
            wanted.append(float(noise[i] < mean) if kind == "bernoulli" else mean + 0.5 * noise[i])
        _, rewards, _, _, infos = envs.step(actions)
        assert rewards.tolist() == wanted
        assert infos["regret"].tolist() == [max(m) - m[arm] for m, arm in zip(means, actions, strict=True)]
        means = means + 0.1 * rng.standard_normal((4, 3))
        if kind == "bernoulli":
            means = means.clip(0, 1)
        assert envs.means.tolist() == means.tolist()


def test_a_copy_that_is_being_reset_pulls_no_arm():
    envs = gymnasium.make_vec("rlsuite/Bandit-v0", num_envs=2, drift=0.5, max_episode_steps=2)
    envs.reset(seed=1)
    envs.step([0, 0])
    envs.reset(options={"reset_mask": np.array([True, False])})
    envs.step([0, 0])
    before = envs.means
    _, rewards, _, _, infos = envs.step([0, 0])
    assert rewards[1] == 0.0
    assert infos["_regret"].tolist() == [True, False]
    assert infos["_optimal_action"].tolist() == [True, True]
    assert (envs.means[1] == before[1]).all()
    assert (envs.means[0] != before[0]).all()
