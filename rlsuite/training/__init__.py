"""Learning runs: the compiled and the stepwise loop, what they record, and how a frozen policy is evaluated."""

from rlsuite.training.results import Record, Results
from rlsuite.training.train import train

__all__ = ["Record", "Results", "train"]
