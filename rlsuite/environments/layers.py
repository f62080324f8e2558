"""The layers of an environment that may decide what an agent is shown: the environment itself and some wrappers.

An environment is asked for its table through all wrappers that may change an observation, a reward, a mask or the end
of an episode. What they keep in attributes may belong to the state, as the time of `TimeAwareObservation` does. Those
that only count and check (`rlsuite.environments.facts.TRANSPARENT`, `RecordEpisodeStatistics`) are left out: the loops
count the steps of an episode themselves.
"""

from collections.abc import Iterator, MutableMapping
from typing import Any, NoReturn

import gymnasium
from gymnasium.wrappers import RecordEpisodeStatistics, TimeAwareObservation, TimeLimit

from rlsuite.core.aliases import Env
from rlsuite.environments.child_process import CannotBeFollowed, Signal
from rlsuite.environments.facts import NO_LIMIT, TRANSPARENT, EnvironmentFacts

_COUNT_ONLY = (*TRANSPARENT, RecordEpisodeStatistics)
_ONLY_COMPUTE = (gymnasium.ObservationWrapper, gymnasium.RewardWrapper, gymnasium.ActionWrapper)
"""Of Gymnasium's own wrappers, those that can be stepped on a copy: they open no window and write no video."""


class _NotKnown:
    """Whether a time limit ends the episode: a wrapper may pass it on, and not look at it."""

    __slots__ = ()

    def _read(self, *_: object) -> NoReturn:
        raise Signal(
            CannotBeFollowed(
                "one of its wrappers looks at whether TimeLimit has ended the episode; put TimeLimit around it"
            )
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._read()

    __bool__ = __eq__ = __ne__ = __lt__ = __gt__ = __int__ = __float__ = __index__ = __hash__ = __str__ = _read
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __neg__ = __repr__ = __reduce__ = _read
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __array__ = _read


class Passage(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Stands where `TimeLimit` does inside other wrappers: whether it ends the episode is not known.

    Attributes
    ----------
    steps, resets : int
        How often it has been called.
    """

    NOT_KNOWN = _NotKnown()

    def __init__(self, env: Env):
        super().__init__(env)
        self.steps = self.resets = 0

    def step(self, action: Any) -> Any:
        """Pass an action on."""
        self.steps += 1
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, bool(truncated) or self.NOT_KNOWN, info

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Pass a reset on."""
        self.resets += 1
        return self.env.reset(seed=seed, options=options)


def truncates(flag: object) -> bool:
    """Whether an environment that may have a `Passage` truncates the episode by itself."""
    return flag is not Passage.NOT_KNOWN and bool(flag)


def layers_of(env: Env) -> list[Any]:
    """The environment without its wrappers, and then those wrappers that may change something, innermost first."""
    return [env.unwrapped, *reversed([layer for layer in _wrappers_of(env) if not _counts_only(layer)])]


def _wrappers_of(env: Env) -> Iterator[Any]:
    layer: Any = env
    while layer is not env.unwrapped:
        yield layer
        layer = layer.env


def _counts_only(layer: object) -> bool:
    return type(layer) in _COUNT_ONLY or type(layer) is Passage


def without_counting(env: Env, *, limits: bool) -> Env:
    """Take the wrappers that only count off an environment, which must be a copy.

    Parameters
    ----------
    env : gymnasium.Env
        The copy.
    limits : bool
        Whether a `TimeLimit` stays where there are other wrappers; otherwise a `Passage` is put inside of those.
    """
    inner: Env = env.unwrapped
    deciding = len(layers_of(env)) - 1  # of those that are not placed yet
    limits = limits and deciding > 0
    for layer in reversed(list(_wrappers_of(env))):
        if not _counts_only(layer):
            deciding -= 1
        elif type(layer) is not TimeLimit or not (deciding or limits):
            continue
        if type(layer) is TimeLimit and not limits:
            inner = Passage(inner)
        else:
            layer.env = inner
            inner = layer
    return inner


def passages_of(env: Env) -> list[Passage]:
    """The positions inside other wrappers where a `TimeLimit` was."""
    return [layer for layer in _wrappers_of(env) if isinstance(layer, Passage)]


def horizon_of(facts: EnvironmentFacts) -> int:
    """Steps after which no state is met any more: where a wrapper shows the time, its time limit."""
    shown = any(isinstance(layer, TimeAwareObservation) for layer in facts.wrappers)
    return facts.time_limit if shown else NO_LIMIT


def why_not_copied(facts: EnvironmentFacts) -> str:
    """Why an environment cannot be stepped through its wrappers on a copy, in words; empty if it can."""
    kinds: list[type] = list(map(type, layers_of(facts.env)[1:]))
    for kind in kinds:
        if kind.__module__.partition(".")[0] == "gymnasium" and not issubclass(kind, _ONLY_COMPUTE):
            return f"it is wrapped in {kind.__name__}, which is not known to do nothing but compute"
    return ""


class LayeredAttributes(MutableMapping[str, Any]):
    """The attributes of all layers: ``name`` is one of the environment's, ``Class.name`` one of a wrapper's."""

    def __init__(self, layers: list[Any]):
        self._of: dict[str, dict[str, Any]] = {}
        for depth, layer in enumerate(layers):
            self._of[prefix_of(layers, depth)] = object.__getattribute__(layer, "__dict__")

    def _owner_of(self, name: str) -> tuple[dict[str, Any], str]:
        prefix, dot, rest = name.partition(".")
        return (self._of[prefix + dot], rest) if dot and prefix + dot in self._of else (self._of[""], name)

    def __getitem__(self, name: str) -> Any:
        attributes, own = self._owner_of(name)
        return attributes[own]

    def __setitem__(self, name: str, value: object) -> None:
        attributes, own = self._owner_of(name)
        attributes[own] = value

    def __delitem__(self, name: str) -> None:
        attributes, own = self._owner_of(name)
        del attributes[own]

    def __iter__(self) -> Iterator[str]:
        for prefix, attributes in self._of.items():
            yield from (prefix + name for name in attributes if not prefix or name != "env")

    def __len__(self) -> int:
        return sum(1 for _ in self)


def prefix_of(layers: list[Any], depth: int) -> str:
    """What stands before the names of a layer's attributes."""
    if not depth:
        return ""
    name = type(layers[depth]).__name__
    before = sum(type(layer).__name__ == name for layer in layers[1:depth])
    return f"{name} {before + 1}." if before else f"{name}."


def attributes_of(env: Env) -> MutableMapping[str, Any]:
    """The attributes of all layers of an environment."""
    layers = layers_of(env)
    return LayeredAttributes(layers) if len(layers) > 1 else object.__getattribute__(layers[0], "__dict__")
