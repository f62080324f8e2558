"""Planning: the model is known, and the optimum is computed from it, with a bound on its error."""

from rlsuite.planning.average_reward import AverageRewardSolution
from rlsuite.planning.long_run import gain_and_bias
from rlsuite.planning.mdp.auto import auto
from rlsuite.planning.mdp.average_reward_policy_iteration import average_reward_policy_iteration
from rlsuite.planning.mdp.backward_induction import backward_induction
from rlsuite.planning.mdp.evaluation import evaluate_policy
from rlsuite.planning.mdp.gauss_seidel import gauss_seidel
from rlsuite.planning.mdp.iterative_evaluation import PolicyValue, iterative_policy_evaluation
from rlsuite.planning.mdp.linear_programming import linear_programming, occupancy
from rlsuite.planning.mdp.modified_policy_iteration import modified_policy_iteration
from rlsuite.planning.mdp.policy_iteration import policy_iteration
from rlsuite.planning.mdp.prioritized_sweeping import prioritized_sweeping
from rlsuite.planning.mdp.reference import reference
from rlsuite.planning.mdp.relative_value_iteration import relative_value_iteration
from rlsuite.planning.mdp.stochastic_shortest_path import stochastic_shortest_path
from rlsuite.planning.mdp.topological import topological
from rlsuite.planning.mdp.value_iteration import value_iteration
from rlsuite.planning.operators import Lookahead, bellman, continuation_matrix, greedy, q_from_value
from rlsuite.planning.policy_value import PolicyEvaluator
from rlsuite.planning.pomdp.bounds.belief_grid import GridSolution, belief_grid
from rlsuite.planning.pomdp.bounds.blind import blind
from rlsuite.planning.pomdp.bounds.discretisation import GridMDP, discretised
from rlsuite.planning.pomdp.bounds.fast_informed_bound import fast_informed_bound
from rlsuite.planning.pomdp.bounds.qmdp import qmdp
from rlsuite.planning.pomdp.exact.enumeration import enumeration
from rlsuite.planning.pomdp.exact.incremental_pruning import incremental_pruning
from rlsuite.planning.pomdp.exact.witness import witness
from rlsuite.planning.pomdp.online.aems2 import aems2
from rlsuite.planning.pomdp.online.online import Decision, OnlineEpisode, OnlinePlan
from rlsuite.planning.pomdp.online.pomcp import pomcp
from rlsuite.planning.pomdp.point_based.pbvi import pbvi
from rlsuite.planning.pomdp.point_based.perseus import perseus
from rlsuite.planning.pomdp.point_based.sarsop import sarsop
from rlsuite.planning.pomdp.policy_graphs import PolicyGraph, policy_graph
from rlsuite.planning.pomdp.reachable_beliefs import belief_mdp, reachable_beliefs
from rlsuite.planning.pomdp.simulation import BeliefEpisodes, simulate_beliefs
from rlsuite.planning.pomdp.solution import (
    AlphaVectorSolution,
    BeliefPlan,
    BeliefSolution,
    BoundsTrace,
    PointBasedSolution,
    UpperBoundSolution,
    VectorSet,
)
from rlsuite.planning.reachability import reachable_states
from rlsuite.planning.solution import FiniteHorizonSolution, Solution
from rlsuite.planning.solve import methods, solve

__all__ = [
    "AlphaVectorSolution",
    "AverageRewardSolution",
    "BeliefEpisodes",
    "BeliefPlan",
    "BeliefSolution",
    "BoundsTrace",
    "Decision",
    "FiniteHorizonSolution",
    "GridMDP",
    "GridSolution",
    "Lookahead",
    "OnlineEpisode",
    "OnlinePlan",
    "PointBasedSolution",
    "PolicyEvaluator",
    "PolicyGraph",
    "PolicyValue",
    "Solution",
    "UpperBoundSolution",
    "VectorSet",
    "aems2",
    "auto",
    "average_reward_policy_iteration",
    "backward_induction",
    "belief_grid",
    "belief_mdp",
    "bellman",
    "blind",
    "continuation_matrix",
    "discretised",
    "enumeration",
    "evaluate_policy",
    "fast_informed_bound",
    "gain_and_bias",
    "gauss_seidel",
    "greedy",
    "incremental_pruning",
    "iterative_policy_evaluation",
    "linear_programming",
    "methods",
    "modified_policy_iteration",
    "occupancy",
    "pbvi",
    "perseus",
    "policy_graph",
    "policy_iteration",
    "pomcp",
    "prioritized_sweeping",
    "q_from_value",
    "qmdp",
    "reachable_beliefs",
    "reachable_states",
    "reference",
    "relative_value_iteration",
    "sarsop",
    "simulate_beliefs",
    "solve",
    "stochastic_shortest_path",
    "topological",
    "value_iteration",
    "witness",
]
