"""Hidden Markov models: inference of hidden states, and learning."""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if TYPE_CHECKING:
    from rlsuite.inference.baum_welch import Counts as Counts
    from rlsuite.inference.baum_welch import Prior as Prior
    from rlsuite.inference.baum_welch import expected_counts as expected_counts
    from rlsuite.inference.controlled_hmm.episode_em import decode_episode as decode_episode
    from rlsuite.inference.controlled_hmm.episode_em import score_episodes as score_episodes
    from rlsuite.inference.controlled_hmm.episode_em import smooth_episode as smooth_episode
    from rlsuite.inference.controlled_hmm.episode_passes import Episode as Episode
    from rlsuite.inference.controlled_hmm.learn_pomdp import LearnedPOMDP as LearnedPOMDP
    from rlsuite.inference.controlled_hmm.learn_pomdp import learn_pomdp as learn_pomdp
    from rlsuite.inference.durations import Durations as Durations
    from rlsuite.inference.durations import NegativeBinomialDurations as NegativeBinomialDurations
    from rlsuite.inference.durations import PoissonDurations as PoissonDurations
    from rlsuite.inference.durations import TableDurations as TableDurations
    from rlsuite.inference.durations import uniform_durations as uniform_durations
    from rlsuite.inference.emissions import Categorical as Categorical
    from rlsuite.inference.emissions import Emission as Emission
    from rlsuite.inference.emissions import Gaussian as Gaussian
    from rlsuite.inference.emissions import LogDensity as LogDensity
    from rlsuite.inference.emissions import Mixture as Mixture
    from rlsuite.inference.emissions import MixturePrior as MixturePrior
    from rlsuite.inference.emissions import MultivariateGaussian as MultivariateGaussian
    from rlsuite.inference.emissions import Poisson as Poisson
    from rlsuite.inference.emissions import Product as Product
    from rlsuite.inference.emissions import PseudoObservations as PseudoObservations
    from rlsuite.inference.emissions import gaussian_mixture as gaussian_mixture
    from rlsuite.inference.estimators import CategoricalHMM as CategoricalHMM
    from rlsuite.inference.estimators import GaussianHMM as GaussianHMM
    from rlsuite.inference.estimators import MixtureHMM as MixtureHMM
    from rlsuite.inference.estimators import PoissonHMM as PoissonHMM
    from rlsuite.inference.expectation_maximisation import Learning as Learning
    from rlsuite.inference.forward_backward import OnlineFilter as OnlineFilter
    from rlsuite.inference.forward_backward import Scaled as Scaled
    from rlsuite.inference.forward_backward import backward as backward
    from rlsuite.inference.forward_backward import filter as filter
    from rlsuite.inference.forward_backward import forward as forward
    from rlsuite.inference.forward_backward import log_likelihoods as log_likelihoods
    from rlsuite.inference.forward_backward import predict_ahead as predict_ahead
    from rlsuite.inference.hmm import HMM as HMM
    from rlsuite.inference.hmm import FittedHMM as FittedHMM
    from rlsuite.inference.hmm import fit as fit
    from rlsuite.inference.hmm import from_states as from_states
    from rlsuite.inference.hsmm import HSMM as HSMM
    from rlsuite.inference.hsmm import FittedHSMM as FittedHSMM
    from rlsuite.inference.hsmm import Segments as Segments
    from rlsuite.inference.model_selection import Selection as Selection
    from rlsuite.inference.model_selection import choose_n_states as choose_n_states
    from rlsuite.inference.model_selection import random_hmm as random_hmm
    from rlsuite.inference.particle_filter import ParticleFilter as ParticleFilter
    from rlsuite.inference.paths import Paths as Paths
    from rlsuite.inference.paths import best_paths as best_paths
    from rlsuite.inference.paths import sample_paths as sample_paths
    from rlsuite.inference.recognition import StateScores as StateScores
    from rlsuite.inference.recognition import state_scores as state_scores
    from rlsuite.inference.smoothing import Block as Block
    from rlsuite.inference.smoothing import smooth as smooth
    from rlsuite.inference.smoothing import smooth_in_blocks as smooth_in_blocks
    from rlsuite.inference.smoothing import smooth_with_lag as smooth_with_lag
    from rlsuite.inference.uncertainty import entropy as entropy
    from rlsuite.inference.uncertainty import information as information
    from rlsuite.inference.viterbi import decode as decode
    from rlsuite.inference.viterbi import path_log_probability as path_log_probability
else:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
