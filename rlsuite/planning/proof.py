"""From the numbers of a planner to a proof that `rlsuite.planning.verify` accepts: two bounds that hold exactly.

A computed value V is off by rounding, and by what its method left. So V is moved apart until the inequalities of the
checker hold, in its own arithmetic: for gamma < 1 by constants,

    HIGH = V + max(0, max TV - V) / (1 - gamma),    LOW = V - max(0, max V - T_pi V) / (1 - gamma),

with T the backup and T_pi that of the policy. For gamma = 1 nothing contracts. There V is moved by a little for each
step that the policy still takes, and then, on a grid of decimals, each state in which an inequality fails is moved to
where it holds, rounded outwards, and with it those before it, until all hold. In a cycle that costs nothing the values
become equal that way. The ranks are the steps, in the worst case, to where nothing is left.
"""

import re
from collections import deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import sha256
from math import ceil, floor, log10
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlsuite.errors import FileError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.cassandra.plain import plain_lines
from rlsuite.models.cassandra.writing import file_names, model_lines, observation_lines, with_end
from rlsuite.models.functions import labels_of
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.observation_model import ObservationRows
from rlsuite.models.transformations import END, close, merge
from rlsuite.planning.verify import Model, check, number

DIGITS = 15
"""Significant decimals of the largest value."""

MOST_BACKUPS = 2_000_000
"""Backups of a state, at most, that the search for bounds takes where nothing contracts."""

SPARE = 8
"""Units of the last decimal to spare where it is not known which text of the model will be checked."""

ABOUT = "# About the model with sha256 "
"""A line of a proof that is about one text of a model, before the digest."""

STEP = 8
"""How far bounds are moved apart for each step that is left, in units of the last decimal, before that search."""


class Grid:
    """Decimals of a fixed number of digits, as whole numbers, for values up to some size.

    Examples
    --------
    >>> grid = Grid(2, 1.0)
    >>> grid.text(grid.nearest(1.255)), grid.text(-7), Grid(-2, 1e9).text(31)
    ('1.25', '-0.07', '3100')
    """

    def __init__(self, digits: int, largest: float) -> None:
        self.digits, self.largest = digits, largest
        self.unit = Fraction(10) ** -digits

    def nearest(self, value: float) -> int:
        """Return the nearest decimal."""
        return round(Fraction(value) / self.unit)

    def text(self, count: int) -> str:
        """Return a decimal as text."""
        if self.digits <= 0:
            return str(count * 10**-self.digits)
        whole, rest = divmod(abs(count), 10**self.digits)
        return f"{'-' if count < 0 else ''}{whole}.{rest:0{self.digits}d}"


def grid_for(value: FloatArray) -> Grid:
    """Return the decimals in which values (of any shape) are written."""
    largest = float(np.abs(value[np.isfinite(value)]).max(initial=0.0))
    return Grid(DIGITS - 1 - (floor(log10(largest)) if largest > 0.0 else 0), largest)


