"""Questions about goals against all policies of small models, and closed forms.

Of a small model every deterministic policy is evaluated by a linear system of its chain, whose classes are found by
matrix powers: nothing is shared with the library. For these objectives some deterministic policy is optimal.
"""

import itertools
import math

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.planning import expected_until, long_run_average, reach

MODELS = 60


def random_model(rng):
    """Return a model with up to five states, some illegal pairs, and sometimes transitions that end the episode."""
    states, actions = int(rng.integers(2, 6)), int(rng.integers(1, 4))

    def row(action):
        if action and rng.random() < 0.2:
            return None
        ahead = rng.choice(states, size=min(int(rng.integers(1, 4)), states), replace=False)
        weights = rng.dirichlet(np.ones(ahead.size)) if rng.random() < 0.7 else np.full(ahead.size, 1 / ahead.size)
        return {int(s): float(p) for s, p in zip(ahead, weights, strict=True)}

    table = [[row(a) for a in range(actions)] for _ in range(states)]
    mdp = rl.MDP.from_successors(table, np.zeros((states, actions)), gamma=0.9)
    ends = rng.random(mdp.next_state.size) < 0.2
    return mdp.replace(terminated=ends) if rng.random() < 0.4 else mdp


def all_policies(mdp):
    return itertools.product(*(np.flatnonzero(legal).tolist() or [-1] for legal in mdp.legal))


def chain_until(mdp, policy, goal, lost):
    """Return the chain with two states more: the goal has been reached, or is out of reach."""
    n = mdp.n_states
    chain = np.zeros((n + 2, n + 2))
    chain[n, n] = chain[n + 1, n + 1] = 1.0
    for s, action in enumerate(policy):
        if goal[s] or lost[s] or action < 0:
            chain[s, n if goal[s] else n + 1] = 1.0
            continue
        for p, ahead, _, ended in mdp.P[s][action]:
            chain[s, n if goal[ahead] else n + 1 if ended or lost[ahead] else ahead] += p
    return chain


def may_come_to(chain, targets):
    """Return from where a path leads to one of some states."""
    found = targets.copy()
    for _ in range(len(chain)):
        found = found | ((chain > 0) @ found)
    return found


def value_of_policy(mdp, policy, goal, lost, paid, missed):
    """Return the probability of the goal, and the expected sum until then."""
    n = mdp.n_states
    chain = chain_until(mdp, policy, goal, lost)
    unit = np.eye(n + 2)
    arrives = may_come_to(chain, unit[n] > 0)
    through = np.flatnonzero(arrives[:n])
    probability = np.zeros(n)
    inner = np.eye(through.size) - chain[np.ix_(through, through)]
    probability[through] = np.linalg.solve(inner, chain[through, n])
    surely = np.flatnonzero(~may_come_to(chain, ~arrives)[:n])
    each = np.array([0.0 if goal[s] or a < 0 else paid[s, a] for s, a in enumerate(policy)])
    total = np.full(n, missed)
    total[surely] = np.linalg.solve(np.eye(surely.size) - chain[np.ix_(surely, surely)], each[surely])
    return probability, np.where(goal, 0.0, total)


def share_of_policy(mdp, policy, counted):
    """Return the share of time in some states, by squaring the lazy chain until it does not change."""
    n = mdp.n_states
    chain = np.zeros((n + 2, n + 2))
    chain[n, n] = chain[n + 1, n + 1] = 1.0
    for s, action in enumerate(policy):
        if action < 0:
            chain[s, n + counted[s]] = 1.0
            continue
        for p, ahead, _, ended in mdp.P[s][action]:
            chain[s, n + counted[ahead] if ended else ahead] += p
    chain = (chain + np.eye(n + 2)) / 2
    for _ in range(60):
        chain = chain @ chain
        chain /= chain.sum(axis=1, keepdims=True)
    return (chain @ np.append(counted, [0, 1]))[:n]


