"""The compiled form of a tabulated environment draws what its step draws."""

import gymnasium as gym
import numpy as np
import pytest

from rlsuite.environments.facts import facts_of
from rlsuite.environments.forms.draw_trees import draw_trees, integer, no_integer, trees_begin, trees_step
from rlsuite.environments.outcomes import draw, masked_integer
from rlsuite.environments.tabulation import tabulation_of


@pytest.mark.parametrize("n", [2, 3, 5, 7, 64, 1000, 9_999])
def test_integers_are_those_of_numpy(n):
    """And so is the state of the generator, which keeps half of 64 bits for the next integer."""
    ours, numpys = np.random.default_rng(n), np.random.default_rng(n)
    for i in range(5_000):
        assert integer(ours, n, False) == numpys.integers(n)
        assert integer(ours, n, True) == masked_integer(numpys, n)
        if i % 3 == 0:
            assert ours.random() == numpys.random()
    assert ours.bit_generator.state == numpys.bit_generator.state


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "options", "integers"),
    [
        ("FrozenLake-v1", {}, False),
        ("CliffWalking-v1", {"is_slippery": True}, True),
        ("Taxi-v4", {"fickle_passenger": True, "is_rainy": True}, True),
    ],
)
def test_numbered_nodes_lead_to_the_leaves_of_the_trees(env, options, integers):
    made = gym.make(env, **options)
    made.reset(seed=0)
    tabulation = tabulation_of(facts_of(made), seconds=30.0)
    trees = draw_trees(tabulation)
    assert (trees.draw_integer is integer) == (trees.draw_integer is not no_integer)
    if env == "Taxi-v4":
        assert (trees.draw_integer is integer) == integers
    one, other = np.random.default_rng(2), np.random.default_rng(2)
    chooser = np.random.default_rng(3)
    for _ in range(300):
        answer = draw(tabulation.start, one)
        state, observation = trees_begin(trees, (), other)
        assert (state, observation) == (answer.state, answer.observation)
        while not (answer.terminated or answer.truncated):
            action = int(chooser.integers(tabulation.n_actions))
            answer = draw(tabulation.rows[state][action], one)
            state, *rest = trees_step(trees, state, action, observation, (), other)
            assert (state, *rest) == (
                answer.state,
                answer.reward,
                answer.terminated,
                answer.truncated,
                answer.observation,
            )
            if chooser.random() < 0.02:
                break
    assert one.bit_generator.state == other.bit_generator.state
