"""``rlsuite completion SHELL``: the script with which a shell completes commands, flags, names and files.

What an argument takes is read where help gets it from: ``AGENT`` and ``ENV`` are names, and the suffixes that its help
mentions are files. So the script knows what help knows.
"""

import argparse
import re
import shlex
import zlib
from typing import Any, TypeAlias

from rlsuite.cli.flags import add_parameters, takes_agents
from rlsuite.cli.options import import_packages
from rlsuite.synonyms import in_dashes

SHELLS = ("bash", "zsh", "fish")

Completion: TypeAlias = dict[str, str | dict[str, str]]
"""What shtab takes: for each shell the words that complete an argument, and functions that these call."""

SUFFIX = re.compile(r"(?:(?<!\S)\(?|\bFILE|\bfile)(\.[a-z]+)\b")
"""A suffix in a help text: FILE.npz, file.py:Class, or alone, as in (.png, .svg)."""


def script(shell: str, program: Any, commands: dict[str, Any]) -> str:
    """Return the script of a shell for a parser and those of its commands."""
    import shtab

    from rlsuite.core.checks import one_of
    from rlsuite.registry import learner_classes

    one_of("shell", shell, SHELLS)
    names = _names()
    for command, parser in commands.items():
        if takes_agents(parser):
            add_parameters(parser, [*learner_classes().values()])
        for action in parser._actions:
            if found := _completion(command, action, names):
                action.complete = found
    return shtab.complete(program, shell)


def _names() -> dict[str, list[str]]:
    """Names by what they are names of: a metavar, or the variable of an argument."""
    from rlsuite.cli.listing import listed_ids
    from rlsuite.models import MDP, POMDP
    from rlsuite.planning import methods
    from rlsuite.plotting.figure_list import figures, plan_figures, solution_figures
    from rlsuite.registry import choices, learner_classes
    from rlsuite.training.budget import LOOPS

    import_packages()
    agents, environments = [in_dashes(name) for name in sorted(learner_classes())], listed_ids()
    return {
        "AGENT": agents,
        "ENV": environments,
        "compare agents": [*agents, *environments],
        "SHELL": list(SHELLS),
        "LOOP": list(LOOPS),
        **{
            flag.upper(): [in_dashes(name) for name in sorted(choices(flag)[1])]
            for flag in ("values", "features", "exploration", "policy")
        },
        "method": [in_dashes(name) for name in sorted({*methods(MDP), *methods(POMDP)})],
        "figure": [in_dashes(name) for name in figures()],
        "figures": [*figures()],
        "solve figure": [in_dashes(name) for name in sorted({*solution_figures(), *plan_figures()})],
    }


def _completion(command: str, action: argparse.Action, names: dict[str, list[str]]) -> Completion:
    """What completes an argument; empty if its values are free."""
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    text = f"{metavar} {action.help or ''}"
    kinds = [f"{command} {action.dest}", *metavar.split("|"), action.dest]
    words = names[found[0]] if (found := [kind for kind in kinds if kind in names]) else []
    patterns = [f"*{suffix}" for suffix in dict.fromkeys(SUFFIX.findall(text))]
    takes_folder = bool(re.search(r"FOLDER|OTHER", metavar))
    if takes_folder and not SUFFIX.search(metavar):
        patterns = []  # its help says what the name of the folder is made from
    elif not patterns and re.search(r"FILE|DATA", metavar):
        patterns = ["*"]
    return _either(words, patterns, takes_folder) if words or patterns or takes_folder else {}


def _either(words: list[str], patterns: list[str], takes_folder: bool) -> Completion:
    """Complete to one of some words, a file of some pattern, or a folder, which may hold such a file."""
    places = bool(patterns) or takes_folder
    # bash: shtab knows by the word file in a function's name that what it prints may be files
    name = f"_rlsuite_{'file' if places else 'word'}_{zlib.crc32(repr((words, patterns, places)).encode()):08x}"
    functions = {
        "bash": _bash(name, words, patterns, places),
        "zsh": _zsh(name, words, patterns, places),
        "fish": _fish(name, words, patterns, places),
    }
    return {"bash": name, "zsh": name, "fish": f"({name})", "preamble": functions}


def _bash(name: str, words: list[str], patterns: list[str], places: bool) -> str:
    lines = [f'compgen -W {shlex.quote(" ".join(words))} -- "$1"'] if words else []
    lines += [f'compgen -f -X {shlex.quote(f"!{pattern}")} -- "$1"' for pattern in patterns if pattern != "*"]
    if places:
        lines.append(f'compgen {"-f" if "*" in patterns else "-d"} -- "$1"')
    return _function(f"{name}() {{", lines, "}")


def _zsh(name: str, words: list[str], patterns: list[str], places: bool) -> str:
    tags = [f"names:name:({' '.join(words)})"] if words else []
    if places:
        pattern = f"({'|'.join(patterns)})" if len(patterns) > 1 else "".join(patterns)  # (*.npz) alone is a qualifier
        tags.append("files:file:_files" + (f' -g "{pattern}"' if pattern else " -/"))
    return _function(f"{name}() {{", [shlex.join(["_alternative", *tags])], "}")


def _fish(name: str, words: list[str], patterns: list[str], places: bool) -> str:
    lines = [f"printf '%s\\n' {shlex.join(words)}"] if words else []
    if places:
        wanted = shlex.join([*patterns, "*/"])
        lines += [
            "for path in (__fish_complete_path (commandline -ct))",
            f"    for pattern in {wanted}",
            "        string match -q -- $pattern (string split -m 1 \\t -- $path)[1]; and echo $path; and break",
            "    end",
            "end",
        ]
    return _function(f"function {name}", lines, "end")


def _function(head: str, lines: list[str], tail: str) -> str:
    return "\n".join([head, *(f"    {line}" for line in lines), tail])
