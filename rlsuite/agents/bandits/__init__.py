"""Agents that look no further than one reward: bandits, stationary, drifting, adversarial and contextual."""
