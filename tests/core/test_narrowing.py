"""What counts as a sequence, a mapping and a list."""

import numpy as np
import pytest

from rlsuite.core import narrowing

KINDS = (narrowing.is_sequence, narrowing.is_mapping, narrowing.is_list)


@pytest.mark.parametrize(
    ("value", "of_kind"),
    [
        ([1], (True, False, True)),
        ((1,), (True, False, True)),
        ("word", (True, False, False)),
        ({1: 2}, (False, True, False)),
        ({1: 2}.keys(), (False, False, False)),
        (frozenset([1]), (False, False, False)),
        (np.zeros(2), (False, False, False)),
    ],
)
def test_kinds_of_objects(value, of_kind):
    assert tuple(kind(value) for kind in KINDS) == of_kind
