"""Every parameter of every agent is checked by the constructor, and named."""

import dataclasses
import math

import pytest

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.registry import agent_classes

PARAMETERS = {
    name: [field.name for field in dataclasses.fields(kind) if field.init]
    for name, kind in sorted(agent_classes().items())
    if getattr(rl, name, None) is kind
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_nonsense_is_refused_by_name(name):
    for parameter in PARAMETERS[name]:
        for nonsense in (math.nan, "x", "", object(), [1, [2, 3]], [math.nan], {"a": 1}, True):
            if parameter == "policy_to_follow" and isinstance(nonsense, dict):
                continue  # observation -> action; which there are is known once there is an environment
            with pytest.raises(ParameterError, match=parameter):
                agent_classes()[name](**{parameter: nonsense})


@pytest.mark.parametrize("actions", [{"a": 1}, {0: 7}, {0: 1}, {}])
def test_a_mapping_that_does_not_fit_the_environment_is_refused(actions):
    with pytest.raises(ParameterError, match=r"policy\[\d+\] is \[.*\], which is not a probability distribution"):
        rl.TD(policy_to_follow=actions).learn("FrozenLake-v1", steps=50, seed=1)


@pytest.mark.parametrize("name", PARAMETERS)
def test_rates_and_probabilities_are_finite(name):
    """Infinity is refused too, except as a tolerance, where it asks for nothing."""
    for parameter in PARAMETERS[name]:
        if parameter == "tol":
            assert agent_classes()[name](tol=math.inf).tol == math.inf
        else:
            with pytest.raises(ParameterError, match=parameter):
                agent_classes()[name](**{parameter: math.inf})


@pytest.mark.parametrize("name", ["learning_rate", "gamma", "exploration"])
def test_a_change_that_would_have_no_effect_is_refused(name):
    agent = rl.QLearning()
    setattr(agent, name, getattr(rl.QLearning(), name))  # before there is a memory
    agent.learn("FrozenLake-v1", steps=10, seed=1)
    with pytest.raises(
        ParameterError, match=rf"^{name}= cannot be changed once this QLearning has begun to learn; make"
    ):
        setattr(agent, name, getattr(rl.QLearning(), name))
