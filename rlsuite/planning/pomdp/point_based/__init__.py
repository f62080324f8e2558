"""Point-based planners: vectors for the beliefs that can be reached."""
