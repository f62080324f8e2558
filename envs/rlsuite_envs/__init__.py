"""The environments of rlsuite; importing this package registers them under ``rlsuite/``.

>>> import gymnasium, rlsuite_envs
>>> gymnasium.make("rlsuite/GridGoal-v0").reset(seed=7)[0]
0

Every keyword of an environment is documented in its class, which is named after the id: ``rlsuite/GridGoal-v0`` is
`rlsuite_envs.notes_grids.GridGoalEnv`. All take one more, ``observe=``: what is shown of the state
(`rlsuite.environments.observing`). The functions beside the classes (`rlsuite_envs.notes_grids.grid_goal`) build the
models alone.
"""

if __name__ != "rlsuite_envs":
    raise ImportError(
        f"this package was imported as {__name__!r}; write 'import rlsuite_envs' "
        "(it is installed beside rlsuite, and the folder 'envs' is not a package)"
    )

import inspect
import pkgutil
from functools import cache
from importlib import import_module

import gymnasium

from rlsuite.environments.tabular_env import TabularEnv

TIME_LIMITS = {
    # A few times what a random walk takes from the start to the goal.
    "GridGoal-v0": 100,
    "NondeterministicGridGoal-v0": 100,
    "ObstacleGrid-v0": 200,
    # Rows change only by rare slips, so that a good policy needs some fifty steps.
    "SlipperyObstacleGrid-v0": 500,
    # Enough for every shipped map; larger maps need more (``max_episode_steps=``).
    "GridWorld-v0": 1_000,
    "CliffWalk-v0": 1_000,
    "WindyGrid-v0": 2_000,
    # Practically no limit: the walk of 19 states takes 100 steps on average, the first episode in a maze a thousand.
    "RandomWalk-v0": 10_000,
    "ChangingMaze-v0": 10_000,
    # An episode has one or two steps.
    "MaximizationBias-v0": 10,
    # An episode lasts until the player sticks or the sum is above 21.
    "Blackjack-v0": 100,
    # Continuing tasks: the number of steps over which the papers sum the reward.
    "Chain-v0": 1_000,
    "RiverSwim-v0": 5_000,
    "Bandit-v0": 1_000,
    "TwoWayChain-v0": 1_000,
    "BairdStar-v0": 1_000,
    # A continuing task: enough steps to open some thirty doors.
    "Tiger-v0": 100,
    # Continuing tasks with a reward every five to fifty steps.
    "CheeseMaze-v0": 100,
    "Shuttle-v0": 100,
    "Hallway-v0": 251,  # the limit of the paper
    # An episode ends when the agent decides to end it.
    "RockSample-v0": 100,
    "Tag-v0": 100,
    "LightDark-v0": 100,
    # A policy that goes right with probability 0.01 takes 400 steps on average.
    "ShortCorridor-v0": 1_000,
    # The counterexample needs both states to be left equally often.
    "TwoStates-v0": 1,
}
"""All environments with a table, and the steps after which their episodes are truncated."""

MOVING = {
    # The limit of Gymnasium's Pendulum-v1.
    "Pendulum-v0": ("rlsuite_envs.classic_control.pendulum", 200),
    # What the paper calls a success.
    "InvertedPendulum-v0": ("rlsuite_envs.classic_control.inverted_pendulum", 3_000),
    # Ten times the shortest way up.
    "CarOnTheHill-v0": ("rlsuite_envs.classic_control.car_on_the_hill", 200),
}
"""Where each environment with compiled dynamics instead of a table is found, and its time limit. These modules need the
compiler, so they are not imported before an environment is made."""


@cache
def env_classes() -> dict[str, type[TabularEnv]]:
    """Return the classes of environments with a table by name: all that the modules define whose names end in ``Env``.

    >>> env_classes()["TigerEnv"].__module__
    'rlsuite_envs.tiger'
    """
    found = [module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg]
    modules = [import_module(f"{__name__}.{name}") for name in found]
    return {
        name: value
        for module in modules
        for name, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, TabularEnv) and value.__module__ == module.__name__
    }


def _register() -> None:
    for name, limit in TIME_LIMITS.items():
        env_class = env_classes()[name.partition("-")[0] + "Env"]
        gymnasium.register(  # pyright: ignore[reportUnknownMemberType] - its keywords have no types
            id=f"rlsuite/{name}",
            entry_point=f"rlsuite_envs.made:{env_class.__name__}",
            vector_entry_point=f"rlsuite_envs.vectors:{env_class.__name__}",
            max_episode_steps=limit,
        )
    for name, (module, limit) in MOVING.items():
        gymnasium.register(  # pyright: ignore[reportUnknownMemberType] - its keywords have no types
            id=f"rlsuite/{name}",
            entry_point=f"{module}:{name.partition('-')[0]}Env",
            max_episode_steps=limit,
        )


_register()
