"""Random small models, and what it means for two of them to be equal."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import strategies as st

from rlsuite.models import MDP, POMDP


@st.composite
def random_mdps(draw, termination=True, duplicates=True, noise=True, masks=True):
    """Models with illegal actions, ends, repeated successors, zero probabilities and termination per transition."""
    n_states, n_actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    pairs = n_states * n_actions
    dead = [False] + [masks and draw(st.booleans()) for _ in range(n_states - 1)]
    lengths = []
    for s in range(n_states):
        legal = [not masks or draw(st.booleans()) for _ in range(n_actions)]
        if not any(legal):
            legal[0] = True
        most = 4 if duplicates else n_states
        lengths += [draw(st.integers(1, most)) if ok and not dead[s] else 0 for ok in legal]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    next_state, probability, terminated = [], [], []
    for length in lengths:
        weights = draw(st.lists(st.integers(0 if duplicates else 1, 5), min_size=length, max_size=length))
        if length:
            weights[0] += 1
            if duplicates:
                ahead = [draw(st.integers(0, n_states - 1)) for _ in range(length)]
            else:
                ahead = sorted(draw(st.permutations(range(n_states)))[:length])
            next_state += ahead
            probability += [w / sum(weights) for w in weights]
            terminated += [dead[s] or (termination and draw(st.booleans())) for s in ahead]
    reward = draw(st.lists(st.integers(-8, 8), min_size=len(next_state), max_size=len(next_state)))
    reward = np.array(reward, dtype=float) / 8
    bernoulli = reward_std = None
    if noise and draw(st.booleans()):
        bernoulli = np.array(draw(st.lists(st.booleans(), min_size=pairs, max_size=pairs)))
        std = draw(st.lists(st.integers(0, 3), min_size=pairs, max_size=pairs))
        reward_std = np.where(bernoulli, 0.0, np.array(std, dtype=float))
        reward[np.repeat(bernoulli, lengths)] = np.abs(reward[np.repeat(bernoulli, lengths)])
    weights = np.array([0 if dead[s] else draw(st.integers(0, 3)) for s in range(n_states)], dtype=float)
    weights[0] += 1
    return MDP.from_rows(
        indptr,
        np.array(next_state, dtype=int),
        probability,
        reward,
        n_actions=n_actions,
        gamma=draw(st.integers(0, 10)) / 10,
        terminated=np.array(terminated, dtype=bool),
        start=weights / weights.sum(),
        reward_std=reward_std,
        bernoulli=bernoulli,
        state_labels=draw(st.none() | st.just([f"s{s}" for s in range(n_states)])),
    )


@st.composite
def random_pomdps(draw):
    """A random MDP with between one and three observations."""
    mdp = draw(random_mdps())
    n_observations = draw(st.integers(1, 3))
    size = mdp.n_actions * mdp.n_states * n_observations
    weights = np.array(draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)), dtype=float)
    table = weights.reshape(mdp.n_actions, mdp.n_states, n_observations)
    table[..., 0] += 1
    return POMDP(mdp, table / table.sum(axis=2, keepdims=True))


@pytest.fixture(scope="session")
def mdps():
    return random_mdps


@pytest.fixture(scope="session")
def pomdps():
    return random_pomdps


@pytest.fixture(scope="session")
def same():
    """Assert that two MDPs agree in every bit of every field (or in all but those named)."""

    def check(one, other, but=()):
        for field in fields(MDP):
            if field.name in but:
                continue
            left, right = getattr(one, field.name), getattr(other, field.name)
            if isinstance(left, np.ndarray):
                assert isinstance(right, np.ndarray), field.name
                assert left.dtype == right.dtype, field.name
                assert left.shape == right.shape, field.name
                assert left.tobytes() == right.tobytes(), field.name
            elif field.name == "labels":
                assert {k: v.tolist() for k, v in left.items()} == {k: v.tolist() for k, v in right.items()}
            else:
                assert left == right, field.name

    return check


@pytest.fixture(scope="session")
def tiger():
    """The tiger of KLC98, section 5.1: listen, open left, open right; heard left, heard right."""
    stay, reset = np.eye(2), np.full((2, 2), 0.5)
    ear, deaf = np.array([[0.85, 0.15], [0.15, 0.85]]), np.full((2, 2), 0.5)
    return POMDP.from_arrays(
        np.stack([stay, reset, reset]),
        np.array([[-1.0, -1.0], [-100.0, 10.0], [10.0, -100.0]]),
        np.stack([ear, deaf, deaf]),
        gamma=0.95,
        order="ass",
        state_labels=["tiger left", "tiger right"],
        action_labels=["listen", "open left", "open right"],
        observation_labels=["hear left", "hear right"],
    )
