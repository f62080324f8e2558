"""The worked numbers of the lecture notes, chapters 1 to 8, by their number in the list of `docs/notes.md`.

Where the notes print another number, the name says `corrected`, and the test holds what follows from their data.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.signal
import scipy.stats
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import OrdinalEncoder

import rlsuite as rl
from rlsuite import reference
from rlsuite.approximation import paired_t

ATTRIBUTES = ["outlook", "temperature", "humidity", "wind"]
DAYS = """
sunny hot high weak no
sunny hot high strong no
overcast hot high weak yes
rain mild high weak yes
rain cool normal weak yes
rain cool normal strong no
overcast cool normal strong yes
sunny mild high weak no
sunny cool normal weak yes
rain mild normal weak yes
sunny mild normal strong yes
overcast mild high strong yes
overcast hot normal weak yes
rain mild high strong no
"""
days = np.array([day.split() for day in DAYS.split("\n")[1:-1]])
X, play = days[:, :4], days[:, 4]
ONCE = np.ones(14)


def weather(values):
    """A Bayes classifier of the days as a hidden Markov model: play does not change, and emits an attribute a time."""
    alphabet = [v for a in range(4) for v in np.unique(X[:, a])]
    emission = np.array([[(X[play == c] == v).sum() / (play == c).sum() / 4 for v in alphabet] for c in ("yes", "no")])
    return rl.HMM([9 / 14, 5 / 14], np.eye(2), emission).filter([alphabet.index(v) for v in values])[-1]


def test_x01_nine_days_to_play_and_five_not_to():
    assert np.unique(play, return_counts=True)[1].tolist() == [5, 9]


def test_x02_entropy_940_811_1_and_gain_048_of_wind():
    wind = X[:, 3]
    assert reference.entropy(play, ONCE) == pytest.approx(0.940286, abs=5e-7)
    assert reference.entropy(play, ONCE * (wind == "weak")) == pytest.approx(0.811278, abs=5e-7)
    assert reference.entropy(play, ONCE * (wind == "strong")) == pytest.approx(1)
    assert reference.information_gain(wind, play, ONCE) == pytest.approx(0.048127, abs=5e-7)


def test_x03_gains_at_the_root_2467_0292_1518_0481_corrected_order():
    gains = [reference.information_gain(column, play, ONCE) for column in X.T]
    np.testing.assert_allclose(gains, [0.246750, 0.029223, 0.151836, 0.048127], atol=5e-7)


def test_x04_the_tree_asks_outlook_then_humidity_or_wind():
    tree = reference.id3(X, play)
    assert ATTRIBUTES[tree.attribute] == "outlook"
    rules = {(*(f"{ATTRIBUTES[a]}={v}" for a, v in c.items()), label) for c, label in reference.tree_rules(tree)}
    assert rules == {
        ("outlook=overcast", "yes"),
        ("outlook=sunny", "humidity=normal", "yes"),
        ("outlook=sunny", "humidity=high", "no"),
        ("outlook=rain", "wind=weak", "yes"),
        ("outlook=rain", "wind=strong", "no"),
    }


@pytest.mark.parametrize(
    ("outlook", "expected"), [("sunny", [0.5710, 0.9710, 0.0200]), ("rain", [0.0200, 0.0200, 0.9710])]
)
def test_x04_entropy_971_and_gains_below_the_root(outlook, expected):
    here = ONCE * (X[:, 0] == outlook)
    assert reference.entropy(play, here) == pytest.approx(0.970951, abs=5e-7)
    gains = [reference.information_gain(X[:, a], play, here) for a in (1, 2, 3)]
    np.testing.assert_allclose(gains, expected, atol=5e-5)


def test_x05_gain_ratios_1564_0188_1518_0488():
    ratios = [reference.gain_ratio(column, play, ONCE) for column in X.T]
    np.testing.assert_allclose(ratios, [0.156428, 0.018773, 0.151836, 0.048849], atol=5e-7)
    sizes = [reference.entropy(column, ONCE) for column in X.T]
    np.testing.assert_allclose(sizes, [1.577406, 1.556657, 1, 0.985228], atol=5e-7)


def test_x06_threshold_29_5_with_gain_459():
    ages, classes = np.array([23.0, 27, 32, 34, 35, 38]), np.array(list("yynnyn"))
    assert reference.best_threshold(ages, classes) == pytest.approx((29.5, 0.459148), abs=5e-7)
    gains = [reference.information_gain(np.where(ages > c, "1", "0"), classes, np.ones(6)) for c in (34.5, 36.5)]
    np.testing.assert_allclose(gains, [0, 0.190875], atol=5e-7)


def test_x07_naive_bayes_205_795():
    day = ["sunny", "cool", "high", "strong"]
    likelihood = {
        c: math.prod(Fraction(int((X[play == c, a] == v).sum()), int((play == c).sum())) for a, v in enumerate(day))
        for c in ("yes", "no")
    }
    assert likelihood == {"yes": Fraction(54, 6561), "no": Fraction(576, 10_000)}
    assert float(likelihood["yes"] * Fraction(9, 14)) == pytest.approx(0.005291, abs=5e-7)
    assert float(likelihood["no"] * Fraction(5, 14)) == pytest.approx(0.020571, abs=5e-7)
    np.testing.assert_allclose(weather(day), [0.2046, 0.7954], atol=5e-5)
    code = OrdinalEncoder().fit(X)
    theirs = CategoricalNB(alpha=1e-12, force_alpha=True).fit(code.transform(X), play)
    np.testing.assert_allclose(theirs.predict_proba(code.transform([day]))[0, ::-1], weather(day))


def test_x08_naive_bayes_without_the_outlook_41_59():
    np.testing.assert_allclose(weather(["cool", "high", "strong"]), [0.40984, 0.59016], atol=5e-6)


def test_x09_golf_counts_corrected():
    temperature = [85, 80, 83, 70, 68, 65, 64, 72, 69, 75, 75, 72, 81, 71]
    humidity = [85, 90, 78, 96, 80, 70, 65, 95, 70, 80, 70, 90, 75, 80]
    counts = {(v, c): int(((v == X).any(axis=1) & (play == c)).sum()) for v in ("cool", "strong", "weak") for c in play}
    assert counts["cool", "no"] == 1
    assert (counts["strong", "yes"], counts["strong", "no"]) == (3, 3)
    assert (counts["weak", "yes"], counts["weak", "no"]) == (6, 2)
    numbers = np.column_stack([temperature, humidity])
    fitted = GaussianNB().fit(numbers, play)
    np.testing.assert_allclose(fitted.theta_, [numbers[play == c].mean(axis=0) for c in ("no", "yes")])


@pytest.mark.parametrize(("m", "expected"), [(0, [2 / 9, 4 / 9, 3 / 9]), (3, [0.25, 5 / 12, 1 / 3])])
def test_x10_m_estimate_25_417_333(m, expected):
    seen = [["sunny", "overcast", "rain"].index(v) for v in X[play == "yes", 0]]
    counted = rl.HMM.from_states(seen, states=[0] * 9, n_symbols=3, prior=m / 3)
    np.testing.assert_allclose(counted.emission.table, [expected])


def test_x11_a_positive_medical_test_21_percent():
    ill = rl.HMM([0.008, 0.992], np.eye(2), [[0.98, 0.02], [0.03, 0.97]])
    assert ill.score([0]) == pytest.approx(math.log(0.00784 + 0.02976))
    np.testing.assert_allclose(ill.filter([0])[0], [0.208511, 0.791489], atol=5e-7)
    assert ill.decode([0]).tolist() == [1]  # the most probable hypothesis: not ill


def test_x12_the_average_of_the_hypotheses_decides_against_the_best_one():
    posterior, says_plus = np.array([0.4, 0.3, 0.3]), np.array([1.0, 0.0, 0.0])
    assert posterior @ says_plus == pytest.approx(0.4)
    assert says_plus[posterior.argmax()] == 1.0


def test_x13_candy_bags_corrected_normaliser():
    bags = rl.HMM([0.1, 0.2, 0.4, 0.2, 0.1], np.eye(5), np.column_stack([1 - np.arange(5) / 4, np.arange(5) / 4]))
    after = bags.filter([1, 1, 1])
    np.testing.assert_allclose(after[0], [0, 1 / 10, 2 / 5, 3 / 10, 1 / 5], atol=1e-15)
    np.testing.assert_allclose(after[1], [0, 1 / 26, 4 / 13, 9 / 26, 4 / 13], atol=1e-15)
    np.testing.assert_allclose(after[2], [0, 1 / 76, 4 / 19, 27 / 76, 8 / 19], atol=1e-15)
    np.testing.assert_allclose(after @ bags.emission.table[:, 1], [13 / 20, 19 / 26, 121 / 152])
    assert math.exp(bags.score([1])) == pytest.approx(1 / 2)
    assert math.exp(bags.score([1, 1])) == pytest.approx(13 / 40)  # so the normaliser is 40/13


def test_x14_four_heads_of_seven():
    posterior = scipy.stats.beta(1 + 4, 1 + 3)
    assert posterior.mean() == pytest.approx(5 / 9)
    assert posterior.var() == pytest.approx(0.0246914, abs=5e-8)
    grid = np.linspace(0, 1, 70_001)
    assert grid[posterior.pdf(grid).argmax()] == pytest.approx(4 / 7, abs=1e-4)


def test_x15_three_colours_385_308_308():
    counts = np.unique(list("RRRGBGBRBG"), return_counts=True)[1][[2, 1, 0]]
    assert counts.tolist() == [4, 3, 3]
    np.testing.assert_allclose(scipy.stats.dirichlet(1 + counts).mean(), [5 / 13, 4 / 13, 4 / 13])


def test_x16_a_density_may_exceed_1():
    half = scipy.stats.uniform(0, 1 / 2)
    assert half.pdf(0.3) == 2
    assert half.cdf(1 / 2) == 1


def test_x22_fuel_gauge_315_257_111():
    joint = np.zeros((2, 2, 2))  # battery, fuel, gauge
    for battery, fuel in itertools.product((0, 1), repeat=2):
        full = {(1, 1): 0.8, (1, 0): 0.2, (0, 1): 0.2, (0, 0): 0.1}[battery, fuel]
        joint[battery, fuel] = (0.9 if battery else 0.1) * (0.9 if fuel else 0.1) * np.array([1 - full, full])
    assert joint[:, 0, 0].sum() / joint[:, 0].sum() == pytest.approx(0.81)
    assert joint[..., 0].sum() == pytest.approx(0.315)
    assert joint[:, 0, 0].sum() / joint[..., 0].sum() == pytest.approx(0.257143, abs=5e-7)
    assert joint[0, 0, 0] / joint[0, :, 0].sum() == pytest.approx(0.111111, abs=5e-7)


def test_x27_the_best_path_s_t_t_has_384_corrected():
    """Rainy, cloudy or sunny; then twice true or false. The product 0.4 * 0.8 in it is 0.32."""
    start, true_2, true_3 = [0.2, 0.2, 0.6], [0.2, 0.4, 0.8], [0.8, 0.4]
    transition = np.zeros((7, 7))
    transition[:3, 3], transition[:3, 4] = true_2, 1 - np.array(true_2)
    transition[3:5, 5], transition[3:5, 6] = true_3, 1 - np.array(true_3)
    transition[5:, 5:] = np.eye(2)
    chain = rl.HMM([*start, 0, 0, 0, 0], transition, np.ones((7, 1)))
    path, log_probability = reference.viterbi(chain.start, chain.transition, np.ones((3, 7)))
    assert path.tolist() == chain.decode([0, 0, 0]).tolist() == [2, 3, 5]
    assert math.exp(log_probability) == pytest.approx(0.384)
    marginal = chain.smooth([0, 0, 0])
    assert marginal[1, 3] == pytest.approx(0.6)
    assert marginal[2, 5] == pytest.approx(0.64)


def test_x28_accuracy_9_with_recall_0():
    truth, answer = [1] * 10 + [0] * 90, [0] * 100
    assert accuracy_score(truth, answer) == 0.9
    precision, recall, _, _ = precision_recall_fscore_support(truth, answer, average="binary", zero_division=np.nan)
    assert recall == 0
    assert np.isnan(precision)  # nothing was retrieved


def test_x29_paired_t_2_98_rejects():
    a = [0.81, 0.82, 0.84, 0.78, 0.85, 0.86, 0.82, 0.83, 0.82, 0.81]
    b = [0.80, 0.77, 0.70, 0.83, 0.80, 0.78, 0.75, 0.80, 0.78, 0.77]
    test = paired_t(a, b)
    assert np.mean(np.subtract(a, b)) == pytest.approx(0.046)
    assert test.statistic == pytest.approx(2.980346, abs=5e-7)
    assert test.p_value == pytest.approx(0.015441, abs=5e-7)


def test_x30_critical_values():
    for level, printed in zip((50, 68, 80, 90, 95, 98, 99), (0.67, 1.00, 1.28, 1.64, 1.96, 2.33, 2.58), strict=True):
        assert scipy.stats.norm.ppf(0.5 + level / 200) == pytest.approx(printed, abs=0.0075)
    exact = scipy.stats.t(9).ppf([0.90, 0.95, 0.975, 0.99, 0.995])
    np.testing.assert_allclose(exact, [1.383, 1.833, 2.262, 2.821, 3.250], atol=5e-4)


XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
EITHER = np.array([0.0, 1.0, 1.0, 0.0])


def test_x32_the_best_line_for_xor_is_one_half():
    line = LinearRegression().fit(XOR, EITHER)
    np.testing.assert_allclose([*line.coef_, line.intercept_], [0, 0, 1 / 2], atol=1e-12)


def test_x33_two_hidden_units_compute_xor_corrected_constants():
    def outputs(c):
        layers = [(np.ones((2, 2)), np.array(c)), (np.array([[1.0, -2.0]]), np.zeros(1))]
        return [float(reference.feed_forward(x, layers)[-1][0]) for x in XOR]

    assert outputs([0.0, -1.0]) == [0, 1, 1, 0]
    assert outputs([0.0, 1.0]) == [-2, -3, -3, -4]  # as printed


def test_x33_backpropagation_learns_xor():
    rng = np.random.default_rng(1)
    layers = [(rng.normal(size=(4, 2)), rng.normal(size=4)), (rng.normal(size=(1, 4)), rng.normal(size=1))]
    for _ in range(3_000):
        for x, t in zip(XOR, EITHER, strict=True):
            for (W, b), (dW, db) in zip(layers, reference.backpropagation(x, np.array([t]), layers), strict=True):
                W -= 0.05 * dW
                b -= 0.05 * db
    assert [float(reference.feed_forward(x, layers)[-1][0]) for x in XOR] == pytest.approx(EITHER, abs=1e-6)


def test_backpropagation_through_the_2_2_1_network_corrected_weights():
    """Section 6.2: the gradients that the notes write out; the second layer has its own weights."""
    x, t = np.array([1.0, 2.0]), np.array([3.0])
    W1, b1 = np.array([[0.5, -1.0], [2.0, 1.0]]), np.array([0.5, -1.0])
    W2, b2 = np.array([[3.0, 4.0]]), np.array([1.0])
    a = W1 @ x + b1  # -1 and 3: one unit is cut off
    y = W2 @ np.maximum(a, 0) + b2
    (dW1, db1), (dW2, db2) = reference.backpropagation(x, t, [(W1, b1), (W2, b2)])
    assert y.item() == 13
    assert db2.tolist() == (y - t).tolist() == [10]
    assert dW2.tolist() == [[0, 30]]
    assert db1.tolist() == ((y - t) * W2[0] * (a > 0)).tolist() == [0, 40]
    assert dW1.tolist() == [[0, 0], [40, 80]]


@pytest.mark.parametrize(("mode", "places"), [("valid", 28), ("same", 32)])
def test_x34_a_kernel_of_5_by_5_finds_28_by_28_places(mode, places):
    image = np.random.default_rng(0).random((32, 32))
    assert scipy.signal.correlate2d(image, np.ones((5, 5)), mode=mode).shape == (places, places)


def test_x35_the_gaussian_has_the_largest_entropy_of_variance_1():
    box, hat = (
        scipy.stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)),
        scipy.stats.triang(0.5, -math.sqrt(6), 2 * math.sqrt(6)),
    )
    gauss = scipy.stats.norm()
    np.testing.assert_allclose([d.var() for d in (box, hat, gauss)], 1)
    np.testing.assert_allclose([d.entropy() for d in (box, hat, gauss)], [1.242453, 1.395880, 1.418939], atol=5e-7)


def test_x36_no_success_in_5_is_most_probable_at_08_corrected():
    assert scipy.stats.binom(5, 0.08).pmf(range(6)).argmax() == 0
    assert scipy.stats.binom(5, 0.8).pmf(range(6)).argmax() == 4  # as printed


def test_x40_three_units_hold_eight_patterns():
    network = MLPClassifier(hidden_layer_sizes=(3,), activation="logistic", solver="lbfgs", alpha=0, random_state=0)
    found = network.fit(np.eye(8), range(8)).predict(np.eye(8))
    assert [W.shape for W in network.coefs_] == [(8, 3), (3, 8)]
    assert found.tolist() == [*range(8)]
