"""The steps of the particle filter, compiled."""

import numpy as np

from rlsuite.compilation import compiled
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray


@compiled(in_place=True)
def move(
    particles: IndexArray,
    weights: FloatArray,
    action: int,
    n_actions: int,
    indptr: IndexArray,
    next_state: StateArray,
    probability: FloatArray,
    terminated: BoolArray,
    emission: FloatArray,
    rng: np.random.Generator,
) -> float:
    """Move each particle to a state from which the observation comes, and weigh it by how likely that was.

    A particle in s goes to s' with a probability in proportion to Pr[s' | s, a] O[a, s', z], and its weight is
    multiplied by the sum of these: no proposal makes the weights differ less. `emission` (S,) is O[a, :, z]. Returns
    the sum of all weights before they are scaled to sum to 1; where it is 0, nothing has been changed.
    """
    total = 0.0
    for i in range(particles.size):
        row = particles[i] * n_actions + action
        chance = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            if not terminated[k]:
                chance += probability[k] * emission[next_state[k]]
        total += weights[i] * chance
    if not total > 0.0:
        return 0.0
    for i in range(particles.size):
        row = particles[i] * n_actions + action
        chance = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            if not terminated[k]:
                chance += probability[k] * emission[next_state[k]]
        weights[i] *= chance / total
        u = rng.random() * chance
        for k in range(indptr[row], indptr[row + 1]):
            if not terminated[k] and probability[k] * emission[next_state[k]] > 0.0:
                # rounding may leave u above all sums: the last possible one is taken then
                particles[i] = next_state[k]
                u -= probability[k] * emission[next_state[k]]
                if u < 0.0:
                    break
    return total


@compiled(in_place=True)
def resample(particles: IndexArray, weights: FloatArray, u: float, old: IndexArray) -> None:
    """Resample the particles in proportion to their weights; all weights are equal then.

    Systematic resampling: one uniform number `u` and n equidistant pointers (Kitagawa 1996). `old` is scratch.
    """
    n = particles.size
    for k in range(n):
        old[k] = particles[k]
    below, i = weights[0], 0
    for k in range(n):
        pointer = (u + k) / n
        while below <= pointer and i < n - 1:
            i += 1
            below += weights[i]
        particles[k] = old[i]
    for k in range(n):
        weights[k] = 1.0 / n
