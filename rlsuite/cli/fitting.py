"""``rlsuite fit DATA``: a hidden Markov model from observations, by counting or by expectation maximisation."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from math import log
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rlsuite.cli.options import whole_number
from rlsuite.cli.output import AgentFile, columns, number, print_json, print_note, table
from rlsuite.errors import FileError, ParameterError, unknown

if TYPE_CHECKING:
    import numpy as np

    from rlsuite.inference import HMM, HSMM, Emission, Selection
    from rlsuite.models.aliases import AnyArray, FloatArray

FAMILIES = {"poisson": "poisson", "negative-binomial": "negative_binomial"}
"""What --durations takes beside the number of steps in a table, and what Python calls it."""

STATE = "state"
"""Title of the column of states that are known."""

SYMBOLS = "categorical"


class Data(NamedTuple):
    """What a file holds."""

    z: "AnyArray"
    """(T,) observations, or (T, D) where they are vectors"""
    lengths: list[int]
    """of each sequence"""
    families: dict[str, str]
    """how each column of observations is distributed, by its title"""
    symbols: list[list[str] | None]
    """the names of each column's symbols; None of numbers"""
    states: list[str] | None


@dataclass(frozen=True)
class Fit:
    """Model.

    Parameters
    ----------
    data : DATA
        a table in CSV, or a text file of observations
    states : K,...
        number of hidden states; of several, such as 1,2,3, the best is chosen
    criterion : NAME
        what chooses: bic, aic or held-out (default bic)
    emission : NAME,...
        categorical, gaussian or poisson, for all columns or for each (default: categorical for whole numbers)
    durations : NAME
        how long states last: poisson, negative-binomial, or a number of steps, up to which any duration has a
        probability of its own (a hidden semi-Markov model, which begins with the plain one)
    columns : TITLE,...
        the columns that are observations (default: those called observation)
    group : TITLE
        the column that is another one in each sequence (default: episode)
    prior : C
        pseudo-count of everything (default 0)
    restarts : N
        random starts (default 1)
    seed : N
        of the random starts (default 0)
    save : FILE.npz
        write the model; 'rlsuite filter FILE.npz' uses it
    json
        print the result as JSON
    """

    data: str
    _: KW_ONLY
    states: str | None = None
    criterion: str = "bic"
    emission: str | None = None
    durations: str | None = None
    columns: str | None = None
    group: str | None = None
    prior: float | None = None
    restarts: int = 1
    seed: int = 0
    save: AgentFile | None = None
    json: bool = False

    @cached_property
    def n_states(self) -> list[int]:
        """The numbers of states that are tried; empty if none is given."""
        return [] if self.states is None else [whole_number(part) for part in self.states.split(",")]


def fit(asked: Fit) -> int:
    """Learn a hidden Markov model from a file of observations.

    Learn a hidden Markov model. Where the file has a column 'state', its states are counted; with --states, or without
    such a column, they are hidden, and expectation maximisation (Baum-Welch) finds them. States last a geometric time,
    unless --durations says otherwise.

    The file is a table with titles: observation (whole numbers or words are symbols, ? is a missing one), state (names
    or numbers), and episode, which is another one in each sequence. Where several things are observed at once, their
    columns are observation.a, observation.b and so on, independent of each other given the state; with sequences of
    one row each this is naive Bayes. --columns and --group name columns with other titles. Without titles all entries
    are observations of one sequence.

    Examples
    --------
    rlsuite fit rolls.csv --states 2 --restarts 5 --save casino.npz
    rlsuite fit meter.csv --states 2 --emission gaussian --durations poisson --save machine.npz
    rlsuite fit sensor.csv --states 2 --columns temperature,vibration --group run
    """
    _check(asked)
    data = _read(asked)
    choice, how = None, "expectation maximisation"
    if not asked.n_states and data.states is not None and not asked.durations:
        model, how = _counted(data, data.states, asked.prior or 0.0), "counting"
    elif not asked.n_states:
        hidden = f"{asked.data} has no column {STATE!r}" if data.states is None else "--durations learns hidden states"
        raise ParameterError(f"{hidden}: give --states K, how many hidden states there are")
    elif len(asked.n_states) == 1:
        model = _learned(asked, data, asked.n_states[0])
    else:
        choice = _chosen(asked, data)
        model = choice.hmm
    found: Learned = _lasting(asked.durations, asked.prior, data, model) if asked.durations else model
    if asked.save:
        found.write(asked.save)
    _report(asked, data, found, how, choice)
    return 0


