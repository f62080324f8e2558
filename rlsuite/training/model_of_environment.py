"""Whether agents can learn in an environment without calling it: on its table, or through its compiled dynamics."""

import warnings
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from rlsuite import errors
from rlsuite.environments.dynamics_check import dynamics_of, trusted_dynamics
from rlsuite.environments.replay_check import (
    check_wrappers,
    comes_with_table,
    has_table,
    name_of,
    shown_vectors,
    trusted_model,
)
from rlsuite.models import MDP, POMDP
from rlsuite.training.environment_functions import Adapter, dynamics_adapter, table_adapter, vector_table_adapter
from rlsuite.training.observation_view import Encoding


class CompiledForm(NamedTuple):
    """The model and the compiled form of an environment, each None if it has none."""

    adapter: Adapter | None
    """How the compiled loop runs it; None if it cannot."""
    model: MDP | POMDP | None
    """The model of its table."""


UNKNOWN = CompiledForm(None, None)


def compiled_form(
    env: gymnasium.Env[Any, Any], encode: Encoding | None, gamma: float, loop: str, told: bool
) -> CompiledForm:
    """Find the compiled form of an environment for an agent that observes ids or vectors.

    Parameters
    ----------
    env : gymnasium.Env
        An environment that has been reset; it is left untouched.
    encode : Encoding or None
        How observations become vectors; None for an agent that is shown ids.
    gamma : float
        Discount of the model.
    loop : {"auto", "compiled", "stepwise"}
        With "compiled" it is an error if there is no compiled form that can be used; with "auto" there is a warning
        if there is one that cannot be used.
    told : bool
        Whether the environment tells in each info which actions exist.

    Raises
    ------
    UnsuitableEnvironment
        With ``loop="compiled"``, if there is no compiled form that can be used.
    """
    try:
        if has_table(env):
            return _of_table(env, encode, gamma)
        if comes_with_table(env):
            raise errors.UnsuitableEnvironment(
                f'{name_of(env)} declares metadata["action_mask"] = "law": its masks say which actions exist, and its '
                "table does not; where that depends on the state alone, write P[s][a] = [] instead"
            )
        dynamics = dynamics_of(env) if encode is not None else None
        if dynamics is not None and encode is not None:
            if told:
                raise errors.UnsuitableEnvironment(
                    f"{name_of(env)} has an action_mask in its info, which compiled dynamics do not support"
                )
            trusted_dynamics(env, dynamics)
            if encode.transform is not None:
                raise errors.UnsuitableEnvironment(
                    f"{name_of(env)} has compiled dynamics, but these features can only be computed in Python; the "
                    "feature maps of rlsuite.approximation are compiled"
                )
            return CompiledForm(dynamics_adapter(env, dynamics), None)
    except errors.UnsuitableEnvironment as error:
        if loop == "compiled":
            raise
        if loop == "auto":
            level = errors.level_of_the_caller()
            warnings.warn(f"{error}. Learning stepwise.", errors.StepwiseWarning, stacklevel=level)
        return UNKNOWN
    if loop == "compiled":
        what = "transition table (env.unwrapped.P or .model)"
        if encode is not None:
            what += " and no compiled dynamics (env.unwrapped.dynamics)"
        raise errors.UnsuitableEnvironment(
            f"{name_of(env)} has no {what}, which loop='compiled' needs; use loop='stepwise'"
        )
    return UNKNOWN


def _of_table(env: gymnasium.Env[Any, Any], encode: Encoding | None, gamma: float) -> CompiledForm:
    if encode is None:
        model = trusted_model(env, gamma)
        return CompiledForm(table_adapter(env, model), model)
    vectors = shown_vectors(env)
    if vectors is None and not isinstance(env.observation_space, gymnasium.spaces.Discrete):
        check_wrappers(env)
    model = trusted_model(env, gamma, vectors)
    if vectors is None:
        n_observations = model.n_observations + 1 if isinstance(model, POMDP) else model.n_states
        vectors = np.arange(float(n_observations))[:, None]
    if encode.transform is not None:
        vectors = np.ascontiguousarray(encode.transform(vectors))
    return CompiledForm(vector_table_adapter(env, model, vectors), model)
