"""Names of the types of Gymnasium that rlsuite passes on."""

from typing import Any, TypeAlias

import gymnasium

Env: TypeAlias = gymnasium.Env[Any, Any]
"""An environment, whatever its observations and actions are."""
BareEnv: TypeAlias = Any
"""An environment without its wrappers, which may have any attributes."""
Space: TypeAlias = gymnasium.Space[Any]
UntypedSpace: TypeAlias = Any
"""A space of any kind: Gymnasium annotates only some attributes of its spaces."""
Observation: TypeAlias = Any
"""What an environment shows: an element of its observation space."""
Info: TypeAlias = dict[str, Any]
"""What `reset` and `step` tell besides observation and reward."""
