"""Names in figures."""

from types import SimpleNamespace

import pytest

from rlsuite.errors import ParameterError
from rlsuite.plotting.labels import by_label, counted, names


def test_numbers_stand_for_missing_names():
    assert names(None, 2, "action") == ["action 0", "action 1"]
    assert names(("left", "right"), 2, "action") == ["left", "right"]
    assert [counted(n, "step") for n in (0, 1, 1_000)] == ["0 steps", "1 step", "1,000 steps"]


def test_solutions_are_named_by_their_methods():
    one, other = SimpleNamespace(method="sarsop"), SimpleNamespace(method="pbvi")
    assert by_label("gap", one, "method") == {"sarsop": one}
    assert list(by_label("gap", [other, one], "method")) == ["pbvi", "sarsop"]
    assert by_label("gap", {"mine": one}, "method") == {"mine": one}
    with pytest.raises(ParameterError, match="two solutions are by pbvi: pass a dict"):
        by_label("gap", [other, other], "method")
    with pytest.raises(ParameterError, match="no solutions to draw"):
        by_label("gap", [], "method")
