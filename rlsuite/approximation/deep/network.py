"""Networks: convolutions for images, then hidden layers of rectified linear units, then a linear output.

Rectified linear units are max(0, x); each layer but the last is followed by them.

In plain NumPy: `rlsuite.reference.deep_q.duelling_values`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.deep.pytorch import empty_layer, initialise, pytorch
from rlsuite.core.checks import whole_number


class Convolution(NamedTuple):
    """A convolutional layer without padding: its output is (size - kernel) // stride + 1 high and wide.

    A plain tuple ``(filters, kernel, stride)`` does as well.
    """

    filters: int
    """Number of filters: the planes of the output."""
    kernel: int = 3
    """Height and width of a filter."""
    stride: int = 1
    """Distance between two positions of the filter."""


def check_layers(
    hidden: Iterable[int], convolutions: Iterable[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[Convolution, ...]]:
    """Return the sizes of hidden layers and the convolutions, checked.

    Raises
    ------
    ParameterError
        If a size is not a whole number of at least 1.

    Examples
    --------
    >>> check_layers([64, 64], [(16, 3, 1)])
    ((64, 64), (Convolution(filters=16, kernel=3, stride=1),))
    """
    try:
        sizes, layers = tuple(hidden), tuple(Convolution(*layer) for layer in convolutions)
    except TypeError as error:
        raise errors.ParameterError(
            f"hidden={hidden!r} must be layer sizes such as (64, 64), and convolutions={convolutions!r} "
            "layers (filters, kernel, stride) such as [(16, 3, 1)]"
        ) from error
    checked = tuple(
        Convolution(*(whole_number(f"convolutions[{i}].{name}", size) for name, size in layer._asdict().items()))
        for i, layer in enumerate(layers)
    )
    return tuple(whole_number(f"hidden[{i}]", size) for i, size in enumerate(sizes)), checked


def build_network(
    shape: tuple[int, ...],
    n_outputs: int,
    hidden: Sequence[int],
    convolutions: Sequence[Convolution],
    rng: np.random.Generator,
    device: Any = "cpu",
) -> Any:
    """Make a network with weights drawn from `rng`.

    Parameters
    ----------
    shape : tuple of int
        Shape of an observation. Convolutions take images: (planes, rows, columns), or (rows, columns) for one plane.
    n_outputs : int
        Number of outputs.
    hidden : sequence of int
        Units of the hidden layers.
    convolutions : sequence of Convolution
        Layers before them.
    rng : numpy.random.Generator
        Where the weights come from.
    device : torch.device or str
        Device of the network.

    Returns
    -------
    torch.nn.Sequential
        From float32 (n, *shape) to float32 (n, n_outputs).

    Raises
    ------
    UnsuitableEnvironment
        If there are convolutions and observations are not images, or smaller than the kernels.

    Examples
    --------
    >>> network = build_network((4,), 2, hidden=(8,), convolutions=(), rng=np.random.default_rng(1))
    >>> sum(weights.numel() for weights in network.parameters()) == (4 + 1) * 8 + (8 + 1) * 2
    True
    """
    nn = pytorch().nn
    layers: list[Any] = []
    width = int(np.prod(shape))
    if convolutions:
        planes, rows, columns = _image(shape)
        layers = [nn.Unflatten(1, (1, rows))] if len(shape) == 2 else []
        for filters, kernel, stride in convolutions:
            if kernel > min(rows, columns):
                raise errors.UnsuitableEnvironment(
                    f"a kernel of {kernel} x {kernel} does not fit into {rows} x {columns} numbers (observations are "
                    f"{shape[0] if len(shape) == 3 else 1} planes of {shape[-2]} x {shape[-1]}); give fewer or smaller "
                    "convolutions, or channels='last' (or 'first') if the planes are the other axis"
                )
            layers += [empty_layer(nn.Conv2d, planes, filters, kernel, stride=stride, device=device), nn.ReLU()]
            planes, rows, columns = filters, (rows - kernel) // stride + 1, (columns - kernel) // stride + 1
        width = planes * rows * columns
    layers.append(nn.Flatten())
    for units in hidden:
        layers += [empty_layer(nn.Linear, width, units, device=device), nn.ReLU()]
        width = units
    network = nn.Sequential(*layers, empty_layer(nn.Linear, width, n_outputs, device=device))
    initialise(network, rng)
    return network


def _image(shape: tuple[int, ...]) -> tuple[int, int, int]:
    if len(shape) == 2:
        return 1, shape[0], shape[1]
    if len(shape) == 3:
        return shape[0], shape[1], shape[2]
    raise errors.UnsuitableEnvironment(
        f"convolutions need images of shape (planes, rows, columns), (rows, columns, planes) or (rows, columns), and "
        f"observations have {shape}; use convolutions=() for vectors, and convert colour images to grey before "
        "stacking them (gymnasium.wrappers.GrayscaleObservation)"
    )


def action_values(outputs: NDArray[np.float32], dueling: bool) -> NDArray[np.float32]:
    """Turn the outputs (n, n_outputs) of a network into action values (n, n_actions).

    A duelling network has one output more: V(s) comes first, then the advantages A(s, a), and
    Q(s, a) = V(s) + A(s, a) - mean_a' A(s, a') (Wang et al. 2016, eq. 9).

    Examples
    --------
    >>> action_values(np.array([[10.0, 1.0, 3.0]]), dueling=True)
    array([[ 9., 11.]])
    """
    if not dueling:
        return outputs
    advantage = outputs[:, 1:]
    return outputs[:, :1] + (advantage - advantage.mean(axis=1, keepdims=True))


def slope_of_outputs(slope: NDArray[np.float32], dueling: bool) -> NDArray[np.float32]:
    """Turn the slope of a loss in action values (n, n_actions) into that in outputs (n, n_outputs).

    V(s) enters each value of the state; A(s, a) that of its action, and all of them by minus a share of the mean.

    Examples
    --------
    >>> slope_of_outputs(np.array([[1.0, 0.0]]), dueling=True)
    array([[ 1. ,  0.5, -0.5]])
    """
    if not dueling:
        return slope
    return np.concatenate([slope.sum(axis=1, keepdims=True), slope - slope.mean(axis=1, keepdims=True)], axis=1)
