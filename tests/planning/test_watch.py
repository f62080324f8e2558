import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import value_iteration
from rlsuite.planning.watch import Watch

ENDLESS = """
import sys, warnings
from rlsuite.models import MDP
from rlsuite.planning import value_iteration
warnings.simplefilter("ignore")
mdp = MDP.from_successors([[1], [0]], [1.0, 0.0], gamma=1 - 1e-9)
value_iteration(mdp, max_iterations=1)
print("ready", flush=True)
solution = value_iteration(mdp, max_iterations=10**9)
print(solution.converged, solution.iterations > 1, solution.error_bound > 1.0, flush=True)
"""


def slow(gamma=0.999999):
    return MDP.from_successors([[1], [0]], [1.0, 0.0], gamma=gamma)


def test_limits_end_the_loop_and_say_why():
    watch = Watch("m", tol=1.0, max_iterations=2)
    assert [watch.goes_on(bound) for bound in (np.inf, 5.0, 4.0)] == [True, True, False]
    assert (watch.iterations, watch.stopped) == (2, "max_iterations=2 reached")
    watch = Watch("m", tol=1.0, max_iterations=2)
    assert [watch.goes_on(bound) for bound in (np.inf, 1.0)] == [True, False]
    assert watch.stopped == ""
    assert watch.trace.error_bound.tolist() == [np.inf, 1.0]
    assert watch.trace.iterations.tolist() == [0, 1]
    assert (np.diff(watch.trace.seconds) >= 0).all()


def test_a_long_trace_becomes_coarser_and_keeps_its_ends(monkeypatch):
    monkeypatch.setattr("rlsuite.planning.watch.MOST_RECORDS", 8)
    for number in range(1, 200):
        watch = Watch("m", tol=1e-9)
        for k in range(number):
            watch.iterations = k
            watch.record(1.0 / (k + 1))
        trace = watch.trace
        steps = np.diff(trace.iterations)
        assert trace.iterations[[0, -1]].tolist() == [0, number - 1]
        assert trace.error_bound.tolist() == [1.0 / (k + 1) for k in trace.iterations]
        assert len(trace.iterations) <= 9
        assert (steps[:-1] == steps[:1]).all()  # evenly spaced, but for the last one
        assert number <= 8 or len(trace.iterations) >= 5


def test_infinite_tolerance_still_asks_for_a_bound():
    watch = Watch("m", tol=np.inf)
    assert [watch.goes_on(bound) for bound in (np.inf, 1e9)] == [True, False]


def test_deadline_is_kept_and_owned_up_to():
    started = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"deadline=0.2 seconds passed"):
        solution = value_iteration(slow(), deadline=0.2)
    assert 0.2 <= time.perf_counter() - started < 2.0
    assert not solution.converged
    assert solution.error_bound >= abs(solution.value[0] - 1 / (1 - 0.999999**2))


@pytest.mark.parametrize("wrong", [{"deadline": -1}, {"deadline": "soon"}, {"max_iterations": 0}, {"tol": 0}])
def test_arguments_are_checked(wrong):
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))}="):
        value_iteration(slow(), **wrong)


def test_first_interrupt_ends_the_loop_and_the_second_is_raised():
    before = signal.getsignal(signal.SIGINT)
    with Watch("m", tol=1.0) as watch:
        assert watch.goes_on(np.inf)
        signal.raise_signal(signal.SIGINT)
        assert watch.hurries
        assert not watch.goes_on(5.0)
        assert watch.stopped == "interrupted"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_leave_signals_alone():
    found = []
    thread = threading.Thread(target=lambda: found.append(value_iteration(slow(0.9))))
    thread.start()
    thread.join()
    assert found[0].converged


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_interrupted_program_gets_its_answer():
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "False True True\n"
        assert child.wait(20) == 0


def test_progress_goes_to_stderr(capsys):
    value_iteration(slow(0.9), progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert "value_iteration" in said.err
    value_iteration(slow(0.9))
    assert capsys.readouterr().err == ""
