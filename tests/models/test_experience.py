import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP

WALK = [
    (0, 0, 1.0, 1, False),
    (0, 0, 3.0, 1, False),
    (0, 0, -1.0, 0, False),
    (1, 0, 5.0, 2, True),
    (1, 0, 7.0, 2, True),
    (0, 0, 0.0, 1, True),
]
SIZE = {"n_states": 3, "n_actions": 2, "gamma": 0.9}


def test_relative_frequencies_without_a_prior():
    mdp = MDP.from_experience(WALK, **SIZE)
    assert mdp.P[0][0] == [(0.25, 0, -1.0, False), (0.5, 1, 2.0, False), (0.25, 1, 0.0, True)]
    assert mdp.P[1][0] == [(1.0, 2, 6.0, True)]
    assert mdp.legal.tolist() == [[True, False], [True, False], [False, False]]  # what was never tried is illegal
    assert mdp.start.tolist() == [0.5, 0.5, 0.0]


def test_posterior_mean_under_a_dirichlet_prior():
    mdp = MDP.from_experience(WALK, **SIZE, prior=2.0)
    P, R = mdp.dense()
    np.testing.assert_allclose(P[0, 0], [(1 + 2) / 10, (3 + 2) / 10, (0 + 2) / 10])
    np.testing.assert_allclose(P[1, 0], [2 / 8, 2 / 8, 4 / 8])
    np.testing.assert_allclose(P[[0, 1, 2, 2], [1, 1, 0, 1]], 1 / 3)  # never tried: uniform
    assert R[0, 0].tolist() == pytest.approx([-1.0, (1 + 3 + 0) / 3, 0.75])  # unseen: the mean of the pair
    assert R[2].tolist() == [[0.0] * 3] * 2
    assert mdp.legal.all()


def test_termination_under_a_prior():
    mdp = MDP.from_experience(WALK, **SIZE, prior=2.0)
    # State 1 was entered 2 : 1 without and with an end, and shares its posterior of 1/2 out in this ratio.
    both = [(p, ended) for p, ahead, _, ended in mdp.P[0][0] if ahead == 1]
    assert both == [(pytest.approx(1 / 3), False), (pytest.approx(1 / 6), True)]
    # All experience of entering state 2 is final; states 0 and 1 were (also) entered to go on.
    unseen = {ahead: ended for _, ahead, _, ended in mdp.P[2][1]}
    assert unseen == {0: False, 1: False, 2: True}


def test_one_entry_is_experience_enough_of_an_end():
    once = MDP.from_experience([(0, 0, 1.0, 1, True)], n_states=2, n_actions=2, gamma=0.9, prior=1.0)
    assert once.P[0][1] == [(0.5, 0, 0.0, False), (0.5, 1, 0.0, True)]


def test_the_coin_of_the_lecture_notes():
    """H H T T T H H under Beta(1, 1): posterior mean 5/9; maximum likelihood 4/7."""
    tosses = [(0, 0, 0.0, 1 + (side == "T"), True) for side in "HHTTTHH"]
    coin = {"n_states": 3, "n_actions": 1, "gamma": 1.0}
    sides = np.zeros((3, 1, 3), dtype=bool)
    sides[0, 0, 1:] = True
    assert MDP.from_experience(tosses, **coin).P[0][0][0][0] == pytest.approx(4 / 7)
    posterior = MDP.from_experience(tosses, **coin, prior=1.0, successors=sides)
    assert [p for p, *_ in posterior.P[0][0]] == pytest.approx([5 / 9, 4 / 9])
    assert posterior.legal.tolist() == [[True], [False], [False]]


def test_arrays_and_tuples_agree(same):
    same(MDP.from_experience(WALK, **SIZE), MDP.from_experience(np.array(WALK), **SIZE))


def test_no_experience_but_a_prior_is_uniform():
    mdp = MDP.from_experience([], **SIZE, prior=0.5)
    np.testing.assert_allclose(mdp.dense()[0], 1 / 3)


