import copy
import pickle

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite import errors
from rlsuite.approximation.deep import DQN

torch = pytest.importorskip("torch")
nn = torch.nn

SMALL = {"learning_starts": 50, "batch_size": 16, "exploration": rl.EpsilonGreedy(0.3)}
ZERO = [[0.0, 0.0, 0.0, 0.0]]


class Tanh(nn.Module):
    """A class that makes networks."""

    def __init__(self, shape, n_outputs):
        super().__init__()
        self.hidden = nn.LazyLinear(16)
        self.norm = nn.LayerNorm(16)
        self.output = nn.Linear(16, n_outputs)

    def forward(self, x):
        return self.output(torch.tanh(self.norm(self.hidden(x.flatten(1)))))


def rectified(shape, n_outputs):
    return nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), 16), nn.ReLU(), nn.Linear(16, n_outputs))


def softplus(shape, n_outputs):
    return nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), 16), nn.Softplus(), nn.Linear(16, n_outputs))


def weights(agent):
    return b"".join(tensor.numpy().tobytes() for tensor in agent.learner_.online.state_dict().values())


def test_same_seed_same_bytes_and_torch_is_left_alone():
    torch.manual_seed(1)
    state = torch.random.get_rng_state()
    first, again, other = (DQN(network=Tanh, **SMALL).learn("CartPole-v1", steps=120, seed=seed) for seed in (7, 7, 8))
    assert weights(first) == weights(again) != weights(other)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_network_like_ours_learns_the_same_bytes():
    """With the weights that ours begins with, the user's network goes the same way."""
    ours = DQN(hidden=(16,), dueling=False, **SMALL).learn("CartPole-v1", steps=1, seed=7)
    module = rectified((4,), 2)
    module.load_state_dict(ours.learner_.online.state_dict(), strict=False)
    for own, known in zip(module.parameters(), ours.learner_.online.parameters(), strict=True):
        own.data.copy_(known.data)
    before = [each.clone() for each in module.parameters()]
    mine = DQN(network=module, **SMALL).learn("CartPole-v1", steps=200, seed=7)
    assert weights(mine) == weights(DQN(hidden=(16,), dueling=False, **SMALL).learn("CartPole-v1", steps=200, seed=7))
    assert all(torch.equal(*both) for both in zip(module.parameters(), before, strict=True))  # a copy has learned


@pytest.mark.parametrize(("network", "dueling"), [(Tanh, None), (rectified, True), (Tanh((4,), 2), None)])
def test_saved_and_loaded_it_knows_the_same(network, dueling, tmp_path):
    agent = DQN(network=network, dueling=dueling, **SMALL).learn("CartPole-v1", steps=80, seed=3)
    agent.save(tmp_path / "agent.npz")
    again = DQN.load(tmp_path / "agent.npz", network=network)
    assert again.q(ZERO).tobytes() == agent.q(ZERO).tobytes()
    twice = [DQN.load(tmp_path / "agent.npz", network=network) for _ in range(2)]
    for each in twice:
        each.learn("CartPole-v1", steps=60, seed=5)
    assert weights(twice[0]) == weights(twice[1]) != weights(agent)
    with np.load(tmp_path / "agent.npz") as file:  # plain arrays: nothing is pickled
        assert not any(array.dtype.hasobject for array in file.values())
    for twin in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))) if network is rectified else ():
        assert weights(twin) == weights(agent)


def test_a_file_says_which_network_it_wants(tmp_path):
    path = tmp_path / "agent.npz"
    DQN(network=rectified, **SMALL).learn("CartPole-v1", steps=5, seed=3).save(path)
    name = f"{__name__}.rectified"
    with pytest.raises(errors.FileError, match=rf"the network {name}, and no code: .*load\(path, network=rectified\)"):
        DQN.load(path)
    for other in (Tanh, softplus):  # of softplus the weights fit, but not what it answers
        with pytest.raises(errors.FileError, match=rf"weights of the network {name}, and network=.* is another one"):
            DQN.load(path, network=other)
    DQN(hidden=(4,), **SMALL).learn("CartPole-v1", steps=5, seed=3).save(path)
    with pytest.raises(errors.FileError, match="holds a network of rlsuite"):
        DQN.load(path, network=rectified)


