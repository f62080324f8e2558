"""``rlsuite verify MODEL PLAN.cert``: whether a proof holds, checked in exact arithmetic."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rlsuite.cli.options import Commands, add_command, add_env_flags, keywords
from rlsuite.cli.output import check_writable, print_json
from rlsuite.errors import FileError, UnsuitableEnvironment

if TYPE_CHECKING:
    from rlsuite.models import MDP, POMDP

REFUSED = 1
"""Exit code if the proof does not hold."""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "verify", run)
    add_env_flags(
        parser,
        "ENV|FILE",
        "; or a model file (.mdp, .pomdp, .npz, .prism, .jani, .drn), with --env for keywords of MDP.read",
    )
    parser.add_argument("proof", metavar="PLAN.cert", help="the proof")
    parser.add_argument("--gamma", type=float, metavar="NUMBER", help="discount (default: as rlsuite solve)")
    parser.add_argument("--tabulate", action="store_true", help="build a table by probing the environment")
    parser.add_argument(
        "--text", metavar="FILE", help="keep the text of the model that was checked (.mdp, .pomdp), for verify.py"
    )
    parser.add_argument(
        "--solve",
        action="store_true",
        help="if bounds do not prove themselves, solve the model, and compare them with a proof of that",
    )


def run(chosen: argparse.Namespace) -> int:
    """Check a proof of a solution in exact arithmetic.

    Check a proof, as 'rlsuite solve MODEL --save plan.cert' writes it, or bounds of another program: a line 'state
    NAME LOW HIGH' for each state, perhaps with an action. Every inequality is derived anew from the text of the model,
    in fractions.

    Exit code 0: the proof holds. 1: it does not; the first thing that fails is printed. 2: an error.

    Examples
    --------
    rlsuite verify tiger.pomdp tiger.cert
    """
    from rlsuite.core.files import replacing
    from rlsuite.planning.proof import checked, compared, is_hidden

    if chosen.text:
        check_writable(Path(chosen.text), "--text", (".mdp", ".pomdp"))
    try:
        proof = Path(chosen.proof).read_text("utf-8-sig", "replace")
    except OSError as cause:
        raise FileError(f"{chosen.proof} cannot be read: {cause.strerror or cause}") from cause
    text = _text(chosen)
    found = checked(text, proof)
    if chosen.solve and not found.right and not is_hidden(text):
        found = compared(text, proof, _own_proof(chosen, text))
    if chosen.text:
        with replacing(chosen.text) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    if chosen.json:
        print_json(
            {"model": chosen.environment, "proof": chosen.proof, "right": found.right, "sentence": found.sentence}
        )
    else:
        print(f"{'right' if found.right else 'refused'}: {found.sentence}")
    return 0 if found.right else REFUSED


def _text(chosen: argparse.Namespace) -> str:
    """The text that is checked: that of the file, if it is plain, or what rlsuite writes of the model."""
    from rlsuite.planning.proof import plain_file, text_of

    if chosen.gamma is None and not chosen.env and (text := plain_file(chosen.environment)) is not None:
        return text
    return text_of(_model(chosen))


def _model(chosen: argparse.Namespace) -> "MDP | POMDP":
    """The model, as rlsuite reads it."""
    from rlsuite.cli.load import open_model
    from rlsuite.models import MDP, POMDP

    model, _ = open_model(chosen.environment, keywords("--env", chosen.env), chosen.gamma, probe=chosen.tabulate)
    if not isinstance(model, MDP | POMDP):
        raise UnsuitableEnvironment(f"{chosen.environment} holds no decision problem, whose values could be proved")
    return model


def _own_proof(chosen: argparse.Namespace, text: str) -> str:
    """The proof of the optimum that rlsuite finds."""
    from rlsuite.models import MDP
    from rlsuite.planning import solve
    from rlsuite.planning.proof import proof_of_values

    model = _model(chosen)
    if not isinstance(model, MDP):
        return ""
    solution = solve(model)
    return proof_of_values(text, 0, solution.value, solution.policy)
