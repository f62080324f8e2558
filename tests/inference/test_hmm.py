"""What a model and its observations may be, and what the errors say."""

import copy
import functools
import inspect
import operator
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

from rlsuite import inference
from rlsuite.errors import FileError, ModelError, ParameterError
from rlsuite.inference import HMM, expected_counts, path_log_probability, smooth_with_lag
from rlsuite.inference.emissions import (
    Categorical,
    Emission,
    Gaussian,
    LogDensity,
    MultivariateGaussian,
    Poisson,
    Product,
    gaussian_mixture,
)

pytestmark = pytest.mark.arithmetic

START, MOVES, SEEN = [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]]


@pytest.mark.parametrize(
    ("start", "transition", "emission", "message"),
    [
        ([0.5, 0.4], MOVES, SEEN, "start sums to 0.9, not 1"),
        ([1.5, -0.5], MOVES, SEEN, r"start\[1\] is -0.5; probabilities are at least 0"),
        ([[0.5, 0.5]], MOVES, SEEN, r"start has shape \(1, 2\), not \(K,\)"),
        ([], [], [], r"start has shape \(0,\)"),
        ([0.5, float("nan")], MOVES, SEEN, r"start\[1\] is nan; every entry must be finite"),
        (START, [[0.7, 0.2], [0.3, 0.7]], SEEN, r"transition\[s=0\] sums to 0.9, not 1 \(missing 0.1\)"),
        (START, [[0.7, 0.3], [1.2, -0.2]], SEEN, r"transition\[s=1\] has the probability -0.2"),
        (START, [[0.7, 0.3]], SEEN, r"transition has shape \(1, 2\), not \(2, 2\)"),
        (START, [[0.7, 0.3], [0.3, float("inf")]], SEEN, r"transition\[1, 1\] is inf"),
        (START, csr_array([[0.7, 0.2], [0.3, 0.7]]), SEEN, r"transition\[s=0\] sums to 0.9"),
        (START, eye_array(3), SEEN, r"transition has shape \(3, 3\), not \(2, 2\)"),
        (START, MOVES, [[0.9, 0.1], [0.2, 0.7]], r"emission\[k=1\] sums to 0.9, not 1"),
        (START, MOVES, [[0.9, 0.1]], "the emission has 1 states, but start has 2"),
        (START, MOVES, "umbrella", "emission has dtype"),
    ],
)
def test_a_model_that_is_none(start: Any, transition: Any, emission: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        HMM(start, transition, emission)


def test_labels_are_checked() -> None:
    with pytest.raises(ModelError, match="state_labels has 1 entries, not 2"):
        HMM(START, MOVES, SEEN, ["rain"])


@pytest.mark.parametrize(
    ("z", "lengths", "message"),
    [
        ([], None, "z holds no observations"),
        ([0, 1, 2], None, r"z\[t=2\] is 2; the symbols are 0..1 .n_symbols=2., and -1 or NaN is a missing one"),
        ([0, -2], None, r"z\[t=1\] is -2"),
        ([0.5], None, r"z\[t=0\] is 0.5"),
        (["rain"], None, "z has dtype"),
        ([[0, 1], []], None, "sequence 1 is empty"),
        ([[0, 1], [0, 7]], None, r"sequence 1: z\[t=1\] is 7"),
        ([0, 1, 1], [2, 2], "lengths add up to 4, but there are 3 observations"),
        ([0, 1, 1], [3, 0], "sequence 1 is empty"),
        ([0, 1, 1], [4, -1], r"lengths\[1\] is -1"),
        ([0, 1, 1], [1.5, 1.5], "whole numbers"),
        ([0, 1, 1], 3, "lengths has shape"),
        ([[0, 1], [0]], [2, 1], "leave out lengths"),
    ],
)
def test_observations_that_are_none(z: Any, lengths: Any, message: str, umbrella: HMM) -> None:
    for routine in (umbrella.score, umbrella.smooth, umbrella.decode, umbrella.forward):
        with pytest.raises(ModelError, match=message):
            routine(z, lengths)
    with pytest.raises(ModelError, match=message):
        expected_counts(umbrella, z, lengths)


def test_forms_of_one_sequence(umbrella: HMM) -> None:
    expected = umbrella.score([0, 1, 1])
    for z in ((0, 1, 1), np.array([0, 1, 1], dtype=np.uint8), np.array([[0], [1], [1]]), [np.array([0, 1, 1])]):
        assert umbrella.score(z) == expected
    assert umbrella.score([0.0, 1.0, float("nan")]) == umbrella.score([0, 1, -1])


@pytest.mark.parametrize("bad", [-1, 1.5, True, "3"])
def test_numbers_of_steps(bad: Any, umbrella: HMM) -> None:
    with pytest.raises(ParameterError, match="steps="):
        umbrella.predict_ahead([0, 1], bad)
    with pytest.raises(ParameterError, match="lag="):
        smooth_with_lag(umbrella, [0, 1], bad)
    with pytest.raises(ParameterError, match="n="):
        umbrella.sample(bad, seed=0)


@pytest.mark.parametrize("seed", [-1, 0.5, "seven"])
def test_what_is_no_seed_is_named(seed: Any, umbrella: HMM) -> None:
    with pytest.raises(ParameterError, match="seed="):
        umbrella.sample(3, seed=seed)


def test_without_a_seed_there_is_no_global_randomness(umbrella: HMM) -> None:
    np.random.seed(0)  # noqa: NPY002 - the global state that must not matter
    one = umbrella.sample(200)[0]
    np.random.seed(0)  # noqa: NPY002 - and once more
    assert umbrella.sample(200)[0].tolist() != one.tolist()


def test_paths_are_checked(umbrella: HMM) -> None:
    with pytest.raises(ModelError, match=r"states\[1\] is 2; the states are 0..1"):
        path_log_probability(umbrella, [0, 1], [0, 2])
    with pytest.raises(ModelError, match=r"states has shape \(1,\), not \(2,\)"):
        path_log_probability(umbrella, [0, 1], [0])
    with pytest.raises(ModelError, match=r"states\[1\] is missing; every state of a path has to be known"):
        path_log_probability(umbrella, [0, 1], [0, -1])
    assert path_log_probability(HMM([1, 0], np.eye(2), SEEN), [0, 1], [1, 1]).tolist() == [-np.inf]


def test_a_model_does_not_change(umbrella: HMM) -> None:
    for array in (umbrella.start, umbrella.transition, umbrella.emission.table):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        umbrella.start = np.ones(2)
    given = np.array(MOVES)
    hmm = HMM(START, given, SEEN)
    given[0] = 0.5
    assert hmm.transition.tolist() == MOVES
    assert copy.copy(hmm) is hmm
    assert copy.deepcopy(hmm) is hmm
    again = pickle.loads(pickle.dumps(umbrella))
    assert again.score([0, 1, 1]) == umbrella.score([0, 1, 1])
    assert again.state_labels == ("rain", "dry")


def test_replace(umbrella: HMM) -> None:
    assert umbrella.replace(start=[1, 0]).start.tolist() == [1.0, 0.0]
    with pytest.raises(ParameterError, match="did you mean 'emission'"):
        umbrella.replace(emision=SEEN)
    with pytest.raises(ModelError, match="start sums to 2"):
        umbrella.replace(start=[1, 1])


def test_parameters_are_counted(umbrella: HMM) -> None:
    assert umbrella.n_parameters == 1 + 2 + 2
    assert HMM([1, 0], np.eye(2), SEEN).n_parameters == 2
    assert repr(umbrella) == "HMM(n_states=2, emission=Categorical)"


# -------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("sparse", [False, True])
def test_a_file_holds_the_model(sparse: bool, umbrella: HMM, tmp_path: Path) -> None:
    hmm = umbrella.replace(transition=csr_array(umbrella.transition)) if sparse else umbrella
    hmm.write(tmp_path / "umbrella.npz")
    again = HMM.read(tmp_path / "umbrella.npz")
    np.testing.assert_array_equal(again.start, hmm.start)
    np.testing.assert_array_equal(again.dense_transition, hmm.dense_transition)
    assert isinstance(again.emission, Categorical)
    np.testing.assert_array_equal(again.emission.table, umbrella.emission.table)
    assert again.state_labels == ("rain", "dry")
    assert isinstance(again.transition, np.ndarray) is not sparse


@pytest.mark.parametrize(
    "emission",
    [
        Gaussian([0.0, 3.0], [1.0, 2.0], 1e-3),
        MultivariateGaussian([[0.0, 1.0], [3.0, 2.0]], [np.eye(2), 2 * np.eye(2)]),
        Poisson([[1.0, 2.0], [3.0, 0.0]]),
        gaussian_mixture([[0.5, 0.5], [1.0, 0.0]], [[-3.0, 3.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]]),
        Product([Categorical(SEEN), gaussian_mixture([[1.0], [1.0]], [[0.0], [2.0]], [[1.0], [1.0]]), Poisson([1, 2])]),
    ],
    ids=lambda emission: type(emission).__name__,
)
def test_a_file_holds_every_emission(emission: Emission, tmp_path: Path) -> None:
    hmm = HMM(START, MOVES, emission)
    hmm.write(tmp_path / "hmm.npz")
    again = HMM.read(tmp_path / "hmm.npz")
    z, _ = hmm.sample(20, seed=0)
    assert type(again.emission) is type(emission)
    assert again.score(z) == hmm.score(z)
    assert again.emission.freezable() == emission.freezable()


def test_a_function_has_no_file(tmp_path: Path) -> None:
    hmm = HMM(START, MOVES, LogDensity(lambda z: np.zeros((len(z), 2)), n_states=2))
    with pytest.raises(FileError, match="LogDensity cannot be written to a file"):
        hmm.write(tmp_path / "hmm.npz")


def test_files_that_hold_no_model(umbrella: HMM, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"models are kept in \.npz files"):
        umbrella.write(tmp_path / "umbrella.txt")
    with pytest.raises(FileError, match="there is no file"):
        HMM.read(tmp_path / "none.npz")
    file = tmp_path / "umbrella.npz"
    umbrella.write(file)
    whole = dict(np.load(file))
    for change, message in (
        ({"start": np.array([0.5, 0.6])}, "start sums to 1.1"),
        ({"start": np.array(0.5)}, "holds no valid model"),
        ({"emission": np.frombuffer(b'"Emission"', dtype=np.uint8)}, "which this version of rlsuite does not know"),
        ({"emission": np.frombuffer(b'"os"', dtype=np.uint8)}, "which this version of rlsuite does not know"),
        ({"emission": np.zeros(3)}, "emission is not text"),
        ({"more": np.zeros(3)}, "unknown array 'more'"),
        ({"emission.table": np.array([["a"]])}, "holds no valid model"),
    ):
        np.savez(file, **{**whole, **change})
        with pytest.raises(FileError, match=message):
            HMM.read(file)
    for missing in ("start", "transition", "emission", "emission.table"):
        np.savez(file, **{name: array for name, array in whole.items() if name != missing})
        with pytest.raises(FileError, match=r"malformed|no valid model"):
            HMM.read(file)
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(FileError, match="damaged"):
        HMM.read(file)


def test_signatures_say_what_is_taken_and_returned() -> None:
    for name in [*inference.__all__, *(f"HMM.{name}" for name in dir(HMM) if name[0] != "_" and name != "plot")]:
        found = operator.attrgetter(name)(inference)
        if isinstance(found, property | functools.cached_property) or not callable(found):
            continue
        signature = inspect.signature(found)
        texts = [str(one.annotation) for one in signature.parameters.values()] + [str(signature.return_annotation)]
        # an array of any type is one of numbers; "Any" by itself says nothing
        assert not [text for text in texts if re.search(r"(?<![\w.\[])(typing\.)?Any\b", text)], (name, signature)
        open_ended = [one for one in signature.parameters.values() if one.kind is one.VAR_KEYWORD]
        assert all("Unpack" in str(one.annotation) for one in open_ended), (name, signature)


def test_methods_are_the_functions() -> None:
    for name in ("forward", "backward", "filter", "smooth", "decode", "predict_ahead", "best_paths", "sample_paths"):
        assert getattr(HMM, name) is getattr(inference, name)
    assert inference.fit is HMM.fit
    assert list(inspect.signature(HMM.fit).parameters)[3:6] == ["states", "restarts", "prior"]
