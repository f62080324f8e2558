"""Contextual bandits with linear rewards against regressions computed afresh."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import NewRunWarning, ParameterError
from rlsuite_envs.bandits import contextual_bandit

STATES, ARMS, WIDTH, SEED = 12, 3, 4, 8
RNG = np.random.default_rng(0)
OF_STATES = RNG.standard_normal((STATES, WIDTH))
OF_PAIRS = RNG.standard_normal((STATES, ARMS, WIDTH))
LAYOUTS = {"one-hot": None, "states": OF_STATES, "pairs": OF_PAIRS}


class Recorder(gymnasium.Env):
    """States at random, rewards that are linear in the features and noisy, and a list of all that happened."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Discrete(STATES)
        self.action_space = gymnasium.spaces.Discrete(ARMS)
        self.story = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = int(self.np_random.integers(STATES))
        return self.state, {}

    def step(self, action):
        reward = OF_PAIRS[self.state, action] @ [1.0, -0.5, 0.2, 0.1] + 0.5 * self.np_random.standard_normal()
        self.story.append((self.state, int(action), reward))
        self.state = int(self.np_random.integers(STATES))
        return self.state, reward, False, False, {}


def live(agent, steps=300):
    env = Recorder()
    agent.learn(env, steps=steps, seed=SEED)
    return agent, env.story, np.random.default_rng(np.random.SeedSequence(SEED).spawn(3)[0])


def row(layout, state, arm):
    """The features of an arm and the number of its regression."""
    if layout == "pairs":
        return OF_PAIRS[state, arm], 0
    return (np.eye(STATES)[state] if layout == "one-hot" else OF_STATES[state]), arm


def regressions(layout, ridge):
    n_models, width = (1 if layout == "pairs" else ARMS), (STATES if layout == "one-hot" else WIDTH)
    return np.tile(ridge * np.eye(width), (n_models, 1, 1)), np.zeros((n_models, width))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lin_ucb(layout):
    """Li et al. 2010, Algorithm 1, with a fresh solution of A w = b and of A u = x in every step."""
    agent, story, _ = live(rl.LinUCB(alpha=0.7, features=LAYOUTS[layout], ridge=0.5))
    a, b = regressions(layout, 0.5)
    for state, action, reward in story:
        indices = []
        for arm in range(ARMS):
            x, model = row(layout, state, arm)
            indices.append(np.linalg.solve(a[model], b[model]) @ x + 0.7 * np.sqrt(x @ np.linalg.solve(a[model], x)))
        assert indices[action] >= max(indices) - 1e-10
        x, model = row(layout, state, action)
        a[model] += np.outer(x, x)
        b[model] += reward * x
    np.testing.assert_allclose(agent.inverse_, np.linalg.inv(a), atol=1e-12)
    np.testing.assert_allclose(agent.weights_, np.linalg.solve(a, b[:, :, None])[:, :, 0], atol=1e-12)
    predicted = [
        [row(layout, s, arm)[0] @ agent.weights_[row(layout, s, arm)[1]] for arm in range(ARMS)] for s in range(STATES)
    ]
    np.testing.assert_allclose(agent.q_, predicted, atol=1e-12)
    assert (agent.policy().argmax(axis=1) == np.argmax(predicted, axis=1)).all()
    assert [agent.act(s) for s in range(STATES)] == np.argmax(predicted, axis=1).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_linear_thompson(layout):
    """Agrawal & Goyal 2013, Algorithm 1: the same draws from the same generator, through a fresh factor of A."""
    agent, story, rng = live(rl.LinearThompson(v=0.4, features=LAYOUTS[layout], ridge=2.0))
    a, b = regressions(layout, 2.0)
    for state, action, reward in story:
        drawn = []
        for matrix, vector in zip(a, b, strict=True):
            z = rng.standard_normal(len(vector))
            spread = np.linalg.solve(np.linalg.cholesky(matrix).T, z)
            drawn.append(np.linalg.solve(matrix, vector) + 0.4 * spread)
        values = [row(layout, state, arm)[0] @ drawn[row(layout, state, arm)[1]] for arm in range(ARMS)]
        assert np.argmax(values) == action
        x, model = row(layout, state, action)
        a[model] += np.outer(x, x)
        b[model] += reward * x
    np.testing.assert_allclose(agent.factor_, np.linalg.cholesky(a), atol=1e-11)
    np.testing.assert_allclose(agent.weights_, np.linalg.solve(a, b[:, :, None])[:, :, 0], atol=1e-11)


