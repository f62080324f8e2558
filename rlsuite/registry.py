"""All agents and their parts by name: those of rlsuite, and yours once they are imported."""

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from os import PathLike
from typing import Any, cast

from rlsuite.agents.agent import Agent
from rlsuite.agents.learner import Learner
from rlsuite.agents.storage import defined_agents, read_agent
from rlsuite.core import described
from rlsuite.core.described import UnknownClass, build
from rlsuite.core.named_estimators import Find, imported_class, named_class
from rlsuite.core.npz import reading_npz
from rlsuite.planning.kept import is_solution, read_solution


def learner_classes() -> dict[str, type[Learner]]:
    """All agents by class name: those of rlsuite, and yours once they are imported.

    >>> classes = learner_classes()
    >>> "Sarsa" in classes, "FittedQ" in classes
    (True, True)
    """
    _import_all()
    return defined_agents()


def agent_classes() -> dict[str, type[Agent]]:
    """Those agents that learn step by step, by class name.

    >>> classes = agent_classes()
    >>> "Sarsa" in classes, "FittedQ" in classes
    (True, False)
    """
    return {name: kind for name, kind in learner_classes().items() if issubclass(kind, Agent)}


def choices(key: str) -> tuple[str, dict[str, type]]:
    """The name of the kind of a parameter's value, and all classes that it may have.

    >>> what, classes = choices("features")
    >>> what, "TileCoding" in classes
    ('features', True)
    """
    if key == "features":
        _import_all()
    return described.choices(key)


def build_agent(plain: Mapping[str, Any], find: Find = named_class) -> Any:
    """Make an agent from plain data.

    Parameters
    ----------
    plain : mapping
        The class under ``name``, parameters beside it.
    find : callable
        From ``module:Class`` or ``file.py:Class`` of an estimator to the class; by default it is imported.

    Raises
    ------
    ParameterError
        If a name (`UnknownClass`) or a parameter is unknown, with the nearest choice, or a value is outside its range.
    FileError
        If there is no such module or file to import.

    Examples
    --------
    >>> build_agent({"name": "QLearning", "gamma": 0.9, "exploration": {"name": "Softmax", "base": 2.0}}).exploration
    Softmax(temperature=None, base=2.0)
    """
    try:
        return build("agent", defined_agents(), plain, find)
    except UnknownClass:
        return build("agent", learner_classes(), plain, find)


def load(path: str | PathLike[str]) -> Any:
    """Read an agent or a solution that was written by its ``save``.

    Without a seed, `learn` goes on with the run that was saved, as if it had never stopped; with one, a new run begins
    with what was learned. Methods that learn from a batch learn again from the transitions that their file keeps.

    Raises
    ------
    FileError
        If the file is missing, damaged, written by something else, or of an agent whose class is not imported; or if an
        array holds what its class does not allow (see `rlsuite.Array`). No file can run code, or reach beyond an array.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rl.Sarsa().learn("FrozenLake-v1", steps=100, seed=1).save(f"{folder}/sarsa.npz")
    ...     rl.load(f"{folder}/sarsa.npz").q_.shape
    (16, 4)
    """
    with reading_npz(path, "an agent or a solution") as arrays:
        header = arrays.take_json("header")
    if is_solution(header):
        return read_solution(path)
    words = str(header.get("format")).split(" ")
    kind = learner_classes().get(words[1]) if len(words) == 3 and words[1] != "agent" else None
    if kind is not None and hasattr(kind, "load"):  # of a network
        return cast(Any, kind).load(path)
    return read_agent(path, partial(build_agent, find=imported_class))


def _import_all() -> None:
    """Define all agents, planners and feature maps, which needs scikit-learn; PyTorch is not loaded."""
    for package in ("agents", "batch", "policies", "deep"):
        module = import_module(f"rlsuite.approximation.{package}")
        for name in module.__all__:  # some are loaded on first use
            getattr(module, name)
    import_module("rlsuite.agents.planners").define_all()
