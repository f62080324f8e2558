import math
import time

import numba
import pytest
from numba.core.compiler_lock import global_compiler_lock

from rlsuite.core.clock import Clock
from rlsuite.core.compilation import has_machine_code
from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.inference import HMM


@pytest.fixture(autouse=True, scope="module")
def told_by_numba():
    """What numba does is told from its import on by rlsuite."""
    assert has_machine_code()


def compile_something():
    """Compile two functions, the one for the other, anew."""
    inner = numba.njit(lambda x: x + 1)
    return numba.njit(lambda x: inner(x) * 2)(3.0)


def test_compiling_takes_no_time(capsys):
    with CompilingClock("this test", deadline=60.0, progress=True) as clock, Clock("both") as both:
        assert compile_something() == 8.0
        assert clock.compiling > 0.0
        assert clock.seconds == pytest.approx(both.seconds - clock.compiling, abs=0.05)
        once = clock.compiling
        compile_something()
        assert clock.compiling > once
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("this test: compiling, once") == 1


def test_nothing_is_said_unless_progress_is_asked_for(capsys):
    with CompilingClock("this test") as clock:
        compile_something()
    assert clock.compiling > 0.0
    after = clock.compiling
    compile_something()
    assert clock.compiling == after  # it listens only while it runs
    assert capsys.readouterr().err == ""


def test_loading_what_was_compiled_takes_no_time_either_but_is_waited_for():
    """Numba loads machine code from its cache under the lock under which it compiles."""
    with CompilingClock("this test", deadline=0.2) as clock:
        with global_compiler_lock:
            before = clock.seconds
            time.sleep(0.1)
            assert clock.seconds - before < 0.05  # it stands still already
            with global_compiler_lock:
                time.sleep(0.1)
        assert clock.compiling >= 0.2
        assert clock.seconds < 0.1
        assert clock.waited >= 0.2
        assert clock.hurries
        assert clock.left == 0.0


def test_compiling_is_not_waited_for():
    with CompilingClock("this test", deadline=60.0) as clock:
        compile_something()
    with Clock("before") as both:
        before = clock.waited
        compile_something()
        assert clock.waited - before < 0.5 * both.waited


def test_the_clock_stands_still_from_the_beginning():
    """What is prepared before the work is watched is compiled, too."""
    clock = CompilingClock("this test", deadline=60.0)
    compile_something()
    before = clock.compiling
    assert before > 0.0
    with clock:
        assert clock.compiling == before


def test_it_goes_before_other_clocks():
    class Counting(Clock):
        def __init__(self, name, *, most, deadline=None):
            super().__init__(name, deadline=deadline)
            self.most = most

    class Both(CompilingClock, Counting):
        pass

    with Both("both", most=3, deadline=math.inf) as clock:
        compile_something()
    assert clock.most == 3
    assert clock.compiling > 0.0
    assert not clock.hurries


def test_learning_says_what_it_waits_for(monkeypatch, capsys):
    """The first iteration of a new kind of model compiles; here, it is made to."""
    hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    maximise = type(hmm.emission).fit_weighted

    def compiling(*arguments):
        compile_something()
        return maximise(*arguments)

    monkeypatch.setattr(type(hmm.emission), "fit_weighted", compiling)
    hmm.fit([0, 1, 1, 0], max_iterations=1, tol=0, progress=True)
    assert "Baum-Welch: compiling, once; later runs find it in numba's cache" in capsys.readouterr().err
