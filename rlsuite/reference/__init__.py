"""The algorithms in plain NumPy, each beside its equation: to be read, and as the tests' oracle for the fast ones.

Nothing here is compiled, checked or stopped by a deadline, and what takes arrays trusts them. For everything but
reading use the fast forms, which have the same names or are named beside them in ``docs/reference.md``; those of
learning from examples are scikit-learn's.
"""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if TYPE_CHECKING:
    from rlsuite.reference.clusters import gaussian_mixture as gaussian_mixture
    from rlsuite.reference.clusters import k_means as k_means
    from rlsuite.reference.clusters import responsibilities as responsibilities
    from rlsuite.reference.components import latent_posterior as latent_posterior
    from rlsuite.reference.components import principal_components as principal_components
    from rlsuite.reference.components import probabilistic_pca as probabilistic_pca
    from rlsuite.reference.deep_q import duelling_values as duelling_values
    from rlsuite.reference.deep_q import importance_weights as importance_weights
    from rlsuite.reference.deep_q import n_step_target as n_step_target
    from rlsuite.reference.deep_q import prioritised_draw as prioritised_draw
    from rlsuite.reference.ensembles import ada_boost as ada_boost
    from rlsuite.reference.ensembles import decision_stump as decision_stump
    from rlsuite.reference.hmm import backward as backward
    from rlsuite.reference.hmm import baum_welch as baum_welch
    from rlsuite.reference.hmm import forward as forward
    from rlsuite.reference.hmm import forward_backward as forward_backward
    from rlsuite.reference.hmm import viterbi as viterbi
    from rlsuite.reference.learning import active_tiles as active_tiles
    from rlsuite.reference.learning import epsilon_greedy as epsilon_greedy
    from rlsuite.reference.learning import generators as generators
    from rlsuite.reference.learning import q_learning as q_learning
    from rlsuite.reference.learning import sarsa_lambda as sarsa_lambda
    from rlsuite.reference.learning import td_lambda as td_lambda
    from rlsuite.reference.linear import irls as irls
    from rlsuite.reference.linear import lms as lms
    from rlsuite.reference.linear import perceptron as perceptron
    from rlsuite.reference.mdp import arrays as arrays
    from rlsuite.reference.mdp import iterative_policy_evaluation as iterative_policy_evaluation
    from rlsuite.reference.mdp import lookahead as lookahead
    from rlsuite.reference.mdp import policy_evaluation as policy_evaluation
    from rlsuite.reference.mdp import policy_iteration as policy_iteration
    from rlsuite.reference.mdp import value_iteration as value_iteration
    from rlsuite.reference.neighbours import kernel_distances as kernel_distances
    from rlsuite.reference.neighbours import nearest_neighbours as nearest_neighbours
    from rlsuite.reference.networks import backpropagation as backpropagation
    from rlsuite.reference.networks import feed_forward as feed_forward
    from rlsuite.reference.pomdp import backprojection as backprojection
    from rlsuite.reference.pomdp import hidden_arrays as hidden_arrays
    from rlsuite.reference.pomdp import incremental_pruning as incremental_pruning
    from rlsuite.reference.pomdp import pbvi as pbvi
    from rlsuite.reference.pomdp import point_based_backup as point_based_backup
    from rlsuite.reference.pomdp import prune as prune
    from rlsuite.reference.pomdp import witness as witness
    from rlsuite.reference.trees import best_threshold as best_threshold
    from rlsuite.reference.trees import class_probabilities as class_probabilities
    from rlsuite.reference.trees import entropy as entropy
    from rlsuite.reference.trees import gain_for_cost as gain_for_cost
    from rlsuite.reference.trees import gain_ratio as gain_ratio
    from rlsuite.reference.trees import id3 as id3
    from rlsuite.reference.trees import information_gain as information_gain
    from rlsuite.reference.trees import prune_rules as prune_rules
    from rlsuite.reference.trees import split as split
    from rlsuite.reference.trees import tree_rules as tree_rules
else:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