@given(
    seen=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(-5, 5), st.integers(0, 2), st.booleans()),
        max_size=30,
    ),
    prior=st.sampled_from([1e-3, 0.5, 1.0, 7.0]),
)
def test_posterior_mean_formula(seen, prior):
    mdp = MDP.from_experience(seen, **SIZE, prior=prior)
    counts = np.zeros((3, 2, 3))
    for s, a, _, ahead, _ in seen:
        counts[s, a, ahead] += 1
    expected = (counts + prior) / (counts + prior).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(mdp.dense()[0], expected, rtol=1e-12)


def test_many_samples_find_the_model():
    """Counting converges to the truth: 40 000 samples, five standard errors."""
    truth = MDP.from_arrays([[[0.2, 0.8], [1, 0]], [[0.5, 0.5], [0, 1]]], [[1, 2], [3, 4]], gamma=0.9, order="sas")
    rng = np.random.default_rng(0)
    P = truth.dense()[0]
    s, a = rng.integers(2, size=40_000), rng.integers(2, size=40_000)
    ahead = (rng.random(40_000) > P[s, a, 0]).astype(int)
    seen = np.stack([s, a, truth.expected_reward()[s, a], ahead, np.zeros(40_000)], axis=1)
    found = MDP.from_experience(seen, n_states=2, n_actions=2, gamma=0.9)
    assert np.abs(found.dense()[0] - P).max() < 5 * 0.5 / np.sqrt(9_500)
    np.testing.assert_allclose(found.expected_reward(), truth.expected_reward(), rtol=1e-12)


BAD = {
    "transitions[1] has the state 3; it must be one of 0..2": [(0, 0, 0, 0, True), (3, 0, 0, 0, False)],
    "transitions[0] has the state -1; it must be one of 0..2": [(-1, 0, 0, 0, False)],
    "transitions[0] has the action 2; it must be one of 0..1": [(0, 2, 0, 0, False)],
    "transitions[0] has the action 0.5; it must be one of 0..1": [(0, 0.5, 0, 0, False)],
    "transitions[0] has the next state 9; it must be one of 0..2": [(0, 0, 0, 9, False)],
    "transitions[0] has the terminated 2; it must be one of 0..1": [(0, 0, 0, 0, 2)],
    "transitions[0, 2] is nan; every entry must be finite": [(0, 0, float("nan"), 0, False)],
    "transitions has shape (1, 4), not (n, 5): state, action, reward, next state, terminated": [(0, 0, 0, 0)],
    "transitions is empty and prior is 0: pass transitions, or prior > 0": [],
    "state 2 was entered without terminating, but no action was taken in it, so nothing is known about its actions. "
    "Collect more transitions, or pass prior > 0": [(0, 0, 0, 2, False)],
}


@pytest.mark.parametrize(("message", "seen"), BAD.items(), ids=list(BAD))
def test_bad_experience(message, seen):
    with pytest.raises(ModelError) as caught:
        MDP.from_experience(seen, **SIZE)
    assert str(caught.value) == message


def test_bad_arguments():
    with pytest.raises(ParameterError, match="prior=-1 is negative"):
        MDP.from_experience(WALK, **SIZE, prior=-1)
    with pytest.raises(ParameterError, match="prior=nan is not a finite number"):
        MDP.from_experience(WALK, **SIZE, prior=float("nan"))
    with pytest.raises(ModelError, match=r"successors has shape \(3, 3\), not \(3, 2, 3\)"):
        MDP.from_experience(WALK, **SIZE, successors=np.ones((3, 3)))
    nowhere = np.ones((3, 2, 3))
    nowhere[1, 0, 2] = 0
    with pytest.raises(
        ModelError,
        match=r"successors\[s=1, a=0, s'=2\] is False, but `transitions` has such a transition: make it True",
    ):
        MDP.from_experience(WALK, **SIZE, successors=nowhere)
