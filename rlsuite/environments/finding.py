"""From a specification to an environment: an id, ``module:Id``, ``file.py:Class``, or an instance."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from rlsuite.core.checks import whole_amount
from rlsuite.core.interrupts import uninterrupted
from rlsuite.core.modules import module_of, parts_of
from rlsuite.errors import (
    CloseWarning,
    EnvironmentNotFound,
    FileError,
    ParameterError,
    RlsuiteError,
    UnsuitableEnvironment,
    level_of_the_caller,
    unknown,
)

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from rlsuite.core.aliases import Env

PLUGIN_GROUP = "rlsuite.envs"
"""Entry-point group in which a package announces ``namespace = "package"``."""


_WRAPPED = {
    "observe": ("rlsuite.environments.observing", "observing"),
    "novelty": ("rlsuite.environments.novelty", "rewarding_novelty"),
}
"""Keywords of every environment that is made by name, and the function that wraps it, innermost first."""


def find_env(spec: str | EnvSpec | Env, **kwargs: object) -> Env:
    """Return the environment that `spec` names.

    Parameters
    ----------
    spec : str, gymnasium.envs.registration.EnvSpec or gymnasium.Env
        - ``"CliffWalking-v1"``: an id in Gymnasium's registry;
        - ``"package:ns/Name-v0"``: the module is imported first, so that it can register the id;
        - ``"folder/file.py:Class"``: the class is loaded from the file and called; no wrapper is applied but, with
          ``max_episode_steps=``, the time limit: otherwise an episode ends only if the class says so;
        - an `EnvSpec`, or an environment, which is returned as it is.
    **kwargs
        Passed to ``gymnasium.make``, or to the class. ``max_episode_steps=`` cuts episodes in both cases, and
        ``observe=`` ("cell", "belief", ...: `rlsuite.environments.observing`) says what is shown of the state, and
        ``novelty=0.5`` rewards steps to novel observations (`rlsuite.NoveltyBonus`).

    Returns
    -------
    gymnasium.Env

    Raises
    ------
    EnvironmentNotFound
        If nothing answers to `spec`; the message says what was tried and what is nearest.
    ParameterError
        If the environment exists but does not take the keywords.

    Examples
    --------
    >>> from rlsuite.environments.finding import find_env
    >>> find_env("FrozenLake-v1", is_slippery=False).unwrapped.P[0][2]
    [(1.0, 1, 0, False)]
    >>> find_env("FrozenLak-v1")
    Traceback (most recent call last):
        ...
    rlsuite.errors.EnvironmentNotFound: No environment 'FrozenLak-v1'. Did you mean 'FrozenLake-v1'?
    """
    with uninterrupted():
        import gymnasium

    if isinstance(spec, gymnasium.Env):
        if kwargs:
            raise ParameterError(
                f"{_keywords(kwargs)} cannot be given to an environment that is already made: give its id instead"
            )
        return _check_spaces(spec)
    build, creator = _maker_of(spec)
    shown = {name: kwargs.pop(name) for name in _WRAPPED if name in kwargs and name not in _parameters(creator())}
    made = _built(partial(build, **kwargs), creator, getattr(spec, "id", spec), kwargs)
    for keyword, given in shown.items():
        module_name, wrap = _WRAPPED[keyword]
        made = getattr(import_module(module_name), wrap)(made, given)
    return made


@contextmanager
def closed(env: Env) -> Generator[Env]:
    """Close an environment behind the block; whatever its `close` raises is a warning, as the work in it is done.

    Warns
    -----
    CloseWarning
        If its `close` raises an error, or ends the program.

    Examples
    --------
    >>> from rlsuite.environments.finding import closed
    >>> with closed(find_env("FrozenLake-v1")) as lake:
    ...     n_states = lake.observation_space.n
    """
    try:
        yield env
    finally:
        try:
            env.close()
        except (Exception, SystemExit) as error:
            from rlsuite.models.gymnasium_table import name_of

            said = f"{name_of(env)}: its close() raised {type(error).__name__}: {error}; what was done in it is kept"
            warnings.warn(said, CloseWarning, stacklevel=level_of_the_caller())


@contextmanager
def opened(spec: str | EnvSpec | Env, **kwargs: object) -> Generator[Env]:
    """Yield the environment that `find_env` returns, and close it behind the block if it was made here."""
    made = find_env(spec, **kwargs)
    with nullcontext(made) if made is spec else closed(made):
        yield made


def _maker_of(spec: str | EnvSpec) -> tuple[Callable[..., Env], Callable[[], object]]:
    """Return what makes the environment that `spec` names, with its wrappers, and what loads its class."""
    import gymnasium
    from gymnasium.envs.registration import EnvSpec

    if isinstance(spec, EnvSpec):
        return partial(gymnasium.make, spec), partial(_creator, spec)
    if not isinstance(cast("object", spec), str):
        raise ParameterError(_no_env(spec))
    source, name = parts_of(spec)
    try:
        module = module_of(source) if source else None
    except FileError as cause:
        raise EnvironmentNotFound(f"{spec!r}: {cause}") from cause.__cause__ or cause
    if module is not None and source.endswith(".py"):
        env_class = _class_in_file(spec, source, name, module)
        return partial(_limited, env_class), lambda: env_class
    env_id = _registered_id(spec, source, name)
    return partial(gymnasium.make, env_id), lambda: _creator(gymnasium.spec(env_id))


def _creator(spec: EnvSpec) -> object:
    from gymnasium.envs.registration import load_env_creator

    return load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point


def _limited(env_class: Callable[..., Env], **kwargs: Any) -> Env:
    """Make an environment of a class; what it does not take as ``max_episode_steps`` itself is a `TimeLimit`."""
    import gymnasium

    if "max_episode_steps" not in kwargs or "max_episode_steps" in _parameters(env_class):
        return env_class(**kwargs)
    limit = whole_amount("max_episode_steps", kwargs.pop("max_episode_steps"))
    return gymnasium.wrappers.TimeLimit(env_class(**kwargs), limit)


def _no_env(found: object) -> str:
    """Sentence about what was given instead of an environment."""
    import gymnasium

    if inspect.isclass(found) and issubclass(found, gymnasium.Env):
        return f"{found.__name__} is a class of environments: write {found.__name__}() to make one"
    if inspect.isroutine(found):
        return f"{found.__name__} is a function, not an environment: call it, and give what it returns"
    if _of_old_gym(type(found)):
        return f"{found!r} {OLD_GYM}"
    if callable(getattr(found, "learn", None)):
        return f"{type(found).__name__}(...) is an agent, not an environment: write agent.learn(env, ...)"
    if callable(getattr(found, "to_env", None)):
        return f"{found!r} is a model, not an environment: write {type(found).__name__.lower()}.to_env()"
    return f"{found!r} is not an environment: give an id, 'module:Id', 'file.py:Class' or an instance of gymnasium.Env"


OLD_GYM = (
    "is an environment of Gym, the predecessor of Gymnasium: write 'import gymnasium as gym' in its file, and return "
    "(observation, info) from reset, (observation, reward, terminated, truncated, info) from step; or use shimmy"
)


def _of_old_gym(kind: Any) -> bool:
    """Whether something is a class of environments that derives from Gym's."""
    return any(one.__module__.partition(".")[0] == "gym" for one in getattr(kind, "__mro__", ()))