def test_a_network_is_found_by_name(tmp_path):
    file = tmp_path / "nets.py"
    file.write_text(
        "from torch import nn\n"
        "def net(shape, n_outputs):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(shape[0], n_outputs))\n"
    )
    agent = DQN(network=f"{file}:net", **SMALL).learn("CartPole-v1", steps=5, seed=3)
    agent.save(tmp_path / "agent.npz")
    assert DQN.load(tmp_path / "agent.npz", network=f"{file}:net").q(ZERO).tobytes() == agent.q(ZERO).tobytes()
    for spec, message in [
        ("nets", "must be 'module:Name' or 'file.py:Name'"),
        (f"{file}:nett", "unknown name 'nett'; did you mean 'net'"),
        ("no_such_package.nets:net", "no_such_package"),
    ]:
        with pytest.raises(errors.ParameterError, match=message):
            DQN(network=spec)


class Halves(nn.Module):
    def __init__(self, answer):
        super().__init__()
        self.linear, self.answer = nn.Linear(4, 2), answer

    def forward(self, x):
        return self.answer(self.linear(x))


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (3, "network=3 must be a torch.nn.Module, or a class or function that makes one"),
        (lambda shape, n_outputs: 3, "makes int, not a torch.nn.Module"),
        (lambda shape: nn.Linear(4, 2), r"called with the shape .*, \(4,\) and 2, and raised TypeError"),
        (nn.Linear(5, 2), r"Linear cannot take 2 observations, float32 \(2, 4\) \(RuntimeError"),
        (nn.Linear(4, 3), r"returns float32 \(2, 3\) .* must return float32 \(2, 2\): Q\(s, 0\), Q\(s, 1\)"),
        (nn.Linear(4, 2).double(), "cannot take|returns float64"),
        (Halves(lambda out: out.double()), "returns float64"),
        (Halves(lambda out: (out, out)), "cannot take 2 observations"),
        (Halves(lambda out: out * np.nan), "returns nan"),
        (nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5), nn.Linear(64, 2)), "answers differently .* Dropout"),
        (nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)), "answers differently .* BatchNorm"),
        (nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (2, 4)), nn.AvgPool1d(2)), "has no weights that can be learned"),
    ],
)
def test_networks_that_cannot_be_used_are_named(network, message):
    with pytest.raises(errors.ParameterError, match=message):
        DQN(network=network, **SMALL).learn("CartPole-v1", steps=5, seed=1)


def test_a_duelling_network_of_the_user_has_one_output_more():
    with pytest.raises(errors.ParameterError, match=r"must return float32 \(2, 3\): V\(s\), A\(s, 0\), A\(s, 1\)"):
        DQN(network=nn.Linear(4, 2), dueling=True, **SMALL).learn("CartPole-v1", steps=5, seed=1)


def test_weights_that_are_frozen_stay_what_they_were():
    module = rectified((4,), 2)
    module[1].weight.requires_grad_(False)
    agent = DQN(network=module, **SMALL).learn("CartPole-v1", steps=80, seed=1)
    assert torch.equal(agent.learner_.online[1].weight, module[1].weight)
    assert not torch.equal(agent.learner_.online[3].weight, module[3].weight)


def test_a_divergence_of_the_users_network_is_an_error_of_ours():
    env = gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), lambda reward: 1e30)
    agent = DQN(network=rectified, **SMALL)
    with pytest.raises(errors.LearningError, match="learning diverges"):
        agent.learn(env, steps=200, seed=1)
    assert np.isfinite(agent.q(ZERO)).all()
