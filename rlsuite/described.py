"""What can be written down as plain data: agents, and the parts that they are made of."""

from typing import ClassVar


class Described:
    """Base of the dataclasses that `rlsuite.agents.description` turns into plain data and back.

    A direct subclass is a family. Its `described_as` is the parameter under which agents hold a member of it, and the
    word for it in messages.
    """

    described_as: ClassVar[str]
