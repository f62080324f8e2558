"""Agents whose values are linear in features: semi-gradient methods and related ones."""
