"""Policies that are learned directly: by gradients, by search, and from examples with a classifier."""

from rlsuite.approximation.policies.classification_iteration import ClassificationIteration
from rlsuite.approximation.policies.cloning import ClassifierPolicy
from rlsuite.approximation.policies.linear_policy import LinearPolicy, ParametricPolicy
from rlsuite.approximation.policies.search import (
    CrossEntropyMethod,
    PerturbationGradient,
    PerturbationSearch,
    PolicySearch,
)

__all__ = [
    "ClassificationIteration",
    "ClassifierPolicy",
    "CrossEntropyMethod",
    "LinearPolicy",
    "ParametricPolicy",
    "PerturbationGradient",
    "PerturbationSearch",
    "PolicySearch",
]
