"""The problems of the conformance checks have values that can be computed by hand."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.testing.problems import arms, corridor, environments, gamble, ring


def test_values_in_closed_form():
    # the last step earns 10, each of those before it costs 1
    assert rl.solve(corridor()).value == pytest.approx([-1 - 0.9 - 0.81 + 7.29, -1 - 0.9 + 8.1, -1 + 9.0, 10.0, 0.0])
    assert rl.solve(arms()).value.tolist() == [1.0]  # the best arm; that of 9.0 cannot be pulled


def test_all_but_one_have_an_action_that_does_not_exist():
    for model in (corridor(), gamble(), ring(), arms()):
        assert not model.legal.all()
        assert np.isfinite(rl.solve(model).value).all()
    assert set(environments()) == {"corridor", "gamble", "ring", "arms"}
