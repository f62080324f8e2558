"""What an array may hold: ranges at their bounds, shapes that name sizes, and whole numbers without a range."""

import numpy as np
import pytest

from rlsuite.core.declared import Array, check_array


def test_a_range_holds_its_bounds_and_nothing_beyond():
    declared, sizes = Array(at_least=-1, below="n_states"), {"n_states": 3}
    check_array("next", np.array([-1, 0, 2]), declared, sizes)
    with pytest.raises(ValueError, match="next holds -2, less than -1"):
        check_array("next", np.array([-2]), declared, sizes)
    with pytest.raises(ValueError, match="next holds 3, not below 3"):
        check_array("next", np.array([3]), declared, sizes)


def test_a_size_is_what_the_first_shape_says():
    sizes = {}
    check_array("weights", np.zeros((2, 4)), Array(shape=("d", "n")), sizes)
    assert sizes == {"d": 2, "n": 4}
    with pytest.raises(ValueError, match=r"bias has shape \(3,\), not \(4,\)"):
        check_array("bias", np.zeros(3), Array(shape=("n",)), sizes)


def test_indices_without_a_range_and_numbers_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match=r"below= or at_most= if they are indices"):
        check_array("heap", np.array([1]), None, {})
    with pytest.raises(ValueError, match="value is not finite"):
        check_array("value", np.array([np.inf]), None, {})
    check_array("hopes", np.array([np.inf]), Array(finite=False), {})
