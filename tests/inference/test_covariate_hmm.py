"""Hidden Markov models with covariates against all paths, the plain model, plain NumPy, and scikit-learn."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.linear_model import LogisticRegression

import rlsuite as rl
from rlsuite.errors import CallError, ConvergenceWarning, FileError, ModelError, ParameterError
from rlsuite.inference import CovariateHMM, Gaussian, GaussianHMM
from rlsuite.inference.covariate_learning import CovariateEM, TransitionCounts
from rlsuite.inference.covariate_passes import log_backward_pass
from rlsuite.inference.covariates import Passes, centered, columns_of, with_covariates
from rlsuite.inference.multinomial_logit import Regression
from rlsuite.reference import covariate_hmm as reference

LEVELS = Gaussian([0.0, 2.5], [1.0, 1.0])


def probabilities(model, u):
    """The matrices as the equation has them, with the coefficients that belong to covariates of 0."""
    odds = np.exp(model.coefficients.intercept + np.einsum("ijd,td->tij", model.coefficients.slope, u))
    return odds / odds.sum(axis=2, keepdims=True)


def by_brute_force(model, z, u):
    """Likelihood, posterior of the states, expected moves (T - 1, K, K), best probability, and that of each path."""
    matrices = probabilities(model, u)
    b = np.exp(model.emission.log_likelihoods(model.emission.check(z)))
    n, states = len(z), model.n_states
    total, best, posterior, moves = 0.0, 0.0, np.zeros((n, states)), np.zeros((n - 1, states, states))
    of_path = {}
    for path in itertools.product(range(states), repeat=n):
        p = model.start[path[0]] * np.prod(b[np.arange(n), path])
        p *= np.prod([matrices[t, path[t], path[t + 1]] for t in range(n - 1)])
        of_path[path] = p
        total += p
        best = max(best, p)
        posterior[np.arange(n), path] += p
        moves[np.arange(n - 1), path[:-1], path[1:]] += p
    return total, posterior / total, moves / total, best, of_path


def random_model(rng):
    """Up to 3 states and 3 covariates; some models have impossible transitions, a center, and missing observations."""
    states, symbols, number = (int(rng.integers(low, 4)) for low in (1, 2, 1))
    transition = rng.dirichlet(np.ones(states), size=states)
    if rng.random() < 0.4:
        transition *= rng.random(transition.shape) < 0.7
        transition[np.arange(states), rng.integers(states, size=states)] += 0.1
        transition /= transition.sum(axis=1, keepdims=True)
    start = rng.dirichlet(np.ones(states)) if rng.random() < 0.7 else np.eye(states)[0]
    center = rng.normal(size=number) if rng.random() < 0.5 else None
    slope = 2.0 * rng.normal(size=(states, states, number))
    model = CovariateHMM(start, transition, rng.dirichlet(np.ones(symbols), size=states), slope, center)
    length = int(rng.integers(1, 7))
    z = rng.integers(-1 if rng.random() < 0.3 else 0, symbols, size=length)
    u = (
        rng.normal(size=(length, number))
        if rng.random() < 0.7
        else rng.integers(2, size=(length, number)).astype(float)
    )
    return model, z, u


def check_against_all_paths(model, z, u):
    total, posterior, moves, best, of_path = by_brute_force(model, z, u)
    assert model.score(z, u) == pytest.approx(np.log(total), abs=1e-11)
    assert np.abs(model.smooth(z, u) - posterior).max() < 1e-12
    for t in range(len(z)):
        assert np.abs(model.filter(z, u)[t] - by_brute_force(model, z[: t + 1], u[: t + 1])[1][-1]).max() < 1e-12
    assert of_path[tuple(model.decode(z, u).tolist())] == pytest.approx(best, rel=1e-12)
    seen = with_covariates(model.emission, z, u, None, model.n_covariates)
    passes = Passes(model, seen)
    counts = passes.empty_moves()
    passes.smoothed(0, counts)
    assert counts.sum() == pytest.approx(len(z) - 1)
    for point in seen.points:
        found, shared = (counts[(seen.points == point).all(axis=1)], moves[(u[:-1] == point).all(axis=1)])
        assert np.abs(found.sum(axis=0) - shared.sum(axis=0)).max() < 1e-12
    assert np.abs(model.transitions(u) - probabilities(model, u)).max() < 1e-12
    assert np.abs(model.at(u[0]).transition - probabilities(model, u[:1])[0]).max() < 1e-12
    # plain NumPy, with a matrix for each step
    b = np.exp(model.emission.log_likelihoods(model.emission.check(z)))
    plain = reference.logit_transitions(*model.coefficients, u)
    found = reference.expected_moves(model.start, plain[:-1], b)
    assert np.abs(found[0] - moves).max(initial=0.0) < 1e-12
    assert found[2] == pytest.approx(np.log(total), abs=1e-11)


def test_against_all_paths():
    rng = np.random.default_rng(0)
    for _ in range(60):
        check_against_all_paths(*random_model(rng))


@pytest.mark.slow
def test_against_all_paths_of_many_models():
    rng = np.random.default_rng(1)
    for _ in range(1_500):
        check_against_all_paths(*random_model(rng))


@pytest.mark.slow
def test_numbers_of_all_sizes_give_what_logarithms_do():
    """Where doubles will not do, the passes say so; chains that cannot return and certain observations among them."""
    in_logarithms = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        states, length = int(rng.integers(2, 5)), int(rng.integers(1, 400))
        transition = rng.dirichlet(np.full(states, 0.3), size=states) + 10.0 ** -rng.integers(3, 200)
        transition *= rng.random(transition.shape) < rng.choice([0.6, 1.0])
        transition[np.arange(states), rng.integers(states, size=states)] += 0.1
        transition /= transition.sum(axis=1, keepdims=True)
        levels = Gaussian(rng.choice([1.0, 30.0, 300.0]) * np.arange(states), np.ones(states))
        slope = rng.choice([1.0, 20.0, 500.0]) * rng.normal(size=(states, states, 2))
        model = CovariateHMM(rng.dirichlet(np.ones(states)), transition, levels, slope)
        u = rng.normal(size=(length, 2))
        z = model.sample(u, seed=seed)[0]
        passes = Passes(model, with_covariates(levels, z, u, None, 2))
        exact = passes._log_forward(0)
        if exact.possible < length:
            continue
        posterior, moves, found_moves = np.empty((length, states)), passes.empty_moves(), passes.empty_moves()
        rows, which = passes._piece(0)
        tables = passes._log_matrices, which, passes._log_likelihood, rows
        log_backward_pass(*tables, passes._work, exact.alpha, exact.log_scale, posterior, moves)
        found = passes.forward(0)
        assert np.abs(found.alpha - np.exp(exact.alpha)).max() < 1e-10, seed
        assert found.log_scale.sum() == pytest.approx(exact.log_scale.sum(), rel=1e-12, abs=1e-9), seed
        smoothed, log_likelihood = passes.smoothed(0, found_moves)
        assert log_likelihood == pytest.approx(exact.log_scale.sum(), rel=1e-12, abs=1e-9), seed
        assert np.abs(smoothed - posterior).max() < 1e-10, seed
        assert np.abs(found_moves - moves).max() < 1e-10, seed
        in_logarithms += smoothed.tobytes() == posterior.tobytes()
    assert 20 < in_logarithms < 200


def test_it_is_the_plain_model_where_nothing_depends_on_covariates():
    rng = np.random.default_rng(0)
    chain = [0.2, 0.3, 0.5], [[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.05, 0.05, 0.9]]
    plain = rl.HMM(*chain, Gaussian([0.0, 1.0, 3.0], [1.0, 0.5, 1.0]))
    z, _ = plain.sample(400, seed=1)
    z[rng.random(400) < 0.1] = np.nan
    u = rng.normal(size=(400, 2))
    model = CovariateHMM.from_hmm(plain, 2)
    parts, covariates = [z[:250], z[250:251], z[251:]], [u[:250], u[250:251], u[251:]]
    assert model.score(parts, covariates) == pytest.approx(plain.score(parts), abs=1e-10)
    for name in ("filter", "smooth", "decode"):
        for ours, theirs in zip(getattr(model, name)(parts, covariates), getattr(plain, name)(parts), strict=True):
            assert np.abs(ours - theirs).max() < 1e-12
        end_to_end = getattr(model, name)(z, u, [250, 1, 149])
        assert np.array_equal(end_to_end, np.concatenate(getattr(model, name)(parts, covariates)))
    # A large ridge keeps slopes at 0: learning is Baum-Welch, with and without a prior, iteration by iteration.
    for prior in (None, 0.5):
        learned = model.fit(parts, covariates, ridge=1e9, prior=prior, max_iterations=6, tol=0)
        theirs = plain.fit(parts, prior=prior, max_iterations=6, tol=0)
        assert np.abs(learned.transition - theirs.transition).max() < 1e-6
        assert np.abs(learned.learning.log_likelihoods_ - theirs.log_likelihoods_).max() < 1e-6
        assert np.abs(learned.slope).max() < 1e-6
        assert learned.transition[0, 2] == 0.0 == learned.slope[0, 2, 0]
    # So it is where some states are known, some parts stay as they are, and others are held out.
    known = [np.full(250, -1), np.array([2]), rng.integers(-1, 2, size=149)]
    more = {"max_iterations": 5, "tol": 0, "restarts": 2}
    for frozen in ((), ("start", "emission"), ("transition", "mean")):
        ours = model.fit(parts, covariates, states=known, frozen=frozen, held_out=(z[:90], u[:90]), ridge=1e9, **more)
        theirs = plain.fit(parts, states=known, frozen=frozen, held_out=z[:90], **more)
        assert np.abs(ours.learning.log_likelihoods_ - theirs.log_likelihoods_).max() < 1e-6, frozen
        assert np.abs(ours.learning.held_out_ - theirs.learning.held_out_).max() < 1e-6, frozen
        assert np.abs(ours.emission.mean - theirs.emission.mean).max() < 1e-6, frozen
        slopes = 0 if "transition" in frozen else 2 * 5
        assert ours.learning.n_parameters == theirs.learning.n_parameters + slopes, frozen
    # A long sequence of unlikely observations: no double is too small.
    far = rl.HMM([1, 0], [[0.5, 0.5], [1e-9, 1]], Gaussian([0.0, 100.0], [1e-2, 1e-2]))
    z = np.append(np.full(300, 50.0), [0.0, 100.0])
    assert CovariateHMM.from_hmm(far, 1).score(z, np.zeros(302)) == pytest.approx(far.score(z), rel=1e-12)


def three_states(seed, n):
    """A model with two covariates, observations in sequences of different lengths, and their covariates."""
    rng = np.random.default_rng(seed)
    slope = np.zeros((3, 3, 2))
    slope[0, 1], slope[0, 2], slope[1, 0], slope[2, 1] = [1.0, -0.5], [0.0, 1.0], [-1.0, 0.0], [0.5, 0.5]
    transition = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]]
    truth = CovariateHMM([0.5, 0.3, 0.2], transition, Gaussian([0.0, 4.0, 8.0], [1.0, 1.0, 1.0]), slope)
    sizes = [n // 2, n // 3, 1, n - n // 2 - n // 3 - 1]
    u = [np.column_stack([rng.normal(size=size), rng.integers(2, size=size)]) for size in sizes]
    return truth, [truth.sample(each, seed=rng)[0] for each in u], u


def check_the_regression():
    """It is that of scikit-learn, and its derivatives are right."""
    rng = np.random.default_rng(2)
    columns = np.column_stack([np.ones(200), rng.normal(size=(200, 2))])
    outcome = rng.integers(3, size=200)
    counts = np.eye(3)[outcome] * rng.exponential(size=(200, 1))
    regression = Regression(columns.T, counts.T, np.zeros(3), reference=1)
    logs = regression.log_probabilities
    weights = np.where([[True], [False], [True]], rng.normal(size=(3, 3)), 0.0)

    def objective(flat):
        moved = weights.copy()
        moved[[0, 2]] = flat.reshape(2, 3)
        return regression.objective(moved, logs(moved))

    numeric = approx_fprime(weights[[0, 2]].reshape(-1), objective, 1e-6)
    assert np.abs(numeric - regression.gradient(weights, logs(weights))[[0, 2]].reshape(-1)).max() < 1e-3
    steps = 1e-5 * np.eye(6)
    moved = [weights + np.insert(step.reshape(2, 3), 1, 0.0, axis=0) for step in (*steps, *-steps)]
    slopes = np.array([regression.gradient(one, logs(one))[[0, 2]].reshape(-1) for one in moved])
    assert np.abs(regression.information(logs(weights)) + (slopes[:6] - slopes[6:]) / 2e-5).max() < 1e-5
    best = regression.most_probable(weights)
    theirs = LogisticRegression(C=1e12, tol=1e-10, max_iter=10_000, fit_intercept=False)
    theirs.fit(columns, outcome, sample_weight=counts.sum(axis=1))
    assert np.abs(best - (theirs.coef_ - theirs.coef_[1])).max() < 1e-4
    # However far away the search begins, it ends there; here nearly all probabilities are 0 or 1.
    for seed in range(20):
        far = np.where([[True], [False], [True]], 300.0 * np.random.default_rng(seed).normal(size=(3, 3)), 0.0)
        assert np.abs(regression.most_probable(far) - best).max() < 1e-7


def test_learning():
    truth, z, u = three_states(0, 2_400)
    first = truth.replace(slope=np.zeros((3, 3, 2)), emission=Gaussian([-1.0, 5.0, 7.0], [2.0, 2.0, 2.0]))
    found = first.fit(z, covariates=u)
    assert found.learning.converged
    assert found.learning.n_parameters == 2 + 5 + 10 + 6
    error, coefficients, true = found.standard_errors(z, u), found.coefficients, truth.coefficients
    free = np.isfinite(error.intercept)
    assert free.sum() == 5, "of 9 transitions one is impossible, and three are references"
    deviations = np.append(
        (coefficients.intercept[free] - true.intercept[free]) / error.intercept[free],
        (coefficients.slope[free] - true.slope[free]) / error.slope[free],
    )
    assert np.abs(deviations).max() < 3.3
    assert np.sqrt((deviations**2).mean()) < 1.5
    # The likelihood has a maximum there, and every iteration climbs; with a penalty, what is penalised does.
    for ridge, prior in ((0.0, None), (3.0, None), (3.0, 2.0)):
        found = first.fit(z, u, ridge=ridge, prior=prior, max_iterations=6, tol=0)
        assert (np.diff(found.learning.log_posteriors_) > -1e-9).all()
        seen = with_covariates(found.emission, z, u, None, 2)
        problem = CovariateEM(found, seen, columns_of(seen, penalised=False), prior, ridge)
        _, counts = problem.expect(centered(first, problem.columns.mean))
        for i, row in enumerate(problem.weights(found)):
            regression = problem.regression(counts, i)
            best, logs = regression.most_probable(row), regression.log_probabilities
            assert np.abs(regression.gradient(best, logs(best))[regression.others]).max() < 1e-6
            assert regression.objective(best, logs(best)) >= regression.objective(row, logs(row))
    # One iteration in plain NumPy.
    rows, moves, gammas = [], [], []
    for part, each in zip(z, u, strict=True):
        b = np.exp(first.emission.log_likelihoods(first.emission.check(part)))
        found = reference.expected_moves(first.start, reference.logit_transitions(*first.coefficients, each)[:-1], b)
        rows.append(each[:-1])
        moves.append(found[0])
        gammas.append(found[1])
    X = np.column_stack([np.ones(2_400 - 4), np.concatenate(rows)])
    one = first.fit(z, u, max_iterations=1, tol=0)
    expected = reference.multinomial_logit(X, np.concatenate(moves)[:, 0], iterations=10)
    assert np.abs(one.coefficients.intercept[0] - expected[:, 0]).max() < 1e-9
    assert np.abs(one.coefficients.slope[0] - expected[:, 1:]).max() < 1e-9
    assert np.abs(one.start - np.mean([gamma[0] for gamma in gammas], axis=0)).max() < 1e-12
    # Other restarts end no worse.
    assert first.fit(z[:1], u[:1], restarts=2).learning.reached_.size == 2
    check_the_regression()
    # Where all states are known, the moves from each are the outcomes of a logistic regression.
    u_0 = np.random.default_rng(5).normal(size=(500, 2))
    z_0, states = truth.sample(u_0, seed=5)
    of_known = first.fit(z_0, u_0, states=states).coefficients.slope[0]
    left = np.flatnonzero(states[:-1] == 0)
    theirs = LogisticRegression(C=1e12, tol=1e-10, max_iter=10_000).fit(u_0[left], states[left + 1]).coef_
    assert np.abs(of_known - (theirs - theirs[0])).max() < 1e-3
    # Where nothing was seen, all stays as it is.
    counts = TransitionCounts(np.ones(2), np.zeros((3, 2, 2)), np.zeros((3, 2)))
    model = CovariateHMM([0.4, 0.6], [[0.9, 0.1], [0.3, 0.7]], LEVELS, [[0, 1.5], [-1.0, 0]])
    seen = with_covariates(LEVELS, [0.0, 1.0, 2.0], [0.0, 1.0, 2.0], None, 1)
    problem = CovariateEM(model, seen, columns_of(seen, penalised=False), None, 0.0)
    found = problem.maximise(centered(model, problem.columns.mean), counts)
    assert np.abs(found.transition - model.transitions([0.5])[0]).max() < 1e-12
    assert np.abs(found.slope - model.slope).max() < 1e-12
    assert found.start.tolist() == [0.5, 0.5]


@pytest.mark.slow
def test_standard_errors_are_those_of_repeated_samples():
    """200 samples: the errors divided by the standard errors have a variance of 1, within its own deviation of .1."""
    deviations = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        slope = np.array([[0, 1.0], [-0.7, 0]])
        truth = CovariateHMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], Gaussian([0.0, 4.0], [1.0, 1.0]), slope)
        u = rng.normal(size=1_500)
        z, _ = truth.sample(u, seed=rng)
        found = truth.fit(z, u)
        error = found.standard_errors(z, u)
        slopes = (found.coefficients.slope - truth.coefficients.slope) / error.slope
        intercept = (found.coefficients.intercept - truth.coefficients.intercept) / error.intercept
        deviations.append([slopes[0, 1, 0], slopes[1, 0, 0], intercept[0, 1]])
    table = np.array(deviations)
    assert np.abs(table.mean(axis=0)).max() < 0.3
    assert np.abs(table.std(axis=0) - 1.0).max() < 0.2


def test_files_words_and_bad_input(tmp_path):
    model = CovariateHMM(
        [0.4, 0.6], [[0.9, 0.1], [0.0, 1.0]], LEVELS, [[[1.0, 0.0], [3.0, -1.0]], [[9.0, 9.0], [2.0, 2.0]]],
        [1.0, 2.0], ["low", "high"],
    )  # fmt: skip
    assert model.slope.tolist() == [[[0, 0], [2.0, -1.0]], [[0, 0], [0, 0]]], "differences from the reference"
    assert model.reference.tolist() == [0, 1]
    u = np.random.default_rng(0).normal(size=(50, 2))
    z, states = model.sample(u, seed=0)
    assert states.shape == (50,)
    assert (np.diff(states) >= 0).all(), "what is impossible does not occur"
    model.write(tmp_path / "model.npz")
    for again in (CovariateHMM.read(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model)), model.replace()):
        assert again.score(z, u) == model.score(z, u)
        assert (again.state_labels, repr(again)) == (model.state_labels, repr(model))
    moved = centered(model, np.array([5.0, -3.0]))
    assert np.abs(np.exp(moved.log_matrices(u)) - model.transitions(u)).max() < 1e-12
    assert moved.center.tolist() == [5.0, -3.0]
    # Where the covariates decide for certain, no slope is the most probable: that is said, and a ridge ends it.
    x = np.random.default_rng(1).normal(size=300)
    follows = np.append(0, x[:-1] > 0)
    plain = rl.HMM([0.5, 0.5], [[0.6, 0.4], [0.5, 0.5]], [[0.95, 0.05], [0.05, 0.95]])
    start = CovariateHMM.from_hmm(plain, 1)
    with pytest.warns(ConvergenceWarning, match="from state 0 to 1, 1 to 0 have no most probable values.*ridge=1"):
        large = start.fit(follows, x)
    assert np.isfinite(large.slope).all()
    assert large.slope[0, 1, 0] > 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 2 < start.fit(follows, x, ridge=1.0).slope[0, 1, 0] < 20
    assert np.isinf(large.standard_errors(follows, x).slope[0, 1, 0])
    # Covariates that are strongly correlated do not warn: a warning would be an error here.
    near = np.random.default_rng(2).normal(size=1_500)[:, None] + np.random.default_rng(3).normal(size=(1_500, 2)) / 1e3
    apart = CovariateHMM.from_hmm(rl.HMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], Gaussian([0.0, 4.0], [1.0, 1.0])), 2)
    assert apart.fit(apart.sample(near, seed=1)[0], near).learning.converged
    # The last covariates lead nowhere, whatever they are.
    fitted = [start.fit(follows, each, ridge=1.0) for each in (x, np.append(x[:-1], 1e300))]
    assert fitted[0].score(follows, x) == fitted[1].score(follows, x)
    # A state that is never left, or always at once, says nothing about slopes, and nothing is wrong.
    for once in (np.repeat([0, 1], 150), np.arange(300) % 2):
        assert np.isfinite(start.fit(once, x).slope).all()
    # Where a single state can follow, there is nothing to learn.
    ahead = CovariateHMM([1, 0], [[0.5, 0.5], [0.0, 1.0]], [[0.9, 0.1], [0.1, 0.9]], [[0, 1.0], [0, 0]])
    one = ahead.fit(np.repeat([0, 1], [20, 280]), x, ridge=1.0)
    assert one.transition[1].tolist() == [0.0, 1.0]
    alone = CovariateHMM.from_hmm(rl.HMM([1.0], [[1.0]], [[0.5, 0.5]]), 1).fit(follows, x)
    assert alone.score(follows, x) == pytest.approx(rl.HMM([1.0], [[1.0]], alone.emission).score(follows), abs=1e-9)
    assert np.isnan(alone.standard_errors(follows, x).slope).all()
    symbols = CovariateHMM([1, 0], [[0, 1], [1, 0]], np.eye(2), np.zeros((2, 2)))
    assert symbols.score([0, 0], [1.0, 1.0]) == -np.inf
    both = [np.zeros(3, dtype=int), np.zeros(2, dtype=int)]
    rl.HMM([1.0], [[1.0]], [[1.0]]).write(tmp_path / "plain.npz")
    twice = np.column_stack([x, 3 - 2 * x])
    two = CovariateHMM.from_hmm(plain, 2)
    for call, error, words in (
        (lambda: CovariateHMM([1, 0], np.eye(2), np.eye(2), np.zeros((3, 2))), ModelError, r"slope has shape \(3, 2\)"),
        (lambda: CovariateHMM([1, 0], np.eye(2), np.eye(2), np.zeros((2, 2, 0))), ModelError, "is an HMM"),
        (lambda: model.replace(slope=[[0, np.nan], [0, 0]]), ModelError, r"slope\[0, 1\] is nan"),
        (lambda: model.replace(center=[1.0]), ModelError, r"center has shape \(1,\), not \(2,\)"),
        (lambda: CovariateHMM([1, 0], np.eye(2), np.eye(2)), CallError, "slope"),
        (lambda: CovariateHMM.from_hmm(plain, 0), ParameterError, "n_covariates"),
        (lambda: model.score(z, u[:, :1]), ModelError, r"covariates has shape \(50, 1\), not \(T, 2\)"),
        (lambda: model.score(z, u[:-1]), ModelError, "covariates has 49 rows, and there are 50 observations"),
        (lambda: model.filter(z, np.where(u > 2, np.nan, u)), ModelError, r"covariates\[\d+, \d\] is nan.*fill in"),
        (lambda: start.smooth([1, -1], [["a"], ["b"]]), ModelError, "covariates has dtype"),
        (lambda: start.decode(both, np.zeros(5)), ModelError, "has one array, and z is a list of 2 sequences"),
        (lambda: start.decode(both, [np.zeros(3)]), ModelError, "covariates has 1 arrays"),
        (lambda: start.decode(both, [np.zeros(3), np.zeros(3)]), ModelError, r"covariates\[1\] has 3 rows"),
        (lambda: start.transitions([1e308, -1e308]) * start.replace(slope=[[0, 9], [0, 0]]).transitions([1e308]),
         ModelError, "no finite number"),
        (lambda: symbols.smooth([0, 0], [1.0, 1.0]), ModelError, r"z\[t=1\] is 0, which is impossible"),
        (lambda: symbols.decode([[0, 1], [0, 0]], [[1.0, 1.0]] * 2), ModelError, r"z\[t=1\] of sequence 1"),
        (lambda: symbols.fit([0, 0, 0], [1.0, 2.0, 3.0]), ModelError, "impossible"),
        (lambda: start.fit(follows, np.full(300, 7.0)), ModelError, r"covariates\[:, 0\] is 7 wherever.*constant"),
        (lambda: start.fit(both, [np.array([3.0, 3.0, 8.0]), np.array([3.0, 9.0])]), ModelError, "constant"),
        (lambda: two.fit(follows, twice), ModelError, r"covariates\[:, 1\] is a sum of multiples.*ridge=1"),
        (lambda: start.fit([both[0][:1]] * 2, [np.zeros(1)] * 2), ModelError, "no sequence has two observations"),
        (lambda: start.fit(follows, x, ridge=-1), ParameterError, "ridge=-1 is negative"),
        (lambda: start.fit(follows, x, restarts=0), ParameterError, "restarts"),
        (lambda: start.sample([]), ModelError, "no rows"),
        (lambda: start.replace(slope=[[0, 99], [0, 0]]).standard_errors(follows, x), ModelError, "no maximum near"),
        (lambda: CovariateHMM.read(tmp_path / "plain.npz"), FileError, "kind HMM, not CovariateHMM: read it with HMM"),
        (lambda: start.fit(follows, x, frozen=["slopes"]), ParameterError, "unknown part in frozen 'slopes'"),
        (lambda: start.fit(follows, x, states=[0, 1]), ModelError, "states has shape"),
        (lambda: start.fit(follows, x, held_out=follows), ParameterError, r"held_out=\(z, covariates\)"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
    assert np.isfinite(two.fit(follows, twice, ridge=1.0).slope).all()


@pytest.mark.slow
def test_the_result_and_its_standard_errors_are_those_of_a_search_in_plain_numpy():
    """All parameters by BFGS on the likelihood of the reference, and a numerical Hessian of the coefficients."""
    rng = np.random.default_rng(4)
    truth = CovariateHMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], LEVELS, [[0, 1.0], [-0.7, 0]])
    u = rng.normal(size=400)
    z, _ = truth.sample(u, seed=1)

    def loss(given):
        logits, level, spread, first = np.split(given, [4, 6, 8])
        start = np.array([1.0, np.exp(first[0])]) / (1.0 + np.exp(first[0]))
        intercept, slope = np.array([[0, logits[0]], [logits[1], 0]]), np.array([[0, logits[2]], [logits[3], 0]])
        b = np.exp(-0.5 * ((z[:, None] - level) / np.exp(spread)) ** 2) / (np.sqrt(2 * np.pi) * np.exp(spread))
        matrices = reference.logit_transitions(intercept, slope[:, :, None], u[:, None])
        return -reference.expected_moves(start, matrices[:-1], b)[2]

    found = truth.fit(z, u, tol=1e-12, max_iterations=20_000)
    search = minimize(loss, np.array([-2.0, -1.0, 0, 0, 0, 2.5, 0, 0, 0]), method="BFGS", options={"gtol": 1e-6})
    assert -search.fun == pytest.approx(found.learning.log_likelihood, abs=1e-3)
    intercept, slope = found.coefficients
    ours = np.array([intercept[0, 1], intercept[1, 0], slope[0, 1, 0], slope[1, 0, 0]])
    assert np.abs(ours - search.x[:4]).max() < 1e-2
    rest = [*found.emission.mean[:, 0], *np.log(found.emission.variance[:, 0]) / 2, -30.0]
    if found.start[1] > 0.5:
        rest[-1] = 30.0

    def of_coefficients(four):
        return loss(np.append(four, rest))

    steps = 1e-3 * np.eye(4)
    hessian = np.array(
        [
            [
                of_coefficients(ours + a + b) - of_coefficients(ours + a - b)
                - of_coefficients(ours - a + b) + of_coefficients(ours - a - b)
                for b in steps
            ]
            for a in steps
        ]
    ) / 4e-6  # fmt: skip
    error = found.standard_errors(z, u)
    expected = np.sqrt(np.diag(np.linalg.inv(hessian)))
    given = [error.intercept[0, 1], error.intercept[1, 0], error.slope[0, 1, 0], error.slope[1, 0, 0]]
    assert np.abs(given / expected - 1.0).max() < 1e-3


def test_an_estimator_is_not_an_hmm():
    learned = GaussianHMM(2, random_state=1).fit(np.random.default_rng(0).normal(size=(50, 1)))
    with pytest.raises(ParameterError, match=r"hmm is a GaussianHMM, not an HMM; the model that an .* is its hmm_"):
        CovariateHMM.from_hmm(learned, 1)
