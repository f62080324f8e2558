"""Solutions are saved, read and shown as tables; a file that was tampered with is refused."""

import json
import sys
import types

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.planning import AlphaVectorSolution, Solution

EAR = [[0.85, 0.15], [0.15, 0.85]]
HALF = [[0.5, 0.5]] * 2


def tiger() -> rl.POMDP:
    return rl.POMDP.from_arrays(
        [np.eye(2), HALF, HALF], [[-1, -1], [-100, 10], [10, -100]], [EAR, HALF, HALF], order="ass", gamma=0.75,
        start=[0.5, 0.5], state_labels=["left", "right"], action_labels=["listen", "open left", "open right"],
    )  # fmt: skip


def stairs() -> rl.MDP:
    return rl.MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)


def kept(solution, folder):
    solution.save(folder / "plan.npz")
    return rl.load(folder / "plan.npz")


def test_what_was_saved_is_read_to_the_last_bit(tmp_path):
    for options in [{}, {"horizon": 3}, {"method": "average_reward_policy_iteration"}]:
        solution = rl.solve(stairs(), **options)
        again = kept(solution, tmp_path)
        assert (type(again), repr(again)) == (type(solution), repr(solution))
        assert again.q.tolist() == solution.q.tolist()
        assert again.act(1) == solution.act(1)
    for options in [{"gap": 0.1}, {"horizon": 3}, {"method": "qmdp"}, {"method": "incremental_pruning", "tol": 0.1},
                    {"method": "reachable_beliefs", "horizon": 2}]:  # fmt: skip
        plan = rl.solve(tiger(), **options)
        again = kept(plan, tmp_path)
        assert (type(again), repr(again)) == (type(plan), repr(plan))
        assert again.value([0.5, 0.5], plan.horizon) == plan.value([0.5, 0.5], plan.horizon)
        assert again.act({"left": 0.5, "right": 0.5}, plan.horizon) == plan.act([0.5, 0.5], plan.horizon)
        if isinstance(plan, AlphaVectorSolution):
            assert isinstance(again, AlphaVectorSolution)
            assert [one.successors.tolist() for one in again.stages] == [one.successors.tolist() for one in plan.stages]
            assert (again.successors is None) == (plan.successors is None)


def test_files_that_hold_something_else_are_refused(tmp_path):
    rl.solve(tiger(), "incremental_pruning", tol=0.1).save(tmp_path / "plan.npz")
    with np.load(tmp_path / "plan.npz") as file:
        good = dict(file)
    header = json.loads(str(good["header"]))
    n = len(good["actions"])

    def numbers(**changed):
        return {"header": np.array(json.dumps(header | {"numbers": header["numbers"] | changed}))}

    for changes, words in [
        ({"actions": good["actions"] + 3}, "actions holds"),
        ({"actions": good["actions"].astype(float)}, "actions is float64"),
        ({"successors": np.full_like(good["successors"], n)}, f"successors holds {n}, not below {n}"),
        ({"alpha_vectors": np.full_like(good["alpha_vectors"], np.nan)}, "alpha_vectors is not finite"),
        (
            {"alpha_vectors": np.full_like(good["alpha_vectors"], np.inf)},
            "alpha_vectors has no vectors",
        ),
        ({"alpha_vectors": good["alpha_vectors"][:, :1]}, r"alpha_vectors has shape"),
        ({"model.gamma": np.array(2.0)}, "gamma=2 is not in"),
        ({"spare": np.zeros(3)}, "unknown array 'spare'"),
        (numbers(converged="yes"), "converged is 'yes'"),
        (numbers(horizon=2), "it has no 'stages.0.alpha_vectors'"),
        (numbers(lower_bound=None), "lower_bound is None"),
        ({"header": np.array(json.dumps(header | {"kind": "OnlinePlan"}))}, "a OnlinePlan is not kept in files"),
        ({"header": np.array(json.dumps(header | {"kind": "os"}))}, "unknown kind 'os'"),
    ]:
        np.savez(tmp_path / "bad.npz", **(good | changes))
        with pytest.raises(FileError, match=words):
            rl.load(tmp_path / "bad.npz")
    with pytest.raises(FileError, match=r"plan\.pkl: solutions are kept in \.npz files"):
        rl.solve(stairs()).save(tmp_path / "plan.pkl")
    with pytest.raises(ParameterError, match="a plan of pomcp is more than arrays"):
        rl.solve(tiger(), "pomcp", simulations=10, seed=1).save(tmp_path / "plan.npz")


def test_tables_have_names(tmp_path, monkeypatch):
    solution = rl.solve(stairs())
    assert isinstance(solution, Solution)
    solution.to_csv(tmp_path / "stairs.csv")
    assert (tmp_path / "stairs.csv").read_text().splitlines()[:3] == [
        "state,value,action,q 0,q 1", "0,90.0,1,-inf,90.0", "1,100.0,1,81.0,100.0"
    ]  # fmt: skip
    two_steps = rl.solve(tiger(), horizon=2)
    table = two_steps.columns()
    assert list(table) == ["vector", "action", "left", "right"]
    assert set(table["action"]) <= {"listen", "open left", "open right"}
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackage, match="to_frame needs pandas"):
        solution.to_frame()
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=dict))
    assert solution.to_frame() == solution.columns()
