"""Posteriors of arms against closed forms; durations of hidden states against decoded segments."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import NotLearned, ParameterError
from rlsuite.plotting import arm_posteriors
from rlsuite_envs.bandits import bandit


@pytest.fixture
def coins():
    """Two coins: heads in 4 of 7 (lecture notes, general 8.1.1), and one that was not thrown."""
    agent = rl.ThompsonBernoulli().learn(bandit([0.5, 0.5], kind="bernoulli").to_env(), steps=7, seed=1)
    agent.alpha_[:], agent.beta_[:], agent.visits_[:] = [[5.0, 1.0]], [[4.0, 1.0]], [[7, 0]]
    return agent


def test_the_curves_are_the_densities(coins, caption_of, labelled):
    ax = arm_posteriors(coins)
    [first] = labelled(ax.get_lines(), "arm 0")
    x, y = first.get_data()
    np.testing.assert_allclose(y, 280 * x**4 * (1 - x) ** 3, rtol=1e-9)  # 8! / (4! 3!) = 280
    assert y.max() == pytest.approx(280 * (4 / 7) ** 4 * (3 / 7) ** 3, rel=1e-3)
    [second] = labelled(ax.get_lines(), "arm 1")
    np.testing.assert_allclose(second.get_ydata(), 1.0)
    assert caption_of(ax) == "Shaded: 95% credible interval of the mean of each arm. Pulls: 7, 0."
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean reward", "density")


def test_the_interval_is_shaded(coins):
    shaded = arm_posteriors(coins).collections[1].get_paths()[0].vertices[:, 0]
    assert shaded.min() == pytest.approx(0.025, abs=0.006)
    assert shaded.max() == pytest.approx(0.975, abs=0.006)


def test_a_narrow_peak_beside_a_wide_one_is_drawn(labelled):
    agent = rl.ThompsonNormal().learn(bandit([0.0, 1.0]).to_env(), steps=10, seed=1)
    agent.precision_[:], agent.q_[:] = [[1.0, 1e8]], [[0.0, 1.0]]
    [narrow] = labelled(arm_posteriors(agent).get_lines(), "arm 1")
    assert narrow.get_ydata().max() == pytest.approx(1e4 / np.sqrt(2 * np.pi), rel=1e-3)


def test_what_has_no_posteriors_is_refused():
    with pytest.raises(ParameterError, match="not UCB1"):
        arm_posteriors(rl.UCB1())
    with pytest.raises(NotLearned):
        arm_posteriors(rl.ThompsonNormal())


def test_areas_are_the_shares_of_whole_segments():
    light = rl.HSMM([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]], [[0, 0.5, 0.5], [1, 0, 0]])
    ax = rl.plotting.state_durations(light, [[0, 0, 1, 0, 0, 0, 1, 0], [0, 0, 1]])
    shares = {patch.get_label(): patch.get_data().values.round(3).tolist() for patch in ax.patches}
    assert shares == {"_state 0": [0, 0.667, 0.333], "_state 1": [1, 0, 0]}
    both = rl.plotting.state_posteriors(light, [0, 0, 1, 0, 0], path=True)
    assert "best path" in [tick.get_text() for tick in both.get_yticklabels()]
    assert rl.plotting.diagram(light).texts[0].get_text() == "state 0\n0: 1\nlasts 2.5\nsteps"
