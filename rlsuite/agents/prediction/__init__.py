"""Agents that evaluate a policy: Monte Carlo, and the temporal-difference family."""
