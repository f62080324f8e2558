"""``rlsuite filter MODEL Z...``: inference of the hidden states of a hidden Markov model or a POMDP."""

import argparse
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from rlsuite.cli.figures import add_look_flags, look_of
from rlsuite.cli.options import Commands, add_command, keywords
from rlsuite.cli.output import (
    FIGURE_SUFFIXES,
    check_writable,
    columns,
    compiling_message,
    number,
    print_json,
    print_note,
    table,
)
from rlsuite.errors import ParameterError

if TYPE_CHECKING:
    from rlsuite.cli.filter_table import Recognised, Steps, Trail
    from rlsuite.cli.load import Hidden
    from rlsuite.models import POMDP


PLANNING = 10
"""Seconds for the plan of ``--best-action``."""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "filter", run)
    parser.add_argument(
        "model", metavar="MODEL", help="a .pomdp file, a .npz file, or an environment whose states are hidden"
    )
    parser.add_argument("words", nargs="*", metavar="Z", help="observations, or actions and observations alternately")
    parser.add_argument("--observations", metavar="Z,...", help="the observations, as a list")
    parser.add_argument("--actions", metavar="A,...", help="the actions, as a list; then Z... holds observations only")
    parser.add_argument("--file", metavar="FILE", help="a text file with one step per line, or a table in CSV")
    parser.add_argument(
        "--columns",
        metavar="TITLE,...",
        help="the columns of the table that are observations (default: those called observation)",
    )
    parser.add_argument(
        "--env", action="append", default=[], metavar="KEY=VALUE", help="keyword of the environment, such as slip=0.2"
    )
    parser.add_argument(
        "--smooth", action="store_true", help="use all observations for each time, not only those until then"
    )
    parser.add_argument(
        "--entropy", action="store_true", help="also how much the probabilities leave open at each time, in bits"
    )
    parser.add_argument("--decode", action="store_true", help="also the most probable path of hidden states")
    parser.add_argument(
        "--best-action",
        action="store_true",
        help=f"also the best action after the last observation, in a POMDP (plans for at most {PLANNING} seconds)",
    )
    parser.add_argument(
        "--truth",
        metavar="S,...",
        help="the true states, one for each time: how many are recognised, and the precision and recall of each state, "
        "averaged over all thresholds, too",
    )
    parser.add_argument(
        "--plot", metavar="FILE.png", help="draw the states of a hidden Markov model over time (.png, .svg, .pdf)"
    )
    add_look_flags(parser)


def run(chosen: argparse.Namespace) -> int:
    """Compute the probabilities of hidden states given observations.

    Compute the probabilities of the hidden states after each observation, and the likelihood of all of them. In a
    hidden Markov model the first observation is made in the first state; in a POMDP an action comes before each
    observation, and they alternate.

    Actions and observations are names of the model, or numbers from 0; ? stands for a missing observation. Where
    observations are vectors, commas separate the numbers of a vector, and semicolons the vectors of a list.

    Examples
    --------
    rlsuite filter tiger.pomdp listen hear-left listen hear-left
    rlsuite filter tiger.pomdp listen hear-left --best-action
    """
    from rlsuite.cli.filter_table import recognised, split, trail
    from rlsuite.cli.load import open_model
    from rlsuite.models import MDP, POMDP, MarkovChain

    model = open_model(chosen.model, keywords("--env", chosen.env)).model
    if isinstance(model, MDP | MarkovChain):
        raise ParameterError(f"the states of {chosen.model} are not hidden: there is nothing to filter")
    if chosen.plot:
        check_writable(Path(chosen.plot), "--plot", FIGURE_SUFFIXES)
        if isinstance(model, POMDP):
            raise ParameterError(f"--plot draws hidden Markov models, and {chosen.model} is a POMDP")
    look = look_of(chosen)
    if chosen.best_action and not isinstance(model, POMDP):
        raise ParameterError(f"--best-action applies only to POMDPs, and {chosen.model} is a hidden Markov model")
    steps = _steps_of_pomdp(chosen, model) if isinstance(model, POMDP) else _steps_of_hmm(chosen, model)
    with compiling_message():
        found = trail(model, steps, smooth=chosen.smooth, decode=chosen.decode, with_entropy=chosen.entropy)
        best = _best_action(model, found) if chosen.best_action and isinstance(model, POMDP) else None
    known = None if chosen.truth is None else recognised(found, split(chosen.truth))
    if chosen.plot and not isinstance(model, POMDP):
        from rlsuite.plotting import state_posteriors
        from rlsuite.plotting.figure import write

        write(chosen.plot, state_posteriors, model, found.given["observations"], **look)
    _report(chosen, found, best, known)
    return 0


class BestAction(TypedDict):
    """The action of a plan in the last belief, for JSON."""

    best_action: int
    best_action_label: str
    gap_at_start: float
    """of the bounds on the value at the start"""


