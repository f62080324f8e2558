"""Comparisons whose sides are processes: none takes memory or threads from another, and each has a Python of its own.

Only one works at a time; the others wait for their turn, which costs nothing.
"""

import contextlib
import json
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

HERE = Path(__file__).parent


class Run(NamedTuple):
    """What one run of a side has cost, in seconds per step."""

    wall: float
    processor: float


class Side:
    """A process that `serving.serve`s; a context manager, which ends it.

    Parameters
    ----------
    name : str
        What it is called in messages.
    command : sequence
        Python, script and arguments; the script is looked for in this folder.

    Attributes
    ----------
    facts : dict
        What it told before the first run.
    gb : float
        Peak memory of the process and, if it has started others, of the largest of them; known when it has ended.
    """

    def __init__(self, name: str, command: Sequence[object]) -> None:
        python, script, *arguments = map(str, command)
        self.name = name
        self.gb = float("nan")
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            [python, HERE / script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
        )
        self.facts: dict[str, Any] = self._hear()

    def run(self) -> Run:
        """Do the work once."""
        found = self._ask("go")
        return Run(found["seconds"] / found["steps"], found["processor"] / found["steps"])

    def cost(self) -> float:
        """Seconds of wall-clock per step of one run."""
        return self.run().wall

    def __enter__(self) -> "Side":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            found = self._ask("end")
            self.gb = found["gb"] + found["gb_of_children"]
        else:
            self._process.kill()
        self._process.communicate()
        self._complaints.close()

    def _ask(self, line: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, and `_hear` finds out why
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        return self._hear()

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        status = self._process.wait()
        self._complaints.seek(0)
        last = self._complaints.read().strip().splitlines()[-1:] or [f"it ended with status {status}"]
        raise SystemExit(f"{self.name}: {last[0]}")


class Costs(NamedTuple):
    """What several sides have cost in rounds, in which each of them ran once."""

    runs: dict[str, list[Run]]  # by name of the side

    def wall(self, side: str) -> float:
        """Median seconds of wall-clock per step."""
        return statistics.median(run.wall for run in self.runs[side])

    def processor(self, side: str) -> float:
        """Median seconds of processor time per step."""
        return statistics.median(run.processor for run in self.runs[side])

    def ratio(self, side: str, other: str, clock: str = "wall") -> float:
        """Median over the rounds of what `side` has cost in costs of `other`, by one of the clocks of a `Run`."""
        pairs = zip(self.runs[side], self.runs[other], strict=True)
        return statistics.median(getattr(one, clock) / getattr(two, clock) for one, two in pairs)


def together(sides: Sequence[Side], rounds: int) -> Costs:
    """Let the sides run in turn, so that a machine that is slow for a while is slow for all of them."""
    runs: dict[str, list[Run]] = {side.name: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            runs[side.name].append(side.run())
    return Costs(runs)
