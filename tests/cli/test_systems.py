"""Every system of the notes from the command line does what the same does in Python; the page has both."""

import importlib
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import approximation
from rlsuite.agents.values import Linear
from rlsuite.cli import main

ROW = re.compile(r"^\| ([^|]+) \| `rlsuite ([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def systems():
    """Command and Python of each system of the table, by its name."""
    page = (Path(__file__).parents[2] / "docs" / "approximators.md").read_text(encoding="utf-8")
    return {name: (shlex.split(command), code) for name, command, code in ROW.findall(page)}


def by_command(words, capsys):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def in_python(words, code):
    known = {"rl": rl, "Linear": Linear} | {name: getattr(approximation, name) for name in approximation.__all__}
    for word in words:
        module, _, name = word.partition(":")
        if module.startswith("sklearn"):
            known[name] = getattr(importlib.import_module(module), name)
    observe = {"observe": "cell"} if "--observe" in words else {}
    env = rl.find_env("rlsuite/GridGoal-v0", **observe)
    results = rl.train(eval(code, known), env, steps=300, seeds=3, evaluate_every=300)
    return np.array([record.evaluation[-1] for record in results.records])


def same(words, code, capsys):
    printed, values = by_command(words, capsys), in_python(words, code)
    assert printed["seeds"] == [0, 1, 2]
    standard_error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(printed["mean"] - values.mean()) <= max(standard_error, 1e-9)
    assert np.isfinite(printed["mean"])
    return printed["mean"]


def test_there_are_twenty_systems_and_the_first_is_the_same(systems, capsys):
    assert len(systems) == 20
    assert same(*systems["decision tree"], capsys) == pytest.approx(81.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_all_are(systems, capsys):
    found = {name: same(*systems[name], capsys) for name in systems}
    assert sum(value == pytest.approx(81.0) for value in found.values()) >= 12, found
