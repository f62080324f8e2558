"""Predecessors, distances and strong components of a model against SciPy's, on the table of all its moves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from rlsuite.planning.graph import distance_to, edges, predecessors, strong_components

pytestmark = pytest.mark.arithmetic


def adjacency(mdp):
    table = np.zeros((mdp.n_states, mdp.n_states), dtype=bool)
    for s in range(mdp.n_states):
        for a in np.flatnonzero(mdp.legal[s]):
            for p, ahead, _, terminated in mdp.P[s][int(a)]:
                table[s, ahead] |= p > 0 and not terminated
    return table


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_graph_of_a_model(random_mdps, data):
    mdp = data.draw(random_mdps(size=8))
    table = adjacency(mdp)
    counts = edges(mdp)
    backwards = predecessors(mdp, counts)
    for s in range(mdp.n_states):
        found_here = backwards.state[backwards.indptr[s] : backwards.indptr[s + 1]]
        assert found_here.tolist() == np.flatnonzero(table[:, s]).tolist()
    targets = np.zeros(mdp.n_states, dtype=bool)
    targets[data.draw(st.integers(0, mdp.n_states - 1))] = True
    steps = dijkstra(csr_array(table.astype(float)).T, indices=np.argmax(targets), unweighted=True)
    assert distance_to(backwards, targets).tolist() == np.where(np.isinf(steps), -1, steps).astype(int).tolist()
    found = strong_components(mdp, counts)
    n, labels = connected_components(csr_array(table), connection="strong")
    assert found.indptr.size - 1 == n
    assert len(set(zip(labels.tolist(), found.of_state.tolist(), strict=True))) == n
    for s, ahead in zip(*np.nonzero(table), strict=True):
        assert found.of_state[s] >= found.of_state[ahead]
    for k in range(n):
        assert (found.of_state[found.members[found.indptr[k] : found.indptr[k + 1]]] == k).all()
