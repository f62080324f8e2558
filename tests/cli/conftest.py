import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rlsuite.cli import main


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
