"""Linear programming: the optimal value is the least one that no action can improve. P94 section 6.9.

Every V with V >= TV lies above V*, and V* is one of them. So V* is the solution of

    minimise sum_s V(s)  subject to  V(s) - gamma sum_s' c(s' | s, a) V(s') >= r(s, a)  for every legal pair (s, a)

(P94 (6.9.1)), which HiGHS solves. A solver of linear programs meets its constraints up to a tolerance (1e-7), not to
the last bit, so the program is solved again for what is left over: with V' = V + d W, where d is the largest |TV - V|,
the constraints on W are those above with (QV - V)(s, a) / d in place of r(s, a). Each round gains as many digits
as the tolerance has (iterative refinement, Gleixner, Steffy & Wolter 2016).

The variables of the dual program are how often a policy takes each action in each state (P94 section 6.9.1). Let mu(s)
be the probability to begin in s. The expected discounted number x(s) of times that the policy acts in s obeys

    x(s') = mu(s') + gamma sum_s x(s) C_pi(s, s'),

the transpose of the system of `evaluate_policy`, and action a is taken x(s) pi(a | s) times there. The value of the
policy is the sum over all pairs of that number times r(s, a).
"""

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.policies import policy_weights
from rlsuite.planning.certificate import certified, contracting, discounted, width
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.linear_system import solve_fixed_point
from rlsuite.planning.mdp.policy_evaluation import induced
from rlsuite.planning.operators import Lookahead, best
from rlsuite.planning.reachability import reachable
from rlsuite.planning.solution import Solution
from rlsuite.planning.watch import Watch

if TYPE_CHECKING:
    from rlsuite.planning.operators import Matrix

PER_ENTRY = 2e-6
"""Seconds that HiGHS takes for each coefficient of a program before it looks at the clock, rather too many."""


@takes_limits(max_iterations=20)
def linear_programming(mdp: MDP, **limits: Unpack[Limits]) -> Solution:
    """Solve a discounted MDP by its linear program, with HiGHS through SciPy.

    One program has as many variables as states and as many constraints as legal pairs; a second one makes up for the
    tolerance of the first, and there is seldom a third. On no kind of model is it the fastest method; it is here for
    comparison: a second opinion that shares nothing with the others but the certificate.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (linear programs), `deadline`, `progress`; see `Limits`. HiGHS
        gets the deadline, but goes through the whole program before it looks at the clock: where there is no time for
        that, it is not begun.

    Returns
    -------
    Solution
        ``iterations`` is the number of linear programs; 0 if TV of V = 0 is already good enough, as with gamma = 0.
        If HiGHS fails, by a limit or by a Ctrl-C (which waits for it to return), the best answer so far with its true
        error bound.

    Raises
    ------
    ParameterError
        If gamma is 1, or an argument is out of range.
    ModelError
        If the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`; the message says what HiGHS said.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import linear_programming
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> solution = linear_programming(mdp)
    >>> solution.value.round(9).tolist(), solution.policy.tolist(), solution.converged
    ([90.0, 100.0, 0.0], [1, 1, -1], True)
    """
    watch = Watch("linear_programming", **limits)
    lookahead = discounted(mdp, "linear_programming")
    looked_up = mdp.legal.any(axis=1) & ~lookahead.terminal
    value: FloatArray = np.zeros(mdp.n_states)
    bound = width(lookahead, value)
    with watch:
        while watch.goes_on(bound):
            correction, failure = _solved(lookahead, value, looked_up, watch)
            if correction is None:
                watch.give_up(failure)
                break
            corrected = value.copy()
            corrected[looked_up] += correction
            corrected_bound = width(lookahead, corrected)
            if not corrected_bound < bound:
                watch.give_up("another linear program does not improve the bound")
                break
            value, bound = corrected, corrected_bound
            watch.measure(value, lookahead.largest_value)
    return certified(lookahead, value, watch)


