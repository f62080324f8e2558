"""``rlsuite solve FILE --property``, ``--constraint``: questions of verification, and limits on costs."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.output import check_writable, columns, names, number, print_json, print_note, table
from rlsuite.errors import FileError, ParameterError

if TYPE_CHECKING:
    from rlsuite.models import MDP, MarkovChain
    from rlsuite.planning import PropertyAnswer
    from rlsuite.planning.kept import Kept

NOT_DECIDED = 1
"""Exit code if a comparison does not hold or is not decided, or an error bound exceeds the tolerance."""

SAVED = (".npz", ".csv")
WITHOUT = ("method", "horizon", "criterion", "gap", "prune", "plot", "movie", "figure", "against")
"""Flags of ``rlsuite solve`` that have no meaning here."""

MOST_SHOWN = 20


def check_property(chosen: argparse.Namespace, model: "MDP | MarkovChain") -> int:
    """Answer a property."""
    from rlsuite import planning

    limits = _limits(chosen, "property", "max_iterations")
    answer = planning.check_property(model, chosen.property, progress=sys.stderr.isatty(), **limits)
    _save(chosen, answer.solution)
    if chosen.json:
        _print_json(chosen, answer)
    else:
        _print(chosen, model, answer)
    decided = answer.holds is True or "=?" in answer.text
    return 0 if decided and answer.converged else NOT_DECIDED


def solve_within(chosen: argparse.Namespace, mdp: "MDP") -> int:
    """Find the best policy within limits."""
    from rlsuite import planning

    limits = _limits(chosen, "constraint")
    found = planning.constrained(mdp, [_constraint(text) for text in chosen.constraint], **limits)
    _save(chosen, found)
    names_of_costs = [text.partition("<=")[0].strip() for text in chosen.constraint]
    if chosen.json:
        kept = ("value_at_start", "upper_bound", "error_bound", "costs", "limits", "violation", "multipliers")
        facts = {name: getattr(found, name) for name in (*kept, "random_states", "converged", "seconds", "policy")}
        print_json({"environment": chosen.environment, **facts, **({"save": chosen.save} if chosen.save else {})})
        return 0 if found.converged else NOT_DECIDED
    print(f"{chosen.environment} within {', '.join(chosen.constraint)}, gamma {mdp.gamma:.15g}")
    costs = [
        (f"{name} (limit {number(limit)})", f"{number(cost)}; the value rises by {number(price)} for each more")
        for name, limit, cost, price in zip(names_of_costs, found.limits, found.costs, found.multipliers, strict=True)
    ]
    rows = [("value at start", number(found.value_at_start)), ("upper bound", number(found.upper_bound)), *costs]
    listed = names(mdp.state_labels, mdp.n_states)
    chance = ", ".join(name for name, row in zip(listed, found.policy, strict=True) if (row > 0.0).sum() > 1) or "none"
    print(columns([*rows, ("random states", chance), ("converged", "yes" if found.converged else "no")]))
    if chosen.show:
        acts = names(mdp.action_labels, mdp.n_actions)
        shown = [[state, *(number(float(p)) for p in row)] for state, row in zip(listed, found.policy, strict=True)]
        print(table(["state", *acts], shown, mdp.n_states, MOST_SHOWN))
    _ends(chosen)
    return 0 if found.converged else NOT_DECIDED


def _constraint(text: str) -> tuple[Any, float]:
    """Return the cost and the limit of ``steps<=20`` or ``costs.npy<=3``."""
    import numpy as np

    name, sign, limit = text.partition("<=")
    try:
        most = float(limit)
    except ValueError:
        sign, most = "", 0.0
    if not sign:
        raise ParameterError(
            f"--constraint {text!r}: write steps<=20, or FILE.npy<=20 with a cost for each state and action"
        )
    name = name.strip()
    if name in ("steps", "reward"):
        return name, most
    try:
        return np.load(name, allow_pickle=False) if name.endswith(".npy") else np.loadtxt(name, delimiter=","), most
    except (OSError, ValueError) as cause:
        raise FileError(
            f"--constraint {text!r}: {name} is not steps, reward, or a .npy or .csv file of numbers"
        ) from cause


def _limits(chosen: argparse.Namespace, flag: str, *more: str) -> Any:
    """Return when to stop, after checking that no other flag contradicts."""
    for other in WITHOUT:
        if getattr(chosen, other):
            raise ParameterError(f"--{other} does not go with --{flag}, which says itself what is computed")
    if chosen.option:
        raise ParameterError(f"--option does not go with --{flag}; --tol, --rtol and --deadline do")
    if chosen.save:
        check_writable(Path(chosen.save), "--save", SAVED)
    given = {name: getattr(chosen, name) for name in ("tol", "rtol", "deadline", *more)}
    return {name: value for name, value in given.items() if value is not None}


def _save(chosen: argparse.Namespace, solution: "Kept") -> None:
    if chosen.save:
        (solution.save if Path(chosen.save).suffix.lower() == ".npz" else solution.to_csv)(chosen.save)


def _ends(chosen: argparse.Namespace) -> None:
    if chosen.save:
        print(f"  written: {chosen.save}")
    elif not chosen.show:
        print_note("next: the same command with --show")


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
    _ends(chosen)
