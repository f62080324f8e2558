"""Settings for all tests."""

from hypothesis import settings

# The first example of a property may compile a function; the examples are the same in every run.
settings.register_profile("rlsuite", deadline=None, derandomize=True)
settings.load_profile("rlsuite")
