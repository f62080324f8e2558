"""``rlsuite filter MODEL Z...``: inference of the hidden states of a hidden Markov model or a POMDP."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from math import isnan
from typing import TYPE_CHECKING, TypedDict

from rlsuite.cli.options import EnvFlags, Look
from rlsuite.cli.output import FigureFile, columns, compiling_message, number, print_json, print_note, table
from rlsuite.errors import ParameterError

if TYPE_CHECKING:
    from rlsuite.cli.filter_table import Recognised, Steps, Trail
    from rlsuite.cli.load import Hidden
    from rlsuite.models import POMDP


PLANNING = 10
"""Seconds for the plan of ``--best-action``."""


@dataclass(frozen=True)
class Seen:
    """What was seen.

    Parameters
    ----------
    model : MODEL
        a .pomdp file, a .npz file, or an environment whose states are hidden
    words : Z
        observations, or actions and observations alternately
    observations : Z,...
        the observations, as a list
    actions : A,...
        the actions, as a list; then Z... holds observations only
    file : FILE
        a text file with one step per line, or a table in CSV
    columns : TITLE,...
        the columns of the table that are observations (default: those called observation)
    """

    model: str
    words: Sequence[str] = ()
    _: KW_ONLY
    observations: str | None = None
    actions: str | None = None
    file: str | None = None
    columns: str | None = None


def filter_states(
    seen: Seen,
    *,
    flags: EnvFlags,
    smooth: bool = False,
    entropy: bool = False,
    decode: bool = False,
    best_action: bool = False,
    truth: str | None = None,
    plot: FigureFile | None = None,
    look: Look,
    json: bool = False,
) -> int:
    """Compute the probabilities of hidden states given observations.

    Compute the probabilities of the hidden states after each observation, and the likelihood of all of them. In a
    hidden Markov model the first observation is made in the first state; in a POMDP an action comes before each
    observation, and they alternate.

    Actions and observations are names of the model, or numbers from 0; ? stands for a missing observation. Where
    observations are vectors, commas separate the numbers of a vector, and semicolons the vectors of a list.

    Parameters
    ----------
    smooth
        use all observations for each time, not only those until then
    entropy
        also how much the probabilities leave open at each time, in bits
    decode
        also the most probable path of hidden states
    best_action
        also the best action after the last observation, in a POMDP (plans for at most 10 seconds)
    truth : S,...
        the true states, one for each time: how many are recognised, and the precision and recall of each state,
        averaged over all thresholds, too
    plot : FILE.png
        draw the states of a hidden Markov model over time (.png, .svg, .pdf)
    json
        print the result as JSON

    Examples
    --------
    rlsuite filter tiger.pomdp listen hear-left listen hear-left
    rlsuite filter tiger.pomdp listen hear-left --best-action
    """
    from rlsuite.cli.filter_table import recognised, split, trail
    from rlsuite.cli.load import open_model
    from rlsuite.models import MDP, POMDP, MarkovChain

    drawn = look.of(plot)
    model = open_model(seen.model, flags.keywords).model
    if isinstance(model, MDP | MarkovChain):
        raise ParameterError(f"the states of {seen.model} are not hidden: there is nothing to filter")
    if plot and isinstance(model, POMDP):
        raise ParameterError(f"--plot draws hidden Markov models, and {seen.model} is a POMDP")
    if best_action and not isinstance(model, POMDP):
        raise ParameterError(f"--best-action applies only to POMDPs, and {seen.model} is a hidden Markov model")
    steps = _steps_of_pomdp(seen) if isinstance(model, POMDP) else _steps_of_hmm(seen, model)
    with compiling_message():
        found = trail(model, steps, smooth=smooth, decode=decode, with_entropy=entropy)
        best = _best_action(model, found) if best_action and isinstance(model, POMDP) else None
    known = None if truth is None else recognised(found, split(truth))
    if plot and not isinstance(model, POMDP):
        from rlsuite.plotting import state_posteriors
        from rlsuite.plotting.figure import write

        write(plot, state_posteriors, model, found.given["observations"], **drawn)
    if json:
        scores = {} if known is None else {**known.scores._asdict(), "average_precision": known.average_precision}
        scored, written = {"scores": scores} if scores else {}, {"plot": plot} if plot else {}
        print_json({"model": seen.model, **found.facts(), **(best or {}), **scored, **written})
        return 0
    print(f"{seen.model}, {'smoothed' if smooth else 'filtered'}")
    _report(found, best, known)
    if plot:
        print(f"  written: {plot}")
    if not (smooth or decode or best):
        options = "--smooth, --decode or --best-action" if "action" in found.seen else "--smooth, or --decode"
        print_note(f"next: the same command with {options}")
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


def _steps_of_hmm(seen: Seen, model: "Hidden") -> "Steps":
    from rlsuite.cli.filter_table import Steps, read, split

    width = model.emission.width
    if seen.actions is not None:
        raise ParameterError(f"--actions applies only to POMDPs, and {seen.model} is a hidden Markov model")
    if seen.file is not None:
        _alone(seen)
        return read(seen.file, width, with_actions=False, columns=split(seen.columns or ""))
    listed = split(seen.observations or "", ";" if width > 1 else ",")
    words = _either(seen.words, listed)
    return Steps([], [split(word) if width > 1 else [word] for word in words])


def _steps_of_pomdp(seen: Seen) -> "Steps":
    from rlsuite.cli.filter_table import Steps, pairs, read, split

    if seen.file is not None:
        _alone(seen)
        return read(seen.file, 1, with_actions=True, columns=split(seen.columns or ""))
    listed = split(seen.observations or "")
    if seen.actions is None:
        if listed:
            raise ParameterError("--observations needs --actions: in a POMDP an action comes before each observation")
        return pairs(_either(seen.words, []), "")
    actions, observations = split(seen.actions), _either(seen.words, listed)
    if len(actions) != len(observations):
        raise ParameterError(
            f"there are {len(actions)} actions and {len(observations)} observations; each observation needs one action"
        )
    return Steps(actions, [[word] for word in observations])


def _alone(seen: Seen) -> None:
    """Raise if there is another source besides the file."""
    for name, given in (("Z...", seen.words), ("--observations", seen.observations), ("--actions", seen.actions)):
        if given:
            raise ParameterError(f"{name} and --file both give the sequence: leave one of them out")


def _either(words: Sequence[str], listed: Sequence[str]) -> Sequence[str]:
    """The observations, from the one argument that has them."""
    if words and listed:
        raise ParameterError("Z... and --observations both give the observations: leave one of them out")
    if not words and not listed:
        raise ParameterError("there are no observations: give them after the model, with --observations or with --file")
    return words or listed


def _report(found: "Trail", best: BestAction | None, known: "Recognised | None") -> None:
    rows = ([str(t), *found.row(t)] for t in range(len(found.beliefs)))
    print(table(["t", *found.heads()], rows, len(found.beliefs)))
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


def _scored(found: "Trail", known: "Recognised") -> Iterator[list[str]]:
    scores = known.scores
    each = zip(found.states, scores.precision, scores.recall, scores.f_score, known.average_precision, strict=False)
    for state, *numbers in each:
        yield [state, *("-" if isnan(value) else number(value) for value in numbers)]
