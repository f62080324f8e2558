"""The experiments that ``rlsuite demo`` runs: TOML files, found through the entry-point group ``rlsuite.demos``."""
