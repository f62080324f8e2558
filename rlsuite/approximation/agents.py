"""All agents with features: importing this module defines them."""

from rlsuite.approximation.linear.emphatic_td import EmphaticTD
from rlsuite.approximation.linear.expected_sarsa import SemiGradientExpectedSarsa
from rlsuite.approximation.linear.gradient_td import GTD2, TDC
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.approximation.linear.monte_carlo import GradientMonteCarlo
from rlsuite.approximation.linear.monte_carlo_control import GradientMonteCarloControl
from rlsuite.approximation.linear.n_step_sarsa import SemiGradientNStepSarsa
from rlsuite.approximation.linear.n_step_td import SemiGradientNStepTD
from rlsuite.approximation.linear.predictor import LinearPredictor
from rlsuite.approximation.linear.q_lambda import SemiGradientQLambda
from rlsuite.approximation.linear.q_learning import SemiGradientQLearning
from rlsuite.approximation.linear.sarsa import SemiGradientSarsa
from rlsuite.approximation.linear.sarsa_lambda import SemiGradientSarsaLambda
from rlsuite.approximation.linear.td import SemiGradientTD
from rlsuite.approximation.linear.td_lambda import SemiGradientTDLambda, TrueOnlineLinearTDLambda
from rlsuite.approximation.linear.true_online_sarsa import TrueOnlineLinearSarsaLambda
from rlsuite.approximation.policies.linear_actor_critic import LinearActorCritic
from rlsuite.approximation.policies.natural_actor_critic import NaturalActorCritic
from rlsuite.approximation.policies.reinforce import Reinforce, ReinforceWithBaseline

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
