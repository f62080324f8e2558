"""Linear programming: the optimal value is the least one that no action can improve. P94 section 6.9.

Every V with V >= TV lies above V*, and V* is one of them. So V* is the solution of

    minimise sum_s V(s)  subject to  V(s) - gamma sum_s' c(s' | s, a) V(s') >= r(s, a)  for every legal pair (s, a)

(P94 (6.9.1)), which HiGHS solves. A solver of linear programs meets its constraints up to a tolerance (1e-7), not to
the last bit, so the answer is the value of the policy that is greedy in what it finds.

The variables of the dual program are how often a policy takes each action in each state (P94 section 6.9.1). Let mu(s)
be the probability to begin in s. The expected discounted number x(s) of times that the policy acts in s obeys

    x(s') = mu(s') + gamma sum_s x(s) C_pi(s, s'),

the transpose of the system of `evaluate_policy`, and action a is taken x(s) pi(a | s) times there. The value of the
policy is the sum over all pairs of that number times r(s, a).
"""

from typing import Any, Unpack

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.policies import policy_weights
from rlsuite.planning.certificate import certified, contracting, discounted
from rlsuite.planning.limits import TimeLimits, takes_limits
from rlsuite.planning.linear_system import solve_fixed_point
from rlsuite.planning.mdp.policy_evaluation import induced, induced_by_actions
from rlsuite.planning.operators import Lookahead, greedy
from rlsuite.planning.reachability import reachable
from rlsuite.planning.solution import Solution
from rlsuite.planning.watch import Watch

PER_ENTRY = 2e-6
"""Seconds that HiGHS takes for each coefficient of a program before it looks at the clock, rather too many."""


@takes_limits()
def linear_programming(mdp: MDP, **limits: Unpack[TimeLimits]) -> Solution:
    """Solve a discounted MDP by its linear program, with HiGHS through SciPy.

    The program has as many variables as states and as many constraints as legal pairs. On no kind of model is it the
    fastest method; it is here for comparison: a second opinion.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1.
    **limits
        When to stop: `tol`, `rtol`, `deadline`, `progress`; see `Limits`. HiGHS gets the deadline, but goes through the
        whole program before it looks at the clock: where there is no time for that, it is not begun.

    Returns
    -------
    Solution
        If HiGHS fails, by a limit or by a Ctrl-C (which waits for it to return), V = 0 with its true error bound.

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
    value: FloatArray = np.zeros(mdp.n_states)
    with watch:
        found = _solved(lookahead, watch)
        if found is not None:
            chain, reward = induced_by_actions(lookahead, greedy(lookahead.q(found)))
            value = solve_fixed_point(chain, reward)
    return certified(lookahead, value, watch)


def _solved(lookahead: Lookahead, watch: Watch) -> FloatArray | None:
    """Return the solution of the program, up to the tolerance of HiGHS; None if that fails, and `watch` says why."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    acting = lookahead.mdp.legal.any(axis=1) & ~lookahead.terminal
    pairs: IndexArray = np.flatnonzero(lookahead.mdp.legal & acting[:, np.newaxis])
    value: FloatArray = np.zeros(lookahead.n_states)
    if not pairs.size:
        return value
    entries = pairs.size + int(np.diff(lookahead.indptr)[pairs].sum())
    if watch.left < PER_ENTRY * entries:
        watch.give_up(f"there is no time for a linear program of {pairs.size} constraints with {entries} coefficients")
        return None
    watch.iterations = 1
    own = pairs // lookahead.n_actions, np.arange(pairs.size + 1)
    here: Any = csr_array((np.ones(pairs.size), *own), shape=(pairs.size, lookahead.n_states))
    constraints = (lookahead.mdp.gamma * lookahead.continuation[pairs] - here)[:, np.flatnonzero(acting)]
    scale = lookahead.reward_size or 1.0
    solve: Any = linprog
    program = solve(
        np.ones(np.count_nonzero(acting)),
        A_ub=constraints,
        b_ub=-lookahead.reward[pairs] / scale,
        bounds=(None, None),
        method="highs",
        options={"time_limit": max(watch.left, 1e-3)} if np.isfinite(watch.left) else {},
    )
    if program.x is None or not np.isfinite(program.x).all():
        watch.give_up(f"HiGHS: {program.message}")
        return None
    value[acting] = scale * program.x
    return value


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
