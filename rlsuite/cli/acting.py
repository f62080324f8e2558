"""``rlsuite act PLAN``: the action of a saved solution in a state or a belief."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rlsuite.cli.options import Commands, add_command, whole_number
from rlsuite.cli.output import columns, number, print_json
from rlsuite.errors import FileError, ParameterError

if TYPE_CHECKING:
    from rlsuite.models import POMDP
    from rlsuite.models.aliases import FloatArray
    from rlsuite.planning import BeliefPlan, Solution

PLAN_SUFFIXES = (".alpha", ".pg", ".policy")
"""Suffixes of plans without their model."""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "act", run)
    parser.add_argument("plan", metavar="PLAN", help="a .npz file; or .alpha, .policy or .pg, with --model")
    parser.add_argument("--state", metavar="S", help="the state")
    parser.add_argument("--belief", metavar="P,...", help="probabilities of all states, or as in ok=0.5,broken=0.5")
    parser.add_argument("--steps-left", type=whole_number, metavar="N", help="steps to go, of a plan with a horizon")
    parser.add_argument("--model", metavar="FILE|ENV", help="the POMDP of a plan that is kept without it")


class Answer(NamedTuple):
    """What a solution does somewhere."""

    where: str
    action: int
    value: float
    action_labels: tuple[str, ...] | None
    costs: bool = False


def run(chosen: argparse.Namespace) -> int:
    """Say what a saved solution does in a state or a belief.

    Print the action of a solution that 'rlsuite solve ... --save' has written, and the value there: in a state, or,
    where states are hidden, in a belief; by default at the start.

    States are names of the model, or numbers from 0. States that a belief by names leaves out have the probability 0.

    Examples
    --------
    rlsuite act lake.npz --state 14
    rlsuite act tiger.npz --belief 0.9,0.1
    """
    from rlsuite.planning import BeliefPlan

    plan = _plan(chosen)
    answer = _in_belief(chosen, plan) if isinstance(plan, BeliefPlan) else _in_state(chosen, plan)
    name = str(answer.action) if answer.action_labels is None else answer.action_labels[answer.action]
    what, value = ("cost", 0.0 - answer.value) if answer.costs else ("value", answer.value)
    if chosen.json:
        facts = {"plan": chosen.plan, "where": answer.where, "action": answer.action, what: value}
        print_json(facts | ({} if answer.action_labels is None else {"action_label": name}))
    else:
        print(f"{chosen.plan} by {plan.method}, {answer.where}")
        print(columns([("action", name), (what, number(value))]))
    return 0


def _plan(chosen: argparse.Namespace) -> "Solution | BeliefPlan":
    from rlsuite.planning import BeliefPlan, Solution, read_plan
    from rlsuite.registry import load

    if Path(chosen.plan).suffix.lower() in PLAN_SUFFIXES:
        if chosen.model is None:
            raise ParameterError(f"{chosen.plan} does not hold its model: add --model FILE.pomdp, or an environment")
        return read_plan(chosen.plan, _pomdp(chosen.model))
    if chosen.model is not None:
        raise ParameterError(f"{chosen.plan} holds its model: leave --model out")
    found = load(chosen.plan)
    if not isinstance(found, Solution | BeliefPlan):
        raise FileError(
            f"{chosen.plan} holds an agent, not a solution; in Python, rlsuite.load({chosen.plan!r}).act(observation)"
        )
    return found


def _pomdp(name: str) -> "POMDP":
    from rlsuite.cli.load import open_model
    from rlsuite.models import POMDP

    model = open_model(name, {}).model
    if not isinstance(model, POMDP):
        raise ParameterError(f"--model {name} is a {type(model).__name__}, and the plan is for a POMDP")
    return model


def _in_state(chosen: argparse.Namespace, solution: "Solution") -> Answer:
    from rlsuite.models.validation import number_of
    from rlsuite.planning import FiniteHorizonSolution

    if chosen.belief is not None:
        raise ParameterError("--belief is for hidden states, and those of an MDP are seen: give --state")
    mdp = solution.lookahead.mdp
    if chosen.state is None:
        begins = mdp.start.nonzero()[0].tolist()
        if len(begins) != 1:
            raise ParameterError(f"an episode begins in one of {len(begins)} states: give --state")
        state: int = begins[0]
    else:
        given = int(chosen.state) if _is_number(chosen.state, mdp.state_labels) else chosen.state
        state = number_of("state", given, mdp.n_states, mdp.state_labels)
    name = str(state) if mdp.state_labels is None else mdp.state_labels[state]
    if not isinstance(solution, FiniteHorizonSolution):
        if chosen.steps_left is not None:
            raise ParameterError("this solution has no horizon: leave --steps-left out")
        return Answer(
            f"in state {name}", solution.act(state), float(solution.value[state]), mdp.action_labels, mdp.costs
        )
    left = solution.horizon if chosen.steps_left is None else chosen.steps_left
    action = solution.act(state, left)
    value = float(solution.values[solution.horizon - left, state])
    return Answer(f"in state {name} with {left} steps left", action, value, mdp.action_labels, mdp.costs)


def _in_belief(chosen: argparse.Namespace, plan: "BeliefPlan") -> Answer:
    pomdp: POMDP | None = getattr(plan, "pomdp", None)
    if pomdp is None:
        raise ParameterError(f"a plan of {plan.method} does not hold its model")
    if chosen.state is not None:
        raise ParameterError("--state is for states that are seen, and those of a POMDP are hidden: give --belief")
    belief = pomdp.start if chosen.belief is None else _belief(chosen.belief, pomdp)
    left = plan.horizon if chosen.steps_left is None else chosen.steps_left
    where = "at the start" if chosen.belief is None else f"in the belief {chosen.belief}"
    return Answer(where, plan.act(belief, left), plan.value(belief, left), pomdp.action_labels, pomdp.mdp.costs)


def _belief(typed: str, pomdp: "POMDP") -> "FloatArray":
    """The belief that a list of probabilities, or of names and probabilities, means."""
    from rlsuite.models.validation import belief

    given: Mapping[str, float] | list[float]
    parts = [part.strip() for part in typed.split(",")]
    if any("=" in part for part in parts):
        pairs = [part.rpartition("=") for part in parts]
        given = {name.strip(): _probability(word) for name, _, word in pairs}
        if len(given) < len(parts):
            raise ParameterError(f"--belief {typed}: a state occurs twice")
    else:
        given = [_probability(part) for part in parts]
        if len(given) != pomdp.n_states:
            states = f": {', '.join(pomdp.state_labels)}" if pomdp.state_labels is not None else ""
            raise ParameterError(
                f"--belief {typed} has {len(given)} probabilities, and the model {pomdp.n_states} states{states}"
            )
    return belief(given, pomdp.n_states, pomdp.state_labels)


def _probability(word: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise ParameterError(f"{word!r} in --belief is not a number: write 0.5,0.5 or name=0.5,name=0.5") from error


def _is_number(word: str, names: tuple[str, ...] | None) -> bool:
    return word not in (names or ()) and word.isascii() and word.isdigit()
