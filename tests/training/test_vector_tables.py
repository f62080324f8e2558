"""Tables whose states are shown as vectors: coordinates, one-hot vectors and images, in both loops."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite import VectorObservation
from rlsuite.approximation import Identity, SemiGradientSarsa
from rlsuite.errors import StepwiseWarning


def grid():
    return rl.find_env("rlsuite_envs:rlsuite/GridGoal-v0")


WAYS = {
    "coordinates": VectorObservation.coordinates,
    "one-hot": VectorObservation.one_hot,
    "image": VectorObservation.image,
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_both_loops_give_the_same_bytes(way):
    pair = [
        SemiGradientSarsa(features=Identity(), gamma=0.9, learning_rate=0.05).learn(
            WAYS[way](grid()), steps=300, seed=1, loop=loop
        )
        for loop in ("compiled", "stepwise")
    ]
    assert [agent.record_.loop for agent in pair] == ["compiled", "stepwise"]
    assert pair[0].weights_.tobytes() == pair[1].weights_.tobytes()
    assert np.abs(pair[0].weights_).max() > 0.0


def test_one_hot_vectors_are_a_table():
    table = rl.Sarsa(gamma=0.9).learn(grid(), steps=300, seed=1)
    agent = SemiGradientSarsa(gamma=0.9).learn(VectorObservation.one_hot(grid()), steps=300, seed=1)
    assert agent.weights_.tobytes() == table.q_.tobytes()


@pytest.mark.slow
def test_a_wrapper_around_the_vectors_is_not_trusted():
    import gymnasium

    env = gymnasium.wrappers.RescaleObservation(VectorObservation.coordinates(grid()), 0.0, 1.0)
    with pytest.warns(StepwiseWarning, match="is wrapped in RescaleObservation"):
        agent = SemiGradientSarsa(features=Identity(), gamma=0.9).learn(env, steps=50, seed=1)
    assert agent.record_.loop == "stepwise"
