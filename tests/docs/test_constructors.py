"""Class methods that make an object make one of the class they are called on; so do methods that change a copy."""

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

import rlsuite
import rlsuite as rl
import rlsuite_envs
from rlsuite.approximation.batch import Batch
from rlsuite.approximation.deep import DQN, AutoencoderFeatures
from rlsuite.experiments import Experiment
from rlsuite.inference import (
    Categorical,
    FittedHMM,
    Gaussian,
    Mixture,
    MultivariateGaussian,
    Poisson,
    Product,
)
from rlsuite.inference.durations import NegativeBinomialDurations, PoissonDurations, TableDurations
from rlsuite.inference.hsmm import FittedHSMM
from rlsuite.models.functions import explore
from rlsuite.planning import BoundsTrace

NOT_OF_THE_CLASS = {
    ("HMM", "fit"): "what was learned also says how",
    ("HSMM", "fit"): "what was learned also says how",
    ("FittedHSMM", "read"): "how it was learned is not in a file",
    ("FittedHSMM", "from_hmm"): "a plain model was not learned so",
    ("HSMM", "replace"): "what was learned is not true of a changed copy",
    ("FittedHMM", "_plain"): "that is its purpose",
    ("FittedHMM", "replace"): "how it was learned is not true of a changed copy",
    ("FittedHMM", "read"): "how it was learned is not in a file",
    ("FittedHMM", "from_states"): "counting is not fitting",
}
"""Methods of a class that return a base class on purpose, and why."""


def modules(package: ModuleType) -> Iterator[ModuleType]:
    yield package
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def classes() -> dict[str, type]:
    found: dict[str, type] = {}
    for module in [*modules(rlsuite), *modules(rlsuite_envs)]:
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__.startswith("rlsuite"):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


CLASSES = classes()


def public_classes() -> set[type]:
    """Classes that stand in the `__all__` of a package."""
    found: set[type] = set()
    for module in [*modules(rlsuite), *modules(rlsuite_envs)]:
        if hasattr(module, "__path__"):
            listed = [getattr(module, name) for name in getattr(module, "__all__", ())]
            found |= {one for one in listed if inspect.isclass(one) and one.__module__.startswith("rlsuite")}
    return found


def returned(function: Any) -> str:
    """The return annotation as a name: "Self", "MDP"."""
    annotation = function.__annotations__.get("return", "")
    return "Self" if annotation is typing.Self else str(getattr(annotation, "__name__", annotation)).strip("'\"")


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(cls).items():
        function = value.__func__ if isinstance(value, classmethod) else value
        if inspect.isfunction(function):
            yield name, function


def test_what_returns_an_object_of_its_class_says_self() -> None:
    by_name: dict[str, list[type]] = {}
    for cls in CLASSES.values():
        by_name.setdefault(cls.__name__, []).append(cls)
    wrong = [
        f"{cls.__module__}.{cls.__name__}.{name} -> {returned(function)}"
        for cls in CLASSES.values()
        for name, function in methods(cls)
        for other in by_name.get(returned(function), [])
        if (other in cls.__mro__ or cls in other.__mro__) and (cls.__name__, name) not in NOT_OF_THE_CLASS
    ]
    assert not wrong, "\n".join(wrong)


P, R, O = [[[0.5, 0.5]], [[0.0, 1.0]]], [1.0, 0.0], [[0.9, 0.1], [0.4, 0.6]]  # noqa: E741 - the field's own name
EXPLORED = {"actions": 1, "reward": lambda *_: 0, "terminal": None, "max_states": 9}
BATCH = {"observation": [0, 1], "action": [1, 1], "reward": [0.0, 1.0], "next_observation": [1, 2]}
ENDED = [False, True]
TWO_STATES = """
discount: 0.9
values: reward
states: 2
actions: 1
T: 0 identity
"""
SEEN_TOO = TWO_STATES.replace("T:", "observations: 1\nT:") + "O: * uniform\n"


def mdp() -> rl.MDP:
    return rl.MDP.from_arrays(P, R, gamma=0.9)


