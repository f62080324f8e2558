"""Point-based planning with a lower and an upper bound at any time: trials visit beliefs where they are far apart.

SARSOP (Kurniawati, Hsu and Lee 2008) and HSVI2 (Smith and Simmons 2005) as one search, which is described in
`rlsuite.planning.pomdp.point_based.search_kernel`.
"""

from rlsuite.core.checks import positive_number, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.models import POMDP
from rlsuite.planning.pomdp.point_based.point_search import PointSearch, warn_if_open
from rlsuite.planning.pomdp.point_based.point_solution import PointBasedSolution
from rlsuite.planning.watch import Watch


@says_what_to_write
def sarsop(
    pomdp: POMDP,
    *,
    tol: float = 1e-6,
    rtol: float | None = None,
    gap: float | None = None,
    max_iterations: int | None = None,
    deadline: float | None = None,
    progress: bool = False,
    max_gb: float = 4.0,
) -> PointBasedSolution:
    """Solve a POMDP from its start belief, with a lower and an upper bound that converge.

    A trial goes down from the start belief, by the action whose upper bound is the largest and the observation that
    leaves most to be known, and updates the bounds of all its beliefs on the way back. Beliefs are kept once however
    they are reached, vectors and beliefs are stored for possible states only, and where the states fall into parts such
    that the support of each belief lies in one of them, such as the places of a robot that knows where it is, each part
    has vectors of its own.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma < 1.
    tol : float
        Largest distance of the two bounds at the start belief that is allowed, in the unit of the reward.
    rtol : float, optional
        The same relative to the value, by default a thousandth of `tol`, at most 1e-9: see `rlsuite.planning.solve`.
    gap : float, optional
        The same as `tol`, and wins over it if it is given.
    max_iterations : int, optional
        Largest number of trials.
    deadline : float, optional
        Stop after this many seconds.
    progress : bool
        Show a progress bar on stderr.
    max_gb : float
        Stop when the search takes more than this many GB of memory.

    Returns
    -------
    PointBasedSolution
        ``iterations`` is the number of trials. After a stop before its time, by a limit or by Ctrl-C, the best answer
        so far with its true bounds. The vectors hold in all beliefs, but are good in those that are reached from the
        start.

    Raises
    ------
    ParameterError
        If gamma is 1, or an argument is out of range.
    ModelError
        If no action is legal in every state of the support of some belief, or values overflow.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than asked for.

    Examples
    --------
    A coin lies under one of two cups; a look costs 1 and shows it with certainty, a guess earns 10 or costs 20:

    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    >>> cups = POMDP.from_arrays(
    ...     [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
    ...     order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    ... )
    >>> plan = solve(cups, "sarsop", gap=1e-3)
    >>> round(plan.lower_bound, 3), round(plan.upper_bound, 3), plan.act([0.5, 0.5, 0]), plan.act([0, 1, 0])
    (8.0, 8.0, 0, 2)
    """
    wanted = tol if gap is None else positive_number("gap", gap)
    watch = Watch("sarsop", tol=wanted, rtol=rtol, deadline=deadline, progress=progress)
    last = -1 if max_iterations is None else whole_number("max_iterations", max_iterations)
    with watch:
        planner = PointSearch(pomdp, watch, max_gb=positive_number("max_gb", max_gb))
        while planner.goes_on():
            if last == planner.search.trials:
                watch.give_up(f"max_iterations={last} reached")
                break
            planner.trials(last)
    return warn_if_open(planner.solution(), watch, f"{planner.search.trials} trials")