def _check_spaces(env: Env) -> Env:
    """Return the environment, unless its author forgot one of the two spaces."""
    for name, given in (("observation_space", "observations"), ("action_space", "actions")):
        if getattr(env, name, None) is None:
            raise UnsuitableEnvironment(
                f"{type(env.unwrapped).__name__} has no {name}: write self.{name} = gymnasium.spaces.Discrete(n) in "
                f"its __init__, for n {given}"
            )
    return env


@cache
def packages() -> dict[str, str]:
    """Return the packages of environments that are installed: namespace -> package.

    Examples
    --------
    >>> from rlsuite.environments.finding import packages
    >>> packages()["rlsuite"]
    'rlsuite_envs'
    """
    return {point.name: point.value for point in entry_points(group=PLUGIN_GROUP)}


def namesake(env_id: str, *, anywhere: bool = False) -> str:
    """Return half a sentence about the environment of the same name in an installed package, which has a table.

    It is empty if there is none; packages that have not been imported are looked at only with ``anywhere``.
    """
    from gymnasium.envs.registration import registry

    if anywhere:
        for package in packages().values():
            with suppress(ImportError):  # what is missing is said where an environment of the package is asked for
                import_module(package)
    spec = registry.get(env_id)
    found = [one.id for one in registry.values() if spec and one.name == spec.name and one.namespace in packages()]
    return f"; {found[-1]} has one" if found and env_id not in found else ""


# ------------------------------------------------------------------------------------------------------ by id