def pomdp() -> rl.POMDP:
    return rl.POMDP.from_arrays(P, R, O, gamma=0.9)


def chain() -> rl.MarkovChain:
    return rl.MarkovChain([[0.5, 0.5], [0, 1]], labels={"init": [0]})


def hmm() -> rl.HMM:
    return rl.HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], O)


LIGHT = [0.5, 0.5], [[0, 1], [1, 0]], O, [[0.5, 0.5], [1, 0]]


def hsmm() -> rl.HSMM:
    return rl.HSMM(*LIGHT)


def read(model: Any, suffix: str) -> Callable[[Any, Path], Any]:
    def call(cls: Any, folder: Path) -> Any:
        path = folder / f"model{suffix}"
        model().write(path)
        return cls.read(path, **({"gamma": 0.5} if suffix == ".drn" and model is mdp else {}))

    return call


def read_text(text: str, suffix: str) -> Callable[[Any, Path], Any]:
    def call(cls: Any, folder: Path) -> Any:
        path = folder / f"model{suffix}"
        path.write_text(text)
        return cls.read(path)

    return call


def from_csv(cls: Any, folder: Path) -> Any:
    Batch.from_arrays(**BATCH, terminated=ENDED).to_csv(folder / "batch.csv")
    return cls.from_csv(folder / "batch.csv")


def from_minari(cls: Any, folder: Path) -> Any:
    class Episode:
        observations, actions, rewards = np.zeros((3, 1)), np.zeros(2, dtype=int), np.zeros(2)
        terminations, truncations = np.array([False, True]), np.zeros(2, dtype=bool)

    class DataSet:
        action_space, observation_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Box(-1, 1, (1,))

        def iterate_episodes(self) -> Iterator[Episode]:
            yield Episode()

    return cls.from_minari(DataSet())


def load_dqn(cls: Any, folder: Path) -> Any:
    cls(hidden=(4,)).learn("CartPole-v1", steps=2, seed=1).save(folder / "agent.npz")
    return cls.load(folder / "agent.npz")


def load_features(cls: Any, folder: Path) -> Any:
    made = AutoencoderFeatures(2, hidden=(3,), epochs=1).fit(np.random.default_rng(0).normal(size=(20, 3)))
    made.save(folder / "features.npz")
    return cls.load(folder / "features.npz")


def experiment(cls: Any, folder: Path) -> Any:
    path = folder / "experiment.toml"
    path.write_text(
        'steps = 10\nseeds = 1\n[[environments]]\nid = "FrozenLake-v1"\n[[agents]]\nname = "QLearning"\ngamma = 0.9\n'
    )
    return cls.read(path)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def emission(z: Any, make: Callable[[Any], Any]) -> dict[str, list[Callable[[Any, Path], Any]]]:
    def fit_weighted(cls: Any, _: Path) -> Any:
        made = make(cls)
        return made.fit_weighted(made.check(z), np.full((len(z), 2), 0.5))

    return {
        "from_data": [lambda c, _: c.from_data(z, 2, rng())],
        "fit_weighted": [fit_weighted],
        "randomized": [lambda c, _: make(c).randomized(make(c).check(z), rng())],
    }


POINTS = np.random.default_rng(1).normal(size=(40, 2))

