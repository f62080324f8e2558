"""Objects that can be written as plain data: agents, and their parts."""

from typing import ClassVar, TypeVar

from rlsuite.core.keywords import SaysWhatToWrite

Kind = TypeVar("Kind")


class Described(SaysWhatToWrite):
    """Base of the dataclasses that `rlsuite.agents.description` turns into plain data and back.

    A direct subclass is a family. Its `described_as` is the parameter under which agents hold a member of it, and the
    word for it in messages.
    """

    described_as: ClassVar[str]


def kinds(base: type[Kind]) -> dict[str, type[Kind]]:
    """All classes that derive from ``base``, however indirectly, by name.

    >>> from rlsuite.exploration import Exploration
    >>> sorted(kinds(Exploration))
    ['CountBonus', 'EpsilonGreedy', 'MaxBoltzmann', 'RandomActions', 'Softmax', 'UpperConfidence']
    """
    found: dict[str, type[Kind]] = {}
    for kind in base.__subclasses__():
        found |= {kind.__name__: kind, **kinds(kind)}
    return found
