"""Q-learning and Sarsa(lambda) for one table, as tight as numba makes them when they are written for that one case.

Everything that rlsuite leaves open is closed here: step size, discount, exploration rate, number of actions and time
limit are constants of the compiled code; there are no masks, no schedules, no random rewards, no observations, no
visits to count, and nothing is recorded. They explore epsilon-greedily and draw the same random numbers in the same
order, so that the trajectory - and with it the table of action values, to the last bit - must be that of rlsuite, which
the benchmark checks.
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


FADED = 1e-16  # where rlsuite drops a trace


@numba.njit(error_model="numpy")
def _choose(q, state, n_actions, epsilon, rng):
    """Choose epsilon-greedily, ties at random."""
    if rng.random() < epsilon:
        return int(rng.random() * n_actions)
    action = 0
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
                    return a
                chosen -= 1
    return action


@numba.njit(error_model="numpy")
def _outcome(indptr, probability, pair, u):
    """Find the row of the table that a number between 0 and 1 stands for."""
    total = 0.0
    for candidate in range(indptr[pair], indptr[pair + 1]):
        total += probability[candidate]
        if total > u:
            return candidate
    return indptr[pair]


class _Listed:
    """Traces in a list without gaps, beside the entries they belong to; ``place`` tells where an entry is listed."""

    @staticmethod
    @numba.njit(error_model="numpy")
    def new(n_entries):
        return np.zeros(n_entries), np.zeros(n_entries, dtype=np.int64), np.full(n_entries, -1, dtype=np.int64)

    @staticmethod
    @numba.njit(error_model="numpy")
    def forget(traces, n_listed):
        for k in range(n_listed):
            traces[2][traces[1][k]] = -1

    @staticmethod
    @numba.njit(error_model="numpy")
    def credit(traces, n_listed, table, entry, step_size, error, decay):
        trace, listed, place = traces
        if place[entry] < 0:
            place[entry] = n_listed
            listed[n_listed] = entry
            n_listed += 1
        trace[place[entry]] = step_size
        k = 0
        while k < n_listed:
            table[listed[k]] += error * trace[k]
            faded = trace[k] * decay
            if faded < FADED:
                n_listed -= 1
                place[listed[k]] = -1
                if k < n_listed:
                    trace[k] = trace[n_listed]
                    listed[k] = listed[n_listed]
                    place[listed[k]] = k
            else:
                trace[k] = faded
                k += 1
        return n_listed


class _Everywhere:
    """Traces of all entries, in a loop without a branch, which the compiler makes work on several entries at once."""

    @staticmethod
    @numba.njit(error_model="numpy")
    def new(n_entries):
        return (np.zeros(n_entries),)

    @staticmethod
    @numba.njit(error_model="numpy")
    def forget(traces, n_listed):
        traces[0][:] = 0.0

    @staticmethod
    @numba.njit(error_model="numpy")
    def credit(traces, n_listed, table, entry, step_size, error, decay):
        (trace,) = traces
        trace[entry] = step_size
        for k in range(table.size):
            table[k] += error * trace[k]
            faded = trace[k] * decay
            trace[k] = 0.0 if faded < FADED else faded
        return n_listed


TRACES = {"a list": _Listed, "the whole table": _Everywhere}


def sarsa_lambda(
    mdp: MDP, learning_rate: float, epsilon: float, lambda_: float, time_limit: int, traces: str
) -> Callable[..., Any]:
    """Compile ``loop(q, rng, env_rng, steps)`` of Sarsa(lambda) with replacing traces, kept in one of two ways."""
    n_actions, gamma, n_entries = mdp.n_actions, mdp.gamma, mdp.n_states * mdp.n_actions
    decay = gamma * lambda_
    new, forget, credit = (getattr(TRACES[traces], name) for name in ("new", "forget", "credit"))
    tables = (mdp.indptr, mdp.next_state, mdp.probability, mdp.reward, mdp.terminated, np.cumsum(mdp.start))

    @numba.njit(nogil=True, error_model="numpy")
    def learn(indptr, next_state, probability, reward, terminated, start, q, rng, env_rng, steps):
        table = q.reshape(n_entries)
        eligible = new(n_entries)
        n_listed = 0
        state = np.searchsorted(start, env_rng.random(), side="right")
        action = _choose(q, state, n_actions, epsilon, rng)
        elapsed = 0
        for _ in range(steps):
            pair = state * n_actions + action
            outcome = _outcome(indptr, probability, pair, env_rng.random())
            state = np.int64(next_state[outcome])
            error = reward[outcome] - table[pair]
            if not terminated[outcome]:
                action = _choose(q, state, n_actions, epsilon, rng)
                error = reward[outcome] + gamma * q[state, action] - table[pair]
            n_listed = credit(eligible, n_listed, table, pair, learning_rate, error, decay)
            elapsed += 1
            if terminated[outcome] or elapsed >= time_limit:
                forget(eligible, n_listed)
                n_listed = 0
                state = np.searchsorted(start, env_rng.random(), side="right")
                action = _choose(q, state, n_actions, epsilon, rng)
                elapsed = 0

    return lambda q, rng, env_rng, steps: learn(*tables, q, rng, env_rng, steps)
