"""A network of linear layers as plain arrays, in compiled form, which does not need PyTorch.

Each layer but the last is followed by rectified linear units, max(0, x), as in `rlsuite.approximation.deep.network`.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.approximation.deep.pytorch import arrays_of
from rlsuite.core.compilation import compiled
from rlsuite.features.feature_map import FeatureRule, fill_rows


class Layers(NamedTuple):
    """The data of the compiled form of a network."""

    mean: NDArray[np.float64]  # (d,), subtracted from the inputs
    scale: NDArray[np.float64]  # (d,), by which the differences are divided
    widths: NDArray[np.int64]  # (n_layers + 1,), number of inputs of each layer, then of outputs of the last
    weights: NDArray[np.float64]  # layer after layer: weights (inputs, outputs) row by row, then biases (outputs,)
    room: int  # largest number of inputs of a layer


@compiled(in_place=True)
def _outputs(
    data: Layers, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """Evaluate all layers for an observation; their inputs and outputs are stored after the outputs, in turn."""
    n_layers = data.widths.size - 1
    n_outputs = data.widths[n_layers]
    given, made = n_outputs, n_outputs + data.room
    for j in range(data.widths[0]):
        values[given + j] = (observation[j] - data.mean[j]) / data.scale[j]
    weight = 0
    for layer in range(n_layers):
        n_in, n_out, last = data.widths[layer], data.widths[layer + 1], layer == n_layers - 1
        out = 0 if last else made
        bias = weight + n_in * n_out
        for i in range(n_out):
            values[out + i] = data.weights[bias + i]
        for j in range(n_in):
            x = values[given + j]
            for i in range(n_out):
                values[out + i] += data.weights[weight + j * n_out + i] * x
        if not last:
            for i in range(n_out):
                values[out + i] = max(0.0, values[out + i])
        weight = bias + n_out
        given, made = made, given
    for i in range(n_outputs):
        indices[i] = i
    return n_outputs


def layers_rule(
    mean: NDArray[np.float64], scale: NDArray[np.float64], widths: NDArray[np.int64], weights: NDArray[np.float64]
) -> FeatureRule:
    """Return the network as the rule of a feature map; see `Layers`."""
    return FeatureRule(_outputs, Layers(mean, scale, widths, weights, int(widths[:-1].max())))


def room_for(widths: NDArray[np.int64]) -> int:
    """Length of the lists that the rule fills: the outputs, and twice the largest input of a layer."""
    return int(widths[-1] + 2 * widths[:-1].max())


def send_through(
    widths: NDArray[np.int64], weights: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Send rows (n, d) through a network, as they are; return its outputs (n, n_outputs).

    Examples
    --------
    Two inputs, one hidden unit max(0, x_1 - x_2), and twice that as output:

    >>> send_through(np.array([2, 1, 1]), np.array([1.0, -1.0, 0.0, 2.0, 0.0]), np.array([[3.0, 1.0], [1.0, 3.0]]))
    array([[4.],
           [0.]])
    """
    width, room = int(widths[0]), room_for(widths)
    rule = layers_rule(np.zeros(width), np.ones(width), widths, weights)
    outputs = np.zeros((len(rows), int(widths[-1])))
    fill_rows(rule, rows, np.zeros(room, dtype=np.int64), np.zeros(room), outputs)
    return outputs


def n_weights(widths: NDArray[np.int64]) -> int:
    """Number of weights and biases of a network.

    >>> n_weights(np.array([2, 1, 1]))
    5
    """
    sizes: list[int] = widths.tolist()  # Python integers do not overflow
    return sum((n_in + 1) * n_out for n_in, n_out in itertools.pairwise(sizes))


def flat_weights(network: Any) -> NDArray[np.float64]:
    """Return all weights of a ``torch.nn.Sequential`` of linear layers in the order of `Layers`."""
    # PyTorch keeps (outputs, inputs), and lists the weights of a layer before its biases
    return np.concatenate([each.T.ravel() for each in arrays_of(network).values()]).astype(np.float64)