def check_model(seed):
    """Compare all answers about one random model; return how many expected sums were infinite."""
    rng = np.random.default_rng(seed)
    mdp = random_model(rng)
    n, actions = mdp.n_states, mdp.n_actions
    goal = rng.random(n) < 0.3
    goal[rng.integers(n)] |= not goal.any()
    lost = (rng.random(n) < 0.2) & ~goal & (rng.random() < 0.5)
    sign = rng.choice([1.0, -1.0])
    paid = np.where(mdp.legal, sign * rng.integers(0, 3, size=(n, actions)), 0.0)
    missed = -np.inf if (paid[~goal] < 0).any() else np.inf
    none = np.zeros(n, dtype=bool)
    policies = list(all_policies(mdp))
    probability = {p: value_of_policy(mdp, p, goal, lost, paid, missed)[0] for p in policies}
    total = {p: value_of_policy(mdp, p, goal, none, paid, missed)[1] for p in policies}
    counted = goal | lost
    share = {p: share_of_policy(mdp, p, counted.astype(int)) for p in policies}
    for objective, best in (("max", np.max), ("min", np.min)):
        # Probabilities.
        truth = best(list(probability.values()), axis=0)
        found = reach(mdp, goal, avoid=lost, objective=objective)
        assert found.converged
        assert np.abs(found.value - truth).max() <= max(found.error_bound, 1e-12)
        assert found.certain.tolist() == (truth > 1 - 1e-12).tolist()
        assert found.impossible.tolist() == (truth < 1e-12).tolist()
        assert (found.value[found.certain] == 1.0).all()
        assert (found.value[found.impossible] == 0.0).all()
        assert np.abs(probability[tuple(found.policy.tolist())] - truth).max() <= max(found.error_bound, 1e-12)
        alone = reach(mdp, goal, avoid=lost, objective=objective, policy=found.policy)
        assert np.abs(alone.value - truth).max() <= max(found.error_bound + alone.error_bound, 1e-12)
        asked = ~goal & ~lost & mdp.legal.any(axis=1)
        assert (found.optimal_actions[asked].any(axis=1)).all()
        over_actions = np.nanmax if objective == "max" else np.nanmin
        assert (
            np.abs(
                over_actions(found.q[asked], axis=1, initial=-np.inf if objective == "max" else np.inf) - truth[asked]
            ).max(initial=0.0)
            < 1e-9
        )
        # Within some steps: by the recursion, written out.
        steps = int(rng.integers(0, 6))
        within = reach(mdp, goal, avoid=lost, objective=objective, within=steps)
        value = goal.astype(float)
        for left in range(1, steps + 1):
            ahead = value.copy()
            for s in np.flatnonzero(asked):
                of_actions = [
                    sum(p * (goal[i] if ended else value[i]) for p, i, _, ended in mdp.P[s][int(a)])
                    for a in np.flatnonzero(mdp.legal[s])
                ]
                ahead[s] = best(of_actions)
                taken = np.flatnonzero(mdp.legal[s]).tolist().index(within.policies[steps - left, s])
                assert of_actions[taken] == pytest.approx(ahead[s], abs=1e-12)
            value = ahead
        assert np.abs(within.value - value).max() <= within.error_bound
        # Sums.
        truth = best(list(total.values()), axis=0)
        sums = expected_until(mdp, goal, of=paid, objective=objective)
        assert sums.converged
        assert sums.infinite.tolist() == np.isinf(truth).tolist()
        finite = np.isfinite(truth)
        assert sums.value[~finite].tolist() == truth[~finite].tolist()
        assert np.abs(sums.value[finite] - truth[finite]).max(initial=0.0) <= max(sums.error_bound, 1e-9)
        assert np.allclose(total[tuple(sums.policy.tolist())][finite], truth[finite], atol=1e-6)
        # Shares of time.
        truth = best(list(share.values()), axis=0)
        long_run = long_run_average(mdp, counted, objective=objective)
        assert np.abs(long_run.value - truth).max() < 1e-7
        assert np.abs(share[tuple(long_run.policy.tolist())] - truth).max() < 1e-7
    return int(np.isinf(list(total.values())).sum())


