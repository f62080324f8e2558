"""Questions as people of verification write them: ``Pmax=? [F "done"]``, in the words of PRISM and Storm.

The grammar, in which a state formula is about labels, names of states, and the words true and false:

    property  P=? [path]    Pmax=? [path]    P>=0.9 [path]    LRA=? [states]    S=? [states]
              R=? [F states]    Tmin=? [F states]    Rmax=? [C<=10]    R=? [S]
    path      F states    F<=10 states    G states    G<=10 states    states U states    states U<=10 states
    states    "label"    true    false    !states    states & states    states | states    states => states    (states)

A comparison such as ``P>=0.9`` must hold for every policy (PRISM's convention): the smallest probability decides about
a lower limit, the largest about an upper one.
"""

import ast
import re
from dataclasses import dataclass, field
from typing import NoReturn, Unpack, cast

import numpy as np

from rlsuite.core.arithmetic import weighted_sum
from rlsuite.errors import ParameterError, unknown
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.models.validation import leads_on
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.mdp.backward_induction import backward_induction
from rlsuite.planning.questions.answers import CERTAIN, IMPOSSIBLE, Objective
from rlsuite.planning.questions.goals import MOST_NAMED, as_decisions, states_of
from rlsuite.planning.questions.long_run_average import long_run_average
from rlsuite.planning.questions.reach import reach
from rlsuite.planning.questions.until import expected_until, paid_by
from rlsuite.planning.solution import Solution

SUPPORTED = (
    'P, Pmax or Pmin of [F "a"], [G "a"], ["a" U "b"], each also with <=k steps; R, Rmax or Rmin of [F "a"], [C<=k], '
    '[S]; T, Tmax or Tmin of [F "a"]; LRA, LRAmax or LRAmin of ["a"]; =? or a comparison such as >=0.9'
)
HEAD = re.compile(
    r"\s*(P|R|T|S|LRA)(max|min)?\s*(?:=\?|(<=|>=|<|>)\s*(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))\s*\[(.*)\]\s*", re.S
)
"""A property: what, of which policies, the comparison and its limit, and what is between the brackets."""
PATH = re.compile(r'\s*(?:([FG])\b|((?:"[^"]*"|[^"])*?)\bU\b)\s*(?:<=\s*(\d+)(?![\w.]))?(.*)', re.S)
"""A path: its operator, or the states before U; the number of steps; and the states that it leads to."""
MOST_LETTERS = 1_000
"""Longer formulas about states are not read: nested ones are read by recursion."""


@dataclass(frozen=True, eq=False)
class PropertyAnswer:
    """The answer to a property.

    Attributes
    ----------
    text : str
        The property.
    value : float
        The number asked for, at the start: the mean over the start distribution of the model.
    values : ndarray (S,) float64
        The number in each state.
    holds : bool or None
        Of a property with a comparison: whether it holds in every state in which runs may begin; None if the error
        bound leaves it open. None also for a property with ``=?``.
    error_bound : float
        An upper bound on the error of the finite values.
    converged : bool
        Whether `error_bound` is within the tolerance.
    solution : ReachSolution, ExpectedSolution, LongRunSolution or FiniteHorizonSolution
        What was computed: with a policy, `q`, and more. The last is of the rewards within a number of steps; with the
        opposite sign, if their smallest sum is asked for. For ``G`` it is about the opposite: that it ends.
    """

    text: str
    value: float
    values: FloatArray = field(repr=False)
    holds: bool | None
    error_bound: float
    converged: bool
    solution: Solution = field(repr=False)


