from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rlsuite.errors import FileError
from rlsuite.experiments import segments
from rlsuite.experiments.segments import Segment, chunks, entry_of, segment_of, write_segment
from rlsuite.training.failures import Failure
from rlsuite.training.results import Bounds, Record

SPEC = {"environment": {"id": "FrozenLake-v1", "parameters": {}}}
FULL = Record(
    seed=7,
    loop="compiled",
    unit="steps",
    episode_return=np.array([0.1 + 0.2, -1e-300, 1e22]),
    episode_length=np.array([3, 1, 2]),
    episode_regret=np.array([0.0, 0.5, 1 / 3]),
    time=np.array([3, 6]),
    cumulative_reward=np.array([0.1, 1e22]),
    regret=np.array([0.0, 5 / 6]),
    evaluation_time=np.array([6]),
    evaluation=np.array([np.pi]),
    evaluation_return=np.array([np.nan]),
    optimal_value=2 / 3,
    value_bounds=Bounds(-1.0, np.inf, -0.5),
)
BARE = Record(
    seed=3**90,
    loop="stepwise",
    unit="episodes",
    episode_return=np.zeros(0),
    episode_length=np.zeros(0, dtype=np.int64),
    optimum_unknown="it hides its states",
)


def entry(outcome, agent="QLearning", spec=SPEC):
    return entry_of(("lake", agent), spec, {"rlsuite": "0"}, outcome)


def assert_same(one, other):
    for name, value in vars(one).items():
        twin = getattr(other, name)
        if isinstance(value, np.ndarray):
            assert value.dtype == twin.dtype
            assert value.tobytes() == twin.tobytes(), name
        else:
            assert value == twin, name


def test_what_is_read_is_what_was_written_bit_for_bit(tmp_path):
    failure = Failure("Sarsa", "lake", 8, None, "KeyError: 3", "maze.py, line 12")
    write_segment(tmp_path / "all.cells", [entry(FULL), entry(BARE, "Sarsa"), entry(failure, "Sarsa")])
    found = Segment.at(tmp_path / "all.cells")
    assert_same(found.outcome(0), FULL)
    assert_same(found.outcome(1), BARE)
    assert found.outcome(2) == failure
    assert found.cells == [(0, 7, False), (1, 3**90, False), (1, 8, True)]
    assert found.pairs == [(("lake", "QLearning"), SPEC), (("lake", "Sarsa"), SPEC)]
    assert next(found.entries()) == entry(FULL)


@given(
    returns=hnp.arrays(np.float64, st.integers(0, 20), elements=st.floats(allow_nan=False, allow_infinity=False)),
    optimum=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_every_float_survives(tmp_path_factory, returns, optimum):
    lengths = np.arange(1, returns.size + 1)
    record = replace(BARE, episode_return=returns, episode_length=lengths, optimal_value=optimum)
    assert_same(Segment.of(tmp_path_factory.getbasetemp(), segment_of([entry(record)])).outcome(0), record)


def test_what_cells_have_in_common_is_there_once():
    many = [entry(replace(FULL, seed=seed)) for seed in range(1_000)]
    one = len(b"".join(segment_of(many[:1])))
    assert len(b"".join(segment_of(many))) < one + 1_000 * (len(many[0].own) + 50)


def test_every_damage_is_found(tmp_path):
    file = tmp_path / "some.cells"
    write_segment(file, [entry(replace(FULL, seed=seed)) for seed in range(3)])
    content = file.read_bytes()
    generator = np.random.default_rng(0)
    ends = [content[:length] for length in (0, 1, 14, 40, len(content) // 2, len(content) - 1)]
    flips = [
        content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        for place in generator.choice(len(content), 300, replace=False).tolist()
    ]
    for damaged in (*ends, *flips, b"hello\n", b"\xff\xfe\x00" * 100, content + b"x", content + content):
        file.write_bytes(damaged)
        with pytest.raises(FileError, match=r"some\.cells"):
            [Segment.at(file).outcome(row) for row in range(3)]
    file.write_bytes(content.replace(b"cells 1", b"cells 2", 1))
    with pytest.raises(FileError, match="was written by another version of rlsuite"):
        Segment.at(file)


def test_right_checksums_over_nonsense(tmp_path):
    """As somebody can write them who wants to do harm."""
    about = entry(FULL).about
    sizes = np.frombuffer(entry(FULL).own, np.int64, len(segments.OWN)).copy()
    nonsense = [
        {"about": {**about, **changes}}
        for changes in (
            *({"loop": ["compiled"]}, {"unit": None}, {"optimal_value": "much"}, {"optimal_value": 10**400}),
            *(
                {"end_probability": 2.0},
                {"end_probability": "1"},
                {"value_bounds": [0, "x", None]},
                {"value_bounds": None},
            ),
            *(
                {"optimum_unknown": 3},
                {"failure": {}},
                {"failure": {**Failure("", "", 0, 0, "", "")._asdict(), "step": "1"}},
            ),
        )
    ]
    for change in ((0, -1), (0, 2**62), (1, 4)):
        sizes[change[0]] = change[1]
        nonsense.append({"own": sizes.tobytes() + entry(FULL).own[sizes.nbytes :]})
    nonsense += [{"own": entry(replace(FULL, regret=np.array([0.0, np.inf]))).own}, {"own": b""}]
    nonsense += [{"shared": (np.array([-1]).tobytes(), b"")}, {"shared": (b"abc", b"")}, {"shared": (b"",)}]
    for changes in nonsense:
        found = Segment.of(tmp_path, segment_of([entry(FULL)._replace(**changes)]))
        with pytest.raises(FileError, match=r"has (a cell|an index) that is none"):
            found.outcome(0)
    for changes in ({"seed": "7"}, {"seed": -1}, {"pair": (3, "x")}, {"about": []}, {"about": 3}):
        with pytest.raises(FileError, match=r"has (a cell|an index) that is none"):
            Segment.of(tmp_path, segment_of([entry(FULL)._replace(**changes)])).outcome(0)


def test_segments_are_as_full_as_they_may_be(monkeypatch):
    monkeypatch.setattr(segments, "MOST_CELLS", 4)
    assert [len(chunk) for chunk in chunks([entry(FULL)] * 9)] == [4, 4, 1]
    monkeypatch.setattr(segments, "MOST_BYTES", 2 * len(entry(FULL).own))
    assert [len(chunk) for chunk in chunks([entry(FULL)] * 5)] == [2, 2, 1]
    assert list(chunks([])) == []