def test_one_hot_lin_ucb_is_a_ridge_mean_for_each_arm():
    agent, story, _ = live(rl.LinUCB(ridge=2.0))
    for state in range(STATES):
        for arm in range(ARMS):
            seen = [r for s, a, r in story if (s, a) == (state, arm)]
            assert agent.q_[state, arm] == pytest.approx(sum(seen) / (2.0 + len(seen)), abs=1e-12)
            assert agent.inverse_[arm, state, state] == pytest.approx(1 / (2.0 + len(seen)), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [rl.LinUCB, rl.LinearThompson])
def test_rounding_errors_do_not_add_up(kind):
    """The matrices after 1e4 updates of badly scaled features, against those computed at once."""
    scaled = OF_PAIRS * np.array([1e-2, 1.0, 1.0, 1e2])
    agent = kind(features=scaled)
    agent.learn(contextual_bandit(OF_PAIRS[:, :, 0], std=0.5).to_env(), steps=10_000, seed=1)
    a = np.eye(WIDTH) + np.einsum("sa,sai,saj->ij", agent.visits_, scaled, scaled)
    if kind is rl.LinUCB:
        np.testing.assert_allclose(agent.inverse_[0], np.linalg.inv(a), rtol=1e-8, atol=1e-8)
        np.testing.assert_array_equal(agent.inverse_[0], agent.inverse_[0].T)
        np.testing.assert_allclose(agent.inverse_[0] @ a, np.eye(WIDTH), atol=1e-8)
    else:
        np.testing.assert_allclose(agent.factor_[0] @ agent.factor_[0].T, a, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [rl.LinUCB, rl.LinearThompson])
def test_features_carry_what_is_learned_from_state_to_state(kind):
    """200 states, each seen about ten times: with two features regret is a small part of what it is without."""
    place = np.linspace(0.0, 1.0, 200)
    env = contextual_bandit(np.stack([place, 1.0 - place], axis=1), std=0.5).to_env()
    features = np.stack([np.ones(200), place], axis=1)
    knowing, ignorant = (
        rl.train(kind(features=given), env, steps=2_000, seeds=3).stacked("regret")[:, -1] for given in (features, None)
    )
    assert knowing.max() < 0.25 * ignorant.min()


@pytest.mark.slow
def test_features_are_kept_by_files(tmp_path):
    agent, _, _ = live(rl.LinearThompson(features=OF_PAIRS))
    with pytest.warns(NewRunWarning, match="has no table that is trusted"):
        agent.save(tmp_path / "agent.npz")
    twin = rl.load(tmp_path / "agent.npz")
    assert np.array_equal(twin.features, OF_PAIRS)
    assert twin.q_.tobytes() == agent.q_.tobytes()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.LinUCB(alpha=-1), "alpha=-1 is less than 0"),
        (lambda: rl.LinUCB(ridge=0.0), "ridge=0 is not above 0"),
        (lambda: rl.LinearThompson(v=-0.5), "v=-0.5 is less than 0"),
        (lambda: rl.LinUCB(features=[1.0, 2.0]), "features have the shape (2,), not (n_states, d) or"),
        (lambda: rl.LinUCB(features=[[1.0], [np.inf]]), "features[1, 0] = inf is not a finite number"),
        (lambda: rl.LinUCB(features=[[1.0], [1.0, 2.0]]), "features are not an array of numbers"),
        (lambda: live(rl.LinUCB(features=np.ones((5, 2)))), "features have the shape (5, 2); this environment has 12"),
        (lambda: live(rl.LinearThompson(features=np.ones((12, 2, 2)))), "features have the shape (12, 2, 2); this"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value).startswith(message)
