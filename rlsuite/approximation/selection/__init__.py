"""Choosing an approximator: cross-validation, paired tests, and diagnostics."""

from rlsuite.approximation.selection.choice import Choice, choose_approximator
from rlsuite.approximation.selection.cross_validation import Validation, cross_validate
from rlsuite.approximation.selection.five_by_two import five_by_two_f, five_by_two_t
from rlsuite.approximation.selection.growth import Growth, growth
from rlsuite.approximation.selection.held_out import (
    DoubleSampled,
    control_errors,
    double_sampled_error,
    evaluation_errors,
    return_errors,
)
from rlsuite.approximation.selection.paired_tests import holm, mcnemar, paired_t, sign_test, wilcoxon
from rlsuite.approximation.selection.pairs import PairedTest

__all__ = [
    "Choice",
    "DoubleSampled",
    "Growth",
    "PairedTest",
    "Validation",
    "choose_approximator",
    "control_errors",
    "cross_validate",
    "double_sampled_error",
    "evaluation_errors",
    "five_by_two_f",
    "five_by_two_t",
    "growth",
    "holm",
    "mcnemar",
    "paired_t",
    "return_errors",
    "sign_test",
    "wilcoxon",
]
