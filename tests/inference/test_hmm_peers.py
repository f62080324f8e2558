"""What hmmlearn says of the same models: release 0.3.3 as numbers, and whichever is installed when asked."""

import hmmlearn.hmm
import numpy as np
import pytest

from rlsuite.inference import HMM, Gaussian, path_log_probability

STATES, SYMBOLS = 4, 5
START = np.arange(1, STATES + 1) / 10
MEAN = np.array([[0.0, 1.0], [2.0, -1.0], [-3.0, 0.5], [1.0, 4.0]])
VARIANCE = np.array([[1.0, 0.5], [0.3, 2.0], [1.5, 1.0], [0.7, 0.2]])
LENGTHS = [25, 1, 34]


def rows(table: np.ndarray) -> np.ndarray:
    return table / table.sum(axis=1, keepdims=True)


@pytest.fixture
def transition() -> np.ndarray:
    i, j = np.indices((STATES, STATES))
    return rows(1.0 + (3 * i + 5 * j) % 7)


@pytest.fixture
def emission() -> np.ndarray:
    i, j = np.indices((STATES, SYMBOLS))
    return rows(1.0 + (2 * i * i + 3 * j) % 5)


@pytest.fixture
def symbols() -> np.ndarray:
    n = np.arange(60)
    return (7 * n**2 + 3 * n) % 11 % SYMBOLS


@pytest.fixture
def vectors() -> np.ndarray:
    n = np.arange(40)
    return np.column_stack([3.0 * np.sin(n), 2.0 + 2.0 * np.cos(0.7 * n)])


def test_symbols(transition: np.ndarray, emission: np.ndarray, symbols: np.ndarray) -> None:
    hmm = HMM(START, transition, emission)
    assert hmm.score(symbols) == pytest.approx(-103.81781781288576, abs=1e-10)
    assert hmm.score(symbols, LENGTHS) == pytest.approx(-103.870311170174, abs=1e-10)
    expected = [
        [0.032418663484, 0.187880169598, 0.268378397241, 0.511322769678],
        [0.501296317678, 0.094611681262, 0.256683704267, 0.147408296793],
        [0.2, 0.1, 0.3, 0.4],
        [0.144015841221, 0.136413830427, 0.306501605719, 0.413068722632],
        [0.359624470841, 0.191053257039, 0.289790460088, 0.159531812032],
    ]
    np.testing.assert_allclose(hmm.smooth(symbols, LENGTHS)[[0, 24, 25, 26, 59]], expected, atol=1e-12)
    path = hmm.decode(symbols)
    assert "".join(map(str, path)) == "320201201213202012012132020120121320201201213202012012132020"
    assert path_log_probability(hmm, symbols, path) == pytest.approx([-145.90201844916606], abs=1e-10)


def test_vectors(transition: np.ndarray, vectors: np.ndarray) -> None:
    hmm = HMM(START, transition, Gaussian(MEAN, VARIANCE))
    assert hmm.score(vectors) == pytest.approx(-192.60612199482603, abs=1e-9)
    expected = [
        [1.9128767e-05, 1.182701e-06, 1.2538738e-05, 0.999967149794],
        [0.656808440393, 0.338343738493, 0.000426112598, 0.004421708516],
        [0.027754958866, 0.972210705804, 3.4335317e-05, 1.3e-11],
    ]
    np.testing.assert_allclose(hmm.smooth(vectors)[[0, 20, 39]], expected, atol=1e-11)
    path = hmm.decode(vectors)
    assert "".join(map(str, path)) == "3310220133322011023301022033322010132201"
    assert path_log_probability(hmm, vectors, path) == pytest.approx([-197.89480600658163], abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_hmmlearn_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states, symbols = int(rng.integers(2, 12)), int(rng.integers(2, 9))
    parts = [rng.dirichlet(np.ones(n), m) for n, m in ((states, 1), (states, states), (symbols, states))]
    hmm = HMM(parts[0][0], *parts[1:])
    peer = hmmlearn.hmm.CategoricalHMM(states, implementation="log")
    peer.startprob_, peer.transmat_, peer.emissionprob_, peer.n_features = hmm.start, *parts[1:], symbols
    lengths = [300, 1, 2500, 7]
    z = hmm.sample(sum(lengths), seed=rng)[0]
    assert hmm.score(z, lengths) == pytest.approx(peer.score(z[:, None], lengths), rel=1e-10)
    np.testing.assert_allclose(hmm.smooth(z, lengths), peer.predict_proba(z[:, None], lengths), atol=1e-8)
    best, path = peer.decode(z[:, None], lengths)
    for one in (hmm.decode(z, lengths), path):  # of paths that are equally probable, each takes another one
        assert path_log_probability(hmm, z, one, lengths).sum() == pytest.approx(best, rel=1e-10)
