"""The watch of a method that may have to be compiled first."""

from rlsuite.compiling_clock import CompilingClock
from rlsuite.planning.watch import Watch


class CompilingWatch(CompilingClock, Watch):
    """A `rlsuite.planning.watch.Watch` that stands still while code is compiled.

    Parameters and errors are those of `Watch`, attributes those of both.

    Examples
    --------
    >>> with CompilingWatch("this example", tol=1.0) as watch:
    ...     pass
    >>> watch.compiling
    0.0
    """
