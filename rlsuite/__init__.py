"""rlsuite: finite decision problems as data, solved exactly, learned at compiled speed, and drawn.

>>> import rlsuite as rl, rlsuite_envs
>>> mdp = rl.MDP.from_env("rlsuite/GridGoal-v0", gamma=0.9)
>>> rl.solve(mdp).value.round(6)
array([ 81.,  90., 100.,  90., 100.,   0.])
>>> agent = rl.QLearning(gamma=0.9, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.5))
>>> agent = agent.learn("rlsuite/GridGoal-v0", steps=10_000, seed=7)
>>> agent.q_.max(axis=1).round(1)
array([ 81.,  90., 100.,  90., 100.,   0.])

Names are loaded on first use: importing rlsuite is fast.
"""

from sys import platform as _platform
from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use
from rlsuite.core.shown import show_through_wrappers as _show_through_wrappers
from rlsuite.synonyms import ELSEWHERE as _ELSEWHERE

__version__ = "0.2.0"

if _platform == "emscripten":  # Python in a browser
    from rlsuite.core.browser import prepare as _prepare

    _prepare()
_show_through_wrappers()  # in a notebook, where one runs

if TYPE_CHECKING:
    from rlsuite import approximation as approximation
    from rlsuite import errors as errors
    from rlsuite import experiments as experiments
    from rlsuite import inference as inference
    from rlsuite import models as models
    from rlsuite import planning as planning
    from rlsuite import plotting as plotting
    from rlsuite import reference as reference
    from rlsuite import rendering as rendering
    from rlsuite import testing as testing
    from rlsuite import training as training
    from rlsuite.agents import EXP3 as EXP3
    from rlsuite.agents import KLUCB as KLUCB
    from rlsuite.agents import MOSS as MOSS
    from rlsuite.agents import TD as TD
    from rlsuite.agents import UCB1 as UCB1
    from rlsuite.agents import UCBV as UCBV
    from rlsuite.agents import UCRL2 as UCRL2
    from rlsuite.agents import ActionValueAgent as ActionValueAgent
    from rlsuite.agents import ActorCritic as ActorCritic
    from rlsuite.agents import ActorCriticLambda as ActorCriticLambda
    from rlsuite.agents import Agent as Agent
    from rlsuite.agents import BatchMonteCarlo as BatchMonteCarlo
    from rlsuite.agents import BatchTD as BatchTD
    from rlsuite.agents import BootstrappedQLearning as BootstrappedQLearning
    from rlsuite.agents import DelayedQLearning as DelayedQLearning
    from rlsuite.agents import DeterministicQLearning as DeterministicQLearning
    from rlsuite.agents import DifferentialSarsa as DifferentialSarsa
    from rlsuite.agents import DiscountedUCB as DiscountedUCB
    from rlsuite.agents import DoubleExpectedSarsa as DoubleExpectedSarsa
    from rlsuite.agents import DoubleQLearning as DoubleQLearning
    from rlsuite.agents import DynaQ as DynaQ
    from rlsuite.agents import DynaQPlus as DynaQPlus
    from rlsuite.agents import EveryVisitMonteCarlo as EveryVisitMonteCarlo
    from rlsuite.agents import ExpectedSarsa as ExpectedSarsa
    from rlsuite.agents import ExpectedSarsaLambda as ExpectedSarsaLambda
    from rlsuite.agents import ExploreThenCommit as ExploreThenCommit
    from rlsuite.agents import FirstVisitMonteCarlo as FirstVisitMonteCarlo
    from rlsuite.agents import GradientBandit as GradientBandit
    from rlsuite.agents import KLUCBNormal as KLUCBNormal
    from rlsuite.agents import LinearThompson as LinearThompson
    from rlsuite.agents import LinUCB as LinUCB
    from rlsuite.agents import Memory as Memory
    from rlsuite.agents import MonteCarloControl as MonteCarloControl
    from rlsuite.agents import MonteCarloExploringStarts as MonteCarloExploringStarts
    from rlsuite.agents import NaiveQLambda as NaiveQLambda
    from rlsuite.agents import NaturalActorCritic as NaturalActorCritic
    from rlsuite.agents import NStepExpectedSarsa as NStepExpectedSarsa
    from rlsuite.agents import NStepQSigma as NStepQSigma
    from rlsuite.agents import NStepSarsa as NStepSarsa
    from rlsuite.agents import NStepTD as NStepTD
    from rlsuite.agents import NStepTreeBackup as NStepTreeBackup
    from rlsuite.agents import OfflineLambdaReturn as OfflineLambdaReturn
    from rlsuite.agents import OffPolicyMonteCarlo as OffPolicyMonteCarlo
    from rlsuite.agents import PengQLambda as PengQLambda
    from rlsuite.agents import PosteriorSampling as PosteriorSampling
    from rlsuite.agents import Predictor as Predictor
    from rlsuite.agents import PrioritizedSweeping as PrioritizedSweeping
    from rlsuite.agents import QLearning as QLearning
    from rlsuite.agents import Reinforce as Reinforce
    from rlsuite.agents import ReinforceWithBaseline as ReinforceWithBaseline
    from rlsuite.agents import RLearning as RLearning
    from rlsuite.agents import RMax as RMax
    from rlsuite.agents import SampleAverage as SampleAverage
    from rlsuite.agents import Sarsa as Sarsa
    from rlsuite.agents import SarsaLambda as SarsaLambda
    from rlsuite.agents import SlidingWindowUCB as SlidingWindowUCB
    from rlsuite.agents import SpeedyQLearning as SpeedyQLearning
    from rlsuite.agents import StateValueAgent as StateValueAgent
    from rlsuite.agents import SuccessiveElimination as SuccessiveElimination
    from rlsuite.agents import TabularAgent as TabularAgent
    from rlsuite.agents import TDLambda as TDLambda
    from rlsuite.agents import ThompsonBernoulli as ThompsonBernoulli
    from rlsuite.agents import ThompsonNormal as ThompsonNormal
    from rlsuite.agents import ThompsonNormalGamma as ThompsonNormalGamma
    from rlsuite.agents import TrueOnlineSarsaLambda as TrueOnlineSarsaLambda
    from rlsuite.agents import TrueOnlineTDLambda as TrueOnlineTDLambda
    from rlsuite.agents import WatkinsQLambda as WatkinsQLambda
    from rlsuite.agents import count as count
    from rlsuite.agents import follow as follow
    from rlsuite.agents import step_size as step_size
    from rlsuite.agents.exploration import CountBonus as CountBonus
    from rlsuite.agents.exploration import EpsilonGreedy as EpsilonGreedy
    from rlsuite.agents.exploration import Exploration as Exploration
    from rlsuite.agents.exploration import MaxBoltzmann as MaxBoltzmann
    from rlsuite.agents.exploration import RandomActions as RandomActions
    from rlsuite.agents.exploration import Softmax as Softmax
    from rlsuite.agents.exploration import UpperConfidence as UpperConfidence
    from rlsuite.agents.exploration import action_probabilities as action_probabilities
    from rlsuite.agents.exploration import argmax as argmax
    from rlsuite.agents.exploration import choose as choose
    from rlsuite.agents.exploration import greedy as greedy
    from rlsuite.agents.exploration import max_value as max_value
    from rlsuite.agents.exploration import uniform as uniform
    from rlsuite.agents.rule_parameters import Parameter as Parameter
    from rlsuite.agents.schedules import Exponential as Exponential
    from rlsuite.agents.schedules import Inverse as Inverse
    from rlsuite.agents.schedules import Linear as Linear
    from rlsuite.agents.schedules import Polynomial as Polynomial
    from rlsuite.agents.schedules import Schedule as Schedule
    from rlsuite.core.compilation import compiled as compiled
    from rlsuite.core.declared import Array as Array
    from rlsuite.environments.compiled_env import CompiledDynamics as CompiledDynamics
    from rlsuite.environments.compiled_env import CompiledEnv as CompiledEnv
    from rlsuite.environments.finding import find_env as find_env
    from rlsuite.environments.novelty import NoveltyBonus as NoveltyBonus
    from rlsuite.environments.tabular_env import TabularEnv as TabularEnv
    from rlsuite.environments.tabulated_model import tabulate as tabulate
    from rlsuite.environments.vector_env import TabularVectorEnv as TabularVectorEnv
    from rlsuite.environments.wrappers import BeliefObservation as BeliefObservation
    from rlsuite.environments.wrappers import DiscreteActions as DiscreteActions
    from rlsuite.environments.wrappers import VectorObservation as VectorObservation
    from rlsuite.experiments.comparing import compare as compare
    from rlsuite.experiments.searching import search as search
    from rlsuite.experiments.sweeping import sweep as sweep
    from rlsuite.inference import HMM as HMM
    from rlsuite.inference import HSMM as HSMM
    from rlsuite.inference import CategoricalHMM as CategoricalHMM
    from rlsuite.inference import GaussianHMM as GaussianHMM
    from rlsuite.inference import MixtureHMM as MixtureHMM
    from rlsuite.inference import ParticleFilter as ParticleFilter
    from rlsuite.inference import PoissonHMM as PoissonHMM
    from rlsuite.inference import learn_pomdp as learn_pomdp
    from rlsuite.models import MDP as MDP
    from rlsuite.models import POMDP as POMDP
    from rlsuite.models import MarkovChain as MarkovChain
    from rlsuite.planning import Solution as Solution
    from rlsuite.planning import check_property as check_property
    from rlsuite.planning import constrained as constrained
    from rlsuite.planning import evaluate_policy as evaluate_policy
    from rlsuite.planning import expected_until as expected_until
    from rlsuite.planning import long_run_average as long_run_average
    from rlsuite.planning import reach as reach
    from rlsuite.planning import solve as solve
    from rlsuite.registry import load as load
    from rlsuite.rendering import GridLayout as GridLayout
    from rlsuite.training.judging import PolicyReport as PolicyReport
    from rlsuite.training.judging import evaluate as evaluate
    from rlsuite.training.kernels import Transition as Transition
    from rlsuite.training.results import Record as Record
    from rlsuite.training.results import Results as Results
    from rlsuite.training.statistics import success_interval as success_interval
    from rlsuite.training.train import train as train
else:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__, _ELSEWHERE)
