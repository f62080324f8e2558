"""Planners that search from the present belief: AEMS2 and POMCP."""
