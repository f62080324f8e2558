"""A model as a diagram: a node for each state, an arrow for each way from one to another."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import CAPTION_INK, AxesKeywords, styled
from rlsuite.plotting.figure_list import figure_of
from rlsuite.plotting.graphs import MOST_NODES, NODE_LINE, Arrow, Graph, draw_graph, in_layers, wrapped
from rlsuite.plotting.labels import counted, names, title_of_model
from rlsuite.plotting.style import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.inference import HMM, HSMM
    from rlsuite.models import MDP, POMDP, MarkovChain
    from rlsuite.planning import Solution

MOST_ARROWS: Final = 200
"""Arrows that can be told apart, and drawn in some seconds."""

MOST_SYMBOLS: Final = 3
"""Symbols that are named in a state."""

LINE: Final = 28
"""Letters of a line on an arrow."""

LEAST: Final = 5e-4
"""A probability that is no longer shown as 0."""


@figure_of("solution")
@styled
def diagram(model: "MDP | POMDP | HMM | HSMM | MarkovChain | Solution", **look: Unpack[AxesKeywords]) -> "Axes":
    r"""The states of a model, and how one leads to another.

    States stand in the order in which they can be reached, from left to right; where an episode may begin the border is
    thick, and where it ends it is grey.

    Parameters
    ----------
    model
        What to draw; of a solution its model, under the best actions alone. On the arrows of an MDP, and of a POMDP,
        whose states are hidden, stand the actions, their probabilities if they are not certain, and the rewards, or
        costs, that are not 0. In the states of a hidden Markov model stand the symbols that are most probable there,
        and in those of a hidden semi-Markov model the mean duration.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes
        In inches, if the figure is a new one.

    Raises
    ------
    ParameterError
        If it is no such model, or has too many states or arrows to be read.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.plotting import diagram
    >>> machine = MDP.from_arrays(
    ...     [[[0.9, 0.1], [1, 0]], [[0, 1], [1, 0]]], [[1, -4], [0, -4]], gamma=0.9, order="sas", start=0,
    ...     state_labels=["ok", "broken"], action_labels=["run", "fix"],
    ... )
    >>> [text.get_text() for text in diagram(machine).texts][:4]
    ['ok', 'broken', 'run 0.9, 1\nfix, -4', 'run 0.1, 1']
    """
    given: Any = model
    policy: NDArray[np.int64] | None = None
    if hasattr(given, "lookahead"):
        given, policy = given.lookahead.mdp, given.policy
    if hasattr(given, "mdp") or hasattr(given, "next_state"):
        mdp: MDP = getattr(given, "mdp", given)
        unseen = "how hidden states change, " if mdp is not given else ""
        best = "the best " if policy is not None else ""
        on_arrows = f"{unseen}{best}actions, with their probability and {'cost' if mdp.costs else 'reward'}"
        return _draw(*_of_mdp(mdp, policy), title_of_model(given), on_arrows, look)
    hidden = hasattr(given, "emission")
    if not (hidden or hasattr(given, "recurrent_classes")):
        raise ParameterError(f"diagram draws an MDP, a POMDP, an HMM or a MarkovChain, not a {type(given).__name__}")
    texts = names(given.state_labels, given.n_states, "state")
    if hidden:
        texts = ["\n".join([name, *_seen(given.emission, state)]) for state, name in enumerate(texts)]
    if hasattr(given, "durations"):
        lasts = given.durations.mean.tolist()
        texts = [f"{text}\nlasts {mean:.3g} steps" for text, mean in zip(texts, lasts, strict=True)]
    ways = _of_matrix((given.sparse_transition if hidden else given.transition).toarray())
    begins: NDArray[np.bool_] = given.start > 0.0 if hidden else np.zeros(len(texts), dtype=np.bool_)
    return _draw(texts, ways, begins, None, counted(len(texts), "state"), "probabilities", look)


def _of_mdp(
    mdp: "MDP", policy: NDArray[np.int64] | None
) -> tuple[list[str], list[Arrow], NDArray[np.bool_], NDArray[np.bool_]]:
    """The names of the states, what leads from one to another, and where episodes begin and end."""
    _check_size(mdp.n_states)
    named = names(mdp.action_labels, mdp.n_actions, "action")
    actions = [f"action {name}" if name.isdigit() else name for name in named]
    rows = mdp.rows
    entered, ended = (
        np.bincount(rows.next_state[chosen], minlength=mdp.n_states) for chosen in (~rows.terminated, rows.terminated)
    )
    ends = ~mdp.legal.any(axis=1) | ((ended > 0) & (entered == 0) & (mdp.start == 0.0))
    found: dict[tuple[int, int, int], list[float]] = {}
    for pair, after, probability, reward in zip(
        mdp.pairs().tolist(), rows.next_state.tolist(), rows.probability.tolist(), rows.reward.tolist(), strict=True
    ):
        known = found.setdefault((pair // mdp.n_actions, after, pair % mdp.n_actions), [0.0, 0.0])
        known[0] += probability
        known[1] += probability * reward
    ways: list[Arrow] = []
    for (state, after, action), (probability, paid) in found.items():
        if probability < LEAST or ends[state] or (policy is not None and policy[state] != action):
            continue
        mean = (-1.0 if mdp.costs else 1.0) * paid / probability
        reward = f", {'cost ' if mdp.costs else ''}{mean:.3g}" if mean else ""
        ways.append(Arrow(state, after, f"{actions[action]}{_share(probability)}{reward}"))
    return names(mdp.state_labels, mdp.n_states, "state"), ways, mdp.start > 0.0, ends


def _share(probability: float) -> str:
    return "" if probability > 1.0 - LEAST else f" {probability:.3g}"


def _of_matrix(matrix: NDArray[np.float64]) -> list[Arrow]:
    _check_size(len(matrix))
    pairs: list[list[int]] = np.argwhere(matrix >= LEAST).tolist()
    return [Arrow(begin, end, f"{matrix[begin, end]:.3g}") for begin, end in pairs]


def _seen(emission: Any, state: int) -> list[str]:
    """What is seen in a state: the most probable symbols, or the mean of a number."""
    if hasattr(emission, "table"):
        row: NDArray[np.float64] = emission.table[state]
        likely: list[int] = np.argsort(-row, kind="stable")[:MOST_SYMBOLS].tolist()
        return [f"{z}: {row[z]:.3g}" for z in likely if row[z] >= LEAST]
    if hasattr(emission, "mean") and np.ndim(emission.mean) == 1:
        return [f"mean {emission.mean[state]:.3g}"]
    return []


def _check_size(n_states: int) -> None:
    if n_states > MOST_NODES:
        raise ParameterError(f"a diagram of {n_states:,} states is too large to be read (at most {MOST_NODES})")


def _draw(
    texts: Sequence[str],
    ways: list[Arrow],
    begins: NDArray[np.bool_],
    ends: NDArray[np.bool_] | None,
    title: str,
    what: str,
    look: AxesKeywords,
) -> "Axes":
    first = [*np.flatnonzero(begins).tolist(), *np.flatnonzero(~begins).tolist()]
    position = {state: at for at, state in enumerate(first)}
    together: dict[tuple[int, int], list[str]] = {}
    for way in sorted(ways, key=lambda one: (position[one.begin], position[one.end])):
        together.setdefault((position[way.begin], position[way.end]), []).append(way.name)
    if len(together) > MOST_ARROWS:
        raise ParameterError(f"a diagram of {len(together)} arrows is too full to be read (at most {MOST_ARROWS})")
    arrows = [
        Arrow(begin, end, "\n".join(wrapped(text, LINE) for text in lines)) for (begin, end), lines in together.items()
    ]
    colour = Palette(["state"])["state"].colour
    ended = [False] * len(first) if ends is None else ends[first].tolist()
    graph = Graph(
        texts=["\n".join(wrapped(line, NODE_LINE) for line in texts[state].split("\n")) for state in first],
        colours=[CAPTION_INK if end else colour for end in ended],
        thick=set(range(int(begins.sum()))),
        arrows=arrows,
        in_layers=in_layers(len(first), arrows),
    )
    known = [("Thick borders: a start.", begins.any()), ("Grey: an end.", any(ended))]
    return draw_graph(graph, title, [f"Arrows: {what}.", *(text for text, holds in known if holds)], look)
