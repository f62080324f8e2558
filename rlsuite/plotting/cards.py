"""Cards: what a model, a solution, an agent or a result looks like in a notebook, in no more than a screen.

A card has a title, facts, the first rows of a table, sentences and a figure. Its colours are those of the page, be it
light or dark; figures have a white ground. A function marked `card_of` makes the card of a class and its subclasses.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import numpy as np

from rlsuite.core.checks import one_of
from rlsuite.errors import NotLearned, ParameterError, RlsuiteWarning, UnsuitableEnvironment
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.plotting.belief_values import alpha_vectors, belief_simplex
from rlsuite.plotting.bounds import gap, pareto_front, state_values
from rlsuite.plotting.comparisons import final_values, performance_profile
from rlsuite.plotting.curves import episode_return, evaluation
from rlsuite.plotting.diagrams import diagram
from rlsuite.plotting.figure import CAPTION_ID, for_a_file, svg_of
from rlsuite.plotting.figure_list import marked
from rlsuite.plotting.graphs import policy_graph
from rlsuite.plotting.labels import counted, in_title, names
from rlsuite.plotting.values import value_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.agents.learner import Learner
    from rlsuite.environments.tabular_env import TabularEnv
    from rlsuite.experiments.comparison import Comparison
    from rlsuite.inference import HMM, HSMM, OnlineFilter
    from rlsuite.models import MDP, POMDP, MarkovChain
    from rlsuite.planning import AlphaVectorSolution, BeliefPlan, ConstrainedSolution, ParetoFront, Solution
    from rlsuite.planning.pomdp.policy_graphs import PolicyGraph
    from rlsuite.rendering import GridLayout
    from rlsuite.training.judging import PolicyReport
    from rlsuite.training.results import Results

MOST_ROWS: Final = 8
"""Rows of a table; more are counted."""

MOST_COLUMNS: Final = 8
"""Columns of a table."""

MOST_SENTENCES: Final = 6
"""Sentences, and lines of a text."""

FEW_STATES: Final = 12
"""Most states of a model whose diagram is drawn without being asked for."""

MOST_POINTS: Final = 1_000
"""Most states of a solution whose values are drawn as points: a notebook keeps each of them."""

Table: TypeAlias = Mapping[str, Sequence[object]]
"""Columns of equal length, by title."""

Draw: TypeAlias = "Callable[..., Axes]"


class Card(NamedTuple):
    """What is shown of an object."""

    title: str
    facts: Mapping[str, object] = {}
    table: Mapping[str, Sequence[object]] = {}
    sentences: Sequence[str] = ()
    figures: Sequence[Draw] = ()
    """The first that can be drawn is shown."""
    n_rows: int | None = None
    """Rows of the whole table, if these are only the first."""


_MADE: dict[str, Callable[[Any], Card]] = {}


def card_of(*kinds: str) -> Callable[[Callable[[Any], Card]], Callable[[Any], Card]]:
    """Mark a function that makes the card of a class, which is named: nothing is imported to show something else."""

    def mark(function: Callable[[Any], Card]) -> Callable[[Any], Card]:
        _MADE.update(dict.fromkeys(kinds, function))
        return function

    return mark


def card_of_object(shown: object) -> Card:
    """Return the card of an object; of one that has none, its text."""
    make = next((_MADE[kind.__name__] for kind in type(shown).__mro__ if kind.__name__ in _MADE), None)
    return Card(type(shown).__name__, sentences=repr(shown).splitlines()) if make is None else make(shown)


def html_of(shown: object) -> str:
    """Return the card of an object as HTML.

    >>> from rlsuite.models import MDP
    >>> "2 states" in html_of(MDP.from_successors([[0, 1], [1, 1]], [[1, 5], [0, 0]], gamma=0.8))
    True
    """
    card = card_of_object(shown)
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{_text(value)}</dd>" for name, value in card.facts.items())
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in card.sentences[:MOST_SENTENCES])
    numbers = f"<dl>{facts}</dl>" if facts else ""
    left = f"<div>{numbers}{_table(card)}{told}</div>"
    return f'<div class="rlsuite">{STYLE}<b>{escape(card.title)}</b><div>{left}{_figure(card)}</div></div>'


STYLE: Final = (
    "<style>.rlsuite{font:14px/1.4 system-ui,sans-serif;color:inherit;max-width:60rem}"
    ".rlsuite>div{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start}"
    ".rlsuite dl{display:grid;grid-template-columns:max-content auto;gap:0 .8rem;margin:.3rem 0}"
    ".rlsuite dt{opacity:.7;float:none;width:auto;white-space:nowrap}.rlsuite dd{margin:0}"
    ".rlsuite table{border-collapse:collapse;margin:.3rem 0;font-size:.9em;color:inherit}"
    ".rlsuite tr,.rlsuite th,.rlsuite td{background:none;color:inherit}"
    ".rlsuite th,.rlsuite td{padding:.1rem .6rem .1rem 0;text-align:left;white-space:nowrap;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)}"
    ".rlsuite p{margin:.2rem 0;opacity:.8}"
    ".rlsuite figure{margin:0;padding:.4rem;background:#fff;border-radius:.4rem}"
    ".rlsuite svg{display:block;width:auto;height:auto;max-width:min(26rem,100%);max-height:20rem}</style>"
)


def _text(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return "&ndash;" if value == -np.inf else f"{value:.6g}"  # of what is not legal
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    text = str(value)
    return escape(text if len(text) <= 60 else f"{text[:57]}...")


def _table(card: Card) -> str:
    table = card.table
    if not table:
        return ""
    titles = [*table][:MOST_COLUMNS]
    n_rows = len(table[titles[0]]) if card.n_rows is None else card.n_rows
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    rows = zip(*(table[title][:MOST_ROWS] for title in titles), strict=True)
    body = "".join("<tr>" + "".join(f"<td>{_text(value)}</td>" for value in row) + "</tr>" for row in rows)
    missing = {"row": n_rows - MOST_ROWS, "column": len(table) - MOST_COLUMNS}
    left_out = [f"{n:,} more {what}{'s' * (n > 1)}" for what, n in missing.items() if n > 0]
    more = f"<p>{' and '.join(left_out)}</p>" if left_out else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def draw_card(card: Card, **look: Any) -> "Axes | None":
    """Draw the first of its figures that can be drawn; None if there is none."""
    for draw in card.figures:
        with warnings.catch_warnings(), suppress(ParameterError, UnsuitableEnvironment, NotLearned):
            warnings.simplefilter("ignore", RlsuiteWarning)
            return draw(**look)
    return None


OF: Final = {"lookahead": "solution", "pomdp": "plan", "n_states": "solution"}
"""What objects are, by an attribute that they have; others are results."""


def plotted(shown: Any, kind: str | None, look: dict[str, Any]) -> "Axes":
    """Draw an object in the figure that is named, or the first one of its card.

    Raises
    ------
    ParameterError
        If there is no such figure, or nothing to draw.
    """
    if kind is None:
        card, look = card_of_object(shown), {"title": None, **look}
        if (ax := draw_card(card, **look)) is not None:
            return ax
        if card.figures:
            return card.figures[0](**look)  # which says why it cannot be drawn
        raise ParameterError(f"this {type(shown).__name__} has nothing to draw by itself; see rlsuite.plotting")
    every = marked(next((of for attribute, of in OF.items() if hasattr(shown, attribute)), "results"))
    figure = every[one_of("kind", kind, every)]
    if not figure.on_grid:
        return figure.draw(shown, **look)
    layout = shown.lookahead.mdp.layout if hasattr(shown, "lookahead") else None
    if layout is None:
        raise ParameterError(f"{kind} needs a grid and a solution: write rlsuite.plotting.{kind}(env, solution)")
    return figure.draw(layout, shown, **look)


def _figure(card: Card) -> str:
    with for_a_file():
        ax = draw_card(card)
    label = escape(card.title)
    return "" if ax is None else f'<figure role="img" aria-label="{label}">{svg_of(ax, card.title)}</figure>'


def _titled(what: str, name: str) -> str:
    return f"{what} {name}".rstrip()


# ------------------------------------------------------------------------------------------------------ models


@card_of("MDP")
def _of_mdp(mdp: "MDP") -> Card:
    facts: dict[str, object] = {"states": mdp.n_states, "actions": mdp.n_actions, "transitions": mdp.n_transitions}
    facts |= {"gamma": mdp.gamma, "kind": mdp.kind} | _labels(mdp.labels)
    layout = mdp.layout
    on_grid = [] if layout is None else [partial(_grid, layout, mdp.n_states)]
    small = [partial(diagram, mdp)] if mdp.n_states <= FEW_STATES else []
    return Card(_titled("MDP", mdp.name), facts, _transitions(mdp), (), [*on_grid, *small], mdp.n_transitions)


def _labels(labels: Mapping[str, BoolArray]) -> dict[str, object]:
    """The sets of states with a name, and how many states each has."""
    return {"labels": ", ".join(f"{label} ({mask.sum()})" for label, mask in labels.items())} if labels else {}


def _grid(where: "GridLayout | TabularEnv", n_states: int, **look: Any) -> "Axes":
    """A map without values, and without the sentence that says so."""
    look.setdefault("title", "")
    ax = value_map(where, np.full(n_states, np.nan), **look)
    for caption in [text for text in ax.texts if text.get_gid() == CAPTION_ID]:
        caption.remove()
    return ax


def _transitions(mdp: "MDP") -> Table:
    """The transitions, as far as they are shown; the others are only counted."""
    shown = min(mdp.n_transitions, MOST_ROWS)
    states: Sequence[object] = mdp.state_labels or range(mdp.n_states)
    actions: Sequence[object] = mdp.action_labels or range(mdp.n_actions)
    pair: IndexArray = np.searchsorted(mdp.indptr, np.arange(shown), side="right") - 1
    pairs: list[int] = pair.tolist()
    following: list[int] = mdp.next_state[:shown].tolist()
    probability: list[float] = mdp.probability[:shown].tolist()
    in_line: FloatArray = mdp.reward.reshape(-1)
    reward: list[float] = (in_line[pair] if mdp.reward_per_pair else in_line[:shown]).tolist()
    ends: list[bool] = mdp.terminated[:shown].tolist()
    return {
        "state": [states[one // mdp.n_actions] for one in pairs],
        "action": [actions[one % mdp.n_actions] for one in pairs],
        "next state": [states[s] for s in following],
        "probability": probability,
        "reward": reward,
        "ends": ends,
    }


@card_of("POMDP")
def _of_pomdp(pomdp: "POMDP") -> Card:
    facts: dict[str, object] = {"states": pomdp.n_states, "actions": pomdp.n_actions}
    facts |= {"observations": pomdp.n_observations}
    small = [partial(diagram, pomdp)] if pomdp.n_states <= FEW_STATES else []
    facts |= {"gamma": pomdp.gamma} | _labels(pomdp.labels)
    return Card(_titled("POMDP", pomdp.name), facts, _transitions(pomdp.mdp), (), small, pomdp.mdp.n_transitions)


@card_of("TabularEnv")
def _of_env(env: "TabularEnv") -> Card:
    model: Any = env.model
    card = card_of_object(model)
    on_grid = [partial(_grid, env, model.n_states)]
    return card._replace(title=_titled(type(env).__name__, model.name), figures=[*on_grid, *card.figures])


@card_of("MarkovChain")
def _of_chain(chain: "MarkovChain") -> Card:
    facts: dict[str, object] = {"states": chain.n_states, "recurrent classes": len(chain.recurrent_classes)}
    facts |= _labels(chain.labels)
    return Card("MarkovChain", facts, figures=[partial(diagram, chain)])


@card_of("HMM", "HSMM")
def _of_hmm(hmm: "HMM | HSMM") -> Card:
    facts = {"states": hmm.n_states, "emission": type(hmm.emission).__name__}
    table: Table = {}
    if (durations := getattr(hmm, "durations", None)) is not None:
        facts["durations"] = type(durations).__name__
        lasts = [f"{mean:.4g}" for mean in durations.mean.tolist()]
        table = {"state": names(hmm.state_labels, hmm.n_states, "state"), "mean duration": lasts}
    return Card(type(hmm).__name__, facts, table, figures=[partial(diagram, hmm)])


@card_of("OnlineFilter")
def _of_filter(online: "OnlineFilter") -> Card:
    table = {"state": range(len(online.belief)), "probability": online.belief.tolist()}
    return Card("OnlineFilter", {"observations so far": online.n_observations}, table)


# --------------------------------------------------------------------------------------------------- solutions


@card_of("Solution")
def _of_solution(solution: "Solution") -> Card:
    mdp = solution.lookahead.mdp
    layout = mdp.layout
    sign, what = (-1.0, "cost") if mdp.costs else (1.0, "value")
    if isinstance(asked := getattr(solution, "WHAT", None), str):  # an answer to a question
        sign, what = 1.0, f"{cast('Any', solution).objective} {asked}"
    facts = {
        f"{what} at the start": f"{sign * solution.value_at_start:.6g}",
        "error at most": f"{solution.error_bound:.3g}",
        "converged": solution.converged,
        "method": f"{solution.method}, {counted(solution.iterations, 'iteration')}",
        "seconds": f"{solution.seconds:.3g}",
    }
    on_grid = [] if layout is None else [partial(value_map, layout, solution, title="")]
    in_line = [partial(state_values, solution)] if mdp.n_states <= MOST_POINTS else []
    figures = [*on_grid, *in_line]
    return Card(_titled(type(solution).__name__, mdp.name), facts, solution.columns(), figures=figures)


@card_of("ConstrainedSolution")
def _of_constrained(plan: "ConstrainedSolution") -> Card:
    facts: dict[str, object] = {
        "value at the start": f"{plan.value_at_start:.6g}, at most {plan.upper_bound:.6g}",
        "costs": ", ".join(f"{cost:.6g} of {limit:.6g}" for cost, limit in zip(plan.costs, plan.limits, strict=True)),
        "random in": f"{plan.random_states.size} states",
        "converged": plan.converged,
    }
    return Card("ConstrainedSolution", facts, plan.columns())


@card_of("ParetoFront")
def _of_front(front: "ParetoFront") -> Card:
    table = dict(zip(front.names, front.points.T.tolist(), strict=True))
    facts = {"corners": len(front.points), "error at most": f"{front.error_bound:.3g}", "converged": front.converged}
    return Card("ParetoFront", facts, table, figures=[partial(pareto_front, front)])


@card_of("BeliefPlan")
def _of_plan(plan: "BeliefPlan") -> Card:
    facts: dict[str, object] = {
        "value at the start": f"{plan.lower_bound:.6g} to {plan.upper_bound:.6g}",
        "converged": plan.converged,
        "method": plan.method,
    }
    if plan.horizon is not None:
        facts["horizon"] = plan.horizon
    table: Table = {}
    with suppress(ParameterError):  # online plans have none
        table = plan.columns()
    return Card(type(plan).__name__, facts, table, figures=[partial(gap, plan)])


@card_of("AlphaVectorSolution")
def _of_vectors(plan: "AlphaVectorSolution") -> Card:
    by_size: dict[int, Draw] = {2: partial(alpha_vectors, plan), 3: partial(belief_simplex, plan)}
    drawn = [by_size[plan.pomdp.n_states]] if plan.pomdp.n_states in by_size else []
    figures = [*drawn, partial(policy_graph, plan), partial(gap, plan)]
    card = _of_plan(plan)
    facts = {**card.facts, "vectors": plan.n_vectors}
    return card._replace(title=_titled(card.title, plan.pomdp.name), facts=facts, figures=figures)


@card_of("PolicyGraph")
def _of_graph(graph: "PolicyGraph") -> Card:
    return Card("PolicyGraph", {"nodes": len(graph.actions)}, figures=[partial(policy_graph, graph)])


# ---------------------------------------------------------------------------------------------------- learning


@card_of("Learner")
def _of_agent(agent: "Learner") -> Card:
    given: Any = agent
    facts = {one.name: getattr(agent, one.name) for one in fields(given) if one.init}
    facts = {name: value for name, value in facts.items() if value is not None}
    record, q, steps = (_learned(agent, name) for name in ("record_", "q_", "steps_"))
    if record is not None:
        facts |= {"learned": f"{record.episode_return.size:,} episodes, seed {record.seed}"}
    elif steps:  # a saved one that was read
        facts |= {"learned": f"{steps:,} steps"}
    else:
        return Card(type(agent).__name__, facts, sentences=["It has learned nothing yet."])
    table: Table = {}
    if q is not None and np.ndim(q) == 2:
        best = np.where(np.isfinite(q).any(axis=1), q.argmax(axis=1), -1)
        actions = {f"q {a}": column.tolist() for a, column in enumerate(q.T)}
        table = {"state": range(len(q)), "best action": best.tolist(), **actions}
    figures = [] if record is None else [partial(evaluation, given), partial(episode_return, given)]
    return Card(type(agent).__name__, facts, table, figures=figures)


def _learned(agent: "Learner", name: str) -> Any:
    """What an agent has learned, by the name of the attribute; None before, and if there is no such attribute."""
    try:
        return getattr(agent, name, None)
    except NotLearned:
        return None


@card_of("Results")
def _of_results(results: "Results") -> Card:
    facts: dict[str, object] = {"seeds": len(results.records), "failed": len(results.failures)}
    if results.records:
        facts |= {results.unit: int(results.time[-1]) if results.time.size else 0}
    optimum = results.records[0].optimal_value if results.records else None
    facts |= {} if optimum is None else {"optimal value": optimum}
    figures = [partial(evaluation, results), partial(episode_return, results)]
    return Card(in_title(results.environment, results.agent), facts, figures=figures)


@card_of("PolicyReport")
def _of_report(report: "PolicyReport") -> Card:
    title, *lines = repr(report).splitlines()
    return Card(title, sentences=[line.strip() for line in lines])


@card_of("Comparison")
def _of_comparison(comparison: "Comparison") -> Card:
    title = _titled("Comparison of", ", ".join(comparison.agents))
    drawn = [partial(final_values, comparison), partial(performance_profile, comparison)]
    return Card(title, {}, comparison.columns(), comparison.sentences(), drawn)
