"""Grading: what is as good as the best gets full marks, nothing else does, and the reason names what is wrong."""

import re

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers its environments
from rlsuite.errors import ParameterError
from rlsuite.testing import BestPath, BestPolicy, Grade, Number, Probabilities, Values, grade


def grid(gamma=0.9):
    return rl.MDP.from_env("rlsuite/GridGoal-v0", gamma=gamma)


def tied(rng, best):
    """A policy that takes in each state one of the best actions, by chance."""
    return [int(rng.choice(np.flatnonzero(row))) if row.any() else -1 for row in best.optimal_actions]


@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_all_best_policies_and_no_other_get_full_marks(gamma):
    mdp, rng = grid(gamma), np.random.default_rng(1)
    exercise, best = BestPolicy(mdp), rl.solve(mdp)
    for _ in range(20):
        assert grade(tied(rng, best), exercise) == Grade(1.0, True) or gamma == 1.0  # they may go round for ever
        answer = [int(rng.choice(np.flatnonzero(row))) if row.any() else -1 for row in mdp.legal]
        right = np.allclose(rl.evaluate_policy(mdp, answer, horizon=200), best.value, atol=1e-6)
        found = grade(answer, exercise)
        assert found.correct == right
        assert (found.points == 1.0) == right
        assert 0.0 <= found.points <= 1.0


def test_the_points_are_the_way_from_chance_to_the_optimum():
    mdp = rl.MDP.from_successors([[1, 1, 1], [None] * 3], [[0.0, 2.0, 4.0], [0.0] * 3], gamma=0.5)
    exercise = BestPolicy(mdp)
    for probabilities, points in (([0, 0, 1], 1.0), ([0, 0.25, 0.75], 0.75), ([0, 1, 0], 0.0), ([1, 0, 0], 0.0)):
        assert grade([probabilities, [0, 0, 0]], exercise).points == pytest.approx(points)


def test_the_first_wrong_state_is_named_with_what_it_costs():
    names = {"state_labels": ["in", "on", "out"], "action_labels": ["back", "ahead"]}
    mdp = rl.MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 10], [0, 0]], gamma=0.9, **names)
    answer = {"in": "ahead", "on": "back"}
    assert grade(answer, BestPolicy(mdp)).reason == "in state 'on', action 'back' costs 1.9"
    assert grade(answer, BestPolicy(mdp), reveal=True).right == "action 'ahead' is best, and worth 10"
    assert grade(["ahead", "ahead", ""], BestPolicy(mdp)).correct


def test_an_action_that_is_not_legal_is_the_worst():
    mdp, best = grid(), rl.solve(grid())
    policy = dict(zip(mdp.state_labels, [mdp.action_labels[a] for a in best.policy[:-1]], strict=False))
    found = grade({**policy, "S2": "R"}, BestPolicy(mdp))
    assert found.reason == "in state 'S2', action 'R' is not legal"
    assert found.points <= grade({**policy, "S2": "L"}, BestPolicy(mdp)).points < 1.0
    alike = rl.MDP.from_successors([[1, 1, None]] * 2, [[1, 1, 0]] * 2, gamma=0.5)
    assert grade([2, 0], BestPolicy(alike)).points == 0.0  # also where all legal actions are equally good


def test_best_actions_that_go_round_for_ever_are_not_a_best_policy():
    mdp = rl.MDP.from_successors([[1, 2], [0, 2], [None, None]], [[0, 5], [0, 5], [0, 0]], gamma=1.0)
    assert grade([1, 1, -1], BestPolicy(mdp)).correct
    assert grade([0, 1, -1], BestPolicy(mdp)).correct
    found = grade([0, 0, -1], BestPolicy(mdp))
    assert found.points == 0.0
    assert found.reason == "from state 0, each action is a best one, but together they go round: it costs 5"
    costly = rl.MDP.from_successors([[0, 1], [None, None]], [[-1, -1], [0, 0]], gamma=1.0)
    assert grade([0, -1], BestPolicy(costly)).points == 0.0


@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_solutions_and_agents_are_answers(gamma):
    mdp = grid(gamma)
    agent = rl.QLearning(gamma=gamma).learn("rlsuite/GridGoal-v0", steps=2_000, seed=1)
    assert grade(agent, BestPolicy(mdp)).correct
    assert grade(rl.solve(mdp), BestPolicy(mdp)).correct
    assert grade(rl.solve(mdp), Values(mdp)).correct
    assert grade(rl.solve(mdp).q, Values(mdp)).correct


def test_values():
    mdp = grid()
    policy = mdp.legal / np.maximum(mdp.legal.sum(axis=1, keepdims=True), 1)
    truth = rl.evaluate_policy(mdp, policy)
    exercise = Values(mdp, policy)
    assert grade(truth.round(2), exercise).correct
    assert grade(dict(enumerate(truth)), exercise).correct
    wrong = truth.copy()
    wrong[1] += 1.0
    found = grade(wrong, exercise)
    assert found.points == pytest.approx(1.0 - 1.0 / mdp.legal.any(axis=1).sum())
    assert found.reason == f"{wrong[1]:.6g} is too large for state {mdp.state_labels[1]!r}"
    assert grade(rl.solve(mdp).value, exercise).points < 1.0


