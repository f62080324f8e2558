"""Estimators as plain data and back; a file that is read imports nothing but what is imported or trusted."""

import json
import sys

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import AdaBoostRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import rlsuite as rl
from rlsuite.core.described import build_part, describe
from rlsuite.core.modules import module_of
from rlsuite.core.named_estimators import UnknownClass, described, imported_class, named_class
from rlsuite.errors import FileError, ParameterError, RlsuiteError
from rlsuite.features import Chain, Clusters, Scaling
from rlsuite.registry import build_agent

OWN = """
from sklearn.base import BaseEstimator, TransformerMixin

class Doubled(TransformerMixin, BaseEstimator):
    def __init__(self, times=2.0):
        self.times = times
    def fit(self, X, y=None):
        return self
    def transform(self, X):
        return self.times * X
    def __sklearn_is_fitted__(self):
        return True
"""


@pytest.mark.parametrize(
    ("estimator", "plain"),
    [
        (DecisionTreeRegressor(max_depth=5), {"name": "sklearn.tree:DecisionTreeRegressor", "max_depth": 5}),
        (
            AdaBoostRegressor(DecisionTreeRegressor()),
            {"name": "sklearn.ensemble:AdaBoostRegressor", "estimator": {"name": "sklearn.tree:DecisionTreeRegressor"}},
        ),
        (Ridge(alpha=np.float64(0.5)), {"name": "sklearn.linear_model:Ridge", "alpha": 0.5}),
        (make_pipeline(StandardScaler(), KNeighborsRegressor(3)), None),
        (GaussianProcessRegressor(RBF(0.3) + WhiteKernel(0.1), alpha=1e-6, optimizer=None), None),
    ],
    ids=lambda one: type(one).__name__,
)
def test_an_estimator_is_described_and_built_again(estimator, plain):
    found = json.loads(json.dumps(described("regressor", estimator)))
    assert plain is None or found == plain
    again = build_part("regressor", found)
    assert described("regressor", again) == found
    X = np.arange(20.0)[:, None]
    fit = [one.set_params(random_state=0) if "random_state" in one.get_params() else one for one in (estimator, again)]
    one, other = (each.fit(X, X[:, 0] ** 2).predict(X) for each in fit)
    assert one.tobytes() == other.tobytes()


def test_a_name_alone_is_enough_and_a_list_is_a_chain():
    assert repr(build_part("regressor", "sklearn.linear_model:Ridge")) == "Ridge()"
    steps = build_part("regressor", ["sklearn.preprocessing:StandardScaler", "sklearn.linear_model:Ridge"]).steps
    assert [type(one).__name__ for _, one in steps] == ["StandardScaler", "Ridge"]
    maps = build_part("features", ["scaling", {"name": "clusters", "n_clusters": 4}])
    assert isinstance(maps, Chain)
    assert repr(maps) == repr(Chain([Scaling(), Clusters(4)]))
    assert repr(build_part("features", describe(maps))) == repr(maps)


@pytest.mark.parametrize(
    ("plain", "sentence"),
    [
        ("DecisionTreeRegresor", "does not say where the class is: write module:Class or file.py:Class; did you mean "
         "'sklearn.tree:DecisionTreeRegressor'"),
        ("sklearn.tree:DecisionTreeRegresor", "did you mean 'sklearn.tree:DecisionTreeRegressor'?"),
        ("collections:OrderedDict", "collections:OrderedDict has no fit"),
        ("sklearn.metrics:r2_score", "is not a class"),
        ({"name": "sklearn.tree:DecisionTreeRegressor", "max_deph": 3}, "did you mean 'max_depth'?"),
        ({"name": "sklearn.tree:DecisionTreeRegressor", 3: 3}, "unknown parameter"),
        ("no.such.module:Class", "there is no module 'no'"),
    ],
)  # fmt: skip
def test_mistakes_are_answered(plain, sentence):
    with pytest.raises(RlsuiteError) as caught:
        build_part("regressor", plain, named_class)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("regressor: ")


def test_what_no_file_can_hold_is_an_error():
    class Local(Ridge):
        pass

    for estimator in (FunctionTransformer(lambda x: x), Local(), FrozenEstimator(Ridge().fit([[0.0]], [0.0]))):
        with pytest.raises(ParameterError, match="has no plain description"):
            described("regressor", estimator)


def test_a_class_of_a_file_keeps_the_name_of_the_file(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    agent = build_agent({"name": "Sarsa", "features": {"name": "mine.py:Doubled", "times": 3.0}})
    assert describe(agent)["features"] == {"name": "mine.py:Doubled", "times": 3.0}
    with_same_name = tmp_path / "other"
    with_same_name.mkdir()
    (with_same_name / "mine.py").write_text("")
    module_of("mine.py", with_same_name)
    again = build_agent(describe(agent), imported_class)  # as a file is read
    assert describe(again) == describe(agent)


def test_a_file_that_is_read_imports_nothing(tmp_path, monkeypatch):
    (tmp_path / "unsafe_module.py").write_text("raise SystemExit('run')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("unsafe_module:Popen", f"{tmp_path}/unsafe_module.py:Popen"):
        with pytest.raises(UnknownClass, match="is not imported"):
            build_part("regressor", name)
    assert "unsafe_module" not in sys.modules
    with pytest.raises(ParameterError, match="has no fit"):
        build_part("regressor", {"name": "subprocess:Popen", "args": ["touch", str(tmp_path / "file")]})
    assert sklearn.__name__ in sys.modules
    assert not (tmp_path / "file").exists()


def test_a_file_says_which_module_is_missing(tmp_path):
    agent = rl.Sarsa(features=Scaling()).learn("MountainCar-v0", steps=10, seed=1)
    agent.save(tmp_path / "agent.npz")
    with np.load(tmp_path / "agent.npz") as file:
        arrays = dict(file)
    header = json.loads(str(arrays["header"]))
    header["agent"]["features"] = {"name": "not_imported:Map"}
    np.savez(tmp_path / "agent.npz", **{**arrays, "header": np.array(json.dumps(header))})
    with pytest.raises(FileError, match="not_imported is not imported; import the module that defines it first"):
        rl.load(tmp_path / "agent.npz")


def test_classes_that_a_package_loads_on_first_use_are_found():
    name = "rlsuite.approximation:LocallyWeightedRegression"
    assert named_class(name) is imported_class(name) is rl.approximation.LocallyWeightedRegression
    with pytest.raises(ParameterError, match=r"did you mean 'rlsuite\.approximation:GatedExperts'"):
        named_class("rlsuite.approximation:GatedExpert")
