"""The compiled sweeps against plain Python, state by state, on models with everything that a row can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.core.compilation import interpreted
from rlsuite.core.interpretation import OnePass
from rlsuite.models import MDP
from rlsuite.planning import Lookahead, kernels, solve
from rlsuite.planning.kernels import LONG, action_values, backup, backup_in_place, greedy_backup
from rlsuite.planning.policy_rows import PolicySteps, follow_in_place
from rlsuite.planning.residuals import precise_backup

pytestmark = pytest.mark.arithmetic

GAMMA = 0.9


@st.composite
def models(draw):
    """Up to 7 states and 3 actions: illegal actions, repeated successors, self-loops, ends, rewards by pair or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    states, actions = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    lengths = rng.integers(1, 5, size=(states, actions)) * (rng.random((states, actions)) < 0.7)
    lengths[:, 0] = np.maximum(lengths[:, 0], 1)  # a legal action everywhere
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    n = int(indptr[-1])
    weights = rng.integers(1, 6, size=n)
    filled = lengths.ravel() > 0
    total = np.zeros(lengths.size)
    total[filled] = np.add.reduceat(weights, indptr[:-1][filled])
    successor = rng.integers(states, size=n)
    reward = rng.normal(size=lengths.shape) if rng.random() < 0.5 else rng.normal(size=n)
    ended = rng.random(states) < 0.3
    terminated = ended[successor] if rng.random() < 0.7 else rng.random(n) < 0.2
    mdp = MDP.from_rows(
        indptr,
        successor,
        weights / np.repeat(total, lengths.ravel()),
        reward,
        n_actions=actions,
        gamma=GAMMA,
        terminated=terminated,
    )
    return mdp, rng.normal(size=states)


def q_by_hand(mdp, value):
    """QV (S, A), minus infinity for illegal actions, from Gymnasium's table."""
    q = np.full((mdp.n_states, mdp.n_actions), -np.inf)
    for s in range(mdp.n_states):
        for a in range(mdp.n_actions):
            if mdp.P[s][a]:
                q[s, a] = sum(p * (r + GAMMA * value[there] * (not end)) for p, there, r, end in mdp.P[s][a])
    return q


def blank(lookahead):
    return np.full(lookahead.n_states, np.nan), np.full(lookahead.n_states, -7, dtype=np.int32)


@given(models(), st.booleans())
def test_small_calls_in_python_have_the_bytes_of_machine_code(problem, forward):
    mdp, value = problem
    lookahead = Lookahead(mdp)
    rows, ahead, terminal = lookahead.rows, lookahead.ahead(value), lookahead.terminal
    n_actions, indptr, successor = *rows[:2], mdp.next_state.view(np.uint32)
    pairs, paid = mdp.n_states * mdp.n_actions, np.resize(mdp.reward, mdp.next_state.size)
    out, action = blank(lookahead)
    arguments = {
        "row_statistics": (n_actions, indptr, successor, mdp.probability, mdp.terminated, terminal, True),
        "mean_rewards": (n_actions, indptr, mdp.probability, paid, np.ones(pairs)),
        "action_values": (rows, ahead, np.ones(pairs)),
        "backup": (rows, ahead, out, action),
        "greedy_backup": (rows, ahead, 0.5, out, np.full(mdp.n_states, -7)),
        "backup_in_place": (forward, rows, ahead[::-1].copy(), ahead, action),
    }
    inlined = {"expected", "best_action", "looked_ahead", "successors_at"}
    assert {name for name, one in vars(kernels).items() if isinstance(one, OnePass)} == inlined | set(arguments)
    for name, given_arguments in arguments.items():
        kernel = getattr(kernels, name)
        results = []
        for form in (kernel.dispatcher, interpreted(kernel)):
            # a model's own arrays are read-only, and both forms take them as they are
            copies = [
                one.copy() if isinstance(one, np.ndarray) and one.flags.writeable else one for one in given_arguments
            ]
            result = form(0, mdp.n_states, *copies)
            written = [one.tobytes() for one in copies if isinstance(one, np.ndarray)]
            results.append((np.array(result, dtype=np.float64).tobytes(), written))
        assert results[0] == results[1], name


@given(models())
def test_a_backup_is_the_maximum_over_legal_actions(problem):
    mdp, value = problem
    lookahead = Lookahead(mdp)
    ahead = lookahead.ahead(value)
    out, action = blank(lookahead)
    least, greatest = backup(0, mdp.n_states, lookahead.rows, ahead, out, action)
    q = q_by_hand(mdp, value)
    best = np.where(lookahead.terminal, 0.0, q.max(axis=1))
    assert out == pytest.approx(best, abs=1e-12)
    assert action.tolist() == np.where(lookahead.terminal, -1, q.argmax(axis=1)).tolist()
    going = ~lookahead.terminal
    changes = (best - ahead)[going]
    assert least == pytest.approx(changes.min(initial=np.inf), abs=1e-12)
    assert greatest == pytest.approx(changes.max(initial=-np.inf), abs=1e-12)