class _Side:
    """A bound on one side, on a grid: `sign` is 1 for HIGH and all actions, -1 for LOW and those of the policy.

    Everything is multiplied by the sign, so that both are upper bounds.
    """

    def __init__(self, model: Model, actions: dict[str, list[str]], grid: Grid, sign: int) -> None:
        self.model, self.actions, self.grid, self.sign = model, actions, grid, sign

    def ahead(self, bound: dict[str, int], state: str, action: str) -> Fraction:
        """Return one backup, in units of the grid."""
        reward, weights, total = self.model.rows[state][action]
        later = Fraction(sum(w * bound[t] for t, w in weights.items()), total)
        return self.sign * reward / self.grid.unit + self.model.gamma * later

    def excess(self, bound: dict[str, int], state: str) -> Fraction:
        """Return how much the largest backup is above the bound."""
        backups = [self.ahead(bound, state, action) for action in self.actions[state]]
        return max(backups, default=Fraction(0)) - bound[state]

    def shifted(self, value: dict[str, int], spare: int) -> dict[str, int]:
        """Return the bound that is a constant above the value, for gamma < 1, with some units to spare in a backup."""
        most = max(Fraction(0), *(self.excess(value, state) for state in value)) + spare
        constant = ceil(most / (1 - self.model.gamma))
        return {state: x + constant for state, x in value.items()}

    def raised(self, bound: dict[str, int]) -> dict[str, int]:
        """Raise the bound where it is below a backup, rounding up, until it is nowhere.

        Raises
        ------
        ParameterError
            If it goes on and on.
        """
        before: dict[str, set[str]] = {state: set() for state in bound}
        for state, actions in self.actions.items():
            for follows in (self.model.rows[state][action][1] for action in actions):
                for then in follows:
                    before[then].add(state)
        bound, waiting, left = dict(bound), deque(bound), MOST_BACKUPS
        queued = set(waiting)
        while waiting:
            state = waiting.popleft()
            queued.discard(state)
            left -= len(self.actions[state])
            above = ceil(self.excess(bound, state))
            if above > 0:
                bound[state] += above
                found = before[state] - queued
                queued |= found
                waiting.extend(found)
            if left < 0:
                side = "an upper" if self.sign > 0 else "a lower"
                raise ParameterError(
                    f"for gamma = 1, {side} bound that no backup exceeds is not near the values; "
                    "solve to a smaller tol, or with gamma below 1"
                )
        return bound

    def ranks(self, bound: dict[str, int]) -> dict[str, int]:
        """Return how many steps it takes, at most, to where nothing is left, along backups that equal the bound.

        Raises
        ------
        ParameterError
            If there is a way around that neither ends nor has a bound of the right sign.
        """
        tight = {
            (state, action): self.model.rows[state][action][1].keys()
            for state in bound
            for action in self.actions[state]
            if self.ahead(bound, state, action) == bound[state]
        }
        entered: dict[str, list[tuple[str, str]]] = {state: [] for state in bound}
        for pair, follows in tight.items():
            for state in follows:
                entered[state].append(pair)
        # Rank 0: the largest set of states with a bound of at least 0 that these backups do not leave.
        over = {state for state, x in bound.items() if x >= 0}
        waiting = [state for state in bound if state not in over]
        while waiting:
            for state, _ in entered[waiting.pop()]:
                if state in over:
                    over.remove(state)
                    waiting.append(state)
        ranks = dict.fromkeys(over, 0)
        open_ = {state: sum((state, action) in tight for action in self.actions[state]) for state in bound}
        # A state without such a backup is left in any case.
        queue = deque([*over, *(state for state, count in open_.items() if not count and state not in over)])
        ranks |= {state: 1 for state in queue if state not in over}
        served = set[tuple[str, str]]()
        while queue:
            then = queue.popleft()
            for pair in entered[then]:
                if pair in served or pair[0] in ranks:
                    continue
                served.add(pair)
                open_[pair[0]] -= 1
                if not open_[pair[0]]:
                    ranks[pair[0]] = ranks[then] + 1
                    queue.append(pair[0])
        for state in bound:
            if state not in ranks:
                raise ParameterError(
                    f"for gamma = 1, from state {state!r} on it is possible to go around for ever "
                    "without gain or loss, at a value that this does not earn"
                )
        return ranks


def is_hidden(text: str) -> bool:
    """Return whether the text of a model is about hidden states."""
    return re.search(r"(?m)^[ \t]*observations\s*:", text) is not None


def readable(text: str) -> bool:
    """Return whether the checker reads a text as it is; one with matrices, say, it does not."""
    from rlsuite.planning.pomdp.verify import Model as Hidden

    try:
        Hidden(text) if is_hidden(text) else Model(text)
    except (ArithmeticError, LookupError, ValueError):
        return False
    return True


class Finding(NamedTuple):
    """What a checker says."""

    right: bool
    sentence: str


def checked(text: str, proof: str) -> Finding:
    """Return whether a proof about a text holds, by the checker for its kind of model."""
    from rlsuite.planning.pomdp.verify import check as check_hidden

    about = re.search(rf"(?m)^{ABOUT}(.*)$", proof)
    if about is not None and about[1].strip() != sha256(text.encode()).hexdigest():
        return Finding(False, "the proof is about another text of a model")
    try:
        return Finding(True, (check_hidden if is_hidden(text) else check)(text, proof))
    except (ArithmeticError, LookupError, ValueError) as wrong:
        return Finding(False, str(wrong))


