"""Questions as people of verification write them: ``Pmax=? [F "done"]``, in the words of PRISM and Storm.

The grammar, in which a state formula is about labels, names of states, and the words true and false:

    property  P=? [path]    Pmax=? [path]    P>=0.9 [path]    LRA=? [states]    S=? [states]
              R=? [F states]    Tmin=? [F states]    Rmax=? [C<=10]    R=? [S]
    path      F states    F<=10 states    G states    G<=10 states    states U states    states U<=10 states
    states    "label"    true    false    !states    states & states    states | states    states => states    (states)

A comparison such as ``P>=0.9`` must hold for every policy (PRISM's convention): the smallest probability decides about
a lower limit, the largest about an upper one.
"""

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, NoReturn, Unpack, cast

import numpy as np

from rlsuite.core.arithmetic import weighted_sum
from rlsuite.errors import ParameterError, unknown
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.models.validation import leads_on
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.mdp.backward_induction import backward_induction
from rlsuite.planning.questions.answers import CERTAIN, IMPOSSIBLE, Objective, ReachSolution
from rlsuite.planning.questions.goals import MOST_NAMED, as_decisions, states_of
from rlsuite.planning.questions.long_run_average import long_run_average
from rlsuite.planning.questions.reach import reach
from rlsuite.planning.questions.until import expected_until, paid_by
from rlsuite.planning.solution import Solution

SUPPORTED = (
    'P, Pmax or Pmin of [F "a"], [G "a"], ["a" U "b"], each also with <=k steps; R, Rmax or Rmin of [F "a"], [C<=k], '
    '[S]; T, Tmax or Tmin of [F "a"]; LRA, LRAmax or LRAmin of ["a"]; =? or a comparison such as >=0.9'
)
TOKEN = re.compile(
    r'\s*(?:(?P<text>"[^"]*")|(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|'
    r"(?P<word>[A-Za-z_]\w*)|(?P<sign>=\?|=>|<=|>=|[][<>=!&|(){}]))"
)
MOST_TOKENS = 300
"""A longer property is not read: nested formulas are read by recursion."""

OTHER_WORDS = {"X": "the next step", "W": "weak until", "R": "release", "I": "instantaneous rewards"}


class Query(NamedTuple):
    """The head of a property."""

    operator: str
    """P, R, T or LRA"""
    objective: Objective | None
    """max or min, if it is written"""
    comparison: str | None
    """one of <, <=, >, >=, or None for =?"""
    limit: float


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
    reader = _Reader(property, mdp)
    query = reader.query()
    objective = _objective(query, mdp, property)
    reader.expect("[")
    solution, values, exact = _answer(reader, query, mdp, objective, limits)
    reader.expect("]")
    reader.finish()
    begins = mdp.start > 0.0
    return PropertyAnswer(
        text=property,
        value=weighted_sum(mdp.start, values),
        values=values,
        holds=_holds(query, values[begins], np.where(exact[begins], 0.0, solution.error_bound)),
        error_bound=solution.error_bound,
        converged=solution.converged,
        solution=solution,
    )


def _objective(query: Query, mdp: MDP, text: str) -> Objective:
    """Return which probability or sum decides."""
    if query.objective is not None:
        return query.objective
    if query.comparison is not None:
        return "min" if query.comparison in (">", ">=") else "max"
    if mdp.n_actions > 1 and (mdp.legal.sum(axis=1) > 1).any():
        name = query.operator
        raise ParameterError(f"{text}: the model has decisions, so write {name}max=? or {name}min=?")
    return "max"


