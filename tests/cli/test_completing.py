"""The scripts of ``rlsuite completion``: what completes each argument, and what real shells make of a typed line."""

import json
import re
import shutil
import subprocess
import sys

import pytest

import rlsuite as rl
from rlsuite import cli
from rlsuite.cli import completing
from rlsuite.cli.flags import add_parameters, takes_agents

TYPED = {
    "rlsuite so": "solve",
    "rlsuite train q-lea": "train q-learning",
    "rlsuite train my": "train my agent.npz",
    "rlsuite train sarsa Tax": "train sarsa Taxi-v4",
    "rlsuite train sarsa rlsuite/GridG": "train sarsa rlsuite/GridGoal-v0",
    "rlsuite train sarsa FrozenLake-v1 --loo": "train sarsa FrozenLake-v1 --loop",
    "rlsuite train sarsa FrozenLake-v1 --features til": "train sarsa FrozenLake-v1 --features tile-coding",
    "rlsuite solve FrozenLake-v1 --method policy-it": "solve FrozenLake-v1 --method policy-iteration",
    "rlsuite solve FrozenLake-v1 --figure conv": "solve FrozenLake-v1 --figure convergence",
    "rlsuite solve ti": "solve tiger.pomdp",
    "rlsuite run la": "run lake.toml",
    "rlsuite report resu": "report results",
    "rlsuite report results --figures regre": "report results --figures regret",
}
"""Lines before the tab key, and the words that the command is called with."""

START = {
    "bash": (("bash", "--norc", "--noprofile", "-i"), "rlsuite() {{ printf 'got:%s\\n' \"$*\"; }}; source {script}"),
    "zsh": (
        ("zsh", "-f", "-i"),
        'rlsuite() {{ print -r -- "got:$*" }}; fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D',
    ),
    "fish": (
        ("fish", "--no-config", "-i"),
        "function rlsuite; echo got:(string join ' ' -- $argv); end; source {script}",
    ),
}

TYPIST = r"""
import json, os, pty, re, select, sys, time

command, first, lines = json.loads(sys.argv[1])
process, terminal = pty.fork()
if process == 0:
    os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", "HOME": os.getcwd(), "PS1": "$ "})

def read_until(pattern):
    text, end = "", time.monotonic() + 20
    while time.monotonic() < end and not re.search(pattern, text):
        if select.select([terminal], [], [], 0.1)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
    return text

os.write(terminal, f"{first}; echo re''ady\r".encode())
read_until(r"ready\s")
answers = []
for line in lines:
    os.write(terminal, f"{line}\t".encode())
    time.sleep(0.7)  # the shell draws what it has completed
    os.write(terminal, b"\r")
    said = re.findall(r"got:(.*?)\s*\r?\n", read_until(r"got:.*\n"))
    answers.append(" ".join(said).rstrip("/"))
os.close(terminal)
print(json.dumps(answers))
"""
"""A process of one thread, which opens a terminal with a shell and types the lines, each with the tab key."""


def test_what_completes_an_argument(rlsuite):
    """Read from its metavar and its help; the functions are the same in every shell."""
    names = completing._names()
    found = {}
    for command, parser in cli.parsers()[1].items():
        if takes_agents(parser):
            add_parameters(parser, [rl.Sarsa])
        for action in parser._actions:
            if completion := completing._completion(command, action, names):
                functions = completion["preamble"]
                assert isinstance(functions, dict)
                word = (action.option_strings or [action.dest])[-1]
                found[command, word] = set(re.findall(r"\*\.(\w+)", functions["bash"])), functions["bash"]
    files = {key: sorted(suffixes) for key, (suffixes, _) in found.items() if suffixes}
    assert files["train", "agent_name"] == ["npz", "py"]
    assert files["solve", "environment"] == ["drn", "jani", "mdp", "npz", "pomdp", "prism", "py"]
    assert files["show", "file"] == ["drn", "jani", "mdp", "npz", "pomdp", "prism"]
    assert files["train", "--plot"] == ["pdf", "png", "svg"]
    assert files["run", "file"] == files["choose", "file"] == ["toml"]
    assert ("run", "--output") in found.keys() - files.keys()  # a folder, although its help names a suffix
    assert {("train", "--steps"), ("train", "--gamma"), ("evaluate", "--agent"), ("run", "--shard")}.isdisjoint(found)
    for key, name in {
        ("train", "agent_name"): "q-learning",
        ("train", "environment"): "rlsuite/Tiger-v0",
        ("compare", "agents"): "CliffWalking-v1",
        ("solve", "--method"): "sarsop",
        ("solve", "--figure"): "value-map",
        ("train", "--figure"): "cumulative-reward",
        ("report", "--figures"): "cumulative_reward",
        ("train", "--loop"): "stepwise",
        ("sweep", "--values"): "network",
    }.items():
        assert f" {name} " in found[key][1].replace("'", " "), key
    assert "rlsuite_verify" in rlsuite("completion", "bash").out


def test_an_unknown_shell_is_named(rlsuite):
    done = rlsuite("completion", "fsh")
    assert (done.code, done.out) == (2, "")
    assert "unknown shell 'fsh'; did you mean 'fish'?" in done.err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")
def test_shells_complete_what_is_typed(rlsuite, tmp_path):
    for name in ("my agent.npz", "tiger.pomdp", "lake.toml"):
        (tmp_path / name).touch()
    (tmp_path / "results").mkdir()
    shells = [shell for shell in completing.SHELLS if shutil.which(shell)]
    assert "bash" in shells
    for shell in shells:
        script = tmp_path / ".scripts" / f"_{'rlsuite' if shell == 'zsh' else shell}"  # as zsh looks it up
        script.parent.mkdir(exist_ok=True)
        script.write_text(rlsuite("completion", shell).out, encoding="utf-8")
        command, first = START[shell]
        given = json.dumps([command, first.format(script=script, folder=script.parent), list(TYPED)])
        done = subprocess.run(
            [sys.executable, "-c", TYPIST, given], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert dict(zip(TYPED, json.loads(done.stdout), strict=True)) == TYPED, shell
