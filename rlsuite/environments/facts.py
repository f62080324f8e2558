"""The facts about an environment that decide how agents learn in it: its wrappers, its table, its compiled dynamics.

`facts_of` looks at an environment once; a run passes on what it has found.
"""

import math
import warnings
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import (
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeAwareObservation,
    TimeLimit,
)

from rlsuite import errors
from rlsuite.core.aliases import BareEnv, Env
from rlsuite.environments.compiled_env import CompiledDynamics
from rlsuite.environments.observing import BeliefGridObservation
from rlsuite.environments.wrappers import BeliefObservation, VectorObservation
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import AnyArray
from rlsuite.models.gymnasium_table import name_of as name_of
from rlsuite.models.gymnasium_table import table_in

NO_LIMIT = np.iinfo(np.int64).max

GROUP = "rlsuite.dynamics"
"""Entry-point group in which a package announces the compiled dynamics of a class from another package:
``"package.module.Class" = "package:factory"``, with ``factory(unwrapped env) -> CompiledDynamics``."""

# These change nothing that an agent sees, except that TimeLimit truncates, which the compiled loop does too.
TRANSPARENT: tuple[type, ...] = (PassiveEnvChecker, OrderEnforcing, TimeLimit)

_SHOW_ONLY = (gymnasium.ObservationWrapper.step, TimeAwareObservation.step)
"""The `step` of wrappers that change nothing but what is observed."""

Wrapper: TypeAlias = gymnasium.Wrapper[Any, Any, Any, Any]


class EnvironmentFacts(NamedTuple):
    """An environment and what it says of itself; made by `facts_of`."""

    env: Env
    base: BareEnv
    """The environment without its wrappers; it may have any attributes."""
    name: str
    """Its id, or the name of its class."""
    wrappers: tuple[Wrapper, ...]
    """All wrappers, outermost first."""
    time_limits: tuple[Any, ...]
    """Those of type TimeLimit; the counter of steps is a private attribute of theirs."""
    time_limit: int
    """Steps after which an episode is truncated; `NO_LIMIT` if it never is."""
    model: object
    """Its attribute ``model``: its table, if that is an `MDP` or a `POMDP`."""
    comes_with_table: bool
    """Whether it has a model of ours or Gymnasium's ``P``, whatever its masks say."""
    masks_are_law: bool
    """Whether its class declares ``metadata["action_mask"] = "law"``: what the mask forbids cannot be done.

    Without it, a mask beside a full table only leaves out what would do nothing, as Taxi's. Where the legal actions
    depend on the state alone, an empty list ``P[s][a] = []`` says the same, and is learned at compiled speed.
    """
    vectors: AnyArray | None
    """The vectors (n_observations, d) that a `VectorObservation` shows; None without one."""
    dynamics: CompiledDynamics | None
    """Its compiled dynamics; None if it has a table."""

    @property
    def recorders(self) -> tuple[Any, ...]:
        """The wrappers that note returns and lengths of episodes, and change nothing."""
        return tuple(layer for layer in self.wrappers if type(layer) is RecordEpisodeStatistics)

    @property
    def belief(self) -> Wrapper | None:
        """The wrapper that shows beliefs, if no other one changes anything."""
        others = self.others()
        known = all(isinstance(layer, BeliefObservation | BeliefGridObservation) for layer in others)
        return others[0] if others and known else None

    @property
    def has_table(self) -> bool:
        """Whether it has a table that says which actions exist."""
        return self.comes_with_table and not self.masks_are_law

    def has_action_mask(self, info: Mapping[str, Any]) -> bool:
        """Whether ``info["action_mask"]`` says which actions exist.

        It does not where a table knows all of them in every state, unless the masks are law.

        Warns
        -----
        RlsuiteWarning
            If they are said elsewhere, where other libraries look: in a method ``action_masks``, or in the observation.
        """
        if "action_mask" not in info:
            method = any("action_masks" in dir(layer) for layer in (self.base, *self.wrappers))
            shown = "action_mask" in getattr(self.env.observation_space, "spaces", ())
            if (method or shown) and not self.comes_with_table:
                place = "its method action_masks()" if method else "the key 'action_mask' of its observations"
                warnings.warn(
                    f"{self.name} says in {place} which actions are legal, and nobody looks there: agents take "
                    "illegal ones. Put the masks into the info of reset and step, info['action_mask'] = ..., an int8 "
                    "array (n_actions,)",
                    errors.RlsuiteWarning,
                    stacklevel=errors.level_of_the_caller(),
                )
            return False
        if self.masks_are_law:
            return True
        if isinstance(self.model, MDP | POMDP):
            return not (self.model.mdp if isinstance(self.model, POMDP) else self.model).legal.all()
        return not self.comes_with_table

    def check_recorders(self) -> None:
        """Raise UntrustedTable if a `RecordEpisodeStatistics` cannot follow what happens."""
        for place, layer in enumerate(self.wrappers):
            if layer not in self.recorders:
                continue
            for outer in self.wrappers[:place]:
                kind: Any = type(outer)
                if outer in self.time_limits or not (kind in TRANSPARENT or kind.step in _SHOW_ONLY):
                    raise errors.UntrustedTable(
                        f"{self.name}: its RecordEpisodeStatistics is inside of {kind.__name__}, and does not see it "
                        f"end an episode or change a reward; wrap the environment in {kind.__name__} first, and in "
                        "RecordEpisodeStatistics then"
                    )

    def others(self, allowed: tuple[type, ...] = TRANSPARENT) -> list[Wrapper]:
        """The wrappers that may change what an agent observes or earns."""
        return [layer for layer in self.wrappers if type(layer) not in (*allowed, RecordEpisodeStatistics)]

    def check_wrappers(self, allowed: tuple[type, ...] = TRANSPARENT) -> None:
        """Raise UntrustedTable if a wrapper may change what an agent observes; or if it cannot follow what happens."""
        self.check_recorders()
        for layer in self.others(allowed):
            raise errors.UntrustedTable(
                f"{self.name} is wrapped in {type(layer).__name__}, which may change its dynamics or observations"
            )

    def only_transparent(self) -> bool:
        """Whether only known wrappers, unmodified, are between an agent and the environment's own step."""
        return all(type(layer) in TRANSPARENT and not replaced_methods(layer) for layer in self.wrappers)


