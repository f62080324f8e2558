"""Agents that learn to act without a model: Monte Carlo, Sarsa, Q-learning and their relatives."""