def _check(asked: Fit) -> None:
    """Raise if flags do not go together."""
    if asked.durations and len(asked.n_states) > 1:
        raise ParameterError(
            f"--durations: --states {asked.states} chooses among plain models; give one number, and compare the BIC of "
            "each"
        )
    if asked.durations and asked.durations not in FAMILIES and not asked.durations.isdigit():
        raise ParameterError(f"{unknown('--durations', asked.durations, FAMILIES)}; or a number of steps")


def _read(asked: Fit) -> Data:
    import numpy as np

    from rlsuite.cli.filter_table import EPISODE, PART, observed, split, titled

    path, emission = asked.data, asked.emission
    words = titled(path, split(asked.columns or ""), asked.group)
    seen = [_observations(path, words[title]) for title in observed(words)]
    names = [title.removeprefix(PART) for title in observed(words)]
    families = emission.split(",") if emission else [SYMBOLS if column.symbols else "gaussian" for column in seen]
    if len(families) == 1:
        families *= len(names)
    if len(families) != len(names):
        raise ParameterError(
            f"--emission {emission}: {path} has {len(names)} columns of observations; name one for each"
        )
    for column, family in zip(seen, families, strict=True):
        if column.names is not None and family != SYMBOLS:
            raise ParameterError(f"--emission {emission}: {path} has words, such as {column.names[0]!r}, not numbers")
    z = seen[0].z if len(seen) == 1 else np.column_stack([column.z for column in seen])
    lengths = _lengths(words.get(EPISODE), len(z))
    symbols = [column.names for column in seen]
    return Data(z, lengths, dict(zip(names, families, strict=True)), symbols, words.get(STATE))


Learned: TypeAlias = "HMM | HSMM"


class Column(NamedTuple):
    """A column of observations."""

    z: "AnyArray"
    """(T,): of symbols int64, -1 where one is missing; of numbers float64, NaN there"""
    symbols: bool
    """whether they are symbols: whole numbers, or words"""
    names: list[str] | None
    """the words, in the order of their numbers"""


def _observations(path: str, words: list[str]) -> Column:
    import numpy as np

    from rlsuite.cli.filter_table import MISSING, is_number

    known = [word for word in words if word != MISSING]
    others = [word for word in known if not is_number(word)]
    if others and len(others) == len(known):
        names = sorted(set(known))
        return Column(np.array([-1 if word == MISSING else names.index(word) for word in words]), True, names)
    if others:
        raise FileError(
            f"{path}: the observation {others[0]!r} is not a number, as others are; write numbers only, or words only"
        )
    z = np.array([np.nan if word == MISSING else float(word) for word in words])
    numbers = z[~np.isnan(z)]
    if (numbers == np.floor(numbers)).all() and (numbers >= 0).all():
        return Column(np.where(np.isnan(z), -1, z).astype(np.int64), True, None)
    return Column(z, False, None)


def _lengths(episodes: list[str] | None, n: int) -> list[int]:
    """The length of each sequence: the times from one change of the column to the next."""
    begins = [t for t in range(n) if t == 0 or (episodes is not None and episodes[t] != episodes[t - 1])]
    return [end - begin for begin, end in zip(begins, [*begins[1:], n], strict=True)]


def _emission(data: Data) -> "str | Callable[[int, np.random.Generator], Emission]":
    """The family of the observations; where they are vectors, a function that makes the product of its columns'."""
    families = list(data.families.values())
    if len(families) == 1 and data.symbols == [None]:
        return families[0]
    from rlsuite.inference import Categorical, Product
    from rlsuite.inference.from_complete_data import emission_of

    channels = data.z.reshape(len(data.z), -1).T
    parts = [
        column.astype("int64") if family == SYMBOLS else column
        for family, column in zip(families, channels, strict=True)
    ]

    def made(n_states: int, rng: "np.random.Generator") -> "Emission":
        found = [emission_of(family, part, n_states, rng) for family, part in zip(families, parts, strict=True)]
        named = [
            Categorical(one.table, names) if isinstance(one, Categorical) and names else one
            for one, names in zip(found, data.symbols, strict=True)
        ]
        return named[0] if len(named) == 1 else Product(named)

    return made


