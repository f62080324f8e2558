"""Which actions are legal: what a loop keeps up to date, and a rule asks."""

from rlsuite.core.compilation import Compiled, compiled
from rlsuite.models.aliases import BoolArray

Legality = Compiled[[BoolArray, int, int], bool]


@compiled(in_place=True)
def every_action(legal: BoolArray, state: int, action: int) -> bool:
    """Legality where all actions are legal everywhere: the compiled loop then tests nothing."""
    return True


@compiled(in_place=True)
def listed_actions(legal: BoolArray, state: int, action: int) -> bool:
    """Legality where some actions do not exist."""
    return legal[state, action]
