"""Hidden semi-Markov models against all segmentations, the plain model, an augmented one, and logarithms."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.errors import FileError, ModelError, ParameterError
from rlsuite.inference import (
    HSMM,
    Gaussian,
    NegativeBinomialDurations,
    PoissonDurations,
    TableDurations,
    uniform_durations,
)
from rlsuite.inference.segments import Passes, Tables
from rlsuite.inference.sequences import sequences


def segmentations(n, states, longest):
    """Yield all ways to fill n steps: lists of (state, length), the last of which may be cut off."""

    def parts(left):
        if left == 0:
            yield ()
            return
        for d in range(1, min(left, longest) + 1):
            for rest in parts(left - d):
                yield (d, *rest)

    for lengths in parts(n):
        for path in itertools.product(range(states), repeat=len(lengths)):
            yield list(zip(path, lengths, strict=True))


def by_brute_force(model, z):
    """Return the likelihood, the posterior of the states, expected counts, and the best path with its probability."""
    table = model.durations.table
    states, longest = table.shape
    n = len(z)
    b = np.exp(model.emission.log_likelihoods(model.emission.check(z)))
    total, posterior = 0.0, np.zeros((n, states))
    moves, lasted = np.zeros((states, states)), np.zeros((states, longest))
    best, best_path = 0.0, None
    for segments in segmentations(n, states, longest):
        p = model.start[segments[0][0]]
        path = np.repeat([k for k, _ in segments], [d for _, d in segments])
        for (i, _), (j, _) in itertools.pairwise(segments):
            p *= model.transition[i, j]
        for k, d in segments[:-1]:
            p *= table[k, d - 1]
        k, d = segments[-1]
        of_last = table[k, d - 1 :]
        p *= np.prod(b[np.arange(n), path])
        # The end of the last segment is not seen: all durations that are long enough count.
        if p * of_last.sum() > best * (1 + 1e-12):
            best, best_path = p * of_last.sum(), path
        for extra, own in enumerate(of_last):
            w = p * own
            total += w
            lasted[k, d - 1 + extra] += w
            for kk, dd in segments[:-1]:
                lasted[kk, dd - 1] += w
            for (i, _), (j, _) in itertools.pairwise(segments):
                moves[i, j] += w
            posterior[np.arange(n), path] += w
    return total, posterior / total, moves / total, lasted / total, best_path, best


@st.composite
def models(draw):
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    states, longest, symbols = int(rng.integers(2, 4)), int(rng.integers(1, 5)), int(rng.integers(2, 4))
    transition = rng.dirichlet(np.ones(states), size=states)
    np.fill_diagonal(transition, 0.0)
    transition /= transition.sum(axis=1, keepdims=True)
    durations = rng.dirichlet(np.ones(longest), size=states)
    if rng.random() < 0.5:
        durations[0] = np.eye(longest)[rng.integers(longest)]
    model = HSMM(rng.dirichlet(np.ones(states)), transition, rng.dirichlet(np.ones(symbols), size=states), durations)
    z = rng.integers(-1 if rng.random() < 0.3 else 0, symbols, size=int(rng.integers(1, 7)))
    return model, z


def check_against_all_segmentations(model, z):
    total, posterior, moves, lasted, path, best = by_brute_force(model, z)
    assert np.exp(model.score(z)) == pytest.approx(total, rel=1e-12)
    data = sequences(model.emission, z)
    passes = Passes(Tables(model, model.durations.table), data, 0)
    for found in (passes.smoothed(), passes._smoothed_in_logarithms()):
        assert np.abs(found.posterior - posterior).max() < 1e-12
        assert np.abs(found.moves - moves).max() < 1e-12
        assert np.abs(found.lasted - lasted).max() < 1e-12
    for t in range(len(z)):
        until = by_brute_force(model, z[: t + 1])
        assert np.abs(model.filter(z)[t] - until[1][-1]).max() < 1e-12
    # Of equally probable paths any will do.
    found = model.decode(z)
    assert np.exp(log_probability_of(model, z, found)) == pytest.approx(best, rel=1e-12) or (found == path).all()


def log_probability_of(model, z, path):
    """Return the log-probability of a path of states and the observations; a product would be 0 for a long one."""
    with np.errstate(divide="ignore"):
        start, moves, lasts = (np.log(x) for x in (model.start, model.transition, model.durations.table))
        survival = np.log(model.durations.survival)
    begins = np.flatnonzero(np.append(True, path[1:] != path[:-1]))
    lengths = np.diff(np.append(begins, len(path)))
    states = path[begins]
    seen = model.emission.log_likelihoods(model.emission.check(z))[np.arange(len(path)), path].sum()
    whole = lasts[states[:-1], lengths[:-1] - 1].sum() + survival[states[-1], lengths[-1] - 1]
    return start[states[0]] + moves[states[:-1], states[1:]].sum() + whole + seen


@settings(max_examples=60, deadline=None)
@given(models())
def test_against_all_segmentations(given_model):
    check_against_all_segmentations(*given_model)


@pytest.mark.slow
@settings(max_examples=1_500, deadline=None)
@given(models())
def test_against_all_segmentations_of_many_models(given_model):
    check_against_all_segmentations(*given_model)


@pytest.mark.slow
def test_numbers_of_all_sizes_give_what_logarithms_do():
    """Levels leave their range in both directions, whole states die out; in doubt the backward pass decides."""
    in_doubt = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        states, longest, symbols = int(rng.integers(2, 5)), int(rng.integers(2, 25)), 3
        ahead = rng.dirichlet(np.full(states, 0.3), size=states) * (1 - np.eye(states)) + 1e-12 * (1 - np.eye(states))
        emission = 10.0 ** -rng.uniform(0, rng.choice([1, 8, 30]), size=(states, symbols))
        emission[rng.random(emission.shape) < 0.1] = 0.0
        emission[:, 0] += 1e-5
        table = rng.dirichlet(np.full(longest, 0.2), size=states) * (rng.random((states, longest)) < 0.7)
        table[:, rng.integers(longest)] += 0.1
        parts = [rows / rows.sum(axis=1, keepdims=True) for rows in (ahead, emission, table)]
        model = HSMM(rng.dirichlet(np.ones(states)), *parts)
        length = int(rng.integers(1, 400))
        z = model.sample(length, seed=seed)[0] if rng.random() < 0.5 else rng.integers(symbols, size=length)
        passes = Passes(Tables(model, model.durations.table), sequences(model.emission, z), 0)
        if not np.isfinite(passes._alpha_last):
            continue
        exact = passes._smoothed_in_logarithms()
        found = passes.smoothed()
        in_doubt += not passes._forward[2]
        assert passes.score() == pytest.approx(exact.log_likelihood, rel=1e-12, abs=1e-9), seed
        assert np.abs(found.posterior - exact.posterior).max() < 1e-9, seed
        assert np.abs(found.moves - exact.moves).max() < 1e-9 * length, seed
        assert np.abs(found.lasted - exact.lasted).max() < 1e-9 * length, seed
        assert found.log_likelihood == pytest.approx(exact.log_likelihood, rel=1e-12, abs=1e-9), seed
    assert in_doubt > 2
    # Long segments of improbable observations leave the forward pass in doubt, and need no logarithms either.
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(6), size=3), rng.dirichlet(np.ones(600), size=3)
    model = HSMM([0.5, 0.25, 0.25], 0.5 - 0.5 * np.eye(3), *tables)
    passes = Passes(Tables(model, tables[1]), sequences(model.emission, model.sample(1_500, seed=0)[0]), 0)
    assert not passes._forward[2]
    score = passes.score()
    assert "_alpha" not in vars(passes)
    assert score == pytest.approx(passes._alpha_last + passes.shift, rel=1e-12)


def geometric(stay, longest=400):
    table = (1 - np.array(stay))[:, None] * np.array(stay)[:, None] ** np.arange(longest)
    return table / table.sum(axis=1, keepdims=True)


def test_geometric_durations_are_a_plain_model():
    stay = [0.9, 0.7, 0.8]
    leave = np.array([[0, 0.3, 0.7], [0.5, 0, 0.5], [1, 0, 0]])
    plain = rl.HMM([0.2, 0.3, 0.5], np.diag(stay) + (1 - np.array(stay))[:, None] * leave, np.eye(3) * 0.7 + 0.1)
    semi = HSMM(plain.start, leave, plain.emission, geometric(stay))
    z, _ = plain.sample(500, seed=1)
    assert semi.score(z) == pytest.approx(plain.score(z), abs=1e-9)
    assert np.abs(semi.smooth(z) - plain.smooth(z)).max() < 1e-9
    assert np.abs(semi.filter(z) - plain.filter(z)).max() < 1e-9
    for n in range(1, 40):  # the last segment is that of the plain model, wherever the sequence ends
        assert (semi.decode(z[:n]) == plain.decode(z[:n])).all()
    negative = HSMM(plain.start, leave, plain.emission, NegativeBinomialDurations(1 / (1 - np.array(stay)), [1, 1, 1]))
    assert negative.score(z) == pytest.approx(plain.score(z), abs=1e-9)
    # From the plain model, with the same mean durations.
    for durations, difference in (("negative_binomial", 1e-9), (400, 1e-9), ("poisson", np.inf)):
        made = HSMM.from_hmm(plain, durations)
        assert made.durations.mean == pytest.approx(1 / (1 - np.array(stay)), rel=1e-6)
        assert made.transition == pytest.approx(leave)
        assert abs(made.score(z) - plain.score(z)) < difference, durations


def augmented(model):
    """Return the plain model whose states are pairs of a state and the steps that are left."""
    table = model.durations.table
    states, longest = table.shape
    transition = np.zeros((states, longest, states, longest))
    for k in range(states):
        for r in range(1, longest):
            transition[k, r, k, r - 1] = 1.0
        transition[k, 0] = model.transition[k][:, None] * table
    size = states * longest
    emission = np.repeat(model.emission.table, longest, axis=0)
    return rl.HMM((model.start[:, None] * table).reshape(-1), transition.reshape(size, size), emission)


def test_long_sequences_are_those_of_the_augmented_model():
    rng = np.random.default_rng(0)
    model = HSMM(
        [0.5, 0.3, 0.2],
        [[0, 0.6, 0.4], [0.5, 0, 0.5], [0.9, 0.1, 0]],
        rng.dirichlet(np.ones(4), size=3),
        rng.dirichlet(np.ones(7), size=3),
    )
    other = augmented(model)
    z, states = model.sample(3_000, seed=0)
    assert model.score(z) == pytest.approx(other.score(z), abs=1e-8)
    smoothed = other.smooth(z).reshape(-1, 3, 7).sum(axis=2)
    assert np.abs(model.smooth(z) - smoothed).max() < 1e-10
    # The augmented model finds one duration of the last segment too: its path is at most as probable as ours.
    ours, its = (log_probability_of(model, z, path) for path in (model.decode(z), other.decode(z) // 7))
    assert its - 1e-9 <= ours <= its + np.log(7)
    assert ours > log_probability_of(model, z, states)
    found = model.segments(z)
    assert (np.repeat(found.state, found.length) == model.decode(z)).all()
    assert found.length.sum() == 3_000
    assert (model.decode(z) == states).mean() > 0.5
    assert model.replace(start=[0, 0, 1]).start.tolist() == [0, 0, 1]
    # Several sequences are seen one by one.
    parts = [z[:1_000], z[1_000:1_001], z[1_001:]]
    assert model.score(parts) == pytest.approx(sum(model.score(part) for part in parts), abs=1e-9)
    assert [len(part) for part in model.smooth(parts)] == [1_000, 1, 1_999]
    assert [part.length.sum() for part in model.segments(parts)] == [1_000, 1, 1_999]


def test_where_doubles_are_too_small():
    """A segment of fixed length is so improbable in its first part that a double loses it, and right in the end."""
    durations = np.full((3, 40), 1 / 40)
    durations[0] = np.eye(40)[39]
    ahead = [[0, 1, 0], [0, 0, 1], [0, 1, 0]]  # nothing leads back to the first state
    model = HSMM([0.5, 0.5, 0], ahead, Gaussian([0.0, 30.0, 60.0], [1.0, 1.0, 1.0]), durations)
    z = np.concatenate([np.full(10, 30.0), np.full(30, 0.0)])
    passes = Passes(Tables(model, durations), sequences(model.emission, z), 0)
    assert not passes._forward[2], "numbers alone do not decide"
    assert model.score(z) == pytest.approx(np.log(0.5) - 20 * np.log(2 * np.pi) - 4_500, rel=1e-12)
    assert model.smooth(z)[:, 0] == pytest.approx(np.ones(40), abs=1e-12)
    assert model.filter(z)[[0, 9, 39], 0] == pytest.approx([0, 0, 1], abs=1e-12)
    assert (model.decode(z) == 0).all()


def test_learning_climbs_and_finds_the_durations():
    true = HSMM(
        [1, 0],
        [[0, 1], [1, 0]],
        Gaussian([0.0, 2.0], [1.0, 1.0]),
        NegativeBinomialDurations([8.0, 20.0], [3.0, 10.0]),
    )
    z, states = true.sample(8_000, seed=3)
    begins = Gaussian([-0.5, 2.5], [1.5, 1.5])
    for durations, n_parameters in (
        (PoissonDurations([5.0, 5.0]), 2),
        (NegativeBinomialDurations([5.0, 5.0], [1.0, 1.0]), 4),
        (uniform_durations(2, 60), 118),
    ):
        first = HSMM([0.5, 0.5], [[0, 1], [1, 0]], begins, durations)
        found = (
            first.fit(z, max_iterations=60, tol=1e-7) if n_parameters < 9 else first.fit(z, max_iterations=25, tol=0)
        )
        assert (np.diff(found.learning.log_likelihoods_) > -1e-6).all()
        assert found.learning.n_parameters == 1 + 0 + 4 + n_parameters
        # Some 570 segments: the standard error of the means is about .3 and .5.
        assert np.abs(found.durations.mean - [8.0, 20.0]).max() < 2.0
        assert (found.decode(z) == states).mean() > 0.95
    # Poisson durations cannot be as wide as these, tables and negative binomials can.
    assert found.score(z) > first.score(z)


def test_counts_of_complete_data_are_the_estimates():
    """With observations that show the states, one step of learning counts segments, but for the last one."""
    lengths = [3, 2, 4, 2, 3]
    z = np.repeat([0, 1, 0, 1, 0], lengths)
    first = HSMM([0.5, 0.5], [[0, 1], [1, 0]], np.eye(2), uniform_durations(2, 5))
    found = first.fit(z, max_iterations=1, tol=0)
    # The last segment of 3 may have had a length of 3, 4 or 5.
    assert found.durations.table[0] == pytest.approx(np.array([0, 0, 1 + 1 / 3, 1 + 1 / 3, 1 / 3]) / 3)
    assert found.durations.table[1] == pytest.approx([0, 1, 0, 0, 0])
    assert found.fit([z, z[:1]], prior=1.0, max_iterations=1, tol=0).start.tolist() == [1.0, 0.0]


PLAIN = rl.HMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], np.eye(2))


def test_files_and_bad_input(tmp_path):
    model = HSMM(
        [0.4, 0.6], [[0, 1], [1, 0]], Gaussian([0.0, 1.0], [1.0, 2.0]), PoissonDurations([2.0, 3.0]), ["low", "high"]
    )
    z, _ = model.sample(50, seed=0)
    for durations in (
        model.durations,
        NegativeBinomialDurations([2, 3], [1.5, 2]),
        TableDurations([[0.5, 0.5], [1, 0]]),
    ):
        one = HSMM(model.start, model.transition, model.emission, durations, model.state_labels)
        one.write(tmp_path / "model.npz")
        again = HSMM.read(tmp_path / "model.npz")
        assert again.score(z) == one.score(z)
        assert (again.state_labels, repr(again)) == (one.state_labels, repr(one))
    rl.HMM([1.0], [[1.0]], [[1.0]]).write(tmp_path / "plain.npz")
    ahead = [[0, 1], [1, 0]]
    for call, error, words in (
        (
            lambda: HSMM([0.5, 0.5], [[0.1, 0.9], [1, 0]], np.eye(2), np.eye(2)),
            ModelError,
            r"transition\[0, 0\] is 0.1",
        ),
        (lambda: HSMM([0.5, 0.5], ahead, np.eye(2), np.ones((3, 1))), ModelError, "durations has 3 states"),
        (lambda: HSMM([0.5, 0.5], ahead, np.eye(2), [[0.5, 0.6], [1, 0]]), ModelError, r"durations\[k=0\] sums to 1.1"),
        (lambda: HSMM([0.5, 0.5], ahead, np.eye(2), [3, 4]), ModelError, r"durations has shape \(2,\), not \(K, D\)"),
        (lambda: PoissonDurations([0.5]), ModelError, r"mean_duration\[k=0\] is 0.5; a segment lasts 1 step at least"),
        (lambda: PoissonDurations([1e6]).table, ModelError, "100,000 at most"),
        (lambda: NegativeBinomialDurations([2.0], [0.0]), ModelError, "shapes are positive"),
        (lambda: model.score([]), ModelError, "no observations"),
        (lambda: HSMM.from_hmm(model), ParameterError, "hmm is an HSMM, not an HMM"),
        (
            lambda: HSMM.from_hmm(rl.HMM([1.0], [[1.0]], [[1.0]])),
            ModelError,
            "state 0 of hmm is never left.*two at least",
        ),
        (lambda: HSMM.from_hmm(PLAIN, "poison"), ParameterError, "did you mean 'poisson'.*columns of a table"),
        (lambda: HSMM.from_hmm(PLAIN, 0), ParameterError, "durations"),
        (lambda: model.fit(z, restarts=0), ParameterError, "restarts"),
        (lambda: HSMM.read(tmp_path / "plain.npz"), FileError, "kind HMM, not HSMM: read it with HMM.read"),
        (lambda: HSMM([1, 0], ahead, np.eye(2), [[0, 1], [0, 1]]).smooth([0, 1]), ModelError, r"impossible.*z\[t=1\]"),
        (lambda: HSMM([1, 0], ahead, np.eye(2), [[0, 1], [0, 1]]).decode([0, 1]), ModelError, r"impossible.*z\[t=1\]"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert HSMM([1, 0], ahead, np.eye(2), [[0, 1], [0, 1]]).score([0, 1]) == -np.inf
    # Durations longer than the sequence, of one step each, and one observation.
    assert HSMM([1, 0], ahead, np.eye(2), [[0, 0, 0, 1], [0, 0, 0, 1]]).score([0, 0]) == 0.0
    assert HSMM([1, 0], ahead, np.eye(2), [[1.0], [1.0]]).decode([0, 1, 0]).tolist() == [0, 1, 0]
    assert model.smooth([0.3]).shape == (1, 2)