@given(models(), st.floats(0.0, 1.0))
def test_deciding_takes_the_first_action_that_is_good_enough(problem, tolerance):
    mdp, value = problem
    lookahead = Lookahead(mdp)
    ahead = lookahead.ahead(value)
    out, policy = np.full(mdp.n_states, np.nan), np.full(mdp.n_states, -7)
    greedy_backup(0, mdp.n_states, lookahead.rows, ahead, tolerance, out, policy)
    q = q_by_hand(mdp, value)
    best = q.max(axis=1)
    assert out == pytest.approx(best, abs=1e-12)
    clear = (np.abs(q - (best - tolerance)[:, None]) > 1e-12).all(axis=1) | (tolerance == 0.0)
    first = (q >= (best - tolerance)[:, None]).argmax(axis=1)
    assert policy[clear].tolist() == first[clear].tolist()


def in_place_by_hand(mdp, terminal, begin, end, forward, before, value, actions):
    """One sweep of Gauss-Seidel with the self-loops solved for; `actions(q)` says which action counts."""
    value = value.copy()
    order = range(begin, end) if forward else reversed(range(begin, end))
    for s in order:
        if terminal[s]:
            continue
        q = []
        for a in range(mdp.n_actions):
            rows = mdp.P[s][a]
            back = sum(p for p, there, _, end_ in rows if there == s and not end_)
            follows = sum(p * r for p, _, r, _ in rows)
            for p, there, _, end_ in rows:
                if there != s and not end_:
                    inside = begin <= there < end
                    follows += GAMMA * p * (value if inside else before)[there]
            q.append(follows / (1.0 - GAMMA * back) if rows else -np.inf)
        value[s] = q[actions(s, q)]
    return value


@given(models(), st.booleans(), st.data())
def test_sweeps_in_place_use_the_newest_values_of_their_block(problem, forward, data):
    mdp, value = problem
    lookahead = Lookahead(mdp)
    begin = data.draw(st.integers(0, mdp.n_states - 1))
    end = data.draw(st.integers(begin + 1, mdp.n_states))
    before = lookahead.ahead(value)
    ahead, (_, action) = before.copy(), blank(lookahead)
    backup_in_place(begin, end, forward, lookahead.rows, before, ahead, action)
    expected = in_place_by_hand(mdp, lookahead.terminal, begin, end, forward, before, before, lambda s, q: np.argmax(q))
    assert ahead == pytest.approx(expected, abs=1e-11)

    policy = np.where(lookahead.terminal, -1, mdp.legal.argmax(axis=1)).astype(np.int32)
    steps = PolicySteps(lookahead)
    assert steps.take(policy)
    ahead = before.copy()
    chain = (steps.indptr, steps.successor, steps.weight, steps.reward)
    follow_in_place(begin, end, forward, *chain, before, ahead)
    expected = in_place_by_hand(mdp, lookahead.terminal, begin, end, forward, before, before, lambda s, q: policy[s])
    assert ahead == pytest.approx(expected, abs=1e-11)


@given(models(), st.integers(0, 2**32))
def test_following_one_policy_after_another(problem, seed):
    mdp, value = problem
    lookahead = Lookahead(mdp)
    ahead = lookahead.ahead(value)
    rng = np.random.default_rng(seed)
    steps = PolicySteps(lookahead)
    q = q_by_hand(mdp, value)
    states = np.arange(mdp.n_states)
    taken = None
    for _ in range(4):
        legal = np.array([rng.choice(np.flatnonzero(mdp.legal[s])) for s in states])
        policy = np.where(lookahead.terminal, -1, legal).astype(np.int32)
        another = taken is None or not np.array_equal(policy, taken)
        assert steps.take(policy) == another
        taken = policy
        out = np.full(mdp.n_states, np.nan)
        steps.follow(ahead, out)
        assert out == pytest.approx(np.where(lookahead.terminal, 0.0, q[states, legal]), abs=1e-12)


