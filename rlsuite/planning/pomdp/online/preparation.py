"""What an online planner computes before it searches: bounds at the leaves, which have a time budget of their own.

The seconds for a decision are too few to compute them, and a search with poor bounds plays badly for as long as it has
no others. So they have a time of their own before the first decision; and if that is not enough, a part of the time of
each of the following ones, until they are finished.
"""

from rlsuite.core.checks import positive_number
from rlsuite.models import POMDP
from rlsuite.planning.certificate import warn_not_converged
from rlsuite.planning.pomdp.bounds.linear_bounds import SHARE, Bounds, EndlessBounds
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.watch import Watch

SECONDS = 10.0
"""Time for the bounds before the first decision, by default, where decisions have a deadline."""


class Preparation:
    """The bounds at the leaves of a planner without horizon.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    method : str
        Name of the planner.
    seconds : float or None
        Time for the bounds before the first decision; None for `SECONDS`, or for as many as are needed if decisions
        have no deadline.
    deadline : float or None
        Seconds for a decision.

    Attributes
    ----------
    model : PreparedModel
        The model's tables.

    Raises
    ------
    ParameterError
        If `seconds` is not a positive number.

    Warns
    -----
    ConvergenceWarning
        If the time was too short; more is then taken from the following decisions.
    """

    def __init__(self, pomdp: POMDP, method: str, *, seconds: float | None, deadline: float | None) -> None:
        self._method, self._deadline = method, deadline
        if seconds is not None:
            seconds = positive_number("preparation", seconds)
        elif deadline is not None:
            seconds = SECONDS
        own = Watch(method, tol=1.0, deadline=seconds)
        with own:
            self.model = PreparedModel(pomdp, method)
            self._found = EndlessBounds(self.model, own, share=0.5)
            self._found.improve(own, 0.5)
        if not self._found.finished:
            warn_not_converged(
                f"{method} could not finish the bounds at the leaves in preparation={seconds:g} seconds: each of the "
                f"following decisions takes up to {SHARE:.0%} of its time for them, until plan.prepared is true. "
                "Pass a larger preparation= if that is too late"
            )

    @property
    def finished(self) -> bool:
        """Whether more time would not improve the bounds."""
        return self._found.finished

    @property
    def bounds(self) -> Bounds:
        """The best bounds so far."""
        return self._found.bounds

    def go_on(self) -> bool:
        """Spend part of a decision's time on incomplete bounds; return whether they have changed."""
        if self.finished:
            return False
        share = None if self._deadline is None else SHARE * self._deadline
        with Watch(self._method, tol=1.0, deadline=share) as watch:
            self._found.improve(watch, 0.5)
        return True
