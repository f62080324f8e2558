"""Loops over observations: real vectors, any coordinate of which may be missing (NaN) where that is said."""

import numpy as np

from rlsuite.compilation import compiled
from rlsuite.models.aliases import FloatArray


@compiled(in_place=True)
def squared_distances(z: FloatArray, mean: FloatArray, root: FloatArray, constant: FloatArray, out: FloatArray) -> None:
    """out[t, k] = sum_d (constant[k, d] - ((z[t, d] - mean[k, d]) * root[k, d])^2 / 2) over what is not missing.

    With root = 1 / std and constant = -ln(std sqrt(2 pi)) that is the logarithm of a Gaussian density in nats. Shapes:
    z (T, D), mean, root and constant (K, D), out (T, K).
    """
    for t in range(z.shape[0]):
        for k in range(mean.shape[0]):
            total = 0.0
            for d in range(z.shape[1]):
                distance = (z[t, d] - mean[k, d]) * root[k, d]
                if distance == distance:  # not NaN
                    total += constant[k, d] - 0.5 * distance * distance
            out[t, k] = total


@compiled(in_place=True)
def moments(
    z: FloatArray, weights: FloatArray, centre: FloatArray, count: FloatArray, first: FloatArray, second: FloatArray
) -> None:
    """Add up weights, weighted deviations from `centre` and their squares, over what is not missing.

    Shapes: z (T, D), weights (T, K), the others (K, D).
    """
    for t in range(z.shape[0]):
        for k in range(centre.shape[0]):
            w = weights[t, k]
            if w > 0.0:
                for d in range(z.shape[1]):
                    deviation = z[t, d] - centre[k, d]
                    if deviation == deviation:  # not NaN
                        count[k, d] += w
                        first[k, d] += w * deviation
                        second[k, d] += w * deviation * deviation


@compiled(in_place=True)
def standardised_squares(
    z: FloatArray, mean: FloatArray, inverse_factor: FloatArray, constant: FloatArray, out: FloatArray
) -> None:
    """out[t, k] = constant[k] - |inverse_factor[k] (z[t] - mean[k])|^2 / 2, the inverse factors being lower triangles.

    Shapes: z (T, D), mean (K, D), inverse_factor (K, D, D), constant (K,), out (T, K).
    """
    for t in range(z.shape[0]):
        for k in range(mean.shape[0]):
            total = 0.0
            for i in range(z.shape[1]):
                standard = 0.0
                for j in range(i + 1):
                    standard += inverse_factor[k, i, j] * (z[t, j] - mean[k, j])
                total += standard * standard
            out[t, k] = constant[k] - 0.5 * total


@compiled(in_place=True)
def scatter(z: FloatArray, weights: FloatArray, centre: FloatArray, second: FloatArray) -> None:
    """second[k] += sum_t weights[t, k] (z[t] - centre[k]) (z[t] - centre[k])', the lower triangle of it.

    Shapes: z (T, D), weights (T, K), centre (K, D), second (K, D, D).
    """
    for t in range(z.shape[0]):
        for k in range(centre.shape[0]):
            w = weights[t, k]
            if w > 0.0:
                for i in range(z.shape[1]):
                    share = w * (z[t, i] - centre[k, i])
                    for j in range(i + 1):
                        second[k, i, j] += share * (z[t, j] - centre[k, j])


@compiled(in_place=True)
def take_largest_out(logs: FloatArray, largest: FloatArray, lowest: float) -> None:
    """Subtract from each row of `logs` (T, K) its largest entry, and put it into `largest` (T,).

    What is left is raised to `lowest`, unless it was minus infinity. Of a row of minus infinities 0 is taken out.
    """
    for t in range(logs.shape[0]):
        high = logs[t, 0]
        for k in range(1, logs.shape[1]):
            high = max(high, logs[t, k])
        if high == -np.inf:
            high = 0.0
        for k in range(logs.shape[1]):
            if logs[t, k] > -np.inf:
                logs[t, k] = max(logs[t, k] - high, lowest)
        largest[t] = high
