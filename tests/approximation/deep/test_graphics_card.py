"""Networks on a graphics card, where there is one: what is learned can be repeated, and read without it."""

import numpy as np
import pytest

from rlsuite.approximation.deep import DQN
from rlsuite.approximation.deep.autoencoder import AutoencoderFeatures

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no graphics card")


def own(shape, n_outputs):
    nn = torch.nn
    return nn.Sequential(nn.Linear(*shape, 16), nn.Tanh(), nn.Linear(16, n_outputs))


PARTS = {
    "plain": {},
    "all": {"double": True, "dueling": True, "n_steps": 3, "priority": 0.6, "n_envs": 2, "error_clip": 1.0},
    "own": {"network": own},
}


def made(name):
    return DQN(hidden=(32, 32), learning_starts=50, device="cuda", **PARTS[name])


@pytest.mark.parametrize("name", PARTS)
def test_learning_can_be_repeated_and_goes_on_elsewhere(name, tmp_path):
    agents = [made(name).learn("CartPole-v1", steps=400, seed=3) for _ in range(2)]
    seen = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    assert agents[0].q(seen).tobytes() == agents[1].q(seen).tobytes()
    assert agents[0].record_.episode_return.tolist() == agents[1].record_.episode_return.tolist()
    assert all(weight.is_cuda for weight in agents[0].learner_.weights)
    agents[0].save(tmp_path / "agent.npz")
    network = PARTS[name].get("network")
    on_cpu = DQN.load(tmp_path / "agent.npz", network=network)
    assert on_cpu.device == "cpu"
    np.testing.assert_allclose(on_cpu.q(seen), agents[0].q(seen), rtol=1e-4, atol=1e-5)
    again = DQN.load(tmp_path / "agent.npz", device="cuda", network=network)
    assert again.q(seen).tobytes() == agents[0].q(seen).tobytes()


def test_it_learns_what_the_processor_learns():
    spent = {
        device: DQN(hidden=(32,), learning_starts=50, device=device).learn("CartPole-v1", steps=150, seed=3)
        for device in ("cpu", "cuda")
    }
    seen = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    np.testing.assert_allclose(spent["cuda"].q(seen), spent["cpu"].q(seen), rtol=1e-2, atol=1e-2)


def test_pictures(corridor):
    agents = [
        DQN(convolutions=[(8, 2, 1), (16, 2, 1)], hidden=(16,), learning_starts=50, device="cuda").learn(
            corridor(), steps=300, seed=1
        )
        for _ in range(2)
    ]
    images = np.stack([corridor().image(cell) for cell in range(5)])
    assert agents[0].q(images).tobytes() == agents[1].q(images).tobytes()


def test_an_autoencoder():
    rows = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    found = [
        AutoencoderFeatures(n_features=2, epochs=3, seed=1, device="cuda").fit(rows).transform(rows) for _ in range(2)
    ]
    assert found[0].tobytes() == found[1].tobytes()