CALLS: dict[type, dict[str, list[Callable[[Any, Path], Any]]]] = {
    rl.MDP: {
        "from_rows": [lambda c, _: c.from_rows([0, 1], [0], [1.0], [1.0], n_actions=1, gamma=0.9)],
        "from_arrays": [lambda c, _: c.from_arrays(P, R, gamma=0.9)],
        "from_pairs": [lambda c, _: c.from_pairs([5, 1], [[0.5, 0.5], [0, 1]], [0, 1], [0, 0], gamma=0.9)],
        "from_successors": [lambda c, _: c.from_successors([[0]], [1], gamma=0.9)],
        "from_function": [lambda c, _: c.from_function(lambda s, a: s, 0, actions=1, gamma=0.9, reward=lambda *_: 0)],
        "from_explored": [lambda c, _: c.from_explored(explore(lambda s, a: s, 0, **EXPLORED), 0.9, True)],
        "from_env": [
            lambda c, _: c.from_env("FrozenLake-v1", gamma=0.9),
            lambda c, _: c.from_env(mdp().to_env(), gamma=0.9),
        ],
        "from_table": [lambda c, _: c.from_table({0: {0: [(1.0, 0, 1.0, False)]}}, gamma=0.9)],
        "from_experience": [
            lambda c, _: c.from_experience([(0, 0, 1.0, 0, False)], n_states=1, n_actions=1, gamma=0.9)
        ],
        "read": [read(mdp, ".npz"), read(mdp, ".drn"), read(mdp, ".mdp"), read_text(TWO_STATES, ".mdp")],
        "replace": [lambda c, _: c.from_arrays(P, R, gamma=0.9).replace(gamma=0.5)],
        "without_termination": [lambda c, _: c.from_successors([[1], [None]], [1, 0], gamma=0.9).without_termination()],
        "with_all_legal": [lambda c, _: c.from_successors([[None, 1], [0, 1]], [1, 0], gamma=0.9).with_all_legal()],
    },
    rl.POMDP: {
        "from_arrays": [
            lambda c, _: c.from_arrays(P, R, O, gamma=0.9),
            lambda c, _: c.from_arrays(P, np.zeros((2, 1, 2, 2)), O, gamma=0.9),
        ],
        "from_function": [
            lambda c, _: c.from_function(lambda s, a: s, lambda a, s: 0, 0, actions=1, gamma=0.9, reward=lambda *_: 0)
        ],
        "from_env": [
            lambda c, _: c.from_env("rlsuite/Tiger-v0", gamma=0.9),
            lambda c, _: c.from_env(c.from_arrays(P, R, O, gamma=0.8).to_env(), gamma=0.9),
        ],
        "read": [read(pomdp, ".npz"), read(pomdp, ".pomdp"), read_text(SEEN_TOO, ".pomdp")],
        "replace": [lambda c, _: c.from_arrays(P, R, O, gamma=0.9).replace(gamma=0.5)],
        "window": [lambda c, _: c.from_arrays(P, R, O, gamma=0.9).window(1)],
    },
    rl.MarkovChain: {
        "from_mdp": [lambda c, _: c.from_mdp(mdp(), [0, 0])],
        "read": [read(chain, ".npz"), read(chain, ".drn")],
    },
    rl.HMM: {
        "from_states": [lambda c, _: c.from_states([0, 1, 0], [0, 1, 0], prior=1.0)],
        "read": [read(hmm, ".npz")],
        "replace": [lambda c, _: c([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], O).replace(start=[1.0, 0.0])],
    },
    FittedHMM: {},
    rl.HSMM: {"read": [read(hsmm, ".npz")], "from_hmm": [lambda c, _: c.from_hmm(hmm())]},
    FittedHSMM: {},
    TableDurations: {"fit_weighted": [lambda c, _: c(LIGHT[3]).fit_weighted(np.ones((2, 2)), 0.0)]},
    PoissonDurations: {"fit_weighted": [lambda c, _: c([2.0]).fit_weighted(np.ones((1, 9)), 0.0)]},
    NegativeBinomialDurations: {"fit_weighted": [lambda c, _: c([2.0], [1.0]).fit_weighted(np.ones((1, 9)), 0.0)]},
    Categorical: emission([0, 1, 0], lambda c: c(O)),
    Poisson: emission([0, 1, 4], lambda c: c([1.0, 2.0])),
    Gaussian: emission(POINTS, lambda c: c(np.eye(2), np.ones((2, 2)))),
    MultivariateGaussian: emission(POINTS, lambda c: c(np.eye(2), [np.eye(2)] * 2)),
    Mixture: emission([0, 1, 4], lambda c: c([[0.5, 0.5]] * 2, Poisson([1.0, 2.0, 3.0, 4.0]))) | {"from_data": []},
    Product: emission([0, 1, 4], lambda c: c([Poisson([1.0, 2.0])])) | {"from_data": []},
    Batch: {
        "from_arrays": [lambda c, _: c.from_arrays(**BATCH, terminated=ENDED)],
        "collect": [lambda c, _: c.collect("CartPole-v1", steps=5, seed=0)],
        "from_model": [lambda c, _: c.from_model(mdp())],
        "from_dynamics": [lambda c, _: c.from_dynamics("MountainCar-v0", [[-0.5, 0.0]])],
        "from_csv": [from_csv],
        "from_minari": [from_minari],
        "join": [lambda c, _: c.join([Batch.from_arrays(**BATCH, terminated=ENDED)])],
        "take": [lambda c, _: c.from_arrays(**BATCH, terminated=ENDED).take([0])],
    },
    Experiment: {
        "read": [experiment],
        "from_plain": [lambda c, folder: c.from_plain(experiment(Experiment, folder).plain())],
    },
    rl.GridLayout: {
        "row_major": [lambda c, _: c.row_major(2, 3)],
        "from_env": [
            lambda c, _: c.from_env(gymnasium.make("FrozenLake-v1")),
            lambda c, _: c.from_env(gymnasium.make("CliffWalking-v1")),
            lambda c, _: c.from_env(gymnasium.make("rlsuite/GridGoal-v0")),
        ],
    },
    rl.TabularVectorEnv: {"from_env": [lambda c, _: c.from_env("FrozenLake-v1", 2)]},
    rl.VectorObservation: {
        "one_hot": [lambda c, _: c.one_hot(gymnasium.make("FrozenLake-v1"))],
        "coordinates": [lambda c, _: c.coordinates(gymnasium.make("rlsuite/GridGoal-v0"))],
        "image": [lambda c, _: c.image(gymnasium.make("rlsuite/GridGoal-v0"))],
    },
    DQN: {"load": [load_dqn]},
    BoundsTrace: {"of": [lambda c, _: c.of([(1, 0.1, 0.0, 1.0)])]},
    AutoencoderFeatures: {"load": [load_features]},
    rl.testing.Probabilities: {"of_belief": [lambda c, _: c.of_belief(pomdp(), [0], [0])]},
}
"""How to call what makes an object, class by class; of a file reader, once for each kind of file."""


