"""Many copies of a model, stepped at once in NumPy."""

from rlsuite.environments.vector.env import TabularVectorEnv

__all__ = ["TabularVectorEnv"]
