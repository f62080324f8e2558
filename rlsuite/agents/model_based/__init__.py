"""Agents that learn a model, and plan with it while they act."""
