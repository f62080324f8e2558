"""Compiled functions: arguments of other compiled functions, cached across processes, never stale."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from rlsuite.core.compilation import compiled
from rlsuite.errors import CompilationError, ParameterError


@compiled(in_place=True)
def double(x):
    return 2 * x


@compiled(in_place=True)
def triple(x):
    return 3 * x


@compiled(in_place=True)
def apply(function, x):
    return function(x)


@compiled(in_place=True)
def allocating_in_place(x):
    return np.zeros(3).sum() + x


@compiled
def allocating(x):
    return np.full(3, x).sum()


def test_functions_are_arguments():
    assert apply(double, 21) == 42
    assert apply(triple, 21) == 63


def test_copies_and_pickles_are_the_function_itself():
    assert copy.deepcopy(double) is double
    assert pickle.loads(pickle.dumps(double)) is double


def test_a_function_that_allocates_can_be_called_from_one_that_does_not():
    assert apply(allocating, 2.0) == 6.0


def test_breaking_the_promise_of_in_place_is_an_error_at_compile_time():
    with pytest.raises(CompilationError, match=r"is marked in_place=True: it makes no new arrays"):
        allocating_in_place(1.0)


@compiled(in_place=True)
def largest(x):
    return x.max()


@compiled
def misspelt(x):
    return x.sizze


def plain(x):
    return 2 * x


@compiled
def calling_a_plain_function(x):
    return plain(x)


SEEN = {1: 2}


@compiled
def looking_into_a_dict(x):
    return SEEN[x.size]


@compiled
def adding_a_text(x):
    return x[0] + "1"


@compiled
def of_two_types(x):
    found = x[0] if x.size > 3 else "none"
    return found


@compiled
def with_a_format(x):
    return f"{x[0]:.2f}"


class Pair(NamedTuple):
    first: np.ndarray
    rest: float


@compiled
def misspelling_a_field(x):
    return Pair(x, 1.0).fisrt


@compiled
def changing_a_field(pair):
    pair.rest = 2.0


@compiled
def calling_an_array(x):
    return x(0)


@compiled
def drawing(rng):
    return rng.integers(4)


@compiled
def choosing(rng):
    return rng.choice(4)


@compiled
def leaving_out(x):
    return double()


@compiled
def taking_apart(pair):
    first, rest, more = pair
    return first + rest + more


ARRAY = np.zeros(2)
RNG = np.random.default_rng(0)
REFUSED = [
    (
        largest,
        ARRAY,
        "return x.max()",
        "numba has no npy_max for the types array(float64, 1d, C). It is mar",
    ),
    (misspelt, ARRAY, "return x.sizze", "an array has no sizze that numba knows. A compiled function"),
    (calling_a_plain_function, ARRAY, "return plain(x)", "plain is a plain Python function. Write @rl.compiled above"),
    (looking_into_a_dict, ARRAY, "return SEEN[x.size]", "it uses SEEN, of the type dict. A compiled function may use"),
    (adding_a_text, ARRAY, 'return x[0] + "1"', "numba has no + for the types float64, str. A"),
    (of_two_types, ARRAY, "", "a value is float64 in one place and str in another. A variable of a"),
    (calling_an_array, ARRAY, "return x(0)", "an array is called like a function. An entry is read with brackets"),
    (drawing, RNG, "return rng.integers(4)", "rng.integers takes other arguments, as in rng.integers(0, n). A comp"),
    (choosing, RNG, "return rng.choice(4)", "numba's random generator has no choice. It has rng.random(), rng.int"),
    (leaving_out, ARRAY, "return double()", "a function is called with other arguments than it has (missing a"),
    (with_a_format, ARRAY, "", "format spec in f-strings not supported yet. A compiled function is"),
    (misspelling_a_field, ARRAY, "", "a Pair has no fisrt. Did you mean first? It has first, rest"),
    (
        changing_a_field,
        Pair(ARRAY, 1.0),
        "pair.rest = 2.0",
        "rest of a Pair cannot be given a new value, as a Pair is a NamedTuple. C",
    ),
    (taking_apart, Pair(ARRAY, 1.0), "first, rest, more = pair", "pair has 2 parts, and 3 names are given. Read the f"),
]


def test_what_cannot_be_compiled_is_named_by_its_line():
    """In one sentence; numba's own hundred lines are hidden, as the context of the error."""
    for function, argument, line, reason in REFUSED:
        for call in (function, function.for_types_of):
            with pytest.raises(CompilationError) as caught:
                call(argument)
            message = str(caught.value)
            assert f"{line}`, cannot be compiled: {reason}" in message if line else reason in message
            assert f"{function.__name__}()" in message
            assert "\n" not in message
            assert caught.value.__suppress_context__
            assert caught.value.__context__ is not None


