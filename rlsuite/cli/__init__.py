"""The command ``rlsuite``, a thin layer over the library.

A command is a function of this package, whose signature and docstring `rlsuite.cli.flags` turns into flags and help.
Heavy modules are imported inside of it, so ``rlsuite --help`` does not load them.
"""

import argparse
import os
import re
import shlex
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NoReturn

from rlsuite import __version__, errors
from rlsuite.cli import (
    checking,
    comparing,
    completing,
    evaluating,
    experiments,
    filtering,
    fitting,
    listing,
    solving,
    toml_schema,
    training,
)
from rlsuite.cli.flags import (
    EXAMPLES,
    Typed,
    add_command,
    add_parameters,
    call,
    kinds_in,
    takes_agents,
    with_parameters_joined,
)
from rlsuite.cli.options import in_flags
from rlsuite.cli.output import print_error, print_note, print_warning
from rlsuite.synonyms import nearest


def completion(shell: str) -> int:
    """Print the script that completes commands in bash, zsh or fish.

    Print a script. With it the tab key completes commands, flags, the names of agents, environments, methods and
    figures, and files. It holds the names that there are now: write it again after an update.

    Without the package bash-completion, write eval "$(rlsuite completion bash)" into ~/.bashrc. The folder of zsh has
    to be in fpath.

    Parameters
    ----------
    shell : SHELL
        one of bash, zsh, fish

    Examples
    --------
    rlsuite completion bash > ~/.local/share/bash-completion/completions/rlsuite
    rlsuite completion zsh > ~/.zfunc/_rlsuite
    rlsuite completion fish > ~/.config/fish/completions/rlsuite.fish
    """
    print(completing.script(shell, *parsers()))
    return 0


COMMANDS: dict[str, Callable[..., int]] = {
    "demo": experiments.demo,
    "envs": listing.envs,
    "agents": listing.agents,
    "check": checking.check,
    "train": training.train,
    "evaluate": evaluating.evaluate,
    "compare": comparing.compare,
    "sweep": comparing.sweep,
    "run": experiments.run,
    "report": experiments.report,
    "solve": solving.solve,
    "filter": filtering.filter_states,
    "fit": fitting.fit,
    "show": listing.show,
    "act": solving.act,
    "verify": solving.verify,
    "choose": comparing.choose,
    "doctor": listing.doctor,
    "completion": completion,
    "schema": toml_schema.schema,
}
"""The function of each command, in the order in which help lists them."""

LAST_AT_FRONT = "show"
"""Help draws a line below this one; the others are needed less often."""

INSTEAD = {
    "enjoy": "rlsuite evaluate {} --enjoy",
    "search": "rlsuite sweep {} --search",
    "plot": "rlsuite report {} --plot",
    "runs": "rlsuite report {} --status",
    "list": "'rlsuite envs' lists the environments, 'rlsuite agents' the agents",
    "tune": "'rlsuite sweep AGENT ENV --learning-rate 0.01:1 --search' searches for the best value, 'rlsuite sweep "
    "AGENT ENV --learning-rate 0.05,0.1,0.5' trains with each of these",
    "learn": "rlsuite train {}",
    "plan": "rlsuite solve {}",
    "test": "'rlsuite check ENV' checks an environment, rlsuite.testing.check_agent(agent) in Python an agent",
    "render": "rlsuite evaluate FILE.npz ENV --gif FILE.gif",
    "help": "rlsuite --help, and rlsuite COMMAND --help",
}
"""Commands that were here before, or that other programs have, and what to type here; {} are the words behind it."""

FLAGS_INSTEAD = {
    "--map": "write keywords of the environment as --env map=...",
    "--value-map": "'rlsuite solve ENV --plot FILE.png' draws the optimal values; for those of a saved agent, "
    "call rlsuite.plotting.value_map(env, q=rlsuite.load(FILE).q_) in Python",
    "--render": "--gif FILE.gif draws an episode of the learned greedy policy",
    "--parallel": "--workers N",
    "--exact": "--method rational_policy_iteration finds the optimum as fractions",
    "--state": "write what follows it alone: rlsuite act PLAN STATE",
    "--belief": "write what follows it alone: rlsuite act PLAN BELIEF",
}
"""Flags that are often looked for, and what to type."""

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
"""Exit codes besides 0: a check that failed or a closed pipe, a user's error, Ctrl-C."""


DEBUG = "--debug"


class _HelpFormatter(argparse.HelpFormatter):
    """The help of argparse, in which each example has a line of its own, and rare commands are below a line."""

    def _format_action(self, action: argparse.Action) -> str:
        line = "    --\n" if action.dest == LAST_AT_FRONT and not action.option_strings else ""
        return super()._format_action(action) + line

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n\n".join(one if one.startswith(EXAMPLES) else fill(one, width, indent) for one in text.split("\n\n"))


