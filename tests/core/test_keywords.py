"""Calls with an unknown keyword: what is probably meant, and what is not repeated in full."""

import pytest

from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import CallError


@says_what_to_write
def plan(mdp, *, tol=1e-6):
    return mdp, tol


def test_known_keywords_are_handed_on():
    assert plan(3, tol=1) == (3, 1)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"tolerance": 1}, "; did you mean tol=1?"),
        ({"gamma": 0.9}, "; the discount factor belongs to the model: mdp.replace(gamma=0.9)"),
        ({"tolerance": "x" * 50}, "; did you mean tol=...?"),
        ({"xyz": 1}, ""),
    ],
)
def test_an_unknown_keyword_is_answered_with_what_is_meant(given, hint):
    with pytest.raises(CallError) as caught:
        plan(3, **given)
    (name,) = given
    assert str(caught.value) == f"plan() has no parameter {name!r}{hint} (parameters: mdp, tol)"