def _solved(
    lookahead: Lookahead, value: FloatArray, looked_up: BoolArray, watch: Watch
) -> tuple[FloatArray | None, str]:
    """Return the correction to the value of the states that are successors, or None and the message of HiGHS."""
    from scipy.optimize import linprog

    q = lookahead.q(value)
    changes = (best(q) - value)[looked_up]
    scale = float(np.abs(changes).max(initial=0.0))
    if scale == 0.0:
        return None, "no constraint is violated"
    # |W| is at most 1 / (1 - beta), because the best action of each state has a scaled reward in [-1, 1]. So an action
    # with a reward below -2 / (1 - beta) cannot bind, and the program leaves it out.
    gains = (q - value[:, np.newaxis]) / scale
    binding: IndexArray = np.flatnonzero(looked_up[:, np.newaxis] & (gains >= -2.0 / (1.0 - lookahead.modulus)))
    entries = binding.size + int(np.diff(lookahead.indptr)[binding].sum())
    first_look = PER_ENTRY * entries
    if watch.left < first_look:
        return None, f"there is no time for a linear program of {binding.size} constraints with {entries} coefficients"
    began = watch.seconds
    constraints: Any = -_constraints(lookahead, binding)[:, np.flatnonzero(looked_up)]
    options: dict[str, Any] = {}
    if np.isfinite(watch.left):
        # What SciPy does around HiGHS takes about as long as making the constraints did, and looks are some time apart.
        around = watch.seconds - began + first_look / 10.0
        options["time_limit"] = max(watch.left - around, 1e-3)
    solve_program: Any = linprog
    program: Any = solve_program(
        np.ones(changes.size),
        A_ub=constraints,
        b_ub=-gains.reshape(-1)[binding],
        bounds=(None, None),
        method="highs",
        options=options,
    )
    if program.x is None or not np.isfinite(program.x).all():
        return None, f"HiGHS: {program.message}"
    return scale * np.asarray(program.x, dtype=np.float64), ""


def _constraints(lookahead: Lookahead, pairs: IndexArray) -> "Matrix":
    """Return the left-hand sides of `pairs`, as a csr_array (n, S): V(s) - gamma sum_s' c(s' | s, a) V(s')."""
    from scipy.sparse import csr_array

    own = pairs // lookahead.n_actions, np.arange(pairs.size + 1)
    here: Any = csr_array((np.ones(pairs.size), *own), shape=(pairs.size, lookahead.n_states))
    return here - lookahead.mdp.gamma * lookahead.continuation[pairs]


@says_what_to_write
def occupancy(mdp: MDP, policy: ArrayLike) -> FloatArray:
    """Return the expected discounted number of times that each action is taken in each state, from the start.

    Parameters
    ----------
    mdp : MDP
        The model; episodes begin as ``mdp.start`` says.
    policy : array_like (S,) int, or (S, A) float
        One action per state, or the probability of each action. Entries at states without legal actions are ignored.

    Returns
    -------
    ndarray (S, A) float64
        In steps. The sum of all entries is the expected discounted length of an episode, 1 / (1 - gamma) if nothing
        ends; the sum of its products with the mean rewards is the expected return. With gamma = 1, the expected number
        of visits until the episode ends.

    Raises
    ------
    ParameterError
        If `policy` has another shape, is not a distribution in some state, or takes an illegal action; or if gamma is 1
        and the policy may never end, even if it earns nothing by that. The message names the state. Or if gamma is
        within 1e-10 of 1, but not 1, and nothing ends.

    Examples
    --------
    Each step ends the episode with probability 1/4, so it takes 4 steps on average:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import occupancy
    >>> mdp = MDP.from_rows([0, 2, 2], [0, 1], [0.75, 0.25], [-1, -1], n_actions=1, gamma=1.0)
    >>> occupancy(mdp, [0, -1]).tolist()
    [[4.0], [0.0]]
    """
    lookahead = Lookahead(mdp)
    weights = policy_weights(mdp.legal, policy)
    chain, _ = induced(lookahead, weights)
    visits = np.zeros(mdp.n_states)
    if mdp.gamma == 1.0:
        visited = np.flatnonzero(_visited_and_left(mdp, weights))
        visits[visited] = solve_fixed_point(chain[visited][:, visited].T.tocsr(), mdp.start[visited])
    else:
        contracting(lookahead)
        visits = solve_fixed_point((mdp.gamma * chain).T.tocsr(), mdp.start)
    return visits[:, np.newaxis] * weights


def _visited_and_left(mdp: MDP, weights: FloatArray) -> BoolArray:
    """Return which states (S,) the policy can visit, after checking that all of them are transient."""
    with_end = MarkovChain.from_mdp(mdp, weights)  # the S states, and one more if an episode can end
    begun = np.zeros(with_end.n_states, dtype=np.bool_)
    begun[: mdp.n_states] = mdp.start > 0.0
    visited = reachable(with_end.transition, begun)[: mdp.n_states]
    endless = visited & ~with_end.transient[: mdp.n_states]
    if endless.any():
        raise ParameterError(
            f"gamma=1, and from state {int(np.argmax(endless))} this policy never reaches an end: it acts there "
            "infinitely often. Use gamma < 1, or a policy that reaches an end from every state."
        )
    return visited
