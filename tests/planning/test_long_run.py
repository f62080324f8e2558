import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.models import MDP
from rlsuite.planning.long_run import long_run_structure


def _successors(mdp, s, a):
    return {mdp.n_states if over else to for p, to, _, over in mdp.P[s][a] if p > 0}


def _is_end_component(mdp, states):
    """Whether each state can get to each other by actions that do not lead out of the set."""
    inside = {
        s: [
            _successors(mdp, s, a) for a in range(mdp.n_actions) if mdp.legal[s, a] and _successors(mdp, s, a) <= states
        ]
        for s in states
    }
    if not all(inside.values()):
        return False
    for first in states:
        found, frontier = {first}, [first]
        while frontier:
            new = set().union(*inside[frontier.pop()]) - found
            found |= new
            frontier += new
        if found != states:
            return False
    return True


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_components_are_the_largest_of_all_sets(long_run_mdps, random_mdps, data):
    mdp = data.draw(st.one_of(long_run_mdps(size=5), random_mdps(size=5)))
    found = long_run_structure(mdp)
    states = range(mdp.n_states)
    subsets = [set(c) for k in states for c in itertools.combinations(states, k + 1)]
    components = [c for c in subsets if _is_end_component(mdp, c)]
    largest = {frozenset(c) for c in components if not any(c < other for other in components)}
    acting = mdp.legal.any(axis=1)
    named = {}
    for s in np.flatnonzero(acting & (found.of_state[:-1] >= 0)):
        named.setdefault(found.of_state[s], set()).add(int(s))
    assert {frozenset(c) for c in named.values()} == largest
    assert found.ends == bool((mdp.terminated & (mdp.probability > 0)).any() or not acting.all())
    assert found.number == len(largest) + found.ends
    if found.ends:
        assert set(found.of_state[:-1][~acting]) <= {found.of_state[-1]}
        assert found.of_state[-1] not in named
    for s in states:
        for a in range(mdp.n_actions):
            home = named.get(found.of_state[s], set())
            stays = mdp.legal[s, a] and s in home and _successors(mdp, s, a) <= home
            assert found.stays[s * mdp.n_actions + a] == stays


def test_long_walk_to_an_end_takes_one_cascade():
    """Each state loses its only pair because the one before it did: 100 000 in a row, and not one search for each."""
    n = 100_000
    walk = MDP.from_successors([[None], *([{s - 1, s + 1}] for s in range(1, n - 1)), [n - 2]], [0] * n, gamma=1.0)
    found = long_run_structure(walk)
    assert found.number == 1
    assert not found.stays.any()
    assert (found.of_state[1:-1] == -1).all()
