"""Agents that do not learn step by step pass the kit, too; those that break a promise are found out."""

import dataclasses

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.agents.planners import Planner
from rlsuite.approximation import (
    LSPI,
    LSTD,
    ClassificationIteration,
    ClassifierPolicy,
    CrossEntropyMethod,
    FittedQ,
    FittedValueIteration,
    PerturbationSearch,
)
from rlsuite.errors import ConformanceError, NotLearned
from rlsuite.features import OneHot
from rlsuite.testing import check_agent
from rlsuite.testing.learners import learner_checks

AGENTS = {
    "FittedQ": FittedQ(gamma=0.9, iterations=5),
    "FittedValueIteration": FittedValueIteration(gamma=0.9, iterations=5),
    "LSPI": LSPI(OneHot(), gamma=0.9, ridge=1e-6),
    "LSTD": LSTD(OneHot(), gamma=0.9, ridge=1e-6),
    "ClassifierPolicy": ClassifierPolicy(gamma=0.9),
    "CrossEntropyMethod": CrossEntropyMethod(candidates=5),
    "PerturbationSearch": PerturbationSearch(candidates=5),
    "ClassificationIteration": ClassificationIteration(states=20, rollouts=4, horizon=10),
    "Planner": Planner(gamma=0.9),
}


@pytest.mark.cases("FittedQ|LSTD|Planner")
@pytest.mark.parametrize("name", AGENTS)
def test_agents_of_ours_conform(name):
    check_agent(AGENTS[name])


def test_broken_promises_are_found():
    class Forgetful(Planner):
        def save(self, path):
            super().save(path)
            self._solution = dataclasses.replace(self._solution, value=self._solution.value + 1.0)

    class Careless(Planner):
        def __post_init__(self):
            gamma, self.gamma = self.gamma, 0.9
            super().__post_init__()
            self.gamma = gamma

    class Lawless(Planner):
        def act(self, observation, action_mask=None):
            return 0

    class Silent(Planner):
        def learn(self, env, **options):
            raise NotLearned("it does not want to")

    for kind, what in (
        (Forgetful, "Forgetful: the loaded agent differs from the saved one, in value of the file"),
        (Careless, "Careless: it accepts gamma=1.5; a parameter outside its range has to raise a ParameterError"),
        (Lawless, r"Lawless: act\(0\) is 0, and the legal actions are \[1\]"),
        (Silent, "Silent cannot learn the problem 'corridor', five cells in a row: it does not want to"),
    ):
        broken = dataclasses.dataclass(eq=False, kw_only=True)(kind)(gamma=0.9)
        with pytest.raises(ConformanceError, match=what):
            check_agent(broken)
    assert np.all([name in learner_checks() for name in ("many_seeds_are_many_runs", "actions_are_legal")])
    assert rl.testing.check_agent is check_agent
