"""The vector form of every environment, for ``gymnasium.make_vec``.

Gymnasium asks for a function per id. They differ in the environment class only, so one function has the names of all
classes: ``rlsuite_envs.vectors:GridGoalEnv``.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from gymnasium.vector import AutoresetMode

from rlsuite.environments.vector_env import TabularVectorEnv
from rlsuite.errors import ParameterError
from rlsuite_envs.bandit_vector import BanditVectorEnv as BanditEnv

__all__ = ["BanditEnv"]


def __getattr__(name: str) -> Callable[..., TabularVectorEnv]:
    package = import_module("rlsuite_envs")
    classes = package.env_classes()
    if name not in classes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    env_class = classes[name]

    def make(
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        observe: str = "state",
        **kwargs: Any,
    ) -> TabularVectorEnv:
        if observe != "state":
            raise ParameterError(
                f"observe={observe!r}: copies that are stepped at once show their state; vectorization_mode='sync' "
                "steps them one by one"
            )
        single = env_class(**kwargs)
        return TabularVectorEnv(
            single.model,
            num_envs,
            max_episode_steps=max_episode_steps,
            autoreset_mode=autoreset_mode,
            drawing=None if render_mode is None else single.default_drawing(),
            render_mode=render_mode,
        )

    return make
