import numpy as np
import pytest

from rlsuite.training.results import Record, Results


@pytest.fixture
def results_of():
    """Make the results of an agent: random curves of `seeds` seeds, with as many episodes each as asked for."""

    def make(agent="QLearning", seeds=12, *, environment="rlsuite/GridGoal-v0", episodes=None, **fields):
        records = []
        for seed in range(seeds):
            generator = np.random.default_rng([seed, len(agent)])
            n_episodes = 60 if episodes is None else episodes[seed]
            values = {
                "loop": "compiled",
                "unit": "steps",
                "episode_return": generator.normal(50.0, 10.0, n_episodes),
                "episode_length": generator.integers(1, 9, n_episodes),
                "time": np.arange(10, 510, 10),
                "cumulative_reward": np.cumsum(generator.normal(1.0, 1.0, 50)),
                "regret": np.cumsum(generator.exponential(1.0, 50)),
                "evaluation_time": np.array([100, 200, 300]),
                "evaluation": generator.normal(70.0, 2.0, 3),
                "optimal_value": 81.0,
            }
            records.append(Record(seed=seed, **(values | fields)))
        return Results(agent, environment, records)

    return make


@pytest.fixture
def caption_of():
    """Read the caption below the axes, its lines joined."""

    def read(ax):
        [caption] = [text.get_text() for text in ax.texts if text.get_gid() == "caption"]
        return caption.replace("\n", " ")

    return read