def test_against_all_policies():
    infinite = sum(check_model(seed) for seed in range(MODELS))
    assert infinite > MODELS, "the models are not all of one kind"


@pytest.mark.slow
def test_against_all_policies_of_many_models():
    for seed in range(MODELS, 2_000):
        check_model(seed)


def test_closed_forms():
    # Gambler's ruin: from i with win probability p, (1 - r^i) / (1 - r^n), r = (1 - p) / p (Feller 1968, XIV.2).
    p, n = 0.45, 50
    rows = np.diag(np.full(n, p), 1) + np.diag(np.full(n, 1 - p), -1)
    rows[0], rows[n] = np.eye(n + 1)[[0, n]]
    ruin = rl.MarkovChain(rows)
    r = (1 - p) / p
    exact = (1 - r ** np.arange(n + 1)) / (1 - r**n)
    found = reach(ruin, goal=n)
    assert np.abs(found.value - exact).max() <= found.error_bound < 1e-9
    duration = (np.arange(n + 1) - n * exact) / (1 - 2 * p)
    assert expected_until(ruin, goal=[0, n], of="steps").value == pytest.approx(duration, abs=1e-7)
    # A fair die from coins (Knuth & Yao 1976): 1/6 for each side, 11/3 tosses.
    tosses = [[1, 2], [3, 4], [5, 6], [1, 7], [8, 9], [10, 11], [12, 2], *([side] * 2 for side in range(7, 13))]
    die = np.zeros((13, 13))
    for state, ahead in enumerate(tosses):
        for target in ahead:
            die[state, target] += 0.5
    for side in range(7, 13):
        assert reach(rl.MarkovChain(die), goal=side).value[0] == pytest.approx(1 / 6, abs=1e-12)
    steps = expected_until(rl.MarkovChain(die), goal=list(range(7, 13)), of="steps")
    assert steps.value[0] == pytest.approx(11 / 3, abs=1e-12)
    # Craps is won with probability 244/495.
    ways = {total: 6 - abs(total - 7) for total in range(2, 13)}
    points = [4, 5, 6, 8, 9, 10]
    craps = np.zeros((9, 9))
    craps[7, 7] = craps[8, 8] = 1.0
    craps[0, 7] = (ways[7] + ways[11]) / 36
    craps[0, 8] = (ways[2] + ways[3] + ways[12]) / 36
    for k, point in enumerate(points, start=1):
        craps[0, k] = craps[k, 7] = ways[point] / 36
        craps[k, 8] = ways[7] / 36
        craps[k, k] = 1 - (ways[point] + ways[7]) / 36
    assert reach(rl.MarkovChain(craps), goal=7).value[0] == pytest.approx(244 / 495, abs=1e-12)


def test_waiting_for_nothing_is_not_the_goal():
    """A cycle at no cost may not be stayed in if the goal must be reached, and does not count as reached."""
    mdp = rl.MDP.from_successors([[1, 2], [0, 1], [2, 2]], [[0, 5], [0, 0], [0, 0]], gamma=1.0)
    best = expected_until(mdp, goal=2, objective="min")
    assert best.value.tolist() == [5.0, 5.0, 0.0]
    assert best.policy[:2].tolist() == [1, 0]
    assert expected_until(mdp, goal=2, objective="max").value.tolist() == [np.inf, np.inf, 0.0]
    assert expected_until(mdp, goal=2, of=[[0, -5], [0, 0], [0, 0]]).value.tolist() == [-5.0, -5.0, 0.0]
    assert reach(mdp, goal=2, objective="min").value.tolist() == [0.0, 0.0, 1.0]
    # An end of the episode elsewhere misses the goal, one in the goal does not.
    ends = rl.MDP.from_rows([0, 2], [0, 0], [0.5, 0.5], [1, 1], n_actions=1, gamma=1.0, terminated=[True, False])
    assert reach(ends, goal=0).value.tolist() == [1.0]
    two = rl.MDP.from_rows(
        [0, 2, 3], [0, 1, 1], [0.5, 0.5, 1], [1, 1, 1], n_actions=1, gamma=1.0, terminated=[True, True, True]
    )
    assert reach(two, goal=1).value.tolist() == [0.5, 1.0]


