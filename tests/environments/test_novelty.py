"""Novelty by density: the threshold of the lecture notes in closed form, and what a run receives."""

import gymnasium as gym
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers the grid
from rlsuite.errors import ParameterError, StepwiseWarning, UnsuitableEnvironment


@pytest.fixture
def grid():
    """The 2 x 3 grid of the lecture notes, seen as (row, column)."""
    return rl.VectorObservation.coordinates(gym.make("rlsuite/GridGoal-v0"))


def test_the_threshold_is_mean_plus_deviation_of_the_losses():
    """One Gaussian: the loss is ln(2 pi) + ln|S| / 2 plus half the squared distance."""
    known = np.random.default_rng(1).normal([-0.5, 0.0], [0.1, 0.01], (500, 2))
    env = rl.NoveltyBonus(gym.make("MountainCar-v0"), GaussianMixture(1, reg_covar=0.0), known)
    mean, covariance = known.mean(axis=0), np.cov(known.T, ddof=0)
    distance = np.einsum("ni,ij,nj->n", known - mean, np.linalg.inv(covariance), known - mean)
    losses = np.log(2 * np.pi) + np.log(np.linalg.det(covariance)) / 2 + distance / 2
    assert env.threshold == pytest.approx(losses.mean() + losses.std(), rel=1e-9)
    assert distance.mean() == pytest.approx(2.0)  # so in the mean direction the border is near sqrt(2 + 2)
    border = np.sqrt(2.0 + distance.std())
    axis = np.linalg.cholesky(covariance)[:, 0]
    assert not env.is_novel(mean + 0.99 * border * axis)
    assert env.is_novel(mean + 1.01 * border * axis)


def test_a_run_receives_the_bonus_where_nothing_was_known(grid):
    known = [[1.0, 0.0], [1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]  # the left of the row where episodes begin
    env = rl.NoveltyBonus(grid, GaussianMixture(1, reg_covar=1e-3), known, bonus=2.0)
    env.reset(seed=1)
    rewards = set()
    rng = np.random.default_rng(2)
    for _ in range(20):
        _, info = env.reset()
        over = False
        while not over:
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            observation, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
            assert info["novelty"] == (2.0 if env.is_novel(observation) else 0.0)
            rewards.add((reward, info["novelty"]))
    assert {novelty for _, novelty in rewards} == {0.0, 2.0}
    assert {reward - novelty for reward, novelty in rewards} == {0.0, 100.0}


def test_agents_step_and_learn_from_it():
    """The compiled form of the environment knows no bonus, so it is not used, which is said."""
    known = np.random.default_rng(1).normal([-0.5, 0.0], [0.05, 0.001], (100, 2))
    bare = gym.make("MountainCar-v0", max_episode_steps=50)
    env = rl.NoveltyBonus(bare, PCA(1), known, bonus=0.25)
    agent = rl.Sarsa(gamma=1.0, features=rl.approximation.TileCoding(n_tilings=2, bins=4))
    agent.learn(env, episodes=3, seed=1, loop="stepwise")
    with pytest.warns(StepwiseWarning, match="NoveltyBonus"):
        rl.Sarsa(gamma=1.0, features=rl.approximation.TileCoding(n_tilings=2, bins=4)).learn(env, episodes=1, seed=1)
    returns = agent.episodes_["return"]
    assert (returns > -50.0).any()
    assert ((4.0 * returns) % 1.0 == 0.0).all()


def test_a_keyword_asks_for_it_and_evaluations_are_without_it():
    """Known is what random actions show after a reset with a seed: the same bytes for the same seed."""
    table = {"bonus": 0.5, "known": 50, "density": {"name": "sklearn.decomposition:PCA", "n_components": 1}}
    env = rl.find_env("MountainCar-v0", novelty=table, max_episode_steps=30)
    assert not env.is_novel([0.5, 0.07])
    agents = [
        rl.Sarsa(features=rl.approximation.TileCoding(2, bins=4)).learn(
            env, episodes=4, seed=seed, loop="stepwise", evaluate_every=4
        )
        for seed in (1, 2, 1)
    ]
    assert env.is_novel([0.5, 0.07])
    assert agents[0].weights_.tobytes() == agents[2].weights_.tobytes() != agents[1].weights_.tobytes()
    assert max(agent.episodes_["return"].max() for agent in agents) > -30.0
    assert agents[0].record_.evaluation_return[-1] == -30.0
    grid = rl.find_env("rlsuite/GridGoal-v0", observe="cell", novelty=1)
    grid.reset(seed=1)  # takes legal actions
    for novelty, message in ((True, "must be the bonus"), ({"bonsu": 1.0}, "bonsu"), ({"density": {}}, "has no name")):
        with pytest.raises(ParameterError, match=message):
            rl.find_env("MountainCar-v0", novelty=novelty)
    with pytest.raises(UnsuitableEnvironment, match="observe='cell'"):
        rl.find_env("rlsuite/GridGoal-v0", novelty=1.0)


def test_what_was_observed_since_is_not_novel(grid):
    env = rl.NoveltyBonus(grid, PCA(1), [[1.0, 0.0], [1.0, 1.0], [1.01, 0.5]])
    assert env.is_novel([0.0, 2.0])
    env.fit([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]])
    assert not env.is_novel([0.0, 2.0])


def test_what_does_not_fit_is_refused(grid):
    with pytest.raises(UnsuitableEnvironment, match="VectorObservation"):
        rl.NoveltyBonus(gym.make("rlsuite/GridGoal-v0"), PCA(1), [[0.0], [1.0]])
    with pytest.raises(ParameterError, match="score_samples"):
        rl.NoveltyBonus(grid, object(), [[0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ParameterError, match=r"needed \(n, 2\)"):
        rl.NoveltyBonus(grid, PCA(1), [[0.0], [1.0]])
    with pytest.raises(ParameterError, match="not finite"):
        rl.NoveltyBonus(grid, PCA(1), [[0.0, np.nan], [1.0, 1.0]])
