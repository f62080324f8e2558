"""Gain and bias of a chain with rewards: what a policy earns in the long run. P94 section 8.2.

With P* the limit of the averages of P^n, the gain g = P* r is the mean reward per step in the long run, and the bias
h = sum_t P^t (r - g) (in the sense of averages, if the chain is periodic) what a start in s earns in total beyond that.
They are the only solution of

    g = P g,    h = r - g + P h,    P* h = 0            (P94 (8.2.9), (8.2.10), and Theorem 8.2.6).

In each recurrent class one state is named its reference, and N are all the states that are none. From a state of N
the chain comes to a reference with probability 1, so I - P_NN is invertible, and each quantity is a sum up to that
time: x = (I - P_NN)^-1 y is what is collected on the way at y per step. So

* the gain of a class is reward over length of a cycle, from its reference back to it (renewal and reward);
* the gain elsewhere is the mean gain of the references that may be reached first;
* the bias, up to a constant for each class, is the sum of r - g up to the reference;
* the constant follows from P* h = 0, where P* h is again the mean over a cycle.

Classes and transient states share one factorisation. References are states that are visited often: the expected
length of a cycle is 1 / pi(reference), and a state that is hardly ever visited again would be the worst choice.
"""

from typing import Any, NamedTuple

import numpy as np

from rlsuite.models import MarkovChain
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.linear_system import fixed_point_solver, solve_fixed_point

STOPPING = 1e-6
"""The chain begins anywhere and stops with this probability in each step: where it is then, it is often."""


class LongRun(NamedTuple):
    """Gain and bias of a chain with n states."""

    gain: FloatArray
    """(n,) float64, reward per step"""
    bias: FloatArray
    """(n,) float64, in the unit of the reward; its mean under the stationary law of each recurrent class is 0"""
    steps: FloatArray
    """(n,) float64, the expected number of steps to the first reference; 0 at references"""


def gain_and_bias(chain: MarkovChain) -> LongRun:
    """Return the gain and the bias of a chain.

    Parameters
    ----------
    chain : MarkovChain
        n states with the mean reward of leaving each. There may be several recurrent classes, and periods.

    Examples
    --------
    Two states in turn, one of which pays 1; and a third, from which each may be the first:

    >>> from rlsuite.models import MarkovChain
    >>> from rlsuite.planning import gain_and_bias
    >>> found = gain_and_bias(MarkovChain([[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0]], reward=[1, 0, 4]))
    >>> found.gain.tolist(), found.bias.tolist()
    ([0.5, 0.5, 0.5], [0.25, -0.25, 3.5])
    """
    transition: Any = chain.transition
    reward = chain.reward
    classes = chain.recurrent_classes
    references = _visited_often(transition, classes)
    elsewhere: IndexArray = np.setdiff1d(np.arange(chain.n_states), references)
    solve = fixed_point_solver(transition[elsewhere][:, elsewhere])
    cycle_out = transition[references][:, elsewhere]
    arrival = transition[elsewhere][:, references]

    earned, length = solve(np.column_stack([reward[elsewhere], np.ones(elsewhere.size)])).T
    cycle_length = 1.0 + cycle_out @ length
    class_gain: FloatArray = (reward[references] + cycle_out @ earned) / cycle_length
    # Differences from the least gain, so that equal gains stay exactly equal.
    least = class_gain.min()
    gain = np.empty(chain.n_states)
    gain[elsewhere] = least + solve(arrival @ (class_gain - least))
    for k, members in enumerate(classes):
        gain[members] = class_gain[k]

    excess = solve(reward[elsewhere] - gain[elsewhere])
    mean_excess = (cycle_out @ solve(excess)) / cycle_length
    bias = np.empty(chain.n_states)
    bias[elsewhere] = excess - solve(arrival @ mean_excess)
    bias[references] = 0.0 - mean_excess
    steps = np.zeros(chain.n_states)
    steps[elsewhere] = length
    return LongRun(gain, bias, steps)


def _visited_often(transition: Any, classes: tuple[IndexArray, ...]) -> IndexArray:
    """Return a state of each class that is likely after the chain has run for a long random time."""
    states: int = transition.shape[0]
    backwards = (1.0 - STOPPING) * transition.T.tocsr()
    law = solve_fixed_point(backwards, np.full(states, STOPPING / states))
    return np.array([members[np.argmax(law[members])] for members in classes], dtype=np.int64)
