"""Learning against enumeration, against published numbers, and against what it promises."""

import itertools
import pickle
import signal
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.inference import HMM, Prior, fit, from_states
from rlsuite.inference.emissions.base import LogDensity
from rlsuite.inference.emissions.categorical import Categorical
from rlsuite.inference.emissions.gaussian import Gaussian, MultivariateGaussian
from rlsuite.inference.emissions.mixture import gaussian_mixture
from rlsuite.inference.emissions.poisson import Poisson
from rlsuite.inference.emissions.product import Product
from rlsuite.inference.hmm import FittedHMM

pytestmark = pytest.mark.arithmetic

NAN = float("nan")
HEALTH = HMM([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
STICKY = HMM([0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], [[0.9, 0.1], [0.2, 0.8]])


@st.composite
def models(draw, n_symbols=3):
    """Small models, many of whose probabilities are 0."""
    states = draw(st.integers(1, 3))

    def rows(number, length):
        weights = np.array(draw(st.lists(st.integers(0, 4), min_size=number * length, max_size=number * length)))
        weights = weights.reshape(number, length).astype(float)
        weights[np.arange(number), np.arange(number) % length] += 1
        return weights / weights.sum(axis=1, keepdims=True)

    return HMM(rows(1, states)[0], rows(states, states), rows(states, n_symbols))


def enumerated(hmm, sequences, known=None):
    """Log-likelihood and expected counts, by summing over all paths of hidden states."""
    K, M = hmm.emission.table.shape
    start, pairs, symbols, log_likelihood = np.zeros(K), np.zeros((K, K)), np.zeros((K, M)), 0.0
    for n, z in enumerate(sequences):
        mine = np.zeros(K), np.zeros((K, K)), np.zeros((K, M))
        total = 0.0
        for path in itertools.product(range(K), repeat=len(z)):
            p = hmm.start[path[0]]
            for t, (state, seen) in enumerate(zip(path, z, strict=True)):
                p *= hmm.transition[path[t - 1], state] if t else 1.0
                p *= hmm.emission.table[state, seen] if seen >= 0 else 1.0
                p *= known is None or known[n][t] in (-1, state)
            total += p
            mine[0][path[0]] += p
            for i, j in itertools.pairwise(path):
                mine[1][i, j] += p
            for state, seen in zip(path, z, strict=True):
                if seen >= 0:
                    mine[2][state, seen] += p
        if total == 0.0:
            return -np.inf, start, pairs, symbols
        log_likelihood += np.log(total)
        for sums, one in zip((start, pairs, symbols), mine, strict=True):
            sums += one / total
    return log_likelihood, start, pairs, symbols


def normalised(counts, rows):
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 1e-200, counts / np.where(total > 1e-200, total, 1.0), rows)


def once(hmm, z, lengths=None, **options):
    return hmm.fit(z, lengths, max_iterations=1, tol=0, **options)


# ------------------------------------------------------------------------------------------------- published


def test_one_step_for_healthy_and_fever():
    learned = once(HEALTH, [0, 1, 2])
    np.testing.assert_allclose(learned.start, [0.8765159868, 0.1234840132], atol=1e-10)
    np.testing.assert_allclose(
        learned.transition, [[0.5023529412, 0.4976470588], [0.1634361233, 0.8365638767]], atol=1e-10
    )
    np.testing.assert_allclose(
        learned.emission.table,
        [[0.5121102809, 0.3639525895, 0.1239371296], [0.0958411775, 0.2926578812, 0.6115009413]],
        atol=1e-10,
    )
    assert np.exp(learned.log_likelihoods_[0]) == pytest.approx(907 / 25000, rel=1e-12)


def test_ten_steps_are_those_of_hmmlearn():
    """hmmlearn 0.3.3: CategoricalHMM(3, n_iter=10), from the same model on the same three sequences."""
    start, transition = [0.2, 0.3, 0.5], [[0.6, 0.2, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]]
    emission = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.2, 0.2, 0.3, 0.3]]
    z = [(t * t + t // 3) % 7 % 4 for t in range(120)]
    learned = HMM(start, transition, emission).fit(z, [20, 40, 60], max_iterations=10, tol=0)
    np.testing.assert_allclose(
        learned.log_likelihoods_[[0, 1, 9, 10]],
        [-168.717784201275, -161.001045733232, -151.661455951431, -150.183985081705],
        rtol=1e-12,
    )
    np.testing.assert_allclose(learned.start, [7.215830079994e-01, 2.782597480887e-01, 1.572439119763e-04], atol=1e-12)
    np.testing.assert_allclose(learned.transition[0], [0.176131351795, 0.691349359886, 0.132519288319], atol=1e-11)
    np.testing.assert_allclose(
        learned.emission.table[2], [0.132569561845, 0.066437612853, 0.340668596189, 0.460324229112], atol=1e-11
    )


# ------------------------------------------------------------------------------------------------ enumeration


@pytest.mark.slow
@given(data=st.data())
def test_one_step_is_that_of_the_enumeration(data):
    hmm = data.draw(models())
    sequences = data.draw(st.lists(st.lists(st.integers(-1, 2), min_size=1, max_size=4), min_size=1, max_size=3))
    log_likelihood, start, pairs, symbols = enumerated(hmm, sequences)
    if log_likelihood == -np.inf:
        with pytest.raises(ModelError, match=r"z\[t=\d\].* impossible"):
            once(hmm, sequences)
        return
    learned = once(hmm, sequences)
    assert learned.log_likelihoods_[0] == pytest.approx(log_likelihood, abs=1e-12)
    np.testing.assert_allclose(learned.start, normalised(start, hmm.start), atol=1e-12)
    np.testing.assert_allclose(learned.transition, normalised(pairs, hmm.transition), atol=1e-12)
    np.testing.assert_allclose(learned.emission.table, normalised(symbols, hmm.emission.table), atol=1e-12)


@pytest.mark.slow
@given(data=st.data())
def test_one_step_with_some_states_known_is_that_of_the_enumeration(data):
    hmm = data.draw(models())
    sequences = data.draw(st.lists(st.lists(st.integers(-1, 2), min_size=1, max_size=4), min_size=1, max_size=3))
    known = [[data.draw(st.integers(-1, hmm.n_states - 1)) for _ in z] for z in sequences]
    log_likelihood, start, pairs, symbols = enumerated(hmm, sequences, known)
    if log_likelihood == -np.inf:
        with pytest.raises(ModelError, match="impossible"):
            once(hmm, sequences, states=known)
        return
    learned = once(hmm, sequences, states=known)
    assert learned.log_likelihoods_[0] == pytest.approx(log_likelihood, abs=1e-12)
    np.testing.assert_allclose(learned.start, normalised(start, hmm.start), atol=1e-12)
    np.testing.assert_allclose(learned.transition, normalised(pairs, hmm.transition), atol=1e-12)
    np.testing.assert_allclose(learned.emission.table, normalised(symbols, hmm.emission.table), atol=1e-12)


@pytest.mark.slow
@given(data=st.data())
def test_one_step_with_pseudo_counts_is_that_of_the_enumeration(data):
    hmm = data.draw(models())
    z = data.draw(st.lists(st.integers(-1, 2), min_size=1, max_size=4))
    log_likelihood, start, pairs, symbols = enumerated(hmm, [z])
    if log_likelihood == -np.inf:
        return
    learned = once(hmm, z, prior=Prior(0.5, np.full((hmm.n_states, hmm.n_states), 2.0), 1.5))
    np.testing.assert_allclose(learned.start, normalised(start + 0.5 * (hmm.start > 0), hmm.start), atol=1e-12)
    np.testing.assert_allclose(learned.transition, normalised(pairs + 2.0, hmm.transition), atol=1e-12)
    table = hmm.emission.table
    np.testing.assert_allclose(learned.emission.table, normalised(symbols + 1.5 * (table > 0), table), atol=1e-12)


@given(data=st.data())
def test_the_likelihood_never_decreases(data):
    hmm = data.draw(models())
    z = data.draw(st.lists(st.integers(-1, 2), min_size=1, max_size=30))
    if hmm.score(z) == -np.inf:
        return
    prior = data.draw(st.sampled_from([None, 0.0, 0.5]))
    frozen = data.draw(st.sets(st.sampled_from(["start", "transition", "emission"])))
    learned = hmm.fit(z, prior=prior, frozen=frozen, max_iterations=20, tol=0)
    climbed = np.diff(learned.learning.log_posteriors_)
    assert (climbed >= 0.0).all()
    assert learned.score(z) == pytest.approx(learned.log_likelihoods_[-1], abs=1e-9)
    if prior is None:
        np.testing.assert_array_equal(learned.learning.log_posteriors_, learned.log_likelihoods_)
    for part in frozen:
        before, after = getattr(hmm, part), getattr(learned, part)
        assert before is after
    for part in ("start", "transition"):  # what is impossible stays impossible
        assert not (getattr(learned, part)[getattr(hmm, part) == 0.0]).any()
    assert not learned.emission.table[hmm.emission.table == 0.0].any()


# ------------------------------------------------------------------------------------------- other emissions

REAL = {
    "gaussian": Gaussian([[0.0, 1.0], [2.0, -1.0]], [[1.0, 1.0], [1.0, 2.0]]),
    "multivariate": MultivariateGaussian(
        [[0.0, 1.0], [2.0, -1.0]], [[[1.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
    ),
    "mixture": gaussian_mixture([[0.4, 0.6], [0.5, 0.5]], [[0.0, 1.0], [4.0, 5.0]], [[1.0, 1.0], [1.0, 1.0]]),
    "poisson": Poisson([2.0, 7.0]),
    "product": Product([Categorical([[0.8, 0.2], [0.3, 0.7]]), Gaussian([0.0, 3.0], [1.0, 1.0])]),
}


def with_gaps(z):
    z = z.copy().reshape(len(z), -1)
    missing = -1 if z.dtype.kind == "i" else NAN
    z[10:13] = z[20, 0] = missing
    return z


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("prior", [None, 2.0])
def test_every_emission_climbs_and_equals_its_function(name, prior):
    truth = HMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], REAL[name])
    z = with_gaps(truth.sample(300, seed=1)[0])
    guess = HMM(
        [0.5, 0.5],
        [[0.5, 0.5], [0.5, 0.5]],
        truth.emission.randomized(truth.emission.check(z), np.random.default_rng(0)),
    )
    learned = guess.fit(z, [100, 200], prior=prior, max_iterations=15, tol=0)
    assert (np.diff(learned.learning.log_posteriors_) > 0.0).all()
    assert learned.iterations == 15
    assert learned.score(z, [100, 200]) == pytest.approx(learned.log_likelihoods_[-1], rel=1e-12)
    # the same by hand: each observation is a symbol of its own
    table = guess.emission.likelihoods(guess.emission.check(z))[0]
    transition = one_step_by_hand(guess, table, [(0, 100), (100, 300)])
    if prior is None:
        np.testing.assert_allclose(once(guess, z, [100, 200]).transition, transition, atol=1e-10)


def one_step_by_hand(hmm, table, pieces):
    """The textbook's forward and backward passes, in plain NumPy."""
    pairs = np.zeros((hmm.n_states, hmm.n_states))
    for begin, end in pieces:
        b = table[begin:end]
        alpha, beta, scale = np.zeros_like(b), np.ones_like(b), np.zeros(len(b))
        for t in range(len(b)):
            alpha[t] = (hmm.start if t == 0 else alpha[t - 1] @ hmm.transition) * b[t]
            scale[t] = alpha[t].sum()
            alpha[t] /= scale[t]
        for t in range(len(b) - 2, -1, -1):
            beta[t] = hmm.transition @ (b[t + 1] * beta[t + 1]) / scale[t + 1]
        for t in range(len(b) - 1):
            pairs += np.outer(alpha[t], b[t + 1] * beta[t + 1] / scale[t + 1]) * hmm.transition
    return pairs / pairs.sum(axis=1, keepdims=True)


def test_two_gaussians_are_told_apart():
    truth = HMM([1.0, 0.0], [[0.97, 0.03], [0.05, 0.95]], Gaussian([0.0, 3.0], [1.0, 4.0]))
    z, states = truth.sample(20_000, seed=4)
    guess = HMM([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], Gaussian([-1.0, 1.0], [9.0, 9.0]))
    learned = guess.fit(z)
    assert learned.converged
    np.testing.assert_allclose(learned.emission.mean[:, 0], [0.0, 3.0], atol=0.06)
    np.testing.assert_allclose(learned.emission.variance[:, 0], [1.0, 4.0], rtol=0.06)
    np.testing.assert_allclose(learned.transition, truth.transition, atol=0.006)
    assert (learned.decode(z) == states).mean() > 0.95
    assert learned.log_likelihoods_[-1] > truth.score(z)


def test_states_that_are_all_known_are_counted():
    z, states = STICKY.sample(400, seed=3)
    learned = HMM([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]).fit(z, states=states)
    counted = from_states(z, states)
    assert learned.converged
    np.testing.assert_allclose(learned.transition, counted.transition, atol=1e-12)
    np.testing.assert_allclose(learned.emission.table, counted.emission.table, atol=1e-12)
    np.testing.assert_allclose(learned.start, counted.start, atol=1e-12)


def test_a_few_known_states_say_which_is_which():
    z, states = STICKY.sample(3_000, seed=5)
    told = np.full(len(z), -1)
    told[::10] = states[::10]
    backwards = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.45, 0.55], [0.55, 0.45]])
    np.testing.assert_allclose(backwards.fit(z).emission.table[0, 0], 0.2, atol=0.05)
    np.testing.assert_allclose(backwards.fit(z, states=told).emission.table[:, 0], [0.9, 0.2], atol=0.05)
    real = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], Gaussian([1.0, 0.0], [1.0, 1.0]))
    noisy = Gaussian([0.0, 2.0], [1.0, 1.0]).sample(states, np.random.default_rng(0))
    np.testing.assert_allclose(real.fit(noisy, states=told).emission.mean[:, 0], [0.0, 2.0], atol=0.15)


