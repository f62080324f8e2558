"""Which actions are legal: what a loop keeps up to date, and a rule asks."""

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.compilation import Compiled, compiled

Legality = Compiled[[NDArray[np.bool_], int, int], bool]


@compiled(in_place=True)
def every_action(legal: NDArray[np.bool_], state: int, action: int) -> bool:
    """Legality where all actions are legal everywhere: the compiled loop then tests nothing."""
    return True


@compiled(in_place=True)
def listed_actions(legal: NDArray[np.bool_], state: int, action: int) -> bool:
    """Legality where some actions do not exist."""
    return legal[state, action]
