"""Entropy and information: the lecture notes' numbers, and closed forms."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference import entropy, information


def test_the_notes_entropies_and_gain_of_the_wind():
    """Lecture notes, section 2.1.1: nine days of tennis, six of them with weak wind; of five without, two."""
    assert entropy([[9 / 14, 5 / 14], [6 / 8, 2 / 8], [3 / 6, 3 / 6]]) == pytest.approx([0.940, 0.811, 1.0], abs=5e-4)
    assert information([9 / 14, 5 / 14], [[6 / 9, 3 / 9], [2 / 5, 3 / 5]]) == pytest.approx(0.048, abs=5e-4)


@pytest.mark.parametrize("n", [1, 2, 5, 64])
def test_uniform_and_certain(n):
    assert entropy(np.full(n, 1 / n)) == pytest.approx(np.log2(n), abs=1e-12)
    assert entropy(np.full(n, 1 / n), "nats") == pytest.approx(np.log(n), abs=1e-12)
    assert (entropy(np.eye(n)) == 0.0).all()
    assert information(np.full(n, 1 / n), np.eye(n)) == pytest.approx(np.log2(n), abs=1e-12)
    assert information(np.full(n, 1 / n), np.full((n, 3), 1 / 3)) == 0.0


def test_information_is_the_entropy_that_an_update_takes_away():
    rng = np.random.default_rng(3)
    observation = rng.dirichlet(np.ones(4), 3)
    pomdp = rl.POMDP.from_arrays([np.eye(3)], [[0.0] * 3], [observation], order="ass", gamma=0.9)
    belief = rng.dirichlet(np.ones(3))
    after = sum(
        chance * entropy(pomdp.update_belief(belief, 0, z), "nats") for z, chance in enumerate(belief @ observation)
    )
    assert information(belief, observation, "nats") == pytest.approx(entropy(belief, "nats") - after, abs=1e-12)


def test_beliefs_of_a_filter_have_an_entropy_each():
    umbrella = rl.HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    found = entropy(umbrella.filter([0, 0]))
    assert found.shape == (2,)
    assert found[1] == pytest.approx(-0.883357 * np.log2(0.883357) - 0.116643 * np.log2(0.116643), abs=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: entropy([[0.5, 0.5], [0.5, 0.6]]), r"distribution\[1\] sums to 1.1"),
        (lambda: entropy([]), "distribution"),
        (lambda: information([0.5, 0.5], [[1.0, 0.0]]), r"needed \(n,\) and \(n, m\)"),
    ],
)
def test_what_is_no_distribution_is_refused(call, words):
    with pytest.raises(ModelError, match=words):
        call()


def test_an_unknown_unit_is_refused():
    with pytest.raises(ParameterError, match="bits"):
        entropy([1.0], unit="bit")
