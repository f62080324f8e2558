import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ParameterError
from rlsuite.models import POMDP


def probability_of(pomdp, actions, observations):
    """Pr[z_1 .. z_n | a_1 .. a_n] by summing over all hidden paths."""
    mdp = pomdp.mdp
    total = 0.0
    for path in itertools.product(range(mdp.n_states), repeat=len(actions) + 1):
        weight = mdp.start[path[0]]
        for t, (a, z) in enumerate(zip(actions, observations, strict=True)):
            step = sum(p for p, ahead, _, _ in mdp.P[path[t]][a] if ahead == path[t + 1])
            weight *= step * pomdp.observation[a, path[t + 1], z]
        total += weight
    return total


def windows_of(pomdp, actions, observations, k):
    """The labels of the windows that are seen along the way."""
    actions_of = pomdp.action_labels or [f"a{a}" for a in range(pomdp.n_actions)]
    seen = pomdp.observation_labels or [f"z{z}" for z in range(pomdp.n_observations)]
    pairs = [f"{actions_of[a]}:{seen[z]}" for a, z in zip(actions, observations, strict=True)]
    return [" ".join(pairs[max(0, t + 1 - k) : t + 1]) for t in range(len(pairs))]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_tiger_emits_windows_as_often_as_their_observations(tiger, k):
    windowed = tiger.window(k)
    index = {label: i for i, label in enumerate(windowed.observation_labels)}
    listen_listen_open_listen = (0, 0, 2, 0)
    total = 0.0
    for observations in itertools.product(range(2), repeat=4):
        expected = probability_of(tiger, listen_listen_open_listen, observations)
        seen = [index[label] for label in windows_of(tiger, listen_listen_open_listen, observations, k)]
        # The emission is deterministic, so the belief of the windowed model tells the same probability step by step.
        belief, probability = windowed.start, 1.0
        for action, window in zip(listen_listen_open_listen, seen, strict=True):
            probability *= windowed.predict(belief, action)[window]
            belief = windowed.update_belief(belief, action, window)
        assert probability == pytest.approx(expected, rel=1e-12)
        total += probability
    assert total == pytest.approx(1.0, rel=1e-12)


def test_sizes_of_the_tiger(tiger):
    """Every history occurs: sum of (3 x 2)^j windows, each with the tiger on either side."""
    for k in (1, 2, 3):
        windowed = tiger.window(k)
        n_windows = sum(6**j for j in range(k + 1))
        assert (windowed.n_observations, windowed.n_states, windowed.n_actions) == (n_windows, 2 * n_windows, 3)


def test_labels_and_start(tiger):
    windowed = tiger.window(2)
    assert windowed.start[:3].tolist() == [0.5, 0.5, 0.0]
    assert windowed.state_labels[:2] == ("tiger left | (nothing yet)", "tiger right | (nothing yet)")
    assert windowed.observation_labels[:2] == ("(nothing yet)", "listen:hear left")
    assert "listen:hear left open right:hear right" in windowed.observation_labels
    assert windowed.action_labels == tiger.action_labels
    assert windowed.gamma == tiger.gamma


@given(data=st.data(), k=st.integers(1, 2))
@settings(max_examples=50)
def test_windowed_states_project_onto_the_hidden_ones(data, pomdps, k):
    """Lumping the windows away gives back the rows of the hidden process, and each state shows its own window."""
    pomdp = data.draw(pomdps())
    windowed = pomdp.window(k)
    hidden_names = pomdp.state_labels or [f"s{s}" for s in range(pomdp.n_states)]
    hidden = [hidden_names.index(label.split(" | ")[0]) for label in windowed.state_labels]
    assert set(np.unique(windowed.observation)) <= {0.0, 1.0}
    for i, label in enumerate(windowed.state_labels):
        assert windowed.observation_labels[int(windowed.observation[0, i].argmax())] == label.split(" | ")[1]
        for a in range(windowed.n_actions):
            if not windowed.mdp.P[i][a]:
                continue
            lumped, expected = {}, {}
            for p, ahead, reward, terminated in windowed.mdp.P[i][a]:
                key = (hidden[ahead], reward, terminated)
                lumped[key] = lumped.get(key, 0.0) + p
            for p, ahead, reward, terminated in pomdp.mdp.P[hidden[i]][a]:
                key = (ahead, reward, terminated)
                expected[key] = expected.get(key, 0.0) + p
            assert lumped == pytest.approx(expected)


def test_random_rewards_follow_the_hidden_state():
    pomdp = POMDP.from_arrays(
        [[[0.5, 0.5]], [[0.5, 0.5]]], [0.25, 0.5], np.eye(2), gamma=0.9, reward_std=[[0], [2]], bernoulli=[[1], [0]]
    )
    windowed = pomdp.window(1)
    for i, label in enumerate(windowed.state_labels):
        assert windowed.mdp.reward_std[i] == (2.0 if label.startswith("s1") else 0.0)
        assert windowed.mdp.bernoulli[i] == label.startswith("s0")


def test_states_entered_only_at_the_end_have_no_actions():
    pomdp = POMDP.from_arrays([[[0.5, 0.5]], [[1, 0]]], [0, 0], np.eye(2), gamma=0.9, start=0, terminated=[False, True])
    windowed = pomdp.window(1)
    assert {label: bool(legal[0]) for label, legal in zip(windowed.state_labels, windowed.mdp.legal, strict=True)} == {
        "s0 | (nothing yet)": True,
        "s0 | a0:z0": True,
        "s1 | a0:z1": False,
    }


def test_bad_lengths(tiger):
    with pytest.raises(ParameterError, match="k=0 is less than 1"):
        tiger.window(0)
    with pytest.raises(ParameterError, match=r"k=1\.5 is not a whole number"):
        tiger.window(1.5)
    with pytest.raises(ParameterError, match=r"k=12 gives more than .* windows, too many to store; choose a smaller k"):
        tiger.window(12)
