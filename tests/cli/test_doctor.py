"""The command that says what is installed."""

import json

import rlsuite as rl


def test_it_says_what_is_installed_and_whether_loops_are_compiled(rlsuite):
    said = rlsuite("doctor")
    assert said.code == 0
    lines = {line.split("  ")[1]: line.split("  ")[-1].strip() for line in said.out.splitlines()}
    assert lines["loops"] == "compiled"
    assert lines["rlsuite"].startswith(rl.__version__)
    assert {"numpy", "numba", "torch", "cores", "machine code"} <= set(lines)


def test_as_json_and_why_loops_are_not_compiled(rlsuite, monkeypatch):
    monkeypatch.setattr("rlsuite.core.compilation._broken", ["numba cannot be imported (it is too old)"])
    monkeypatch.setattr("rlsuite.core.compilation._say_that_it_is_slow", lambda: None)
    facts = json.loads(rlsuite("doctor", "--json").out)
    assert facts["loops"] == "numba cannot be imported (it is too old)"
    assert facts["cores"] >= 1
