"""Names of the types that are open: what an environment is made of, and what an agent defines itself.

Type checkers take them for `Any`; `help` shows what they stand for.
"""

from typing import Annotated, Any, TypeAlias

import gymnasium

Env: TypeAlias = gymnasium.Env[Any, Any]
"""An environment, whatever its observations and actions are."""
BareEnv: TypeAlias = Annotated[Any, "environment without its wrappers"]
"""An environment without its wrappers, which may have any attributes."""
Space: TypeAlias = gymnasium.Space[Any]
UntypedSpace: TypeAlias = Any
"""A space of any kind: Gymnasium annotates only some attributes of its spaces."""
Observation: TypeAlias = Annotated[Any, "element of the observation space"]
"""What an environment shows: an element of its observation space."""
Action: TypeAlias = Annotated[Any, "element of the action space"]
"""An action: an element of the action space."""
Info: TypeAlias = Annotated[dict[str, Any], "whatever an environment knows, by name"]
"""What `reset` and `step` tell besides observation and reward, and the options of `reset`."""
Own: TypeAlias = Annotated[Any, "NamedTuple of the agent's own"]
"""The memory of an agent, or a part of it: its class, and so its fields, depend on the agent and its parameters."""
