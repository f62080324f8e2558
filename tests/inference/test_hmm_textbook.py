"""Numbers that others have printed, or that follow from their models as exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from rlsuite.inference import (
    HMM,
    Categorical,
    Product,
    backward,
    expected_counts,
    forward,
    path_log_probability,
    predict_ahead,
)

pytestmark = pytest.mark.arithmetic

MISSING = -1


def test_umbrella_world(umbrella: HMM) -> None:
    z = [MISSING, 0, 0]  # no observation on day 0
    assert np.exp(umbrella.score(z)) == pytest.approx(703 / 2000, abs=1e-14)
    np.testing.assert_allclose(umbrella.filter(z)[1:, 0], [9 / 11, 621 / 703], atol=1e-14)
    assert umbrella.smooth(z)[1, 0] == pytest.approx(621 / 703, abs=1e-14)
    path = umbrella.decode(z[1:])
    assert path.tolist() == [0, 0]
    assert np.exp(path_log_probability(umbrella, z[1:], path)) == pytest.approx([567 / 2000], abs=1e-14)


def test_umbrella_world_looks_ahead(umbrella: HMM) -> None:
    rain = float(Fraction(621, 703) * Fraction(7, 10) + Fraction(82, 703) * Fraction(3, 10))
    assert predict_ahead(umbrella, [0, 0], 1)[-1, 0] == pytest.approx(rain, abs=1e-14)
    assert predict_ahead(umbrella, [0, 0], 200)[-1, 0] == pytest.approx(0.5, abs=1e-14)


def test_healthy_or_fever(health: HMM) -> None:
    z = [0, 1, 2]
    assert np.exp(health.score(z)) == pytest.approx(907 / 25000, abs=1e-15)
    np.testing.assert_allclose(health.filter(z)[:, 0], [15 / 17, 452 / 623, 962 / 4535], atol=1e-14)
    np.testing.assert_allclose(health.smooth(z)[:, 0], [795 / 907, 565 / 907, 962 / 4535], atol=1e-14)
    assert health.decode(z).tolist() == [0, 0, 1]
    assert np.exp(path_log_probability(health, z, [0, 0, 1])) == pytest.approx([189 / 12500], abs=1e-15)


def test_one_expectation_step_of_healthy_or_fever(health: HMM) -> None:
    counts = expected_counts(health, [0, 1, 2])
    np.testing.assert_allclose(counts.start, [0.8765159868, 0.1234840132], atol=5e-11)
    rows = counts.transition / counts.transition.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rows, [[0.5023529412, 0.4976470588], [0.1634361233, 0.8365638767]], atol=5e-11)
    emission = (counts.weight[:3] / counts.weight.sum(axis=0)).T
    printed = [[0.5121102809, 0.3639525895, 0.1239371296], [0.0958411775, 0.2926578812, 0.6115009413]]
    np.testing.assert_allclose(emission, printed, atol=5e-11)


def test_dishonest_casino(casino: HMM) -> None:
    z = [int(face) - 1 for face in "3151166661"]
    assert casino.score(z) == pytest.approx(-16.565931807542, abs=1e-12)
    np.testing.assert_allclose(casino.filter(z)[[4, 9], 0], [0.8948689009, 0.2905161498], atol=5e-11)
    np.testing.assert_allclose(casino.smooth(z)[[0, 4], 0], [0.6757593131, 0.4715476428], atol=5e-11)
    assert casino.decode(z).tolist() == [1] * 10
    assert path_log_probability(casino, z, [1] * 10) == pytest.approx([-18.229491101684], abs=1e-12)


def test_dishonest_casino_throws_sixes(casino: HMM) -> None:
    z = [5] * 10
    assert casino.score(z) == pytest.approx(-8.465953448463, abs=1e-12)
    assert casino.filter(z)[9, 0] == pytest.approx(0.0538238826, abs=5e-11)
    assert casino.smooth(z)[4, 0] == pytest.approx(0.0054258479, abs=5e-11)


def test_the_weather_of_rabiner() -> None:
    """R89 section II.A: rain, clouds and sunshine can be seen, so that the path is the observation."""
    moves = [[0.4, 0.3, 0.3], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]]
    weather = HMM([0, 0, 1], moves, np.eye(3))
    rain, cloudy, sunny = range(3)
    z = [sunny, sunny, sunny, rain, rain, sunny, cloudy, sunny]
    assert np.exp(weather.score(z)) == pytest.approx(0.0001536, abs=1e-17)
    assert weather.decode(z).tolist() == z
    np.testing.assert_allclose(weather.smooth(z), np.eye(3)[z], atol=1e-15)


def test_max_product_on_a_chain() -> None:
    """The notes' chain of three variables: each value of each variable is a state, and nothing is observed."""
    r, c, s, two_true, two_false, three_true, three_false = range(7)
    moves = np.zeros((7, 7))
    for state, p in ((r, 0.2), (c, 0.4), (s, 0.8)):
        moves[state, [two_true, two_false]] = p, 1.0 - p
    for state, p in ((two_true, 0.8), (two_false, 0.4)):
        moves[state, [three_true, three_false]] = p, 1.0 - p
    moves[three_true, three_true] = moves[three_false, three_false] = 1.0
    start = [0.2, 0.2, 0.6, 0, 0, 0, 0]
    chain = HMM(start, moves, np.ones((7, 1)))
    z = [MISSING] * 3
    assert chain.decode(z).tolist() == [s, two_true, three_true]
    paths = [[s, two_true, three_true], [r, two_false, three_false], [s, two_true, three_false]]
    found = [np.exp(path_log_probability(chain, z, path)[0]) for path in paths]
    np.testing.assert_allclose(found, [0.384, 0.096, 0.096], atol=1e-15)
    marginals = chain.smooth(z)
    np.testing.assert_allclose(marginals[1, two_true], 0.6, atol=1e-15)
    np.testing.assert_allclose(marginals[2, three_true], 0.64, atol=1e-15)


