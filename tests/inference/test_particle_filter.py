"""Particles against the exact belief."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ParameterError
from rlsuite.inference.particle_filter import ParticleFilter, resample
from rlsuite.models import MDP, POMDP
from rlsuite.models.observation_model import ObservationRows

pytestmark = pytest.mark.arithmetic

LISTEN, OPEN_LEFT = 0, 1


@pytest.fixture(scope="module")
def tiger():
    stay, reset = np.eye(2), np.full((2, 2), 0.5)
    ear = np.array([[0.85, 0.15], [0.15, 0.85]])
    return POMDP.from_arrays(
        np.stack([stay, reset, reset]),
        [[-1, -1], [-100, 10], [10, -100]],
        np.stack([ear, reset, reset]),
        gamma=0.95,
        order="ass",
    )


def test_the_tiger(tiger):
    known = ParticleFilter(tiger, 20_000, seed=1)
    belief, log_likelihood = tiger.start, 0.0
    for action, seen in [(LISTEN, 0), (LISTEN, 0), (LISTEN, 1), (OPEN_LEFT, 1), (LISTEN, 1)]:
        log_likelihood += np.log(tiger.predict(belief, action)[seen])
        belief = tiger.update_belief(belief, action, seen)
        np.testing.assert_allclose(known.update(action, seen), belief, atol=0.015)
    assert known.log_likelihood == pytest.approx(log_likelihood, abs=0.03)
    assert known.resets == 0
    known.reset()
    assert known.log_likelihood == 0
    np.testing.assert_allclose(known.belief, [0.5, 0.5], atol=1e-4)


def test_the_same_seed_gives_the_same_particles(tiger):
    one, other = ParticleFilter(tiger, 50, seed=3), ParticleFilter(tiger, 50, seed=3)
    for seen in (0, 1, 1, 0):
        assert one.update(LISTEN, seen).tobytes() == other.update(LISTEN, seen).tobytes()
    assert one.particles.tobytes() == other.particles.tobytes()


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_random_models(seed):
    rng = np.random.default_rng(seed)
    states, actions, symbols = rng.integers(1, 5, 3)
    P = rng.dirichlet(np.full(states, 0.5), (states, actions)) * 1.0
    O = rng.dirichlet(np.full(symbols, 0.7), (actions, states))  # noqa: E741 - the field's own name
    end = rng.random((states, actions, states)) < 0.2
    pomdp = POMDP.from_arrays(P, np.zeros(states), O, gamma=0.9, order="sas", terminated=end, start=np.eye(states)[0])
    known, belief = ParticleFilter(pomdp, 4000, seed=seed), pomdp.start
    for _ in range(4):
        action = int(rng.integers(actions))
        joint = np.array([pomdp.joint(belief, action, z).sum() for z in range(symbols)])
        if joint.sum() < 1e-3:
            break
        seen = int(np.argmax(joint))
        belief = pomdp.update_belief(belief, action, seen)
        np.testing.assert_allclose(known.update(action, seen), belief, atol=0.08)
        assert known.weights.sum() == pytest.approx(1)


def test_what_no_particle_can_explain_replaces_all_of_them():
    line = POMDP.from_arrays(np.eye(4)[:, None], np.zeros(4), np.eye(4), gamma=0.9, start=0)
    known = ParticleFilter(line, 10, seed=0)
    np.testing.assert_allclose(known.update(0, 2), [0, 0, 1, 0])
    assert known.resets == 1
    assert known.log_likelihood == -np.inf
    never = POMDP.from_arrays([[[1]]], [0], [[1.0, 0.0]], gamma=0.9)
    with pytest.raises(ParameterError, match="observation=1 is impossible after action=0, whatever the state"):
        ParticleFilter(never, seed=0).update(0, 1)


def test_models_of_a_million_states():
    states = 10**6
    mdp = MDP.from_rows(
        np.arange(states + 1),
        np.minimum(np.arange(states) + 1, states - 1),
        np.ones(states),
        np.zeros(states),
        n_actions=1,
        gamma=0.9,
        start=np.full(states, 1 / states),
    )
    sides = ObservationRows(np.arange(states + 1), (np.arange(states) >= states // 2).astype(int), np.ones(states), 2)
    known = ParticleFilter(POMDP(mdp, sides), 1000, seed=0)
    assert known.update(0, 0)[states // 2 + 1 :].sum() == 0
    known.update(0, 1)
    assert known.effective_size < 1000


def test_resampling_keeps_numbers():
    particles, weights = np.arange(5), np.array([0.1, 0.0, 0.5, 0.4, 0.0])
    for u in (0.0, 0.3, 0.999999):
        drawn, equal = particles.copy(), weights.copy()
        resample(drawn, equal, u, np.zeros(5, dtype=np.int64))
        counts = np.bincount(drawn, minlength=5)
        assert (np.abs(counts - 5 * weights) < 1).all()
        assert equal.tolist() == [0.2] * 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_particles": 0}, "n_particles=0 is less than 1"),
        ({"seed": -1}, "seed=-1 is less than 0"),
        ({"resample_below": 2}, r"resample_below=2 is not in \[0, 1\]"),
    ],
)
def test_bad_arguments(tiger, arguments, message):
    with pytest.raises(ParameterError, match=message):
        ParticleFilter(tiger, **arguments)


def test_bad_updates(tiger):
    known = ParticleFilter(tiger, 5, seed=0)
    with pytest.raises(ParameterError, match=r"action=3 is not an action; the actions are 0\.\.2"):
        known.update(3, 0)
    with pytest.raises(ParameterError, match=r"observation=2 is not an observation; the observations are 0\.\.1"):
        known.update(0, 2)
    with pytest.raises(ParameterError, match="pomdp is a MDP; a POMDP is needed"):
        ParticleFilter(tiger.mdp)
