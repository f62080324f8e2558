"""Policy iteration in exact arithmetic: the optimum as fractions, without any rounding. P94 section 6.4.

The model is what its numbers are: gamma, probabilities and rewards are doubles, and each double is a fraction with a
power of 2 below. Policies are evaluated digit by digit in base p (Dixon 1982), exactly. Their number is finite, and
none comes twice, so the last one is optimal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, isqrt
from typing import NamedTuple, Unpack

import numpy as np

from rlsuite.core.clock import OutOfTime
from rlsuite.errors import ParameterError
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray, IndexArray
from rlsuite.planning.certificate import certified, discounted, noted
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.mdp.policy_iteration import policy_iteration
from rlsuite.planning.operators import EPS, Lookahead
from rlsuite.planning.solution import Solution
from rlsuite.planning.watch import Watch

ANY = 1e300
"""The tolerance of the first policy, which may be any."""

MOST_STATES = 200
"""With twice as many states a policy takes some twenty times as long to evaluate: the numbers get longer, too."""

PRIMES = (2_147_483_647, 2_147_483_629, 2_147_483_587, 2_147_483_579, 2_147_483_563)
"""The largest below 2^31: products of two residues fit into 63 bits."""


class Row(NamedTuple):
    """What an action does, times a power of 2, `scale`, that makes all numbers whole.

    That is its mean reward, and gamma times the probability of each next state where it goes on.
    """

    scale: int
    reward: int
    ahead: dict[int, int]


class Values(NamedTuple):
    """The value of each state, exactly: a numerator each, and one denominator, which is positive."""

    numerators: list[int]
    denominator: int

    def gain(self, row: Row, state: int) -> int:
        """Return r(s, a) + gamma sum_s' c(s' | s, a) V(s') - V(s), times scale and denominator."""
        ahead = sum(weight * self.numerators[there] for there, weight in row.ahead.items())
        return row.reward * self.denominator + ahead - self.numerators[state] * row.scale


@dataclass(frozen=True, eq=False, repr=False)
class ExactSolution(Solution):
    """The solution of `rational_policy_iteration`: as `Solution`, with the optimum as fractions.

    Attributes
    ----------
    fractions : tuple of Fraction
        The optimal value of each state, exactly; `value` is the nearest double.
    optimal_actions : ndarray (S, A) bool
        The actions that are optimal, no more and no less.

    See Also
    --------
    Solution : the other attributes.
    """

    @cached_property
    def fractions(self) -> tuple[Fraction, ...]:
        """The optimal value of each state; of a solution that was loaded, computed when it is first asked for."""
        return tuple(Fraction(one, self._values.denominator) for one in self._values.numerators)

    @property
    def optimal_actions(self) -> BoolArray:
        """(S, A) bool: the actions that are optimal, no more and no less."""
        found: BoolArray = np.zeros((self.lookahead.n_states, self.lookahead.n_actions), dtype=np.bool_)
        for s, actions in enumerate(self._rows):
            for a, row in actions.items():
                found[s, a] = self._values.gain(row, s) == 0
        return found

    @cached_property
    def _rows(self) -> list[dict[int, Row]]:
        return _rows(self.lookahead)

    @cached_property
    def _values(self) -> Values:
        return _evaluated(self._rows, self.policy.tolist(), lambda: None)


@takes_limits(max_iterations=1_000)
def rational_policy_iteration(mdp: MDP, **limits: Unpack[Limits]) -> Solution:
    """Solve a small discounted MDP without any rounding; the optimum is given as fractions.

    Begins with the policy that `policy_iteration` finds in double precision, which as a rule is optimal already.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1, at most 200 states. Its numbers are taken as the doubles that they are: 0.1 is
        3602879701896397 / 2**55.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (policies to evaluate), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    ExactSolution
        `fractions` is the optimum, `value` the nearest doubles, `optimal_actions` exactly the optimal actions, and
        ``iterations`` the number of policies evaluated. After a stop before its time, by a limit or by Ctrl-C, a
        `Solution` in double precision with its error bound.

    Raises
    ------
    ParameterError
        If gamma is 1, there are too many states, or an argument is out of range.
    ModelError
        If the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    One may stay for a reward of 1, and leave with a chance of one half:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import solve
    >>> mdp = MDP.from_arrays([[[0.5, 0.5]], [[0.0, 1.0]]], [1.0, 0.0], gamma=0.5, terminated=[False, True])
    >>> solve(mdp, "rational_policy_iteration").fractions
    (Fraction(4, 3), Fraction(0, 1))
    """
    watch = Watch("rational_policy_iteration", **limits)
    lookahead = discounted(mdp, "rational_policy_iteration")
    if mdp.n_states > MOST_STATES:
        raise ParameterError(
            f"rational_policy_iteration is for at most {MOST_STATES} states, and this model has {mdp.n_states:,}; "
            "other methods bound their error, rounding included: leave exact or method out"
        )
    with watch:
        first = policy_iteration(mdp, **{**limits, "tol": ANY, "rtol": 0.0})
        rows = _rows(lookahead)
        policy: list[int] = first.policy.tolist()
        while watch.goes_on(inf):
            try:
                value = _evaluated(rows, policy, watch.check)
            except OutOfTime:
                continue
            better = _improved(rows, policy, value)
            if better == policy:
                return _solution(lookahead, rows, value, watch)
            policy = better
    return certified(lookahead, first.value, watch)


def _rows(lookahead: Lookahead) -> list[dict[int, Row]]:
    """Return the rows of the legal actions of each state."""
    mdp, gamma = lookahead.mdp, Fraction(lookahead.mdp.gamma)
    terminal: list[bool] = lookahead.terminal.tolist()
    rows: list[dict[int, Row]] = [{} for _ in range(mdp.n_states)]
    for pair in range(mdp.n_states * mdp.n_actions):
        first, last = int(lookahead.indptr[pair]), int(lookahead.indptr[pair + 1])
        if first == last:
            continue
        ahead: dict[int, Fraction] = {}
        for i in range(first, last):
            there, weight = int(lookahead.successor[i]), float(lookahead.weight[i])
            if weight and not terminal[there]:
                ahead[there] = ahead.get(there, Fraction(0)) + gamma * Fraction(weight)
        if mdp.reward_per_pair:
            reward = Fraction(float(mdp.reward[pair]))
        else:
            paid = zip(mdp.probability[first:last].tolist(), mdp.reward[first:last].tolist(), strict=True)
            reward = sum((Fraction(p) * Fraction(r) for p, r in paid), Fraction(0))
        # all denominators are powers of 2, so the largest is a multiple of the others
        scale = max([reward.denominator, *(weight.denominator for weight in ahead.values())])
        whole = {there: int(weight * scale) for there, weight in ahead.items()}
        rows[pair // mdp.n_actions][pair % mdp.n_actions] = Row(scale, int(reward * scale), whole)
    return rows


def _improved(rows: list[dict[int, Row]], policy: list[int], value: Values) -> list[int]:
    """Return the policy with the first best action of each state in which another one is better, strictly."""
    better = policy.copy()
    for s, actions in enumerate(rows):
        gains = {a: Fraction(gain, row.scale) for a, row in actions.items() if (gain := value.gain(row, s)) > 0}
        if gains:
            better[s] = max(gains, key=lambda a: (gains[a], -a))
    return better


def _evaluated(rows: list[dict[int, Row]], policy: list[int], check: Callable[[], None]) -> Values:
    """Return the value of a policy: v = r_pi + gamma C_pi v; 0 where it takes no action."""
    acting = [s for s, a in enumerate(policy) if a >= 0]
    position = {s: i for i, s in enumerate(acting)}
    system: list[list[int]] = []
    for i, s in enumerate(acting):
        row = rows[s][policy[s]]
        line = [0] * len(acting) + [row.reward]
        line[i] = row.scale
        for there, weight in row.ahead.items():
            if there in position:
                line[position[there]] -= weight
        system.append(line)
    numerators, denominator = _solved(system, check)
    found = iter(numerators)
    return Values([next(found) if a >= 0 else 0 for a in policy], denominator)


def _solved(system: list[list[int]], check: Callable[[], None]) -> tuple[list[int], int]:
    """Solve n linear equations, each n coefficients and a right-hand side of whole numbers (Dixon 1982).

    With the inverse C of the matrix modulo a prime p, each step finds the next digit of the solution in base p,
    x = C r mod p, and what is left of the right-hand side, r <- (r - A x) / p, without remainder. The solution modulo a
    power of p that is large enough is that of one vector of fractions alone. Whether it is, is tried out exactly.
    """
    if not system:
        return [], 1
    matrix = np.array([line[:-1] for line in system], dtype=object)
    right = np.array([line[-1] for line in system], dtype=object)
    prime, inverse = next(
        (prime, found) for prime in PRIMES if (found := _inverse((matrix % prime).astype(np.int64), prime)) is not None
    )
    total, power, left, digits = np.zeros(len(system), dtype=object), 1, right, 0
    while True:
        check()
        digit = (inverse * (left % prime).astype(np.int64) % prime).sum(axis=1) % prime
        left = (left - matrix @ digit.astype(object)) // prime
        total, power, digits = total + digit.astype(object) * power, power * prime, digits + 1
        if digits & (digits - 1) == 0 and digits > 2:  # 4, 8, 16, ...
            numerators, denominator = _fractions(total.tolist(), power)
            if numerators and (matrix @ np.array(numerators, dtype=object) == right * denominator).all():
                return numerators, denominator


def _inverse(matrix: IndexArray, prime: int) -> IndexArray | None:
    """Return the inverse of a matrix modulo a prime below 2^31; None if there is none."""
    n = len(matrix)
    both: IndexArray = np.concatenate([matrix, np.eye(n, dtype=np.int64)], axis=1)
    for k in range(n):
        pivot = k + int(np.argmax(both[k:, k] != 0))
        if both[pivot, k] == 0:
            return None
        both[[k, pivot]] = both[[pivot, k]]
        both[k] = both[k] * pow(int(both[k, k]), -1, prime) % prime
        others: IndexArray = np.flatnonzero(both[:, k])
        others = others[others != k]
        both[others] = (both[others] - both[others, k : k + 1] * both[k]) % prime
    return both[:, n:]


def _fractions(residues: list[int], modulus: int) -> tuple[list[int], int]:
    """Return small numerators and a common denominator that have these residues, by Euclid's algorithm; or none."""
    most = isqrt(modulus // 2)
    denominator = 1
    for residue in residues:
        before, now = modulus, residue * denominator % modulus
        factor_before, factor = 0, 1
        if min(now, modulus - now) <= most:
            continue
        while now > most:
            quotient = before // now
            before, now = now, before - quotient * now
            factor_before, factor = factor, factor_before - quotient * factor
        denominator *= abs(factor)
        if denominator > most:
            return [], 1
    centred = (residue * denominator % modulus for residue in residues)
    return [one - modulus if one > modulus // 2 else one for one in centred], denominator


def _solution(lookahead: Lookahead, rows: list[dict[int, Row]], value: Values, watch: Watch) -> ExactSolution:
    """Return the solution: the nearest doubles, the first of the optimal actions, and what rounding alone is off."""
    nearest = np.array([numerator / value.denominator for numerator in value.numerators])
    policy: IndexArray = np.full(lookahead.n_states, -1, dtype=np.int64)
    for s, actions in enumerate(rows):
        policy[s] = next((a for a, row in actions.items() if value.gain(row, s) == 0), -1)
    # `/` of whole numbers is rounded correctly: each is off by at most half of the distance to the next double
    off = float(np.spacing(np.abs(nearest)).max(initial=0.0))
    bound = max(off, (lookahead.modulus * off + lookahead.rounding(nearest)) * (1.0 + 4.0 * EPS))
    watch.record(bound)
    watch.measure(nearest)
    found = noted(ExactSolution, watch, bound, value=nearest, policy=policy, lookahead=lookahead)
    vars(found).update(_rows=rows, _values=value)
    return found
