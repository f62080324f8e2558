"""Plain values survive JSON and arrays; others are refused, and so is what nobody has packed."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from rlsuite.core.plain_data import pack, unpack

SINGLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ARRAYS = st.sampled_from([bool, np.int8, np.int64, np.uint64, np.float32, np.float64]).flatmap(
    lambda dtype: arrays_of.arrays(dtype, arrays_of.array_shapes(min_dims=0, max_dims=2))
)
PLAIN = st.recursive(
    SINGLE | ARRAYS | ARRAYS.filter(lambda array: array.size > 0).map(lambda array: array.flat[0]),
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers() | st.none(), inner)
    ),
    max_leaves=8,
)


def image(value):
    """Kind, type and bytes of all parts."""
    if isinstance(value, np.ndarray | np.generic):
        return type(value), value.dtype, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return type(value), [image(one) for one in value]
    if isinstance(value, dict):
        return [(image(key), image(one)) for key, one in value.items()]
    return type(value), repr(value)


@given(PLAIN)
def test_there_and_back(value):
    arrays = {}
    packed = json.loads(json.dumps(pack(value, arrays, "state.")))
    assert image(unpack(packed, arrays.__getitem__)) == image(value)
    assert all(name.startswith("state.") for name in arrays)


@pytest.mark.parametrize("value", [{1, 2}, object(), [print], {"a": {"b": b"bytes"}}, np.array([None]), range(3)])
def test_what_is_not_plain(value):
    with pytest.raises(TypeError, match="and only numbers, text, None, arrays, and lists, tuples and dicts of these"):
        pack(value, {}, "")


@pytest.mark.parametrize(
    "packed",
    [
        [],
        {},
        {"list": 1},
        {"list": [], "tuple": []},
        {"set": []},
        {"array": 1},
        {"array": "missing"},
        {"number": "vector"},
        {"array": "bytes"},
        {"array": "date"},
        {"dict": [[1]]},
        {"dict": [[{"list": []}, 1]]},
    ],
    ids=str,
)
def test_what_nobody_has_packed(packed):
    arrays = {
        "vector": np.zeros(2),
        "bytes": np.full(1, 2, dtype=np.uint8).view(np.bool_),
        "date": np.zeros(1, dtype="M8[s]"),
    }
    with pytest.raises((KeyError, TypeError, ValueError)):
        unpack(packed, arrays.__getitem__)
