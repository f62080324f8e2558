"""States in which no episode can be: found as by walking everywhere, and an error where the user wants one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.cli import main
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import methods, reachable_states, solve

LINES = "discount: 0.9\nvalues: reward\nstates: a b c\nactions: go\nstart: 1 0 0\n"


def walk_everywhere(mdp: MDP) -> set[int]:
    """The states of all episodes, found one transition after another in the table."""
    begun = [s for s in range(mdp.n_states) if mdp.start[s] > 0.0]
    acted_in, been_in = set(), set(begun)
    while begun:
        state = begun.pop()
        if state in acted_in:
            continue
        acted_in.add(state)
        for outcomes in mdp.P[state].values():
            for probability, successor, _, terminated in outcomes:
                if probability > 0.0:
                    been_in.add(successor)
                    if not terminated:
                        begun.append(successor)
    return been_in


@st.composite
def sparse_models(draw: st.DrawFn) -> MDP:
    """Models whose states have few successors, some of them ends only sometimes, some of probability 0."""
    states, actions = draw(st.integers(1, 7)), draw(st.integers(1, 2))
    rows = [draw(st.lists(st.integers(0, states - 1), min_size=1, max_size=2)) for _ in range(states * actions)]
    sizes = [len(row) for row in rows]
    given_none = draw(st.booleans())
    probability = [[1.0] if len(row) == 1 else [0.0, 1.0] if given_none else [0.5, 0.5] for row in rows]
    return MDP.from_rows(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate(rows),
        np.concatenate(probability),
        np.zeros(sum(sizes)),
        n_actions=actions,
        gamma=0.9,
        terminated=draw(st.lists(st.booleans(), min_size=sum(sizes), max_size=sum(sizes))),
        start=draw(st.integers(0, states - 1)),
    )


@given(sparse_models())
def test_the_states_are_those_of_a_walk_along_every_transition(mdp):
    assert set(np.flatnonzero(reachable_states(mdp)).tolist()) == walk_everywhere(mdp)


@pytest.mark.parametrize(("env_id", "never"), [("CliffWalking-v1", 10), ("Taxi-v4", 96), ("FrozenLake-v1", 0)])
def test_the_tables_of_gymnasium(env_id, never):
    mdp = MDP.from_env(env_id, gamma=0.99)
    assert int((~reachable_states(mdp)).sum()) == mdp.n_states - len(walk_everywhere(mdp)) == never


def island() -> MDP:
    """From 0 to 1 and back; 2 is never entered."""
    return MDP.from_arrays([[[0, 1, 0]], [[1, 0, 0]], [[1, 0, 0]]], [[1], [0], [0]], gamma=0.9, start=0)


def test_by_default_such_a_state_is_solved_like_all_others():
    assert solve(island()).value == pytest.approx([1 / 0.19, 0.9 / 0.19, 0.9 / 0.19], abs=1e-6)


@pytest.mark.parametrize("method", [None, *methods(MDP)])
def test_where_it_is_an_error_no_method_begins(method, monkeypatch):
    chosen = {} if method is None else {"method": method}
    if method == "backward_induction":
        chosen["horizon"] = 3
    with pytest.raises(ModelError, match=r"no episode can be in state 2: .*unreachable='allow'"):
        solve(island(), unreachable="error", **chosen)


def test_the_error_names_some_states_by_their_labels_and_counts_the_others():
    labels = [f"square {i}" for i in range(9)]
    mdp = MDP.from_successors([[0]] * 9, np.zeros((9, 1)), gamma=0.9, start=0, state_labels=labels)
    with pytest.raises(ModelError, match=r"state 1 \('square 1'\), .*5 \('square 5'\) and 3 more:"):
        solve(mdp, unreachable="error")


def test_no_error_where_every_state_can_be_reached(grid_goal):
    assert solve(grid_goal(), unreachable="error").converged


def test_for_a_pomdp_the_hidden_states_are_meant():
    hidden = island()
    pomdp = POMDP(mdp=hidden, observation=np.ones((1, 3, 1)))
    with pytest.raises(ModelError, match="no episode can be in state 2"):
        solve(pomdp, method=next(iter(methods(POMDP))), unreachable="error")


def test_another_word_is_refused():
    with pytest.raises(ParameterError, match="unknown unreachable 'forbid'"):
        solve(island(), unreachable="forbid")


def test_the_command_line_ends_with_the_error_and_2(tmp_path, capsys):
    path = tmp_path / "island.mdp"
    path.write_text(LINES + "T: go : a : b 1\nT: go : b : a 1\nT: go : c : a 1\nR: go : a : * 1\n")
    assert main(["solve", str(path)]) == 0
    capsys.readouterr()
    assert main(["solve", str(path), "--unreachable", "error"]) == 2
    assert "no episode can be in state 2 ('c')" in capsys.readouterr().err
