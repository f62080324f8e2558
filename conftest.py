"""Which files pytest looks into for examples."""

from importlib.util import find_spec

# PyTorch is an extra; without it nothing in there can run
collect_ignore_glob = [] if find_spec("torch") else ["rlsuite/approximation/deep/*"]
