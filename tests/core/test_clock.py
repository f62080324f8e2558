import signal
import time

import pytest

from rlsuite.core.clock import Clock, waited_for
from rlsuite.errors import ParameterError


def test_a_deadline_is_a_reason():
    clock = Clock("m", deadline=1e-9)
    time.sleep(1e-6)
    assert clock.hurries
    assert clock.reason == "deadline=1e-09 seconds passed"
    patient = Clock("m", deadline=float("inf"))
    assert (patient.hurries, patient.reason) == (False, "")


@pytest.mark.parametrize("deadline", [-1.0, float("nan"), "soon", True])
def test_a_deadline_is_a_positive_number_or_0(deadline):
    with pytest.raises(ParameterError, match="deadline="):
        Clock("m", deadline=deadline)


def test_the_first_interrupt_is_a_reason_and_the_second_is_raised():
    before = signal.getsignal(signal.SIGINT)
    with Clock("m", deadline=1e9) as clock:
        assert not clock.hurries
        signal.raise_signal(signal.SIGINT)
        assert clock.hurries
        assert clock.reason == "interrupted"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_inside_ends_the_whole():
    before = signal.getsignal(signal.SIGINT)
    with Clock("outer") as outer:
        with Clock("inner") as inner:
            signal.raise_signal(signal.SIGINT)
            assert inner.hurries
        assert outer.hurries
        with Clock("next") as following:
            assert not following.hurries  # it did not hear it; the outer one says that it is the last
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_signal_is_given_back_after_an_error():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), Clock("m"):
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before


def test_the_bar_goes_to_stderr(capsys):
    with Clock("climbing", progress=True) as clock:
        assert clock.shows
        clock.tick("one")
        clock.tick("five", 5)
    said = capsys.readouterr()
    assert said.out == ""
    assert "climbing" in said.err
    assert "five" in said.err
    with Clock("climbing") as clock:
        clock.tick("one")
        assert not clock.shows
    assert capsys.readouterr().err == ""


def test_a_reserve_is_kept_before_the_deadline():
    clock = Clock("m", deadline=1000.0)
    assert not clock.late
    clock.reserve = 1000.0
    assert clock.late
    assert clock.hurries
    assert clock.reason == "deadline=1000 seconds passed"
    clock = Clock("m")
    clock.reserve = 1000.0
    assert not clock.hurries


def test_what_comes_before_a_clock_may_be_waited_for():
    with waited_for():
        time.sleep(0.1)
        first, second = Clock("first", deadline=0.1), Clock("second", deadline=60.0)
    third = Clock("third", deadline=60.0)
    assert first.late
    assert first.seconds < first.waited - 0.05
    assert second.waited < 0.05  # only the first one takes it
    assert third.waited < 0.05
