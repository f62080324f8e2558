"""What counts as a sequence, a mapping, a set and a list."""

import numpy as np
import pytest

from rlsuite.core import narrowing

KINDS = (narrowing.is_sequence, narrowing.is_mapping, narrowing.is_set, narrowing.is_list)


@pytest.mark.parametrize(
    ("value", "of_kind"),
    [
        ([1], (True, False, False, True)),
        ((1,), (True, False, False, True)),
        ("word", (True, False, False, False)),
        ({1: 2}, (False, True, False, False)),
        ({1: 2}.keys(), (False, False, True, False)),
        (frozenset([1]), (False, False, True, False)),
        (np.zeros(2), (False, False, False, False)),
    ],
)
def test_kinds_of_objects(value, of_kind):
    assert tuple(kind(value) for kind in KINDS) == of_kind