def _registered_id(spec: str, source: str, name: str) -> str:
    """Return the id in `spec`, or raise `EnvironmentNotFound` if Gymnasium could not resolve it."""
    from gymnasium import error
    from gymnasium.envs.registration import parse_env_id, registry

    try:
        namespace, bare_name, version = parse_env_id(name)
    except error.Error as cause:
        raise EnvironmentNotFound(
            f"No environment {spec!r}: {name!r} is not of the form [namespace/]Name[-vN]"
        ) from cause
    versions = [one for one in registry.values() if (one.namespace, one.name) == (namespace, bare_name)]
    # Without a version Gymnasium takes the newest, and says so; that warning is left to it.
    if name in registry or (versions and version is None):
        return name
    known = f"No environment {spec!r}."
    package = packages().get(namespace or "")
    if package is not None and not any(one.namespace == namespace for one in registry.values()):
        raise EnvironmentNotFound(
            f"{known} It is in package {package}: add 'import {package}', or use '{package}:{name}'."
        )
    if versions:
        listed = ", ".join(sorted(repr(one.id) for one in versions))
        raise EnvironmentNotFound(f"{known} There is no version {version}, but there is {listed}.")
    if source and inspect.isclass(getattr(sys.modules[source], name, None)):
        raise EnvironmentNotFound(
            f"{known} {source} has a class {name}, but registers no such id; use 'file.py:{name}'."
        )
    near = get_close_matches(name, registry, n=1)
    hint = f"{source} registers it nowhere, or only with Gym." if source else "'package:Id' imports its package."
    raise EnvironmentNotFound(f"{known} {f'Did you mean {near[0]!r}?' if near else hint}")


# ---------------------------------------------------------------------------------------------------- by file


def _class_in_file(spec: str, source: str, name: str, module: ModuleType) -> Callable[..., Env]:
    import gymnasium

    found: dict[str, Any] = {
        key: value for key, value in vars(module).items() if inspect.isclass(value) and issubclass(value, gymnasium.Env)
    }
    if name in found:
        return found[name]
    classes = [key for key, value in found.items() if value.__module__ == module.__name__]
    listed = ", ".join(classes) or "none"
    if not name:
        raise EnvironmentNotFound(
            f"{spec!r} names no class: write '{source}:Class' (environments in the file: {listed})"
        )
    if name in vars(module):
        what = OLD_GYM if _of_old_gym(getattr(module, name)) else "is not a class derived from gymnasium.Env"
        raise EnvironmentNotFound(f"{spec!r}: {name} {what} (environments in the file: {listed})")
    raise EnvironmentNotFound(
        f"{spec!r}: {unknown('class', name, classes) if classes else 'the file has no environment class'}"
    )


# --------------------------------------------------------------------------------------------------- building


def _built(build: Callable[[], Env], creator: Callable[[], object], spec: object, kwargs: Mapping[str, Any]) -> Env:
    """Return ``build()``; errors inside are raised in terms of the specification."""
    from gymnasium import error

    try:
        return _check_spaces(build())
    except (RlsuiteError, Warning):
        raise
    except error.Error as cause:
        raise EnvironmentNotFound(f"{spec!r} exists, but cannot be made: {cause}") from cause
    except Exception as cause:  # whatever the environment raises as it is made
        misspelt = re.search(r"unexpected keyword argument '(\w+)'", str(cause))
        if isinstance(cause, TypeError) and misspelt and misspelt[1] in kwargs:
            raise ParameterError(f"{spec}: {unknown('keyword', misspelt[1], _parameters(creator()))}") from cause
        if isinstance(cause, TypeError) and (lacking := re.search(r"missing .* arguments?: (.*)", str(cause))):
            names = re.findall(r"'(\w+)'", lacking[1])
            if names and set(names) <= set(_parameters(creator())):
                words = ", ".join(f"{name}=..." for name in names)
                flags = " ".join(f"--env {name}=..." for name in names)
                raise ParameterError(
                    f"{spec} needs {' and '.join(names)}: write rl.find_env({spec!r}, {words}), on the command line "
                    f"{flags}; or give it a default in __init__"
                ) from cause
        if kwargs:
            raise ParameterError(
                f"{spec} does not accept {_keywords(kwargs)}: {type(cause).__name__}: {cause}"
            ) from cause
        raise


def _parameters(creator: object) -> list[str]:
    parameters = inspect.signature(cast("Callable[..., object]", creator)).parameters.values()
    return [one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]


def _keywords(kwargs: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in kwargs.items())
