"""Features by an autoencoder: what it learns, and that nobody but `fit` needs PyTorch."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn.base
import sklearn.linear_model
import sklearn.pipeline

import rlsuite as rl
from rlsuite import errors
from rlsuite.approximation import Chain, Polynomial, Scaling, SemiGradientSarsa
from rlsuite.approximation.deep import AutoencoderFeatures
from rlsuite.approximation.deep.network import build_network, put_arrays

torch = pytest.importorskip("torch")

QUICK = {"n_features": 2, "hidden": (), "epochs": 3, "seed": 1}


@pytest.fixture(scope="module")
def cloud():
    rng = np.random.default_rng(1)
    return rng.normal(size=(128, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(128, 5)) + 7.0


@pytest.mark.slow
def test_without_hidden_layers_it_is_principal_component_analysis(cloud):
    """The smallest reconstruction error of a linear code is the sum of the other eigenvalues (Baldi & Hornik 1989)."""
    features = AutoencoderFeatures(n_features=2, hidden=(), learning_rate=0.05, epochs=400, batch_size=128, seed=1).fit(
        cloud
    )
    discarded = np.sort(np.linalg.eigvalsh(np.corrcoef(cloud.T)))[:3].sum() / 5
    assert features.losses_[-1] == pytest.approx(discarded, rel=1e-6)
    # the code is a linear function of the observation: that of a mean is the mean of the codes
    codes = features.transform(cloud)
    np.testing.assert_allclose(features.transform(cloud[:2].mean(axis=0)[None])[0], codes[:2].mean(axis=0), atol=1e-5)
    assert features.novelty(cloud).mean() == pytest.approx(discarded, rel=1e-6)


@pytest.mark.slow
def test_eight_three_eight():
    """The network of the notes: eight one-hot vectors through three units."""
    ids = np.eye(8)
    features = AutoencoderFeatures(
        n_features=3, hidden=(16,), learning_rate=0.01, epochs=600, batch_size=8, seed=1
    ).fit(ids)
    codes = features.transform(ids)
    assert codes.shape == (8, 3)
    assert features.inverse_transform(codes).argmax(axis=1).tolist() == list(range(8))


def test_what_was_never_seen_is_novel():
    angle = np.linspace(0.0, 2.0 * np.pi, 100, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(100)])
    features = AutoencoderFeatures(n_features=2, hidden=(), learning_rate=0.01, epochs=100, seed=1).fit(circle)
    assert features.novelty([[0.0, 0.0, 1.0]])[0] > 100 * features.novelty(circle).max()


def test_same_seed_same_bytes_and_torch_is_left_alone(cloud):
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    first, second = (AutoencoderFeatures(**QUICK).fit(cloud).transform(cloud) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_it_is_a_transformer_of_scikit_learn(cloud):
    features = AutoencoderFeatures(**QUICK)
    assert sklearn.base.clone(features).get_params() == features.get_params()
    pipeline = sklearn.pipeline.make_pipeline(features, sklearn.linear_model.Ridge()).fit(cloud, cloud[:, 0])
    assert pipeline.predict(cloud).shape == (128,)
    assert list(pipeline[0].get_feature_names_out()) == ["code0", "code1"]


def test_saved_and_loaded_it_says_the_same(cloud, tmp_path):
    features = AutoencoderFeatures(n_features=2, hidden=(4,), epochs=2, seed=1).fit(cloud)
    features.save(tmp_path / "features.npz")
    again = AutoencoderFeatures.load(tmp_path / "features.npz")
    assert again.transform(cloud).tobytes() == features.transform(cloud).tobytes()
    assert again.novelty(cloud).tobytes() == features.novelty(cloud).tobytes()
    assert again.losses_.tobytes() == features.losses_.tobytes()
    assert again.get_params() == features.get_params()


@pytest.mark.parametrize("hidden", [(), (7,), (6, 9)])
def test_the_compiled_form_is_the_network_of_pytorch(cloud, hidden):
    """PyTorch counts in float32, hence the tolerance."""
    features = AutoencoderFeatures(n_features=3, hidden=hidden, epochs=2, seed=1).fit(cloud)
    codes = features.transform(cloud)
    sides = [
        (features.encoder_, [5, *hidden, 3], (cloud - features.mean_) / features.scale_, codes),
        (features.decoder_, [3, *hidden[::-1], 5], codes, (features.inverse_transform(codes) - features.mean_)),
    ]
    for weights, (first, *between, last), rows, found in sides:
        network = build_network((first,), last, between, (), np.random.default_rng(0))
        arrays, rest = {}, weights.astype(np.float32)
        for name, tensor in network.state_dict().items():
            part, rest = rest[: tensor.numel()], rest[tensor.numel() :]
            arrays[name] = part.reshape(tuple(tensor.shape)[::-1]).T.copy()
        assert not rest.size
        put_arrays(network, arrays)
        with torch.inference_mode():
            theirs = network(torch.from_numpy(rows.astype(np.float32))).numpy()
        np.testing.assert_allclose(found if last == 3 else found / features.scale_, theirs, atol=1e-5)


@pytest.fixture(scope="module")
def seen():
    """What a car on the mountain meets: positions and speeds."""
    return np.random.default_rng(3).uniform([-1.2, -0.07], [0.6, 0.07], size=(200, 2))


@pytest.fixture(scope="module")
def driver(seen):
    """An agent that has learned with codes of four numbers, in the compiled loop."""
    features = AutoencoderFeatures(n_features=4, hidden=(8,), epochs=5, seed=1).fit(seen)
    rule = {"learning_rate": 0.01, "exploration": rl.EpsilonGreedy(0.1)}
    return SemiGradientSarsa(features=features, **rule).learn("MountainCar-v0", steps=1_000, seed=7, loop="compiled")


@pytest.mark.slow
def test_a_linear_agent_has_both_loops(driver, seen):
    assert driver.weights_.any()
    again = sklearn.base.clone(driver.features).fit(seen)  # the same seed finds the same networks
    rule = {"learning_rate": 0.01, "exploration": rl.EpsilonGreedy(0.1)}
    other = SemiGradientSarsa(features=again, **rule).learn("MountainCar-v0", steps=1_000, seed=7, loop="stepwise")
    assert other.weights_.tobytes() == driver.weights_.tobytes()
    assert other.episodes_.tobytes() == driver.episodes_.tobytes()


@pytest.mark.slow
def test_it_is_a_link_of_a_chain(seen):
    """Squares of codes: what lies between two maps, and what a map needs to compute, do not meet."""
    chain = Chain([Scaling(), AutoencoderFeatures(n_features=3, hidden=(8,), epochs=2, seed=1), Polynomial(2)])
    features = chain.fit(seen)
    codes = features.maps_[1].transform(features.maps_[0].transform(seen))
    np.testing.assert_allclose(features.transform(seen)[:, 1:4].sum(axis=1), codes.sum(axis=1), atol=1e-12)
    first = SemiGradientSarsa(features=features, learning_rate=0.01)
    second = SemiGradientSarsa(features=features, learning_rate=0.01)
    first.learn("MountainCar-v0", steps=300, seed=7, loop="compiled")
    second.learn("MountainCar-v0", steps=300, seed=7, loop="stepwise")
    assert first.weights_.tobytes() == second.weights_.tobytes()


def test_one_that_is_not_fitted_learns_from_the_run():
    values = rl.agents.values.Linear(AutoencoderFeatures(**QUICK), fit_on=60)
    agent = rl.Sarsa(values=values, learning_rate=0.01).learn("MountainCar-v0", steps=5, seed=1)
    assert np.isfinite(agent.weights_).all()


WITHOUT_PYTORCH = """
import sys
import numpy as np
import rlsuite as rl
agent = rl.load(sys.argv[1])
from rlsuite.approximation import AutoencoderFeatures
seen = np.load(sys.argv[3])
codes = AutoencoderFeatures.load(sys.argv[2]).transform(seen)
agent.learn("MountainCar-v0", steps=200, seed=8)
np.savez(sys.argv[4], codes=codes, weights=agent.weights_)
assert "torch" not in sys.modules
"""


@pytest.mark.slow
def test_an_agent_is_saved_with_it_and_loaded_without_pytorch(driver, seen, tmp_path):
    driver.save(tmp_path / "driver.npz")
    driver.features_.save(tmp_path / "features.npz")
    np.save(tmp_path / "seen.npy", seen)
    names = [str(tmp_path / name) for name in ("driver.npz", "features.npz", "seen.npy", "found.npz")]
    subprocess.run([sys.executable, "-c", WITHOUT_PYTORCH, *names], check=True)
    loaded = rl.load(names[0])
    assert loaded.q(seen).tobytes() == driver.q(seen).tobytes()
    with np.load(names[3]) as found:
        assert found["codes"].tobytes() == driver.features_.transform(seen).tobytes()
        assert found["weights"].tobytes() == loaded.learn("MountainCar-v0", steps=200, seed=8).weights_.tobytes()


@pytest.mark.slow
def test_arrays_that_do_not_fit_together_are_no_features(driver, tmp_path):
    """The compiled form trusts them: it would read what is not its own."""
    driver.save(tmp_path / "driver.npz")
    with np.load(tmp_path / "driver.npz") as file:
        arrays = dict(file)
    for name, damaged in [
        ("encoder_", arrays["features.encoder_"][:-1]),
        ("decoder_", arrays["features.decoder_"].astype(np.float32)),
        ("widths_", np.array([2, 80, 4])),
        ("widths_", np.array([-2, 8, 4])),
        ("mean_", np.array([0.0, np.nan])),
    ]:
        np.savez(tmp_path / "damaged.npz", **{**arrays, f"features.{name}": damaged})
        with pytest.raises(errors.FileError, match=r"damaged or was not written by rlsuite"):
            rl.load(tmp_path / "damaged.npz")


def test_bad_input_is_named(cloud, tmp_path):
    with pytest.raises(errors.NotLearned, match="not fitted yet"):
        AutoencoderFeatures().transform(cloud)
    fitted = AutoencoderFeatures(**QUICK).fit(cloud)
    with pytest.raises(errors.ParameterError, match="fitted to observations of 5 numbers, and these have 4"):
        fitted.transform(cloud[:, :4])
    for name, value in [("epochs", 0), ("batch_size", 0), ("n_features", 0), ("learning_rate", 0.0), ("device", "x")]:
        with pytest.raises(errors.ParameterError, match=name):
            AutoencoderFeatures(**(QUICK | {name: value})).fit(cloud)
    with pytest.raises(errors.ParameterError, match=r"hidden=<generator .* must be a sequence of layer sizes"):
        AutoencoderFeatures(hidden=(units for units in (4, 4))).fit(cloud)
    with pytest.raises(errors.ParameterError, match=r"observation\[3, 1\]=nan"):
        fitted.fit(np.where(np.arange(640).reshape(128, 5) == 16, np.nan, cloud))


def test_a_diverging_fit_keeps_the_last_good_one(cloud):
    features = AutoencoderFeatures(**QUICK).fit(cloud)
    before = features.transform(cloud)
    features.learning_rate = 1e30
    with pytest.raises(errors.LearningError, match="learning diverges"):
        features.fit(cloud)
    np.testing.assert_array_equal(features.transform(cloud), before)


def test_a_column_that_never_changes_is_not_divided_by_rounding():
    rows = np.column_stack([np.random.default_rng(0).normal(size=64), np.full(64, 0.1)])
    assert rows[:, 1].std() != 0.0
    assert AutoencoderFeatures(**QUICK).fit(rows).scale_[1] == 1.0
