import threading

import pytest

from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.experiments import backends
from rlsuite.experiments.backends import Threads, backend_of


def test_threads_return_results_and_errors():
    threads = Threads(2)
    assert threads.submit(max, 3, 4).result() == 4
    assert isinstance(threads.submit(int, "x").exception(), ValueError)
    names = {threads.submit(lambda: threading.current_thread().name).result() for _ in range(9)}
    assert names <= {"rlsuite worker 0", "rlsuite worker 1"}
    threads.shutdown()
    assert not any(thread.is_alive() for thread in threads._threads)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("thread", ParameterError, r"backend='thread': unknown backend 'thread'; did you mean 'threads'\?"),
        ("math:tau", ParameterError, r"backend='math:tau': math has no function tau; give one that returns"),
        ("math:gcd", ParameterError, r"backend='math:gcd' returned 0, which has no submit; return an executor of conc"),
        ("nowhere_at_all:make", FileError, "there is no module 'nowhere_at_all' to import"),
    ],
)
def test_what_is_no_backend_is_named(name, kind, message):
    with pytest.raises(kind, match=message):
        backend_of(name, 2)


def test_dask_is_asked_for_where_it_is_missing(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(backends, "import_module", missing)
    with pytest.raises(MissingPackage, match=r"backend='dask://host:8786' needs dask: pip install 'rlsuite\[dask\]'"):
        backend_of("dask://host:8786", 1)


def test_a_scheduler_that_is_away_is_named(monkeypatch):
    class Away:
        @staticmethod
        def Client(address, timeout):  # noqa: N802 - dask's name
            raise OSError(f"Timed out trying to connect to {address}")

    monkeypatch.setattr(backends, "import_module", lambda name: Away)
    with pytest.raises(ParameterError, match=r"no scheduler answers there \(Timed out .* tcp://host:8786\); start one"):
        backend_of("dask://host:8786", 1)
