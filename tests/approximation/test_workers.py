"""Results come in the order of the calls, whatever the number of processes."""

import pytest

from rlsuite.approximation.workers import Workers


@pytest.mark.parametrize("n", [1, 2])
def test_results_keep_the_order_of_the_calls(n):
    with Workers(n) as workers:
        assert workers.call(divmod, [(7, 2), (9, 4), (1, 3)]) == [(3, 1), (2, 1), (0, 1)]


def test_an_error_of_a_call_is_raised():
    with pytest.raises(ZeroDivisionError), Workers(1) as workers:
        workers.call(divmod, [(1, 0)])
