"""Choosing an approximator: cross-validation, paired tests, and diagnostics."""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if TYPE_CHECKING:
    from rlsuite.approximation.selection.choice import Choice as Choice
    from rlsuite.approximation.selection.choice import choose_approximator as choose_approximator
    from rlsuite.approximation.selection.cross_validation import Validation as Validation
    from rlsuite.approximation.selection.cross_validation import cross_validate as cross_validate
    from rlsuite.approximation.selection.diagnostics import DoubleSampled as DoubleSampled
    from rlsuite.approximation.selection.diagnostics import Growth as Growth
    from rlsuite.approximation.selection.diagnostics import control_errors as control_errors
    from rlsuite.approximation.selection.diagnostics import double_sampled_error as double_sampled_error
    from rlsuite.approximation.selection.diagnostics import evaluation_errors as evaluation_errors
    from rlsuite.approximation.selection.diagnostics import growth as growth
    from rlsuite.approximation.selection.diagnostics import return_errors as return_errors
    from rlsuite.approximation.selection.paired_tests import PairedTest as PairedTest
    from rlsuite.approximation.selection.paired_tests import five_by_two_f as five_by_two_f
    from rlsuite.approximation.selection.paired_tests import five_by_two_t as five_by_two_t
    from rlsuite.approximation.selection.paired_tests import holm as holm
    from rlsuite.approximation.selection.paired_tests import mcnemar as mcnemar
    from rlsuite.approximation.selection.paired_tests import paired_t as paired_t
    from rlsuite.approximation.selection.paired_tests import sign_test as sign_test
    from rlsuite.approximation.selection.paired_tests import wilcoxon as wilcoxon
else:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
