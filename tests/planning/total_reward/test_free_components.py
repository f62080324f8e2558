"""gamma = 1 where the end can be avoided for ever for free: known answers, linear programs, values of the policies.

The optimal total reward is the least solution of V >= r + C V that is at least 0 wherever a policy can stay for free;
HiGHS finds it without a policy, a collapsed model, or a sweep.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron

import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import ConvergenceWarning, ModelError
from rlsuite.models import MDP
from rlsuite.planning import evaluate_policy, solve
from rlsuite.planning.mdp import stochastic_shortest_path as module

pytestmark = pytest.mark.arithmetic

EXACT, SWEEPS = 10**9, 0


@pytest.fixture(params=[EXACT, SWEEPS], ids=["exact", "sweeps"], autouse=True)
def engine(request, monkeypatch):
    """Every model is solved by linear systems, or every model by sweeps."""
    monkeypatch.setattr(module, "EXACT", request.param)


def solved(successors, reward, **keywords):
    """The solution, whose policy must have the value that it promises."""
    mdp = MDP.from_successors(successors, reward, gamma=1.0, **keywords)
    return checked(mdp, solve(mdp))


def checked(mdp, solution):
    assert solution.converged
    own = evaluate_policy(mdp.replace(start=_everywhere(mdp)), solution.policy)
    np.testing.assert_allclose(own, solution.value, rtol=0, atol=2.0 * solution.error_bound + 1e-12)
    return solution


def _everywhere(mdp):
    acting = mdp.legal.any(axis=1)
    return acting / acting.sum()


# ------------------------------------------------------------------------------------------------------ known answers


@pytest.mark.parametrize(
    ("env", "value"),
    [
        ("FrozenLake-v1", 14 / 17),
        ("FrozenLake8x8-v1", 1.0),
        ("rlsuite/GridGoal-v0", 100.0),
        ("rlsuite/NondeterministicGridGoal-v0", 100.0),
        ("rlsuite/ObstacleGrid-v0", 1000.0),
        ("rlsuite/ChangingMaze-v0", 1.0),
        ("rlsuite/RandomWalk-v0", 1.0),
        ("rlsuite/GridWorld-v0", 1.0),  # nothing is free there, but everybody gets to the end, sooner or later
    ],
)
def test_environments(env, value):
    mdp = MDP.from_env(env, gamma=1.0)
    solution = checked(mdp, solve(mdp))
    assert solution.value_at_start == pytest.approx(value, abs=solution.error_bound)


def test_walking_about_for_nothing_in_a_grid(grid_goal):
    mdp = grid_goal(1.0)
    solution = checked(mdp, solve(mdp))
    np.testing.assert_allclose(solution.value, [100, 100, 100, 100, 100, 0], rtol=0, atol=1e-9)
    # Every move leaves all that can be earned to be earned, but the policy goes to the goal.
    assert (solution.optimal_actions == mdp.legal).all()


def test_waiting_for_nothing():
    solution = solved([[1, 0], [1, 2], [None, None]], [[-1, -1], [0, 5], [0, 0]])
    assert solution.value.tolist() == pytest.approx([4, 5, 0])
    assert solution.policy.tolist() == [0, 1, -1]


def test_who_would_pay_for_leaving_stays():
    solution = solved([[1, 2], [0, 2], [None, None]], [[0, -1], [0, -2], [0, 0]])
    assert solution.value.tolist() == [0, 0, 0]
    assert solution.policy.tolist() == [0, 0, -1]
    assert not solution.optimal_actions[:, 1].any()


def test_the_best_way_out_is_taken_from_everywhere():
    # A ring of four; the ways out pay 1, 3, 2 and 0, and the third state can also jump to the first.
    solution = solved(
        [[1, 4, 1], [2, 4, 2], [3, 4, 0], [0, 4, 0], [None, None, None]],
        [[0, 1, 0], [0, 3, 0], [0, 2, 0], [0, 0, 0], [0, 0, 0]],
    )
    assert solution.value.tolist() == pytest.approx([3, 3, 3, 3, 0])
    assert solution.policy.tolist() == [0, 1, 2, 0, -1]  # the shorter way round


def test_several_components_one_after_the_other():
    # {0, 1} -> -1 -> {2, 3} -> 4 -> 4, where one may also wait for nothing, or leave at a cost of 7.
    solution = solved(
        [[1, 1], [0, 2], [3, 3], [2, 4], [4, 5], [None, None]], [[0, 0], [0, -1], [0, 0], [0, 4], [0, -7], [0, 0]]
    )
    assert solution.value.tolist() == pytest.approx([3, 3, 4, 4, 0, 0])
    assert solution.policy.tolist() == [0, 1, 0, 1, 0, -1]


def test_a_pair_that_pays_inside_a_component_is_a_way_out_of_it():
    # From 1 back to 0 for -1, or to the end for 2; waiting is free in both.
    solution = solved([[0, 1], [1, {0: 0.5, 2: 0.5}], [None, None]], [[0, 0], [0, 2.0], [0, 0]], start=0)
    assert solution.value.tolist() == pytest.approx([4, 4, 0])


def test_a_state_that_ends_an_episode_and_lies_in_a_component():
    # Entering 1 from 0 may end the episode, or not; from 1 one may go back.
    mdp = MDP.from_rows(
        indptr=[0, 1, 3, 4, 5],
        next_state=[0, 1, 1, 1, 0],
        probability=[1.0, 0.5, 0.5, 1.0, 1.0],
        reward=[0.0, 3.0, 0.0, 0.0, 0.0],
        terminated=[False, True, False, False, False],
        n_actions=2,
        gamma=1.0,
    )
    solution = checked(mdp, solve(mdp))
    assert solution.value.tolist() == pytest.approx([3, 3])
    assert solution.policy.tolist() == [1, 1]


def test_rewards_that_are_0_on_average_only():
    mdp = MDP.from_rows([0, 2, 3], [0, 0, 0], [0.5, 0.5, 1.0], [1.0, -1.0, 7.0], terminated=[False, False, True],
                        n_actions=2, gamma=1.0, reward_std=[2.0, 0.0])  # fmt: skip
    solution = checked(mdp, solve(mdp))
    assert solution.value.tolist() == pytest.approx([7])
    assert solution.policy.tolist() == [1]


def test_no_end_but_a_place_to_stay():
    # Going round costs 1; in 2 one may stay.
    solution = solved([[1, 1], [2, 0], [2, 0]], [[-1, -1], [-1, -1], [0, -1]])
    assert solution.value.tolist() == pytest.approx([-2, -1, 0])


def test_probabilities_that_do_not_quite_add_up():
    third = 0.333333333  # nine digits, as in a file
    solution = solved(
        [[{0: third, 1: third, 2: third}, 3], [0, 2], [1, 0], [None, None]], [[0, 9], [0, 0], [0, 0], [0, 0]]
    )
    assert solution.value.tolist() == pytest.approx([9, 9, 9, 0])


def test_the_start_may_be_inside():
    solution = solved([[1, 1], [0, 2], [None, None]], [[0, 0], [0, 5], [0, 0]], start=0)
    assert solution.value_at_start == pytest.approx(5)


# ------------------------------------------------------------------------------------------------------ still unknown


@pytest.mark.parametrize(
    ("successors", "reward", "why"),
    [
        # Beside a free component, somewhere else: one earns 1 in three steps,
        ([[0, 1], [2, 4], [3, 3], [1, 4], [None] * 2], [[0, 0], [2, 0], [-2, -1], [1, 0], [0, 0]], "earned per step"),
        # or 1 and -1 in turn, through a free component.
        ([[0, 1], [0, 2], [None, None]], [[0, 1], [-1, 0], [0, 0]], "add up to 0"),
        ([[0, 1], [1, 1]], [[0, 1], [-1, -2]], "state 1 no end can be reached"),
    ],
)
def test_what_cannot_be_known_is_refused(successors, reward, why):
    with pytest.raises(ModelError, match=why):
        solve(MDP.from_successors(successors, reward, gamma=1.0))


# ------------------------------------------------------------------------------------------------- by linear programs


def free_states(mdp, reward):
    """The states of free end components: from the largest set down, with Python's sets."""
    moves = {
        s: {a: {t for p, t, _, _ in mdp.P[s][a] if p} for a in range(mdp.n_actions)
            if mdp.legal[s, a] and reward[s, a] == 0.0 and not any(p and end for p, _, _, end in mdp.P[s][a])}
        for s in range(mdp.n_states)
    }  # fmt: skip
    # In a set that is closed under some action of each state one may stay for ever; and so only states of components
    # and such from which one surely gets there are left, whose value is not below 0 either.
    while True:
        less = {s: {a: to for a, to in acts.items() if to <= set(moves)} for s, acts in moves.items()}
        less = {s: acts for s, acts in less.items() if acts}
        if less == moves:
            return sorted(moves)
        moves = less


