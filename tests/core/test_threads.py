import os
import threading

import pytest

from rlsuite.core import threads


def fail():
    raise ZeroDivisionError


@pytest.fixture(params=[1, 3, 16])
def cores(request, monkeypatch):
    monkeypatch.setattr(threads, "_pool", None)
    monkeypatch.setattr(threads, "n_threads", lambda: request.param)


def test_results_keep_the_order_of_the_tasks(cores):
    for n in (0, 1, 2, 100):
        assert threads.at_the_same_time([lambda k=k: k * k for k in range(n)]) == [k * k for k in range(n)]


def test_an_error_in_a_task_is_raised(cores):
    with pytest.raises(ZeroDivisionError):
        threads.at_the_same_time([fail] * 3)


def test_what_is_not_worth_it_stays_in_this_thread():
    tasks = [threading.get_ident] * 20
    assert set(threads.at_the_same_time(tasks, worth_it=False)) == {threading.get_ident()}


def test_tasks_may_have_tasks(cores):
    """Whoever waits for a helper that has not begun would wait for ever if all threads waited so."""

    def inner():
        return sum(threads.at_the_same_time([lambda k=k: k for k in range(10)]))

    assert threads.at_the_same_time([inner] * 40) == [45] * 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_makes_threads_of_its_own():
    tasks = [lambda: 1, lambda: 2]
    assert threads.at_the_same_time(tasks) == [1, 2]
    child = os.fork()
    if child == 0:
        os._exit(0 if threads.at_the_same_time(tasks) == [1, 2] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
