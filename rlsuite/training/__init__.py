"""Learning runs: the compiled and the stepwise loop, what they record, and how a frozen policy is evaluated.

Nothing is imported here: who only reads or draws results has no need of the loops and their compiler.
"""
