"""Proofs that solutions write."""

from fractions import Fraction

import numpy as np
import pytest

from rlsuite.errors import FileError, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import solve
from rlsuite.planning.proof import checked, plain_file, proof_of_values, text_of


def corridor(gamma: float) -> MDP:
    """Two squares and an end, 1 leads right and costs 1; 0 leads left, and is not legal at the wall."""
    return MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, -1], [-1, -1], [0, 0]], gamma=gamma)


def test_a_solution_writes_its_proof(tmp_path):
    for gamma in (0.9, 1.0):
        solve(corridor(gamma)).write(tmp_path / "plan.cert")
        found = checked(text_of(corridor(gamma)), (tmp_path / "plan.cert").read_text())
        assert found.right, found.sentence
        assert "who takes the actions earns at least LOW" in found.sentence
        wrong = corridor(gamma).replace(reward=[-1.0, -1.0, -1.1])
        found = checked(text_of(wrong), (tmp_path / "plan.cert").read_text())
        assert not found.right
        assert found.sentence.startswith("state 1: LOW is too high, by 0.1")


def test_the_default_proof_holds_for_texts_that_differ_by_rounding(tmp_path):
    """A file whose rows rlsuite rescales, and the same model as rlsuite writes it."""
    text = "discount: 0.9\nstates: 3\nactions: 1\n" + "".join(
        f"T: 0 : {s} : {t} 0.333\nR: 0 : {s} : {t} {s - t}.1\n" for s in range(3) for t in range(3)
    )
    (tmp_path / "thirds.mdp").write_text(text.replace("0.333\n", "0.33333\n"))
    mdp = MDP.read(tmp_path / "thirds.mdp")
    solve(mdp).write(tmp_path / "plan.cert")
    file = plain_file(tmp_path / "thirds.mdp")
    assert file is not None
    assert file != text_of(mdp)
    for each in (file, text_of(mdp)):
        assert checked(each, (tmp_path / "plan.cert").read_text()).right
    # 8 units of the last decimal are spared in each backup: 80 in each bound, as 1 / (1 - gamma) is 10
    solution = solve(mdp)
    tight, spared = (
        [line.split()[2:4] for line in proof_of_values(text_of(mdp), n, solution.value, solution.policy).splitlines()]
        for n in (0, 8)
    )
    for (low, high), (lower, higher) in zip(tight, spared, strict=True):
        unit = Fraction(10) ** -len(high.partition(".")[2])
        assert 79 <= (Fraction(higher) - Fraction(high)) / unit <= 81
        assert 79 <= (Fraction(low) - Fraction(lower)) / unit <= 81
    solve(mdp).write(tmp_path / "own.cert", model=tmp_path / "thirds.mdp")
    assert checked(file, (tmp_path / "own.cert").read_text()).right
    assert "another text" in checked(text_of(mdp), (tmp_path / "own.cert").read_text()).sentence


def test_a_cycle_that_costs_nothing():
    """FrozenLake with gamma = 1: staying in a corner for ever is as good as going on."""
    lake = MDP.from_env("FrozenLake-v1", gamma=1.0)
    stay = MDP.from_successors([[0, 1, 2], [0, 1, 2], [None] * 3], [[0, 0, 7], [0, 0, 5], [0] * 3], gamma=1.0)
    away = MDP.from_successors([[0, 1], [None] * 2], [[0, -3], [0, 0]], gamma=1.0)
    for mdp in (lake, stay, away):
        solution = solve(mdp)
        text = text_of(mdp)
        solution_lines = solution._proof(None)
        assert checked(text, solution_lines).right


def test_rewards_of_every_size(tmp_path):
    rng = np.random.default_rng(4)
    for size in (1e-12, 1.0, 1e12):
        mdp = MDP.from_arrays(rng.dirichlet(np.ones(4), (4, 2)), size * rng.normal(size=(4, 2)), gamma=0.95)
        solve(mdp, tol=1e-9 * size).write(tmp_path / "plan.cert")
        assert checked(text_of(mdp), (tmp_path / "plan.cert").read_text()).right


def test_what_has_no_proof_says_so(tmp_path):
    with pytest.raises(FileError, match=r"proofs are written to \.cert files"):
        solve(corridor(0.9)).write(tmp_path / "plan.txt")
    with pytest.raises(ParameterError, match="no proof for a plan with a horizon"):
        solve(corridor(0.9), horizon=3).write(tmp_path / "plan.cert")
    with pytest.raises(FileError, match="cannot be read"):
        solve(corridor(0.9)).write(tmp_path / "plan.cert", model=tmp_path / "nowhere.mdp")
    (tmp_path / "other.mdp").write_text("discount: 0.9\nstates: 9\nactions: 1\n")
    with pytest.raises(ParameterError, match="about 3 states, and the file of its model has 9"):
        solve(corridor(0.9)).write(tmp_path / "plan.cert", model=tmp_path / "other.mdp")
    assert not list(tmp_path.glob("*.cert"))