def makers(cls: type) -> set[str]:
    """Public class methods, also inherited ones, that return an object of the class."""
    return {
        name
        for name, value in inspect.getmembers(cls, inspect.ismethod)
        if not name.startswith("_") and value.__module__.startswith("rlsuite") and returned(value.__func__) == "Self"
    }


def test_no_constructor_is_forgotten() -> None:
    missing = [
        f"{cls.__name__}.{name}: say in CALLS how to call it"
        for cls in public_classes()
        for name in makers(cls)
        if name not in CALLS.get(cls, {}) and (cls.__name__, name) not in NOT_OF_THE_CLASS
    ]
    assert not missing, "\n".join(sorted(missing))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "call"),
    [
        pytest.param(cls, call, id=f"{cls.__name__}.{name}-{number}")
        for cls, by_name in CALLS.items()
        for name, calls in by_name.items()
        for number, call in enumerate(calls)
    ],
)
def test_a_subclass_makes_its_own(cls: Any, call: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    if cls in (DQN, AutoencoderFeatures):
        pytest.importorskip("torch")
    mine = type(cls.__name__, (cls,), {"__module__": cls.__module__})
    assert type(call(mine, tmp_path)) is mine


def test_copies_keep_their_class() -> None:
    import copy
    import pickle

    for model in (Mine.from_arrays(P, R, gamma=0.9), copy.copy(Mine.from_arrays(P, R, gamma=0.9))):
        assert type(pickle.loads(pickle.dumps(model))) is Mine
    assert type(pickle.loads(pickle.dumps(MyHMM([1.0], [[1.0]], [[1.0]])))) is MyHMM
    assert type(pickle.loads(pickle.dumps(MyPOMDP.from_arrays(P, R, O, gamma=0.9)))) is MyPOMDP


class Mine(rl.MDP):
    pass


class MyPOMDP(rl.POMDP):
    pass


class MyHMM(rl.HMM):
    pass
