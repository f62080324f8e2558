"""Policies that are learned directly: by gradients, by search, and from examples with a classifier."""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if TYPE_CHECKING:
    from rlsuite.approximation.policies.classification_iteration import (
        ClassificationIteration as ClassificationIteration,
    )
    from rlsuite.approximation.policies.cloning import ClassifierPolicy as ClassifierPolicy
    from rlsuite.approximation.policies.linear_policy import LinearPolicy as LinearPolicy
    from rlsuite.approximation.policies.linear_policy import ParametricPolicy as ParametricPolicy
    from rlsuite.approximation.policies.policy_search import CrossEntropyMethod as CrossEntropyMethod
    from rlsuite.approximation.policies.policy_search import PerturbationGradient as PerturbationGradient
    from rlsuite.approximation.policies.policy_search import PerturbationSearch as PerturbationSearch
    from rlsuite.approximation.policies.policy_search import PolicySearch as PolicySearch
else:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
