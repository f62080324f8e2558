"""Plans in the files of other solvers: ``.alpha`` and ``.pg`` of pomdp-solve, ``.policy`` of SARSOP (APPL).

An ``.alpha`` file has two lines for each vector, its action and its entries; a ``.policy`` file has the same as XML. A
``.pg`` file has a line for each node of a policy graph: its number, its action, and the node that follows each
observation, ``-`` if it is impossible. None of them holds the model, and none says how good the plan is. So a plan that
is read comes with bounds of our own: its vectors, or the nodes of the graph, are evaluated as a controller.
"""

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import FileError, ParameterError, unknown_suffix
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.files import reading
from rlsuite.planning.pomdp.bounds.linear_bounds import endless_bounds
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.exact.backprojection import Projection
from rlsuite.planning.pomdp.exact.infinite_horizon import MOST_UNKNOWNS, controller_value
from rlsuite.planning.pomdp.plan_pruning import guaranteed
from rlsuite.planning.pomdp.policy_graphs import policy_graph
from rlsuite.planning.pomdp.solution import AlphaVectorSolution, BeliefPlan, BoundsTrace, values_at
from rlsuite.planning.watch import Watch

SUFFIXES = (".alpha", ".pg", ".policy")

NOWHERE: Final = ("-", "x", "X")
"""How files write that an observation is impossible."""


@says_what_to_write
def write_plan(plan: BeliefPlan, path: str | PathLike[str]) -> None:
    """Write a plan for other programs; the suffix says which kind of file.

    ===========  =====================================================================================
    ``.alpha``   the vectors, as pomdp-solve writes them
    ``.policy``  the vectors, as SARSOP (APPL) writes them
    ``.pg``      the policy graph, as pomdp-solve writes it; node k is vector k if the plan says how it goes on,
                 otherwise the graph is read off the beliefs that the plan reaches
    ===========  =====================================================================================

    Where a vector is not known, and so minus infinity, files hold the least that any plan can earn. Of a plan with a
    horizon, the vectors with all steps to go are written.

    Parameters
    ----------
    plan : BeliefPlan
        A plan with alpha vectors. `Kept.save` keeps any plan.
    path
        The file.

    Raises
    ------
    ParameterError
        If the plan has no alpha vectors; or its actions are not legal everywhere, which these files cannot say; or,
        for a graph, if the plan has a horizon or its vectors are upper bounds.
    FileError
        If the suffix is another one, or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import read_plan, solve, write_plan
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.5, start=0)
    >>> with TemporaryDirectory() as folder:
    ...     write_plan(solve(machine, "incremental_pruning"), f"{folder}/machine.alpha")
    ...     text, plan = Path(f"{folder}/machine.alpha").read_text(), read_plan(f"{folder}/machine.alpha", machine)
    >>> text.split()[0], round(float(text.split()[1]), 6), round(plan.lower_bound, 6), plan.act([0.5, 0.5])
    ('0', 1.818182, 1.818182, 0)
    """
    suffix = _suffix(path)
    if not isinstance(plan, AlphaVectorSolution):
        raise ParameterError(f"a plan of {plan.method} has no alpha vectors for a {suffix} file; save() keeps it")
    legal = plan.pomdp.mdp.legal
    if not (legal.all(axis=1) | ~legal.any(axis=1)).all():
        raise ParameterError(f"a {suffix} file cannot say that actions are illegal in some states; save() keeps them")
    if suffix == ".pg":
        if plan.horizon is not None:
            raise ParameterError("a .pg file holds a plan without end, and this one has a horizon; save() keeps it")
        text = _graph_text(plan)
    else:
        text = (_alpha_text if suffix == ".alpha" else _policy_text)(_known_everywhere(plan), plan.actions)
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


