from pathlib import Path

import pytest

SMALL = """
steps = 400
seeds = 3
evaluate_every = 200
record_every = 100

[[environments]]
id = "FrozenLake-v1"
label = "dry lake"
parameters = { is_slippery = false }

[[environments]]
id = "rlsuite/GridGoal-v0"

[[agents]]
name = "QLearning"
gamma = 0.9

[[agents]]
name = "q-learning"
label = "fast learner"
gamma = 0.9
learning_rate = 0.5
"""


@pytest.fixture(autouse=True)
def _environments():
    import rlsuite_envs  # noqa: F401 - registers rlsuite/*


@pytest.fixture
def toml(tmp_path):
    """A function that writes an experiment to a file, with some lines replaced."""

    def write(text=SMALL, name="small.toml", **replaced):
        for old, new in replaced.items():
            text = "\n".join(new if line.split(" = ")[0] == old else line for line in text.splitlines())
        file = tmp_path / name
        file.write_text(text)
        return file

    return write


@pytest.fixture
def tree():
    """A function from a folder to the bytes of all files below it, by relative path; empty folders are listed too."""

    def read(folder):
        folder = Path(folder)
        return {
            str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*"))
        }

    return read
