"""Agents: experience in, behaviour out. One file per family, each algorithm readable from top to bottom."""

from rlsuite.agents.agent import Agent
from rlsuite.agents.bandits import SampleAverage
from rlsuite.agents.memory import ActionValues, count, step_size
from rlsuite.agents.q_learning import DeterministicQLearning, QLearning
from rlsuite.agents.sarsa import Sarsa
from rlsuite.agents.storage import load
from rlsuite.agents.tabular import TabularAgent

__all__ = [
    "ActionValues",
    "Agent",
    "DeterministicQLearning",
    "QLearning",
    "SampleAverage",
    "Sarsa",
    "TabularAgent",
    "count",
    "load",
    "step_size",
]
