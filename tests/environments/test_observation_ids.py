"""Ids of the observations of finite spaces."""

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite import errors
from rlsuite.environments.observation_ids import ObservationIds

LEAVES = st.one_of(
    st.builds(lambda n, start: spaces.Discrete(n, start=start), st.integers(1, 4), st.integers(-3, 3)),
    st.builds(lambda sizes: spaces.MultiDiscrete(sizes), st.lists(st.integers(1, 3), min_size=1, max_size=3)),
    st.builds(spaces.MultiBinary, st.integers(1, 3)),
    st.builds(lambda low, n: spaces.Box(low, low + n, (2,), dtype=np.int32), st.integers(-2, 2), st.integers(0, 2)),
)
SPACES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2).map(spaces.Tuple),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=2).map(spaces.Dict),
    ),
    max_leaves=3,
)


@settings(deadline=None)
@given(SPACES, st.integers(0, 2**32 - 1))
def test_each_observation_has_an_id_of_its_own(space, seed):
    ids = ObservationIds(space)
    space.seed(seed)
    sample = space.sample()
    number = ids.id_of(sample)
    assert 0 <= number < ids.n
    assert (
        spaces.utils.flatten(space, ids.observation_of(number)).tolist() == spaces.utils.flatten(space, sample).tolist()
    )
    for each in range(min(ids.n, 50)):
        observation = ids.observation_of(each)
        assert space.contains(observation) or isinstance(space, spaces.Discrete)
        assert ids.id_of(observation) == each


def test_the_order_is_that_of_ravel_multi_index():
    ids = ObservationIds(spaces.MultiDiscrete([3, 4, 5], start=[1, 0, 2]))
    assert ids.id_of(np.array([2, 3, 6])) == np.ravel_multi_index((1, 3, 4), (3, 4, 5))


BOTH = spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(2)])


@pytest.mark.parametrize(
    ("space", "observation"),
    [
        (spaces.Discrete(3, start=1), 0),
        (spaces.Discrete(3), 1.0),
        (spaces.Discrete(3), "1"),
        (BOTH, (1, [0, 1, 1])),
        (BOTH, (1,)),
        (BOTH, 1),
        (BOTH, (1, [0, 2])),
        (BOTH, (1, [0, 0.5])),
        (spaces.Dict(a=spaces.Discrete(2)), {"b": 1}),
        (spaces.Dict(a=spaces.Discrete(2)), {"a": 1, "b": 1}),
        (spaces.Box(0, 2, (2,), dtype=np.int8), np.array([0.0, 1.0])),
    ],
)
def test_what_is_no_observation_has_no_id(space, observation):
    with pytest.raises(ValueError, match="is not in"):
        ObservationIds(space).id_of(observation)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Box(0.0, 1.0, (2,)), "of finitely many integers"),
        (spaces.Dict(a=spaces.Discrete(2), b=spaces.Text(3)), "of finitely many integers"),
        (spaces.Box(0, 255, (7, 7, 3), dtype=np.uint8), "has room for 1,000,000"),
        (spaces.MultiDiscrete([101, 100, 100]), r"has 1\.01e\+6 elements"),
    ],
)
def test_spaces_without_ids_are_refused(space, message):
    with pytest.raises(errors.UnsuitableEnvironment, match=message):
        ObservationIds(space)