def plain_text(mdp: MdpFields, rows: ObservationRows | None = None, labels: Sequence[str] | None = None) -> str:
    """Return the text of a model, one statement in a line, as the checkers of proofs read it.

    It is what `write_mdp` and `write_pomdp` write, but a pair that is not legal has no lines, of random rewards there
    are the means. If states are hidden, costs are rewards below 0, and no line is about any action or next state.
    """
    if rows is None:
        return "".join(f"{line}\n" for line in model_lines(merge(close(_of_means(mdp)).mdp), None, ()))
    closed = close(_of_means(mdp).replace(costs=False))
    if closed.absorbing.any():
        rows = with_end(rows, mdp.n_states, closed.absorbing)
        labels = labels and labels_of([*labels, END])
    plain, names = merge(closed.mdp), file_names(labels, rows.n_observations)
    return "".join(f"{line}\n" for line in model_lines(plain, names, observation_lines(plain, rows, names, True), True))


def _of_means(mdp: MdpFields) -> MdpFields:
    return mdp.replace(reward_std=None, bernoulli=None) if mdp.random_rewards else mdp


def plain_file(path: str | PathLike[str]) -> str | None:
    """Return the text of a model's file as the checker reads it, written out if need be; None if it cannot be.

    Raises
    ------
    FileError
        If the file cannot be read.
    """
    if Path(path).suffix.lower() not in (".mdp", ".pomdp"):
        return None
    try:
        text = Path(path).read_text("utf-8-sig", "replace")
    except OSError as cause:
        raise FileError(f"{path} cannot be read: {cause.strerror or cause}") from cause
    if readable(text):
        return text
    written = plain_lines(path) or ""
    return written if readable(written) else None


def text_of(model: MDP | POMDP) -> str:
    """Return the text of a model as the checker reads it."""
    if isinstance(model, POMDP):
        return plain_text(model.mdp, model.observation_rows, model.observation_labels)
    return plain_text(model)


def written(model: MDP | POMDP, path: str | PathLike[str] | None, prove: Callable[[str, int], str]) -> str:
    """Return the content of a file with a proof, which the checker has accepted.

    Parameters
    ----------
    model : MDP or POMDP
        The model.
    path : path, optional
        The file that the proof is about; without it, any text of the model.
    prove : callable
        From a text of the model, and what to spare for others, to the lines of the proof.

    Raises
    ------
    ParameterError
        If there is no proof.
    FileError
        If the file of the model cannot be read.
    """
    text = (None if path is None else plain_file(path)) or text_of(model)
    try:
        lines = prove(text, SPARE if path is None else 0)
    except (LookupError, ValueError) as cause:
        raise ParameterError(f"no proof was found: {cause}") from cause
    found = checked(text, lines)
    if not found.right:
        raise ParameterError(f"no proof was found: {found.sentence}")
    about = "" if path is None else f"{ABOUT}{sha256(text.encode()).hexdigest()}\n"
    return f"# Checked by rlsuite verify MODEL FILE, or by verify.py alone.\n{about}{lines}"


def proof_of_values(text: str, spare: int, value: FloatArray, policy: IndexArray) -> str:
    """Return the lines of a proof about a model whose states are observed.

    Parameters
    ----------
    text : str
        The model, as the checker reads it.
    value : ndarray (S,) float64
        About the optimal value of each state of the text.
    policy : ndarray (S,) int64
        A good action of each; any where it is -1.
    spare : int
        By how many units of the last decimal the inequalities hold at least, for gamma < 1: so that they do for a text
        that differs by rounding, too.

    Returns
    -------
    str
        A line for each state.

    Raises
    ------
    ValueError
        If the text is not what the checker reads.
    ParameterError
        If gamma is 1, and no proof is found.
    """
    model, grid = Model(text), grid_for(value)
    added = len(model.rows) - value.size  # a state for the end of an episode
    if added not in (0, 1):
        raise ParameterError(
            f"the solution is about {value.size} states, and the file of its model has {len(model.rows)}: name the "
            "file that the model is from"
        )
    value, policy = np.append(value, [0.0] * added), np.append(policy, [-1] * added)
    legal = {state: list(rows) for state, rows in model.rows.items()}
    chosen = dict[str, list[str]]()
    for (state, rows), action in zip(legal.items(), policy.tolist(), strict=True):
        wanted: str = model.actions[int(action)] if action >= 0 else ""
        chosen[state] = [wanted] if wanted in rows else rows[:1]
    high, low = _Side(model, legal, grid, 1), _Side(model, chosen, grid, -1)
    nearest = {state: grid.nearest(v) for state, v in zip(legal, value.tolist(), strict=True)}
    negative = {state: -x for state, x in nearest.items()}
    if model.gamma < 1:
        above, below = high.shifted(nearest, spare), low.shifted(negative, spare)
        return "".join(
            f"state {state} {grid.text(-below[state])} {grid.text(above[state])} {' '.join(chosen[state]) or '-'}\n"
            for state in legal
        )
    steps = {state: STEP * ceil(each) for state, each in zip(legal, _steps(model, chosen), strict=True)}
    above = high.raised({state: x + steps[state] for state, x in nearest.items()})
    below = low.raised({state: x + steps[state] for state, x in negative.items()})
    ranks = high.ranks(above), low.ranks(below)
    return "".join(
        f"state {state} {grid.text(-below[state])} {grid.text(above[state])} {' '.join(chosen[state]) or '-'} "
        f"{ranks[0][state]} {ranks[1][state]}\n"
        for state in legal
    )


