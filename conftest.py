"""What every run of pytest has in common: which tests it takes, in how many processes, and what they may cost."""

import argparse
import ast
import gc
import hashlib
import os
import re
import sys
import tokenize
import zlib
from collections import defaultdict
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

MOST_TESTS = 8_500
"""Tests of plain `pytest`; more take longer than the five minutes that CONTRIBUTING.md promises."""

MOST_COMPILED = 350
"""Functions that plain `pytest` may compile, each set of types counted by itself; one takes one to three seconds."""

CEILINGS = {
    "agents": (78, 7_626, 79_400),
    "approximation": (34, 5_163, 53_751),
    "cli": (18, 4_217, 41_637),
    "core": (28, 2_330, 22_369),
    "environments": (32, 5_032, 50_325),
    "experiments": (22, 3_933, 38_308),
    "features": (14, 1_551, 15_438),
    "inference": (37, 6_439, 66_642),
    "models": (32, 4_945, 50_654),
    "planning": (104, 12_567, 134_380),
    "plotting": (24, 4_354, 49_542),
    "reference": (14, 622, 7_394),
    "rendering": (14, 1_028, 12_464),
    "rlsuite": (5, 368, 3_084),
    "testing": (5, 656, 6_562),
    "training": (29, 4_158, 39_886),
}
"""Files, code lines and tokens of each package of `rlsuite`: they only go down, in the commit that takes code away."""

NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
"""Tokens that are not counted."""

# PyTorch and Optuna are extras; without them nothing in there can run
EXTRAS = {"torch": "rlsuite/approximation/deep/*", "optuna": "rlsuite/experiments/searching.py"}
collect_ignore_glob = [files for package, files in EXTRAS.items() if not find_spec(package)]

os.environ["MPLBACKEND"] = "Agg"
# There is a process per core: several threads of linear algebra, or of scikit-learn, in each would mostly wait for each
# other, and waiting takes processor time. Both read this when they are imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
TESTS = Path(__file__).parent / "tests"
CHOSEN = dict(line.split("::", 1) for line in (TESTS / "quick.txt").read_text(encoding="utf-8").split())
"""The test that `pytest -m quick` takes of a file, where that is not the first one; empty where all take seconds."""


LONG_EXAMPLES = {
    f"rlsuite/{module}.py"
    for module in (
        *("agents/bandits/linear_thompson", "agents/control/average_reward", "agents/control/expected_sarsa_lambda"),
        *("agents/control/n_step", "agents/control/q_sigma", "agents/control/speedy_q_learning"),
        *("agents/control/tree_backup", "agents/model_based/posterior_sampling", "approximation/linear/book_names"),
        *("agents/action_value_agent", "agents/control/true_online_sarsa", "agents/control/double_q_learning"),
        *("approximation/policies/linear_actor_critic", "approximation/policies/natural_actor_critic"),
        "approximation/policies/reinforce",
    )
}
"""Modules whose examples compile a loop of their own for longer than some three seconds: they are slow tests."""

COMPILED = pytest.StashKey[set[str]]()
"""What the processes of this run have compiled, or found in numba's cache."""


MATRICES = pytest.StashKey[set[str]]()
"""What the fixture `matrices` returns."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--part 2/4`: each test is in one of the four parts, and each part has some of every file and matrix."""
    parser.addoption("--part", metavar="K/N", type=part_of, help="take the K-th of N equal parts of the tests")