def test_alpha_times_beta_is_the_likelihood_at_all_times(casino: HMM) -> None:
    z = [0, 5, 5, MISSING, 5, 1]
    alpha, beta = forward(casino, z), backward(casino, z)
    products = (alpha.rows * beta.rows).sum(axis=1) * np.exp(alpha.log_scale + beta.log_scale)
    np.testing.assert_allclose(products, np.exp(casino.score(z)), rtol=1e-13)


def test_a_source_of_evidence_that_does_not_move_is_bayes_rule() -> None:
    """Five bags of candy, of which one was taken: the states stay what they are."""
    cherry = np.array([1.0, 0.75, 0.5, 0.25, 0.0])
    prior = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    bags = HMM(prior, np.eye(5), np.column_stack([cherry, 1.0 - cherry]))
    for n in (1, 3, 10):
        exact = prior * (1.0 - cherry) ** n
        np.testing.assert_allclose(bags.filter([1] * n)[-1], exact / exact.sum(), atol=1e-15)
    np.testing.assert_allclose(bags.smooth([1] * 10)[0], bags.filter([1] * 10)[-1], atol=1e-14)


def test_a_medical_test_is_bayes_rule() -> None:
    """Lecture notes: one patient in 125 is ill; the test finds 98 % of these, and calls 3 % of the others ill."""
    patient = HMM([0.008, 0.992], np.eye(2), [[0.02, 0.98], [0.97, 0.03]])
    ill = patient.filter([1])[0, 0]
    assert ill == pytest.approx(0.00784 / (0.00784 + 0.02976), abs=1e-15)
    assert ill == pytest.approx(0.208511, abs=5e-7)
    assert patient.decode([1]).tolist() == [1]  # healthier than not, still


PLAY_TENNIS = """
    sunny hot high weak no, sunny hot high strong no, overcast hot high weak yes, rain mild high weak yes,
    rain cool normal weak yes, rain cool normal strong no, overcast cool normal strong yes, sunny mild high weak no,
    sunny cool normal weak yes, rain mild normal weak yes, sunny mild normal strong yes, overcast mild high strong yes,
    overcast hot normal weak yes, rain mild high strong no
"""


@pytest.mark.parametrize(
    ("day", "joint", "posterior"),
    [
        ("sunny cool high strong", [1 / 189, 18 / 875], 0.204583),
        ("? cool high strong", [1 / 42, 6 / 175], 0.409836),
    ],
)
def test_naive_bayes_is_a_chain_that_does_not_move(day: str, joint: list[float], posterior: float) -> None:
    """Lecture notes: PlayTennis, also where the outlook is not known; each attribute is a channel of the emissions."""
    days = [line.split() for line in PLAY_TENNIS.split(",")]
    classes = ["yes", "no"]
    prior = [sum(row[-1] == name for row in days) / len(days) for name in classes]
    channels, seen = list[Categorical](), list[int]()
    for i, word in enumerate(day.split()):
        words = sorted({row[i] for row in days})
        counts = np.array([[sum(row[i] == w and row[-1] == name for row in days) for w in words] for name in classes])
        channels.append(Categorical(counts / counts.sum(axis=1, keepdims=True)))
        seen.append(words.index(word) if word in words else MISSING)
    tennis = HMM(prior, np.eye(2), Product(channels))
    assert np.exp(tennis.score([seen])) == pytest.approx(sum(joint), abs=1e-15)
    np.testing.assert_allclose(tennis.filter([seen])[0], np.array(joint) / sum(joint), atol=1e-14)
    assert tennis.filter([seen])[0, 0] == pytest.approx(posterior, abs=5e-7)
