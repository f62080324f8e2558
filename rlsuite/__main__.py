"""``python -m rlsuite`` is the command ``rlsuite``."""

import sys

from rlsuite.cli import main

if __name__ == "__main__":
    sys.exit(main())
