"""Names of states, actions, observations and solutions in figures."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, cast

from rlsuite.errors import ParameterError

if TYPE_CHECKING:
    from rlsuite.models import MDP, POMDP
    from rlsuite.planning import BeliefPlan

Answer = TypeVar("Answer")


def names(labels: Sequence[str] | None, number_of: int, what: str) -> list[str]:
    """Labels of a model, or numbers if it has none.

    Examples
    --------
    >>> names(None, 2, "state"), names(("rain", "dry"), 2, "state")
    (['state 0', 'state 1'], ['rain', 'dry'])
    """
    return [f"{what} {number}" for number in range(number_of)] if labels is None else list(labels)


MODULE: Final = r"^[\w./-]+:(?=\S)"
"""The module or file before the name of an environment."""


def in_title(environment: str, *before: str) -> str:
    """The name of an environment in a title, after other words; nothing of one made from a model without a name.

    Examples
    --------
    >>> in_title("my_package:Maze-v0"), in_title("TabularEnv"), in_title("Maze-v0", "Sarsa")
    ('Maze-v0', '', 'Sarsa in Maze-v0')
    """
    name = "" if environment == "TabularEnv" else re.sub(MODULE, "", environment)
    return " in ".join([*before, *([name] if name else [])])


def counted(number: int, what: str) -> str:
    """A number with a noun in the singular or plural.

    Examples
    --------
    >>> counted(1, "state"), counted(2_000, "step")
    ('1 state', '2,000 steps')
    """
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def title_of_model(model: "MDP | POMDP") -> str:
    """Name of a model and its discount, for the title of a figure; its size if it has no name."""
    size = f"{counted(model.n_states, 'state')}, {counted(model.n_actions, 'action')}"
    return f"{model.name or size}, gamma {model.gamma:g}"


def common_title(models: "Iterable[MDP | POMDP | None]") -> str:
    """The title of all these models if it is the same, else none."""
    titles = {"" if model is None else title_of_model(model) for model in models}
    return titles.pop() if len(titles) == 1 else ""


def title_of_plan(pomdp: "POMDP", plan: "BeliefPlan", steps_left: int | None) -> str:
    """Size of a model, and the number of steps left in a plan with a horizon."""
    left = plan.horizon if steps_left is None else steps_left
    return title_of_model(pomdp) + ("" if left is None else f", {counted(left, 'step')} to go")


def is_agent(given: object) -> bool:
    """Whether it learns: tested by its attributes, because importing the class would load the compiler."""
    return hasattr(type(given), "learn") and hasattr(type(given), "memory_")


def check_solved(figure: str, given: object, attribute: str, of: str = "") -> None:
    """Raise `ParameterError` unless it is a planner's answer, by an attribute that all of them have."""
    if not hasattr(given, attribute):
        instead = f"{figure}(rl.solve({of and 'po'}mdp))"
        if is_agent(given):
            instead = "value_map(env, agent) draws an agent on a grid, and episode_return(agent) what it has received"
        kind = type(given).__name__
        raise ParameterError(f"{figure} draws what rl.solve(...) returned{of}, not of type {kind}: {instead}")


def by_label(
    figure: str, solutions: Answer | Sequence[Answer] | Mapping[str, Answer], attribute: str, of: str = ""
) -> dict[str, Answer]:
    """One solution, several, or a dictionary of them by label, as a dictionary from labels to solutions.

    Raises
    ------
    ParameterError
        If there are no solutions, two of a sequence are by the same method, or one is not a solution.
    """
    if isinstance(solutions, Mapping):
        named = dict(cast("Mapping[str, Answer]", solutions))
    else:
        several = list(cast("Sequence[Answer]", solutions)) if isinstance(solutions, Sequence) else [solutions]
        labels = [str(getattr(solution, "method", type(solution).__name__)) for solution in several]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice is not None:
            raise ParameterError(f"two solutions are by {twice}: pass a dict {{label: solution}}")
        named = dict(zip(labels, several, strict=True))
    if not named:
        raise ParameterError("no solutions to draw: pass what rl.solve(...) returned, or several of them")
    for one in named.values():
        check_solved(figure, one, attribute, of)
    return named
