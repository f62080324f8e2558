"""Learning runs: the compiled and the stepwise loop, what they record, and how a frozen policy is evaluated.

Nothing is imported here: reading or drawing results does not need the loops and their compiler.
"""