@pytest.mark.parametrize("length", [int(LONG) - 1, int(LONG), int(LONG) + 1, 75])
@pytest.mark.parametrize("kind", ["run", "gap", "twice", "shuffled"])
def test_long_rows_of_every_form(length, kind):
    """`twice` has the ends of a run and is none: a state is led to in two ways, and one in between in no way."""
    states, rng = 100, np.random.default_rng(length)
    row = 7 + np.arange(length)
    if kind == "gap":
        row[-1] += 5
    elif kind == "twice":
        row[5] = row[4]
    elif kind == "shuffled":
        row[1:-1] = rng.permutation(row[1:-1])
    probability, reward = rng.dirichlet(np.ones(length), states), rng.random(states)
    indptr = np.arange(states + 1) * length
    mdp = MDP.from_rows(indptr, np.tile(row, states), probability.ravel(), reward, n_actions=1, gamma=GAMMA)
    lookahead, value = Lookahead(mdp), rng.standard_normal(states)
    assert lookahead.ordered == (kind in ("run", "gap") or length < LONG)
    out, action = blank(lookahead)
    backup(0, states, lookahead.rows, value, out, action)
    expected = reward + GAMMA * probability @ value[row]
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-14)
    in_python, action_in_python = blank(lookahead)
    interpreted(backup)(0, states, lookahead.rows, value, in_python, action_in_python)
    assert in_python.tobytes() == out.tobytes()
    # a run is added up in the same order as other rows
    assert lookahead.q(value).tobytes() == out.tobytes()
    action_values(0, states, lookahead.rows._replace(ordered=False), value, out)
    assert lookahead.q(value).tobytes() == out.tobytes()
    steps, followed = PolicySteps(lookahead), np.full(states, np.nan)
    steps.take(np.zeros(states, dtype=np.int32))
    steps.follow(value, followed)
    np.testing.assert_allclose(followed, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("states", [1, int(LONG), 70])
@pytest.mark.parametrize("method", ["auto", "value_iteration", "topological"])
def test_rows_that_lead_to_the_same_states_need_no_array_of_successors(states, method):
    """Dense arrays keep none; kernels find the same bytes as for the same rows with all of their successors."""
    rng, actions = np.random.default_rng(states), 3
    dense = MDP.from_arrays(
        rng.dirichlet(np.ones(states), (states, actions)), rng.standard_normal((states, actions)), gamma=GAMMA
    )
    found = solve(dense, method)
    if method.endswith("_iteration"):  # neither looks at the graph
        assert not {"next_state", "terminated"} & vars(dense).keys()
    order = np.arange(dense.n_transitions)
    order[:2] = order[:2][:: -1 if states > 1 else 1]  # the first row in another order: then the rows are not the same
    rows = (dense.indptr, dense.next_state[order], dense.probability[order], dense.reward.reshape(-1, actions))
    flat = MDP.from_rows(*rows, n_actions=actions, gamma=GAMMA)
    wanted = solve(flat, method)
    np.testing.assert_allclose(found.value, wanted.value, rtol=1e-14)  # sums of rows are rounded in another order
    assert found.policy.tolist() == wanted.policy.tolist()
    assert found.error_bound == pytest.approx(wanted.error_bound, rel=1e-3)
    assert (dense.every_row is None, flat.every_row is None) == (False, states > 1)
    value, (one, other) = rng.standard_normal(states), (Lookahead(dense), Lookahead(dense))
    vars(other)["rows"] = one.rows._replace(successor=dense.next_state.view(np.uint32), same=False)
    other._to_all = False
    q = other.q(value)
    out, action = blank(one)
    again, same = blank(other)
    residuals = [np.empty(states), np.empty(states, dtype=np.int64)]
    for kernel in (backup, backup_in_place, precise_backup):
        results = []
        for lookahead, made, taken in ((one, out, action), (other, again, same)):
            arguments = {
                backup: (lookahead.rows, value, made, taken),
                backup_in_place: (True, lookahead.rows, value, made, taken),
                precise_backup: (lookahead.rows, q, value, 1e-9, 0.0, *residuals),
            }[kernel]
            made[:] = value
            results.append(str(kernel(0, states, *arguments)))
        assert results[0] == results[1]
        assert (out.tobytes(), action.tolist()) == (again.tobytes(), same.tolist())
    greedy_one, greedy_other = [np.empty(states, dtype=np.int64) for _ in range(2)]
    for lookahead, made, taken, chosen in ((one, out, action, greedy_one), (other, again, same, greedy_other)):
        found = [lookahead.back_up(value, made, taken), lookahead.back_up_greedily(value, 0.5, made, chosen)]
        for changes in found:
            least, greatest = min(one[0] for one in changes), max(one[1] for one in changes)
            assert (least, greatest) == pytest.approx(((made - value).min(), (made - value).max()), abs=1e-13)
    np.testing.assert_allclose(out, again, rtol=0, atol=1e-13)  # BLAS adds up in another order
    assert (action.tolist(), greedy_one.tolist()) == (same.tolist(), greedy_other.tolist())
    np.testing.assert_allclose(one.q(value), other.q(value), rtol=0, atol=1e-13)
