"""Plans are written for other programs, and read from them with bounds of our own."""

import numpy as np
import pytest

from rlsuite.errors import FileError, ParameterError
from rlsuite.models import POMDP
from rlsuite.planning import read_plan, solve, write_plan

EAR = [[0.85, 0.15], [0.15, 0.85]]
HALF = [[0.5, 0.5]] * 2

BY_POMDP_SOLVE = """0
19.3713683559 19.3713683559

0
24.6956809556 3.0147789621

0
3.0147789621 24.6956809556

2
28.4027999515 -81.5972000485

1
-81.5972000485 28.4027999515
"""
"""The optimum of the tiger for gamma = 0.95, in the form of pomdp-solve."""


def tiger() -> POMDP:
    return POMDP.from_arrays(
        [np.eye(2), HALF, HALF], [[-1, -1], [-100, 10], [10, -100]], [EAR, HALF, HALF], order="ass", gamma=0.95,
        start=[0.5, 0.5],
    )  # fmt: skip


def test_a_plan_survives_every_kind_of_file(tmp_path):
    plan = solve(tiger(), gap=0.1)
    for suffix in (".alpha", ".policy", ".pg"):
        write_plan(plan, tmp_path / f"plan{suffix}")
        again = read_plan(tmp_path / f"plan{suffix}", plan.pomdp)
        assert again.lower_bound == pytest.approx(19.371368, abs=1e-5)
        assert again.upper_bound >= 19.371368
        assert [again.act([p, 1 - p]) for p in (0.01, 0.5, 0.99)] == [1, 0, 2]
        if suffix != ".pg":
            assert again.alpha_vectors.tolist() == plan.alpha_vectors.tolist()
    (tmp_path / "other.alpha").write_text(BY_POMDP_SOLVE)
    (tmp_path / "other.pg").write_text("0 0  1 2\n1 0  3 0\n2 0  0 4\n3 2  0 0\n4 1  0 0\n")
    others = [read_plan(tmp_path / f"other{suffix}", tiger()) for suffix in (".alpha", ".pg")]
    for other in others:
        assert other.lower_bound == pytest.approx(19.371368, abs=1e-5)
        assert other.value([0.5, 0.5]) == pytest.approx(19.371368, abs=1e-5)
    with pytest.raises(ParameterError, match="a plan without end"):
        write_plan(solve(tiger(), horizon=2), tmp_path / "plan.pg")


def test_files_that_are_no_plans_are_refused(tmp_path):
    vector = '<Policy><AlphaVector vectorLength="2" numObsValue="1">{}</AlphaVector></Policy>'
    bomb = '<!DOCTYPE p [<!ENTITY a "xxxx"><!ENTITY b "&a;&a;&a;">]><Policy>&b;</Policy>'
    sparse = vector.format('<SparseVector action="0" obsValue="0"><Entry>1 -3.5</Entry></SparseVector>')
    (tmp_path / "sparse.policy").write_text(sparse)
    assert read_plan(tmp_path / "sparse.policy", tiger()).alpha_vectors.tolist() == [[0.0, -3.5]]
    for name, content, words in [
        ("a.alpha", "0\n1 2\n\n1\n3", "vector 1 has 1 entries, not 2"),
        ("a.alpha", "7\n1 2", r"vector 0: action '7' is not one of 0\.\.2"),
        ("a.alpha", "0\n1 x", "could not convert string to float: .*x"),
        ("a.alpha", "0\n1 inf", "vector 0 has an entry that is not finite"),
        ("a.alpha", "0\n1 1e999", "vector 0 has an entry that is not finite"),
        ("a.pg", "", "it has no nodes"),
        ("a.pg", "0 0 1 1\n", r"node 0: successor '1' is not one of 0\.\.0"),
        ("a.pg", "0 0 0 -\n", "no node follows observation 1 and action 0"),
        ("a.pg", "0 0 0\n", "line 1 is not 'node 0, its action, and the nodes after 2 observations'"),
        ("a.policy", "<Policy>", "no element found"),
        ("a.policy", bomb, "a document type declaration"),
        ("a.policy", '<?xml version="1.0" encoding="ISO-1e400"?><Policy/>', "encoding"),
        ("a.policy", vector.format(""), "it has no vectors"),
        ("a.policy", "<Policy/>", "it has no <AlphaVector> in a <Policy>"),
        ("a.policy", vector.replace('"2"', '"3"').format(""), "its vectors are of length 3"),
        ("a.policy", vector.format('<Vector action="0" obsValue="0">1</Vector>'), "vector 0 has 1 entries, not 2"),
        ("a.policy", vector.format('<Vector action="4" obsValue="0">1 2</Vector>'), "vector 0: action '4'"),
        ("a.xml", "", r"unknown suffix '\.xml'"),
    ]:
        (tmp_path / name).write_text(content)
        with pytest.raises(FileError, match=words):
            read_plan(tmp_path / name, tiger())
    with pytest.raises(FileError, match="there is no file"):
        read_plan(tmp_path / "none.pg", tiger())