# -------------------------------------------------------------------------------------------------- promises


def test_states_that_are_not_visited_stay_as_they_are():
    hmm = HMM([1, 0, 0], [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.1, 0.2, 0.7]], [[0.9, 0.1], [0.3, 0.7], [0.25, 0.75]])
    learned = hmm.fit([0, 0, 1, 1, 0, 1, 0, 0])
    assert learned.transition[2].tolist() == [0.1, 0.2, 0.7]
    assert learned.emission.table[2].tolist() == [0.25, 0.75]


@pytest.mark.slow
def test_sparse_transitions_are_learned_alike():
    sparse = pytest.importorskip("scipy.sparse")
    K = 30
    ring = 0.6 * np.eye(K) + 0.4 * np.roll(np.eye(K), 1, axis=1)
    emission = np.random.default_rng(0).dirichlet(np.ones(5), size=K)
    dense = HMM(np.full(K, 1 / K), ring, emission)
    z, _ = dense.sample(500, seed=1)
    for options in ({}, {"prior": 0.3}):
        one = dense.fit(z, max_iterations=5, tol=0, **options)
        other = dense.replace(transition=sparse.csr_array(ring)).fit(z, max_iterations=5, tol=0, **options)
        assert not isinstance(other.transition, np.ndarray)
        np.testing.assert_allclose(other.transition.toarray(), one.transition, atol=1e-12)
        np.testing.assert_allclose(other.learning.log_posteriors_, one.learning.log_posteriors_, rtol=1e-12)
    again = dense.replace(transition=sparse.csr_array(ring)).fit(z, max_iterations=2, tol=0, restarts=2)
    assert np.count_nonzero(again.transition.toarray()) == 2 * K
    with pytest.raises(ParameterError, match=r"for a sparse transition matrix it has to be one number"):
        again.fit(z, prior=Prior(transition=np.ones((K, K))))


