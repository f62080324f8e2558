import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from rlsuite.inference import HMM
from rlsuite.models import POMDP
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
                "evaluation_return": generator.normal(90.0, 2.0, 3),
                "value_error": np.array([3.0, 2.0, 1.0]) / (seed + 1),
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


@pytest.fixture(scope="session")
def tiger():
    """KLC98 section 5: listen, open left, open right; after opening the tiger is placed anew."""

    def build(gamma=0.95):
        stay, again = np.eye(2), np.full((2, 2), 0.5)
        return POMDP.from_arrays(
            [stay, again, again],
            [[-1.0, -1.0], [-100.0, 10.0], [10.0, -100.0]],
            [[[0.85, 0.15], [0.15, 0.85]], again, again],
            order="ass",
            gamma=gamma,
            start=[0.5, 0.5],
            state_labels=["tiger left", "tiger right"],
            action_labels=["listen", "open left", "open right"],
            observation_labels=["hear left", "hear right"],
        )

    return build


@pytest.fixture(scope="session")
def doors():
    """Three doors, a tiger behind one of them; what is heard is right with probability 0.8."""
    heard, again = np.full((3, 3), 0.1) + 0.7 * np.eye(3), np.full((3, 3), 1.0 / 3.0)
    return POMDP.from_arrays(
        [np.eye(3), again, again, again],
        [[-1.0, -1.0, -1.0], *(10.0 - 110.0 * np.eye(3))],
        [heard, again, again, again],
        order="ass",
        gamma=0.5,
        state_labels=["one", "two", "three"],
        action_labels=["listen", "open one", "open two", "open three"],
    )


@pytest.fixture
def casino():
    """A fair die and a loaded one; symbol 5 is a six."""
    loaded = [0.1] * 5 + [0.5]
    return HMM([0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], [[1 / 6] * 6, loaded], ("fair", "loaded"))


@pytest.fixture
def labelled():
    """All lines, or patches, that carry a label."""

    def find(artists, label):
        return [artist for artist in artists if artist.get_label() == label]

    return find


@pytest.fixture(scope="session")
def movie_of():
    """Read the page of a movie: its texts, and its pictures as the page composes them."""

    def picture(text):
        with Image.open(io.BytesIO(base64.b64decode(text))) as image:
            return image.convert("RGBA")

    def read(path):
        page = json.loads(re.search(r"const page = (.*);\n", path.read_text(encoding="utf-8"))[1])
        pictures = [Image.alpha_composite(picture(page["common"]), picture(one)) for one in page["pictures"]]
        return page["texts"], [np.asarray(one.convert("RGB")) for one in pictures]

    return read
