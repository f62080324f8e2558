"""Settings for all tests."""

import signal

from hypothesis import settings

# The first example of a property may compile a function; the examples are the same in every run.
settings.register_profile("rlsuite", deadline=None, derandomize=True)
settings.load_profile("rlsuite")


def pytest_configure() -> None:
    """Hear Ctrl-C: a process that was started in the background may ignore it, and its children with it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
