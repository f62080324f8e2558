"""Online planners compute the bounds at their leaves in a time of their own, whatever the deadline of a decision is."""

import subprocess
import sys

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import POMDP
from rlsuite.planning import aems2, pomcp

FIRST_AND_SECOND = """
import sys
from rlsuite.planning import solve
from rlsuite_envs.rock_sample import rock_sample

rocks = rock_sample(n=5, k=5)[0]
for _ in range(2):
    plan = solve(rocks, sys.argv[1], deadline=1e-3)
    print(round(plan.upper_bound, 6), round(plan.lower_bound, 6))
"""


def tiger() -> POMDP:
    listen, door = np.eye(2), np.full((2, 2), 0.5)
    return POMDP.from_arrays(
        [listen, door, door], [[-1, -1], [-100, 10], [10, -100]], [[[0.85, 0.15], [0.15, 0.85]], door, door],
        order="ass", gamma=0.95, start=[0.5, 0.5],
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pomcp", "aems2"])
def test_the_first_plan_of_a_process_is_as_good_as_the_second(method):
    """Loading what was compiled takes longer than the deadline; so do the bounds."""
    run = subprocess.run(
        [sys.executable, "-c", FIRST_AND_SECOND, method], capture_output=True, text=True, check=True, timeout=300
    )
    first, second = run.stdout.splitlines()
    assert first == second


@pytest.mark.parametrize("planner", [pomcp, aems2])
def test_what_was_not_finished_is_said_and_holds(planner):
    few = {"simulations": 10} if planner is pomcp else {"max_iterations": 10}
    with pytest.warns(ConvergenceWarning, match=r"could not finish the bounds.*preparation=1e-06 seconds"):
        plan = planner(tiger(), deadline=0.1, preparation=1e-6, **few)
    assert plan.lower_bound <= 19.3713683559 <= plan.upper_bound
    whole = planner(tiger(), **few)
    assert whole.lower_bound <= 19.3713683559 <= whole.upper_bound <= 88.0
    with pytest.raises(ParameterError, match="preparation=0 is not a positive number"):
        planner(tiger(), preparation=0, **few)


def test_with_a_horizon_nothing_is_to_be_prepared():
    assert pomcp(tiger(), horizon=3, simulations=10).horizon == 3
    with pytest.raises(ParameterError, match="preparation=3 is for plans without a horizon"):
        pomcp(tiger(), horizon=3, simulations=10, preparation=3)
