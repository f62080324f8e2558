"""Questions about a model: whether a goal is reached, what it costs until then, and where the time is spent."""