def test_a_small_sparse_matrix_keeps_its_entries_where_no_transition_is_expected():
    """Few states are swept as a dense table, and what the data exclude has an expected count of 0 there."""
    sparse = pytest.importorskip("scipy.sparse")
    moves = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.25, 0.5]]
    dense = HMM([1.0, 0.0, 0.0], moves, np.eye(3))
    other = dense.replace(transition=sparse.csr_array(moves))
    for options in ({}, {"prior": 0.5}):
        one = dense.fit([0, 1], max_iterations=1, tol=0, **options)
        alike = other.fit([0, 1], max_iterations=1, tol=0, **options)
        np.testing.assert_allclose(alike.dense_transition, one.dense_transition, atol=1e-15)
        assert sparse.issparse(alike.transition)


@pytest.mark.slow
def test_restarts_find_the_better_hill_and_repeat_themselves():
    truth = HMM(
        [0.4, 0.3, 0.3], np.full((3, 3), 0.1) + 0.7 * np.eye(3), [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    )
    z, _ = truth.sample(400, seed=2)
    even = HMM(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), np.full((3, 3), 1 / 3))  # a saddle: nothing can be gained
    assert even.fit(z).iterations == 2
    learned = even.fit(z, restarts=4, seed=1)
    assert learned.learning.reached_.shape == (4,)
    assert learned.learning.reached_[0] < learned.log_likelihoods_[-1] == learned.learning.reached_.max()
    again = even.fit(z, restarts=4, seed=1)
    assert again.transition.tobytes() == learned.transition.tobytes()
    kept = even.fit(z, restarts=3, frozen=["transition"], seed=1)
    assert kept.transition is even.transition


