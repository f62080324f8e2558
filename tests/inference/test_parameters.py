"""The division of the work into tasks for threads."""

from collections.abc import Callable

import numpy as np
import pytest

from rlsuite.core import threads
from rlsuite.inference import HMM, expected_counts, parameters
from rlsuite.inference.sequences import sequences

pytestmark = pytest.mark.arithmetic


def lengths_of(name: str) -> list[int]:
    rng = np.random.default_rng(0)
    return {
        "one": [10],
        "one long": [5000],
        "one long among short ones": [7, 30_000, 1, 40],
        "many short": [3] * 5000,
        "all kinds": rng.integers(1, 3000, size=200).tolist(),
        "two long": [40_000, 40_000],
    }[name]


@pytest.mark.parametrize(
    "name", ["one", "one long", "one long among short ones", "many short", "all kinds", "two long"]
)
def test_every_sequence_is_in_one_task(name: str, umbrella: HMM) -> None:
    lengths = lengths_of(name)
    asked = parameters.Workspace(umbrella, sequences(umbrella.emission, np.zeros(sum(lengths), dtype=int), lengths))
    schedule = asked.schedule
    numbers = [number for task in schedule.numbers for run in task for number in run]
    assert sorted([*numbers, *schedule.halved]) == list(range(len(lengths)))
    assert ("long" in name and "two" not in name) == bool(schedule.halved)
    for task, places in zip(schedule.numbers, schedule.batches, strict=True):
        for run, batch in zip(task, places, strict=True):
            np.testing.assert_array_equal(batch, asked.data.pieces[run])
    shares = [sum(lengths[number] for run in task for number in run) for task in schedule.numbers]
    assert max(shares, default=0) <= 2 * sum(shares) / max(len(shares), 1) + max(lengths)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("name", ["one long among short ones", "many short"])
def test_threads_change_no_number(
    n_threads: int, name: str, new_hmm: Callable[..., HMM], monkeypatch: pytest.MonkeyPatch
) -> None:
    hmm = new_hmm(3, 4, seed=1)
    lengths = lengths_of(name)
    z = hmm.sample(sum(lengths), seed=0)[0]

    def everything() -> tuple[object, ...]:
        return hmm.score(z, lengths), hmm.smooth(z, lengths), hmm.decode(z, lengths), *expected_counts(hmm, z, lengths)

    usual = everything()
    monkeypatch.setattr(threads, "_pool", None)
    monkeypatch.setattr(threads, "n_threads", lambda: n_threads)
    for one, other in zip(everything(), usual, strict=True):
        np.testing.assert_array_equal(one, other)
