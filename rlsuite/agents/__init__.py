"""Agents: experience in, behaviour out. One file per family, each algorithm readable from top to bottom."""

from rlsuite.agents.agent import Agent
from rlsuite.agents.bandits.sample_average import SampleAverage
from rlsuite.agents.control.q_learning import DeterministicQLearning, QLearning
from rlsuite.agents.control.sarsa import Sarsa
from rlsuite.agents.memory import ActionValues, count, step_size
from rlsuite.agents.prediction.td import TD
from rlsuite.agents.predictor import Predictor, StateValues, count_state, follow, value_step_size
from rlsuite.agents.storage import load
from rlsuite.agents.tabular import TabularAgent

__all__ = [
    "TD",
    "ActionValues",
    "Agent",
    "DeterministicQLearning",
    "Predictor",
    "QLearning",
    "SampleAverage",
    "Sarsa",
    "StateValues",
    "TabularAgent",
    "count",
    "count_state",
    "follow",
    "load",
    "step_size",
    "value_step_size",
]