def test_held_out_observations_are_scored_after_every_iteration():
    z, _ = STICKY.sample(300, seed=0)
    other, _ = STICKY.sample(200, seed=1)
    learned = HEALTH.replace(emission=[[0.6, 0.4], [0.4, 0.6]]).fit(z, held_out=[other, other[:50]])
    assert learned.learning.held_out_.shape == learned.log_likelihoods_.shape
    assert learned.learning.held_out_[-1] == pytest.approx(learned.score(other) + learned.score(other[:50]), rel=1e-9)


def test_information_criteria():
    z, _ = STICKY.sample(300, seed=0)
    z[5] = -1
    learned = STICKY.fit(z)
    assert learned.learning.n_parameters == 1 + 2 + 2
    assert learned.learning.n_observations_ == 299
    assert learned.aic == pytest.approx(10 - 2 * learned.log_likelihoods_[-1])
    assert learned.bic == pytest.approx(5 * np.log(299) - 2 * learned.log_likelihoods_[-1])
    assert STICKY.fit(z, frozen=["emission", "start"]).learning.n_parameters == 2


def test_the_result_is_a_model_like_any_other():
    z, _ = STICKY.sample(100, seed=0)
    learned = STICKY.fit(z)
    assert isinstance(learned, FittedHMM)
    again = pickle.loads(pickle.dumps(learned))
    assert again.transition.tobytes() == learned.transition.tobytes()
    assert again.iterations == learned.iterations
    assert type(learned.replace(start=[1, 0])) is HMM
    assert learned.filter(z).shape == (100, 2)
    with pytest.raises(ValueError, match="read-only"):
        learned.log_likelihoods_[0] = 0.0


