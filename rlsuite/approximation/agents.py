"""All agents with features: importing this module defines them."""

from rlsuite.approximation.linear.sarsa import SemiGradientSarsa

__all__ = ["SemiGradientSarsa"]
