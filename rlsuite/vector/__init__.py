"""Many copies of a model, stepped at once in NumPy."""

from rlsuite.vector.env import TabularVectorEnv

__all__ = ["TabularVectorEnv"]
