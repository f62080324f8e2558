import sys
from types import SimpleNamespace

import pytest

from rlsuite.core.shown import frame_of
from rlsuite.errors import MissingPackage


def test_columns_go_to_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: columns))
    assert frame_of({"a": [1, 2]}) == {"a": [1, 2]}


def test_without_pandas_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackage, match=r"pip install 'rlsuite\[pandas\]'"):
        frame_of({})
