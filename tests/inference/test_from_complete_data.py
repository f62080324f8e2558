"""Learning from observed states, and choosing how many there are."""

import signal

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.inference import HMM, from_states
from rlsuite.inference.baum_welch import Prior
from rlsuite.inference.emissions.before_learning import PseudoObservations
from rlsuite.inference.emissions.categorical import Categorical
from rlsuite.inference.emissions.gaussian import Gaussian
from rlsuite.inference.model_selection import choose_n_states, random_hmm

pytestmark = pytest.mark.arithmetic

NAN = float("nan")


def test_relative_frequencies():
    hmm = from_states([0, 0, 1, 2, 0, 2], [0, 0, 1, 1, 0, 1], [4, 2])
    assert hmm.start.tolist() == [1.0, 0.0]
    np.testing.assert_allclose(hmm.transition, [[1 / 3, 2 / 3], [0, 1]])
    np.testing.assert_allclose(hmm.emission.table, [[1, 0, 0], [0, 1 / 3, 2 / 3]])
    few = from_states([1, 0, 1], [0, 1, 0])  # fewer observations than twice the symbols
    np.testing.assert_allclose(few.emission.table, [[0, 1], [1, 0]])


def test_pseudo_counts_are_those_of_the_m_estimate():
    hmm = from_states([0, 0, 1, -1], [0, 0, 1, 1], n_states=3, n_symbols=2, prior=0.5, state_labels=["a", "b", "c"])
    np.testing.assert_allclose(hmm.start, [1.5 / 2.5, 0.5 / 2.5, 0.5 / 2.5])
    np.testing.assert_allclose(hmm.transition[0], [1.5 / 3.5, 1.5 / 3.5, 0.5 / 3.5])
    np.testing.assert_allclose(hmm.transition[2], [1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(hmm.emission.table, [[2.5 / 3, 0.5 / 3], [0.5 / 2, 1.5 / 2], [0.5, 0.5]])
    assert hmm.state_labels == ("a", "b", "c")


def test_sequences_come_in_every_form():
    one = from_states([0, 1, 1, 0, 0], [0, 1, 1, 0, 1], [3, 2], prior=1)
    other = from_states([[0, 1, 1], [0, 0]], [[0, 1, 1], [0, 1]], prior=1)
    third = HMM.from_states([np.array([0, 1, 1]), np.array([0, 0])], [[0, 1, 1], [0, 1]], prior=1)
    for hmm in (other, third):
        np.testing.assert_array_equal(hmm.transition, one.transition)
        np.testing.assert_array_equal(hmm.emission.table, one.emission.table)


def test_real_observations():
    z, states = [1.0, 3.0, 10.0, NAN, 14.0], [0, 0, 1, 1, 1]
    hmm = from_states(z, states, emission="gaussian", prior=Prior(1.0, 1.0))
    np.testing.assert_allclose(hmm.emission.mean[:, 0], [2.0, 12.0])
    np.testing.assert_allclose(hmm.emission.variance[:, 0], [1.0, 4.0])
    pseudo = PseudoObservations(2.0, mean=0.0, variance=1.0)
    pulled = from_states(z, states, emission="gaussian", prior=Prior(1.0, 1.0, pseudo))
    np.testing.assert_allclose(pulled.emission.mean[:, 0], [1.0, 6.0])
    counts = from_states([1, 3, 10, 14], [0, 0, 1, 1], emission="poisson", prior=Prior(1.0, 1.0))
    np.testing.assert_allclose(counts.emission.rate[:, 0], [2.0, 12.0])
    kept = from_states(
        z, states, emission=Gaussian([0.0, 1.0, 2.0], [1.0, 1.0, 1.0]), n_states=3, prior=Prior(1.0, 1.0)
    )
    assert kept.emission.mean[2, 0] == 2.0
    vectors = np.random.default_rng(0).normal(size=(50, 2))
    full = from_states(vectors, np.arange(50) % 2, emission="multivariate_gaussian")
    np.testing.assert_allclose(full.emission.covariance[0], np.cov(vectors[::2].T, bias=True))


def test_counting_and_sampling_are_inverse():
    truth = HMM([0.3, 0.7], [[0.8, 0.2], [0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]])
    z, states = truth.sample(50_000, seed=0)
    hmm = from_states(z, states)
    np.testing.assert_allclose(hmm.transition, truth.transition, atol=0.01)
    np.testing.assert_allclose(hmm.emission.table, truth.emission.table, atol=0.01)


@pytest.mark.parametrize(
    ("z", "states", "options", "error", "message"),
    [
        ([0, 1], [0, 2], {}, ModelError, r"state 1 never occurs in the data \(0 visits\).* pass prior > 0"),
        ([0, 1], [0, 1], {}, ModelError, r"state 1 is never left in the data \(1 visits\)"),
        ([0, 1], [0, -1], {"prior": 1}, ModelError, r"states\[1\] is missing; .* HMM\.fit\(states=\.\.\.\)"),
        ([0, 1], [0], {"prior": 1}, ModelError, r"states has shape \(1,\), not \(2,\)"),
        ([0, 1], [0, 2], {"prior": 1, "n_states": 2}, ModelError, r"states\[1\] is 2; the states are 0\.\.1"),
        ([0, 5], [0, 1], {"prior": 1, "n_symbols": 3}, ModelError, r"z\[t=1\] is 5; the symbols are 0\.\.2"),
        ([0, 1], [0, 1], {"prior": -1}, ParameterError, r"prior\.start=-1 is negative"),
        (
            [0, 1],
            [0, 1],
            {"emission": "gausian"},
            ParameterError,
            "unknown emission 'gausian'; did you mean 'gaussian'",
        ),
        (
            [0, 1],
            [0, 1],
            {"emission": Categorical(np.eye(3))},
            ModelError,
            "the emission has 3 states, but the model has 2",
        ),
        ([], [], {"prior": 1}, ModelError, "z holds no observations"),
        ([0, 1], [0, 1], {"prior": 1, "n_states": 0}, ParameterError, "n_states=0 is less than 1"),
        ([0, 1], [0, 1], {"prior": 1, "n_symbols": 0}, ParameterError, "n_symbols=0 is less than 1"),
    ],
)
def test_bad_counts(z, states, options, error, message):
    with pytest.raises(error, match=message):
        from_states(z, states, **options)


# ------------------------------------------------------------------------------------------- random models


@pytest.mark.parametrize(
    ("z", "family"),
    [
        ([0, 3, 1, 1], "categorical"),
        ([[0, 3], [1, 1, 2]], "categorical"),
        ([0.5, 3.0, 1.0], "gaussian"),
        ([[0.5, 3.0], [1.0, 2.0], [4.0, NAN]], "gaussian"),
        ([np.array([[0.5, 3.0]]), np.array([[1.0, 2.0]])], "multivariate_gaussian"),
        ([0, 3, 1, -1], "poisson"),
        ([1.0, 2.0], lambda n, rng: Gaussian(rng.normal(size=n), np.ones(n))),
    ],
)
def test_random_models_suit_the_observations(z, family):
    hmm = random_hmm(z, 3, family, seed=4)
    assert hmm.n_states == 3
    assert np.isfinite(hmm.score(z))
    assert random_hmm(z, 3, family, seed=4).transition.tobytes() == hmm.transition.tobytes()
    assert random_hmm(z, 3, family, seed=5).transition.tobytes() != hmm.transition.tobytes()


def test_random_models_of_nothing():
    with pytest.raises(ParameterError, match="unknown emission 'categoric'; did you mean 'categorical'"):
        random_hmm([0], 2, "categoric", seed=0)
    with pytest.raises(ParameterError, match="n_states=0 is less than 1"):
        random_hmm([0], 0, seed=0)
    with pytest.raises(ParameterError, match="returned a int, not an Emission"):
        random_hmm([0], 2, lambda n, rng: n, seed=0)
    with pytest.raises(ModelError, match="every observation is missing"):
        random_hmm([NAN, NAN], 2, "gaussian", seed=0)
    with pytest.raises(ModelError, match=r"z\[t=0\] is 0\.5; the symbols"):
        random_hmm([0.5], 2, seed=0)


# ---------------------------------------------------------------------------------------- how many states

THREE = HMM(
    [0.4, 0.3, 0.3],
    np.full((3, 3), 0.02) + 0.94 * np.eye(3),
    [[0.85, 0.05, 0.05, 0.05], [0.05, 0.85, 0.05, 0.05], [0.05, 0.05, 0.45, 0.45]],
)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["bic", "aic", "held_out"])
def test_the_number_of_states_is_found(criterion):
    z = [THREE.sample(150, seed=seed)[0] for seed in range(6)]
    found = choose_n_states(z, [1, 2, 3, 4], criterion=criterion, folds=3, restarts=3, seed=1, tol=1e-5)
    assert found.n_states == 3
    assert found.hmm is found.models[2]
    assert found.tried.tolist() == [1, 2, 3, 4]
    assert (np.diff(found.log_likelihoods) > 0.0).all()
    free = np.array([K - 1 + K * (K - 1) + 3 * K for K in (1, 2, 3, 4)])
    np.testing.assert_allclose(found.aic, 2 * free - 2 * found.log_likelihoods)
    np.testing.assert_allclose(found.bic, np.log(900) * free - 2 * found.log_likelihoods)
    assert np.isnan(found.held_out).all() == (criterion != "held_out")
    assert str(found).splitlines()[3].endswith("*")
    expected = np.exp(-found.bic / 2 + found.bic.min() / 2)
    np.testing.assert_allclose(found.posterior, expected / expected.sum())
    assert found.posterior.argmax() == 2


def test_a_single_sequence_is_cut_for_being_held_out():
    z, _ = THREE.sample(600, seed=0)
    found = choose_n_states(z, [1, 3], criterion="held_out", folds=2, restarts=1, seed=0, tol=1e-4)
    assert found.n_states == 3
    again = choose_n_states(z, [1, 3], criterion="held_out", folds=2, restarts=1, seed=0, tol=1e-4)
    np.testing.assert_array_equal(found.held_out, again.held_out)


def test_gaussian_clusters_are_counted():
    truth = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], Gaussian([-3.0, 3.0], [1.0, 1.0]))
    z, _ = truth.sample(300, seed=0)
    assert choose_n_states(z, [1, 2, 3], "gaussian", restarts=2, tol=1e-5).n_states == 2


