"""What never comes back is told where it is."""

import signal
import threading
import time

import pytest

from rlsuite.environments.child_process import alarm


def endless():
    while True:
        pass


def asleep():
    time.sleep(100.0)


@pytest.mark.parametrize("work", [endless, asleep])
def test_the_line_is_that_of_the_users_code(work):
    line = work.__code__.co_firstlineno
    with pytest.raises(TimeoutError, match=rf"^in {work.__name__}\(\), {__file__}:({line + 1}|{line + 2})$"):  # noqa: SIM117
        with alarm(0.05, TimeoutError):
            work()


def test_what_ends_in_time_is_left_alone():
    former = signal.getsignal(signal.SIGALRM)
    with alarm(0.05, TimeoutError):
        pass
    time.sleep(0.1)
    assert signal.getsignal(signal.SIGALRM) is former


def test_other_threads_have_no_alarm():
    done = []

    def work():
        with alarm(0.01, TimeoutError):
            time.sleep(0.05)
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done