def by_linear_program(mdp):
    """V*, by HiGHS."""
    states, actions = mdp.n_states, mdp.n_actions
    row = np.repeat(np.arange(states * actions), np.diff(mdp.indptr))
    going = np.where(mdp.terminated, 0.0, mdp.probability)
    onwards = csr_array((going, (row, mdp.next_state)), shape=(states * actions, states))
    own = kron(eye_array(states), np.ones((actions, 1))).tocsr()
    mean = np.bincount(row, mdp.probability * mdp.rows.reward, minlength=states * actions)
    legal = mdp.legal.reshape(-1)
    least = np.full(states, -np.inf)
    least[free_states(mdp, mean.reshape(states, actions))] = 0.0
    least[~mdp.legal.any(axis=1)] = 0.0
    program = linprog(
        np.ones(states),
        A_ub=(onwards - own)[legal],
        b_ub=-mean[legal],
        bounds=np.column_stack([least, np.full(states, np.inf)]),
    )
    assert program.status == 0, program.message
    return program.x


def random_model(seed):
    """A random model with many free cycles, and some way to the end from each state; only ends pay more than 0."""
    rng = np.random.default_rng(seed)
    states, actions = int(rng.integers(2, 40)), int(rng.integers(1, 4))
    indptr, next_state, probability, reward, terminated = [0], [], [], [], []
    free = rng.uniform(0.3, 1.0)
    for s in range(states):
        for a in range(actions):
            if a > 0 and rng.random() < 0.2:
                indptr.append(len(next_state))
                continue
            number = int(rng.integers(1, 4)) if rng.random() < 0.5 else 1
            to = (s + rng.integers(-2, 3, size=number)) % states
            if a == 0:
                to[0] = s - 1  # down to 0, and from there to the end
            ends = (to == -1) | (rng.random(number) < 0.05)
            pays = 0.0 if rng.random() < free else -float(rng.integers(1, 4))
            next_state += np.maximum(to, 0).tolist()
            probability += rng.dirichlet(np.ones(number)).tolist()
            reward += np.where(ends, rng.integers(-5, 6, size=number), pays).tolist()
            terminated += ends.tolist()
            indptr.append(len(next_state))
    return MDP.from_rows(indptr, next_state, probability, reward, n_actions=actions, gamma=1.0, terminated=terminated)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_against_linear_programs(seed):
    mdp = random_model(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solution = solve(mdp)
    checked(mdp, solution)
    np.testing.assert_allclose(solution.value, by_linear_program(mdp), rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rlsuite.errors.ConvergenceWarning")
def test_models_that_are_given_up():
    """Sweeps alone find no upper bound of model 110; with linear systems between them they do."""
    assert [seed for seed in range(400) if not solve(random_model(seed)).converged] == []


@pytest.mark.parametrize("env", ["FrozenLake-v1", "FrozenLake8x8-v1", "rlsuite/ChangingMaze-v0"])
def test_environments_against_linear_programs(env):
    mdp = MDP.from_env(env, gamma=1.0)
    np.testing.assert_allclose(solve(mdp).value, by_linear_program(mdp), rtol=0, atol=1e-6)
