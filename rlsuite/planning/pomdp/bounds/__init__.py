"""Bounds on the value of a POMDP, from both sides."""
