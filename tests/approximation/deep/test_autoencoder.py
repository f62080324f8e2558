import numpy as np
import pytest
import sklearn.base
import sklearn.linear_model
import sklearn.pipeline

from rlsuite import errors
from rlsuite.approximation.deep import AutoencoderFeatures

torch = pytest.importorskip("torch")

QUICK = {"n_features": 2, "hidden": (), "epochs": 3, "seed": 1}


@pytest.fixture(scope="module")
def cloud():
    rng = np.random.default_rng(1)
    return rng.normal(size=(128, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(128, 5)) + 7.0


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


def test_bad_input_is_named(cloud, tmp_path):
    with pytest.raises(errors.NotLearned, match="not fitted yet"):
        AutoencoderFeatures().transform(cloud)
    fitted = AutoencoderFeatures(**QUICK).fit(cloud)
    with pytest.raises(errors.ParameterError, match="fitted to observations of 5 numbers, and these have 4"):
        fitted.transform(cloud[:, :4])
    for name, value in [("epochs", 0), ("batch_size", 0), ("n_features", 0), ("learning_rate", 0.0), ("device", "x")]:
        with pytest.raises(errors.ParameterError, match=name):
            AutoencoderFeatures(**(QUICK | {name: value})).fit(cloud)
    with pytest.raises(errors.ParameterError, match=r"observation\[3, 1\]=nan"):
        fitted.fit(np.where(np.arange(640).reshape(128, 5) == 16, np.nan, cloud))


def test_a_diverging_fit_keeps_the_last_good_one(cloud):
    features = AutoencoderFeatures(**QUICK).fit(cloud)
    before = features.transform(cloud)
    features.learning_rate = 1e30
    with pytest.raises(errors.LearningError, match="learning diverges"):
        features.fit(cloud)
    np.testing.assert_array_equal(features.transform(cloud), before)