def test_beliefs():
    tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
    exercise = Probabilities.of_belief(tiger, ["listen", "listen"], ["hear left", "hear left"])
    assert grade([0.9698, 0.0302], exercise).correct
    assert grade({"tiger left": 0.9698, "tiger right": 0.0302}, exercise).correct
    found = grade([0.85, 0.15], exercise)
    assert found.points == 0.0
    assert exercise.grade([0.85, 0.15]) == found
    assert (found.right, exercise.grade([0.85, 0.15], reveal=True).right) == ("", "its probability is 0.969799")
    assert found.reason == "0.85 is too small for state 'tiger left'"
    rows = Probabilities([[0.5, 0.5], [1.0, 0.0]])
    assert grade([[0.5, 0.5], [0.0, 1.0]], rows).points == pytest.approx(0.5)
    assert grade([[0.5, 0.5], [0.0, 1.0]], rows).reason == "0 is too small for state 0 in row 1"


def test_paths_that_are_as_probable_are_as_good():
    even = rl.HMM(start=[0.5, 0.5], transition=[[0.5, 0.5], [0.5, 0.5]], emission=[[0.9, 0.1], [0.9, 0.1]])
    assert grade([0, 1, 1], BestPath(even, [0, 0, 1])).correct
    stays = rl.HMM(start=[0.5, 0.5], transition=[[1, 0], [0, 1]], emission=[[0.9, 0.1], [0.1, 0.9]])
    found = grade([0, 1], BestPath(stays, [0, 0]))
    assert (found.points, found.reason) == (
        0.0,
        "the best path is elsewhere than in 1 at time 1: this one is impossible",
    )
    assert grade([1, 1], BestPath(stays, [0, 0])).points == pytest.approx(1.0 / 81.0)


def test_numbers():
    assert grade(3.1416, Number(np.pi)).correct
    assert str(grade(3, Number(np.pi))) == "0.00 points of 1: 3 is too small"
    assert grade(np.float32(0.0), Number(0.0)).correct


@pytest.mark.slow
def test_a_thousand_answers_to_a_random_model():
    rng = np.random.default_rng(1)
    transition = rng.dirichlet([0.2] * 6, (3, 6))  # few rewards, so that many actions are as good
    mdp = rl.MDP.from_arrays(transition, rng.integers(0, 2, (6, 3)), gamma=0.9)
    exercise, best = BestPolicy(mdp), rl.solve(mdp)
    for _ in range(1_000):
        assert grade(tied(rng, best), exercise).correct
        answer = [int(rng.choice(np.flatnonzero(row))) if row.any() else -1 for row in mdp.legal]
        right = all(a < 0 or best.optimal_actions[s, a] for s, a in enumerate(answer))
        assert grade(answer, exercise).correct == right


def test_answers_that_cannot_be_read():
    hmm = rl.HMM(start=[0.5, 0.5], transition=[[1, 0], [0, 1]], emission=[[0.9, 0.1], [0.1, 0.9]])
    policy, values = BestPolicy(grid()), Values(grid())
    for answer, exercise, said in (
        ([0, 1], policy, "policy has shape (2,)"),
        ({0: "U"}, policy, "the answer has no action for state"),
        ({0: "W"}, policy, "unknown action 'W' (L, R, U, D, 0..3)"),
        ({"nowhere": "U"}, policy, "unknown state 'nowhere'"),
        (None, policy, "policy has shape ()"),
        (
            [1.0, 2.0],
            values,
            "the answer has shape (2,); allowed are (6,) values of states and (6, 4) values of actions",
        ),
        ({0: 1.0}, values, "the answer has no number for state"),
        ("81", values, "the answer"),
        ([0.5], Probabilities([0.5, 0.5]), "the answer has shape (1,); the probabilities have shape (2,)"),
        ([np.nan, 1.0], Probabilities([0.5, 0.5]), "the answer has an entry that is not a finite number"),
        ([0], BestPath(hmm, [0, 0]), "the answer has 1 states; there are 2 observations"),
        ([0, 2], BestPath(hmm, [0, 0]), "state=2 is not a state"),
        (3, BestPath(hmm, [0, 0]), "the answer 3 is not a sequence of states"),
        ("three", Number(3.0), "the answer"),
        (np.nan, Number(3.0), "the answer"),
        (3.0, 3.0, "exercise=3.0 is not an exercise"),
    ):
        with pytest.raises(ParameterError, match=re.escape(said)):
            grade(answer, exercise)
    with pytest.raises(ParameterError, match="one distribution"):
        Probabilities([0.5, 0.6])
    with pytest.raises(ParameterError, match="may go on for ever"):
        grade([0, 0], Values(rl.MDP.from_successors([[0, 1], [None, None]], [[-1, -1], [0, 0]], gamma=1.0), [0, -1]))


REVEALED = [
    (BestPolicy(rl.MDP.from_successors([[0, 0]], [[1.0, 2.0]], gamma=0.5)), [0], "action 1 is best, and worth 4"),
    (Values(rl.MDP.from_successors([[0]], [[1.0]], gamma=0.75)), [9.0], "it is worth 4"),
    (Probabilities([0.4, 0.6]), [0.5, 0.5], "its probability is 0.4"),
    (BestPath(rl.HMM([1, 0], [[1, 0], [0, 1]], [[1, 0], [0, 1]]), [0]), [1], "it is in 0 there"),
    (Number(4.0), 5.0, "it is 4"),
]


@pytest.mark.parametrize(("exercise", "answer", "right"), REVEALED, ids=[type(one[0]).__name__ for one in REVEALED])
def test_what_is_right_is_said_to_teachers_alone(exercise, answer, right):
    assert not grade(answer, exercise).right
    found = grade(answer, exercise, reveal=True)
    assert found.right == right
    assert str(found) == f"{grade(answer, exercise)}; {right}"
