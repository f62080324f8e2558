"""Planning: the model is known, and the optimum is computed from it, with a bound on its error."""

from rlsuite.planning.average_reward import AverageRewardSolution
from rlsuite.planning.long_run import gain_and_bias
from rlsuite.planning.matrices import continuation_matrix
from rlsuite.planning.mdp.auto import auto
from rlsuite.planning.mdp.average_reward_policy_iteration import average_reward_policy_iteration
from rlsuite.planning.mdp.backward_induction import backward_induction
from rlsuite.planning.mdp.evaluation import evaluate_policy
from rlsuite.planning.mdp.gauss_seidel import gauss_seidel
from rlsuite.planning.mdp.iterative_evaluation import PolicyValue, iterative_policy_evaluation
from rlsuite.planning.mdp.linear_programming import linear_programming
from rlsuite.planning.mdp.modified_policy_iteration import modified_policy_iteration
from rlsuite.planning.mdp.occupancy_measure import occupancy
from rlsuite.planning.mdp.policy_iteration import policy_iteration
from rlsuite.planning.mdp.prioritized_sweeping import prioritized_sweeping
from rlsuite.planning.mdp.relative_value_iteration import relative_value_iteration
from rlsuite.planning.mdp.stochastic_shortest_path import stochastic_shortest_path
from rlsuite.planning.mdp.topological import topological
from rlsuite.planning.mdp.value_iteration import value_iteration
from rlsuite.planning.operators import Lookahead, bellman, greedy, q_from_value
from rlsuite.planning.policy_value import PolicyEvaluator
from rlsuite.planning.pomdp.reachable_beliefs import reachable_beliefs
from rlsuite.planning.pomdp.solution import BeliefSolution
from rlsuite.planning.reachability import reachable_states
from rlsuite.planning.solution import FiniteHorizonSolution, Solution
from rlsuite.planning.solve import methods, solve

__all__ = [
    "AverageRewardSolution",
    "BeliefSolution",
    "FiniteHorizonSolution",
    "Lookahead",
    "PolicyEvaluator",
    "PolicyValue",
    "Solution",
    "auto",
    "average_reward_policy_iteration",
    "backward_induction",
    "bellman",
    "continuation_matrix",
    "evaluate_policy",
    "gain_and_bias",
    "gauss_seidel",
    "greedy",
    "iterative_policy_evaluation",
    "linear_programming",
    "methods",
    "modified_policy_iteration",
    "occupancy",
    "policy_iteration",
    "prioritized_sweeping",
    "q_from_value",
    "reachable_beliefs",
    "reachable_states",
    "relative_value_iteration",
    "solve",
    "stochastic_shortest_path",
    "topological",
    "value_iteration",
]
