"""Planners for fully observed models, one module per method."""
