"""The algorithms in plain NumPy, each beside its equation: to be read, and as the tests' oracle for the fast ones.

Nothing here is compiled, checked or stopped by a deadline, and what takes arrays trusts them. For everything but
reading use the fast forms, which have the same names or are named beside them in ``docs/reference.md``.
"""

from rlsuite.reference.hmm import backward, baum_welch, forward, forward_backward, viterbi
from rlsuite.reference.learning import active_tiles, epsilon_greedy, generators, q_learning, sarsa_lambda, td_lambda
from rlsuite.reference.mdp import (
    arrays,
    iterative_policy_evaluation,
    lookahead,
    policy_evaluation,
    policy_iteration,
    value_iteration,
)
from rlsuite.reference.pomdp import (
    backprojection,
    hidden_arrays,
    incremental_pruning,
    pbvi,
    point_based_backup,
    prune,
    witness,
)

__all__ = [
    "active_tiles",
    "arrays",
    "backprojection",
    "backward",
    "baum_welch",
    "epsilon_greedy",
    "forward",
    "forward_backward",
    "generators",
    "hidden_arrays",
    "incremental_pruning",
    "iterative_policy_evaluation",
    "lookahead",
    "pbvi",
    "point_based_backup",
    "policy_evaluation",
    "policy_iteration",
    "prune",
    "q_learning",
    "sarsa_lambda",
    "td_lambda",
    "value_iteration",
    "viterbi",
    "witness",
]
