import os
import subprocess
import sys
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


def test_eliminations_use_one_blas_thread():
    controller = pytest.importorskip("threadpoolctl").ThreadpoolController().select(user_api="blas")
    before = [library.num_threads for library in controller.lib_controllers]
    with threads.one_blas_thread():
        assert {library.num_threads for library in controller.lib_controllers} == {1}
    assert [library.num_threads for library in controller.lib_controllers] == before


def test_threads_that_limit_blas_leave_it_as_it_was():
    controller = pytest.importorskip("threadpoolctl").ThreadpoolController().select(user_api="blas")
    before = [library.num_threads for library in controller.lib_controllers]

    def often():
        for _ in range(300):
            with threads.one_blas_thread():
                pass

    several = [threading.Thread(target=often) for _ in range(4)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert [library.num_threads for library in controller.lib_controllers] == before


LARGE = """
import numpy as np, rlsuite as rl
rng = np.random.default_rng(0)
n = 12_000
ahead = np.minimum(n - 1, np.arange(n)[:, None, None] + rng.integers(0, 40, size=(n, 2, 3)))
ahead[:, 0] = np.maximum(0, ahead[:, 0] - 45)
p = rng.dirichlet(np.ones(3), size=(n, 2))
rows = np.arange(0, 6 * n + 1, 3)
mdp = rl.MDP.from_rows(rows, ahead.ravel(), p.ravel(), rng.random((n, 2)), n_actions=2, gamma=0.9999)
for method in ("auto", "policy_iteration"):
    print(rl.solve(mdp, method).value.tobytes().hex()[:2_000])
"""


@pytest.mark.slow
def test_the_same_bytes_with_any_number_of_blas_threads():
    found = set()
    for number in ("1", "2", "7"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": number}
        done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1
