"""How a network answers a rule; see `rlsuite.agents.memory`.

The features x(s) of an observation enter the first layer; the outputs of a layer enter the next one, and those of the
last are the values. With n numbers y that enter a layer, a unit of it is tanh((b + sum_j w_j y_j) / sqrt(n + 1)); the
last layer has no tanh. The square root keeps the length of the gradient the same for wide and narrow layers (Jacot,
Gabriel & Hongler 2018), so that a learning rate means what it means for a table. Only the features that are not 0 are
listed, as for linear values, and n is how many these may be.

`update` takes a step along the gradient of one value, by backpropagation (S&B2 section 9.7). So a rule is
semi-gradient, as with features (S&B2 eq. 10.1), and there is neither a replay nor a target network.

Values are the outputs y of the last layer times a scale, Q = c y, and w <- w + amount / c grad y moves them by about
the amount. Where a value, or an amount, is larger than c, then c is doubled and the weights of the last layer are
halved, which changes no value (after van Hasselt et al. 2016, PopArt): rewards may be of any size.

As for features, an observation has one of two rows, in which its values are kept. An update changes those of both.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.memory import ABSENT, STATE, Memory
from rlsuite.agents.prediction.policies import follow_policy, ratio_of_policies
from rlsuite.agents.values.features import (
    FEATURES_ON_DEMAND,
    compute_features,
    count_and_advance,
    linear_step_size,
    record_vector,
)
from rlsuite.core.aliases import Own
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.core.declared import Array, Feature

UNANSWERED = {
    **dict.fromkeys(("visit", "update_and_decay"), "eligibility traces"),
    "update_all": "a direction for all weights",
    **dict.fromkeys(("value_in", "update_in", "visit_in"), "a second array of values"),
    **dict.fromkeys(("store", "stored_value", "update_stored", "learn_stored"), "the features of earlier steps"),
}
"""Operations that a network does not have, and what a rule needs them for."""

LARGEST_SCALE = 1e300


class Layout(NamedTuple):
    """Where the layers are, and the features that enter the first: the memory's ``features``."""

    active: Compiled[..., int]
    data: Own
    sizes: NDArray[np.int64]
    """Units of each layer, shape (n_layers,); those of the last are the values."""
    scales: NDArray[np.float64]
    """What the numbers that enter each layer are multiplied by, shape (n_layers,)."""
    outputs: NDArray[np.int64]
    """The place of each layer's first output among those of all units, shape (n_layers,)."""
    biases: NDArray[np.int64]
    """The place of each layer's first bias in `Upper.upper_weights`, shape (n_layers,); its weights follow them."""


class Upper(NamedTuple):
    """All weights but those of the first layer: the memory's ``learned``."""

    upper_weights: NDArray[np.float64]  # (n,), biases of the first layer; of each other biases, then (inputs, units)
    scale: Annotated[NDArray[np.float64], Array(at_least=1.0)]  # (1,), what the outputs are multiplied by


class Units(NamedTuple):
    """The features of the present and of the next observation, and what the units make of them."""

    indices: Feature  # (2, most_active)
    values: NDArray[np.float64]  # (2, most_active)
    n_active: Annotated[NDArray[np.int64], Array(at_least=0, at_most="indices")]  # (2,), how many features there are
    now: Annotated[NDArray[np.int64], Array(at_least=0, at_most=1)]  # (1,), row of the present observation
    fresh: NDArray[np.bool_]  # (2,), whether the outputs are by the present weights
    output: NDArray[np.float64]  # (2, n_units)
    slope: NDArray[np.float64]  # (n_units,), of one value in what a unit makes its output from


def new_units(most_active: int, n_units: int) -> Units:
    """Make empty rows for two observations."""
    rows = (2, most_active)
    return Units(
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows),
        np.zeros(2, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(2, dtype=np.bool_),
        np.zeros((2, n_units)),
        np.zeros(n_units),
    )


@compiled(in_place=True)
def send_forward(
    layout: Layout,
    weights: NDArray[np.float64],
    upper: NDArray[np.float64],
    indices: NDArray[np.int64],
    values: NDArray[np.float64],
    n_active: int,
    output: NDArray[np.float64],
) -> None:
    """Fill in the outputs (n_units,) of all units for the features that are listed."""
    for layer in range(layout.sizes.size):
        width, first, bias = layout.sizes[layer], layout.outputs[layer], layout.biases[layer]
        for i in range(width):
            output[first + i] = upper[bias + i] * layout.scales[layer]
        if layer == 0:
            for k in range(n_active):
                entering = values[k] * layout.scales[0]
                for i in range(width):
                    output[i] += weights[indices[k], i] * entering
        else:
            below = layout.outputs[layer - 1]
            for j in range(first - below):
                entering, weight = output[below + j] * layout.scales[layer], bias + (j + 1) * width
                for i in range(width):
                    output[first + i] += upper[weight + i] * entering
        if layer < layout.sizes.size - 1:
            for i in range(first, first + width):
                output[i] = math.tanh(output[i])


@compiled(in_place=True)
def enlarge(memory: Memory, size: float) -> None:
    """Double the scale until it is not below a size; no value changes."""
    layout, upper, scale = memory.features, memory.learned.upper_weights, memory.learned.scale
    while scale[0] < size and scale[0] < LARGEST_SCALE:
        scale[0] *= 2.0
        for i in range(layout.biases[layout.biases.size - 1], upper.size):
            upper[i] *= 0.5