@takes_limits(max_iterations=100_000)
def check_property(model: MDP | MarkovChain, property: str, **limits: Unpack[Limits]) -> PropertyAnswer:
    """Answer a question that is written as a property of PRISM.

    Parameters
    ----------
    model : MDP or MarkovChain
        The model. Words in quotes are its labels, or the names or numbers of its states.
    property : str
        The question: the probability of a path, ``Pmax=? [F "done"]``, ``Pmin=? [!"trap" U<=10 "done"]``; an expected
        reward, ``Rmin=? [F "done"]``, ``Rmax=? [C<=10]``, ``Rmax=? [S]``; the number of steps, ``Tmin=? [F "done"]``;
        or the share of time, ``LRAmax=? ["busy"]``. With ``>=0.9`` in place of ``=?`` the answer also says whether that
        holds. The quoted label "init" is the states in which runs may begin, "deadlock" those without a legal action.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    PropertyAnswer

    Raises
    ------
    ParameterError
        If the property cannot be read or is not among those that are supported; the message says what is. If a label
        does not exist; or if the model has decisions and neither max nor min nor a comparison is given.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import check_property
    >>> states = ["ready", "wait", "done", "lost"]
    >>> mdp = MDP.from_successors(
    ...     [[1, 1], [0, {2: 0.5, 3: 0.5}], [2, 2], [3, 3]], [-1] * 4, gamma=1.0, start=0, state_labels=states)
    >>> check_property(mdp, 'Pmax=? [F "done"]').value
    0.5
    >>> check_property(mdp, 'P<=0.4 [F "done"]').holds
    False
    >>> check_property(mdp, 'Tmin=? [F "done" | "lost"]').value
    2.0
    """
    mdp = as_decisions(model)
    query = _Query(property, mdp)
    solution, values, exact = query.answer(limits)
    begins = mdp.start > 0.0
    return PropertyAnswer(
        text=property,
        value=weighted_sum(mdp.start, values),
        values=values,
        holds=query.holds(values[begins], np.where(exact[begins], 0.0, solution.error_bound)),
        error_bound=solution.error_bound,
        converged=solution.converged,
        solution=solution,
    )