def _best_action(pomdp: "POMDP", found: "Trail") -> BestAction:
    """Return the action of a plan in the last belief, and the bounds on its value at the start, for JSON."""
    from rlsuite.cli.output import names
    from rlsuite.planning import solve

    plan = solve(pomdp, deadline=PLANNING)
    action = plan.act(found.beliefs[-1])
    return {
        "best_action": action,
        "best_action_label": names(pomdp.action_labels, pomdp.n_actions)[action],
        "gap_at_start": float(plan.gap),
    }


def _steps_of_hmm(chosen: argparse.Namespace, model: "Hidden") -> "Steps":
    from rlsuite.cli.filter_table import Steps, read, split

    width = model.emission.width
    if chosen.actions is not None:
        raise ParameterError(f"--actions applies only to POMDPs, and {chosen.model} is a hidden Markov model")
    if chosen.file is not None:
        _alone(chosen)
        return read(chosen.file, width, with_actions=False, columns=split(chosen.columns or ""))
    listed = split(chosen.observations or "", ";" if width > 1 else ",")
    words = _either(chosen.words, listed)
    return Steps([], [split(word) if width > 1 else [word] for word in words])


def _steps_of_pomdp(chosen: argparse.Namespace, model: "POMDP") -> "Steps":
    from rlsuite.cli.filter_table import Steps, pairs, read, split

    if chosen.file is not None:
        _alone(chosen)
        return read(chosen.file, 1, with_actions=True, columns=split(chosen.columns or ""))
    listed = split(chosen.observations or "")
    if chosen.actions is None:
        if listed:
            raise ParameterError("--observations needs --actions: in a POMDP an action comes before each observation")
        return pairs(_either(chosen.words, []), "")
    actions, observations = split(chosen.actions), _either(chosen.words, listed)
    if len(actions) != len(observations):
        raise ParameterError(
            f"there are {len(actions)} actions and {len(observations)} observations; each observation needs one action"
        )
    return Steps(actions, [[word] for word in observations])


def _alone(chosen: argparse.Namespace) -> None:
    """Raise if there is another source besides the file."""
    for name, given in (("Z...", chosen.words), ("--observations", chosen.observations), ("--actions", chosen.actions)):
        if given:
            raise ParameterError(f"{name} and --file both give the sequence: leave one of them out")


def _either(words: list[str], listed: list[str]) -> list[str]:
    """The observations, from the one argument that has them."""
    if words and listed:
        raise ParameterError("Z... and --observations both give the observations: leave one of them out")
    if not words and not listed:
        raise ParameterError("there are no observations: give them after the model, with --observations or with --file")
    return words or listed


def _report(chosen: argparse.Namespace, found: "Trail", best: BestAction | None, known: "Recognised | None") -> None:
    if chosen.json:
        written = {"plot": chosen.plot} if chosen.plot else {}
        scores = {} if known is None else {**known.scores._asdict(), "average_precision": known.average_precision}
        scored = {"scores": scores} if scores else {}
        print_json({"model": chosen.model, **found.facts(), **(best or {}), **scored, **written})
        return
    print(f"{chosen.model}, {'smoothed' if chosen.smooth else 'filtered'}")
    print(table(["t", *found.heads()], _rows(found), len(found.beliefs)))
    summary = [("log-likelihood", f"{number(found.log_likelihood)} nats")]
    if found.path is not None and not isnan(found.path_log_probability):
        summary.append(("log-probability of the path", f"{number(found.path_log_probability)} nats"))
    if best is not None:
        label, gap = best["best_action_label"], number(best["gap_at_start"])
        summary.append(("best action now", f"{label} (of a plan whose value at the start is known within {gap})"))
    if known is not None:
        summary.append(("recognised", f"{known.scores.accuracy:.1%} of the states"))
    print(columns(summary))
    if known is not None:
        head = ["state", "precision", "recall", "F", "average precision"]
        print(table(head, _scored(found, known), len(known.scores.recall)))
    if chosen.plot:
        print(f"  written: {chosen.plot}")
    if not (chosen.smooth or chosen.decode or best):
        options = "--smooth, --decode or --best-action" if "action" in found.seen else "--smooth, or --decode"
        print_note(f"next: the same command with {options}")


def _rows(found: "Trail") -> Iterator[list[str]]:
    for t in range(len(found.beliefs)):
        yield [str(t), *found.row(t)]


def _scored(found: "Trail", known: "Recognised") -> Iterator[list[str]]:
    scores = known.scores
    each = zip(found.states, scores.precision, scores.recall, scores.f_score, known.average_precision, strict=False)
    for state, *numbers in each:
        yield [state, *("-" if isnan(value) else number(value) for value in numbers)]
