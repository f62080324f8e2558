"""How policies of every kind are called."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation.batch import Batch
from rlsuite.errors import LearningError, NotLearned, ParameterError
from rlsuite.training.acting import acting, chosen_of
from rlsuite.training.episodes import episode_of

LAKE = "FrozenLake-v1"


def test_whatever_acts_is_asked_in_its_own_words():
    env = gymnasium.make(LAKE)

    class Recurrent:
        """As of sb3-contrib: it counts the steps of the episode in its state."""

        def predict(self, observation, state=None, episode_start=None, deterministic=False):
            assert deterministic
            assert bool(episode_start[0]) == (state is None)
            steps = 0 if state is None else state[0]
            return np.array(steps % 4), (steps + 1,)

    class Masked:
        def predict(self, observation, deterministic=False, action_masks=None):
            return np.array([int(np.flatnonzero(action_masks)[-1])]), None

    rows = np.arange(16)[:, None]
    tree = DecisionTreeClassifier(random_state=0).fit(rows, np.arange(16) % 4)
    mapping = {state: state % 4 for state in range(16)}
    policies = {
        "function": lambda state: state % 4,
        "mapping": mapping,
        "actions": [state % 4 for state in range(16)],
        "probabilities": np.eye(4)[np.arange(16) % 4],
        "classifier": tree,
        "act": SimpleNamespace(act=lambda state: state % 4),
        "stable": SimpleNamespace(predict=lambda state: (np.array([state % 4]), None)),
        "rllib": SimpleNamespace(compute_single_action=lambda state: np.int64(state % 4)),
        "keras-rl": SimpleNamespace(get_action=lambda state: np.array(state % 4)),
    }
    for name, policy in policies.items():
        act = acting("policy", policy, env, np.random.default_rng(1))
        assert [int(act(state)) for state in range(16)] == list(mapping.values()), name
        assert Batch.collect(LAKE, steps=20, policy=policy, seed=1).action.max() < 4, name
        env.action_space.contains(chosen_of("policy", act, 3, env.action_space))
    lengths = [episode_of(gymnasium.make("CliffWalking-v1"), Recurrent(), seed=1, max_steps=9).length for _ in "ab"]
    assert lengths == [9, 9]  # the second begins without a state
    assert episode_of(gymnasium.make("rlsuite/GridGoal-v0"), Masked(), seed=1, max_steps=50).length > 0

    agent = rl.QLearning().learn(LAKE, steps=500, seed=3)
    before = agent.generator_.bit_generator.state
    draws = [acting("policy", agent, env, np.random.default_rng(1)) for _ in "ab"]
    assert [draws[0](0) for _ in range(9)] == [draws[1](0) for _ in range(9)]
    assert agent.generator_.bit_generator.state == before  # it is not disturbed
    linear = rl.Sarsa(features=rl.approximation.TileCoding()).learn("MountainCar-v0", steps=200, seed=1)
    assert episode_of(gymnasium.make("MountainCar-v0"), linear, seed=1).length > 1


def test_what_cannot_act_is_answered_with_what_can():
    env = gymnasium.make(LAKE)
    mdp = rl.MDP.from_env(LAKE, gamma=0.9)
    tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
    wrong = {
        "allowed are a function from an observation": 3,
        "policy=QLearning is a class: write QLearning": rl.QLearning,
        r"policy has shape \(3,\), and FrozenLake-v1 has 16 observations and 4 actions": [0, 1, 2],
        r"policy\[2\] is 7, which is not an action; the actions are 0..3": [0, 0, 7, *[0] * 13],
        r"is \[0.5, 0.5, 0.5, 0.0\], which is not a probability .*q.argmax\(axis=1\)": np.tile(
            [0.5, 0.5, 0.5, 0.0], (16, 1)
        ),
        "dtype float64; allowed are": np.zeros(16),
        "plan for 3 steps": rl.solve(mdp, horizon=3),
        "plan over beliefs, and FrozenLake-v1 shows observations": rl.solve(tiger, horizon=2),
        "fitted to 2 numbers, and an observation of FrozenLake-v1 has 1": DecisionTreeClassifier().fit(
            [[0, 0], [1, 1]], [0, 1]
        ),
    }
    for message, policy in wrong.items():
        with pytest.raises(ParameterError, match=message):
            acting("policy", policy, env)
    with pytest.raises(NotLearned):
        acting("policy", rl.QLearning(), env)
    with pytest.raises(ParameterError, match="table of actions, and those of Pendulum-v1 are Box"):
        acting("policy", [0], gymnasium.make("Pendulum-v1"))
    for policy in ({0: 1}, [1, *[-1] * 15]):
        with pytest.raises(LearningError, match="no action for observation 3"):
            acting("policy", policy, env)(3)


@pytest.mark.slow
def test_agents_of_skrl_are_given_tensors():
    torch = pytest.importorskip("torch")

    class Agent:
        def act(self, observations, states, *, timestep, timesteps):
            assert observations.shape == (1, 4)
            return (observations[:, 2] + torch.randn(1) > 0).long()[:, None], {}

    env = gymnasium.make("CartPole-v1")
    assert episode_of(env, Agent(), seed=1) == episode_of(env, Agent(), seed=1)
    assert torch.is_grad_enabled()


def test_predictors_and_batch_methods_follow_policies_of_every_kind():
    best = rl.solve("FrozenLake-v1", gamma=0.9)
    table = np.maximum(best.policy, 0)
    tree = DecisionTreeClassifier(random_state=0).fit(np.arange(16)[:, None], table)
    kinds = [best, lambda state: int(table[state]), {state: int(table[state]) for state in range(16)}, tree]
    wanted = rl.TD(policy_to_follow=table).learn(LAKE, steps=300, seed=1)
    for policy in kinds:
        agent = rl.TD(policy_to_follow=policy).learn(LAKE, steps=300, seed=1)
        assert agent.value_.tobytes() == wanted.value_.tobytes(), policy
    linear = rl.TD(features=rl.approximation.OneHot(), policy_to_follow=best).learn(LAKE, steps=300, seed=1)
    np.testing.assert_allclose(linear.value(), wanted.value(), atol=1e-12)
    rng = np.random.default_rng(1)
    with pytest.raises(ParameterError, match="does not always do the same at observation 0: give its probabilities"):
        rl.TD(policy_to_follow=lambda state: int(rng.integers(4))).learn(LAKE, steps=9, seed=1)

    # where observations are numbers, compiled rules follow tables alone, and batch methods follow any policy
    steep = SimpleNamespace(predict=lambda seen, deterministic=False: (np.array(int(seen[1] > 0) * 2), None))
    features = rl.approximation.TileCoding()
    with pytest.raises(ParameterError, match=r"TD follows probabilities .* LSTD\(behaviour=...\)"):
        rl.TD(features=features, policy_to_follow=steep).learn("MountainCar-v0", steps=9, seed=1)
    lstd = [rl.approximation.LSTD(features=features, behaviour=steep) for _ in "ab"]
    values = [one.learn("MountainCar-v0", steps=300, seed=1).value([[-0.5, 0.0]]) for one in lstd]
    assert values[0] == values[1]
    assert values[0] < 0.0