# ---------------------------------------------------------------------------------------------- limits and errors


def test_a_limit_is_announced_unless_it_was_asked_for():
    z, _ = STICKY.sample(300, seed=0)
    guess = HMM([0.5, 0.5], [[0.5, 0.5], [0.4, 0.6]], [[0.6, 0.4], [0.4, 0.6]])
    with pytest.warns(
        ConvergenceWarning, match=r"learning did not converge: max_iterations=3 reached; the last .* nats"
    ):
        learned = guess.fit(z, max_iterations=3)
    assert not learned.converged
    assert learned.learning.stopped == "max_iterations=3 reached"
    assert learned.iterations == 3
    assert not guess.fit(z, max_iterations=3, tol=0).converged
    with pytest.warns(ConvergenceWarning, match="deadline=1e-09 seconds passed"):
        assert guess.fit(z, deadline=1e-9).iterations == 1


def two_means(means, hook):
    """An emission of the user's own, whose M-step calls `hook` first."""

    def log_density(z):
        return -0.5 * (z[:, np.newaxis] - means) ** 2

    def fit_(z, weights):
        return two_means(hook((weights.T @ z) / weights.sum(axis=0)), hook).log_density

    return LogDensity(log_density, n_states=2, fit=fit_)


def test_a_function_that_does_not_maximise_is_found_out():
    z = np.concatenate([np.random.default_rng(0).normal(loc, 1.0, 50) for loc in (0.0, 6.0, 0.0)])
    guess = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], two_means(np.array([-1.0, 5.0]), lambda means: means))
    assert guess.fit(z).converged
    wrong = guess.replace(emission=two_means(np.array([-1.0, 5.0]), lambda means: means + 9.0))
    with pytest.warns(ConvergenceWarning, match="fell from .* to .* nats in iteration 1: the M-step does not maximise"):
        learned = wrong.fit(z)
    assert learned.iterations == 0
    assert learned.score(z) == wrong.score(z)
    assert not learned.converged
    broken = guess.replace(emission=two_means(np.array([-1.0, 5.0]), lambda means: means * NAN))
    with pytest.raises(ModelError, match="log_density is nan"):
        broken.fit(z)