def _counted(data: Data, words: list[str], prior: float) -> "HMM":
    from rlsuite.inference import HMM, Prior

    names = sorted(set(words), key=lambda word: (not word.isdigit(), int(word) if word.isdigit() else 0, word))
    transition = prior if _moves(data) else prior or 1.0  # any: no sequence has a second row
    return HMM.from_states(
        data.z,
        [names.index(word) for word in words],
        data.lengths,
        emission=_emission(data),
        prior=Prior(prior, transition, prior or None),
        state_labels=names,
    )


def _moves(data: Data) -> bool:
    """Whether any sequence has a second row."""
    return max(data.lengths) > 1


def _learned(asked: Fit, data: Data, n_states: int) -> "HMM":
    from rlsuite.inference import random_hmm

    first = random_hmm(data.z, n_states, _emission(data), seed=asked.seed)
    return first.fit(data.z, data.lengths, restarts=asked.restarts, prior=asked.prior, seed=asked.seed)


def _lasting(durations: str, prior: float | None, data: Data, plain: "HMM") -> "HSMM":
    """A model with durations that begins with the plain one, whose states may not last for ever."""
    import numpy as np

    from rlsuite.inference import HSMM

    matrix = plain.sparse_transition.toarray() + 1.0 / len(data.z)
    plain = plain.replace(transition=matrix / np.sum(matrix, axis=1, keepdims=True))
    first = HSMM.from_hmm(plain, FAMILIES.get(durations) or int(durations))
    return first.fit(data.z, data.lengths, prior=prior)


def _chosen(asked: Fit, data: Data) -> "Selection":
    from rlsuite.inference import choose_n_states

    criterion: Any = asked.criterion.replace("-", "_")
    return choose_n_states(
        data.z,
        asked.n_states,
        _emission(data),
        data.lengths,
        criterion=criterion,
        restarts=asked.restarts,
        prior=asked.prior,
        seed=asked.seed,
    )


def _report(asked: Fit, data: Data, model: "Learned", how: str, choice: "Selection | None") -> None:
    from rlsuite.inference import HMM, HSMM, Product
    from rlsuite.models import MarkovChain

    log_likelihood = model.score(data.z, data.lengths)
    seen = int((~model.emission.missing(model.emission.check(data.z))).sum())
    bic = model.n_parameters * log(max(seen, 1)) - 2.0 * log_likelihood
    emission = model.emission
    channels = dict(zip(data.families, emission.channels if isinstance(emission, Product) else [emission], strict=True))
    chain = MarkovChain(model.transition) if isinstance(model, HMM) else None
    long_run = None
    if chain is not None and len(laws := chain.stationary_laws()) == 1:
        long_run = laws[0]
    if asked.json:
        learned = {
            name: {"kind": type(one).__name__, **_symbols(one), **_arrays(one)} for name, one in channels.items()
        }
        own: dict[str, object] = {}
        if chain is not None:
            own = {"long_run": long_run, "regular": chain.is_regular}
        elif isinstance(model, HSMM):
            own = {"durations": {"kind": type(model.durations).__name__, **model.durations.arrays()}}
        print_json(
            {
                "data": asked.data,
                "by": how,
                **({} if choice is None else {"tried": _tried(choice)}),
                "log_likelihood": log_likelihood,
                "bic": bic,
                "state_labels": model.state_labels,
                "start": model.start,
                "transition": model.sparse_transition.toarray(),
                **own,
                "emission": learned if isinstance(emission, Product) else next(iter(learned.values())),
                **({"save": asked.save} if asked.save else {}),
            }
        )
        return
    from rlsuite.cli.output import names

    states = names(model.state_labels, model.n_states)
    sequence = "1 sequence" if len(data.lengths) == 1 else f"{len(data.lengths)} sequences"
    print(f"{asked.data}: {len(data.z):,} observations in {sequence}, {how}")
    if choice is not None:
        tried = _tried(choice)
        print(table(list(tried[0]), [list(map(number, row.values())) for row in tried], len(tried)))
        print(f"  {choice.n_states} states are best by {choice.criterion}")
    lasts = {"mean duration": model.durations.mean} if isinstance(model, HSMM) else {}
    print(_states_table(states, _chain_columns(model, states, long_run, data) | lasts | _columns(emission)))
    if isinstance(emission, Product):
        for name, channel in channels.items():
            print(_states_table(states, {f"{name} {title}": column for title, column in _columns(channel).items()}))
    summary = [("log-likelihood", f"{number(log_likelihood)} nats"), ("BIC", number(bic))]
    if chain is not None and _moves(data):
        summary.append(("regular chain", "yes" if chain.is_regular else "no"))
    print(columns(summary))
    if asked.save:
        print(f"  written: {asked.save}")
    if not asked.save:
        print_note("next: the same with --save hmm.npz")
    elif isinstance(emission, Product):
        print_note(f"next: rlsuite filter {asked.save} --file {asked.data}{_columns_of(asked)}")
    else:
        print_note(f"next: rlsuite filter {asked.save} {_first_words(data)} --smooth")


