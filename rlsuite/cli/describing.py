"""``rlsuite show FILE``: what is in a file of ours, in a few lines."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.options import Commands, add_command
from rlsuite.cli.output import columns, number, print_json
from rlsuite.errors import FileError, ParameterError

if TYPE_CHECKING:
    from rlsuite.plotting.cards import Card


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "show", run)
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a .npz file that 'save' or 'write' wrote, or a model (.mdp, .pomdp, .prism, .jani, .drn)",
    )


def run(chosen: argparse.Namespace) -> int:
    """Say what is in a file: an agent, a solution, a plan, a model.

    Say what is in a file that rlsuite has written, or in a model file: parameters, numbers, first rows.

    Examples
    --------
    rlsuite show cliff.npz
    rlsuite show tiger.pomdp
    """
    from rlsuite.plotting.cards import card_of_object

    card = card_of_object(_content(Path(chosen.file)))
    if chosen.json:
        print_json(
            {"file": chosen.file, "title": card.title, **{name: _plain(value) for name, value in card.facts.items()}}
        )
        return 0
    print(f"{chosen.file}: {card.title}")
    if card.facts:
        print(columns((name, _text(value)) for name, value in card.facts.items()))
    if card.table:
        print(_rows(card))
    for sentence in card.sentences:
        print(f"  {sentence}")
    return 0


def _content(path: Path) -> Any:
    from rlsuite.cli.load import open_model
    from rlsuite.registry import load

    if path.is_dir():
        raise ParameterError(
            f"{path} is a folder: 'rlsuite runs {path}' counts its results, 'rlsuite report' shows them"
        )
    if not path.exists():
        raise FileError(f"{path} does not exist; 'rlsuite envs ENV' and 'rlsuite agents AGENT' show what has no file")
    if path.suffix.lower() != ".npz":
        return open_model(str(path), {}).model
    try:
        return load(path)
    except FileError as error:
        try:
            return open_model(str(path), {}).model
        except FileError:
            raise error from None


def _rows(card: "Card") -> str:
    """The first rows of its table, and how many more there are."""
    total = len(next(iter(card.table.values()))) if card.n_rows is None else card.n_rows
    shown = columns(
        [[*card.table], *([_text(one) for one in row] for row in zip(*card.table.values(), strict=True))][:9]
    )
    return shown if total <= 8 else f"{shown}\n  ... and {total - 8:,} more"


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float) else str(value)


def _text(value: object) -> str:
    return number(value) if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)
