"""Exact planners: sets of alpha vectors, stage by stage."""
