"""Planning: the model is known, and the optimum is computed from it, with a bound on its error."""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if TYPE_CHECKING:
    from rlsuite.planning.agreement import QAgreement as QAgreement
    from rlsuite.planning.agreement import q_agreement as q_agreement
    from rlsuite.planning.average_reward import AverageRewardSolution as AverageRewardSolution
    from rlsuite.planning.limits import Limits as Limits
    from rlsuite.planning.long_run import gain_and_bias as gain_and_bias
    from rlsuite.planning.mdp.auto import auto as auto
    from rlsuite.planning.mdp.average_reward_policy_iteration import (
        average_reward_policy_iteration as average_reward_policy_iteration,
    )
    from rlsuite.planning.mdp.backward_induction import backward_induction as backward_induction
    from rlsuite.planning.mdp.gauss_seidel import gauss_seidel as gauss_seidel
    from rlsuite.planning.mdp.iterative_evaluation import PolicyValue as PolicyValue
    from rlsuite.planning.mdp.iterative_evaluation import iterative_policy_evaluation as iterative_policy_evaluation
    from rlsuite.planning.mdp.linear_programming import linear_programming as linear_programming
    from rlsuite.planning.mdp.linear_programming import occupancy as occupancy
    from rlsuite.planning.mdp.modified_policy_iteration import modified_policy_iteration as modified_policy_iteration
    from rlsuite.planning.mdp.policy_evaluation import evaluate_policy as evaluate_policy
    from rlsuite.planning.mdp.policy_iteration import policy_iteration as policy_iteration
    from rlsuite.planning.mdp.prioritized_sweeping import prioritized_sweeping as prioritized_sweeping
    from rlsuite.planning.mdp.rational_policy_iteration import ExactSolution as ExactSolution
    from rlsuite.planning.mdp.rational_policy_iteration import rational_policy_iteration as rational_policy_iteration
    from rlsuite.planning.mdp.relative_value_iteration import relative_value_iteration as relative_value_iteration
    from rlsuite.planning.mdp.stochastic_shortest_path import stochastic_shortest_path as stochastic_shortest_path
    from rlsuite.planning.mdp.topological import topological as topological
    from rlsuite.planning.mdp.value_iteration import value_iteration as value_iteration
    from rlsuite.planning.operators import Lookahead as Lookahead
    from rlsuite.planning.operators import bellman as bellman
    from rlsuite.planning.operators import continuation_matrix as continuation_matrix
    from rlsuite.planning.operators import greedy as greedy
    from rlsuite.planning.operators import q_from_value as q_from_value
    from rlsuite.planning.policy_value import PolicyEvaluator as PolicyEvaluator
    from rlsuite.planning.pomdp.bounds.blind import blind as blind
    from rlsuite.planning.pomdp.bounds.discretisation import GridMDP as GridMDP
    from rlsuite.planning.pomdp.bounds.discretisation import discretised as discretised
    from rlsuite.planning.pomdp.bounds.fast_informed_bound import fast_informed_bound as fast_informed_bound
    from rlsuite.planning.pomdp.bounds.qmdp import qmdp as qmdp
    from rlsuite.planning.pomdp.exact.enumeration import enumeration as enumeration
    from rlsuite.planning.pomdp.exact.incremental_pruning import incremental_pruning as incremental_pruning
    from rlsuite.planning.pomdp.exact.witness import witness as witness
    from rlsuite.planning.pomdp.online.aems2 import aems2 as aems2
    from rlsuite.planning.pomdp.online.online import Decision as Decision
    from rlsuite.planning.pomdp.online.online import OnlineEpisode as OnlineEpisode
    from rlsuite.planning.pomdp.online.online import OnlinePlan as OnlinePlan
    from rlsuite.planning.pomdp.online.pomcp import pomcp as pomcp
    from rlsuite.planning.pomdp.plan_files import read_plan as read_plan
    from rlsuite.planning.pomdp.plan_files import write_plan as write_plan
    from rlsuite.planning.pomdp.point_based.finite_horizon_search import finite_horizon_search as finite_horizon_search
    from rlsuite.planning.pomdp.point_based.goal_hsvi import goal_hsvi as goal_hsvi
    from rlsuite.planning.pomdp.point_based.pbvi import pbvi as pbvi
    from rlsuite.planning.pomdp.point_based.perseus import perseus as perseus
    from rlsuite.planning.pomdp.point_based.sarsop import sarsop as sarsop
    from rlsuite.planning.pomdp.policy_graphs import PolicyGraph as PolicyGraph
    from rlsuite.planning.pomdp.policy_graphs import policy_graph as policy_graph
    from rlsuite.planning.pomdp.reachable_beliefs import belief_mdp as belief_mdp
    from rlsuite.planning.pomdp.reachable_beliefs import reachable_beliefs as reachable_beliefs
    from rlsuite.planning.pomdp.simulation import BeliefEpisodes as BeliefEpisodes
    from rlsuite.planning.pomdp.simulation import simulate_beliefs as simulate_beliefs
    from rlsuite.planning.pomdp.solution import AlphaVectorSolution as AlphaVectorSolution
    from rlsuite.planning.pomdp.solution import BeliefPlan as BeliefPlan
    from rlsuite.planning.pomdp.solution import BeliefSolution as BeliefSolution
    from rlsuite.planning.pomdp.solution import BoundsTrace as BoundsTrace
    from rlsuite.planning.pomdp.solution import PointBasedSolution as PointBasedSolution
    from rlsuite.planning.pomdp.solution import UpperBoundSolution as UpperBoundSolution
    from rlsuite.planning.pomdp.solution import VectorSet as VectorSet
    from rlsuite.planning.questions.answers import ExpectedSolution as ExpectedSolution
    from rlsuite.planning.questions.answers import LongRunSolution as LongRunSolution
    from rlsuite.planning.questions.answers import ReachSolution as ReachSolution
    from rlsuite.planning.questions.constrained import ConstrainedSolution as ConstrainedSolution
    from rlsuite.planning.questions.constrained import constrained as constrained
    from rlsuite.planning.questions.long_run_average import long_run_average as long_run_average
    from rlsuite.planning.questions.pareto import ParetoFront as ParetoFront
    from rlsuite.planning.questions.pareto import pareto as pareto
    from rlsuite.planning.questions.properties import PropertyAnswer as PropertyAnswer
    from rlsuite.planning.questions.properties import check_property as check_property
    from rlsuite.planning.questions.reach import reach as reach
    from rlsuite.planning.questions.until import expected_until as expected_until
    from rlsuite.planning.reachability import reachable_states as reachable_states
    from rlsuite.planning.solution import FiniteHorizonSolution as FiniteHorizonSolution
    from rlsuite.planning.solution import Solution as Solution
    from rlsuite.planning.solving import methods as methods
    from rlsuite.planning.solving import solve as solve
else:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
