"""All ways in and out lead to the same model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rlsuite.models import MDP, POMDP
from rlsuite.models.gymnasium_table import rows_from_table


@given(data=st.data())
def test_rows(data, mdps, same):
    mdp = data.draw(mdps())
    again = MDP.from_rows(
        mdp.indptr.tolist(),
        mdp.next_state,
        mdp.probability.tolist(),
        mdp.reward,
        n_actions=mdp.n_actions,
        gamma=mdp.gamma,
        terminated=mdp.terminated,
        start=mdp.start,
        reward_std=mdp.reward_std,
        bernoulli=mdp.bernoulli,
        state_labels=mdp.state_labels,
    )
    same(mdp, again)


@given(data=st.data())
def test_gymnasium_table(data, mdps, same):
    mdp = data.draw(mdps(noise=False))
    plain = {s: {a: mdp.P[s][a] for a in mdp.P[s]} for s in mdp.P}
    for table in (mdp.P, plain, [[plain[s][a] for a in plain[s]] for s in plain]):
        rows = rows_from_table(table, range(mdp.n_states), range(mdp.n_actions))
        again = MDP.from_rows(*rows[:4], terminated=rows.terminated, n_actions=mdp.n_actions, gamma=0.5, start=0)
        same(mdp, again, but=["gamma", "start", "state_labels"])


@given(data=st.data())
def test_dense(data, mdps, same):
    mdp = data.draw(mdps(duplicates=False, noise=False))
    P, R = mdp.dense()
    ends = np.zeros(P.shape, dtype=bool)
    pair = mdp.pairs()
    ends[pair // mdp.n_actions, pair % mdp.n_actions, mdp.next_state] = mdp.terminated
    arguments = {"gamma": mdp.gamma, "start": mdp.start, "legal": mdp.legal, "state_labels": mdp.state_labels}
    again = MDP.from_arrays(P, R, terminated=ends, **arguments)
    # p r / p is the only arithmetic on the way, and exact only for rewards that are small fractions of 2.
    np.testing.assert_allclose(again.reward, mdp.reward, rtol=1e-15)
    same(mdp, again, but=["reward"])

    first = (1, 0, 2)
    by_action = MDP.from_arrays(
        P.transpose(first), R.transpose(first), terminated=ends.transpose(first), order="ass", **arguments
    )
    same(by_action, again)
    sparse = MDP.from_arrays(
        [csr_array(one) for one in P.transpose(first)],
        [csr_array(one) for one in R.transpose(first)],
        terminated=[csr_array(one) for one in ends.transpose(first)],
        **arguments,
    )
    same(sparse, again)


@given(data=st.data())
def test_transition_matrices(data, mdps, same):
    mdp = data.draw(mdps(duplicates=False, noise=False, termination=False))
    again = MDP.from_arrays(
        [mdp.transition_matrix(a) for a in range(mdp.n_actions)],
        mdp.dense()[1].transpose(1, 0, 2),
        order="ass",
        gamma=mdp.gamma,
        start=mdp.start,
        legal=mdp.legal,
        state_labels=mdp.state_labels,
    )
    np.testing.assert_allclose(again.reward, mdp.reward, rtol=1e-15)
    same(mdp, again, but=["reward"])


@given(data=st.data())
def test_successors(data, mdps, same):
    mdp = data.draw(mdps(duplicates=False, noise=False, termination=False))
    table = [[{ahead: p for p, ahead, _, _ in mdp.P[s][a]} or None for a in mdp.P[s]] for s in mdp.P]
    paid = {(s, a, ahead): r for s in mdp.P for a in mdp.P[s] for _, ahead, r, _ in mdp.P[s][a]}
    again = MDP.from_successors(
        table, lambda *key: paid[key], gamma=mdp.gamma, start=mdp.start, state_labels=mdp.state_labels
    )
    same(mdp, again)


@given(data=st.data())
def test_files(data, mdps, same, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.npz"
    mdp = data.draw(mdps())
    mdp.write(path)
    same(mdp, MDP.read(path))


@pytest.mark.slow
@given(data=st.data())
def test_files_of_pomdps(data, pomdps, same, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.npz"
    pomdp = data.draw(pomdps())
    if data.draw(st.booleans()):
        pomdp = pomdp.replace(observation_labels=tuple(f"z{z}" for z in range(pomdp.n_observations)))
    pomdp.write(path)
    again = POMDP.read(path)
    same(pomdp.mdp, again.mdp)
    assert pomdp.observation.tobytes() == again.observation.tobytes()
    assert pomdp.observation.shape == again.observation.shape
    assert pomdp.observation_labels == again.observation_labels
