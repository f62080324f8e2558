import numpy as np
import pytest

from rlsuite.experiments.sequential import LARGEST_STAKE, log_wealth, verdict


def wealth_by_hand(differences, margin=0.0):
    """The same, one bet after the other."""
    wealth, total, squares, found = 1.0, 0.0, 0.25, []
    for difference in differences:
        gain = difference + margin
        stake = min(max(total / squares, 0.0), LARGEST_STAKE / (1.0 - margin))
        wealth *= 1.0 + stake * gain
        total, squares = total + gain, squares + gain**2
        found.append(wealth)
    return np.array(found)


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_wealth_is_that_of_single_bets(margin):
    differences = np.random.default_rng(1).uniform(-1.0, 1.0, 60)
    assert np.exp(log_wealth(differences, margin=margin)) == pytest.approx(wealth_by_hand(differences, margin))


def test_a_bet_does_not_know_its_own_outcome():
    differences = np.random.default_rng(2).uniform(-1.0, 1.0, 30)
    changed = np.append(differences[:-1], 1.0)
    assert np.array_equal(log_wealth(differences)[:-1], log_wealth(changed)[:-1])


def test_no_seed_ruins_the_gambler():
    differences = np.array([1.0] * 50 + [-1.0])
    assert np.isfinite(log_wealth(differences)).all()
    assert np.isfinite(log_wealth(-differences, margin=0.1)).all()


NULLS = {
    "coin": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "rare catastrophe": lambda rng, shape: np.where(rng.random(shape) < 0.02, -0.98, 0.02),
    "rare success": lambda rng, shape: np.where(rng.random(shape) < 0.02, 0.98, -0.02),
    "normal": lambda rng, shape: np.clip(rng.normal(0.0, 0.3, shape), -1.0, 1.0),
}


@pytest.mark.parametrize("name", NULLS)
def test_looking_after_every_seed_finds_no_difference_between_equal_agents(name):
    """Of 4,000 experiments at most 2.5 % each way; three standard deviations (0.74 %) are allowed for."""
    differences = NULLS[name](np.random.default_rng(3), (400, 4_000))
    for sign in (1.0, -1.0):
        found = (log_wealth(sign * differences) >= np.log(40.0)).any(axis=0).mean()
        assert found <= 0.025 + 0.0074


def test_equal_is_rarely_said_of_agents_that_differ_by_the_margin():
    """As above: the mean is the margin, so that equal would be false."""
    rng = np.random.default_rng(4)
    differences = np.clip(rng.normal(0.1, 0.2, (300, 4_000)), -1.0, 1.0)
    differences += 0.1 - differences.mean()
    found = (log_wealth(-differences, margin=0.1) >= np.log(40.0)).any(axis=0).mean()
    assert found <= 0.025 + 0.0074


def test_verdicts():
    rng = np.random.default_rng(5)
    noise = rng.normal(0.0, 0.2, 400)
    seeds = list(range(100, 500))
    better = verdict(np.clip(noise + 0.2, -1, 1), 0.02, 0.05, seeds)
    worse = verdict(np.clip(-noise - 0.2, -1, 1), 0.02, 0.05, seeds)
    assert (better.word, worse.word) == ("first", "second")
    assert better.seeds == worse.seeds < 100
    assert better.last_seed == seeds[better.seeds - 1]
    assert verdict(np.zeros(400), 0.02, 0.05, seeds).word == "equal"
    assert verdict(noise, 0.02, 0.05, seeds).word == "undecided"


def test_a_verdict_does_not_change_with_more_seeds():
    differences = np.clip(np.random.default_rng(6).normal(0.15, 0.3, 500), -1, 1)
    found = verdict(differences, 0.02, 0.05, range(500))
    assert found == verdict(differences[: found.seeds], 0.02, 0.05, range(found.seeds))
    assert verdict(differences[: found.seeds - 1], 0.02, 0.05, range(500)).word == "undecided"


def test_no_seeds_no_verdict():
    assert verdict(np.zeros(0), 0.02, 0.05, []).word == "undecided"