def _answer(
    reader: "_Reader", query: Query, mdp: MDP, objective: Objective, limits: Limits
) -> tuple[Solution, FloatArray, BoolArray]:
    """Return what was computed, the values (S,), and where these are exact (S,)."""
    never: BoolArray = np.zeros(mdp.n_states, dtype=np.bool_)
    if query.operator == "LRA":
        solution = long_run_average(mdp, reader.states(), objective=objective, **limits)
        return solution, solution.value, never
    if query.operator in ("R", "T"):
        if query.operator == "R" and reader.takes("S"):
            solution = long_run_average(mdp, objective=objective, **limits)
        elif query.operator == "R" and reader.takes("C"):
            within = reader.steps()
            if within is None:
                reader.fail("C needs a number of steps, as in C<=10")
            return _within(mdp, within, reader.paid, objective, limits)
        else:
            reader.expect("F")
            solution = expected_until(mdp, reader.states(), of=reader.paid, objective=objective, **limits)
        return solution, solution.value, np.isinf(solution.value)
    if reader.takes("G"):  # always a is not: at some time not a
        within = reader.steps()
        other: Objective = "min" if objective == "max" else "max"
        found = reach(mdp, ~reader.states(), within=within, objective=other, **limits)
        return found, 1.0 - found.value, _exact(found)
    goal = avoid = None
    if not reader.takes("F"):
        avoid = ~reader.states()
        reader.expect("U")
    within = reader.steps()
    goal = reader.states()
    found = reach(mdp, goal, avoid=avoid, within=within, objective=objective, **limits)
    return found, found.value, _exact(found)


def _within(
    mdp: MDP, steps: int, paid: str, objective: Objective, limits: Limits
) -> tuple[Solution, FloatArray, BoolArray]:
    """Return the largest or smallest expected sum of a number of steps."""
    sign = 1.0 if objective == "max" else -1.0
    summed = mdp.replace(gamma=1.0, reward=sign * paid_by(mdp, paid), reward_std=None, bernoulli=None)
    tol, rtol, deadline = limits.get("tol", 1e-6), limits.get("rtol"), limits.get("deadline")
    found = backward_induction(summed, horizon=steps, tol=tol, rtol=rtol, deadline=deadline)
    return found, 0.0 + sign * found.value, np.zeros(mdp.n_states, dtype=np.bool_)


def _exact(found: ReachSolution) -> BoolArray:
    return (found.known >= CERTAIN) | (found.known == IMPOSSIBLE)


def _holds(query: Query, values: FloatArray, error: FloatArray) -> bool | None:
    """Return whether a comparison holds for all values; None if that is within their error."""
    if query.comparison is None:
        return None
    least, most = values - error, values + error
    limit = query.limit
    surely, possibly = {
        "<": (most < limit, least < limit),
        "<=": (most <= limit, least <= limit),
        ">": (least > limit, most > limit),
        ">=": (least >= limit, most >= limit),
    }[query.comparison]
    return True if surely.all() else None if possibly.all() else False