@compiled(in_place=True)
def climb(memory: Memory, row: int, action: int, amount: float) -> None:
    """Let w <- w + amount grad y for an output of the last layer; those of the row are by the present weights."""
    layout, units, upper = memory.features, memory.active, memory.learned.upper_weights
    slope, n_layers = units.slope, layout.sizes.size
    for i in range(layout.sizes[n_layers - 1]):
        slope[layout.outputs[n_layers - 1] + i] = 1.0 if i == action else 0.0
    for layer in range(n_layers - 1, 0, -1):
        width, first, bias = layout.sizes[layer], layout.outputs[layer], layout.biases[layer]
        below = layout.outputs[layer - 1]
        for j in range(first - below):
            output, weight, total = units.output[row, below + j], bias + (j + 1) * width, 0.0
            entering = amount * output * layout.scales[layer]
            for i in range(width):
                total += upper[weight + i] * slope[first + i]
                upper[weight + i] += entering * slope[first + i]
            slope[below + j] = total * layout.scales[layer] * (1.0 - output * output)
        for i in range(width):
            upper[bias + i] += amount * layout.scales[layer] * slope[first + i]
    for i in range(layout.sizes[0]):
        upper[i] += amount * layout.scales[0] * slope[i]
    for k in range(units.n_active[row]):
        entering = amount * units.values[row, k] * layout.scales[0]
        for i in range(layout.sizes[0]):
            memory.weights[units.indices[row, k], i] += entering * slope[i]


@compiled(in_place=True)
def evaluate_vectors(
    layout: Layout,
    weights: NDArray[np.float64],
    upper: Upper,
    observations: NDArray[np.float64],
    indices: NDArray[np.int64],
    values: NDArray[np.float64],
    output: NDArray[np.float64],
    q: NDArray[np.float64],
) -> None:
    """Compute the values of many observations (n, d) into (n, n_columns)."""
    first = output.size - q.shape[1]
    for row in range(observations.shape[0]):
        n_active = layout.active(layout.data, observations[row], indices, values)
        send_forward(layout, weights, upper.upper_weights, indices, values, n_active, output)
        for column in range(q.shape[1]):
            q[row, column] = upper.scale[0] * output[first + column]


# The `Operations` of a network.


@compiled(in_place=True)
def _renew(memory: Memory, row: int) -> None:
    """Compute the outputs of a row, and its values, unless they are by the present weights."""
    units = memory.active
    if units.fresh[row]:
        return
    n_active = units.n_active[row]
    upper, output = memory.learned.upper_weights, units.output[row]
    send_forward(memory.features, memory.weights, upper, units.indices[row], units.values[row], n_active, output)
    first = output.size - memory.q.shape[1]
    for column in range(memory.q.shape[1]):
        memory.q[row, column] = memory.learned.scale[0] * output[first + column]
    units.fresh[row] = True


@compiled(in_place=True)
def _see(memory: Memory, observation: NDArray[np.float64], row: int) -> int:
    """Take an observation into a row, and compute its values."""
    compute_features(memory, observation, row)
    memory.active.fresh[row] = False
    _renew(memory, row)
    return row


@compiled(in_place=True)
def _first(memory: Memory, observation: NDArray[np.float64]) -> int:
    memory.active.now[0] = 0
    return _see(memory, observation, 0)


@compiled(in_place=True)
def _next(memory: Memory, observation: NDArray[np.float64]) -> int:
    return _see(memory, observation, 1 - memory.active.now[0])


@compiled(in_place=True)
def _value(memory: Memory, row: int, action: int) -> float:
    _renew(memory, row)
    return memory.q[row, action]


@compiled(in_place=True)
def _update(memory: Memory, row: int, action: int, amount: float) -> None:
    _renew(memory, row)
    enlarge(memory, max(abs(amount), abs(memory.q[row, action])))
    climb(memory, row, action, amount / memory.learned.scale[0])
    memory.active.fresh[0] = memory.active.fresh[1] = False


@compiled(in_place=True)
def _update_and_renew(memory: Memory, row: int, action: int, amount: float) -> None:
    _update(memory, row, action, amount)
    _renew(memory, 0)
    _renew(memory, 1)


@compiled(in_place=True)
def _recorded(memory: Memory, time: int) -> int:
    """The present row, which is not needed any more when an episode is over."""
    return _see(memory, memory.scratch.buffer.observation[time], memory.active.now[0])


@compiled(in_place=True)
def _learn_recorded(memory: Memory, time: int, target: float) -> None:
    row = _recorded(memory, time)
    _update(memory, row, STATE, linear_step_size(memory) * (target - memory.q[row, STATE]))


@compiled(in_place=True)
def _end_step(memory: Memory, row: int, action: int, over: bool) -> None:
    count_and_advance(memory, over)


NETWORK = FEATURES_ON_DEMAND._replace(
    locate_first=_first,
    locate_next=_next,
    value=_value,
    update=_update,
    renew=_renew,
    record=record_vector,
    locate_recorded=_recorded,
    learn_recorded=_learn_recorded,
    follow=follow_policy,
    ratio=ratio_of_policies,
    end_step=_end_step,
    **dict.fromkeys(UNANSWERED, ABSENT),
)
"""How a network answers: an update marks the values of both rows as out of date, and `renew` computes them again."""

CURRENT_NETWORK = NETWORK._replace(update=_update_and_renew)
"""The same where ``q`` is up to date after each update."""
