"""Results come in the order of the calls, whatever the number of processes."""

import pytest

from rlsuite.approximation.workers import Workers
from rlsuite.core.modules import run_file


@pytest.mark.parametrize("n", [1, 2])
def test_results_keep_the_order_of_the_calls(n):
    with Workers(n) as workers:
        assert workers.call(divmod, [(7, 2), (9, 4), (1, 3)]) == [(3, 1), (2, 1), (0, 1)]


def test_classes_of_files_that_were_run_reach_other_processes(tmp_path):
    (tmp_path / "own.py").write_text("class Maze:\n    size = 3\n\n\ndef size_of(maze):\n    return maze.size\n")
    own = run_file(tmp_path / "own.py")
    with Workers(2) as workers:
        assert workers.call(getattr, [(own.Maze(), "size"), (own.Maze(), "size")]) == [3, 3]
        assert workers.call(own.size_of, [(own.Maze(),)]) == [3]


def test_an_error_of_a_call_is_raised():
    with pytest.raises(ZeroDivisionError), Workers(1) as workers:
        workers.call(divmod, [(1, 0)])