def test_only_functions_are_marked():
    for what in (int, "a rule", True):
        with pytest.raises(
            ParameterError, match=r"^compiled marks a function, and .* is not one: write @rlsuite.compile"
        ):
            compiled(what)


def test_what_a_function_calls_must_be_there_already():
    """Its content is part of the name under which the caller is cached: otherwise an edit would not be noticed."""
    with pytest.raises(
        ParameterError, match=r"early\(\) \(line \d+ of test_compilation.py\) uses nowhere, which is not defined"
    ):

        @compiled
        def early(x):
            return nowhere(x)  # noqa: F821

    with pytest.raises(ParameterError, match=r"uses np.argmaximum, but the module numpy has no argmaximum; did you me"):

        @compiled
        def misspelling(x):
            return np.argmaximum(x)


def test_repr_names_the_function():
    assert repr(double).endswith("test_compilation.double>")


RULES = """
from rlsuite.core.compilation import compiled

@compiled(in_place=True)
def inner(x):
    return x + {constant}

@compiled(in_place=True)
def rule(x):
    return inner(x)

@compiled(in_place=True)
def loop(rule, x):
    return rule(x)
"""
USE = """
import rules
value = rules.loop(rules.rule, 1)
stats = rules.loop.dispatcher.stats
print(value, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def run_rules(folder: Path) -> list[int]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def test_a_loop_is_compiled_once_and_found_by_the_next_process(tmp_path):
    (tmp_path / "rules.py").write_text(RULES.format(constant=1))
    assert run_rules(tmp_path) == [2, 0, 1]
    files = sorted((tmp_path / "cache").rglob("*"))
    assert run_rules(tmp_path) == [2, 1, 0]
    assert sorted((tmp_path / "cache").rglob("*")) == files


@pytest.mark.slow
def test_an_edit_in_a_function_that_is_called_reaches_the_loop(tmp_path):
    # two files: numba by itself looks only at the file of the function that it compiles
    rules = RULES.format(constant="CONSTANT").replace("from rlsuite", "from constants import CONSTANT\nfrom rlsuite", 1)
    (tmp_path / "rules.py").write_text(rules)
    (tmp_path / "constants.py").write_text("CONSTANT = 1\n")
    assert run_rules(tmp_path)[0] == 2
    (tmp_path / "constants.py").write_text("CONSTANT = 10\n")
    assert run_rules(tmp_path)[0] == 11


LIBRARY = """
from rlsuite.core.compilation import compiled

@compiled(in_place=True)
def loop(memory):
    return memory[0] + memory[-1]
"""
OWN = """
import sys
from typing import NamedTuple
import library

class Memory(NamedTuple):
    {fields}

print(library.loop(Memory(*{values})), sum(library.loop.dispatcher.stats.cache_hits.values()))
"""


def run_in(folder: Path, program: str, cache: Path) -> list[str]:
    """Run a program in a folder, beside the library that a third folder holds."""
    path = os.pathsep.join([str(folder), str(cache.parent)])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": path}
    # Python knows the time of a source file in seconds: one that is written again at once may be taken for the old one.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_what_one_program_caches_does_not_concern_another(tmp_path):
    """A user's own memory in a loop of ours; another program knows neither the class nor its module."""
    (tmp_path / "library.py").write_text(LIBRARY)
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        folder.mkdir()
    (mine / "own.py").write_text(OWN.format(fields="a: int\n    b: int", values=(1, 2)))
    assert run_in(mine, "import own", tmp_path / "cache") == ["3", "0"]
    assert run_in(mine, "import own", tmp_path / "cache") == ["3", "1"]
    assert run_in(other, "import library; print(library.loop((5, 6)))", tmp_path / "cache") == ["11"]


@pytest.mark.slow
def test_a_class_of_the_same_name_with_other_fields_is_another_class(tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY.replace("memory[0] + memory[-1]", "memory.a - memory.b"))
    for fields, expected in (("a: int\n    b: int", "-1"), ("b: int\n    a: int", "1")):
        (tmp_path / "own.py").write_text(OWN.format(fields=fields, values=(1, 2)))
        assert run_in(tmp_path, "import own", tmp_path / "cache") == [expected, "0"]


@pytest.mark.slow
def test_classes_that_no_other_process_can_find_are_not_cached(tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY)
    local = "from typing import NamedTuple\nimport library\ndef make():\n    class Memory(NamedTuple):\n"
    local += "        a: int\n    return Memory(4)\nprint(library.loop(make()))"
    assert run_in(tmp_path, local, tmp_path / "cache") == ["8"]
    assert not list((tmp_path / "cache").rglob("*.nbc"))
