"""Hidden Markov models: inference of hidden states, and learning."""

from rlsuite.inference.baum_welch import Counts, Prior, expected_counts
from rlsuite.inference.controlled_hmm.episode_em import decode_episode, score_episodes, smooth_episode
from rlsuite.inference.controlled_hmm.episode_passes import Episode
from rlsuite.inference.controlled_hmm.learn_pomdp import LearnedPOMDP, learn_pomdp
from rlsuite.inference.emissions import (
    Categorical,
    Emission,
    Gaussian,
    LogDensity,
    Mixture,
    MixturePrior,
    MultivariateGaussian,
    Poisson,
    Product,
    PseudoObservations,
    gaussian_mixture,
)
from rlsuite.inference.expectation_maximisation import Learning
from rlsuite.inference.forward_backward import (
    OnlineFilter,
    Scaled,
    backward,
    filter,
    forward,
    log_likelihoods,
    predict_ahead,
)
from rlsuite.inference.hmm import HMM, FittedHMM
from rlsuite.inference.model_selection import Selection, choose_n_states, random_hmm
from rlsuite.inference.particle_filter import ParticleFilter
from rlsuite.inference.smoothing import Block, smooth, smooth_in_blocks, smooth_with_lag
from rlsuite.inference.viterbi import decode, path_log_probability

fit = HMM.fit
from_states = HMM.from_states

__all__ = [
    "HMM",
    "Block",
    "Categorical",
    "Counts",
    "Emission",
    "Episode",
    "FittedHMM",
    "Gaussian",
    "LearnedPOMDP",
    "Learning",
    "LogDensity",
    "Mixture",
    "MixturePrior",
    "MultivariateGaussian",
    "OnlineFilter",
    "ParticleFilter",
    "Poisson",
    "Prior",
    "Product",
    "PseudoObservations",
    "Scaled",
    "Selection",
    "backward",
    "choose_n_states",
    "decode",
    "decode_episode",
    "expected_counts",
    "filter",
    "fit",
    "forward",
    "from_states",
    "gaussian_mixture",
    "learn_pomdp",
    "log_likelihoods",
    "path_log_probability",
    "predict_ahead",
    "random_hmm",
    "score_episodes",
    "smooth",
    "smooth_episode",
    "smooth_in_blocks",
    "smooth_with_lag",
]
