"""The state of a compiled loop as a record with named fields."""

from rlsuite.core.compilation import compiled
from rlsuite.core.records import Record, record


class Place:
    """Where a loop is."""

    depth: int
    discount: float


@compiled(in_place=True)
def go_down(place: Record[Place], steps: int) -> None:
    """Go down some steps."""
    for _ in range(steps):
        place[0].depth += 1
        place[0].discount *= 0.5


def test_compiled_code_and_python_change_the_same_fields() -> None:
    place = record(Place)
    assert (place[0].depth, place[0].discount) == (0, 0.0)
    place[0].discount = 1.0
    go_down(place, 3)
    assert (place[0].depth, place[0].discount) == (3, 0.125)


def test_each_record_has_memory_of_its_own() -> None:
    one, other = record(Place), record(Place)
    one[0].depth = 7
    assert (one[0].depth, other[0].depth) == (7, 0)
    assert one.nbytes == 16
