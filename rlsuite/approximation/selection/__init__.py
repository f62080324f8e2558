"""Choosing an approximator: cross-validation, paired tests, and diagnostics."""

from rlsuite.approximation.selection.choice import Choice, choose_approximator
from rlsuite.approximation.selection.cross_validation import Validation, cross_validate
from rlsuite.approximation.selection.diagnostics import (
    DoubleSampled,
    Growth,
    control_errors,
    double_sampled_error,
    evaluation_errors,
    growth,
    return_errors,
)
from rlsuite.approximation.selection.paired_tests import (
    PairedTest,
    five_by_two_f,
    five_by_two_t,
    holm,
    mcnemar,
    paired_t,
    sign_test,
    wilcoxon,
)

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
