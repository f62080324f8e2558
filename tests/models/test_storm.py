"""Storm builds its model from the files that we write for it, and finds the same probabilities and rewards."""

import sys

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.models import MDP

if sys.platform not in ("linux", "darwin"):
    pytest.skip("stormpy has no wheel for this system", allow_module_level=True)

import stormpy


def checked(folder, formula):
    """Return what Storm says of each state."""
    files = {"transitions": folder / "model.tra", "labeling": folder / "model.lab"}
    model = stormpy.build_model_from_explicit(**files, transition_rewards=folder / "model.rew")
    environment = stormpy.environments.sound()
    (asked,) = stormpy.parse_properties(formula)
    found = stormpy.model_checking(model, asked, environment=environment)
    return np.array([float(found.get_value(state)) for state in range(model.nr_states)])


def garnet(seed, states=40, actions=3, branching=4):
    """Random transitions; some actions are illegal, some transitions end the episode, and all policies end it."""
    rng = np.random.default_rng(seed)
    rows = {}
    for s in range(states):
        rows[s] = {}
        for a in range(actions):
            ahead = rng.choice(states, branching, replace=False)
            p = rng.dirichlet(np.ones(branching + 1))
            ends = [(float(p[-1]), int(rng.integers(states)), float(rng.integers(3)), True)]
            listed = [(float(p[k]), int(ahead[k]), float(rng.random()), False) for k in range(branching)]
            rows[s][a] = listed + ends if a == 0 or rng.random() < 0.7 else []
    return MDP.from_table(rows, gamma=1.0, start=0)


@pytest.mark.parametrize("seed", range(3))
def test_expected_rewards_until_the_end(seed, tmp_path):
    mdp = garnet(seed)
    mdp.write(tmp_path / "model.tra", dialect="storm")
    largest = rl.solve(mdp, tol=1e-9).value
    np.testing.assert_allclose(checked(tmp_path, 'Rmax=? [F "end"]')[: mdp.n_states], largest, rtol=2e-6)
    least = -rl.solve(mdp.replace(reward=-mdp.reward), tol=1e-9).value
    np.testing.assert_allclose(checked(tmp_path, 'Rmin=? [F "end"]')[: mdp.n_states], least, rtol=2e-6)


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_of_reaching_a_goal(seed, tmp_path):
    """Paid 1 for entering the goal and nothing else, the optimal value at gamma 1 is the probability of reaching it."""
    mdp = garnet(seed)
    goal, trap = mdp.n_states, mdp.n_states + 1
    rows = mdp.to_table()
    for s, of_state in rows.items():
        end, paid = (trap, 0.0) if s % 3 else (goal, 1.0)
        for a, row in of_state.items():
            of_state[a] = [(p, end, paid, True) if done else (p, t, 0.0, False) for p, t, _, done in row]
    for end in (goal, trap):
        rows[end] = {a: [] for a in range(mdp.n_actions)}
    model = MDP.from_table(rows, gamma=1.0, start=0)
    model.write(tmp_path / "model.tra", dialect="storm")
    labels = (tmp_path / "model.lab").read_text()
    labels = labels.replace("init end", "init end goal").replace(f"\n{goal} end", f"\n{goal} end goal")
    (tmp_path / "model.lab").write_text(labels)
    values = rl.solve(model, tol=1e-9).value[: mdp.n_states]
    assert np.ptp(values) > 0.1
    np.testing.assert_allclose(checked(tmp_path, 'Pmax=? [F "goal"]')[: mdp.n_states], values, atol=2e-6)


def test_prisms_files_are_not_storms(tmp_path):
    garnet(0).write(tmp_path / "model.tra")
    with pytest.raises(RuntimeError, match="model hint"):
        checked(tmp_path, 'Pmax=? [F "end"]')


def test_storms_own_files_are_read(tmp_path):
    """What Storm's tests ship, and what Storm says of it."""
    from importlib.resources import files

    examples = files("stormpy") / "examples" / "files"
    tra, lab = str(examples / "tra" / "mdp_general.tra"), str(examples / "lab" / "mdp_general.lab")
    mdp = MDP.read(tra, gamma=0.9, labels=lab, rewards=str(examples / "rew" / "mdp_general.trans.rew"))
    model = stormpy.build_model_from_explicit(
        tra, lab, transition_rewards=str(examples / "rew" / "mdp_general.trans.rew")
    )
    assert (mdp.n_states, mdp.n_transitions) == (model.nr_states, model.nr_transitions)
    assert int(mdp.legal.sum()) == model.nr_choices
