"""Random models for the plain algorithms; the same seed makes the same model."""

from collections.abc import Callable

import numpy as np
import pytest

from rlsuite.models import MDP, POMDP


def random_mdp(seed: int, gamma: float, *, masked: bool) -> MDP:
    """Up to six states and three actions: ends, transitions that end the episode, and illegal actions if asked for."""
    rng = np.random.default_rng(seed)
    n_states, n_actions = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    ends = rng.random(n_states) < 0.2
    ends[0] = False
    indptr, next_state, probability, reward, terminated = [0], [], [], [], []
    for s in range(n_states):
        legal = rng.random(n_actions) < 0.7 if masked else np.ones(n_actions, dtype=bool)
        legal[rng.integers(n_actions)] = True
        for a in range(n_actions):
            if legal[a] and not ends[s]:
                ahead = rng.integers(n_states, size=int(rng.integers(1, 4)))  # the same state may come twice
                next_state += ahead.tolist()
                probability += rng.dirichlet(np.ones(len(ahead))).tolist()
                reward += rng.normal(size=len(ahead)).tolist()
                terminated += (ends[ahead] | (rng.random(len(ahead)) < 0.2)).tolist()
            indptr.append(len(next_state))
    return MDP.from_rows(
        indptr, next_state, probability, reward, n_actions=n_actions, gamma=gamma, terminated=terminated
    )


def random_pomdp(seed: int, gamma: float) -> POMDP:
    mdp = random_mdp(seed, gamma, masked=False)
    rng = np.random.default_rng([seed, 1])
    n_observations = int(rng.integers(1, 4))
    return POMDP(mdp, rng.dirichlet(np.ones(n_observations), size=(mdp.n_actions, mdp.n_states)))


@pytest.fixture(scope="session")
def new_mdp() -> Callable[..., MDP]:
    return random_mdp


@pytest.fixture(scope="session")
def new_pomdp() -> Callable[[int, float], POMDP]:
    return random_pomdp