def test_ctrl_c_keeps_the_best_model_so_far():
    calls = []

    def interrupting(means):
        calls.append(means)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return means

    z = np.concatenate([np.random.default_rng(0).normal(loc, 1.0, 50) for loc in (0.0, 2.0, 0.0)])
    guess = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], two_means(np.array([-1.0, 5.0]), interrupting))
    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        learned = guess.fit(z, restarts=3)
    assert learned.iterations == 2
    assert len(learned.learning.reached_) == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_is_shown_on_stderr(capsys):
    STICKY.fit(STICKY.sample(50, seed=0)[0], max_iterations=2, tol=0, restarts=2, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Baum-Welch" in shown.err
    assert "log-likelihood" in shown.err


@pytest.mark.parametrize(
    ("z", "options", "error", "message"),
    [
        ([], {}, ModelError, "z holds no observations"),
        ([[0, 1], []], {}, ModelError, "sequence 1 is empty"),
        ([0, 7], {}, ModelError, r"z\[t=1\] is 7; the symbols are 0\.\.1"),
        ([0, 1], {"states": [0]}, ModelError, r"states has shape \(1,\), not \(2,\)"),
        (
            [0, 1],
            {"states": [0, 2]},
            ModelError,
            r"states\[1\] is 2; the states are 0\.\.1 .n_states=2., and -1 or NaN is a missing one",
        ),
        ([[0, 1]], {"states": [[0, 1], [1]]}, ModelError, "states has 2 sequences, but z has 1"),
        ([[0, 1]], {"states": [[0, 1, 1]]}, ModelError, r"states\[0\] has shape \(3,\), not \(2,\)"),
        ([0, 1], {"frozen": ["emision"]}, ParameterError, "unknown part in frozen 'emision'; did you mean 'emission'"),
        ([0, 1], {"frozen": "means"}, ParameterError, "unknown part in frozen 'means'"),
        ([0, 1], {"restarts": 0}, ParameterError, "restarts=0 is less than 1"),
        ([0, 1], {"max_iterations": 0}, ParameterError, "max_iterations=0 is less than 1"),
        ([0, 1], {"seed": None}, ParameterError, "seed=None is not a whole number"),
        ([0, 1], {"tol": -1.0}, ParameterError, "tol=-1 is negative"),
        ([0, 1], {"tol": NAN}, ParameterError, "tol=nan is not a finite number"),
        ([0, 1], {"deadline": -1.0}, ParameterError, r"deadline=-1\.0 is not a positive number"),
        ([0, 1], {"prior": -1.0}, ParameterError, r"prior\.start=-1 is negative"),
        (
            [0, 1],
            {"prior": Prior(transition=[[1.0]])},
            ParameterError,
            r"prior\.transition has shape \(1, 1\), not \(2, 2\)",
        ),
    ],
)
def test_bad_arguments(z, options, error, message):
    with pytest.raises(error, match=message):
        STICKY.fit(z, **options)


def test_impossible_observations_are_named():
    never = HMM([1, 0], [[1, 0], [0, 1]], [[1, 0], [0, 1]])
    with pytest.raises(ModelError, match=r"z\[t=1\] of sequence 1 is 1, which is impossible"):
        never.fit([[0, 0], [0, 1]], restarts=2)
    # a prior for what was thought impossible does not help: it is added to counts that there are not
    with pytest.raises(ModelError, match="impossible"):
        never.fit([0, 1], prior=Prior(emission=[[1.0, 1.0], [1.0, 1.0]]))


def test_what_is_impossible_becomes_possible_by_an_array_of_pseudo_counts():
    never = HMM([1, 0], [[1, 0], [0, 1]], [[1, 0], [0, 1]])
    learned = never.fit([0, 0], prior=Prior(emission=[[1.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_allclose(learned.emission.table, [[0.75, 0.25], [0.5, 0.5]])
    assert learned.learning.log_posteriors_[0] == -np.inf


def test_the_functions_and_the_method_are_one():
    z, _ = STICKY.sample(100, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, other = fit(STICKY, z), STICKY.fit(z)
    assert one.transition.tobytes() == other.transition.tobytes()