def test_ctrl_c_keeps_the_numbers_that_are_done():
    z, _ = THREE.sample(100, seed=0)

    def asked(pressed_for):
        def emission(n_states, rng):
            if n_states == pressed_for:
                signal.raise_signal(signal.SIGINT)
            return Categorical(rng.dirichlet(np.ones(4), size=n_states))

        return emission

    found = choose_n_states(z, [1, 2, 3], asked(3), restarts=1, tol=1e-3)
    assert found.tried.tolist() == [1, 2]
    assert len(found.models) == len(found.bic) == len(found.held_out) == 2
    with pytest.raises(KeyboardInterrupt):
        choose_n_states(z, [2, 3], asked(2), restarts=1, tol=1e-3)


def test_bad_choices():
    z, _ = THREE.sample(20, seed=0)
    with pytest.raises(ParameterError, match="unknown criterion 'BICC'; did you mean 'bic'"):
        choose_n_states(z, [1, 2], criterion="BICC")
    with pytest.raises(ParameterError, match="seed='one' is not a whole number"):
        choose_n_states(z, [1], seed="one")
    with pytest.raises(ParameterError, match="numbers is empty"):
        choose_n_states(z, [])
    with pytest.raises(ParameterError, match="numbers=0 is less than 1"):
        choose_n_states(z, [0])
    with pytest.raises(ParameterError, match="folds=1 is less than 2"):
        choose_n_states(z, [1], folds=1)
    with pytest.raises(ModelError, match="3 sequences are too few for folds=5"):
        choose_n_states([[0], [1], [2]], [1], criterion="held_out")
    with pytest.raises(ModelError, match="9 observations are too few for folds=5"):
        choose_n_states(z[:9], [1], criterion="held_out")
    with pytest.warns(ConvergenceWarning, match="max_iterations=1 reached"):
        choose_n_states(z, [2], restarts=1, max_iterations=1)
