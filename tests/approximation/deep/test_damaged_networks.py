"""What a file says about the inputs of a network is checked before a network is made for them."""

import json

import numpy as np
import pytest

from rlsuite.errors import FileError

pytest.importorskip("torch")

from rlsuite.approximation import DQN


@pytest.mark.parametrize("env", ["CartPole-v1", "FrozenLake-v1"])
def test_inputs_and_actions(env, tmp_path):
    path = tmp_path / "agent.npz"
    DQN(hidden=(4,)).learn(env, steps=3, seed=0).save(path)
    DQN.load(path)
    with np.load(path) as file:
        content = dict(file)
    header = json.loads(str(content["header"]))
    wrong = [("brightest", each) for each in (0, -1, "x", 1.5, None)]
    wrong += [("n_ids", each) for each in (-1, 3.0, True)] + [("first_id", each) for each in (2**70, 1.5, "a")]
    wrong += [("low", each) for each in ([float("nan")] * 4, [1.0, 2.0], ["a"], [])] + [("high", [0.0] * 3)]
    wrong += [("pixels", 3), ("channels_last", "a"), ("more", 1)]
    wrong += [("shape", each) for each in ([0], [-4], [4.0], ["4"], [2, 3])]
    headers = [header | {"inputs": header["inputs"] | {name: value}} for name, value in wrong]
    headers += [header | {"n_actions": each} for each in (0, -1, 2.0, "2", None)]
    for changed in headers:
        np.savez(path, **content | {"header": np.array(json.dumps(changed))})
        with pytest.raises(FileError):
            pytest.fail(f"read: {changed['inputs']}, {changed['n_actions']} actions: {DQN.load(path)}")
