"""The discount of an agent beside that of a model that its user has written."""

import dataclasses
import warnings
from typing import Any

from rlsuite import errors
from rlsuite.core.aliases import Env
from rlsuite.environments.tabular_env import TabularEnv

_said: set[tuple[str, float, float]] = set()
"""What this process has warned of: agent, its discount, that of the model."""


def warn_of_another_discount(agent: Any, env: Env) -> None:
    """Warn, once in a process, if an agent keeps its default discount in a model that has another.

    An agent with another gamma than the default has been asked for it, and the gamma of a registered environment was
    not written by the user: in both cases there is no warning.

    Parameters
    ----------
    agent : Learner
        Its class is a dataclass, with a field ``gamma``.
    env : gymnasium.Env
        Where it is to learn.

    Warns
    -----
    DiscountWarning
        With both numbers.

    Examples
    --------
    >>> import rlsuite as rl
    >>> mdp = rl.MDP.from_successors([[0, 1], [None, None]], [0, 1], gamma=0.875, start=0)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn_of_another_discount(rl.Sarsa(), mdp.to_env())
    >>> print(str(said[0].message).partition(":")[0])
    Sarsa learns with its default gamma=0.99, and the model of its environment has gamma=0.875
    """
    base = env.unwrapped
    if type(base) is not TabularEnv:
        return
    default = {field.name: field.default for field in dataclasses.fields(agent)}.get("gamma")
    given, own, name = base.model.gamma, agent.gamma, type(agent).__name__
    if own != default or own == given or base.model.n_states == 1 or (name, own, given) in _said:
        return
    _said.add((name, own, given))
    warnings.warn(
        f"{name} learns with its default gamma={own:g}, and the model of its environment has gamma={given:g}: they "
        f"have different optima. Write {name}(gamma={given:g}), or give the model gamma={own:g}",
        errors.DiscountWarning,
        stacklevel=errors.level_of_the_caller(),
    )
