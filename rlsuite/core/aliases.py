"""Names of the types of Gymnasium that rlsuite passes on."""

from typing import Any, TypeAlias

import gymnasium

Env: TypeAlias = gymnasium.Env[Any, Any]
"""An environment, whatever its observations and actions are."""
Space: TypeAlias = gymnasium.Space[Any]
Info: TypeAlias = dict[str, Any]
"""What `reset` and `step` tell besides observation and reward."""
