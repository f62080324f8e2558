"""``rlsuite solve FILE --property``: a question of verification, answered."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.beliefs import names
from rlsuite.cli.output import check_writable, columns, number, print_json, print_note, table
from rlsuite.errors import ParameterError

if TYPE_CHECKING:
    from rlsuite.models import MDP, MarkovChain
    from rlsuite.planning import PropertyAnswer

DOES_NOT_HOLD = 1
"""Exit code if a comparison does not hold, or is not decided."""

SAVED = (".npz", ".csv")
WITHOUT = ("method", "horizon", "criterion", "gap", "prune", "plot", "movie", "figure", "against")
"""Flags of ``rlsuite solve`` that have no meaning for a property."""

MOST_SHOWN = 20


def run(chosen: argparse.Namespace, model: "MDP | MarkovChain") -> int:
    """Answer."""
    from rlsuite.planning import check_property

    for flag in WITHOUT:
        if getattr(chosen, flag):
            raise ParameterError(f"--{flag} does not go with --property, which says itself what is computed")
    if chosen.option:
        raise ParameterError("--option does not go with --property; --tol, --deadline and --max-iterations do")
    if chosen.save:
        check_writable(Path(chosen.save), "--save", SAVED)
    limits: Any = {name: getattr(chosen, name) for name in ("rtol", "max_iterations", "deadline")}
    limits = {name: value for name, value in limits.items() if value is not None}
    answer = check_property(model, chosen.property, tol=chosen.tol, progress=sys.stderr.isatty(), **limits)
    if chosen.save:
        save = answer.solution.save if Path(chosen.save).suffix.lower() == ".npz" else answer.solution.to_csv
        save(chosen.save)
    if chosen.json:
        _print_json(chosen, answer)
    else:
        _print(chosen, model, answer)
    decided = answer.holds is True or "=?" in answer.text
    return 0 if decided and answer.converged else DOES_NOT_HOLD


def _print_json(chosen: argparse.Namespace, answer: "PropertyAnswer") -> None:
    print_json(
        {
            "environment": chosen.environment,
            "property": answer.text,
            "value_at_start": answer.value,
            "holds": answer.holds,
            "error_bound": answer.error_bound,
            "converged": answer.converged,
            "seconds": answer.solution.seconds,
            "value": answer.values,
            "policy": answer.solution.policy,
            **({"save": chosen.save} if chosen.save else {}),
        }
    )


def _print(chosen: argparse.Namespace, model: "MDP | MarkovChain", answer: "PropertyAnswer") -> None:
    print(f"{chosen.environment}: {answer.text}")
    rows = [("at the start", number(answer.value)), ("error bound", number(answer.error_bound))]
    if "=?" not in answer.text:
        rows.insert(0, ("holds", {True: "yes", False: "no", None: "undecided: within the error bound"}[answer.holds]))
    print(columns([*rows, ("converged", "yes" if answer.converged else "no")]))
    if chosen.show:
        mdp = answer.solution.lookahead.mdp
        acts = [*names(mdp.action_labels, mdp.n_actions), "-"]
        listed = zip(names(mdp.state_labels, mdp.n_states), answer.values, answer.solution.policy, strict=True)
        shown = [[state, number(float(value)), acts[int(action)]] for state, value, action in listed]
        print(table(["state", "value", "action"], shown, mdp.n_states, MOST_SHOWN))
    if chosen.save:
        print(f"  written: {chosen.save}")
    elif not chosen.show:
        print_note("next: the same command with --show")
