"""``rlsuite fit DATA``: a hidden Markov model from observations, by counting or by expectation maximisation."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.options import Commands, add_json_flag, whole_number
from rlsuite.cli.output import check_writable, columns, number, print_json, print_note, table
from rlsuite.errors import FileError, ParameterError

if TYPE_CHECKING:
    from rlsuite.inference import HMM
    from rlsuite.models.aliases import AnyArray, IndexArray

STATE, EPISODE = "state", "episode"
"""Titles of the columns of a file, beside that of the observations."""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "fit",
        help="learn a hidden Markov model from a file of observations",
        description="Learn a hidden Markov model. Where the file has a column 'state', its states are counted; with "
        "--states, or without such a column, they are hidden, and expectation maximisation (Baum-Welch) finds them.",
        epilog="The file is a table with titles: observation (numbers; whole ones are symbols, ? is a missing one), "
        "state (names or numbers), and episode, which is another one in each sequence. Without titles all entries are "
        "observations of one sequence.",
        allow_abbrev=False,
    )
    parser.add_argument("data", metavar="DATA", help="a table in CSV, or a text file of observations")
    parser.add_argument("--states", type=whole_number, metavar="K", help="number of hidden states")
    parser.add_argument(
        "--emission", metavar="NAME", help="categorical, gaussian or poisson (default: categorical for whole numbers)"
    )
    parser.add_argument("--prior", type=float, metavar="C", help="pseudo-count of everything (default 0)")
    parser.add_argument("--restarts", type=whole_number, default=1, metavar="N", help="random starts (default 1)")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="of the random starts (default 0)")
    parser.add_argument("--save", metavar="FILE.npz", help="write the model; 'rlsuite filter FILE.npz' uses it")
    add_json_flag(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Learn."""
    from rlsuite.cli.filter_table import OBSERVATION, titled

    if chosen.save:
        check_writable(Path(chosen.save), "--save", (".npz",))
    data = titled(chosen.data)
    z, symbols = _observations(chosen.data, data[OBSERVATION])
    lengths = _lengths(data.get(EPISODE), len(z))
    emission: str = chosen.emission or ("categorical" if symbols else "gaussian")
    if chosen.states is None and STATE in data:
        model, how = _counted(data[STATE], z, lengths, emission, chosen.prior or 0.0), "counting"
    elif chosen.states is None:
        raise ParameterError(
            f"{chosen.data} has no column {STATE!r}: give --states K, how many hidden states there are"
        )
    else:
        model, how = _learned(chosen, z, lengths, emission), "expectation maximisation"
    if chosen.save:
        model.write(chosen.save)
    _report(chosen, model, how, len(lengths), len(z), model.score(z, lengths))
    return 0


def _observations(path: str, words: list[str]) -> "tuple[AnyArray, bool]":
    """The observations (T,), and whether they are symbols: whole numbers, -1 where one is missing."""
    import numpy as np

    from rlsuite.cli.filter_table import MISSING

    try:
        z = np.array([np.nan if word == MISSING else float(word) for word in words])
    except ValueError as error:
        raise FileError(f"{path}: an observation is not a number ({error}); write 0, 1, ... for symbols") from error
    known = z[~np.isnan(z)]
    symbols = bool((known == np.floor(known)).all() and (known >= 0).all())
    return (np.where(np.isnan(z), -1, z).astype(np.int64), True) if symbols else (z, False)


def _lengths(episodes: list[str] | None, n: int) -> list[int]:
    """The length of each sequence: the times from one change of the column to the next."""
    begins = [t for t in range(n) if t == 0 or (episodes is not None and episodes[t] != episodes[t - 1])]
    return [end - begin for begin, end in zip(begins, [*begins[1:], n], strict=True)]


def _counted(words: list[str], z: "AnyArray", lengths: list[int], emission: str, prior: float) -> "HMM":
    from rlsuite.inference import HMM

    names = sorted(set(words), key=lambda word: (not word.isdigit(), int(word) if word.isdigit() else 0, word))
    states: IndexArray | list[int] = [names.index(word) for word in words]
    return HMM.from_states(z, states, lengths, emission=emission, prior=prior, state_labels=names)


def _learned(chosen: argparse.Namespace, z: "AnyArray", lengths: list[int], emission: str) -> "HMM":
    from rlsuite.inference import random_hmm

    first = random_hmm(z, chosen.states, emission, seed=chosen.seed)
    return first.fit(z, lengths, restarts=chosen.restarts, prior=chosen.prior, seed=chosen.seed)


def _report(
    chosen: argparse.Namespace, model: "HMM", how: str, sequences: int, observations: int, log_likelihood: float
) -> None:
    parts: dict[str, Any] = {name: getattr(model.emission, name) for name in model.emission.parameter_names}
    transition = model.sparse_transition.toarray()
    if chosen.json:
        print_json(
            {
                "data": chosen.data,
                "by": how,
                "log_likelihood": log_likelihood,
                "state_labels": model.state_labels,
                "start": model.start,
                "transition": transition,
                "emission": {"kind": type(model.emission).__name__, **parts},
                **({"save": chosen.save} if chosen.save else {}),
            }
        )
        return
    import numpy as np

    from rlsuite.cli.beliefs import names

    states = names(model.state_labels, model.n_states)
    sequence = "1 sequence" if sequences == 1 else f"{sequences} sequences"
    print(f"{chosen.data}: {observations:,} observations in {sequence}, {how}")
    heads = ["state", "start", *(f"to {state}" for state in states)]
    begun: list[list[float]] = np.column_stack([model.start, transition]).tolist()
    rows = [[state, *map(number, row)] for state, row in zip(states, begun, strict=True)]
    for name, array in parts.items():
        flat = array.reshape(model.n_states, -1)
        heads += [f"{name} {i}" if flat.shape[1] > 1 else name for i in range(flat.shape[1])]
        rows = [[*row, *map(number, own)] for row, own in zip(rows, flat.tolist(), strict=True)]
    print(table(heads, rows, model.n_states))
    print(columns([("log-likelihood", f"{number(log_likelihood)} nats")]))
    if chosen.save:
        print(f"  written: {chosen.save}")
    print_note(
        f"next: {f'rlsuite filter {chosen.save} 0 0 --smooth' if chosen.save else 'the same with --save hmm.npz'}"
    )