def facts_of(env: Env) -> EnvironmentFacts:
    """Look at an environment.

    >>> import gymnasium
    >>> facts = facts_of(gymnasium.make("FrozenLake-v1"))
    >>> facts.name, facts.time_limit, facts.has_table
    ('FrozenLake-v1', 100, True)
    """
    base: BareEnv = env.unwrapped
    layers: list[Wrapper] = []
    layer: Any = env
    while layer is not base:
        layers.append(layer)
        layer = layer.env
    limits: tuple[Any, ...] = tuple(layer for layer in layers if type(layer) is TimeLimit)
    model: object = getattr(base, "model", None)
    table = isinstance(model, MDP | POMDP) or table_in(env) is not None
    law = base.metadata.get("action_mask") == "law"
    return EnvironmentFacts(
        env=env,
        base=base,
        name=name_of(env),
        wrappers=tuple(layers),
        time_limits=limits,
        time_limit=min((limit._max_episode_steps for limit in limits), default=NO_LIMIT),
        model=model,
        comes_with_table=table,
        masks_are_law=law,
        vectors=next((layer.vectors for layer in layers if type(layer) is VectorObservation), None),
        dynamics=None if table and not law else dynamics_of(env),
    )


def replaced_methods(layer: object) -> list[str]:
    """Which of `step` and `reset` an environment or a wrapper has as an attribute, instead of its class's."""
    return [method for method in ("step", "reset") if method in vars(layer)]


@cache
def announced() -> dict[str, EntryPoint]:
    """Classes whose compiled dynamics a package has announced, by their full names."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def dynamics_of(env: Env) -> CompiledDynamics | None:
    """Return the compiled dynamics of an environment: its attribute ``dynamics``, or what a package has announced.

    >>> import gymnasium
    >>> dynamics_of(gymnasium.make("Taxi-v4")) is None
    True
    """
    base = env.unwrapped
    own: object = getattr(base, "dynamics", None)
    if isinstance(own, CompiledDynamics):
        return own
    entry = announced().get(f"{type(base).__module__}.{type(base).__qualname__}")
    return None if entry is None else entry.load()(base)


def action_space_of(env: Env) -> spaces.Discrete:
    """Return the Discrete action space, or raise an error that says what to do."""
    space: Any = env.action_space
    if isinstance(env.action_space, spaces.Discrete):
        return space
    wrapper = "gymnasium.wrappers.TransformAction, with a function that takes an integer"
    if isinstance(env.action_space, spaces.Box):
        many = "3" if np.size(space.low) == 1 else "[...]"
        wrapper = f"rlsuite.DiscreteActions(env, {many}) offers a few of its actions"
    elif isinstance(env.action_space, spaces.MultiDiscrete) and space.nvec.ndim == 1 and not any(space.start):
        sizes: list[int] = space.nvec.tolist()
        wrapper = (
            f"gymnasium.wrappers.TransformAction(env, lambda a: numpy.array(numpy.unravel_index(a, {sizes})), "
            f"gymnasium.spaces.Discrete({math.prod(sizes)})) makes one action of each combination"
        )
    raise errors.UnsuitableEnvironment(
        f"agents of rlsuite need a Discrete action space, got {space}. Wrap the environment so that it has one "
        f"({wrapper})"
    )
