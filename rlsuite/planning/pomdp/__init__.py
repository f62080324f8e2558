"""Planners for partially observed models, one module per method."""
