"""Neural networks: Bishop, "Pattern Recognition and Machine Learning", 2006, section 5.3 (B06).

A network is a list of layers (W, b): each computes W h + b of the layer before it. Hidden layers cut off what is
negative (ReLU), the last one does not.

Fast forms: `sklearn.neural_network.MLPRegressor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlsuite.models.aliases import FloatArray


def feed_forward(x: FloatArray, layers: Sequence[tuple[FloatArray, FloatArray]]) -> list[FloatArray]:
    """Return the input, what each hidden layer makes of it, and the output. B06 (5.48), (5.49).

    Parameters
    ----------
    x : ndarray (d,) float64
        The input.
    layers : sequence of (ndarray (k, d), ndarray (k,))
        Weights and constants of each layer.

    Returns
    -------
    list of ndarray
        One more than there are layers.

    Examples
    --------
    One of two, but not both:

    >>> layers = [(np.ones((2, 2)), np.array([0.0, -1.0])), (np.array([[1.0, -2.0]]), np.zeros(1))]
    >>> [float(feed_forward(np.array(x), layers)[-1][0]) for x in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]]
    [0.0, 1.0, 1.0, 0.0]
    """
    outputs = [x]
    for number, (W, b) in enumerate(layers, start=1):
        a = W @ outputs[-1] + b
        outputs.append(a if number == len(layers) else np.maximum(a, 0.0))
    return outputs


def backpropagation(
    x: FloatArray, t: FloatArray, layers: Sequence[tuple[FloatArray, FloatArray]]
) -> list[tuple[FloatArray, FloatArray]]:
    """Return the gradient of the error |y - t|^2 / 2, from the last layer back to the first. B06 (5.53)-(5.56).

    Parameters
    ----------
    x : ndarray (d,) float64
        The input.
    t : ndarray (k,) float64
        What the output y should be.
    layers : sequence of (ndarray, ndarray)
        Weights and constants of each layer.

    Returns
    -------
    list of (ndarray, ndarray)
        The gradient of each layer: of the shapes of its weights and constants.

    Examples
    --------
    Here y = 2 max(3 x, 0), so for x = 1 and t = 5 the gradients are (y - t) 3 = 3 and (y - t) 2 x = 2:

    >>> layers = [(np.array([[3.0]]), np.zeros(1)), (np.array([[2.0]]), np.zeros(1))]
    >>> [W.item() for W, b in backpropagation(np.array([1.0]), np.array([5.0]), layers)]
    [2.0, 3.0]
    """
    h = feed_forward(x, layers)
    delta = h[-1] - t  # the derivative of the error by what a layer computes, before it is cut off
    gradient: list[tuple[FloatArray, FloatArray]] = []
    for number in reversed(range(len(layers))):
        gradient.insert(0, (np.outer(delta, h[number]), delta))
        delta = (layers[number][0].T @ delta) * (h[number] > 0.0)
    return gradient
