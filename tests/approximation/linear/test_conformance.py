"""Linear agents keep what all agents promise."""

import pytest

import rlsuite as rl
from rlsuite.approximation import SemiGradientSarsa
from rlsuite.testing import agent_checks


@pytest.mark.cases("(?!both_loops).*")
@pytest.mark.parametrize("check", agent_checks().values(), ids=agent_checks().keys())
def test_the_promises_of_agents(check):
    check(SemiGradientSarsa(exploration=rl.EpsilonGreedy(0.2)))
