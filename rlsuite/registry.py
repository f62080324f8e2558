"""All agents and their parts by name: those of rlsuite, and yours once they are imported."""

from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any

from rlsuite.agents.agent import Agent
from rlsuite.agents.storage import defined_agents, read_agent
from rlsuite.core import described
from rlsuite.core.described import UnknownClass, build
from rlsuite.core.named_estimators import Find, imported_class, named_class


def agent_classes() -> dict[str, type[Agent]]:
    """All agents by class name: those of rlsuite, and yours once they are imported.

    >>> "Sarsa" in agent_classes()
    True
    """
    _import_all()
    return defined_agents()


def choices(key: str) -> tuple[str, dict[str, type]]:
    """The name of the kind of a parameter's value, and all classes that it may have.

    >>> what, classes = choices("features")
    >>> what, "TileCoding" in classes
    ('features', True)
    """
    if key == "features":
        _import_all()
    return described.choices(key)


def build_agent(plain: Mapping[str, Any], find: Find = named_class) -> Agent:
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
        return build("agent", agent_classes(), plain, find)


def load(path: str | PathLike[str]) -> Agent:
    """Read an agent that was written by its ``save``.

    Without a seed, `learn` continues the saved run, as if it had never stopped; with one, a new run begins
    with what was learned.

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
    return read_agent(path, partial(build_agent, find=imported_class))


def _import_all() -> None:
    """Define the agents with features and all feature maps, which needs scikit-learn; PyTorch is not loaded."""
    from rlsuite.approximation import agents, deep

    assert agents.__all__
    assert deep.DQN