class _Parser(argparse.ArgumentParser):
    """A parser that prints errors in one line, and examples in lines of their own."""

    def __init__(self, **how: Any) -> None:
        super().__init__(formatter_class=_HelpFormatter, **how)

    def error(self, message: str) -> NoReturn:
        print_error(f"{message}; see '{self.prog} --help'")
        raise SystemExit(MISUSED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``rlsuite`` on the command line; by default that of this process.

    Returns
    -------
    int
        0 if all went well, 1 if a check failed, 2 after an error, 130 after Ctrl-C.

    Examples
    --------
    >>> main(["solve", "FrozenLake-v1", "--method", "no-such-method"])  # says on stderr which there are
    2
    """
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    debugs = DEBUG in given
    given = [word for word in given if word != DEBUG] or ["--help"]
    parser, commands = parsers()
    command = commands.get(given[0], parser)

    def show(message: Warning | str, *where: object, **more: object) -> None:
        print_warning(in_flags(str(message), command))

    with warnings.catch_warnings():
        warnings.showwarning = show
        warnings.simplefilter("default", errors.RlsuiteWarning)  # printed, not raised, even with python -W error
        try:
            return call(parse(parser, commands, given), Typed(given, command))
        except SystemExit as done:  # argparse exits after --help, --version and what it cannot read
            return int(done.code or 0)
        except errors.RlsuiteError as error:
            if debugs:
                traceback.print_exc()
            print_error(in_flags(str(error), command))
            return _leave(MISUSED)
        except BrokenPipeError:  # the program that reads our output has ended, as in `rlsuite envs | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        except OSError as error:
            if debugs:
                traceback.print_exc()
            print_error(f"{error.filename or 'the operating system'}: {error.strerror or error}")
            return MISUSED
        except KeyboardInterrupt as stop:
            print_note(str(stop) or "stopped")
            return _leave(getattr(stop, "code", INTERRUPTED))
        except Exception as error:  # of another package, whose release may be too old
            if debugs or not (reasons := listing.unmet()):
                raise
            print_error(f"{type(error).__name__}: {error}; {reasons[0]}")
            return MISUSED


def _leave(code: int) -> int:
    """Return the code, or end the process at once if threads are still learning: they are not waited for."""
    runner = sys.modules.get("rlsuite.experiments.work")
    if runner is not None and any(thread.name.startswith(runner.WORKER) for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def parsers(names: Iterable[str] = COMMANDS) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of all that follows ``rlsuite``, and that of each command."""
    parser = _Parser(
        prog="rlsuite",
        description="Finite decision problems: environments, exact planners, compiled learners, hidden states, and "
        "figures.",
        epilog="Every command has its own --help. Start with: rlsuite demo",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"rlsuite {__version__}")
    commands: Any = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name in names:
        add_command(commands, name, COMMANDS[name])
    for one in (parser, *commands.choices.values()):  # for the help; `main` looks for it, wherever it stands
        one.add_argument(DEBUG, action="store_true", help="also print the traceback of an error")
    return parser, commands.choices


def parse(
    parser: argparse.ArgumentParser, commands: dict[str, argparse.ArgumentParser], given: list[str]
) -> argparse.Namespace:
    """What the words mean; of an agent's flags, those of the agents that they name.

    Raises
    ------
    ParameterError
        If there is no such command or flag, with what to write instead.
    """
    name, *rest = given
    if not name.startswith("-") and name not in commands:
        if name not in INSTEAD:
            raise errors.ParameterError(errors.unknown("command", name, commands))
        raise errors.ParameterError(f"there is no command {name!r}: {INSTEAD[name].format(shlex.join(rest))}")
    kinds: list[type] = []
    words = given
    if name in commands and takes_agents(commands[name]):
        words = with_parameters_joined(given)
        known = _flags(commands[name])
        flags = [word.partition("=")[0] for word in words if word.startswith("--")]
        if any(flag == "--help" or flag not in known for flag in flags) or "-h" in words:
            kinds = kinds_in(words[1:], several=name == "compare")
            add_parameters(commands[name], kinds)
    place = next((word for flag, word in pairwise(rest) if flag == "--env" and word[:1] != "-" and "=" not in word), "")
    if place and name in commands and name != "compare":
        agent = "q-learning " if name == "train" else ""
        raise errors.ParameterError(
            f"--env {place} is not of the form key=value: an environment itself is written without --env, as in "
            f"rlsuite {name} {agent}{place}"
        )
    chosen, extra = parser.parse_known_args(words)
    if "words" in chosen and not any(one.startswith("-") and not one[1:2].isdigit() for one in extra):
        # argparse stops collecting them at the first flag, and takes -1,2 for a flag
        chosen.words, extra = [*chosen.words, *extra], []
    place = getattr(chosen, "environment", None)
    if "agent_name" in chosen and place and _is_id(chosen.agent_name) > _is_id(place):
        raise errors.ParameterError(f"the agent comes first: rlsuite {name} {place} {chosen.agent_name}")
    if extra:
        if "agent_name" in chosen and not kinds and takes_agents(commands[name]):
            from rlsuite.experiments.lookup import find_agent_class

            find_agent_class(chosen.agent_name)  # raises, if there is none
        raise errors.ParameterError(_unknown(extra[0], chosen, _flags(commands[name])))
    return chosen


def _is_id(word: str) -> bool:
    """Whether a word has the form of the id of an environment."""
    return re.search(r"-v\d+$", word) is not None


def _unknown(word: str, chosen: argparse.Namespace, flags: list[str]) -> str:
    """Sentence about a word of the command line that no argument takes."""
    flag = word.partition("=")[0]
    see = f" (see 'rlsuite {chosen.command} --help')"
    if not flag.startswith("-"):
        if chosen.command == "train" and _is_id(word) > _is_id(chosen.environment):
            return (
                f"train takes one agent; compare takes two: rlsuite compare {chosen.agent_name} {chosen.environment} "
                f"{word}"
            )
        return f"unknown argument {flag!r}{see}"
    if flag in FLAGS_INSTEAD and flag not in flags:
        return f"unknown flag {flag!r}: {FLAGS_INSTEAD[flag]}{see}"
    near = nearest(flag, flags)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    if not near and "--env" in flags:
        no_parameter = f"{chosen.agent_name} has no such parameter, and " if "agent_name" in chosen else ""
        name = flag.lstrip("-").replace("-", "_")
        hint = f"; {no_parameter}a keyword of the environment is written --env {name}=VALUE"
    return f"unknown flag {flag!r}{hint}{see}"


def _flags(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings]