def test_bad_questions():
    mdp = rl.MDP.from_successors([[0, 1], [1, 1]], [[1, -1], [0, 0]], gamma=0.9, state_labels=["here", "there"])
    for call, words in (
        (lambda: reach(mdp, 2), "state=2 is not a state; the states are 0..1"),
        (lambda: reach(mdp, [0, 7]), "goal names state 7, which does not exist; states are 0..1"),
        (lambda: reach(mdp, "their"), "did you mean 'there'"),
        (lambda: reach(mdp, []), "names no states"),
        (lambda: reach(mdp, [True]), "a mask of 1 states, and the model has 2"),
        (lambda: reach(mdp, 1, within=-1), "within"),
        (lambda: reach(mdp, 1, within=2.5), "within"),
        (lambda: reach(mdp, 1, within=10**13), "memory|GB"),
        (lambda: reach(mdp, 1, objective="most"), "objective"),
        (lambda: reach("here", 1), "neither an MDP nor a MarkovChain"),
        (lambda: reach(mdp, 1, from_=5), "state=5 is not a state"),
        (lambda: reach(mdp, 1, policy=[3, 0]), "policy"),
        (lambda: reach(rl.MarkovChain([[1]]), 0, policy=[0]), "has no actions"),
        (lambda: expected_until(mdp, 1), "missed=-math.inf"),
        (lambda: expected_until(mdp, 1, missed=3), "neither infinity nor minus infinity"),
        (lambda: expected_until(mdp, 1, of="step"), "did you mean 'steps'"),
        (lambda: expected_until(mdp, 1, of=[1, 2, 3]), r"of has shape \(3,\)"),
        (lambda: long_run_average(mdp, of="nowhere"), "unknown state .nowhere."),
        (lambda: reach(mdp, 1).write("x.cert"), "no proof"),
    ):
        with pytest.raises(ParameterError, match=words):
            call()


def test_answers_are_kept_and_shown(tmp_path):
    lake = rl.MDP.from_env("FrozenLake-v1", gamma=0.9)
    answers = [
        reach(lake, 15),
        reach(lake, 15, within=7),
        expected_until(lake, 15, of="steps", objective="max"),
        long_run_average(lake, of=15, objective="min"),
    ]
    for answer in answers:
        answer.save(tmp_path / "answer.npz")
        again = rl.load(tmp_path / "answer.npz")
        assert type(again) is type(answer)
        for name in ("value", "policy", "start", "known", "q"):
            assert np.array_equal(getattr(again, name), getattr(answer, name), equal_nan=True), name
        assert (again.objective, again.value_at_start) == (answer.objective, answer.value_at_start)
        assert answer.objective in repr(answer)
        assert len(answer.columns()["state"]) == 16
        assert "<" in answer._repr_html_()
    assert answers[0].value_at_start == pytest.approx(14 / 17, abs=1e-9)
    assert answers[1].policies.shape == (7, 16)
    assert reach(lake, 15, from_=[14, 15]).value_at_start == pytest.approx((answers[0].value[14] + 1) / 2)
    assert math.isinf(answers[2].value_at_start)
    with pytest.warns(ConvergenceWarning, match="deadline"):
        assert reach(lake, 15, deadline=1e-9).error_bound == 1.0