def _columns_of(asked: Fit) -> str:
    return f" --columns {quote(asked.columns)}" if asked.columns else ""


def _first_words(data: Data) -> str:
    """The first two observations of the data, as a shell takes them; others might be impossible in the model."""
    first: list[Any] = data.z[: min(2, data.lengths[0])].tolist()
    words = data.symbols[0]
    missing = [one < 0 if data.z.dtype.kind == "i" else one != one for one in first]
    texts = [f"{one:g}" if words is None else words[int(one)] for one in first]
    return " ".join(quote("?" if gone else text) for gone, text in zip(missing, texts, strict=True))


def _tried(choice: "Selection") -> list[dict[str, float]]:
    """What is known of each number of states."""
    held_out = {"held out": choice.held_out} if choice.criterion == "held_out" else {}
    known = {
        "states": choice.tried,
        "log-likelihood": choice.log_likelihoods,
        "AIC": choice.aic,
        "BIC": choice.bic,
        "posterior": choice.posterior,
        **held_out,
    }
    return [dict(zip(known, row, strict=True)) for row in zip(*(one.tolist() for one in known.values()), strict=True)]


def _arrays(emission: "Emission") -> "dict[str, FloatArray]":
    return {name: getattr(emission, name) for name in emission.parameter_names}


def _symbols(emission: "Emission") -> "dict[str, Sequence[str]]":
    """The names of the symbols, under the name `labels`; nothing without."""
    labels: Sequence[str] | None = getattr(emission, "labels", None)
    return {} if labels is None else {"labels": labels}


def _chain_columns(
    model: "Learned", states: list[str], long_run: "FloatArray | None", data: Data
) -> "dict[str, FloatArray]":
    """Where sequences begin, and how they go on if any does; (K,) by title."""
    ahead = {f"to {state}": column for state, column in zip(states, model.sparse_transition.toarray().T, strict=True)}
    always = {} if long_run is None else {"long run": long_run}
    return {"start": model.start, **(ahead | always if _moves(data) else {})}


def _columns(emission: "Emission") -> "dict[str, FloatArray]":
    """The parameters of an emission, (K,) by title; none of a product, the channels of which have their own."""
    from rlsuite.inference import Product

    if isinstance(emission, Product):
        return {}
    labels = _symbols(emission).get("labels")
    return {
        f"{name} {labels[i] if labels else i}" if array.size > emission.n_states else name: column
        for name, array in _arrays(emission).items()
        for i, column in enumerate(array.reshape(emission.n_states, -1).T)
    }


def _states_table(states: list[str], shown: "dict[str, FloatArray]") -> str:
    """A row for each state, of columns (K,) by title."""
    rows = ([state, *map(number, row)] for state, *row in zip(states, *shown.values(), strict=True))
    return table(["state", *shown], rows, len(states))