class _Query:
    """A property that has been read, up to the states that it is about."""

    def __init__(self, text: object, mdp: MDP) -> None:
        if not isinstance(text, str):
            raise ParameterError(f"property={text!r} is not text; write check_property(model, 'Pmax=? [F \"done\"]')")
        self.text, self.mdp = text, mdp
        read = HEAD.fullmatch(text)
        if read is None:
            named = re.match(r'\s*R\{"?(\w+)"?\}', text)
            self.fail(
                f"a model has one reward: leave {{...}} out, and read the file with reward={named[1]!r} if it has "
                "several; the number of steps is T"
                if named
                else "it is not a letter, =? or a comparison with a number, and a formula in brackets"
            )
        self.operator, chosen, self.comparison, limit, self.inside = read.groups()
        self.limit = float(limit or 0.0)
        if chosen and self.comparison:
            self.fail(
                f"max and min go with =?; a comparison such as {self.operator}{self.comparison}{limit} chooses itself"
            )
        if not chosen and not self.comparison and (mdp.legal.sum(axis=1) > 1).any():
            self.fail(f"the model has decisions, so write {self.operator}max=? or {self.operator}min=?")
        # It must hold for every policy: the smallest number decides about a lower limit.
        by_itself = "min" if self.comparison in (">", ">=") else "max"
        self.objective: Objective = cast("Objective", chosen or by_itself)

    def fail(self, why: str) -> NoReturn:
        """Raise an error about the property."""
        raise ParameterError(f"property {self.text!r}: {why}. Supported are {SUPPORTED}")

    def answer(self, limits: Limits) -> tuple[Solution, FloatArray, BoolArray]:
        """Return what was computed, the values (S,), and where these are exact (S,)."""
        mdp, objective = self.mdp, self.objective
        paid = "steps" if self.operator == "T" else "reward"
        never: BoolArray = np.zeros(mdp.n_states, dtype=np.bool_)
        within = re.fullmatch(r"\s*C\s*<=\s*(\d+)\s*", self.inside)
        average = self.operator == "R" and self.inside.strip() == "S"
        if self.operator in ("LRA", "S") or average:
            shares = () if average else (self.states(self.inside),)
            solution = long_run_average(mdp, *shares, objective=objective, **limits)
            return solution, solution.value, never
        if self.operator == "R" and within is not None:
            return *_within(mdp, int(within[1]), paid, objective, limits), never
        path = PATH.fullmatch(self.inside)
        if path is None:
            self.fail(f"[{self.inside}] is no path")
        operator, before, steps, goal = path.groups()
        goal, most = self.states(goal), None if steps is None else int(steps)
        if self.operator in ("R", "T"):
            if operator != "F" or most is not None:
                self.fail(f"of {self.operator}, [{self.inside}] is not supported")
            solution = expected_until(mdp, goal, of=paid, objective=objective, **limits)
            return solution, solution.value, np.isinf(solution.value)
        if operator == "G":  # always a is not: at some time not a
            goal, objective = ~goal, "min" if objective == "max" else "max"
        avoid = None if before is None else ~self.states(before)
        found = reach(mdp, goal, avoid=avoid, within=most, objective=objective, **limits)
        exact = (found.known >= CERTAIN) | (found.known == IMPOSSIBLE)
        return found, 1.0 - found.value if operator == "G" else found.value, exact

    def holds(self, values: FloatArray, error: FloatArray) -> bool | None:
        """Return whether a comparison holds for all values; None if that is within their error."""
        if self.comparison is None:
            return None
        least, most, limit = values - error, values + error, self.limit
        surely, possibly = {
            "<": (most < limit, least < limit),
            "<=": (most <= limit, least <= limit),
            ">": (least > limit, most > limit),
            ">=": (least >= limit, most >= limit),
        }[self.comparison]
        return True if surely.all() else None if possibly.all() else False

    def states(self, formula: str) -> BoolArray:
        """Return the states of a formula: Python reads it, where ``!`` is ``~``, and ``=>`` is ``<=``."""
        if len(formula) > MOST_LETTERS:
            self.fail(f"a formula has {len(formula)} letters, and at most {MOST_LETTERS} are read")
        words = re.split(r'("[^"]*")', formula.strip())
        words[::2] = [word.replace("=>", "<=").replace("!", "~") for word in words[::2]]
        try:
            return self._states(ast.parse("".join(words), mode="eval").body)
        except (SyntaxError, RecursionError, MemoryError):
            self.fail(f"{formula.strip()!r} is not understood")

    def _states(self, node: ast.expr) -> BoolArray:
        match node:
            case ast.BinOp(left, ast.BitAnd(), right):
                return self._states(left) & self._states(right)
            case ast.BinOp(left, ast.BitOr(), right):
                return self._states(left) | self._states(right)
            case ast.UnaryOp(ast.Invert(), operand):
                return ~self._states(operand)
            case ast.Compare(left, operators, others) if all(isinstance(one, ast.LtE) for one in operators):
                *given, then = map(self._states, (left, *others))
                for condition in reversed(given):
                    then = ~condition | then
                return then
            case ast.Name("true" | "false" as word):
                return np.full(self.mdp.n_states, word == "true")
            case ast.Constant(str(name)):
                return self._named(name)
            case _:
                shown = ast.unparse(node)
                self.fail(f'{shown} is not supported; variables are not read, labels are, as in "{shown}"')

    def _named(self, name: str) -> BoolArray:
        mdp = self.mdp
        if name == "init" and name not in mdp.labels:
            return mdp.start > 0.0
        if name == "deadlock" and name not in mdp.labels:
            return ~leads_on(mdp.indptr, mdp.n_actions)
        known = [*mdp.labels, *(mdp.state_labels or ())]
        if name not in known and name.isdecimal() and int(name) < mdp.n_states:
            return states_of(mdp, int(name), "label")
        if name not in known:
            listed = ["init", "deadlock", *known[:MOST_NAMED]]
            raise ParameterError(f"property {self.text!r}: {unknown('label', name, listed)}")
        return states_of(mdp, name, "label")


def _within(mdp: MDP, steps: int, paid: str, objective: Objective, limits: Limits) -> tuple[Solution, FloatArray]:
    """Return the largest or smallest expected sum of a number of steps."""
    sign = 1.0 if objective == "max" else -1.0
    summed = mdp.replace(gamma=1.0, reward=sign * paid_by(mdp, paid), reward_std=None, bernoulli=None)
    tol, rtol, deadline = limits.get("tol", 1e-6), limits.get("rtol"), limits.get("deadline")
    found = backward_induction(summed, horizon=steps, tol=tol, rtol=rtol, deadline=deadline)
    return found, 0.0 + sign * found.value
