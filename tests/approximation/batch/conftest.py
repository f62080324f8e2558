"""Small models whose optimum is computed here, by plain value iteration on dense arrays."""

import numpy as np
import pytest

from rlsuite.models import MDP
from rlsuite.testing import problems


def random_model(seed, n_states=5, n_actions=3, gamma=0.9):
    """Every transition possible, some of them the end."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(n_states, 0.5), size=(n_states, n_actions))
    R = rng.normal(size=(n_states, n_actions, n_states))
    mdp = MDP.from_arrays(P, R, gamma=gamma)
    return mdp.replace(terminated=rng.random(mdp.n_transitions) < 0.2)


@pytest.fixture(scope="session")
def optimum():
    """``optimum(mdp)``: Q* (n_states, n_actions) of a model."""
    return optimal_q


def optimal_q(mdp):
    """Q* (n_states, n_actions) of a model, -inf where an action is illegal."""
    goes_on = mdp.matrix_of(mdp.probability * ~mdp.terminated).toarray()
    q = np.zeros((mdp.n_states, mdp.n_actions))
    for _ in range(2_000):
        best = np.where(mdp.legal, q, -np.inf).max(axis=1, where=mdp.legal, initial=-np.inf)
        q = mdp.expected_reward() + mdp.gamma * (goes_on @ np.where(np.isfinite(best), best, 0.0)).reshape(q.shape)
    return np.where(mdp.legal, q, -np.inf)


@pytest.fixture(
    params=["corridor", "gamble", "ring", "CliffWalking-v1", "FrozenLake-v1", *range(3)], ids=str, scope="session"
)
def model(request):
    if isinstance(request.param, int):
        return random_model(request.param)
    named = getattr(problems, request.param, None)
    return MDP.from_env(request.param, gamma=0.9) if named is None else named()


@pytest.fixture(scope="session")
def solved(model):
    """Q* of the model."""
    return optimal_q(model)
