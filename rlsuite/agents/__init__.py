"""Agents, which learn from experience how to act. One module per family of algorithms."""

from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.agent import Agent
from rlsuite.agents.bandits.drifting import DiscountedUCB, SlidingWindowUCB
from rlsuite.agents.bandits.elimination import ExploreThenCommit, SuccessiveElimination
from rlsuite.agents.bandits.exp3 import EXP3
from rlsuite.agents.bandits.gradient import GradientBandit
from rlsuite.agents.bandits.kl_ucb import KLUCB, KLUCBNormal
from rlsuite.agents.bandits.lin_ucb import LinUCB
from rlsuite.agents.bandits.linear_thompson import LinearThompson
from rlsuite.agents.bandits.sample_average import SampleAverage
from rlsuite.agents.bandits.thompson import ThompsonBernoulli, ThompsonNormal
from rlsuite.agents.bandits.thompson_normal_gamma import ThompsonNormalGamma
from rlsuite.agents.bandits.upper_confidence import MOSS, UCB1, UCBV
from rlsuite.agents.control.actor_critic import ActorCritic
from rlsuite.agents.control.actor_critic_lambda import ActorCriticLambda
from rlsuite.agents.control.average_reward import DifferentialSarsa, RLearning
from rlsuite.agents.control.delayed_q_learning import DelayedQLearning
from rlsuite.agents.control.double_q_learning import DoubleExpectedSarsa, DoubleQLearning
from rlsuite.agents.control.expected_sarsa import ExpectedSarsa
from rlsuite.agents.control.expected_sarsa_lambda import ExpectedSarsaLambda
from rlsuite.agents.control.monte_carlo import MonteCarloControl, MonteCarloExploringStarts
from rlsuite.agents.control.n_step import NStepExpectedSarsa, NStepSarsa
from rlsuite.agents.control.off_policy_monte_carlo import OffPolicyMonteCarlo
from rlsuite.agents.control.q_lambda import NaiveQLambda, PengQLambda, WatkinsQLambda
from rlsuite.agents.control.q_learning import DeterministicQLearning, QLearning
from rlsuite.agents.control.q_sigma import NStepQSigma
from rlsuite.agents.control.sarsa import Sarsa
from rlsuite.agents.control.sarsa_lambda import SarsaLambda
from rlsuite.agents.control.speedy_q_learning import SpeedyQLearning
from rlsuite.agents.control.tree_backup import NStepTreeBackup
from rlsuite.agents.control.true_online_sarsa import TrueOnlineSarsaLambda
from rlsuite.agents.memory import ActionValues, count, end_step, locate, locate_next, step_size, update, value
from rlsuite.agents.model_based.dyna import DynaQ, DynaQPlus
from rlsuite.agents.model_based.posterior_sampling import PosteriorSampling
from rlsuite.agents.model_based.prioritized_sweeping import PrioritizedSweeping
from rlsuite.agents.model_based.r_max import RMax
from rlsuite.agents.model_based.ucrl2 import UCRL2
from rlsuite.agents.prediction.batch import BatchMonteCarlo, BatchTD
from rlsuite.agents.prediction.lambda_return import OfflineLambdaReturn
from rlsuite.agents.prediction.monte_carlo import EveryVisitMonteCarlo, FirstVisitMonteCarlo
from rlsuite.agents.prediction.n_step import NStepTD
from rlsuite.agents.prediction.td import TD
from rlsuite.agents.prediction.td_lambda import TDLambda, TrueOnlineTDLambda
from rlsuite.agents.predictor import Predictor, StateValues, count_state, follow, value_step_size
from rlsuite.agents.state_value_agent import StateValueAgent
from rlsuite.agents.storage import load
from rlsuite.agents.tabular import TabularAgent

__all__ = [
    "EXP3",
    "KLUCB",
    "MOSS",
    "TD",
    "UCB1",
    "UCBV",
    "UCRL2",
    "ActionValueAgent",
    "ActionValues",
    "ActorCritic",
    "ActorCriticLambda",
    "Agent",
    "BatchMonteCarlo",
    "BatchTD",
    "DelayedQLearning",
    "DeterministicQLearning",
    "DifferentialSarsa",
    "DiscountedUCB",
    "DoubleExpectedSarsa",
    "DoubleQLearning",
    "DynaQ",
    "DynaQPlus",
    "EveryVisitMonteCarlo",
    "ExpectedSarsa",
    "ExpectedSarsaLambda",
    "ExploreThenCommit",
    "FirstVisitMonteCarlo",
    "GradientBandit",
    "KLUCBNormal",
    "LinUCB",
    "LinearThompson",
    "MonteCarloControl",
    "MonteCarloExploringStarts",
    "NStepExpectedSarsa",
    "NStepQSigma",
    "NStepSarsa",
    "NStepTD",
    "NStepTreeBackup",
    "NaiveQLambda",
    "OffPolicyMonteCarlo",
    "OfflineLambdaReturn",
    "PengQLambda",
    "PosteriorSampling",
    "Predictor",
    "PrioritizedSweeping",
    "QLearning",
    "RLearning",
    "RMax",
    "SampleAverage",
    "Sarsa",
    "SarsaLambda",
    "SlidingWindowUCB",
    "SpeedyQLearning",
    "StateValueAgent",
    "StateValues",
    "SuccessiveElimination",
    "TDLambda",
    "TabularAgent",
    "ThompsonBernoulli",
    "ThompsonNormal",
    "ThompsonNormalGamma",
    "TrueOnlineSarsaLambda",
    "TrueOnlineTDLambda",
    "WatkinsQLambda",
    "count",
    "count_state",
    "end_step",
    "follow",
    "load",
    "locate",
    "locate_next",
    "step_size",
    "update",
    "value",
    "value_step_size",
]
