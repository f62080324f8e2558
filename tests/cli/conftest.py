import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rlsuite.cli import main
from rlsuite.inference import HMM


@pytest.fixture
def rlsuite(capsys, monkeypatch, tmp_path):
    """Run a command in this process and in an empty folder; its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(code=code, out=printed.out, err=printed.err)

    return run


@pytest.fixture
def rlsuite_json(rlsuite):
    """Run a command with --json and return what it printed, read."""

    def run(*arguments):
        done = rlsuite(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    return run


@pytest.fixture
def rlsuite_process(tmp_path):
    """Run a command in a process of its own, as a user would."""

    def run(*arguments, **options):
        program = "import sys; from rlsuite.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", program, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, **options)

    return run


TIGER = """
discount: 0.95
values: reward
states: tiger-left tiger-right
actions: listen open-left open-right
observations: hear-left hear-right
T: * uniform
T: listen identity
O: * uniform
O: listen
0.85 0.15
0.15 0.85
R: listen : * : * : * -1
R: open-left : tiger-left : * : * -100
R: open-left : tiger-right : * : * 10
R: open-right : tiger-left : * : * 10
R: open-right : tiger-right : * : * -100
"""


@pytest.fixture
def tiger_file(tmp_path):
    """Write the tiger of KLC98 to a file in the folder of the commands; its name."""
    (tmp_path / "tiger.pomdp").write_text(TIGER)
    return "tiger.pomdp"


@pytest.fixture
def umbrella_file(tmp_path):
    """Write the umbrella world to a file in the folder of the commands: 0 is an umbrella, 1 is none; its name."""
    umbrella = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], state_labels=["rain", "dry"])
    umbrella.write(tmp_path / "umbrella.npz")
    return "umbrella.npz"
