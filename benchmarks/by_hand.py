"""Q-learning for one table with epsilon-greedy exploration, as tight as numba makes it when written for that one case.

Everything that rlsuite leaves open is closed here: step size, discount, exploration rate, number of actions and time
limit are constants of the compiled code; there are no masks, no schedules, no random rewards, no observations, no
visits to count, and nothing is recorded. It draws the same random numbers in the same order, so that the trajectory -
and with it the table of action values, to the last bit - must be that of rlsuite, which the benchmark checks.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from rlsuite.models import MDP


def q_learning(mdp: MDP, learning_rate: float, epsilon: float, time_limit: int) -> Callable[..., Any]:
    """Compile ``loop(q, rng, env_rng, steps)`` for one model; ``q`` (n_states, n_actions) is learned in place.

    The first number that ``env_rng`` gives is used for the start state.
    """
    n_actions, gamma = mdp.n_actions, mdp.gamma
    tables = (mdp.indptr, mdp.next_state, mdp.probability, mdp.reward, mdp.terminated, np.cumsum(mdp.start))

    @numba.njit(nogil=True, error_model="numpy")
    def learn(indptr, next_state, probability, reward, terminated, start, q, rng, env_rng, steps):
        state = np.searchsorted(start, env_rng.random(), side="right")
        elapsed = 0
        for _ in range(steps):
            action = 0
            if rng.random() < epsilon:
                action = int(rng.random() * n_actions)
            else:
                best = q[state, 0]
                ties = 1
                for a in range(1, n_actions):
                    if q[state, a] > best:
                        best = q[state, a]
                        action = a
                        ties = 1
                    elif q[state, a] == best:
                        ties += 1
                if ties > 1:
                    chosen = int(rng.random() * ties)
                    for a in range(action, n_actions):
                        if q[state, a] == best:
                            if chosen == 0:
                                action = a
                                break
                            chosen -= 1

            pair = state * n_actions + action
            outcome = indptr[pair]
            u = env_rng.random()
            total = 0.0
            for candidate in range(indptr[pair], indptr[pair + 1]):
                total += probability[candidate]
                if total > u:
                    outcome = candidate
                    break

            successor = np.int64(next_state[outcome])
            target = reward[outcome]
            if not terminated[outcome]:
                best = q[successor, 0]
                for a in range(1, n_actions):
                    if q[successor, a] > best:
                        best = q[successor, a]
                target += gamma * best
            q[state, action] += learning_rate * (target - q[state, action])

            state = successor
            elapsed += 1
            if terminated[outcome] or elapsed >= time_limit:
                state = np.searchsorted(start, env_rng.random(), side="right")
                elapsed = 0

    return lambda q, rng, env_rng, steps: learn(*tables, q, rng, env_rng, steps)
