import io
import json
import zipfile

import numpy as np
import pytest

from rlsuite.errors import FileError, ParameterError
from rlsuite.models import MDP, POMDP


@pytest.fixture
def mdp():
    return MDP.from_successors([[1], [{0, 1}]], [1, 2], gamma=0.9, state_labels=["a\0", "ä"])


@pytest.fixture
def written(mdp, tmp_path):
    path = tmp_path / "model.npz"
    mdp.write(path)
    return path


def changed(path, **changes):
    """Write the file anew with some arrays replaced, added, or (None) left out."""
    with np.load(path) as archive:
        arrays = {**archive, **changes}
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


def text(value):
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def test_labels_survive_whatever_they_hold(mdp, written):
    assert MDP.read(written).state_labels == mdp.state_labels == ("a\0", "ä")


def test_sets_of_states_survive(mdp, tiger, tmp_path):
    labels = {"goal\0": [1], "none": [], "all": [True, True]}
    for model, name in ((mdp, "m.npz"), (tiger, "p.npz")):
        model.replace(labels=labels).write(tmp_path / name)
        again = type(model).read(tmp_path / name).labels
        assert {label: mask.tolist() for label, mask in again.items()} == {
            "goal\0": [False, True],
            "none": [False, False],
            "all": [True, True],
        }
    path = tmp_path / "m.npz"
    wrong = {
        "it has no labels": {"labels": None},
        "it has no labelled": {"labelled": None},
        "labels are not distinct names": {"labels": text(["a", "a", "b"])},
        "labels are not": {"labels": text({"a": 1})},
        "labelled is not a table": {"labelled": np.zeros((3, 2))},
        "a row for each label": {"labelled": np.zeros((2, 2), dtype=bool)},
        r"labels\['a'\] has shape \(3,\), not \(2,\)": {
            "labels": text(["a"]),
            "labelled": np.zeros((1, 3), dtype=bool),
        },
    }
    for message, changes in wrong.items():
        mdp.replace(labels=labels).write(path)
        with pytest.raises(FileError, match=message):
            MDP.read(changed(path, **changes))


def test_nothing_but_the_file_is_left_behind(written):
    assert [one.name for one in written.parent.iterdir()] == ["model.npz"]


def test_missing(tmp_path):
    with pytest.raises(FileError, match=r"there is no file .*none\.npz"):
        MDP.read(tmp_path / "none.npz")


def test_wrong_suffix(mdp, tmp_path):
    with pytest.raises(FileError, match=r"model\.json: unknown suffix '\.json' \(choices: \.drn, \.mdp, \.npz\)"):
        mdp.write(tmp_path / "model.json")
    with pytest.raises(FileError, match=r"model: unknown suffix '' \(choices: \.drn, .*\.mdp, .*, \.npz, .*\.prism\)"):
        MDP.read(tmp_path / "model")


def test_wrong_suffix_of_pomdps(tiger, tmp_path):
    with pytest.raises(FileError, match=r"tiger\.json: unknown suffix '\.json' \(choices: \.npz, \.pomdp\)"):
        tiger.write(tmp_path / "tiger.json")
    with pytest.raises(FileError, match=r"tiger: unknown suffix '' \(choices: .*\.npz, .*\.pomdp, "):
        POMDP.read(tmp_path / "tiger")


def test_the_discount_can_be_replaced(mdp, written):
    assert MDP.read(written, gamma=0.5).gamma == 0.5


def test_parameters_of_other_files_are_refused(written):
    with pytest.raises(
        ParameterError, match=r"end='goal' applies only to \.prism, .* files, and .*model\.npz is a \.npz file"
    ):
        MDP.read(written, end="goal")


def test_missing_folder(mdp, tmp_path):
    with pytest.raises(FileError, match=r"cannot write .*model\.npz"):
        mdp.write(tmp_path / "nowhere" / "model.npz")


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.99])
def test_truncated(written, part):
    content = written.read_bytes()
    written.write_bytes(content[: int(part * len(content))])
    with pytest.raises(FileError, match=r"model\.npz is damaged or was not written by rlsuite"):
        MDP.read(written)


