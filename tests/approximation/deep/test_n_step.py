import numpy as np
import pytest

from rlsuite import reference
from rlsuite.approximation.deep.replay import Window


@pytest.mark.parametrize("terminated", [True, False])
@pytest.mark.parametrize("n", [1, 3, 7])
def test_transitions_are_those_of_a_loop(n, terminated):
    """Every step of an episode, cut or ended, once: with the next n rewards, or those that are left."""
    rewards, gamma = np.random.default_rng(1).normal(size=5).tolist(), 0.9
    window, found = Window(n, gamma), []
    for t, reward in enumerate(rewards):
        last = t == len(rewards) - 1
        some = window.add(t, t % 2, reward, terminated and last, ends=last)
        assert all(each.observation + n >= t + 1 for each in some)  # as soon as it is n steps old
        found += some
    assert [(each.observation, each.action) for each in found] == [(t, t % 2) for t in range(5)]
    value = 10.0
    for t, each in enumerate(found):
        later = rewards[t : t + n]
        ends = terminated and t + n >= len(rewards)
        assert each.discount == pytest.approx(0.0 if ends else gamma ** len(later))
        target = reference.n_step_target(later, gamma, 0.0 if ends else value)
        assert each.reward + each.discount * value == pytest.approx(target)
    assert not window.latest


def test_an_interrupted_episode_is_forgotten():
    window = Window(3, 0.9)
    window.add(0, 0, 1.0, False, ends=False)
    window.clear()
    assert [tuple(each) for each in window.add(5, 1, 2.0, True, ends=True)] == [(5, 1, 2.0, 0.0)]