@says_what_to_write
def read_plan(path: str | PathLike[str], pomdp: POMDP) -> AlphaVectorSolution:
    """Read a plan without end that another program, or `write_plan`, has written; the suffix says which kind of file.

    Parameters
    ----------
    path
        An ``.alpha``, ``.policy`` or ``.pg`` file.
    pomdp : POMDP
        The model that the plan is for; gamma < 1.

    Returns
    -------
    AlphaVectorSolution
        The vectors of the file, or the values of the nodes of its graph. ``lower_bound`` is what the plan, as a
        controller, is proven to earn from the start, minus infinity if it is too large to be evaluated; `value` says
        what the file says.

    Raises
    ------
    FileError
        If the file is missing, damaged, of another kind, or does not fit the model.
    ParameterError
        If gamma is 1.
    """
    suffix = _suffix(path)
    model = PreparedModel(pomdp, f"a plan of a {suffix} file")
    successors = None
    with reading(path):
        content = Path(path).read_bytes()
    try:
        if suffix == ".pg":
            actions, successors = _graph_in(content.decode("latin-1"), pomdp)
            vectors = _values_of_graph(pomdp, actions, successors)
        else:
            vectors, actions = (_alpha_in if suffix == ".alpha" else _policy_in)(content, pomdp)
    except (ElementTree.ParseError, LookupError, ValueError) as cause:
        raise FileError(f"{path}: {cause}") from cause
    upper = endless_bounds(model, Watch("reading a plan", tol=1.0)).at(pomdp.start)[1]
    plan = AlphaVectorSolution(
        lower_bound=-math.inf,
        upper_bound=upper,
        converged=False,
        horizon=None,
        iterations=0,
        seconds=0.0,
        method=f"{suffix} file",
        alpha_vectors=vectors,
        actions=actions,
        pomdp=pomdp,
        trace=BoundsTrace.of([]),
        successors=successors,
    )
    if successors is None:
        return guaranteed(plan)
    return guaranteed(plan, float(values_at(vectors, pomdp.start[np.newaxis]).max()))


