"""Ctrl-C waits for the end of what must not be left half done."""

import signal
import subprocess
import sys

import pytest

from rlsuite.core.interrupts import uninterrupted


def test_ctrl_c_waits_until_the_block_is_left():
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012 - the block is what is tested
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_one_does_not_wait():
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012 - the block is what is tested
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert not done


AMID_AN_IMPORT = """
import signal
import sys
import rlsuite as rl

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupts())
try:
    rl.QLearning().learn("FrozenLake-v1", steps=100, seed=1, loop="compiled")
except KeyboardInterrupt:
    print("interrupted", sys.argv[1] in sys.modules)
rl.QLearning().learn("FrozenLake-v1", steps=100, seed=1, loop="compiled")
print("learned")
"""

AMID_COMPILING = """
import signal
import sys
import rlsuite as rl
from numba.core.compiler import CompilerBase

@rl.compiled
def twice(x):
    return 2 * x

def interrupted(compiler, function):
    CompilerBase.compile_extra = compile_extra
    signal.raise_signal(signal.SIGINT)
    return compile_extra(compiler, function)

compile_extra, CompilerBase.compile_extra = CompilerBase.compile_extra, interrupted
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    twice(3)
except KeyboardInterrupt:
    print("interrupted")
print(twice(3))
"""


def said(code, *arguments):
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.cases("numba.*")
@pytest.mark.parametrize("module", ["numba.core", "gymnasium.utils", "gymnasium.envs.toy_text"])
def test_ctrl_c_amid_an_import_ends_what_was_begun_and_nothing_else(module):
    assert said(AMID_AN_IMPORT, module) == ["interrupted", "True", "learned"]


@pytest.mark.slow
def test_ctrl_c_amid_compiling_ends_what_was_begun_and_nothing_else():
    assert said(AMID_COMPILING) == ["interrupted", "6"]
