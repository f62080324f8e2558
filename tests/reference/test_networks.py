"""Gradients of a plain network against differences, and against a step of scikit-learn's."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

from rlsuite import reference


def random_layers(rng, *sizes):
    return [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in pairwise(sizes)]


def test_gradients_are_differences():
    rng = np.random.default_rng(0)
    layers = random_layers(rng, 3, 5, 4, 2)
    x, t, h = rng.normal(size=3), rng.normal(size=2), 1e-6

    def error():
        return ((reference.feed_forward(x, layers)[-1] - t) ** 2).sum() / 2

    for layer, gradients in zip(layers, reference.backpropagation(x, t, layers), strict=True):
        for array, gradient in zip(layer, gradients, strict=True):
            assert array.shape == gradient.shape
            for place in np.ndindex(array.shape):
                kept = array[place]
                array[place] = kept + h
                above = error()
                array[place] = kept - h
                assert gradient[place] == pytest.approx((above - error()) / (2 * h), abs=1e-6)
                array[place] = kept


def test_a_step_is_one_of_scikit_learn():
    rng = np.random.default_rng(1)
    X, t = rng.normal(size=(20, 3)), rng.normal(size=20)
    network = MLPRegressor(
        hidden_layer_sizes=(4, 4), solver="sgd", alpha=0, learning_rate_init=0.1, momentum=0, batch_size=20
    )
    network.partial_fit(X, t)
    layers = [(W.T.copy(), b.copy()) for W, b in zip(network.coefs_, network.intercepts_, strict=True)]
    network.partial_fit(X, t)
    steps = [reference.backpropagation(x, np.array([target]), layers) for x, target in zip(X, t, strict=True)]
    for k, (W, b) in enumerate(layers):
        np.testing.assert_allclose(network.coefs_[k].T, W - 0.1 * np.mean([s[k][0] for s in steps], axis=0), atol=1e-12)
        np.testing.assert_allclose(network.intercepts_[k], b - 0.1 * np.mean([s[k][1] for s in steps], axis=0))
