"""What a proof about hidden states is made of."""

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import POMDP
from rlsuite.planning import solve
from rlsuite.planning.pomdp import verify
from rlsuite.planning.pomdp.proof import arrays_of, controller_of, informed_bound, points_from_the_start, proof_of_plan
from rlsuite.planning.proof import checked, text_of

EAR, HALF = [[0.85, 0.15], [0.15, 0.85]], [[0.5, 0.5]] * 2


def tiger() -> POMDP:
    return POMDP.from_arrays(
        [np.eye(2), HALF, HALF], [[-1, -1], [-100, 10], [10, -100]], [EAR, HALF, HALF], order="ass", gamma=0.95,
        start=[0.5, 0.5],
    )  # fmt: skip


def test_bounds_of_the_tiger():
    arrays = arrays_of(verify.Model(text_of(tiger())))
    assert arrays.reward.tolist() == [[-1, -1], [-100, 10], [10, -100]]
    uppers = informed_bound(arrays)
    assert (uppers @ arrays.start).max() == pytest.approx(87.179, abs=1e-3)  # KLC98, as in the tests of that bound
    points = points_from_the_start(arrays, uppers)
    at_start = points.high[(points.beliefs == arrays.start).all(axis=1)]
    assert at_start == pytest.approx([19.3713683559], abs=2.1e-8)
    plan = solve(tiger(), "sarsop", gap=1e-4)
    controller = controller_of(arrays, plan.alpha_vectors, plan.actions)
    assert (controller.value[0] @ arrays.start) == pytest.approx(19.3713683559, abs=2.1e-8)


def test_a_plan_writes_its_proof(tmp_path):
    plan = solve(tiger(), "sarsop", gap=1e-3)
    plan.write(tmp_path / "plan.cert")
    found = checked(text_of(tiger()), (tmp_path / "plan.cert").read_text())
    assert found.right, found.sentence
    tight, spared = (
        [line.split()[-1] for line in proof_of_plan(text_of(tiger()), n, plan.alpha_vectors, plan.actions).splitlines()]
        for n in (0, 1_000)
    )
    units = 1_000 / (1 - 0.95) * 10.0 ** -len(tight[0].partition(".")[2])
    for number, wider in zip(tight, spared, strict=True):  # vectors are lower, and the other lines higher
        assert abs(float(wider) - float(number)) >= 0.99 * units
    tiger().write(tmp_path / "tiger.pomdp")  # which has * for what follows
    assert checked((tmp_path / "tiger.pomdp").read_text(), (tmp_path / "plan.cert").read_text()).right
    twice = (tmp_path / "tiger.pomdp").read_text() + "R: 0 : 0 : 1 : * 5\n"
    assert "given twice" in checked(twice, (tmp_path / "plan.cert").read_text()).sentence
    other = tiger().replace(mdp=tiger().mdp.replace(reward=tiger().mdp.reward - 1))
    assert not checked(text_of(other), (tmp_path / "plan.cert").read_text()).right


def test_episodes_that_end_get_a_state_and_an_observation(tmp_path):
    look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    cups = POMDP.from_arrays(
        [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
        order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    )  # fmt: skip
    solve(cups, "sarsop", gap=1e-3).write(tmp_path / "plan.cert")
    found = checked(text_of(cups), (tmp_path / "plan.cert").read_text())
    low, high = (float(word) for word in found.sentence.split()[-3::2])
    assert found.right
    assert low <= 8 <= high
    assert high - low < 1e-9


def test_what_has_no_proof_says_so(tmp_path):
    for plan, sentence in [
        (solve(tiger(), horizon=3), "no proof for a plan with a horizon"),
        (solve(tiger(), "fast_informed_bound"), "no proof for upper bounds"),
        (solve(tiger(), "qmdp"), "no proof for upper bounds"),
    ]:
        with pytest.raises(ParameterError, match=sentence):
            plan.write(tmp_path / "plan.cert")
    assert not list(tmp_path.iterdir())


def test_random_models_have_intervals_that_agree_with_the_bounds_of_the_search(tmp_path):
    """Whether episodes end or not."""
    rng = np.random.default_rng(5)
    for k in range(6):
        states, actions, seen = rng.integers(2, 4), rng.integers(1, 3), 2
        ends = k % 2 == 1
        model = POMDP.from_arrays(
            rng.dirichlet(np.full(states, 0.4), (states, actions)),
            rng.normal(size=(states, actions)).round(2),
            rng.dirichlet(np.full(seen, 0.4), (actions, states)),
            gamma=0.5,
            order="sas",
            start=rng.dirichlet(np.ones(states)),
            terminated=[ends and s == 0 for s in range(states)],
        )
        plan = solve(model, "sarsop", gap=1e-3)
        plan.write(tmp_path / "plan.cert")
        found = checked(text_of(model), (tmp_path / "plan.cert").read_text())
        assert found.right, (k, found.sentence)
        low, high = (float(word) for word in found.sentence.split()[-3::2])
        assert low <= plan.upper_bound
        assert high >= plan.lower_bound
        assert high - low < 1e-2


@pytest.mark.slow
def test_a_plan_of_many_vectors_is_worth_what_it_promises():
    """The 842 states of Tag, where beliefs of single nodes lose a third of it."""
    model = POMDP.from_env("rlsuite_envs:rlsuite/Tag-v0", gamma=0.95)
    with pytest.warns(ConvergenceWarning):
        plan = solve(model, "sarsop", max_iterations=30)
    arrays = arrays_of(verify.Model(text_of(model)))
    vectors = np.pad(plan.alpha_vectors, ((0, 0), (0, arrays.start.size - model.n_states)))
    controller = controller_of(arrays, vectors, plan.actions)
    assert plan.lower_bound - 1e-9 <= controller.value[0] @ arrays.start <= plan.upper_bound
