"""Beliefs as samples, for models that are too large for a vector of probabilities.

An exact update costs a step over all states that may have emitted the observation, and over all that lead to one of
them. A particle filter costs a step over its particles, however many states there are, and errs by about one over the
square root of their number.
"""

from __future__ import annotations

import numpy as np

from rlsuite.core.checks import Seed, fraction, generator, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.keywords import SaysWhatToWrite
from rlsuite.errors import ParameterError
from rlsuite.models import POMDP
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.models.validation import number_of


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
                # by rounding, u may exceed all sums: then the last possible state is taken
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


class ParticleFilter(SaysWhatToWrite):
    """A belief as weighted samples of the hidden state: a particle filter with the optimal proposal distribution.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    n_particles : int
        N, how many samples.
    seed : int, SeedSequence or Generator, optional
        Where the samples come from; by default every filter draws others.
    resample_below : float
        Samples are drawn again when the effective number of them falls below this fraction of N.

    Attributes
    ----------
    particles : ndarray (N,) int64
        States.
    weights : ndarray (N,) float64
        Their weights, which sum to 1.
    log_likelihood : float
        Estimate of ln Pr[z_1..z_t, and the episode continues | a_1..a_t] since the last `reset`, in nats; minus
        infinity from the first observation on that no particle could explain.
    resets : int
        How often no particle could explain what was seen: then all of them were replaced by states that can emit the
        observation, in proportion to how likely they do (sensor resetting, Lenser & Veloso 2000).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> from rlsuite.inference.particle_filter import ParticleFilter
    >>> from rlsuite.models import POMDP
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> known = ParticleFilter(machine, 10_000, seed=0)
    >>> known.update(action=0, observation=1).round(2).tolist()
    [0.6, 0.4]
    >>> machine.update_belief(machine.start, 0, 1).round(2).tolist()
    [0.6, 0.4]
    """

    def __init__(
        self,
        pomdp: POMDP,
        n_particles: int = 1000,
        *,
        seed: Seed | None = None,
        resample_below: float = 0.5,
    ) -> None:
        if not isinstance(pomdp, POMDP):  # pyright: ignore[reportUnnecessaryIsInstance] - unchecked at run time
            raise ParameterError(f"pomdp is a {type(pomdp).__name__}; a POMDP is needed")
        self.pomdp = pomdp
        self.resample_below = fraction("resample_below", resample_below)
        self._rng = np.random.default_rng() if seed is None else generator(seed)
        size = whole_number("n_particles", n_particles)
        self.particles: IndexArray = np.zeros(size, dtype=np.int64)
        self.weights: FloatArray = np.zeros(size)
        self._scratch: IndexArray = np.zeros(size, dtype=np.int64)
        self._emission: FloatArray = np.zeros(pomdp.n_states)
        self.log_likelihood = 0.0
        self.resets = 0
        self.reset()

    def reset(self) -> None:
        """Draw the particles from the start distribution of the model: a new episode begins."""
        self._draw(np.flatnonzero(self.pomdp.start), self.pomdp.start[self.pomdp.start > 0.0])
        self.log_likelihood = 0.0
        self.resets = 0

    @property
    def belief(self) -> FloatArray:
        """The weight of the particles in each state: (S,) float64."""
        belief = np.zeros(self.pomdp.n_states)
        np.add.at(belief, self.particles, self.weights)
        return belief

    @property
    def effective_size(self) -> float:
        """Effective number of particles, 1 / sum of squared weights: N if all are equal, 1 if all but one are 0."""
        return float(1.0 / np.square(self.weights).sum())

    def update(self, action: int | str, observation: int | str) -> FloatArray:
        """Update by an action and an observation, numbers or names, and return the new belief: (S,) float64.

        Raises
        ------
        ParameterError
            If there is no such action or observation, or it is impossible after this action in every state. The
            particles stay as they were.
        """
        pomdp, mdp = self.pomdp, self.pomdp.mdp
        a = number_of("action", action, pomdp.n_actions, pomdp.action_labels)
        z = number_of("observation", observation, pomdp.n_observations, pomdp.observation_labels)
        tables = pomdp.belief_tables
        inside = slice(*tables.emitting[a * pomdp.n_observations + z : a * pomdp.n_observations + z + 2].tolist())
        states, chance = tables.emitting_state[inside], tables.emitting_probability[inside]
        if not states.size:
            raise ParameterError(f"observation={z} is impossible after action={a}, whatever the state")
        self._emission[states] = chance
        likelihood = move(
            self.particles,
            self.weights,
            a,
            pomdp.n_actions,
            mdp.indptr,
            mdp.next_state,
            mdp.probability,
            mdp.terminated,
            self._emission,
            self._rng,
        )
        self._emission[states] = 0.0
        if likelihood == 0.0:
            self._draw(states, chance)
            self.resets += 1
            self.log_likelihood = -np.inf
            return self.belief
        self.log_likelihood += float(np.log(likelihood))
        if self.effective_size < self.resample_below * self.particles.size:
            resample(self.particles, self.weights, self._rng.random(), self._scratch)
        return self.belief

    def _draw(self, states: AnyArray, weights: FloatArray) -> None:
        """Resample the particles into `states`, each about in proportion to its weight."""
        n = self.particles.size
        cumulative = np.cumsum(weights / weights.sum())
        pointers = (self._rng.random() + np.arange(n)) / n
        self.particles[:] = states[np.minimum(np.searchsorted(cumulative, pointers, side="right"), states.size - 1)]
        self.weights[:] = 1.0 / n

    def __repr__(self) -> str:
        return f"ParticleFilter(n_particles={self.particles.size}, effective_size={self.effective_size:.1f})"