def test_a_flipped_byte_is_found(written):
    content = bytearray(written.read_bytes())
    with zipfile.ZipFile(written) as archive:
        content[archive.getinfo("probability.npy").header_offset + 80] ^= 0xFF
    written.write_bytes(content)
    with pytest.raises(FileError, match=r"model\.npz is damaged"):
        MDP.read(written)


def test_foreign(tmp_path):
    path = tmp_path / "foreign.npz"
    path.write_text("not an archive")
    with pytest.raises(FileError, match=r"foreign\.npz is damaged or was not written by rlsuite"):
        MDP.read(path)
    np.savez(path, a=np.ones(3))
    with pytest.raises(FileError, match=r"foreign\.npz holds no model of rlsuite: it has no format tag"):
        MDP.read(path)
    with path.open("wb") as stream:
        np.save(stream, np.ones(3))
    with pytest.raises(FileError, match=r"foreign\.npz is a single array, not a model"):
        MDP.read(path)


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(FileError, match=r"folder\.npz cannot be read: Is a directory"):
        MDP.read(tmp_path / "folder.npz")


def test_pickled_objects_are_never_loaded(written):
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("a pickle was loaded",)

    array = io.BytesIO()
    np.lib.format.write_array(array, np.array([Trap()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(written, "a") as archive:
        archive.writestr("action_labels.npy", array.getvalue())
    with pytest.raises(FileError, match=r"model\.npz is damaged .*pickles are never loaded"):
        MDP.read(written)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": text("another")}, "it has no format tag 'rlsuite model'"),
        ({"version": np.array(2)}, "is of version 2; this rlsuite reads version 1"),
        ({"version": None}, "is of version 0"),
        ({"kind": text("POMDP")}, r"holds a model of the kind POMDP, not MDP: read it with POMDP\.read"),
        ({"reward": None}, "is malformed: it has no reward"),
        ({"rewards": np.zeros(3)}, "is malformed: it has an unknown array 'rewards'"),
        ({"reward": np.zeros(4)}, r"holds no valid model: reward has shape \(4,\), not \(3,\) or \(2,\)"),
        ({"probability": np.array([1, 0.5, 0.4])}, r"holds no valid model: transitions\[s=1, a=0\] sums to 0\.9"),
        ({"gamma": np.array(2.0)}, r"holds no valid model: gamma=2 is not in \[0, 1\]"),
        ({"gamma": np.array([0.9])}, r"gamma has shape \(1,\), not \(\)"),
        ({"state_labels": np.array(["a", "b"])}, "state_labels is not text"),
        ({"state_labels": np.array([255], dtype=np.uint8)}, "state_labels is not text"),
        ({"state_labels": text([1, 2])}, r"state_labels\[0\] is 1, not a string"),
    ],
)
def test_malformed(written, changes, message):
    with pytest.raises(FileError, match=message) as caught:
        MDP.read(changed(written, **changes))
    assert str(written) in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observation": None}, "is malformed: it has no observation"),
        ({"observation": np.ones((3, 2, 2))}, "holds no valid model: observation.* sums to 2"),
        ({"observation_labels": text(["one"])}, "observation_labels has 1 entries, not 2"),
        ({"kind": text("MDP")}, r"read it with MDP\.read"),
    ],
)
def test_malformed_pomdps(tiger, tmp_path, changes, message):
    path = tmp_path / "tiger.npz"
    tiger.write(path)
    with pytest.raises(FileError, match=message):
        POMDP.read(changed(path, **changes))


def test_a_failed_write_keeps_the_old_file(mdp, written, monkeypatch):
    before = written.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(FileError, match="No space left on device"):
        mdp.replace(gamma=0.5).write(written)
    assert written.read_bytes() == before
    assert [one.name for one in written.parent.iterdir()] == ["model.npz"]