def _suffix(path: str | PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(f"{path}: {unknown_suffix(suffix, SUFFIXES)}")
    return suffix


def _known_everywhere(plan: AlphaVectorSolution) -> FloatArray:
    """The vectors, with the least that any plan can earn in place of minus infinity."""
    vectors, pomdp = plan.alpha_vectors, plan.pomdp
    if vectors.min() > -np.inf:
        return vectors
    steps = 1.0 / (1.0 - pomdp.gamma) if plan.horizon is None else float(plan.horizon)
    least = min(float(pomdp.mdp.expected_reward().min(where=pomdp.mdp.legal, initial=0.0)), 0.0) * steps
    return np.where(vectors > -np.inf, vectors, least)


# ------------------------------------------------------------------------------------------------ pomdp-solve


def _alpha_text(vectors: FloatArray, actions: IndexArray) -> str:
    rows = (f"{a}\n{' '.join(map(repr, row))}\n\n" for a, row in zip(actions.tolist(), vectors.tolist(), strict=True))
    return "".join(rows)


def _alpha_in(content: bytes, pomdp: POMDP) -> tuple[FloatArray, IndexArray]:
    words, row = content.decode("latin-1").split(), pomdp.n_states + 1
    return _vectors([words[begin : begin + row] for begin in range(0, len(words), row)], pomdp)


def _graph_text(plan: AlphaVectorSolution) -> str:
    if plan.successors is None:
        graph = policy_graph(plan)
        actions, successors = graph.actions, graph.successors
    else:
        actions, successors = plan.actions, plan.successors
    return "".join(
        f"{node} {action}  {' '.join('-' if k < 0 else str(k) for k in row)}\n"
        for node, (action, row) in enumerate(zip(actions.tolist(), successors.tolist(), strict=True))
    )


def _graph_in(text: str, pomdp: POMDP) -> tuple[IndexArray, IndexArray]:
    """The actions (n,) and successors (n, Z) of a .pg file."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    symbols = pomdp.n_observations
    if not lines:
        raise ValueError("it has no nodes")
    actions = np.empty(len(lines), dtype=np.int64)
    successors = np.empty((len(lines), symbols), dtype=np.int64)
    for node, (number, *words) in enumerate(lines):
        if len(words) != symbols + 1 or number != str(node):
            raise ValueError(
                f"line {node + 1} is not 'node {node}, its action, and the nodes after {symbols} observations'"
            )
        actions[node] = _number(f"node {node}: action", words[0], pomdp.n_actions)
        successors[node] = [
            -1 if word in NOWHERE else _number(f"node {node}: successor", word, len(lines)) for word in words[1:]
        ]
    return actions, successors


def _values_of_graph(pomdp: POMDP, actions: IndexArray, successors: IndexArray) -> FloatArray:
    """The value of each node (n, S)."""
    projection = Projection(pomdp)
    if not pomdp.mdp.legal[pomdp.mdp.legal.any(axis=1)].all():
        raise ValueError("its model has actions that are illegal in some states, which policy graphs cannot say")
    if actions.size * pomdp.n_states > MOST_UNKNOWNS:
        raise ValueError(f"{actions.size} nodes times {pomdp.n_states} states are more than {MOST_UNKNOWNS}")
    for action, row in zip(actions.tolist(), successors, strict=True):
        possible: list[int] = sorted(projection.moves[int(action)])
        lost = [z for z in possible if row[z] < 0]
        if lost:
            raise ValueError(f"no node follows observation {lost[0]} and action {action}, which is possible")
    return controller_value(projection, actions, successors)


# ------------------------------------------------------------------------------------------------ SARSOP


def _policy_text(vectors: FloatArray, actions: IndexArray) -> str:
    rows = "".join(
        f'<Vector action="{a}" obsValue="0">{" ".join(map(repr, row))} </Vector>\n'
        for a, row in zip(actions.tolist(), vectors.tolist(), strict=True)
    )
    n, states = vectors.shape
    return (
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
        '<Policy version="0.1" type="value" model="rlsuite" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="policyx.xsd">\n'
        f'<AlphaVector vectorLength="{states}" numObsValue="1" numVectors="{n}">\n{rows}</AlphaVector>\n</Policy>\n'
    )


def _policy_in(content: bytes, pomdp: POMDP) -> tuple[FloatArray, IndexArray]:
    if b"<!" in content.replace(b"<!--", b""):  # the only way to define entities, which may grow
        raise ValueError("a document type declaration is not read: delete it")
    root = ElementTree.fromstring(content)
    listed = root.find("AlphaVector")
    if root.tag != "Policy" or listed is None:
        raise ValueError("it has no <AlphaVector> in a <Policy>")
    length, seen = listed.get("vectorLength"), listed.get("numObsValue", "1")
    if length != str(pomdp.n_states) or seen != "1":
        raise ValueError(
            f"its vectors are of length {length} for each of {seen} observed values; this model has {pomdp.n_states} "
            "states, none of which is observed"
        )
    rows: list[list[str]] = []
    for i, one in enumerate(listed):
        words = "".join(one.itertext()).split()
        if one.tag == "SparseVector":  # pairs of a state and an entry
            entries = ["0"] * pomdp.n_states
            for state, entry in zip(words[::2], words[1::2], strict=True):
                entries[_number(f"vector {i}: state", state, len(entries))] = entry
            words = entries
        rows.append([one.get("action", ""), *words])
    return _vectors(rows, pomdp)


# ------------------------------------------------------------------------------------------------ numbers


def _vectors(rows: Sequence[Sequence[str]], pomdp: POMDP) -> tuple[FloatArray, IndexArray]:
    """Return vectors (n, S) and their actions (n,) from rows of an action and the entries."""
    if not rows:
        raise ValueError("it has no vectors")
    for i, row in enumerate(rows):
        if len(row) != pomdp.n_states + 1:
            raise ValueError(f"vector {i} has {len(row) - 1} entries, not {pomdp.n_states}")
    actions = [_number(f"vector {i}: action", row[0], pomdp.n_actions) for i, row in enumerate(rows)]
    vectors = np.array([row[1:] for row in rows]).astype(np.float64)
    if not np.isfinite(vectors).all():
        raise ValueError(f"vector {int(np.argmin(np.isfinite(vectors).all(axis=1)))} has an entry that is not finite")
    return vectors, np.array(actions, dtype=np.int64)


def _number(what: str, word: str, below: int) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 19 and int(word) < below):
        raise ValueError(f"{what} {word!r} is not one of 0..{below - 1}")
    return int(word)
