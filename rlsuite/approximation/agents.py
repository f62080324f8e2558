"""All agents with features: importing this module defines them."""

from rlsuite.agents.control.actor_critic import NaturalActorCritic
from rlsuite.agents.control.reinforce import Reinforce, ReinforceWithBaseline
from rlsuite.approximation.linear.gradient_td import GTD2, TDC, EmphaticTD
from rlsuite.approximation.linear.linear_agent import (
    GradientMonteCarlo,
    GradientMonteCarloControl,
    LinearAgent,
    LinearPredictor,
    SemiGradientExpectedSarsa,
    SemiGradientNStepSarsa,
    SemiGradientNStepTD,
    SemiGradientQLambda,
    SemiGradientQLearning,
    SemiGradientSarsa,
    SemiGradientSarsaLambda,
    SemiGradientTD,
    SemiGradientTDLambda,
    TrueOnlineLinearSarsaLambda,
    TrueOnlineLinearTDLambda,
)
from rlsuite.approximation.policies.linear_policy import LinearActorCritic

__all__ = [
    "GTD2",
    "TDC",
    "EmphaticTD",
    "GradientMonteCarlo",
    "GradientMonteCarloControl",
    "LinearActorCritic",
    "LinearAgent",
    "LinearPredictor",
    "NaturalActorCritic",
    "Reinforce",
    "ReinforceWithBaseline",
    "SemiGradientExpectedSarsa",
    "SemiGradientNStepSarsa",
    "SemiGradientNStepTD",
    "SemiGradientQLambda",
    "SemiGradientQLearning",
    "SemiGradientSarsa",
    "SemiGradientSarsaLambda",
    "SemiGradientTD",
    "SemiGradientTDLambda",
    "TrueOnlineLinearSarsaLambda",
    "TrueOnlineLinearTDLambda",
]