def compared(text: str, intervals: str, proof: str) -> Finding:
    r"""Return whether intervals contain those of a proof, for bounds that are right but do not prove themselves.

    Parameters
    ----------
    text : str
        The model.
    intervals : str
        A line "state S LOW HIGH" for each state.
    proof : str
        Another proof about the same model.

    Examples
    --------
    >>> text = "discount: 0.5\nstates: 1\nactions: 1\nT: 0 : 0 : 0 1\nR: 0 : 0 : 0 1"
    >>> compared(text, "state 0 1.5 2.5", "state 0 1.9 2.1 0").right
    True
    >>> compared(text, "state 0 1.5 1.75", "state 0 1.9 2.1 0").sentence
    'state 0: HIGH is below the value, by at least 0.15'
    >>> compared(text, "state 0 1.95 2.5", "state 0 1.9 2.1 0").sentence
    'state 0: not decided, as the value is known to lie in 1.9 to 2.1'
    """
    sure = checked(text, proof)
    if not sure.right:
        return sure
    found = {words[1]: words[2:] for words in map(str.split, proof.splitlines()) if words[:1] == ["state"]}
    try:
        claims = [line.partition("#")[0].split() for line in intervals.splitlines()]
        given = {state: (number(low), number(high)) for _, state, low, high, *_ in filter(None, claims)}
    except ValueError as wrong:
        return Finding(False, f"not a line 'state S LOW HIGH': {wrong}")
    for state, (least, most, *_) in found.items():
        if state not in given:
            return Finding(False, f"state {state} has no line")
        low, high = given[state]
        for by, side in ((number(least) - high, "HIGH is below"), (low - number(most), "LOW is above")):
            if by > 0:
                return Finding(False, f"state {state}: {side} the value, by at least {float(by):.6g}")
        if low > number(least) or high < number(most):
            return Finding(False, f"state {state}: not decided, as the value is known to lie in {least} to {most}")
    return Finding(True, "every interval contains that of a proof of rlsuite's own, which was checked as well")


def _steps(model: Model, chosen: dict[str, list[str]]) -> list[float]:
    """Return how many steps a policy takes to where it stays for ever, about."""
    from scipy.sparse import csc_array, identity
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import spsolve

    number_of = {state: k for k, state in enumerate(model.rows)}
    entries = [
        (number_of[state], number_of[t], w / model.rows[state][action][2])
        for state, actions in chosen.items()
        for action in actions
        for t, w in model.rows[state][action][1].items()
    ]
    n = len(number_of)
    row: IndexArray = np.array([entry[0] for entry in entries], dtype=np.int64)
    column: IndexArray = np.array([entry[1] for entry in entries], dtype=np.int64)
    P: Any = csc_array((np.array([entry[2] for entry in entries]), (row, column)), shape=(n, n))
    part: IndexArray = connected_components(P, connection="strong")[1].astype(np.int64)
    leaves = np.zeros(n, dtype=np.bool_)
    leaves[part[row[part[row] != part[column]]]] = True
    goes_on = np.flatnonzero(leaves[part])
    steps: FloatArray = np.zeros(n)
    if goes_on.size:
        within: Any = identity(goes_on.size, format="csc") - P[goes_on][:, goes_on]
        steps[goes_on] = spsolve(within, np.ones(goes_on.size))
    return np.maximum(steps, 0.0).tolist()