def part_of(text: str) -> tuple[int, int]:
    """Read `--part`."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a part such as 1/4, 2/4, 3/4 or 4/4")
    return int(part), int(parts)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Start no processes for one file: they take longer to start than most files to run."""
    files = {argument.partition("::")[0] for argument in config.args}
    return 0 if len(files) == 1 and Path(files.pop()).is_file() else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Look into the tests only for `pytest -m quick`: to import all modules for their examples takes too long."""
    outside = collection_path.suffix == ".py" and TESTS not in collection_path.parents
    return True if outside and config.getoption("markexpr") == "quick" else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples in docstrings outside the tests only, which have none."""
    found = yield
    return [each for each in found if type(each) is pytest.Module] if TESTS in file_path.parents else found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the cases of large matrices as slow but for some, and one test of each file as quick; keep the part."""
    seen: set[str] = set()
    for item in items:
        if item.nodeid.split("::")[0] in LONG_EXAMPLES:
            item.add_marker(pytest.mark.slow)
        name = item.nodeid.split("[")[0]
        if chosen := item.get_closest_marker("cases"):
            item.config.stash.setdefault(MATRICES, set()).add(name)
            if not re.fullmatch("|".join(chosen.args), case_of(item)):
                item.add_marker(pytest.mark.slow)
        file, _, test = name.partition("::")
        if file not in seen and test == CHOSEN.get(file, test) and item.get_closest_marker("slow") is None:
            seen.add(file)
            item.add_marker(pytest.mark.quick)
    if chosen := config.getoption("part"):
        part, parts = chosen
        others = [item for item in items if zlib.crc32(item.nodeid.encode()) % parts != part - 1]
        config.hook.pytest_deselected(items=others)
        left = set(items).difference(others)
        items[:] = [item for item in items if item in left]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while the tests are found, which makes next to none: half of that time would go there."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Leave what is there before the first test out of garbage collection, of which `forget_classes` needs many."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # Python's own makes tests a tenth slower


def case_of(item: pytest.Item) -> str:
    """Return the name of the case, which pytest writes in brackets; the first one if the file is given with `::`."""
    return item.name.partition("[")[2].removesuffix("]")


def takes_the_default(config: pytest.Config) -> bool:
    """Whether this run takes what plain `pytest` takes, or a part of it."""
    return config.getoption("markexpr") == config.getini("addopts")[-1]


def machine_code() -> set[str]:
    """What this process has compiled, or found in numba's cache: functions that Python calls, with their types."""
    module = sys.modules.get("rlsuite.core.machine_code")
    used: set[str] = set()
    for code in module._known.values() if module else ():
        if dispatcher := vars(code).get("dispatcher"):
            for signature in (*dispatcher.stats.cache_hits, *dispatcher.stats.cache_misses):
                used.add(hashlib.sha256(f"{code.numba_type} {signature}".encode()).hexdigest())
    return used


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Take over what a process of pytest-xdist has compiled."""
    config: pytest.Config = node.config
    config.stash.setdefault(COMPILED, set()).update(getattr(node, "workeroutput", {}).get("machine_code", ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Count what was compiled; too much fails the run."""
    config = session.config
    used = config.stash.setdefault(COMPILED, set())
    used |= machine_code()
    if hasattr(config, "workeroutput"):
        config.workeroutput["machine_code"] = sorted(used)
    elif takes_the_default(config) and len(used) > MOST_COMPILED:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how much was compiled."""
    count = len(config.stash.get(COMPILED, set()))
    if takes_the_default(config) and count:
        too_many = count > MOST_COMPILED
        words = f"{count} compiled functions, of at most {MOST_COMPILED} (MOST_COMPILED in conftest.py)"
        terminalreporter.write_line(f"FAILED {words}" if too_many else words, red=too_many)


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close what a test or an example has drawn; no window ever opens."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


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


@pytest.fixture
def matrices(pytestconfig: pytest.Config) -> set[str]:
    """The tests that say which of their cases plain `pytest` takes."""
    return pytestconfig.stash.get(MATRICES, set())


@pytest.fixture(scope="session")
def sizes() -> dict[str, tuple[int, int, int]]:
    """Files, code lines and tokens of each package of `rlsuite`, as `CEILINGS` has them."""
    found: dict[str, tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    root = TESTS.parent / "rlsuite"
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).parts
        package = parts[0] if len(parts) > 1 else "rlsuite"
        files, lines, tokens = found[package]
        more_lines, more_tokens = size_of(path)
        found[package] = (files + 1, lines + more_lines, tokens + more_tokens)
    return dict(found)


@pytest.fixture(scope="session")
def ceilings() -> dict[str, tuple[int, int, int]]:
    """What `sizes` must not exceed."""
    return CEILINGS


@pytest.fixture(autouse=True, scope="session")
def age_little() -> Iterator[None]:
    """Take few steps beside a table, and none in a second process, but where that is tested (`aged`)."""
    from rlsuite.environments import ageing, tabulation

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ageing, "STEPS", 2_000)
        patch.setattr(tabulation, "in_new_process", lambda *_: None)
        yield


@pytest.fixture
def aged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try a table as much as users do."""
    from rlsuite.environments import ageing, child_process, tabulation

    monkeypatch.setattr(ageing, "STEPS", 100_000)
    monkeypatch.setattr(tabulation, "in_new_process", child_process.in_new_process)


def size_of(path: Path) -> tuple[int, int]:
    """Return the code lines and the tokens of a module; docstrings and comments do not count."""
    text = path.read_bytes()
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or 0) + 1))
    lines: set[int] = set()
    tokens = 0
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in NO_CODE | {tokenize.ENCODING} and token.start[0] not in docstrings:
                tokens += 1
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines), tokens


@pytest.fixture(autouse=True, scope="session")
def interpret() -> Iterator[None]:
    """Let runs of up to three seconds go on in Python: to compile their machine code may take as long."""
    from rlsuite.training import first_steps

    def price(pace: first_steps.Pace) -> float:
        return 0.0 if pace._functions in first_steps._loading else 3.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first_steps.Pace, "price", price)
        yield
