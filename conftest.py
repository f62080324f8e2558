"""What every run of pytest has in common: which files it looks into, and which tests `pytest -m quick` takes."""

import gc
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# PyTorch is an extra; without it nothing in there can run
collect_ignore_glob = [] if find_spec("torch") else ["rlsuite/approximation/deep/*"]

TESTS = Path(__file__).parent / "tests"
CHOSEN = dict(line.split("::", 1) for line in (TESTS / "quick.txt").read_text(encoding="utf-8").split())
"""The test that `pytest -m quick` takes of a file, where that is not the first one; empty where all take seconds."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Look into the tests only for `pytest -m quick`: to import all modules for their examples takes too long."""
    outside = collection_path.suffix == ".py" and TESTS not in collection_path.parents
    return True if outside and config.getoption("markexpr") == "quick" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark one test of each file as quick, but for slow ones; of one with parameters, the first case."""
    seen: set[str] = set()
    for item in items:
        name = item.nodeid.split("[")[0]
        file, _, test = name.partition("::")
        if file not in seen and test == CHOSEN.get(file, test) and item.get_closest_marker("slow") is None:
            seen.add(file)
            item.add_marker(pytest.mark.quick)


@pytest.fixture(autouse=True)
def forget_classes() -> Iterator[None]:
    """Forget the classes that a test or an example has defined: agents and parts are listed from what there is."""
    before = described_classes()
    yield
    if not described_classes() <= before:
        gc.collect()


def described_classes() -> set[type]:
    """All classes that can be named in files and on the command line, if one can be named at all so far."""
    described = sys.modules.get("rlsuite.core.described")
    found: set[type] = set()
    waiting = [described.Described] if described else []
    while waiting:
        waiting += (kinds := set(waiting.pop().__subclasses__()) - found)
        found |= kinds
    return found
