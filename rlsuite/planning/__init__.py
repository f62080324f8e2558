"""Planning: the model is known, and the optimum is computed from it, with a bound on its error."""

from rlsuite.planning.mdp.backward_induction import backward_induction
from rlsuite.planning.mdp.evaluation import evaluate_policy
from rlsuite.planning.mdp.policy_iteration import policy_iteration
from rlsuite.planning.mdp.value_iteration import value_iteration
from rlsuite.planning.operators import Lookahead, bellman, continuation_matrix, greedy, q_from_value
from rlsuite.planning.policy_value import PolicyEvaluator
from rlsuite.planning.pomdp.reachable_beliefs import reachable_beliefs
from rlsuite.planning.pomdp.solution import BeliefSolution
from rlsuite.planning.solution import FiniteHorizonSolution, Solution
from rlsuite.planning.solve import methods, solve

__all__ = [
    "BeliefSolution",
    "FiniteHorizonSolution",
    "Lookahead",
    "PolicyEvaluator",
    "Solution",
    "backward_induction",
    "bellman",
    "continuation_matrix",
    "evaluate_policy",
    "greedy",
    "methods",
    "policy_iteration",
    "q_from_value",
    "reachable_beliefs",
    "solve",
    "value_iteration",
]