class _Reader:
    """Reads a property from left to right."""

    def __init__(self, text: object, mdp: MDP) -> None:
        if not isinstance(text, str):
            raise ParameterError(f"property={text!r} is not text; write check_property(model, 'Pmax=? [F \"done\"]')")
        self.text, self.mdp = text, mdp
        self.paid: Literal["steps", "reward"] = "reward"
        self.tokens: list[str] = []
        self.at = 0
        place = 0
        while place < len(text.rstrip()):
            found = TOKEN.match(text, place)
            if found is None:
                self.fail(f"{text[place:].strip()[0]!r} is not understood")
            self.tokens.append(found.group().strip())
            place = found.end()
        if len(self.tokens) > MOST_TOKENS:
            self.fail(f"it has {len(self.tokens)} parts, and at most {MOST_TOKENS} are read")

    def fail(self, why: str) -> NoReturn:
        """Raise an error about the property."""
        raise ParameterError(f"property {self.text!r}: {why}. Supported are {SUPPORTED}")

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def takes(self, token: str) -> bool:
        """Take a token if it is the next one."""
        if self.next != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.takes(token):
            found = f"not {self.next!r}" if self.next else "and the text ends"
            hint = (
                f" ({self.next} is {OTHER_WORDS[self.next]}, which is not supported)"
                if self.next in OTHER_WORDS
                else ""
            )
            self.fail(f"{token!r} is expected here, {found}{hint}")

    def finish(self) -> None:
        if self.next:
            self.fail(f"{self.next!r} follows after the end")

    def query(self) -> Query:
        """Read up to the bracket."""
        head = self.next
        self.at += 1
        found = re.fullmatch(r"(P|R|T|S|LRA)(max|min)?", head)
        if found is None:
            self.fail(f"it begins with {head!r}, not with P, R, T or LRA" if head else "it is empty")
        operator, objective = found.group(1), found.group(2)
        if operator == "R" and self.takes("{"):
            name = self.next.strip('"')
            self.fail(
                f"a model has one reward: leave {{{self.next}}} out, and read the file with reward={name!r} if it has "
                "several; the number of steps is T"
            )
        if operator == "T":
            self.paid = "steps"
        comparison, limit = None, 0.0
        if not self.takes("=?"):
            comparison = self.next
            if comparison not in ("<", "<=", ">", ">="):
                self.fail(f"{head} is followed by {comparison!r}, not by =? or a comparison")
            self.at += 1
            limit = self.number("a number")
            if objective is not None:
                self.fail(
                    f"max and min go with =?; a comparison such as {operator}{comparison}{limit:g} chooses itself"
                )
        return Query("LRA" if operator == "S" else operator, cast("Objective | None", objective), comparison, limit)

    def number(self, what: str) -> float:
        try:
            value = float(self.next)
        except ValueError:
            self.fail(f"{what} is expected, not {self.next!r}")
        self.at += 1
        return value

    def steps(self) -> int | None:
        """Read ``<=k``, if it is there."""
        if not self.takes("<="):
            if self.next in ("<", ">", ">=", "="):
                self.fail(f"the number of steps is limited by <=, not by {self.next}")
            return None
        steps = self.number("a number of steps")
        if steps != int(steps):
            self.fail(f"{steps:g} is not a whole number of steps")
        return int(steps)

    def states(self) -> BoolArray:
        """Read a state formula: implications of disjunctions of conjunctions, from right to left."""
        left = self._either()
        return ~left | self.states() if self.takes("=>") else left

    def _either(self) -> BoolArray:
        found = self._both()
        while self.takes("|"):
            found = found | self._both()
        return found

    def _both(self) -> BoolArray:
        found = self._one()
        while self.takes("&"):
            found = found & self._one()
        return found

    def _one(self) -> BoolArray:
        if self.takes("!"):
            return ~self._one()
        if self.takes("("):
            inner = self.states()
            self.expect(")")
            return inner
        token = self.next
        self.at += 1
        if token in ("true", "false"):
            return np.full(self.mdp.n_states, token == "true")
        if token.startswith('"'):
            return self._named(token.strip('"'))
        if token in OTHER_WORDS:
            self.fail(f"{token} is {OTHER_WORDS[token]}, which is not supported")
        if re.fullmatch(r"[A-Za-z_]\w*", token):
            self.fail(f'{token} is not in quotes; variables are not read, labels are, as in "{token}"')
        self.fail(f"a label is expected, not {token!r}" if token else "a label is expected, and the text ends")

    def _named(self, name: str) -> BoolArray:
        if name == "init" and name not in self.mdp.labels:
            return self.mdp.start > 0.0
        if name == "deadlock" and name not in self.mdp.labels:
            return ~leads_on(self.mdp.indptr, self.mdp.n_actions)
        known = [*self.mdp.labels, *(self.mdp.state_labels or ())]
        if name not in known and name.isdecimal() and int(name) < self.mdp.n_states:
            return states_of(self.mdp, int(name), "label")
        if name not in known:
            listed = ["init", "deadlock", *known[:MOST_NAMED]]
            raise ParameterError(f"property {self.text!r}: {unknown('label', name, listed)}")
        return states_of(self.mdp, name, "label")
