"""POMDPs as hidden Markov models under known actions (input-output models of Bengio & Frasconi 1995)."""
