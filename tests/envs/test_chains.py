import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite_envs.chains import chain, random_walk, river_swim


@pytest.mark.parametrize("mover", ["agent", "chance"])
def test_the_random_walk_of_example_6_2(evaluate, mover):
    model = random_walk(mover=mover)
    np.testing.assert_allclose(evaluate(model), [0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 0])
    assert model.start.argmax() == 3
    assert model.n_actions == (2 if mover == "agent" else 1)


def test_the_random_walk_of_example_7_1(evaluate):
    model = random_walk(n=19, left_reward=-1)
    np.testing.assert_allclose(evaluate(model)[1:-1], [i / 10 - 1 for i in range(1, 20)], atol=1e-12)
    assert model.start.argmax() == 10


@pytest.fixture(scope="module")
def walk_of_a_thousand():
    return random_walk(n=1000, reach=100, mover="chance", left_reward=-1)


@pytest.mark.slow
def test_the_walk_of_a_thousand_states_of_example_9_1(walk_of_a_thousand):
    """The transitions, written once more: a hundred states on either side; what is beyond an end is the end."""
    wanted = np.zeros((1002, 1002))
    for state in range(1, 1001):
        for ahead in [*range(state - 100, state), *range(state + 1, state + 101)]:
            wanted[state, min(max(ahead, 0), 1001)] += 1 / 200
    found = walk_of_a_thousand.transition_matrix(0).toarray()
    np.testing.assert_allclose(found[1:-1], wanted[1:-1], atol=1e-15)
    np.testing.assert_allclose(walk_of_a_thousand.expected_reward()[:, 0], wanted[:, 1001] - wanted[:, 0], atol=1e-15)
    assert walk_of_a_thousand.start.argmax() == 500


def test_how_often_the_walk_of_a_thousand_states_is_where(walk_of_a_thousand):
    """Of all steps, 1.37 % are in the start state, 0.17 % in one next to it, 0.0147 % in an outermost one (S&B2)."""
    going_on = walk_of_a_thousand.transition_matrix(0).toarray()[1:-1, 1:-1]
    visits = np.linalg.solve(np.eye(1000) - going_on.T, walk_of_a_thousand.start[1:-1])
    share = 100 * visits / visits.sum()
    assert share[499].round(2) == 1.37
    assert share[[498, 500]].round(2).tolist() == [0.17, 0.17]
    assert share[[0, -1]].round(4).tolist() == [0.0147, 0.0147]


def test_an_agent_that_walks_far_chooses_the_side():
    model = random_walk(n=3, reach=2)
    assert model.P[2][0] == [(0.5, 1, 0.0, False), (0.5, 0, 0.0, True)]
    assert model.P[1][0] == [(1.0, 0, 0.0, True)]
    assert model.P[2][1] == [(0.5, 3, 0.0, False), (0.5, 4, 1.0, True)]


def test_both_ends_of_the_walk_terminate():
    model = random_walk(n=2, left_reward=-3)
    assert model.P[1][0] == [(1.0, 0, -3.0, True)]
    assert model.P[2][1] == [(1.0, 3, 1.0, True)]
    assert model.P[1][1] == [(1.0, 2, 0.0, False)]
    assert model.P[0][0] == [(1.0, 0, 0.0, True)]


def test_the_chain_slips_to_the_other_action_and_pays_what_happened():
    model = chain()
    assert model.P[1][0] == [(0.8, 2, 0.0, False), (0.2, 0, 2.0, False)]
    assert model.P[1][1] == [(0.8, 0, 2.0, False), (0.2, 2, 0.0, False)]
    assert model.P[4][0] == [(0.8, 4, 10.0, False), (0.2, 0, 2.0, False)]
    assert model.P[4][1] == [(0.8, 0, 2.0, False), (0.2, 4, 10.0, False)]


def test_going_forward_for_ever_is_optimal_on_the_chain_and_earns_what_is_published(optimum):
    model = chain(gamma=0.99)
    _, q = optimum(model)
    assert (q[:, 0] > q[:, 1]).all()
    # Long-run reward per step 0.8^5 * 10 + 0.2 * 2; over 1000 steps Dearden and Strens give 3677.
    forward = model.transition_matrix(0).toarray()
    reward = model.expected_reward()[:, 0]
    at, total = model.start, 0.0
    for _ in range(1000):
        total += at @ reward
        at = at @ forward
    assert at @ reward == pytest.approx(0.8**5 * 10 + 0.2 * 2)
    assert total == pytest.approx(3677, rel=0.005)


def test_the_current_of_the_river():
    model = river_swim()
    expected = np.array([[0.7, 0.3, 0, 0, 0, 0], [0.1, 0.6, 0.3, 0, 0, 0], [0, 0.1, 0.6, 0.3, 0, 0],
                         [0, 0, 0.1, 0.6, 0.3, 0], [0, 0, 0, 0.1, 0.6, 0.3], [0, 0, 0, 0, 0.7, 0.3]])  # fmt: skip
    np.testing.assert_allclose(model.transition_matrix(1).toarray(), expected)
    assert model.transition_matrix(0).toarray().argmax(axis=1).tolist() == [0, 0, 1, 2, 3, 4]
    assert model.start.tolist() == [0, 0.5, 0.5, 0, 0, 0]
    reward = model.expected_reward()
    assert reward[0].tolist() == [5, 0]
    assert reward[5].tolist() == pytest.approx([0, 3000])
    assert not reward[1:5].any()


def test_swimming_up_is_optimal_though_drifting_pays_at_once(optimum, evaluate):
    model = river_swim()
    value, q = optimum(model)
    assert (q[:, 1] > q[:, 0]).all()
    up = np.tile([0.0, 1.0], (6, 1))
    np.testing.assert_allclose(value, evaluate(model, up))
    assert value[0] > 5 / (1 - model.gamma)


def test_keywords_of_the_river():
    model = river_swim(n=2, start=[0], forward=0.5, washed_back=0.2, left_reward=1, right_reward=7)
    assert model.P[0][1] == [(0.5, 0, 0.0, False), (0.5, 1, 0.0, False)]
    assert model.P[1][1] == [(0.2, 0, 0.0, False), (0.8, 1, 7.0, False)]


@pytest.mark.parametrize(
    ("build", "kwargs", "words"),
    [
        (random_walk, {"n": 0}, "n=0"),
        (random_walk, {"mover": "wind"}, "unknown mover 'wind'"),
        (random_walk, {"left_reward": float("nan")}, "left_reward=nan"),
        (chain, {"n": 1}, "n=1"),
        (chain, {"slip": -0.1}, r"slip=-0.1 is not a number in \[0, 1\]"),
        (chain, {"large": "10"}, "large='10'"),
        (river_swim, {"n": 1}, "n=1"),
        (river_swim, {"start": [6]}, r"start=6 is not a number in \[0, 5\]"),
        (river_swim, {"start": []}, r"start=\[\] has 0 entries; at least 1 is needed"),
        (river_swim, {"start": 2}, "start=2 is not a sequence"),
        (river_swim, {"forward": 0.8, "back": 0.3}, r"back=0.3"),
        (river_swim, {"washed_back": 2}, "washed_back=2"),
    ],
)
def test_bad_keywords_are_named(build, kwargs, words):
    with pytest.raises(ParameterError, match=words):
        build(**kwargs)
