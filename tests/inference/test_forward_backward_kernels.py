"""Short sweeps, interpreted before numba has been imported, have the bytes of machine code."""

import sys

import numba  # noqa: F401 - so that nothing is interpreted but what the test wants
import numpy as np
import pytest

from rlsuite.inference import HMM
from rlsuite.inference import forward_backward_kernels as kernels
from rlsuite.inference.parameters import Workspace
from rlsuite.inference.sequences import sequences

pytestmark = pytest.mark.arithmetic


def models():
    rng = np.random.default_rng(0)
    for states in (1, 2, 5, 8, 33):
        for sparsity in (0.0, 0.6):
            transition = rng.random((states, states)) * (rng.random((states, states)) >= sparsity)
            transition += np.eye(states) * 0.01
            transition /= transition.sum(axis=1, keepdims=True)
            emission = rng.dirichlet(np.ones(4), states)
            emission[0] = [0.0, 1.0, 0.0, 0.0]
            yield HMM(rng.dirichlet(np.ones(states)), transition, emission)
    yield HMM([0.5, 0.5], np.eye(2), [[1.0, 0.0], [1e-150, 1.0 - 1e-150]])  # two groups, of which one is lost


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("model", [*models()], ids=lambda model: f"{model.n_states}-{model.n_transitions}")
def test_short_sweeps(model, is_sparse, backwards, monkeypatch):
    z = np.random.default_rng(1).integers(model.emission.table.shape[1], size=40)
    workspace = Workspace(model, sequences(model.emission, z, [25, 15]))
    workspace.prepared = type(workspace.prepared)(model, is_sparse)
    monkeypatch.setattr("rlsuite.core.interpretation.PATIENCE", np.inf)

    def swept():
        kept, sums, logs = workspace.prepared.empty(40), np.zeros(40), np.zeros(40)
        kept[:] = -1.0
        result = kernels.sweep(
            workspace, workspace.data.pieces, backwards=backwards, kept=kept, base=0, sums=sums, logs=logs
        )
        return [one.tobytes() for one in (*result, kept, sums, logs)]

    expected = swept()
    monkeypatch.setattr(kernels.sweep_kernel, "_small", 1_000_000)
    monkeypatch.setitem(vars(kernels.sweep_kernel), "dispatcher", None)
    monkeypatch.delitem(sys.modules, "numba")
    assert swept() == expected
