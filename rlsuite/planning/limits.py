"""The options that planners share: when to stop. Written once, and shown by every planner as if they were its own."""

from collections.abc import Callable, Mapping
from typing import Final, ParamSpec, TypedDict, TypeVar

from rlsuite.core.keywords import shows_keywords

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class Tolerances(TypedDict, total=False):
    """Those of the `Limits` that say what is accurate enough: of planners with deadlines of another meaning."""

    tol: float
    rtol: float | None


class TimeLimits(Tolerances, total=False):
    """The `Limits` without `max_iterations`: of planners that have none, or use it for more than to stop."""

    deadline: float | None
    progress: bool


class Limits(TimeLimits, total=False):
    """When a planner stops: the keyword-only options that planners share.

    Every answer has a bound on its error, also if a limit stopped the method, and a warning if the bound exceeds `tol`.

    Attributes
    ----------
    tol : float
        Largest error that is allowed, in the unit of the reward, by default 1e-6: of the value, and of the loss of the
        policy; where the average reward counts, of the gain; for a POMDP, the largest distance of the two bounds at the
        start belief.
    rtol : float, optional
        The same relative to the value, by default a thousandth of `tol`, at most 1e-9: see `rlsuite.planning.solve`.
    max_iterations : int
        Stop after this many iterations. What counts as one, and the default, depends on the planner.
    deadline : float, optional
        Stop after this many seconds, by default never; with 0 as soon as there is any bound. The time that numba takes
        to compile does not count.
    progress : bool
        Whether to show a progress bar on stderr, by default not.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import Limits, value_iteration
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> quick: Limits = {"tol": 0.1, "deadline": 60.0}
    >>> value_iteration(mdp, **quick).value.tolist()
    [90.0, 100.0, 0.0]
    """

    max_iterations: int


class Gap(TypedDict, total=False):
    """Of planners with a lower and an upper bound, what `tol` is the largest distance of.

    Attributes
    ----------
    gap : float, optional
        The same as `tol`, and wins over it if it is given.
    """

    gap: float | None


class TolerancesOfBounds(Tolerances, Gap, total=False):
    """The `Tolerances` of a planner with two bounds."""


class TimeLimitsOfBounds(TimeLimits, Gap, total=False):
    """The `TimeLimits` of a planner with two bounds."""


class LimitsOfBounds(Limits, Gap, total=False):
    """The `Limits` of a planner with two bounds."""


DEFAULTS: Final[Mapping[str, object]] = {
    "tol": 1e-6,
    "rtol": None,
    "max_iterations": None,
    "deadline": None,
    "progress": False,
}
"""In the order in which signatures show them; `max_iterations` has a default of each planner's own."""


def takes_limits(*, max_iterations: int | None = None) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """Make a function that takes ``**limits`` show each of them in its signature, with its default.

    The function itself is given all of them. Unknown keywords get a suggestion, as by `says_what_to_write`.

    Parameters
    ----------
    max_iterations : int, optional
        The default of that option, if it is among the limits that the function takes.

    Returns
    -------
    callable
        The decorator. The last parameter of its function is a ``**limits: Unpack[Limits]``, or of one of its bases.

    Examples
    --------
    >>> import inspect
    >>> from typing import Unpack
    >>> @takes_limits(max_iterations=100)
    ... def method(mdp, **limits: Unpack[Limits]): return limits
    >>> list(inspect.signature(method).parameters)
    ['mdp', 'tol', 'rtol', 'max_iterations', 'deadline', 'progress']
    >>> method(None)
    {'tol': 1e-06, 'rtol': None, 'max_iterations': 100, 'deadline': None, 'progress': False}
    """
    return shows_keywords({**DEFAULTS, "max_iterations": max_iterations, "gap": None})
